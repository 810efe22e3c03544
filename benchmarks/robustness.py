"""``python -m benchmarks.robustness``: wrong answers that stay, unknown answers and shifted priors in diagnosis.

Two tasks: SymCAT with 400 conditions (`benchmarks.symcat`, simulated patients) and the yes/no questions of DDXPlus
(`benchmarks.ddxplus`, patients of the test release). Both are asked by exact naive Bayes and information gain. What the
patient reports first is right and known. An answer that is wrong, or unknown, is so whenever it is asked for.

Finished parts are kept, and a run that was stopped goes on from there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks import ddxplus
from benchmarks.experiment import Experiment
from benchmarks.machine import write_result
from benchmarks.pages import plain_table
from benchmarks.program import add_out, positive, run_program, say
from benchmarks.symcat import N_QUESTIONS, Patients, Strategy, World, draw, draw_curve, ranks_of, walk
from infopursuit.evaluation.measures import Z
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

NAME = "robustness"
N_CONDITIONS, N_PATIENTS, SHOWN = 400, 4000, (5, 10, 20)
TRUE_SEED, SHIFTED_SEED, UNLABELLED_SEED, ALTERED_SEED, PLACES_SEED = 11, 12, 13, 14, 15
ERRORS, UNKNOWNS = (0.05, 0.1), (0.1, 0.3)
FLOOR = 0.005
"""Half of the smallest share above 0 that SymCAT states."""
PSEUDO = 1.0
"""Patients of each condition that are added when a prior is estimated: a condition that nobody had stays possible."""


@dataclass(frozen=True)
class Task:
    """A world, its prior, its patients, those of a shifted prior, and others of it whose conditions are not used.

    weight: (B,) what the patients of the shifted prior count.
    """

    name: str
    world: World
    prior: FloatArray
    patients: Patients
    shifted_prior: FloatArray
    shifted: Patients
    weight: FloatArray
    unlabelled: Patients
    unlabelled_weight: FloatArray

    @property
    def short(self) -> str:
        """The name of the data."""
        return self.name.split(",")[0]


def symcat_task(n: int) -> Task:
    """SymCAT: all conditions are equally frequent, and after the shift the one at place r as 1/r."""
    world = World.load().first(N_CONDITIONS)
    shifted, others = (draw(world, n, seed, world.skewed) for seed in (SHIFTED_SEED, UNLABELLED_SEED))
    even = np.full(N_CONDITIONS, 1 / N_CONDITIONS)
    patients, one = draw(world, n, TRUE_SEED), np.ones(n)
    return Task("SymCAT, 400 conditions", world, even, patients, world.skewed, shifted, one, others, one)


def ddxplus_task(n: int | None, floor: float = 0.002) -> Task:
    """DDXPlus: published frequencies; after the shift the disease at place r of a random order has a prior of 1/r.

    The patients are those that there are. To have the shifted prior they are weighted; one half is unlabelled.
    """
    release = ddxplus.Release()
    queries, published, y = release.queries, release.published, release.diseases[:n]
    asked = np.flatnonzero(queries.kinds == "B")
    names = [queries.names[q] for q in asked]
    yes = np.clip(published["p_present"][:, asked].astype(np.float64), floor, 1 - floor)
    world = World(tuple(published["condition"].tolist()), tuple(names), yes, {})
    rows = release.patients[:n]
    values = queries.observe([row["evidences"].split() for row in rows])[:, np.array(queries.first)[asked]]
    reported = np.array([names.index(row["initial_evidence"]) for row in rows])
    patients = Patients(y, values, reported, np.zeros((len(y), 0), dtype=np.int64))
    rng = np.random.default_rng(PLACES_SEED)
    target = world.skewed[rng.permutation(len(yes))]
    half = rng.permutation(len(y)) < len(y) // 2
    weight = target[y] / np.bincount(y, minlength=len(yes))[y] * len(y)
    prior = published["condition_count"] / published["condition_count"].sum()
    tested, others = patients.take(~half), patients.take(half)
    return Task(
        "DDXPlus, yes/no questions", world, prior, patients, target, tested, weight[~half], others, weight[half]
    )


# ---- what happens to answers and priors -----------------------------------------------------------------------------


def altered(patients: Patients, share: float, unknown: bool) -> Patients:
    """A share of the answers is wrong, or unknown; what a patient reports stays."""
    rng = np.random.default_rng(ALTERED_SEED)
    chosen = rng.random(patients.symptoms.shape) < share
    chosen[np.arange(len(patients)), patients.reported] = False
    return replace(
        patients, symptoms=np.where(chosen, UNKNOWN if unknown else 1 - patients.symptoms, patients.symptoms)
    )


def all_answered(task: Task, patients: Patients, error: float) -> IntArray:
    """(B,) the rank of the true condition by Bayes' rule from all answers, with the rate of errors declared."""
    yes = task.world.yes * (1 - 2 * error) + error
    with np.errstate(divide="ignore"):
        report = np.log(task.world.yes) - np.log(yes)  # which is right
        log = patients.symptoms @ np.log(yes).T + (1 - patients.symptoms) @ np.log1p(-yes).T + np.log(task.prior)
    return ranks_of((log + report[:, patients.reported].T)[:, None], patients.condition)[:, 0]


