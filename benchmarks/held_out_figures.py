"""``python -m benchmarks.held_out_figures``: what `fit` says of itself beside what is true, in simulated worlds.

Each replication draws a table, fits a classifier and asks it about fresh rows of the same world. What `fit` said of
itself is compared with what the fresh rows show: accuracy, its 95 % interval, and the confidence that is shown after
each of the first answers and at the stop. One line is written for each replication, and a run that was stopped
continues where it ended.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.machine import write_result
from benchmarks.pages import plain_table, update_page
from benchmarks.program import add_out, positive, run_program, say
from infopursuit.support.types import FloatArray, IntArray

NAME = "held-out-figures"
COMMAND = "python -m benchmarks.held_out_figures"
N_FRESH = 4_000
"""Fresh rows of each replication."""
N_SHOWN = 3
"""Answers after each of which the shown confidence is compared with the accuracy."""
COEFFICIENTS = (1.5, -1.2, 1.0, 0.8, -0.6)
"""Of the first columns of the logistic world; the others tell nothing."""
STRATEGIES = ("auto", "table", "hybrid", "amortized")

Row = dict[str, str | int | float]
Record = dict[str, float]


@dataclass(frozen=True)
class Drawn:
    """A table that was drawn from a world.

    Parameters
    ----------
    X : (B, Q) array of float
    y : (B,) array of int
    sample_weight : (B,) array of float, optional
    """

    X: FloatArray
    y: IntArray
    sample_weight: FloatArray | None = None


@dataclass(frozen=True)
class World:
    """A law that tables are drawn from, and how a classifier is fitted on them.

    Parameters
    ----------
    draw : callable
        ``draw(generator, n)`` draws a table of n rows.
    weigh : callable, optional
        Draws or computes the row weights of a training table; None gives all rows the same.
    class_prior : tuple of float, optional
        What `fit` is told about the classes.
    class_weight : str, optional
        As the parameter of the classifier.
    """

    draw: Callable[[np.random.Generator, int], Drawn]
    weigh: Callable[[np.random.Generator, IntArray], FloatArray] | None = None
    class_prior: tuple[float, ...] | None = None
    class_weight: str | None = None


# ---- the worlds -----------------------------------------------------------------------------------------------------


def draw_logistic(generator: np.random.Generator, n: int, n_columns: int = 10) -> Drawn:
    """Numbers, and a label whose log odds are linear in five of them."""
    X = generator.normal(size=(n, n_columns))
    log_odds = X[:, : len(COEFFICIENTS)] @ np.array(COEFFICIENTS)
    y = (generator.random(n) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)
    return Drawn(X, y)


def draw_noise(
    generator: np.random.Generator,
    n: int,
    n_columns: int = 10,
    share: float = 0.5,
    n_copies: int = 1,
) -> Drawn:
    """Numbers, and a label that has nothing to do with them; each row may be there several times."""
    n_distinct = -(-n // n_copies)
    X = generator.normal(size=(n_distinct, n_columns))
    y = (generator.random(n_distinct) < share).astype(np.int64)
    copies = np.tile(np.arange(n_distinct), n_copies)[:n]
    return Drawn(X[copies], y[copies])


def weigh_twice(generator: np.random.Generator, labels: IntArray) -> FloatArray:
    """Each row weighs 2."""
    return np.full(len(labels), 2.0)


def weigh_exponentially(generator: np.random.Generator, labels: IntArray) -> FloatArray:
    """Weights with an exponential law of mean 1."""
    return generator.exponential(size=len(labels))


def weigh_balanced(generator: np.random.Generator, labels: IntArray) -> FloatArray:
    """Weights that make both classes equally frequent."""
    counts = np.bincount(labels, minlength=2)
    return np.asarray(len(labels) / (2 * counts))[labels]


def _noise(**settings: float) -> Callable[[np.random.Generator, int], Drawn]:
    """A world of noise with other settings."""

    def draw(generator: np.random.Generator, n: int) -> Drawn:
        return draw_noise(generator, n, **settings)  # type: ignore[arg-type]

    return draw


WORLDS = {
    "logistic": World(draw_logistic),
    "noise": World(draw_noise),
    "noise, weights 2": World(draw_noise, weigh_twice),
    "noise, exponential weights": World(draw_noise, weigh_exponentially),
    "noise, 10 % balanced by weights": World(_noise(share=0.1), weigh_balanced),
    "noise, 10 % balanced by class_weight": World(_noise(share=0.1), class_weight="balanced"),
    "noise, class prior": World(_noise(share=0.1), class_prior=(0.5, 0.5)),
    "noise, rows three times": World(_noise(n_copies=3)),
    "noise, 60 columns": World(_noise(n_columns=60)),
}


# ---- one replication ------------------------------------------------------------------------------------------------


def replicate(name: str, strategy: str, n: int, seed: int) -> Record:
    """Fit on a table of n rows, and compare what is said with what fresh rows show.

    Parameters
    ----------
    name : str
        One of `WORLDS`.
    strategy : str
    n : int
        Rows of the training table.
    seed : int
        Of the table, the fresh rows and the classifier.

    Returns
    -------
    dict of str to float
        Accuracies and confidences from 0 to 1; ``gap_k`` is the confidence minus the accuracy of
        the fresh rows that had a k-th answer, right after it.
    """
    import infopursuit as ip

    warnings.simplefilter("ignore")
    world = WORLDS[name]
    generator = np.random.default_rng((seed, n, sum(name.encode())))
    table = world.draw(generator, n)
    fresh = world.draw(generator, N_FRESH)
    sample_weight = None if world.weigh is None else world.weigh(generator, table.y)

    begin = time.perf_counter()
    classifier = ip.InformationPursuitClassifier(
        strategy=strategy,
        class_weight=world.class_weight,
        random_state=seed,
        n_jobs=1,
        verbose=False,
    )
    classifier.fit(table.X, table.y, sample_weight=sample_weight, class_prior=world.class_prior)
    seconds = time.perf_counter() - begin

    # Where classes count alike in training, they count alike in the truth.
    balanced = world.class_weight or world.class_prior or world.weigh is weigh_balanced
    weights = weigh_balanced(generator, fresh.y) if balanced else np.ones(N_FRESH)

    trace = classifier.explain(fresh.X)
    correct = trace.predictions == fresh.y
    confidence = trace.posterior.max(axis=1)
    accuracy = float(np.average(correct, weights=weights))
    record = {
        "seconds": round(seconds, 2),
        "accuracy": accuracy,
        "confidence": float(np.average(confidence, weights=weights)),
        "questions": float(trace.length.mean()),
    }
    for k in range(1, N_SHOWN + 1):
        asked = trace.length >= k
        if asked.any():
            posterior = trace.posteriors[asked, k]
            is_right = classifier.classes_[posterior.argmax(axis=1)] == fresh.y[asked]
            record[f"gap_{k}"] = float(np.average(posterior.max(axis=1) - is_right, weights=weights[asked]))

    assessment = classifier.assessment_
    if assessment is not None:
        record["said"] = assessment.accuracy
        record["said_confidence"] = assessment.confidence
        record["inside"] = float(assessment.low <= accuracy <= assessment.high)
        record["width"] = assessment.high - assessment.low
    return record


# ---- many replications ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Records:
    """The replications of one world, strategy and number of rows, a line of JSON each."""

    file: Path

    def read(self) -> dict[int, Record]:
        """The replications that are finished, by their seeds."""
        if not self.file.exists():
            return {}
        records = {}
        for line in self.file.read_text().splitlines():
            # The last line of a run that was killed may be incomplete.
            if line.endswith("}"):
                record = json.loads(line)
                records[int(record.pop("seed"))] = record
        return records

    def append(self, seed: int, record: Record) -> None:
        """Write one more replication."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as lines:
            print(json.dumps({"seed": seed, **record}), file=lines)


