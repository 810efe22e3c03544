"""``python -m benchmarks.rare_classes``: the default classifier beside boosting where one class is rare.

Each replication draws a table in which one row of 200 or of 1,000 is positive, fits the default
classifier and two settings of boosting, and compares their areas under the ROC curve on fresh rows
of the same world. Boosting sees all columns of a row; the classifier asks for some of them. One
line is written for each replication, and a run that was stopped continues where it ended.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.held_out_figures import Record, Records, Row, names_among, run_replications
from benchmarks.machine import write_result
from benchmarks.pages import plain_table, update_page
from benchmarks.program import add_out, positive, run_program, say
from infopursuit.support.types import FloatArray

NAME = "rare-classes"
COMMAND = "python -m benchmarks.rare_classes"
N_COLUMNS = 10
N_FRESH_POSITIVE = 300
"""Fresh rows of the rare class; as many fresh rows are drawn as have so many on average."""
MAX_FRESH = 100_000
COEFFICIENTS = (1.2, -1.0, 0.8, 0.6)
"""Of the first columns in the linear world."""
BOOSTING: tuple[dict[str, Any], ...] = (
    {},
    {"max_iter": 300, "learning_rate": 0.03, "max_leaf_nodes": 4, "min_samples_leaf": 10},
)
"""Two settings: scikit-learn's own, and many small trees, which suit few positive rows better."""

BoolArray = NDArray[np.bool_]
Score = Callable[[FloatArray], FloatArray]


def score_linear(X: FloatArray) -> FloatArray:
    """Log odds that are linear in four of the columns."""
    return np.asarray(X[:, : len(COEFFICIENTS)] @ np.array(COEFFICIENTS))


def score_thresholds(X: FloatArray) -> FloatArray:
    """Log odds with two steps, a bend and a pair of columns that count only together."""
    steps = 2.0 * (X[:, 0] > 0.8) + 1.5 * (X[:, 1] < -0.5)
    bend = 0.7 * np.abs(X[:, 2])
    together = 2.0 * (X[:, 3] > 0) * (X[:, 4] > 0)
    return np.asarray(steps + bend + together)


WORLDS: dict[str, Score] = {"linear": score_linear, "thresholds": score_thresholds}


@dataclass(frozen=True)
class Rarity:
    """How rare the positive class is, and how many rows there are to learn from.

    Parameters
    ----------
    n_rows : int
    one_in : int
        One row of so many is positive, on average.
    """

    n_rows: int
    one_in: int


RARITIES = {"1:200": Rarity(6_000, 200), "1:1000": Rarity(64_000, 1_000)}


# ---- the worlds -----------------------------------------------------------------------------------------------------


def draw(world: str, one_in: int, n: int, generator: np.random.Generator) -> tuple[FloatArray, BoolArray]:
    """Draw rows and whether each is positive.

    Returns
    -------
    X : (n, N_COLUMNS) array of float
    positive : (n,) array of bool
    """
    X = generator.normal(size=(n, N_COLUMNS))
    log_odds = WORLDS[world](X) + intercept(world, one_in)
    return X, generator.random(n) < 1 / (1 + np.exp(-log_odds))


def intercept(world: str, one_in: int) -> float:
    """The constant in the log odds that makes one row of so many positive."""
    score = WORLDS[world](np.random.default_rng(0).normal(size=(200_000, N_COLUMNS)))
    low, high = -30.0, 10.0

    # The share of positive rows grows with the constant.
    for _ in range(60):
        middle = (low + high) / 2
        share = np.mean(1 / (1 + np.exp(-(score + middle))))
        if share > 1 / one_in:
            high = middle
        else:
            low = middle

    return (low + high) / 2


# ---- one replication ------------------------------------------------------------------------------------------------


