"""``python -m benchmarks.compare_commits --base COMMIT``: speed of this tree against another, side by side in one run.

Two cases. *MNIST step*: the shipped MNIST model on the first 1,000 test images, time of steps 2 to 6. *Table step*: a
table model fitted to a table of ``INFOPURSUIT_DATA``, time of a batch and of single inputs. Each tree is timed in
subprocesses of its own, alternately, and the medians are compared; ratios below 1 mean that this tree is faster.

This file is also the script that is timed: it is run by its path with the other tree on PYTHONPATH, and therefore
imports nothing from `benchmarks` at its top.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

N_IMAGES, STEPS = 1000, (1, 6)
TABLE, N_ROWS, N_SINGLE = "kr_vs_kp", 1000, 50
CONFIDENCE, MAX_QUERIES = 0.01, 8
CASES = ("mnist", "table")


# ---- what is timed: the names of each tree's API --------------------------------------------------------------------


def old_mnist() -> tuple[Callable[[int], Any], Any]:
    """A function that asks n questions about each of some images, and whatever identifies the result."""
    from infopursuit import datasets, shipped
    from infopursuit.stopping import MaxQueries

    pursuit = shipped.load("mnist")
    images = datasets.load("mnist").x_test[:N_IMAGES]
    values = pursuit.queries.observe(images)

    def ask(n: int) -> Any:
        pursuit.forget()  # choices are remembered from one run to the next
        return pursuit.with_stopping(MaxQueries(n)).forget().run_values(values, progress=False)

    return ask, lambda trace: float(trace.length.mean())


def new_mnist() -> tuple[Callable[[int], Any], Any]:
    """The same with the names of the second edition."""
    return old_mnist()


def old_table(name: str) -> tuple[Callable[[Any], Any], Any, Any]:
    """A function that explains rows, the rows of a batch, and whatever identifies the result."""
    import infopursuit as ip

    X, y = read_table(name)
    clf = ip.InformationPursuitClassifier(
        model="table", stopping=ip.Confidence(CONFIDENCE) | ip.MaxQueries(MAX_QUERIES), random_state=0, verbose=False
    )
    clf.fit(X, y)

    def explain(rows: Any) -> Any:
        clf.pursuit_.forget()
        return clf.explain(rows)

    return explain, X, lambda trace: float(trace.length.mean())


def new_table(name: str) -> tuple[Callable[[Any], Any], Any, Any]:
    """The same with the names of the second edition."""
    return old_table(name)


def is_new() -> bool:
    """Whether the tree that is timed has the second edition's API."""
    return importlib.util.find_spec("infopursuit.beliefs") is not None


# ---- how it is timed ------------------------------------------------------------------------------------------------


def time_mnist(repeats: int) -> dict[str, Any]:
    """Milliseconds of steps 2 to 6 of the batch: the time of six steps less that of the first."""
    ask, result = (new_mnist if is_new() else old_mnist)()
    found = result(ask(STEPS[1]))  # compiles, fills caches
    each = []
    for _ in range(repeats):
        short, long = (_seconds(lambda n=n: ask(n)) for n in STEPS)  # type: ignore[misc]
        each.append(1000 * (long - short))
    return {"steps 2 to 6, batch of 1,000, ms": each, "mean length": [found]}


def time_table(name: str, repeats: int) -> dict[str, Any]:
    """Milliseconds of a batch, and of one input alone."""
    explain, X, result = (new_table if is_new() else old_table)(name)
    batch, rows = X[:N_ROWS], [X[i : i + 1] for i in range(N_SINGLE)]
    found = result(explain(batch))
    explain(rows[0])
    batches = [1000 * _seconds(lambda: explain(batch)) for _ in range(repeats)]
    single = [1000 * _seconds(lambda: [explain(row) for row in rows]) / len(rows) for _ in range(repeats)]
    return {f"batch of {len(batch):,}, ms": batches, "one input, ms": single, "mean length": [found]}


def read_table(name: str) -> tuple[Any, Any]:
    """A table of the data folder; the label is its last column."""
    import pandas as pd

    folder = Path(os.environ["INFOPURSUIT_DATA"]) / "tables"
    types = json.loads((folder / "types.json").read_text())[name]
    frame = pd.read_csv(
        folder / f"{name}.csv.gz", na_values="?", dtype={c: str for c, t in types.items() if t == "cat"}
    )
    frame = frame.sample(frac=1.0, random_state=0).reset_index(drop=True)
    return frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy(dtype=str)


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


