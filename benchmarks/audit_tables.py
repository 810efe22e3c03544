"""``python -m benchmarks.audit_tables``: is a label told by the columns that an explanation names? Ten tables.

SHAP (on boosted trees) and an explainable boosting machine (EBM) name the k columns with the largest contributions to
their prediction of a row; a pursuit names the first k that it asks about. One predictor that takes any subset of
columns then sees these k and nothing else. SHAP and EBM see the whole row before they name columns, so that their
choice may itself give the label away; a pursuit sees only what it has asked. Two predictors judge: the masked networks
of the pursuit, and boosted trees trained with random masking, which know nothing of pursuits.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import infopursuit as ip
from benchmarks.experiment import Experiment
from benchmarks.machine import write_result
from benchmarks.pages import plain_table
from benchmarks.program import add_out, positive, run_program, say
from benchmarks.tables import folds, read_table
from infopursuit.strategies.hybrid.belief import answer_vectors
from infopursuit.support.types import FloatArray, IntArray

NAME = "audit_tables"
TABLES = (
    "pendigits", "spam_gdfs", "vowel",  # numbers
    "kr_vs_kp", "mushroom", "splice",  # categories
    "ckd", "credit_a", "heart_c", "hypothyroid",  # both, with missing values
)  # fmt: skip
"""Numbers, categories, and both with missing values; twelve columns at least, so that eight of them are a choice."""
SIZES = (1, 2, 3, 4, 6, 8)
MAX_TRAIN, MAX_TEST, N_COPIES = 1_500, 1_000, 8
"""Rows to learn from and to test on at the most, drawn at random; masked copies of each row for the trees."""
PURSUIT, SHAP, EBM, FIXED, RANDOM = "pursuit", "SHAP", "EBM", "SHAP, one list", "random columns"
NETWORKS, TREES = "masked networks", "masked trees"
BOUNDS = {"outer_bags": 2, "max_rounds": 1000, "interactions": 0, "n_jobs": 1}
"""Of the EBM, for time; without interactions each contribution belongs to one column."""
SMALLEST = 1e-4
"""Probabilities are at least this in log losses: no single row shall decide a mean."""
N_BOOTSTRAP = 2_000

Predict = Callable[[FloatArray], FloatArray]
"""(B, A) columns as numbers, NaN where not known -> (B, C) probabilities."""


@dataclass(frozen=True)
class Split:
    """One fold of a table. Columns are numbers, or codes of categories; NaN is missing. Labels are 0 to C - 1."""

    frame: Any
    X: FloatArray
    y: IntArray
    train: IntArray
    test: IntArray

    @classmethod
    def of(cls, table: str, fold: int, seed: int, most: int | None = None) -> Split:
        """A standard fold, with fewer rows where it is large."""
        frame, labels = read_table(table)
        rng, some = np.random.default_rng((seed, fold)), []
        for rows, limit in zip(folds(labels, seed)[fold], (MAX_TRAIN, MAX_TEST), strict=True):
            limit = limit if most is None else min(limit, most)
            some.append(np.sort(rng.permutation(rows)[:limit]))
        frame = frame[frame.columns[frame.iloc[some[0]].nunique() > 1]]  # a constant tells nothing
        return cls(frame, codes(frame), np.unique(labels, return_inverse=True)[1], *some)


def codes(frame: Any) -> FloatArray:
    """(N, A) numbers as they are, categories by their place in the alphabet, NaN where missing."""
    found = np.empty(frame.shape)
    for a, name in enumerate(frame.columns):
        column = frame[name]
        found[:, a] = column if column.dtype.kind == "f" else column.astype("category").cat.codes.replace(-1, np.nan)
    return found


def _columns(p: FloatArray, classes: Any, n_classes: int) -> FloatArray:
    """(B, C) with a column for every class, also for those without a training row."""
    found = np.zeros((len(p), n_classes))
    found[:, np.asarray(classes, dtype=np.int64)] = p
    return found


def trees(X: FloatArray, y: IntArray, seed: int, n_classes: int) -> tuple[Any, Predict]:
    """Boosted trees, and their probabilities."""
    model = HistGradientBoostingClassifier(
        max_iter=100, l2_regularization=1.0, early_stopping=False, random_state=seed
    ).fit(X, y)
    return model, lambda new: _columns(model.predict_proba(new), model.classes_, n_classes)


def masked_trees(X: FloatArray, y: IntArray, seed: int, n_classes: int) -> Predict:
    """Boosted trees that have seen every row with random columns hidden, mostly with few left."""
    rng = np.random.default_rng(seed)
    many = np.repeat(X, N_COPIES, axis=0)
    keep = rng.random(many.shape) < rng.random((len(many), 1)) ** 2
    return trees(np.where(keep, many, np.nan), np.repeat(y, N_COPIES), seed, n_classes)[1]


def largest(contributions: FloatArray, predicted: IntArray) -> IntArray:
    """(B, A) columns by the size of their contributions (B, A), or (B, A, C) to the class that is predicted."""
    if contributions.ndim == 3:
        contributions = contributions[np.arange(len(predicted)), :, predicted]
    return np.argsort(-np.abs(contributions), axis=1, kind="stable")


def name_columns(split: Split, seed: int, n_classes: int) -> tuple[dict[str, IntArray], dict[str, Any]]:
    """{method: (B, K) columns of each test row}, and {method: (N, A) columns of training rows} of SHAP and EBM."""
    import shap
    from interpret.glassbox import ExplainableBoostingClassifier

    X, y, test = split.X[split.train], split.y[split.train], split.X[split.test]
    some = X[:MAX_TEST]
    model, predict = trees(X, y, seed, n_classes)
    explainer = shap.TreeExplainer(model)

    def by_shap(rows: FloatArray) -> IntArray:
        values = np.asarray(explainer.shap_values(rows))
        return largest(values, np.searchsorted(model.classes_, predict(rows).argmax(axis=1)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of missing values, which its pictures do not show
        kinds = ["continuous" if split.frame[n].dtype.kind == "f" else "nominal" for n in split.frame.columns]
        ebm = ExplainableBoostingClassifier(random_state=seed, feature_types=kinds, **BOUNDS).fit(X, y)

        def by_ebm(rows: FloatArray) -> IntArray:
            return largest(np.asarray(ebm.eval_terms(rows)), ebm.predict_proba(rows).argmax(axis=1))

        named, learnt = {SHAP: by_shap(test), EBM: by_ebm(test)}, {SHAP: by_shap(some), EBM: by_ebm(some)}
    sizes = np.abs(np.asarray(explainer.shap_values(some)))
    overall = np.argsort(-sizes.mean(axis=(0, 2) if sizes.ndim == 3 else 0), kind="stable")
    named[FIXED] = np.tile(overall, (len(test), 1))
    named[RANDOM] = np.random.default_rng(seed).permuted(np.tile(np.arange(X.shape[1]), (len(test), 1)), axis=1)
    return {name: order[:, : max(SIZES)] for name, order in named.items()}, learnt


def measure(table: str, fold: int, seed: int = 0, most: int | None = None) -> dict[str, Any]:
    """{judge: {method: {k: {"right": (B,), "loss": (B,)}}}} of one fold, and what the names of columns alone tell."""
    split = Split.of(table, fold, seed, most)
    n_classes = int(split.y.max()) + 1
    named, learnt = name_columns(split, seed, n_classes)
    rule = ip.MaxQueries(max(SIZES))
    clf = ip.InformationPursuitClassifier(strategy=ip.Hybrid(n_members=4), stopping=rule, random_state=seed)
    clf.fit(split.frame.iloc[split.train], split.y[split.train])
    pursuit = clf.pursuit_
    rows = split.frame.iloc[split.test]
    if tuple(pursuit.queries.names) != tuple(rows.columns):
        raise ValueError(f"{table}: the questions of the pursuit are not the columns, in their order")
    named[PURSUIT] = pursuit.run(rows, progress=False).queries
    observed = pursuit.queries.read(rows)
    vectors, _ = answer_vectors(pursuit.queries, observed.values, observed.numbers)
    test, y = split.X[split.test], split.y[split.test]
    others = masked_trees(split.X[split.train], split.y[split.train], seed, n_classes)

    belief: Any = pursuit.belief

    def networks(given: FloatArray) -> FloatArray:
        return _columns(belief.predictor.predict(given)[0], clf.classes_, n_classes)

    found: dict[str, Any] = {}
    for judge, data, predict in ((NETWORKS, vectors, networks), (TREES, test, others)):
        found[judge] = {name: judged(predict, data, order, y) for name, order in named.items()}
    return {"judges": found, "names alone": names_alone(split, named, learnt), "rows": len(y), "columns": test.shape[1]}


def judged(predict: Predict, data: FloatArray, order: IntArray, y: IntArray) -> dict[str, Any]:
    """{k: right and loss of each row} when the first k columns of ``order`` (B, K) are all that is known."""
    found = {}
    for k in SIZES:
        given = np.full_like(data, np.nan)
        rows, places = np.nonzero(order[:, :k] >= 0)
        columns = order[rows, places]
        given[rows, columns] = data[rows, columns]
        p = predict(given)
        loss = -np.log(np.maximum(p[np.arange(len(y)), y], SMALLEST))
        found[str(k)] = {"right": (p.argmax(axis=1) == y).astype(int).tolist(), "loss": loss.round(4).tolist()}
    return found


def names_alone(split: Split, named: dict[str, IntArray], learnt: dict[str, IntArray], k: int = 4) -> dict[str, float]:
    """Accuracy of a logistic regression that sees which k columns were named, and no value of any."""
    y, found = split.y[split.train][:MAX_TEST], {}
    for name, order in learnt.items():
        inputs = [np.zeros((len(some), order.shape[1])) for some in (order, named[name])]
        for each, some in zip(inputs, (order, named[name]), strict=True):
            np.put_along_axis(each, some[:, :k], 1.0, axis=1)
        model = LogisticRegression(max_iter=2000).fit(inputs[0], y)
        found[name] = float((model.predict(inputs[1]) == split.y[split.test]).mean())
    return found


def most_frequent(table: str, fold: int, seed: int = 0) -> float:
    """Accuracy of the most frequent training label."""
    split = Split.of(table, fold, seed)
    return float((split.y[split.test] == np.bincount(split.y[split.train]).argmax()).mean())


# ---- over tables -----------------------------------------------------------------------------------------------------


def pooled(parts: dict[str, list[Any]], judge: str, method: str, k: int, score: str) -> list[FloatArray]:
    """For each table the scores of the test rows of all its folds."""
    return [
        np.concatenate([part["judges"][judge][method][str(k)][score] for part in some]).astype(float)
        for some in parts.values()
    ]


def interval(differences: Sequence[FloatArray], seed: int = 0) -> tuple[float, float, float]:
    """The mean over tables of mean differences of rows, with a 95 % interval: tables are drawn, and rows in them."""
    rng = np.random.default_rng(seed)
    # the mean of rows drawn with replacement is as good as normal
    means = np.array([each.mean() for each in differences])
    errors = np.array([each.std() / np.sqrt(len(each)) for each in differences])
    tables = rng.integers(len(means), size=(N_BOOTSTRAP, len(means)))
    drawn = (means[tables] + errors[tables] * rng.standard_normal(tables.shape)).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(means.mean()), float(low), float(high)


METHODS = (PURSUIT, SHAP, EBM, FIXED, RANDOM)


def summarise(parts: dict[str, list[Any]]) -> dict[str, list[dict[str, Any]]]:
    """Tables for the page."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for judge in (NETWORKS, TREES):
        means, apart = [], []
        for k in SIZES:
            row: dict[str, Any] = {"columns": k}
            off: dict[str, Any] = {"columns": k}
            for method in METHODS:
                right, loss = (
                    np.mean([v.mean() for v in pooled(parts, judge, method, k, s)]) for s in ("right", "loss")
                )
                row[method] = f"{100 * right:.1f} % / {loss:.3f}"
            for method in METHODS[1:]:
                for score, factor, digits in (("right", 100, 1), ("loss", 1, 3)):
                    ours, theirs = (pooled(parts, judge, name, k, score) for name in (PURSUIT, method))
                    mean, low, high = (factor * v for v in interval([a - b for a, b in zip(ours, theirs, strict=True)]))
                    text = f"{mean:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"
                    off[f"{method}, {'points' if score == 'right' else 'nats'}"] = text
            means.append(row)
            apart.append(off)
        tables[f"accuracy / log loss, mean over tables, judge: {judge}"] = means
        tables[f"pursuit minus the others, judge: {judge}"] = apart
    tables["each table, accuracy after 4 columns, judge: masked trees"] = [
        {
            "table": table, "rows": sum(p["rows"] for p in some), "columns": some[0]["columns"],
            **{m: f"{100 * pooled({table: some}, TREES, m, 4, 'right')[0].mean():.1f} %" for m in METHODS},
            **{f"names of {m}": f"{100 * np.mean([p['names alone'][m] for p in some]):.1f} %" for m in (SHAP, EBM)},
            "most frequent label": f"{100 * np.mean([most_frequent(table, f) for f in range(len(some))]):.1f} %",
        }
        for table, some in parts.items()
    ]  # fmt: skip
    return tables


