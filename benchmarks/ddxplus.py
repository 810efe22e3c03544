"""``python -m benchmarks.ddxplus``: diagnosis of 49 diseases by 223 questions (DDXPlus), and a model to try it with.

The questions are the official ones: yes/no, one of several values, and any number of several values (where does it
hurt?), asked once and answered with a set. A question about details is asked only after its parent was answered yes.
The first complaint of a patient is known beforehand. The model is naive Bayes: yes/no answers by the published
frequencies, values by the patients of the other four of five folds. It is a demonstration, and not medical advice.

``python -m benchmarks.ddxplus --save FOLDER`` writes a model of the yes/no questions for ``infopursuit ask FOLDER`` and
``infopursuit serve FOLDER``.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

import infopursuit as ip
from benchmarks.datasets.files import data_folder
from benchmarks.experiment import Experiment
from benchmarks.machine import write_result
from benchmarks.pages import plain_table
from benchmarks.program import add_out, positive, run_program, say
from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.protocols import Acquisition, Budget, Estimate
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.types import FloatArray, IntArray

NAME = "ddxplus"
N_FOLDS, N_QUESTIONS, SHOWN = 5, 20, (0, 1, 2, 3, 5, 7, 10, 15, 20)
LEARNT = ("table", "hybrid")
"""Strategies that see the patients alone, and none of the published frequencies."""
SEVERE = 2
"""Severities 1 and 2, of 1 to 5, are severe."""
RULED_OUT = 0.01
"""A disease below this probability is ruled out."""
PLAUSIBLE = 1e-4
"""Diseases below this probability are left out of gains."""
NARROW = 2**8
"""Questions with more answers than this get their gain from draws."""


class Evidences(QuerySet):
    """The official questions. A question with any number of values reveals one yes/no variable for each of them."""

    kind = "ddxplus"

    def __init__(self, official: dict[str, Any], order: Sequence[str]) -> None:
        self.values = [[str(v) for v in official[name]["possible-values"]] for name in order]
        kinds = [official[name]["data_type"] for name in order]
        self.kinds = np.array(kinds)
        sizes: list[int] = []
        self.first = []
        for kind, values in zip(kinds, self.values, strict=True):
            self.first.append(len(sizes))
            sizes += [2] * len(values) if kind == "M" else [len(values) if kind == "C" else 2]
        n_variables = [len(v) if kind == "M" else 1 for kind, v in zip(kinds, self.values, strict=True)]
        variables = np.full((len(order), max(n_variables)), -1)
        for q, n in enumerate(n_variables):
            variables[q, :n] = self.first[q] + np.arange(n)
        choices = [
            self._meanings(official[name], values) if kind == "C" else ("no", "yes") if kind == "B" else ()
            for name, kind, values in zip(order, kinds, self.values, strict=True)
        ]
        sentences = [official[name]["question_en"] for name in order]
        super().__init__(order, sizes, variables, sentences=sentences, choices=choices)

    @staticmethod
    def _meanings(one: dict[str, Any], values: Sequence[str]) -> list[str]:
        return [one["value_meaning"].get(value, {}).get("en", value) for value in values]

    def observe(self, X: Any) -> IntArray:
        """X: for each patient the list of evidences as the release has them, ``E_55_@_V_89``."""
        index = {name: q for q, name in enumerate(self.names)}
        found = np.zeros((len(X), len(self.variables)), dtype=np.int64)
        for q in np.flatnonzero(self.kinds == "C").tolist():
            found[:, self.first[q]] = -1  # not asked where its parent is not there
        for row, evidences in enumerate(X):
            for each in evidences:
                name, _, value = each.partition("_@_")
                q = index[name]
                at = 0 if self.kinds[q] == "B" else self.values[q].index(value)
                if self.kinds[q] == "C":
                    found[row, self.first[q]] = at
                else:
                    found[row, self.first[q] + at] = 1
        return found

    def to_spec(self) -> dict[str, Any]:
        raise NotImplementedError("the questions are read from the data folder")


@dataclass(frozen=True)
class SetGain(Acquisition[Any]):
    """Mutual information by naive Bayes: exact where a question has few answers, else over answers that are drawn once.

    An answer to a question with any number of values is a set of independent values, so that the gain of the question
    is the mean of a function of the likelihood ratios. ``n_draws`` sets are drawn for each class before anything is
    asked, and their likelihoods under all classes kept: a gain is then a weighted sum, and a function of the history.
    """

    model: Any
    n_draws: int = 64
    seed: int = 0
    unit: ClassVar[Literal["nats"]] = "nats"

    def bind(self, belief: Any, queries: QuerySet, costs: Any, noise: Any) -> _Bound:
        """The function to call."""
        return _Bound(self, belief, queries)

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        raise TypeError("SetGain must be bound first")


class _Bound(Acquisition[Any]):
    unit: ClassVar[Literal["nats"]] = "nats"
    is_exact = False

    def __init__(self, settings: SetGain, belief: Any, queries: QuerySet) -> None:
        self.settings, self.belief, self.queries = settings, belief, queries

    @cached_property
    def narrow(self) -> tuple[FloatArray, IntArray]:
        """(L, C) p(answer | class) of all answers of questions with few, and (L,) whose answers they are."""
        table, offsets = self.settings.model.tables()[2][:, 0].T, self.queries.variables.offsets  # (L, C)
        found = {}
        for q in np.flatnonzero(self.queries.n_answers <= NARROW):
            a = self.queries.query_variables[q, 0]
            found[q] = table[offsets[a] : offsets[a + 1]]
        return np.concatenate(list(found.values())), np.repeat(list(found), [len(each) for each in found.values()])

    @cached_property
    def drawn(self) -> dict[int, FloatArray]:
        """For each question with many answers (C, draws, C): the likelihood of each set, drawn for a class, under all
        classes, up to a factor."""
        table, offsets = self.settings.model.tables()[2][:, 0], self.queries.variables.offsets
        rng, found = np.random.default_rng(self.settings.seed), {}
        for q in np.flatnonzero(self.queries.n_answers > NARROW):
            p = table[:, [offsets[a] + 1 for a in self.queries.query_variables[q] if a >= 0]]  # (C, W)
            sets = rng.random((len(p), self.settings.n_draws, p.shape[1])) < p[:, None]
            log = sets @ np.log(p).T + (~sets) @ np.log1p(-p).T
            found[int(q)] = np.exp(log - log.max(axis=2, keepdims=True))
        return found

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """(H, Q) information gains."""
        p = np.exp(self.belief.log_posterior(b).value)  # (H, C)
        gains = np.full(allowed.shape, np.nan)
        likelihood, query = self.narrow
        starts = np.flatnonzero(np.diff(query, prepend=-1))
        for row in np.flatnonzero(allowed.any(axis=1)):
            few = np.flatnonzero(p[row] > PLAUSIBLE)
            now = p[row, few] / p[row, few].sum()
            before = _entropy(now)
            joint = likelihood[:, few] * now  # (L, C)
            total = joint.sum(axis=1)
            after = np.add.reduceat(total * _entropy(joint / np.maximum(total, 1e-300)[:, None]), starts)
            gains[row, query[starts]] = np.maximum(before - after, 0.0)
            for q, drawn in self.drawn.items():
                if allowed[row, q]:
                    joint = drawn[few][:, :, few] * now  # (C, draws, C)
                    then = _entropy(joint / np.maximum(joint.sum(axis=2, keepdims=True), 1e-300)).mean(axis=1)
                    gains[row, q] = max(before - now @ then, 0.0)
        return Estimate.exact(np.where(allowed, gains, np.nan))


def _entropy(p: FloatArray) -> FloatArray:
    return np.asarray(-(p * np.log(np.maximum(p, 1e-300))).sum(axis=-1))


@dataclass(frozen=True)
class Release:
    """The patients and the published frequencies."""

    folder: Path = field(default_factory=data_folder)

    @cached_property
    def published(self) -> dict[str, Any]:
        """Frequencies and texts, as arrays."""
        with np.load(self.folder / "ddxplus_model.npz") as stored:
            return {name: stored[name] for name in stored.files}

    @cached_property
    def queries(self) -> Evidences:
        """The official questions."""
        with gzip.open(self.folder / "ddxplus_release_evidences.json.gz", "rt", encoding="utf-8") as file:
            return Evidences(json.load(file), self.published["evidence"].tolist())

    @cached_property
    def patients(self) -> list[dict[str, str]]:
        """Rows of the test release."""
        with gzip.open(self.folder / "ddxplus_patients_2611.csv.gz", "rt", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    @cached_property
    def diseases(self) -> IntArray:
        """(B,) of each patient."""
        names = self.published["condition"].tolist()
        return np.array([names.index(row["pathology"]) for row in self.patients])

    @property
    def constraints(self) -> ip.Constraints:
        """A question about details comes after its parent was answered yes."""
        names = self.published["evidence"].tolist()
        pairs = zip(names, self.published["parent"].tolist(), strict=True)
        return ip.Constraints({name: (parent, "yes") for name, parent in pairs if parent != name and parent in names})

    def model(self, values: IntArray, rows: Any, floor: float = 0.002) -> ip.models.TableModel:
        """Naive Bayes: published frequencies of yes, and frequencies of values among some patients who have the parent.

        ``floor``: no yes/no answer has a smaller probability, so that no single answer rules a disease out.
        """
        queries, published, y = self.queries, self.published, self.diseases[rows]
        n_classes, sizes = len(published["condition"]), queries.variables.sizes
        probs = np.zeros((n_classes, len(sizes), max(sizes)))
        for q, kind in enumerate(queries.kinds):
            first = queries.first[q]
            if kind == "B":
                yes = np.clip(published["p_present"][:, q].astype(np.float64), floor, 1 - floor)
                probs[:, first, 0], probs[:, first, 1] = 1 - yes, yes
            elif kind == "C":
                one_hot = values[rows, first][:, None] == np.arange(sizes[first])  # (B, V)
                counts = np.stack([one_hot[y == c].sum(axis=0) for c in range(n_classes)])
                overall = (counts.sum(axis=0) + 1) / (counts.sum() + sizes[first])
                probs[:, first, : sizes[first]] = (counts + 2 * overall) / (counts.sum(axis=1, keepdims=True) + 2)
            else:
                mine = values[rows, first : first + len(queries.values[q])]  # (B, W)
                there = mine.any(axis=1)
                counts = np.stack([mine[there & (y == c)].sum(axis=0) for c in range(n_classes)])
                totals = np.array([(there & (y == c)).sum() for c in range(n_classes)])
                overall = (counts.sum(axis=0) + 0.5) / (totals.sum() + 1)
                yes = np.clip((counts + overall) / (totals[:, None] + 1), 0.001, 0.999)
                places = first + np.arange(mine.shape[1])
                probs[:, places, 0], probs[:, places, 1] = 1 - yes, yes
        prior = published["condition_count"] / published["condition_count"].sum()
        return ip.models.TableModel(prior, None, probs, sizes=sizes)


def pursue(release: Release, limit: int | None, presence_only: bool = False) -> dict[str, Any]:
    """All patients, each by the model of the other folds: (B, K + 1, C) posteriors, and what was asked."""
    queries, published = release.queries, release.published
    values = queries.observe([row["evidences"].split() for row in release.patients])
    initial = np.array([row["initial_evidence"] for row in release.patients])
    fold = np.random.default_rng(0).permutation(len(values)) % N_FOLDS
    n = len(values) if limit is None else min(limit, len(values))
    posteriors = np.zeros((n, N_QUESTIONS + 1, len(published["condition"])))
    asked = np.full((n, N_QUESTIONS), -1)
    for held in range(N_FOLDS):
        model = release.model(values, np.flatnonzero(fold != held))
        constraints = release.constraints
        if presence_only:
            details = [name for name, kind in zip(queries.names, queries.kinds, strict=True) if kind != "B"]
            constraints = ip.Constraints(constraints.prerequisites, forbidden=details)
        pursuit = ip.Pursuit(
            queries, ip.strategies.Exact(model, queries), SetGain(model), ip.MaxQueries(N_QUESTIONS),
            classes=published["condition"], constraints=constraints,
        )  # fmt: skip
        rows = np.flatnonzero((fold == held) & (np.arange(len(values)) < n))
        posteriors[rows], asked[rows] = _ask(pursuit, values, initial, rows)
        say(f"fold {held + 1} of {N_FOLDS}")
    return {"posteriors": posteriors, "asked": asked, "values": values[:n], "diseases": release.diseases[:n]}


def _ask(pursuit: ip.Pursuit[Any], values: Any, initial: Any, rows: IntArray) -> tuple[FloatArray, IntArray]:
    """(B, K + 1, C) posteriors of some patients, each with the first complaint known, and (B, K) what was asked."""
    posteriors = np.zeros((len(rows), N_QUESTIONS + 1, len(pursuit.classes)))
    asked = np.full((len(rows), N_QUESTIONS), -1)
    for known in np.unique(initial[rows]):
        mine = np.flatnonzero(initial[rows] == known)
        beforehand = [str(known)] if known in pursuit.queries.names else []
        trace = pursuit.run_values(values[rows[mine]], known=beforehand, progress=False)
        steps = np.minimum(np.arange(N_QUESTIONS + 1), trace.posteriors.shape[1] - 1)
        posteriors[mine], asked[mine, : trace.queries.shape[1]] = trace.posteriors[:, steps], trace.queries
    return posteriors, asked


def learn(release: Release, strategy: str, limit: int | None) -> dict[str, Any]:
    """The same with a model of the patients of the other folds alone: which evidences are there, all yes/no."""
    names = release.published["evidence"].tolist()
    present = np.zeros((len(release.patients), len(names)), dtype=np.int64)
    for i, row in enumerate(release.patients):
        present[i, [names.index(each.partition("_@_")[0]) for each in row["evidences"].split()]] = 1
    initial = np.array([row["initial_evidence"] for row in release.patients])
    fold = np.random.default_rng(0).permutation(len(present)) % N_FOLDS
    n = len(present) if limit is None else min(limit, len(present))
    posteriors = np.zeros((n, N_QUESTIONS + 1, len(release.published["condition"])))
    for held in range(N_FOLDS):
        train = fold != held
        clf = ip.InformationPursuitClassifier(ip.queries.columns(names=names), strategy, random_state=0)
        found = clf.fit(present[train], release.diseases[train]).pursuit_
        pursuit = replace(found, stopping=ip.MaxQueries(N_QUESTIONS), patience=0, constraints=_present(found, release))
        rows = np.flatnonzero(~train & (np.arange(len(present)) < n))
        posteriors[np.ix_(rows, np.arange(N_QUESTIONS + 1), pursuit.classes)], _ = _ask(
            pursuit, found.queries.read(present).values, initial, rows
        )
        say(f"{strategy}, fold {held + 1} of {N_FOLDS}")
    return {"posteriors": posteriors, "diseases": release.diseases[:n]}


def _present(pursuit: ip.Pursuit[Any], release: Release) -> ip.Constraints:
    """Prerequisites among the evidences that differ between training patients."""
    asked, found = set(pursuit.queries.names), release.constraints.prerequisites.items()
    return ip.Constraints({name: all_ for name, all_ in found if {name, *(parent for parent, _ in all_)} <= asked})


def figures(release: Release, found: dict[str, Any]) -> list[dict[str, str]]:
    """After k questions: accuracy, the differential's five most probable, and severe diseases ruled out."""
    p, y = found["posteriors"], found["diseases"]
    severe = release.published["severity"] <= SEVERE
    rows = []
    for k in SHOWN:
        now = p[:, k]
        best = np.argsort(-now, axis=1)
        right = best[:, 0] == y
        others = severe[None] & (np.arange(len(severe)) != y[:, None])
        ruled = ((now < RULED_OUT) & others).sum() / others.sum()
        mine = severe[y]
        wrongly = (now[np.arange(len(y)), y] < RULED_OUT)[mine].mean()
        error = np.sqrt(right.mean() * (1 - right.mean()) / len(y))
        rows.append({
            "questions": str(k), "accuracy": f"{100 * right.mean():.1f} ± {100 * error:.1f} %",
            "among the five most probable": f"{100 * (best[:, :5] == y[:, None]).any(axis=1).mean():.1f} %",
            "severe diseases ruled out": f"{100 * ruled:.1f} %",
            "severe disease of the patient ruled out": f"{100 * wrongly:.2f} %",
        })  # fmt: skip
    return rows


