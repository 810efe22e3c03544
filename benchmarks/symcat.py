"""``python -m benchmarks.symcat``: diagnosis among up to 801 conditions by their symptoms (SymCAT).

SymCAT states P(symptom | condition) in per cent, and odds of age, sex and race; it states no prior and has no patients.
A patient is drawn: a condition, each symptom independently (again where there is none), and one of the present symptoms
at random, which the patient reports and which is known beforehand. Then questions about symptoms are asked. It is a
demonstration, and not medical advice.

Finished parts are kept, and a run that was stopped goes on from there.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import infopursuit as ip
from benchmarks.datasets.files import data_folder
from benchmarks.experiment import Experiment
from benchmarks.machine import write_result
from benchmarks.pages import plain_table
from benchmarks.paired import paired
from benchmarks.program import add_out, positive, run_program, say
from infopursuit.models.finite import FiniteModel
from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Acquisition, Budget, Estimate
from infopursuit.queries.queryset import YES_NO, QuerySet
from infopursuit.strategies import FixedOrder, LookAhead, MutualInformation, RandomOrder
from infopursuit.support.types import FloatArray, IntArray

NAME = "symcat"
SIZES = (200, 300, 400, 801)
"""Conditions of the tasks; the smaller ones are the beginning of one random order, `ORDER_SEED`."""
ORDER_SEED, PATIENT_SEED, SKEWED_SEED = 0, 1, 2
N_PATIENTS, N_QUESTIONS, SHOWN, TOP = 4000, 20, (0, 5, 10, 20), (1, 3, 5)
SKEW = 1.0
"""Of the skewed prior: the condition at place r has a probability proportional to r to the power of -1."""
N_CANDIDATES = 8
"""Questions whose two-step gain is computed, those with the largest one-step gains."""
CONTEXT = ("age", "race", "sex")
EXAMINED = re.compile(
    r"mass|lump|lymph|fluid|pupils|edema|jaundice|pallor|melena|heart rate|pulse|breathing sounds|irregular heartbeat|"
    r"blood in|pus |tonsils|throat redness|redness in ear|prostate|protrusion|deviation|circulation|underweight|growth",
    re.IGNORECASE,
)
"""Symptoms that are found by an examination rather than by asking."""
EXAMINATION_COST = 4.0
"""What a question about such a symptom costs; others cost 1."""
COST_QUESTIONS, BUDGETS = 40, (5, 10, 20, 30)
NODES = 6
"""Gauss-Legendre nodes: exact up to degree 11, and no condition has more than 12 symptoms."""


class Questions(QuerySet):
    """Yes/no questions about symptoms, and where wanted age band, race and sex."""

    kind = "symcat"

    def __init__(self, symptoms: Sequence[str], context: Mapping[str, Sequence[str]]) -> None:
        self.n_symptoms = len(symptoms)
        choices = [YES_NO] * len(symptoms) + list(context.values())
        names = [*symptoms, *context]
        super().__init__(names, [len(each) for each in choices], np.arange(len(names))[:, None], choices=choices)

    def observe(self, X: Any) -> IntArray:
        """X: (B, A) values."""
        return self.variables.check(X)

    def to_spec(self) -> dict[str, Any]:
        raise NotImplementedError("the symptoms are read from the data folder")


@dataclass(frozen=True)
class World:
    """What is stated of C conditions and S symptoms.

    yes: (C, S) P(symptom | condition). context: {name: (its values, (C, values) P(value | condition))}.
    """

    conditions: tuple[str, ...]
    symptoms: tuple[str, ...]
    yes: FloatArray
    context: Mapping[str, tuple[Sequence[str], FloatArray]]

    @classmethod
    def load(cls, folder: Path | None = None) -> World:
        """All conditions, in the random order of `ORDER_SEED`."""
        with np.load((folder or data_folder()) / "symcat.npz") as stored:
            order = np.random.default_rng(ORDER_SEED).permutation(len(stored["pct"]))
            context = {}
            for name in CONTEXT:
                odds = stored[f"{name}_odds"][order].astype(np.float64)
                context[name] = stored[f"{name}_names"].tolist(), odds / odds.sum(axis=1, keepdims=True)
            return cls(
                tuple(stored["condition_name"][order].tolist()), tuple(stored["symptom_name"].tolist()),
                stored["pct"][order] / 100, context,
            )  # fmt: skip

    def first(self, n: int) -> World:
        """The task of the first n conditions; symptoms that none of them has are left out."""
        used = self.yes[:n].any(axis=0)
        context = {name: (values, p[:n]) for name, (values, p) in self.context.items()}
        symptoms = tuple(np.array(self.symptoms)[used].tolist())
        return World(self.conditions[:n], symptoms, self.yes[:n, used], context)

    @cached_property
    def costs(self) -> FloatArray:
        """(S,) of each question."""
        return np.array([EXAMINATION_COST if EXAMINED.search(name) else 1.0 for name in self.symptoms])

    @property
    def skewed(self) -> FloatArray:
        """(C,) the skewed prior."""
        weight = np.arange(1, len(self.yes) + 1) ** -SKEW
        return np.asarray(weight / weight.sum())

    def ceiling(self, top: int) -> float:
        """The share of patients, all conditions being equally frequent, that conditions with the same row allow."""
        _, n = np.unique(self.yes, axis=0, return_counts=True)
        return float(np.minimum(n, top).sum() / n.sum())


@dataclass(frozen=True)
class Patients:
    """B patients. condition: (B,). symptoms: (B, S) what they answer, 0, 1 or -1 (not known). reported: (B,) the
    symptom that is known beforehand. context: (B, 3) age band, race and sex."""

    condition: IntArray
    symptoms: IntArray
    reported: IntArray
    context: IntArray

    def __len__(self) -> int:
        return len(self.condition)

    def take(self, rows: Any) -> Patients:
        """Some of them."""
        return Patients(self.condition[rows], self.symptoms[rows], self.reported[rows], self.context[rows])


def draw(world: World, n: int, seed: int, prior: FloatArray | None = None) -> Patients:
    """Patients as the protocol has them; without a prior all conditions are equally frequent."""
    rng = np.random.default_rng([seed, len(world.yes)])
    condition = rng.choice(len(world.yes), n, p=prior)
    symptoms = np.zeros((n, len(world.symptoms)), dtype=np.int64)
    while not (has := symptoms.any(axis=1)).all():
        none = np.flatnonzero(~has)
        symptoms[none] = rng.random((len(none), symptoms.shape[1])) < world.yes[condition[none]]
    reported = np.where(symptoms == 1, rng.random(symptoms.shape), -1.0).argmax(axis=1)
    context = [
        (rng.random((n, 1)) >= p.cumsum(axis=1)[condition][:, :-1]).sum(axis=1) for _, p in world.context.values()
    ]
    # (B, contexts), also where there is none
    return Patients(condition, symptoms, reported, np.array(context, dtype=np.int64).reshape(len(context), n).T)


# ---- strategies -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Strategy:
    """What is asked and believed.

    acquisition: of "gain", "two steps", "fixed order", "random order". report: whether the model knows how the reported
    symptom was chosen; else it only knows that this symptom is present. context: whether age, race and sex are "known"
    beforehand or may be "asked"; "" leaves them out. costly: whether gain per cost counts. error: the declared
    probability that an answer is wrong, the reported symptom apart. floor: the least probability of an answer.
    """

    acquisition: str = "gain"
    report: bool = False
    context: str = ""
    costly: bool = False
    error: float = 0.0
    floor: float = 0.0


class Ahead(ip.strategies.Exact):
    """The exact belief, whose one-step look-ahead is its own mutual information: the same, in two matrix products."""

    def __init__(self, model: FiniteModel, queries: QuerySet) -> None:
        super().__init__(model, queries)
        self.capabilities = replace(self.capabilities, look_ahead=True)

    @cached_property
    def _gains(self) -> Acquisition[Any]:
        plain = ip.strategies.Exact(self.model, self.queries)
        return MutualInformation().bind(plain, self.queries, None, None)

    def look_ahead(self, b: Any, allowed: BoolArray) -> Estimate:
        """(H, Q) information gains."""
        return self._gains.utilities(b, Histories.empty(self.queries), allowed, Budget.unlimited(len(b)))


@dataclass(frozen=True)
class Walk:
    """What became of B patients. rank: (B, K + 1) of the true condition after k questions, 0 for the most probable.
    asked: (B, K), -1 after the end. posterior: (B, C) the last one."""

    rank: IntArray
    asked: IntArray
    posterior: FloatArray


def model_of(
    world: World, classes: IntArray, symptoms: IntArray, reported: int, strategy: Strategy, prior: FloatArray | None
) -> ip.models.TableModel:
    """The model of some conditions and symptoms for patients with a reported symptom.

    With n present symptoms each is reported with probability 1/n. The integral of t^(n-1) over [0, 1] is 1/n, so that
    given a latent t symptoms are independent again, with odds t times as large: a mixture over the nodes of t.
    """
    yes, own = world.yes[np.ix_(classes, symptoms)], int(np.searchsorted(symptoms, reported))
    weight = np.ones(len(classes)) if prior is None else prior[classes]
    latent = None
    if strategy.report:
        node, share = np.polynomial.legendre.leggauss(NODES)
        t = (1 + node) / 2
        others = np.delete(yes, own, axis=1)
        # mass: (C, Z) the probability of the report and of node z
        mass = share / 2 * np.prod(1 - others[:, None] * (1 - t[:, None]), axis=2)
        weight = weight * yes[:, own] * mass.sum(axis=1) / (1 - np.prod(1 - yes, axis=1))
        latent = mass / mass.sum(axis=1, keepdims=True)
        yes = yes[:, None] * t[:, None] / (1 - yes[:, None] * (1 - t[:, None]))  # (C, Z, S)
        yes[..., own] = 1.0
    present = yes[..., own].copy()
    yes = np.clip(yes * (1 - 2 * strategy.error) + strategy.error, strategy.floor, 1 - strategy.floor)
    yes[..., own] = present
    if not strategy.context:
        return ip.models.TableModel(weight / weight.sum(), latent, yes)
    width = max(p.shape[1] for _, p in world.context.values())
    probs = np.zeros((*yes.shape[:-1], yes.shape[-1] + len(world.context), width))
    probs[..., : yes.shape[-1], 0], probs[..., : yes.shape[-1], 1] = 1 - yes, yes
    for i, (_, p) in enumerate(world.context.values(), start=yes.shape[-1]):
        probs[..., i, : p.shape[1]] = p[classes] if latent is None else p[classes][:, None]
    sizes = [2] * yes.shape[-1] + [p.shape[1] for _, p in world.context.values()]
    return ip.models.TableModel(weight / weight.sum(), latent, probs, sizes=sizes)


def fixed_order(world: World) -> tuple[int, ...]:
    """Symptoms by their information gain before anything is known."""
    n, questions = len(world.yes), Questions(world.symptoms, {})
    model = ip.models.TableModel(np.full(n, 1 / n), None, world.yes)
    pursuit = ip.Pursuit(questions, ip.strategies.Exact(model, questions))
    return tuple(np.argsort(-pursuit.utilities(pursuit.start()).value[0], kind="stable").tolist())


def walk(
    world: World,
    patients: Patients,
    strategy: Strategy,
    prior: FloatArray | None = None,
    n_questions: int = N_QUESTIONS,
) -> Walk:
    """Ask all patients, those with the same reported symptom together. prior: (C,) that the pursuit is told."""
    n, size = len(patients), len(world.symptoms)
    context = {name: values for name, (values, _) in world.context.items()} if strategy.context else {}
    values = np.concatenate([patients.symptoms, patients.context], axis=1)
    kinds: dict[str, Callable[[], Any]] = {
        "gain": MutualInformation,
        "two steps": lambda: LookAhead(depth=2, n_candidates=N_CANDIDATES),
        "fixed order": lambda: FixedOrder(fixed_order(world)),
        "random order": RandomOrder,
    }
    acquisition = kinds[strategy.acquisition]()
    belief = Ahead if strategy.acquisition == "two steps" else ip.strategies.Exact
    rank = np.zeros((n, n_questions + 1), dtype=np.int64)
    asked, posterior = np.full((n, n_questions), -1), np.zeros((n, len(world.yes)))
    for reported in np.unique(patients.reported).tolist():
        rows = np.flatnonzero(patients.reported == reported)
        classes = np.flatnonzero(world.yes[:, reported] > 0)  # the others have a posterior of 0
        # a symptom that none of them has tells nothing: leaving it out changes no gain, and saves time
        told = world.yes[classes].any(axis=0) | ("order" in strategy.acquisition)
        places = np.flatnonzero(np.append(told, [bool(context)] * len(world.context)))
        questions = Questions(np.array(world.symptoms)[told].tolist(), context)
        model = model_of(world, classes, np.flatnonzero(told), reported, strategy, prior)
        pursuit = ip.Pursuit(
            questions, belief(model, questions), acquisition, ip.MaxQueries(n_questions),
            costs=ip.Costs(world.costs[told]) if strategy.costly else None,
        )  # fmt: skip
        known = np.flatnonzero((places == reported) | ((places >= size) & (strategy.context == "known")))
        trace = pursuit.run_values(values[rows][:, places], known=known.tolist(), progress=False)
        steps = np.minimum(np.arange(n_questions + 1), trace.posteriors.shape[1] - 1)
        rank[rows] = ranks_of(trace.posteriors, np.searchsorted(classes, patients.condition[rows]))[:, steps]
        asked[rows, : trace.queries.shape[1]] = np.where(trace.queries >= 0, places[trace.queries], -1)
        posterior[rows[:, None], classes] = trace.posterior
    return Walk(rank, asked, posterior)


def ranks_of(posteriors: FloatArray, truth: IntArray) -> IntArray:
    """(B, K + 1) how many conditions come before the true one; of equally probable ones the first in order."""
    own = np.take_along_axis(posteriors, truth[:, None, None], axis=2)
    earlier = np.arange(posteriors.shape[2]) < truth[:, None, None]
    return np.asarray(((posteriors > own) | ((posteriors == own) & earlier)).sum(axis=2))


def all_known(world: World, patients: Patients) -> IntArray:
    """(B, 1) the rank of the true condition by Bayes' rule from all symptoms: no strategy can do better on average."""
    with np.errstate(divide="ignore"):
        yes, no = np.log(world.yes), np.log1p(-world.yes)
    there = 1 - np.prod(1 - world.yes, axis=1)
    log = np.stack([np.where(row == 1, yes, no).sum(axis=1) for row in patients.symptoms]) - np.log(there)
    return ranks_of(log[:, None], patients.condition)