def run_replications(
    records: Records,
    measure: Callable[[int], Record],
    number: int,
    workers: int,
) -> Iterator[int]:
    """Run the replications that are missing; yields how many there are, after each.

    Parameters
    ----------
    records : Records
        Where finished replications are kept.
    measure : callable
        ``measure(seed)`` runs one replication in another process, so it must be picklable.
    number : int
        Replications in all; their seeds are 0 to ``number - 1``.
    workers : int
    """
    finished = records.read()
    missing = [seed for seed in range(number) if seed not in finished]
    n_finished = number - len(missing)

    with ProcessPoolExecutor(workers) as pool:
        seed_of = {pool.submit(measure, seed): seed for seed in missing}
        for done in as_completed(seed_of):
            records.append(seed_of[done], done.result())
            n_finished += 1
            yield n_finished


def summarise(name: str, strategy: str, n: int, records: Sequence[Record]) -> Row:
    """Means over replications, in points, with standard errors."""
    measured = [record for record in records if "said" in record]
    said_minus_fresh = [100 * (record["said"] - record["accuracy"]) for record in measured]
    row: Row = {
        "world": name,
        "strategy": strategy,
        "rows": n,
        "replications": len(records),
        "fresh accuracy, %": f"{100 * np.mean([record['accuracy'] for record in records]):.1f}",
        "questions": f"{np.mean([record['questions'] for record in records]):.1f}",
        "said - fresh": _mean(said_minus_fresh),
        "in the interval, %": f"{100 * np.mean([record['inside'] for record in measured]):.0f}" if measured else "",
        "confidence - accuracy at the stop": _mean(
            [100 * (record["confidence"] - record["accuracy"]) for record in records]
        ),
    }
    for k in range(1, N_SHOWN + 1):
        row[f"after {k}"] = _mean([100 * record[f"gap_{k}"] for record in records if f"gap_{k}" in record])
    row["fit, s"] = f"{np.mean([record['seconds'] for record in records]):.1f}"
    return row


