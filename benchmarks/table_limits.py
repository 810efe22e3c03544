"""``python -m benchmarks.table_limits``: time and memory of the default classifier on large and wide tables.

Each case runs in a process of its own, so that its memory is its own. Times are those of the processor, which other
programs on the machine change less than the clock.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import infopursuit as ip
from benchmarks.hardening.limits import memory_of
from benchmarks.machine import write_result
from benchmarks.pages import plain_table
from benchmarks.program import add_out, run_program, say
from benchmarks.tables import read_table

NAME = "table-limits"
CASES = ("adult", "optdigits", "wide", "million")
N_EXPLAINED, N_SESSIONS = 1_000, 20


def synthetic(n: int, n_numbers: int, n_categories: int, seed: int) -> tuple[Any, Any]:
    """A table in which six columns matter, two of them only together, and three classes."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    numbers, categories = rng.normal(size=(n, n_numbers)), rng.integers(0, 5, size=(n, n_categories))
    score = numbers[:, 0] + numbers[:, 1] * numbers[:, 2] + numbers[:, 3] / 2 + rng.normal(size=n) / 2
    if n_categories:
        score += 1.5 * (categories[:, 0] == 2) - (categories[:, 1] == categories[:, 2])
    columns = {f"number {i}": numbers[:, i] for i in range(n_numbers)}
    columns |= {f"category {i}": np.array(list("abcde"))[categories[:, i]] for i in range(n_categories)}
    return pd.DataFrame(columns), np.array(["low", "middle", "high"])[np.digitize(score, [-1, 1])]


def write_million(file: Path, n: int = 1_000_000, at_a_time: int = 100_000) -> None:
    """A Parquet file of a million rows and 30 columns, never in memory as a whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for part in range(n // at_a_time):
        frame, labels = synthetic(at_a_time, 20, 10, seed=part)
        table = pa.Table.from_pandas(frame.assign(label=labels), preserve_index=False)
        writer = writer or pq.ParquetWriter(file, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def measure(case: str, folder: Path) -> dict[str, Any]:
    """Fit, explain and ask; what each costs."""
    warnings.simplefilter("ignore")
    if case == "million":
        held, labels = synthetic(N_EXPLAINED, 20, 10, seed=10**6)
        start = time.process_time()
        clf = ip.fit_table(folder / "million.parquet", label="label")
    else:
        frame, y = synthetic(2_500, 500, 0, seed=0) if case == "wide" else read_table(case)
        rows = np.random.default_rng(0).permutation(len(y))
        held, labels = frame.iloc[rows[:N_EXPLAINED]], y[rows[:N_EXPLAINED]]
        start = time.process_time()
        clf = ip.InformationPursuitClassifier().fit(frame.iloc[rows[N_EXPLAINED:]], y[rows[N_EXPLAINED:]])
    fitted, memory = time.process_time() - start, memory_of("self", "VmHWM") or 0
    start = time.process_time()
    trace = clf.explain(held)
    explained, steps = time.process_time() - start, []
    for i in range(N_SESSIONS):
        session, row = clf.session(), held.iloc[i]
        while session.question is not None:
            query, name = session.question.index, session.question.name
            answer = dict(clf.queries_.known_answers(name, row[name])).get(query)
            start = time.process_time()
            session.answer(answer)
            steps.append(time.process_time() - start)
    return {
        "fit_seconds": round(fitted, 1), "fit_peak_mb": memory // 2**20,
        "strategy": clf.tuning_ and clf.tuning_.strategy,
        "accuracy": float(np.mean(trace.predictions == labels)), "questions": float(trace.length.mean()),
        "explain_ms_a_row": 1e3 * explained / len(held), "step_ms_median": 1e3 * float(np.median(steps)),
        "step_ms_max": 1e3 * max(steps),
    }  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Each case in a process of its own."""
    if args.only is not None:
        case, folder = args.only.split(":", 1)
        print(json.dumps(measure(case, Path(folder))))
        return 0
    found: dict[str, Any] = {}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        if "million" in args.cases:
            write_million(Path(folder) / "million.parquet")
        for case in args.cases:
            command = [sys.executable, "-m", "benchmarks.table_limits", "--only", f"{case}:{folder}"]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found[case] = json.loads(done.stdout.splitlines()[-1])
            say(f"{case}: {found[case]}")
    rows = [
        {
            "table": case,
            "fit, CPU s": f"{told['fit_seconds']:.0f}",
            "peak MB": f"{told['fit_peak_mb']:,}",
            "accuracy": f"{100 * told['accuracy']:.1f} %",
            "questions": f"{told['questions']:.1f}",
            "explain, CPU ms a row": f"{told['explain_ms_a_row']:.2f}",
            "session step, CPU ms": f"{told['step_ms_median']:.1f} (at most {told['step_ms_max']:.1f})",
        }
        for case, told in found.items()
    ]
    say("", plain_table(rows))
    some = "" if args.cases == list(CASES) else f" --cases {' '.join(args.cases)}"
    seconds = round(time.monotonic() - begin, 1)
    result = {"experiment": NAME, "seed": 0, "seconds": seconds, "cases": found, "tables": {"Limits": rows}}
    say("", f"written to {write_result(args.out, NAME, f'python -m benchmarks.table_limits{some}', result)}")
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table_limits", description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="which (all)")
    parser.add_argument("--only", metavar="CASE:DIR", help=argparse.SUPPRESS)
    add_out(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    return run_program(build_parser(), run, argv)


if __name__ == "__main__":
    sys.exit(main())