def estimate_prior(posterior: FloatArray, prior: FloatArray, weight: FloatArray, n_steps: int = 500) -> FloatArray:
    """(C,) the prior under which posteriors (B, C), computed with another prior, are most probable (EM, Saerens et al.
    2002), with `PSEUDO` more patients of each class. The questions depend on the answers alone, so that posterior over
    prior is the likelihood of the answers up to a factor.

    >>> estimate_prior(np.eye(2)[[0, 0, 0, 0, 0, 1]], np.full(2, 0.5), np.ones(6)).tolist()
    [0.75, 0.25]
    """
    likelihood, found = posterior / prior, prior
    for _ in range(n_steps):
        share = likelihood * found
        counts = weight @ (share / share.sum(axis=1, keepdims=True)) + PSEUDO
        found = counts / counts.sum()
    return np.asarray(found)


def total_variation(p: FloatArray, q: FloatArray) -> float:
    """Half of the sum of absolute differences."""
    return float(np.abs(p - q).sum() / 2)


# ---- measurements ---------------------------------------------------------------------------------------------------


def measure(experiment: Experiment, task: Task) -> dict[str, Any]:
    """Ranks of the true condition, (B, K + 1) for each way of asking."""
    world, prior = task.world, task.prior

    def ranks(name: str, patients: Patients, strategy: Strategy, told: FloatArray) -> IntArray:
        settings = [task.name, name, len(patients), strategy, told.round(9)]
        kept = experiment.part(
            f"{task.short} {name}", settings, lambda: np.minimum(walk(world, patients, strategy, told).rank, 5)
        )
        found = np.array(kept)
        experiment.say(f"{task.name}, {name}: {(found[:, SHOWN] == 0).mean(axis=0).round(3)}")
        return found

    found: dict[str, Any] = {"true": ranks("true answers", task.patients, Strategy(), prior)}
    for share in ERRORS:
        wrong = altered(task.patients, share, unknown=False)
        for how, strategy in _declared(share).items():
            found[f"{share:g} {how}"] = ranks(f"{100 * share:g} % wrong, {how}", wrong, strategy, prior)
        found[f"{share:g} all"] = all_answered(task, wrong, share)
    for share in UNKNOWNS:
        some = altered(task.patients, share, unknown=True)
        found[f"{share:g} unknown"] = ranks(f"{100 * share:g} % unknown", some, Strategy(), prior)

    def estimated() -> FloatArray:
        posterior = walk(world, task.unlabelled, Strategy(), prior).posterior
        return estimate_prior(posterior, prior, task.unlabelled_weight)

    estimate = np.array(experiment.part(f"{task.short} prior", [task.name, len(task.unlabelled), PSEUDO], estimated))
    for name, told in (("not told", prior), ("told", task.shifted_prior), ("estimated", estimate)):
        found[name] = ranks(f"shifted prior {name}", task.shifted, Strategy(), told)
    found["distances"] = [total_variation(task.shifted_prior, p) for p in (prior, estimate)]
    return found