# ---- two trees side by side -----------------------------------------------------------------------------------------


def compare(
    trees: dict[str, Path], cases: Sequence[str], table: str, rounds: int, repeats: int
) -> list[dict[str, Any]]:
    """A row for each thing timed: the median of each tree, and the ratio of the last tree to the first."""
    rows = []
    for case in cases:
        found: dict[str, dict[str, list[float]]] = {name: {} for name in trees}
        for k in range(rounds):
            # the order changes from round to round, so that neither is always the one that comes second
            for name in list(trees) if k % 2 == 0 else reversed(trees):
                for what, values in _child(trees[name], case, table, repeats).items():
                    found[name].setdefault(what, []).extend(values)
        base, here = found.values()
        for what in base:
            first, last = statistics.median(base[what]), statistics.median(here[what])
            spread = [f"{min(v[what]):.4g} to {max(v[what]):.4g}" for v in (base, here)]
            row: dict[str, Any] = {"case": case if case != "table" else f"table {table}", "what": what}
            row |= dict(zip(trees, (first, last), strict=True)) | {"ratio": last / first if first else float("nan")}
            rows.append(row | dict(zip((f"{name}, range" for name in trees), spread, strict=True)))
    return rows


def _child(tree: Path, case: str, table: str, repeats: int) -> dict[str, list[float]]:
    command = [sys.executable, "-P", __file__, "--time", case, "--table", table, "--repeats", str(repeats)]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=tree)
    if done.returncode:
        raise RuntimeError(f"timing {case} in {tree} failed:\n{done.stderr[-3000:]}")
    return {str(k): [float(x) for x in v] for k, v in json.loads(done.stdout.splitlines()[-1]).items()}


@contextlib.contextmanager
def checked_out(commit: str, root: Path) -> Iterator[Path]:
    """A commit in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="base-") as place:
        tree = Path(place) / "tree"
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", str(tree), commit], cwd=root, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=root, check=True)


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_commits", description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--base", default="f39b0bb", metavar="COMMIT", help="what to compare with (f39b0bb, the first edition)")
    add("--base-path", type=Path, metavar="DIR", help="a source tree to compare with, in place of --base")
    add("--cases", nargs="+", choices=CASES, default=list(CASES), help="what to time (all)")
    add("--table", default=TABLE, metavar="NAME", help=f"of the data folder ({TABLE})")
    add("--rounds", type=int, default=3, metavar="N", help="processes of each tree and case (3)")
    add("--repeats", type=int, default=3, metavar="N", help="measurements in each process (3)")
    add("--time", choices=CASES, help=argparse.SUPPRESS)
    add("--out", type=Path, metavar="DIR", help="where compare-commits.json goes (benchmarks/results)")
    return parser


def run(args: argparse.Namespace) -> int:
    """Compare, print, write."""
    from benchmarks import RESULTS, ROOT
    from benchmarks.pages import plain_table
    from infopursuit.evaluation.machine import write_result

    if "INFOPURSUIT_DATA" not in os.environ:
        raise ValueError("INFOPURSUIT_DATA is not set; name the folder with mnist.npz and tables/")
    with contextlib.ExitStack() as stack:
        base = args.base_path.resolve() if args.base_path else stack.enter_context(checked_out(args.base, ROOT))
        trees = {"base": base, "here": ROOT}
        rows = compare(trees, args.cases, args.table, args.rounds, args.repeats)
    print(plain_table(rows))
    told = f"--base-path {args.base_path}" if args.base_path else f"--base {args.base}"
    result = {"base": str(args.base_path or args.base), "rounds": args.rounds, "repeats": args.repeats, "rows": rows}
    file = write_result(args.out or RESULTS, "compare-commits", f"python -m benchmarks.compare_commits {told}", result)
    print(f"written to {file}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run; in a child, time one case and print JSON."""
    args = build_parser().parse_args(argv)
    if args.time is not None:
        timed = time_mnist(args.repeats) if args.time == "mnist" else time_table(args.table, args.repeats)
        print(json.dumps(timed))
        return 0
    return run(args)


if __name__ == "__main__":
    sys.exit(main())