def draw(tables: dict[str, list[dict[str, str]]]) -> Any:
    """Accuracy, and severe diseases ruled out, against questions."""
    from matplotlib.figure import Figure

    from infopursuit.presentation.plots.style import COLOURS, MARKERS, plain

    figure = Figure(figsize=(10, 4), layout="constrained", dpi=110)
    left, right = figure.subplots(1, 2)
    for (name, rows), colour, marker in zip(tables.items(), COLOURS, MARKERS, strict=False):
        k = [int(row["questions"]) for row in rows]
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1.5, "label": name}
        left.plot(k, [float(row["accuracy"].split()[0]) for row in rows], **look)
        right.plot(k, [float(row["severe diseases ruled out"].split()[0]) for row in rows], **look)
    for axes, title in ((left, "disease is the most probable"), (right, "severe diseases of others ruled out")):
        axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
        axes.set_xlabel("questions after the first complaint")
        axes.set_ylabel("%")
        axes.set_xticks(range(0, N_QUESTIONS + 1, 5))
        plain(axes)
    left.legend(frameon=False, loc="lower right", fontsize=9)
    return figure


def parents_first(release: Release, found: dict[str, Any]) -> bool:
    """Whether no question about details was asked of a patient whose parent evidence is not there."""
    names = list(release.queries.names)
    parent = {q: names.index(p) for q, p in enumerate(release.published["parent"]) if p in names and p != names[q]}
    present = found["values"][:, release.queries.first]
    return all(present[i, parent[q]] == 1 for i, row in enumerate(found["asked"]) for q in row if q in parent)


