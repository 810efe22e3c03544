"""``python -m benchmarks.networks``: learnt pursuits and greedy ones against the truth of a Bayesian network.

Patients are drawn from the network, so that posterior and information gains of every history are known exactly
(`benchmarks.exact_network`). Learnt strategies are measured on the histories that they ask themselves: accuracy, regret
in gain, distance from the exact posterior. In small networks the optimal strategy is found by dynamic programming
(`benchmarks.optimal`). A run that was stopped goes on where it ended.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import xlogy

import infopursuit as ip
from benchmarks.exact_network import ExactBelief, Known, World, example
from benchmarks.experiment import Experiment
from benchmarks.machine import write_result
from benchmarks.optimal import VALUES, ExpectedAccuracy, fewest_questions, follow, optimal
from benchmarks.pages import plain_table
from benchmarks.program import add_out, positive, run_program, say
from benchmarks.table_measures import LEAST, calibration_errors
from infopursuit.models.networks.masked import Training
from infopursuit.presentation.plots import style
from infopursuit.pursuit.histories import Histories
from infopursuit.pursuit.protocols import Budget
from infopursuit.support.types import UNKNOWN, FloatArray, IntArray

NAME = "networks"
TRAINING, TEST = 1, 2
"""Seeds of the patients."""
ROWS = (1_000, 10_000, 100_000)
N_VERIFIED = 5
"""Histories after which posterior and gains are compared with those of pyAgrum, which takes its time."""
SHOWN_FROM = 50.0
"""Per cent right from which on accuracy is drawn: strategies hardly differ below."""
LEARNT = {"naive Bayes": ip.models.naive_bayes(), "table": "table", "hybrid": "hybrid", "default": "auto"}
"""Strategies of the classifier; "table" chooses between naive Bayes and latent classes, "auto" between that and the
hybrid, both on held-out training rows."""
ATTEMPTS: dict[str, tuple[Any, bool]] = {
    "hybrid without dropout": (ip.Hybrid(training=Training(dropout=0.0)), True),
    "hybrid, 16,000 steps": (ip.Hybrid(training=Training(max_steps=16_000)), True),
    "hybrid without dropout, 16,000 steps": (ip.Hybrid(training=Training(dropout=0.0, max_steps=16_000)), True),
    "table without temperature scaling": ("table", False),
}
"""Other settings, tried on the most rows of pathfinder: the strategy, and whether its posterior is calibrated."""


@dataclass(frozen=True)
class Setting:
    """What is done with one network. n_questions: of every pursuit; shown: after how many results are shown; n_optimal:
    questions of the optimal strategy, epsilon: of the confidence that it has to reach, None: not asked for."""

    target: str
    n_questions: int = 0
    shown: tuple[int, ...] = ()
    n_optimal: int = 4
    epsilon: float | None = None


PURSUED = {
    "pathfinder": Setting("Fault", 20, (1, 2, 3, 5, 7, 10, 15, 20)),
    "child": Setting("Disease", 10, (1, 2, 3, 4, 5, 6, 8, 10)),
}
SOLVED = {
    "asia, bronc": Setting("bronc", n_optimal=4, epsilon=0.1),
    "asia, lung": Setting("lung", n_optimal=4, epsilon=0.05),
    "child, Disease": Setting("Disease", n_optimal=5),
    "pathfinder, Fault": Setting("Fault", n_optimal=3),
}


# ---- pursuits of patients -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ward:
    """The patients of one network."""

    name: str
    setting: Setting
    n_patients: int

    @cached_property
    def world(self) -> World:
        """The network."""
        return World.read(self.name, self.setting.target)

    @cached_property
    def belief(self) -> ExactBelief:
        """The truth about it."""
        return ExactBelief(self.world)

    @cached_property
    def patients(self) -> tuple[IntArray, IntArray]:
        """Those that are diagnosed: findings and classes."""
        return self.world.sample(self.n_patients, TEST)

    def exact(self, acquisition: Any) -> dict[str, Any]:
        """A pursuit that knows the network."""
        pursuit = ip.Pursuit(self.world.queries, self.belief, acquisition, ip.MaxQueries(self.setting.n_questions))
        return self.measure(pursuit, np.arange(len(self.world.classes)))

    def learnt(self, strategy: Any, n_rows: int, calibrated: bool = True) -> dict[str, Any]:
        """A pursuit that was learnt from so many patients. calibrated: with the temperature that fit chose."""
        X, y = self.world.sample(max(ROWS), TRAINING)
        start = time.process_time()
        clf = ip.InformationPursuitClassifier(queries=self.world.queries, strategy=strategy, n_jobs=1)
        clf.fit(X[:n_rows], y[:n_rows])
        fitted = time.process_time() - start
        pursuit = replace(clf.pursuit_, stopping=ip.MaxQueries(self.setting.n_questions), patience=0)
        pursuit = pursuit if calibrated else replace(pursuit, calibrator=None)
        chosen = {
            "learner": repr(clf.selection_[0].learner) if clf.selection_ else None,
            "tuning": None if clf.tuning_ is None else clf.tuning_.candidates,
            "temperature": None if clf.tuning_ is None else clf.tuning_.temperature,
        }
        found = self.measure(pursuit, clf.classes_)
        return {**found, "n_classes": len(clf.classes_), "chosen": chosen, "fit_seconds": round(fitted, 1)}

    def measure(self, pursuit: ip.Pursuit[Any], classes: IntArray) -> dict[str, Any]:
        """Pursue all patients, and compare with the truth after every answer."""
        (X, y), n_steps = self.patients, self.setting.n_questions
        start = time.process_time()
        trace = pursuit.run_values(X, progress=False)
        run_seconds = time.process_time() - start
        said = np.zeros((*trace.posteriors.shape[:2], len(self.world.classes)))
        said[:, :, classes] = trace.posteriors
        rows, columns = np.arange(len(X)), []
        for k in range(n_steps + 1):
            posterior, gains = self._truth(trace.queries[:, :k])
            p = said[:, k]
            confidence, right = p.max(axis=1), p.argmax(axis=1) == y
            divergence = (xlogy(posterior, posterior) - posterior * np.log(np.maximum(p, LEAST))).sum(axis=1)
            column = {
                "accuracy": float(right.mean()),
                "accuracy_exact_posterior": float((posterior.argmax(axis=1) == y).mean()),
                "divergence": _mean(divergence),
                "brier": _mean(((p - posterior) ** 2).sum(axis=1)),
                "calibration": calibration_errors(confidence, right),
                "right": right.astype(int).tolist(),
            }
            if k < n_steps:
                best = gains.max(axis=1)
                column["regret"] = _mean(best - gains[rows, trace.queries[:, k]])
                column["best_gain"] = float(best.mean())
            columns.append(column)
        return {"after": columns, "run_seconds": round(run_seconds, 1)}

    def _truth(self, asked: IntArray) -> tuple[FloatArray, FloatArray]:
        """(B, C) the exact posterior of each patient given the answers to (B, K) queries, and (B, Q) exact gains."""
        X = self.patients[0]
        evidence = np.full_like(X, UNKNOWN)
        np.put_along_axis(evidence, asked, np.take_along_axis(X, asked, axis=1), axis=1)
        distinct, index = np.unique(evidence, axis=0, return_inverse=True)
        known: Known = self.belief.given(distinct)
        return known.posterior[index.ravel()], self.belief.information(known)[index.ravel()]

    def ceiling(self) -> dict[str, float]:
        """The Bayes classifier that sees all findings: on the patients, and how often it expects to be right."""
        X, y = self.patients
        p = self.belief.given(X).posterior
        return {"accuracy": float((p.argmax(axis=1) == y).mean()), "expected": float(p.max(axis=1).mean())}

    def verify(self, n: int = N_VERIFIED) -> dict[str, float]:
        """The largest difference of a posterior and of a gain from those of pyAgrum, after random histories."""
        theirs: Any = example().Network(self.world.network, self.world.queries, self.world.target)
        look_ahead = ip.strategies.LookAhead().bind(theirs, self.world.queries, None, None)
        rng, worst = np.random.default_rng(0), {"posterior": 0.0, "gain": 0.0}
        for row in self.patients[0][:n]:
            asked = rng.permutation(len(row))[: rng.integers(self.setting.n_questions + 1)]
            histories = Histories(self.world.queries, asked[None], row[asked][None, :, None])
            b, known = (
                theirs.update(theirs.init(), np.zeros(1, int), histories),
                self.belief.given(histories.observed()),
            )
            allowed = known.evidence == UNKNOWN
            gains = look_ahead.utilities(b, histories, allowed, Budget.unlimited(len(histories))).value
            difference = np.exp(theirs.log_posterior(b).value) - known.posterior
            worst["posterior"] = max(worst["posterior"], float(np.abs(difference).max()))
            worst["gain"] = max(worst["gain"], float(np.nanmax(np.abs(gains - self.belief.information(known)))))
        return worst


def _mean(values: FloatArray) -> list[float]:
    """The mean and its standard error."""
    return [float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)]


def pursue(
    ward: Ward, experiment: Experiment, rows: Sequence[int], strategies: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each strategy on the patients of a network; every one a part of its own."""
    fixed = [ward.setting.n_questions, TRAINING, TEST, max(ROWS)]
    for name, acquisition in (
        ("exact", ip.strategies.LookAhead()),
        ("exact, random order", ip.strategies.RandomOrder()),
    ):
        make = partial(ward.exact, acquisition)
        yield name, experiment.part(f"{ward.name} {name}".replace(",", ""), [name, *fixed], make)
    for n_rows in rows:
        for name in strategies:
            key = f"{name}, {n_rows:,} rows"
            make = partial(ward.learnt, LEARNT[name], n_rows)
            yield key, experiment.part(f"{ward.name} {name} {n_rows}", [name, n_rows, *fixed], make)
    for name, (strategy, calibrated) in ATTEMPTS.items() if ward.name == "pathfinder" and max(ROWS) in rows else ():
        make = partial(ward.learnt, strategy, max(ROWS), calibrated)
        yield name, experiment.part(f"{ward.name} {name}".replace(",", ""), [name, max(ROWS), *fixed], make)