def _declared(share: float) -> dict[str, Strategy]:
    """What the pursuit is told of errors."""
    other = next(each for each in ERRORS if each != share)
    return {
        "no noise model": Strategy(),
        "floor": Strategy(floor=FLOOR),
        "declared": Strategy(error=share),
        "other rate declared": Strategy(error=other),
    }


def _share(right: Any, weight: Any = None) -> float:
    return 100 * float(np.average(right, weights=weight))


def _points(ours: Any, theirs: Any, weight: Any = None) -> str:
    """The difference on the same patients in points, with its 95 % interval."""
    each = ours.astype(float) - theirs
    w = np.ones(len(each)) if weight is None else weight
    mean = float(np.average(each, weights=w))
    half = Z * float(np.sqrt((w**2 * (each - mean) ** 2).sum()) / w.sum())
    return f"{100 * mean:+.1f} ({100 * (mean - half):+.1f} to {100 * (mean + half):+.1f})"


def _recovered(best: float, now: float, none: float) -> str:
    """The share of a loss that is made good."""
    return f"{100 * (now - none) / (best - none):.0f} %" if best - none >= 1 else ""


def wrong_rows(task: Task, found: dict[str, Any]) -> list[dict[str, str]]:
    """Answers that are wrong, with and without a noise model."""
    rows = []
    for share in ERRORS:
        for k in SHOWN:
            right = {how: found[f"{share:g} {how}"][:, k] == 0 for how in _declared(share)}
            true, none, declared = (
                _share(r) for r in (found["true"][:, k] == 0, right["no noise model"], right["declared"])
            )
            rows.append({
                "task": task.name, "wrong": f"{100 * share:g} %", "questions": str(k), "true answers, %": f"{true:.1f}",
                **{f"{how}, %": f"{_share(r):.1f}" for how, r in right.items()},
                "declared - none": _points(right["declared"], right["no noise model"]),
                "loss recovered": _recovered(true, declared, none),
                "declared, all questions, %": f"{_share(found[f'{share:g} all'] == 0):.1f}",
            })  # fmt: skip
    return rows


def unknown_rows(task: Task, found: dict[str, Any]) -> list[dict[str, str]]:
    """Answers that are unknown."""
    rows = []
    for share in UNKNOWNS:
        for k in SHOWN:
            true, some = found["true"] == 0, found[f"{share:g} unknown"][:, k] == 0
            fewer = round(k * (1 - share))
            rows.append({
                "task": task.name, "unknown": f"{100 * share:g} %", "questions": str(k),
                "all answered, %": f"{_share(true[:, k]):.1f}", "some unknown, %": f"{_share(some):.1f}",
                "difference": _points(some, true[:, k]),
                "all answered, fewer questions, %": f"{_share(true[:, fewer]):.1f} ({fewer})",
            })  # fmt: skip
    return rows


def prior_rows(task: Task, found: dict[str, Any]) -> list[dict[str, str]]:
    """A prior that has shifted: not told, told, estimated."""
    rows = []
    for k in SHOWN:
        right = {name: found[name][:, k] == 0 for name in ("not told", "told", "estimated")}
        none, told, estimated = (_share(r, task.weight) for r in right.values())
        rows.append({
            "task": task.name, "questions": str(k), "not told, %": f"{none:.1f}", "told, %": f"{told:.1f}",
            "estimated, %": f"{estimated:.1f}",
            "told - not told": _points(right["told"], right["not told"], task.weight),
            "estimated - not told": _points(right["estimated"], right["not told"], task.weight),
            "loss recovered": _recovered(told, estimated, none),
        })  # fmt: skip
    return rows