def save_demonstration(release: Release, folder: Path) -> None:
    """A table of facts: the share of each yes/no evidence for each disease, with the official questions."""
    import pandas as pd

    published = release.published
    yes_no = np.flatnonzero(release.queries.kinds == "B")
    names = published["evidence"][yes_no].tolist()
    table = pd.DataFrame(published["p_present"][:, yes_no].round(4), columns=names)
    table.insert(0, "disease", published["condition"])
    prerequisites = {key: value for key, value in release.constraints.prerequisites.items() if key in names}
    wording = dict(zip(names, published["question"][yes_no].tolist(), strict=True))
    clf = ip.fit_table(
        table, "disease", facts=True, wording=wording, constraints=ip.Constraints(prerequisites), answer_error=0.01
    )
    clf.save(folder)
    say(f"written to {folder}; a demonstration, and not medical advice. Try: infopursuit ask {folder}")


def _published(release: Release, limit: int | None, presence_only: bool) -> list[dict[str, str]]:
    found = pursue(release, limit, presence_only)
    if not parents_first(release, found):
        raise ValueError("a question was asked before its parent was answered yes")
    return figures(release, found)


def _learnt(release: Release, strategy: str, limit: int | None) -> list[dict[str, str]]:
    return figures(release, learn(release, strategy, limit))


def run(args: argparse.Namespace) -> int:
    """Measure, or save."""
    release = Release()
    if args.save is not None:
        save_demonstration(release, args.save)
        return 0
    experiment, tables = Experiment(NAME, args.out, args.first, say=say), dict[str, Any]()
    for name, made in {
        "all questions": partial(_published, release, args.first, presence_only=False),
        "yes or no questions alone": partial(_published, release, args.first, presence_only=True),
        **{f"{name}, from patients alone": partial(_learnt, release, name, args.first) for name in LEARNT},
    }.items():
        tables[name] = experiment.part(name, [N_FOLDS, N_QUESTIONS], made)
        say("", name, plain_table(tables[name]))
    n = args.first or len(release.patients)
    figure = experiment.figure(draw(tables), f"{NAME}.png", "Diagnosis against questions")
    result = {"patients": n, "folds": N_FOLDS, "tables": tables, "figures": [figure]}
    say(f"written to {write_result(args.out, NAME, 'python -m benchmarks.ddxplus', result)}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ddxplus", description=__doc__)
    parser.add_argument("--first", type=positive, metavar="N", help="only the first N patients")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="write a model to try, and measure nothing")
    add_out(parser)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
