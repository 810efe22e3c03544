"""``python -m benchmarks.growth``: time and memory of `fit` and `explain` by rows, columns, classes and words.

Each case runs in a process of its own, so that its memory is its own; a case that was finished is kept (``--again``
forgets it). Times are those of the processor, which other programs on the machine change less than the clock.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import infopursuit as ip
from benchmarks import environment
from benchmarks.hardening.limits import memory_of
from benchmarks.machine import describe, write_result
from benchmarks.pages import plain_table
from benchmarks.program import add_out, run_program, say
from infopursuit import jobs
from infopursuit.support.files import write_atomically
from infopursuit.support.progress import Progress

NAME = "growth"
MAX_EXPONENT = 1.1
MAX_BYTES = 2 * 2**30
N_LAST = 3
"""Points at the end of an axis through which the line is fitted: before them overhead hides the growth."""
N_EXPLAINED = 100


@dataclass(frozen=True)
class Axis:
    """What grows, how far, and what stays as it is; beyond: sizes at which the default does less, so that they are not
    on the line."""

    sizes: tuple[int, ...]
    fixed: str
    beyond: tuple[int, ...] = ()

    @property
    def all(self) -> tuple[int, ...]:
        """All sizes."""
        return self.sizes + self.beyond


AXES = {
    "rows": Axis((1_000, 10_000, 100_000, 1_000_000), "30 columns, 4 classes; Parquet, `fit_table`, `jobs.explain`"),
    "columns": Axis((30, 100, 300, 500), "300 rows, 3 classes", (2_000,)),
    "classes": Axis((2, 10, 100, 1_000), "3,000 rows (5,000 with 1,000 classes), 30 columns"),
    "words": Axis((100, 1_000, 10_000, 100_000), "words in each of 300 texts, 3 classes; 200 words asked about"),
}
STEPS = ("fit", "explain")


# ---- what is learnt -------------------------------------------------------------------------------------------------


def rows_table(n: int, seed: int) -> Any:
    """20 numbers and 10 categories, three of which decide nine rows of ten."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    numbers, categories = rng.normal(size=(n, 20)), rng.integers(0, 5, size=(n, 10))
    label = 2 * (categories[:, 0] >= 2) + (categories[:, 1] > categories[:, 2])
    label = np.where(rng.random(n) < 0.1, rng.integers(0, 4, n), label)
    columns = {f"number {i}": numbers[:, i] for i in range(20)}
    columns |= {f"category {i}": np.array(list("abcde"))[categories[:, i]] for i in range(10)}
    return pd.DataFrame(columns | {"label": np.array(["one", "two", "three", "four"])[label]})