def replicate(world: str, rarity: str, seed: int) -> Record:
    """Fit the classifier and boosting on one table, and compare them on fresh rows.

    Parameters
    ----------
    world : str
        One of `WORLDS`.
    rarity : str
        One of `RARITIES`.
    seed : int
        Of the table, the fresh rows and the models.

    Returns
    -------
    dict of str to float
        ``auc`` and ``boosting`` on fresh rows, ``said`` by `fit`, questions asked, positives, seconds.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    import infopursuit as ip

    warnings.simplefilter("ignore")
    n_rows, one_in = RARITIES[rarity].n_rows, RARITIES[rarity].one_in
    generator = np.random.default_rng((seed, n_rows, one_in))
    X, positive_rows = draw(world, one_in, n_rows, generator)
    n_fresh = min(MAX_FRESH, N_FRESH_POSITIVE * one_in)
    fresh, is_positive = draw(world, one_in, n_fresh, generator)

    begin = time.perf_counter()
    classifier = ip.InformationPursuitClassifier(random_state=seed, n_jobs=1, verbose=False)
    classifier.fit(X, positive_rows)
    seconds = time.perf_counter() - begin

    trace = classifier.explain(fresh)
    figures = {
        "auc": roc_auc_score(is_positive, trace.posterior[:, 1]),
        "questions": trace.length.mean(),
        "positives": positive_rows.sum(),
        "seconds": round(seconds, 1),
    }

    # Boosting gets the better of its settings on the fresh rows themselves, which flatters it.
    boosting = [HistGradientBoostingClassifier(random_state=seed, **settings) for settings in BOOSTING]
    figures["boosting"] = max(
        roc_auc_score(is_positive, model.fit(X, positive_rows).predict_proba(fresh)[:, 1]) for model in boosting
    )
    assessment = classifier.assessment_
    if assessment is not None and assessment.by_class.auc is not None:
        figures["said"] = assessment.by_class.auc

    return {name: float(value) for name, value in figures.items()}


# ---- many replications ----------------------------------------------------------------------------------------------


def summarise(world: str, rarity: str, records: Sequence[Record]) -> Row:
    """Means over replications, with the worst of them."""
    relative = [record["auc"] / record["boosting"] for record in records]
    said = [record["said"] - record["auc"] for record in records if "said" in record]
    return {
        "positive rows": rarity,
        "world": world,
        "rows": RARITIES[rarity].n_rows,
        "positives": f"{_mean(records, 'positives'):.0f}",
        "replications": len(records),
        "AUC": f"{_mean(records, 'auc'):.3f}",
        "AUC of boosting": f"{_mean(records, 'boosting'):.3f}",
        "relative": f"{np.mean(relative):.3f}",
        "worst": f"{min(relative):.3f}",
        "AUC said - fresh": f"{np.mean(said):+.3f}" if said else "",
        "questions": f"{_mean(records, 'questions'):.1f}",
        "fit, s": f"{_mean(records, 'seconds'):.0f}",
    }


def _mean(records: Sequence[Record], name: str) -> float:
    return float(np.mean([record[name] for record in records]))


# ---- the command ----------------------------------------------------------------------------------------------------


def run(args: argparse.Namespace) -> int:
    """Replicate, print and write."""
    # Each worker has one thread: two of them finish more replications than one with two threads.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    begin = time.perf_counter()
    rows = []
    seconds = 0.0

    for rarity in args.rarities:
        for world in args.worlds:
            file = args.out / ".parts" / NAME / f"{world}-{rarity.replace(':', '-in-')}.jsonl"
            records = Records(file)
            measure = partial(replicate, world, rarity)
            for n_finished in run_replications(records, measure, args.number, args.workers):
                say(f"{rarity}, {world}: {n_finished} of {args.number} after {time.perf_counter() - begin:.0f} s")

            finished = [records.read()[seed] for seed in range(args.number)]
            seconds += sum(record["seconds"] for record in finished)
            rows.append(summarise(world, rarity, finished))

    say("", plain_table(rows))
    result = {"experiment": NAME, "seed": 0, "seconds": round(seconds, 1), "tables": {"Rare classes": rows}}
    command = f"{COMMAND} --rarities {','.join(args.rarities)} --worlds {','.join(args.worlds)} --number {args.number}"
    say(f"written to {write_result(args.out, NAME, command, result)}")
    if args.page is not None:
        update_page(args.page, args.out)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    add = parser.add_argument
    rarities = tuple(RARITIES)
    worlds = tuple(WORLDS)
    add("--rarities", type=names_among(rarities), default=rarities, metavar="A,B", help=", ".join(rarities))
    add("--worlds", type=names_among(worlds), default=worlds, metavar="A,B", help=", ".join(worlds))
    add("--number", type=positive, default=4, metavar="N", help="replications of each (4)")
    add("--workers", type=positive, default=2, metavar="N", help="processes (2)")
    add("--page", type=Path, metavar="FILE", help="a page whose tables are written again")
    add_out(parser)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