# ---- optimal strategies ---------------------------------------------------------------------------------------------


def solve(name: str, setting: Setting) -> dict[str, Any]:
    """The optimal strategy, greedy pursuit and look-ahead of two steps, all by enumeration."""
    world = World.read(name, setting.target)
    belief, n = ExactBelief(world), setting.n_optimal
    one = ip.Pursuit(world.queries, belief, ip.strategies.LookAhead())
    two = replace(one, acquisition=ip.strategies.LookAhead(depth=2))
    pursuits: dict[str, tuple[Any, Any]] = {
        "greedy": (one, None),
        "greedy in accuracy": (replace(one, acquisition=ExpectedAccuracy(belief)), None),
        "two-step look-ahead": (two, None),
        "two-step look-ahead, the last question greedy": (two, one),
    }
    found: dict[str, Any] = {"optimal": optimal(belief, n)}
    for each, (pursuit, last) in pursuits.items():
        leaves = [follow(pursuit, last, k) for k in range(n + 1)]
        found[each] = {value: [leaf.value(value) for leaf in leaves] for value in VALUES}
    prior = found["optimal"]["information"][0]
    for values in found.values():  # minus entropy -> information about the target
        values["information"] = [value - prior for value in values["information"]]
    if setting.epsilon is not None:
        found["optimal"]["questions"] = fewest_questions(belief, setting.epsilon)
        for each in ("greedy", "two-step look-ahead"):
            pursuit = replace(pursuits[each][0], stopping=ip.Confidence(setting.epsilon))
            found[each]["questions"] = follow(pursuit).length
    return found