def write_rows(file: Path, n: int, seed: int, at_a_time: int = 100_000) -> None:
    """A Parquet file that is never in memory as a whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory(dir=file.parent) as beside:
        writer = None
        for part, start in enumerate(range(0, n, at_a_time)):
            table = pa.Table.from_pandas(rows_table(min(at_a_time, n - start), seed + part), preserve_index=False)
            writer = writer or pq.ParquetWriter(Path(beside) / "rows", table.schema)
            for first in range(0, len(table), 10_000):
                writer.write_table(table.slice(first, 10_000))
        assert writer is not None
        writer.close()
        (Path(beside) / "rows").replace(file)


def columns_table(n_columns: int, n: int, seed: int) -> tuple[Any, Any]:
    """Numbers, of which the first three matter."""
    import pandas as pd

    numbers = np.random.default_rng(seed).normal(size=(n, n_columns))
    label = np.digitize(2 * numbers[:, 0] + numbers[:, 1] + numbers[:, 2] / 2, [-1, 1])
    return pd.DataFrame(numbers, columns=[f"number {i}" for i in range(n_columns)]), np.array(list("abc"))[label]


def classes_table(n_classes: int, n: int, seed: int) -> tuple[Any, Any]:
    """20 numbers around a centre and 10 categories, mostly the usual ones, of each class."""
    import pandas as pd

    usual, rng = np.random.default_rng(0), np.random.default_rng(seed)
    centres, common = usual.normal(size=(n_classes, 20)), usual.integers(0, 5, size=(n_classes, 10))
    label = rng.permutation(np.arange(n) % n_classes)
    numbers = centres[label] + rng.normal(size=(n, 20)) / 3
    categories = np.where(rng.random((n, 10)) < 0.15, rng.integers(0, 5, size=(n, 10)), common[label])
    columns = {f"number {i}": numbers[:, i] for i in range(20)}
    columns |= {f"category {i}": np.array(list("abcde"))[categories[:, i]] for i in range(10)}
    return pd.DataFrame(columns), np.array([f"class {c}" for c in range(n_classes)])[label]


def texts(n_words: int, n: int, seed: int) -> tuple[Any, Any]:
    """Texts of words whose frequencies follow Zipf's law; of 30 rarer words each class has ten, half of them in a
    text."""
    rng, n_known = np.random.default_rng(seed), 20_000
    letters = np.array(list("bcdfghjklmnprstvz"))
    known = np.array(["".join(letters[[i % 17, i // 17 % 17, i // 289 % 17, i // 4913]]) + "o" for i in range(n_known)])
    share = 1 / np.arange(10, n_known + 10)
    label, marks = rng.integers(0, 3, n), [f"mark{'abc'[i // 10]}{letters[i % 10]}" for i in range(30)]
    found = []
    for c in label.tolist():
        plain = known[rng.choice(n_known, n_words, p=share / share.sum())].tolist()
        mine = [mark for i, mark in enumerate(marks) if rng.random() < (0.5 if i // 10 == c else 0.05)]
        plain[: len(mine)] = mine
        found.append(" ".join(plain))
    return np.array(found, dtype=object), np.array(list("abc"))[label]


def examples(axis: str, size: int, seed: int, n: int | None = None) -> tuple[Any, Any]:
    """Inputs and labels of a case."""
    if axis == "columns":
        return columns_table(size, n or 300, seed)
    return classes_table(size, n or max(3_000, 5 * size), seed) if axis == "classes" else texts(size, n or 300, seed)


# ---- measured -------------------------------------------------------------------------------------------------------


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """Processor time, and the longest time of the processor in which a terminal would not be told of any progress."""
    found, start = {"silent": 0.0}, time.process_time()
    real, begin = Progress.advance, Progress.__init__
    last = start

    def tell() -> None:
        nonlocal last
        now = time.process_time()
        found["silent"], last = max(found["silent"], now - last), now

    def init(self: Any, *arguments: Any, show: bool | None = None, **options: Any) -> None:
        begin(self, *arguments, show=show, **options)
        self.told = show is not False

    def advance(self: Any, n: int = 1) -> None:
        if self.told:
            tell()
        real(self, n)

    Progress.advance, Progress.__init__ = advance, init  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Progress.advance, Progress.__init__ = real, begin  # type: ignore[method-assign]
        tell()
        found["seconds"] = time.process_time() - start


def measure(axis: str, size: int, step: str, folder: Path) -> dict[str, Any]:
    """One case: fit and save, or load and explain."""
    warnings.simplefilter("ignore")
    model, file, told = folder / f"model-{axis}-{size}", folder / f"rows-{size}.parquet", dict[str, Any]()
    asked: Any = ip.queries.words(size=200) if axis == "words" else None
    rule: Any = ip.Confidence(0.05) | ip.MaxQueries(20) if axis == "words" else "auto"
    if step == "fit" and axis == "rows":
        with watched() as found:
            clf = ip.fit_table(file, label="label")
    elif step == "fit":
        X, y = examples(axis, size, seed=0)
        with watched() as found:
            clf = ip.InformationPursuitClassifier(asked, stopping=rule).fit(X, y)
    elif axis == "rows":
        with watched() as found:
            done = jobs.explain(file, model, folder / f"explained-{size}", label="label", again=True)
        n, right, length = size, done.summary.n_right or 0, done.summary.mean_length
    else:
        X, y = examples(axis, size, seed=1, n=N_EXPLAINED)
        clf = ip.load(model)
        with watched() as found:
            trace = clf.explain(X)
        n, right, length = len(y), int((trace.predictions == y).sum()), float(trace.length.mean())
    if step == "fit":
        clf.save(model)
        told["strategy"] = clf.tuning_.strategy if clf.tuning_ else type(clf.pursuit_.model).__name__
    else:
        told |= {"inputs": n, "accuracy": right / n, "questions": length}
    peak = memory_of("self", "VmHWM")  # ru_maxrss of a new process has that of whoever started it
    return {"seconds": found["seconds"], "peak_bytes": peak, "longest_without_progress": found["silent"], **told}


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of the straight line through the last points of a log-log plot."""
    return float(np.polyfit(np.log(sizes[-N_LAST:]), np.log(values[-N_LAST:]), 1)[0])