def _mean(values: Sequence[float]) -> str:
    """A mean with its standard error; empty where there are fewer than two values."""
    if len(values) < 2:
        return ""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):+.2f} ± {error:.2f}"


# ---- the command ----------------------------------------------------------------------------------------------------


def run(args: argparse.Namespace) -> int:
    """Replicate, print and write."""
    # Each worker has one thread: two of them finish more replications than one with two threads.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    folder = args.out / ".parts" / NAME
    begin = time.perf_counter()
    rows = []
    seconds = 0.0
    for name in args.worlds:
        for strategy in args.strategies:
            for n in args.rows:
                records = Records(folder / f"{name.replace(' ', '-').replace('%', 'percent')}-{strategy}-{n}.jsonl")
                title = f"{name}, {strategy}, {n:,} rows"
                measure = partial(replicate, name, strategy, n)
                for n_finished in run_replications(records, measure, args.number, args.workers):
                    if n_finished % 10 == 0:
                        say(f"{title}: {n_finished} of {args.number} after {time.perf_counter() - begin:.0f} s")
                finished = records.read()
                seconds += sum(finished[seed]["seconds"] for seed in range(args.number))
                rows.append(summarise(name, strategy, n, [finished[seed] for seed in range(args.number)]))
                say(f"{rows[-1]}")

    say("", plain_table(rows))
    if args.part is None:
        return 0

    # The seconds of all fits: a run that continues an earlier one would name its own alone.
    result = {
        "experiment": f"{NAME}-{args.part}",
        "seed": 0,
        "seconds": round(seconds, 1),
        "tables": {"Replications": rows},
    }
    command = (
        f"{COMMAND} --worlds '{';'.join(args.worlds)}' --strategies {','.join(args.strategies)} "
        f"--rows {','.join(map(str, args.rows))} --number {args.number} --part {args.part}"
    )
    say(f"written to {write_result(args.out, f'{NAME}-{args.part}', command, result)}")
    if args.page is not None:
        update_page(args.page, args.out)
    return 0


def names_among(known: Sequence[str], separator: str = ",") -> Callable[[str], list[str]]:
    """Reads names that are among those which are known."""

    def read(text: str) -> list[str]:
        names = text.split(separator)
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {separator.join(known)}")
        return names

    return read


def counts(text: str) -> list[int]:
    """Reads counts such as 200,1000."""
    return [positive(number) for number in text.split(",")]


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    add = parser.add_argument
    add("--worlds", type=names_among(tuple(WORLDS), ";"), default=["logistic"], metavar="A;B", help="; ".join(WORLDS))
    add("--strategies", type=names_among(STRATEGIES), default=["auto"], metavar="A,B", help=", ".join(STRATEGIES))
    add("--rows", type=counts, default=[200], metavar="N,M", help="rows of the training tables (200)")
    add("--number", type=positive, default=30, metavar="N", help="replications of each (30)")
    add("--workers", type=positive, default=2, metavar="N", help="processes (2)")
    add("--part", metavar="NAME", help="write the result to held-out-figures-NAME.json; by default nothing is written")
    add("--page", type=Path, metavar="FILE", help="a page whose tables are written again")
    add_out(parser)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