# ---- tables and the figure ------------------------------------------------------------------------------------------


def accuracy_table(told: Mapping[str, Any], setting: Setting) -> list[dict[str, Any]]:
    """Per cent right after k questions, and the difference from the exact pursuit of the same patients."""
    half, rows = setting.n_questions // 2, []
    exact = np.array(told["strategies"]["exact"]["after"][half]["right"])
    for name, found in told["strategies"].items():
        each = {str(k): f"{100 * found['after'][k]['accuracy']:.1f}" for k in setting.shown}
        less, error = _mean(100.0 * (np.array(found["after"][half]["right"]) - exact))
        rows.append({"strategy": name, **each, f"difference from exact after {half}": f"{less:+.1f} ± {error:.1f}"})
    ceiling = f"{100 * told['all findings']['accuracy']:.1f}"
    rows.append({**dict.fromkeys(rows[0], ""), "strategy": "exact, all findings", str(setting.shown[-1]): ceiling})
    return rows


def truth_table(told: Mapping[str, Any], setting: Setting) -> list[dict[str, Any]]:
    """Regret, distance from the exact posterior, calibration."""
    half, end = setting.n_questions // 2, setting.n_questions
    rows = []
    for name, found in told["strategies"].items():
        after = found["after"]
        best = sum(column["best_gain"] for column in after[:end])
        lost = sum(column["regret"][0] for column in after[:end])
        rows.append({
            "strategy": name,
            **{f"regret, question {k}": _with_error(after[k - 1]["regret"]) for k in (1, 2, 3, half)},
            "share of the best gains": f"{100 * (1 - lost / best):.1f} %",
            **{f"KL after {k}": _with_error(after[k]["divergence"]) for k in (1, half, end)},
            f"Brier distance after {half}": _with_error(after[half]["brier"]),
            "calibration, 1 to 3": _calibration(after[1:4]),
            f"calibration, 4 to {end}": _calibration(after[4:]),
            f"right after {half}, exact posterior": f"{100 * after[half]['accuracy_exact_posterior']:.1f}",
            "chosen": _chosen(found),
            "fit, s": f"{found['fit_seconds']:.0f}" if "fit_seconds" in found else "",
        })  # fmt: skip
    return rows