def draw_figure(measured: Sequence[tuple[Task, dict[str, Any]]]) -> Any:
    """A row for each task: wrong answers, unknown answers, a shifted prior."""
    from matplotlib.figure import Figure

    from infopursuit.presentation.plots import style

    figure = Figure(figsize=(10.4, 3.1 * len(measured)), dpi=120, facecolor="white", layout="constrained")
    all_axes = np.atleast_2d(figure.subplots(len(measured), 3))
    worst = max(ERRORS)
    for (task, found), row in zip(measured, all_axes, strict=True):
        true = {"true answers": found["true"]}
        panels = {
            f"{100 * worst:g} % of answers wrong": true
            | {
                name: found[f"{worst:g} {how}"]
                for name, how in (
                    ("noise declared", "declared"),
                    ("floor of 0.5 %", "floor"),
                    ("no noise model", "no noise model"),
                )
            },
            "Answers unknown": true | {f"{100 * share:g} % unknown": found[f"{share:g} unknown"] for share in UNKNOWNS},
            "Shifted prior": {name: found[name] for name in ("told", "estimated", "not told")},
        }
        for axes, (title, curves) in zip(row, panels.items(), strict=True):
            weight, lowest = task.weight if title == "Shifted prior" else None, 100.0
            for i, (name, ranks) in enumerate(curves.items()):
                shares = 100 * np.average(ranks == 0, axis=0, weights=weight)
                draw_curve(axes, shares, name, style.COLOURS[i], style.MARKERS[i])
                lowest = min(lowest, shares[-1])
            style.plain(axes)
            axes.set_title(
                f"{task.short}: {title[0].lower()}{title[1:]}",
                loc="left",
                fontsize=style.SIZE,
                fontweight="bold",
            )
            axes.set_ylim(0, 100)
            axes.set_xticks(range(0, N_QUESTIONS + 1, 5))
            axes.legend(frameon=False, fontsize=style.NOTE, loc="lower right" if lowest > 60 else "upper left")
        row[0].set_ylabel("most probable is right, %", fontsize=style.SIZE)
    for axes in all_axes[-1]:
        axes.set_xlabel("questions", fontsize=style.SIZE)
    return figure


def run(args: argparse.Namespace) -> int:
    """Measure both tasks."""
    from infopursuit.presentation.plots import save

    experiment = Experiment(NAME, args.out, args.first, TRUE_SEED, say)
    measured = [
        (task, measure(experiment, task)) for task in (ddxplus_task(args.first), symcat_task(args.first or N_PATIENTS))
    ]
    rows = {"Wrong answers that stay": wrong_rows, "Unknown answers": unknown_rows, "A shifted prior": prior_rows}
    tables = {title: [row for task, found in measured for row in of(task, found)] for title, of in rows.items()}
    for title, table in tables.items():
        say("", title, "", plain_table(table))
    save(draw_figure(measured), args.out / f"{NAME}.png")
    result = {
        "patients": {task.name: len(task.patients) for task, _ in measured},
        "patients of the shifted prior": {task.name: len(task.shifted) for task, _ in measured},
        "effective number": {
            task.name: round(float(task.weight.sum() ** 2 / (task.weight**2).sum())) for task, _ in measured
        },
        "unlabelled patients": {task.name: len(task.unlabelled) for task, _ in measured},
        "total variation, before and with the estimate": {task.name: found["distances"] for task, found in measured},
        "seeds": [TRUE_SEED, SHIFTED_SEED, UNLABELLED_SEED, ALTERED_SEED, PLACES_SEED],
        "seconds": round(experiment.seconds),
        "tables": tables,
    }
    say(f"written to {write_result(args.out, NAME, 'python -m benchmarks.robustness', result)}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robustness", description=__doc__)
    parser.add_argument("--first", type=positive, metavar="N", help="only N patients of each task")
    add_out(parser)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