def draw(experiment: Experiment, parts: dict[str, list[Any]]) -> dict[str, str]:
    """Accuracy and log loss against the number of columns, by both judges."""
    from matplotlib import pyplot as plt

    from infopursuit.presentation.plots.style import plain

    colours = dict(zip(METHODS, ("#1f5fa8", "#d1662c", "#4d9a5b", "#b07aa1", "#9c9c9c"), strict=True))
    figure, axes = plt.subplots(2, 2, figsize=(8.6, 5.8), sharex=True, sharey="row", constrained_layout=True)
    for column, judge in enumerate((NETWORKS, TREES)):
        for axis, score, factor in zip(axes[:, column], ("right", "loss"), (100, 1), strict=True):
            for method, colour in colours.items():
                y = [factor * np.mean([v.mean() for v in pooled(parts, judge, method, k, score)]) for k in SIZES]
                axis.plot(SIZES, y, "o-", color=colour, label=method, lw=1.8, ms=3.5)
            axis.set_xticks(SIZES)
            plain(axis)
        axes[0, column].set_title(f"judge: {judge}")
        axes[1, column].set_xlabel("columns that are known")
    axes[0, 0].set_ylabel("accuracy, %")
    axes[1, 0].set_ylabel("log loss, nats")
    axes[0, 1].legend(frameon=False, fontsize=8, loc="lower right")
    return experiment.figure(figure, f"{NAME}.png", "Accuracy and log loss from the k columns that each method names")


def part(experiment: Experiment, table: str, fold: int) -> Any:
    """One fold of one table, or what an earlier run has of it."""
    settings = [SIZES, MAX_TRAIN, MAX_TEST, N_COPIES, BOUNDS]
    return experiment.part(f"{table} {fold}", settings, partial(measure, table, fold))


def run(args: argparse.Namespace) -> int:
    """Measure."""
    experiment = Experiment(NAME, args.out, seed=0, say=say)
    parts: dict[str, list[Any]] = {}
    for table in TABLES:
        parts[table] = [part(experiment, table, fold) for fold in range(args.folds)]
    tables = summarise(parts)
    for title, rows in tables.items():
        say("", title, plain_table(rows))
    whole = {
        "seed": 0, "seconds": round(experiment.seconds, 1), "folds": args.folds,
        "rows": {table: sum(part["rows"] for part in some) for table, some in parts.items()},
        "tables": tables, "figures": [draw(experiment, parts)],
    }  # fmt: skip
    say(f"written to {write_result(args.out, NAME, 'python -m benchmarks.audit_tables', whole)}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit_tables", description=__doc__)
    parser.add_argument("--folds", type=positive, default=2, help="of five (default: 2)")
    add_out(parser)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