def _with_error(pair: Sequence[float]) -> str:
    return f"{round(pair[0], 3) + 0.0:.3f} ± {pair[1]:.3f}"


def _calibration(after: Sequence[Mapping[str, Any]]) -> str:
    """The root of the mean squared calibration error over some numbers of questions, in points: the square is without
    bias, so that its mean is too."""
    squared = float(np.mean([column["calibration"]["squared"] for column in after]))
    return f"{100 * max(squared, 0.0) ** 0.5:.1f}"


def _chosen(found: Mapping[str, Any]) -> str:
    """What was chosen on held-out rows."""
    told = found.get("chosen")
    if told is None:
        return ""
    best = min(told["tuning"], key=told["tuning"].__getitem__) if told["tuning"] else ""
    return best if best == "hybrid" else str(told["learner"])


def solved_table(solved: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Expected accuracy and information after k questions."""
    rows = []
    longest = max(setting.n_optimal for setting in SOLVED.values())
    for world, found in solved.items():
        for name, told in found.items():
            row: dict[str, Any] = {"network, target": world, "strategy": name}
            for k in range(1, longest + 1):
                there = k < len(told["accuracy"])
                row[str(k)] = f"{100 * told['accuracy'][k]:.2f} ({told['information'][k]:.3f})" if there else ""
            row["questions"] = f"{told['questions']:.3f}" if "questions" in told else ""
            rows.append(row)
    return rows


def draw(measured: Mapping[str, Any]) -> Any:
    """Accuracy above, the sum of regrets below; a column for each network."""
    style.need_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8.6, 6.2), dpi=120, facecolor="white", layout="constrained")
    axes = figure.subplots(2, len(measured), squeeze=False)
    colours = dict(zip(["naive Bayes", "default", "hybrid"], style.COLOURS, strict=False))
    lines: dict[int, Any] = dict(zip(ROWS, (":", "--", "-"), strict=True))
    for column, (network, told) in enumerate(measured.items()):
        for name, found in told["strategies"].items():
            if name.startswith("table") or name in ATTEMPTS:  # a table is naive Bayes or the default, or near to it
                continue
            if name == "exact, random order":
                look: dict[str, Any] = {"color": style.UNSEEN, "linewidth": 1.2}
            elif name == "exact":
                look = {"color": style.INK, "linewidth": 2.0, "zorder": 3}
            else:
                kind, n_rows = name.removesuffix(" rows").split(", ", 1)
                look = {"color": colours[kind], "linestyle": lines[int(n_rows.replace(",", ""))], "linewidth": 1.3}
                if kind == "default":  # may be the hybrid, which is drawn over it
                    look |= {"linewidth": 2.6, "alpha": 0.6, "zorder": 1.5}
            accuracy = [after["accuracy"] for after in found["after"]]
            axes[0, column].plot(range(len(accuracy)), [100 * a for a in accuracy], **look)
            if not name.startswith("exact"):
                regret = [after["regret"][0] for after in found["after"][:-1]]
                axes[1, column].plot(range(len(regret) + 1), np.cumsum([0.0, *regret]), **look)
        ceiling = 100 * told["all findings"]["accuracy"]
        axes[0, column].axhline(ceiling, color=style.FAINT, linewidth=0.8, linestyle=(0, (1, 3)))
        axes[0, column].set_ylim(SHOWN_FROM, ceiling + 2)
        axes[1, column].set_ylim(bottom=0.0)
        style.write_title(axes[0, column], f"{network}")
        for row, words in enumerate(("accuracy, %", "regret in gain up to here, nats")):
            style.plain(axes[row, column])
            axes[row, column].set_xlim(0, len(accuracy) - 1)
            axes[row, column].xaxis.set_major_locator(MaxNLocator(integer=True))
            axes[row, column].set_ylabel(words if not column else "", fontsize=style.SIZE, color=style.INK)
            axes[row, column].set_xlabel("questions asked", loc="center", fontsize=style.SIZE, color=style.INK)
    handles = [Line2D([], [], color=style.INK, linewidth=2.0, label="exact")]
    handles += [Line2D([], [], color=style.UNSEEN, label="exact, random order")]
    for kind, colour in colours.items():
        wide: Any = {"linewidth": 2.6, "alpha": 0.6} if kind == "default" else {}
        handles.append(Line2D([], [], color=colour, label=kind, **wide))
    handles += [Line2D([], [], color=style.FAINT, linestyle=s, label=f"{n:,} rows") for n, s in lines.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=style.NOTE)
    return figure


# ---- the program ----------------------------------------------------------------------------------------------------


def run(args: argparse.Namespace) -> int:
    """Measure, print, draw and write."""
    example()  # that pyAgrum is missing is said before anything is measured
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    experiment = Experiment(NAME, args.out, args.patients, say=say)
    measured: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    solved = {}
    for world, setting in SOLVED.items():
        solved[world] = experiment.part(world.replace(",", ""), setting, partial(solve, world.split(",")[0], setting))
    tables["Expected accuracy in per cent (information in nats) after k questions"] = solved_table(solved)
    say("", plain_table(solved_table(solved)))
    for network in args.networks:
        ward = Ward(network, PURSUED[network], args.patients)
        told: dict[str, Any] = {"all findings": experiment.part(f"{network} ceiling", [TEST], ward.ceiling)}
        told["strategies"] = dict(pursue(ward, experiment, args.rows, args.strategies))
        told["largest difference from pyAgrum"] = experiment.part(
            f"{network} verified", [TEST, N_VERIFIED], ward.verify
        )
        measured[network] = told
        tables[f"{network}: per cent right"] = accuracy_table(told, ward.setting)
        tables[f"{network}: compared with the truth"] = truth_table(told, ward.setting)
        say("", plain_table(accuracy_table(told, ward.setting)), "", plain_table(truth_table(told, ward.setting)))
    figure = experiment.figure(draw(measured), f"{NAME}.png", "Accuracy after k questions, and regret of each question")
    for told in measured.values():
        for found in told["strategies"].values():
            found["after"] = [{k: v for k, v in each.items() if k != "right"} for each in found["after"]]
    result: dict[str, Any] = {
        "seed": 0, "seconds": round(experiment.seconds, 1), "patients": args.patients, "seeds": [TRAINING, TEST],
        "measured": measured, "solved": solved, "tables": tables, "figures": [figure],
    }  # fmt: skip
    say(f"written to {write_result(args.out, NAME, 'python -m benchmarks.networks', result)}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.networks", description=__doc__)
    parser.add_argument("--networks", nargs="+", choices=PURSUED, default=list(PURSUED), help="whose patients (all)")
    parser.add_argument("--rows", nargs="+", type=int, choices=ROWS, default=ROWS, help="training patients (all)")
    parser.add_argument("--strategies", nargs="+", choices=LEARNT, default=list(LEARNT), help="learnt (all)")
    parser.add_argument("--patients", type=positive, default=1_000, metavar="N", help="test patients (1000)")
    add_out(parser)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