def _a_question(told: dict[str, Any]) -> float:
    """Seconds for each question of each input."""
    return float(told["seconds"] / told["inputs"] / told["questions"])


def summarise(cases: dict[str, dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A row for each case, and a row for each step of each axis with its exponents."""
    rows, slopes = [], []
    for axis, plan in AXES.items():
        for step in STEPS:
            found = [(size, cases[key]) for size in plan.all if (key := f"{axis}-{size}-{step}") in cases]
            for size, told in found:
                each = f"{1e3 * told['seconds'] / told['inputs']:.2f}" if "inputs" in told else None
                asked = f"{1e3 * _a_question(told):.2f}" if "inputs" in told else None
                rows.append({
                    "by": axis, "size": f"{size:,}", "step": step,
                    "CPU s": f"{told['seconds']:.1f}", "CPU ms an input": each, "a question": asked,
                    "peak MB": f"{told['peak_bytes'] / 2**20:,.0f}",
                    "longest without progress, CPU s": f"{told['longest_without_progress']:.1f}",
                    "strategy": told.get("strategy"),
                    "accuracy, %": f"{100 * told['accuracy']:.1f}" if "accuracy" in told else None,
                    "questions": f"{told['questions']:.1f}" if "questions" in told else None,
                })  # fmt: skip
            found = [(size, told) for size, told in found if size in plan.sizes]
            if len(found) >= N_LAST:
                sizes = [size for size, _ in found]
                seconds, memory = ([told[name] for _, told in found] for name in ("seconds", "peak_bytes"))
                steps = [exponent(sizes[i : i + 2], seconds[i : i + 2]) for i in range(len(sizes) - 1)]
                last = None
                if step == "explain":
                    last = f"{exponent(sizes[-2:], [_a_question(told) for _, told in found[-2:]]):.2f}"
                slopes.append({
                    "by": axis, "step": step, "sizes": f"{sizes[0]:,} to {sizes[-1]:,}", "kept fixed": plan.fixed,
                    "exponent of time, last three": f"{exponent(sizes, seconds):.2f}",
                    "from point to point": ", ".join(f"{each:.2f}" for each in steps[:-1]),
                    "at the end": f"{steps[-1]:.2f}", "a question, at the end": last,
                    "exponent of memory": f"{exponent(sizes, memory):.2f}",
                    "bar": f"{MAX_EXPONENT} at the most",
                })  # fmt: skip
    return rows, slopes


def run(args: argparse.Namespace) -> int:
    """Each case in a process of its own; what was finished earlier is kept."""
    if args.only is not None:
        axis, size, step = args.only.split("-")
        print(json.dumps(measure(axis, int(size), step, args.work)))
        return 0
    args.work.mkdir(parents=True, exist_ok=True)
    cases, missing = dict[str, dict[str, Any]](), list[str]()
    for axis in args.axes:
        for size in AXES[axis].all:
            for step in STEPS:
                name = f"{axis}-{size}-{step}"
                kept = args.work / f"{name}.json"
                if args.finished and not kept.is_file():
                    missing.append(name)
                    continue
                if args.again or not kept.is_file():
                    if axis == "rows" and not (args.work / f"rows-{size}.parquet").is_file():
                        write_rows(args.work / f"rows-{size}.parquet", size, seed=0)
                    command = [sys.executable, "-m", "benchmarks.growth", "--only", name, "--work", str(args.work)]
                    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment())
                    told = {**json.loads(done.stdout.splitlines()[-1]), "commit": describe()["commit"]}
                    write_atomically(kept, json.dumps(told).encode())
                cases[name] = json.loads(kept.read_text())
                say(f"{name}: {cases[name]}")
    rows, slopes = summarise(cases)
    say("", plain_table(rows), "", plain_table(slopes))
    some = "" if args.axes == list(AXES) else f" --axes {' '.join(args.axes)}"
    steepest = max((float(row["at the end"]) for row in slopes), default=0.0)
    million = [told["peak_bytes"] for name, told in cases.items() if name.startswith("rows-1000000-")]
    result = {
        "experiment": NAME, "seed": 0, "seconds": round(sum(told["seconds"] for told in cases.values()), 1),
        "passed": steepest <= MAX_EXPONENT and max(million, default=0) <= MAX_BYTES and not missing,
        "missing": missing, "figures": [{"file": f"{NAME}.png", "about": "Processor time and peak memory by size"}],
        "cases": cases, "tables": {"Exponents": slopes, "Cases": rows},
    }  # fmt: skip
    say("", f"written to {write_result(args.out, NAME, f'python -m benchmarks.growth{some}', result)}")
    draw(cases, args.out / f"{NAME}.png")
    return 0 if result["passed"] else 1


def draw(cases: dict[str, dict[str, Any]], file: Path) -> None:
    """Time above, memory below; one column for each axis. Sizes at which the default does less are open marks."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, len(AXES), figsize=(11, 5.2), sharex="col", sharey="row", layout="constrained")
    for column, (axis, plan) in enumerate(AXES.items()):
        above, below = panels[:, column]
        for step, marker, colour in zip(STEPS, "os", ("tab:blue", "tab:orange"), strict=True):
            for sizes, style in ((plan.sizes, "-"), (plan.beyond, "none")):
                found = [(size, cases[key]) for size in sizes if (key := f"{axis}-{size}-{step}") in cases]
                seconds, memory = ([told[name] for _, told in found] for name in ("seconds", "peak_bytes"))
                how = {"marker": marker, "linestyle": style, "color": colour}
                how["markerfacecolor"] = colour if style == "-" else "white"
                label = {"label": step} if style == "-" else {}
                above.loglog([size for size, _ in found], seconds, **how, **label)
                below.semilogx([size for size, _ in found], [each / 2**20 for each in memory], **how)
        ends = np.array([plan.sizes[0], plan.sizes[-1]])
        above.loglog(ends, 100 * ends / ends[-1], color="grey", linestyle=":", linewidth=1, label="linear growth")
        below.axhline(MAX_BYTES / 2**20, color="grey", linestyle="--", linewidth=1)
        below.set_xlabel(axis if axis != "words" else "words in a text")
        explained = "all rows" if axis == "rows" else f"{N_EXPLAINED} inputs"
        above.set_title(f"{axis}; {explained} explained", fontsize=10)
        below.set_ylim(bottom=0)
    panels[0, 0].set_ylabel("processor time, s")
    panels[1, 0].set_ylabel("peak memory, MB")
    panels[1, 0].annotate("2 GB", (AXES["rows"].sizes[0], MAX_BYTES / 2**20), (0, -10), textcoords="offset points",
                          fontsize=8, color="grey")  # fmt: skip
    panels[0, 0].set_ylim(0.02, 300)
    panels[0, 1].legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(file, dpi=120)
    plt.close(figure)


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--axes", nargs="+", choices=list(AXES), default=list(AXES), help="which (all)")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "infopursuit-growth",
                        metavar="DIR", help="where finished cases are kept")  # fmt: skip
    parser.add_argument("--again", action="store_true", help="measure all cases anew")
    parser.add_argument("--finished", action="store_true", help="measure nothing; write what is kept")
    parser.add_argument("--only", metavar="CASE", help=argparse.SUPPRESS)
    add_out(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    return run_program(build_parser(), run, argv)


if __name__ == "__main__":
    sys.exit(main())