# ---- measurements ---------------------------------------------------------------------------------------------------

PLAIN = "exact naive Bayes"
STRATEGIES = {
    PLAIN: Strategy(),
    "report modelled": Strategy(report=True),
    "two steps ahead": Strategy("two steps"),
    "age, race and sex asked for": Strategy(context="asked"),
    "age, race and sex known": Strategy(context="known"),
    "the same, report modelled": Strategy(context="known", report=True),
    "fixed order": Strategy("fixed order"),
    "random order": Strategy("random order"),
}
CORE = (PLAIN, "report modelled", "age, race and sex known")
"""The strategies that are measured on tasks between the smallest and the largest."""
FEWER = {"two steps ahead": 4, "costs": 2}
"""Strategies that are measured on the first patients alone, so many times fewer."""
FOUND = dict[str, dict[str, Any]]


def measure(experiment: Experiment, world: World) -> FOUND:
    """All strategies on the patients of one task: ranks, and what questions have cost."""
    n, size = experiment.n_inputs or N_PATIENTS, len(world.yes)
    patients, skewed = draw(world, n, PATIENT_SEED), draw(world, n, SKEWED_SEED, world.skewed)

    def part(name: str, some: Patients, strategy: Strategy, prior: Any = None, most: int = N_QUESTIONS) -> Any:
        def make() -> dict[str, Any]:
            found = walk(world, some, strategy, prior, most)
            paid = np.append(world.costs, np.ones(len(world.context)))[found.asked] * (found.asked >= 0)
            return {"rank": np.minimum(found.rank, max(TOP)), "spent": paid.cumsum(axis=1)}

        settings = [NAME, size, name, strategy, len(some), most, N_CANDIDATES, EXAMINATION_COST]
        kept = experiment.part(f"{size} {name}", settings, make)
        found = {key: np.array(value) for key, value in kept.items()}
        experiment.say(f"{size} conditions, {name}: top-1 {(found['rank'][:, SHOWN] < 1).mean(axis=0).round(3)}")
        return found

    found = {}
    between = SIZES[0] < size < SIZES[-1]
    for name in CORE if between else STRATEGIES:
        found[name] = part(name, patients.take(slice(n // FEWER.get(name, 1))), STRATEGIES[name])
    for name, costly in () if between else (("gain", False), ("gain per cost", True)):
        some = patients.take(slice(n // FEWER["costs"]))
        found[name] = part(name, some, Strategy(costly=costly), None, COST_QUESTIONS)
    for name, prior in (("prior not told", None), ("prior told", world.skewed)):
        found[name] = part(name, skewed, Strategy(), prior)
    found["all symptoms known"] = {"rank": all_known(world, patients)}
    return found


def _right(found: FOUND, name: str, k: int, top: int = 1) -> BoolArray:
    return np.asarray(found[name]["rank"][:, k] < top)


def percent(right: Any) -> str:
    mean = float(np.mean(right))
    return f"{100 * mean:.1f} ± {100 * np.sqrt(mean * (1 - mean) / len(right)):.1f}"


def against(ours: Any, theirs: Any) -> str:
    """The difference on the same patients, in points, with its 95 % interval."""
    found = paired("", ours, theirs[: len(ours)])
    return f"{100 * found.mean:+.1f} ({100 * found.low:+.1f} to {100 * found.high:+.1f})"


def accuracy_rows(found: Mapping[int, FOUND]) -> list[dict[str, str]]:
    """Top-1, top-3 and top-5 of the exact naive Bayes pursuit, and with all symptoms known."""
    rows = []
    for size, each in found.items():
        for k in SHOWN:
            tops = {f"top-{top}, %": percent(_right(each, PLAIN, k, top)) for top in TOP}
            rows.append({"conditions": str(size), "questions": str(k), **tops})
        tops = {f"top-{top}, %": percent(_right(each, "all symptoms known", 0, top)) for top in TOP}
        rows.append({"conditions": str(size), "questions": "all symptoms", **tops})
    return rows


def strategy_rows(found: FOUND) -> list[dict[str, str]]:
    """Top-1 of every strategy, and how it differs from exact naive Bayes on the same patients."""
    rows = []
    for name in [name for name in STRATEGIES if name in found]:
        row = {"strategy": name, "patients": f"{len(found[name]['rank']):,}"}
        for k in SHOWN[1:]:
            row[f"{k} questions, %"] = f"{100 * _right(found, name, k).mean():.1f}"
            plain = _right(found, PLAIN, k)
            row[f"difference after {k}"] = "" if name == PLAIN else against(_right(found, name, k), plain)
        rows.append(row)
    return rows


def prior_rows(found: Mapping[int, FOUND]) -> list[dict[str, str]]:
    """A skewed prior that the pursuit is told or not told."""
    rows = []
    for size, each in found.items():
        row = {"conditions": str(size)}
        for k in SHOWN[1:]:
            told, not_told = (_right(each, f"prior {name}", k) for name in ("told", "not told"))
            row[f"not told, {k} questions, %"] = f"{100 * not_told.mean():.1f}"
            row[f"told, {k} questions, %"] = f"{100 * told.mean():.1f}"
            row[f"difference after {k}"] = against(told, not_told)
        rows.append(row)
    return rows


def within(found: dict[str, Any], budget: float) -> BoolArray:
    """(B,) whether the most probable condition is right after the last question that the budget pays for."""
    k = (found["spent"] <= budget + 1e-9).sum(axis=1)
    return np.asarray(found["rank"][np.arange(len(k)), k] < 1)


def cost_to_reach(found: dict[str, Any], accuracy: float) -> float | None:
    """The least budget, in steps of a half, that gives an accuracy."""
    return next((b for b in np.arange(0, 60, 0.5).tolist() if within(found, b).mean() >= accuracy), None)


def cost_rows(found: Mapping[int, FOUND]) -> list[dict[str, Any]]:
    """Gain against gain per cost at the same budget, and the budget for the same accuracy."""
    rows = []
    for size, each in ((size, each) for size, each in found.items() if "gain per cost" in each):
        for budget in BUDGETS:
            blind, aware = within(each["gain"], budget), within(each["gain per cost"], budget)
            rows.append({
                "conditions": str(size), "cost paid at most": str(budget), "by gain, %": f"{100 * blind.mean():.1f}",
                "by gain per cost, %": f"{100 * aware.mean():.1f}", "difference": against(aware, blind),
                "cost for the accuracy of the first": cost_to_reach(each["gain per cost"], float(blind.mean())),
            })  # fmt: skip
    return rows


def draw_figure(found: Mapping[int, FOUND]) -> Any:
    """Top-1 against questions: the strategies on the largest task, and exact naive Bayes on all tasks."""
    from matplotlib.figure import Figure

    from infopursuit.presentation.plots import style

    figure = Figure(figsize=(9.6, 4.0), dpi=150, facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2)
    largest = found[max(found)]
    names = [
        name
        for name in largest
        if name in STRATEGIES and name not in ("two steps ahead", "age, race and sex asked for")
    ]
    for i, name in enumerate(names):
        draw_curve(left, _shares(largest, name, 1), name, style.COLOURS[i], style.MARKERS[i])
    ceiling = 100 * _right(largest, "all symptoms known", 0).mean()
    left.axhline(ceiling, color=style.INK, linestyle="--", linewidth=1)
    left.text(20, ceiling + 1, "all symptoms known", ha="right", va="bottom", fontsize=style.NOTE, color=style.INK)
    for i, (size, each) in enumerate(found.items()):
        for top, look in ((1, "-"), (5, ":")):
            label = f"{size} conditions" if top == 1 else None
            draw_curve(right, _shares(each, PLAIN, top), label, style.COLOURS[i], style.MARKERS[i], look)
    right.plot([], [], color=style.FAINT, linestyle=":", label="top-5")
    titles = (f"{max(found)} conditions: top-1", "Exact naive Bayes: top-1 and top-5")
    for axes, title, place in ((left, titles[0], "upper left"), (right, titles[1], "lower right")):
        style.plain(axes)
        style.write_title(axes, title)
        axes.set_xlabel("questions after the reported symptom", fontsize=style.SIZE, color=style.INK, loc="center")
        axes.set_ylabel("patients, %", fontsize=style.SIZE)
        axes.set_xticks(range(0, N_QUESTIONS + 1, 5))
        axes.set_ylim(0, 100)
        axes.legend(frameon=False, fontsize=style.NOTE, loc=place)
    return figure


def _shares(found: FOUND, name: str, top: int) -> FloatArray:
    return np.asarray(100 * (found[name]["rank"] < top).mean(axis=0))


def draw_curve(axes: Any, shares: FloatArray, label: str | None, colour: str, marker: str, look: str = "-") -> None:
    axes.plot(shares, look, color=colour, marker=marker, markersize=3.5, markevery=5, linewidth=1.4, label=label)


def run(args: argparse.Namespace) -> int:
    """Measure all tasks, or those that are named."""
    world = World.load()
    experiment = Experiment(NAME, args.out, args.first, PATIENT_SEED, say)
    found = {size: measure(experiment, world.first(size)) for size in args.conditions or SIZES}
    tables: dict[str, list[dict[str, Any]]] = {"Exact naive Bayes": accuracy_rows(found)}
    tables |= {f"{size} conditions, top-1": strategy_rows(each) for size, each in found.items()}
    tables |= {"A skewed prior, top-1": prior_rows(found), "Costs, top-1": cost_rows(found)}
    tables = {title: rows for title, rows in tables.items() if rows}
    for title, rows in tables.items():
        say("", title, "", plain_table(rows))
    ceilings = {size: {f"top-{top}": world.first(size).ceiling(top) for top in TOP} for size in found}
    from infopursuit.presentation.plots import save

    save(draw_figure(found), args.out / f"{NAME}.png")
    result = {
        "patients": args.first or N_PATIENTS,
        "seeds": {
            "order of conditions": ORDER_SEED,
            "patients": PATIENT_SEED,
            "patients of the skewed prior": SKEWED_SEED,
        },
        "symptoms": {size: len(world.first(size).symptoms) for size in found},
        "ceiling of equal rows": ceilings,
        "seconds": round(experiment.seconds),
        "tables": tables,
    }
    say(f"written to {write_result(args.out, NAME, 'python -m benchmarks.symcat', result)}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.symcat", description=__doc__)
    parser.add_argument("--first", type=positive, metavar="N", help=f"N patients to a task (default: {N_PATIENTS})")
    parser.add_argument("--conditions", type=positive, nargs="+", metavar="N", help="tasks (default: 200 300 400 801)")
    add_out(parser)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
