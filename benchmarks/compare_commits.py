"""``python -m benchmarks.compare_commits --base COMMIT``: speed of this tree against another, side by side in one run.

Three cases, each on data of ``INFOPURSUIT_DATA``. *mnist*: the shipped MNIST model on the first 1,000 test images,
steps 2 to 6. *vae*: the same with particles of the trained VAE. *table*: a table model, a batch and single inputs. Each
tree is timed in subprocesses of its own, alternately, and the medians are compared; ratios below 1 mean that this tree
is faster. CPU time stands beside wall time: other programs on the machine disturb it less.

This file is also the script that is timed: it is run by its path with the other tree on PYTHONPATH, and therefore
imports nothing from `benchmarks` at its top.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
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
N_DRAWS = 3000
"""Particles of each class; the experiments take six times as many, which takes longer to decode than to time."""
TABLE, N_ROWS, N_SINGLE = "kr_vs_kp", 1000, 50
CONFIDENCE, MAX_QUERIES = 0.01, 8
CASES = ("mnist", "vae", "table")
MAX_RATIO = 1.1
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


# ---- what is timed, in the names of each tree's API -----------------------------------------------------------------


def is_new() -> bool:
    """Whether the tree that is timed has the second edition's API."""
    return importlib.util.find_spec("infopursuit.strategies") is not None


def images(part: str) -> tuple[Any, Any]:
    """Images and labels of MNIST."""
    import numpy as np

    with np.load(Path(os.environ["INFOPURSUIT_DATA"]) / "mnist.npz") as data:
        return data[f"x_{part}"], data[f"y_{part}"].astype(np.int64)


def shipped_pursuit() -> Any:
    """The shipped MNIST model."""
    from infopursuit import shipped

    return shipped.load("mnist")


def vae_pursuit(weights: Path) -> Any:
    """Particles of the trained VAE as in the recipe, fewer of them."""
    import numpy as np

    from infopursuit.models.empirical import Blur

    ip: Any = importlib.import_module("infopursuit")  # of either edition
    try:
        variants: Any = ip.models
        _ = variants.soften
        files: Any = importlib.import_module("benchmarks.vae_files")
    except (ImportError, AttributeError):  # of an earlier edition
        variants = importlib.import_module("benchmarks.vae_variants")
        files = importlib.import_module("benchmarks.vae_files")
    queries = ip.queries.patches((28, 28), size=3, threshold=127.5)
    X, y = images("train")
    blur = Blur((0.0, 0.35, 0.7), (0.01, 0.02, 0.05), (0.01, 0.02, 0.05))
    model = variants.soften(variants.aggregate(files.load_vae(weights), queries.observe(X).astype(np.int8), y), blur)
    stopping = ip.Confidence(0.05) | ip.MaxQueries(12)
    if is_new():
        sampler = ip.strategies.SMC(n_draws=N_DRAWS, min_ess=0.0)
        return ip.generative_pursuit(model, queries, sampler, stopping, n_states=256, n_screened=16)
    sampler = importlib.import_module("infopursuit.posteriors").SMC(n_draws=N_DRAWS, least_ess=0.0)
    first_edition: Any = ip.Pursuit
    return first_edition(model, queries, sampler, stopping, n_states=256, n_screened=16)


def after(pursuit: Any, n: int, values: Any) -> Any:
    """The trace of a run of n queries, nothing remembered from before."""
    from infopursuit.pursuit.stopping import MaxQueries

    if is_new():
        short = dataclasses.replace(pursuit, stopping=MaxQueries(n), patience=0).clear_cache()
    else:
        short = pursuit.with_stopping(MaxQueries(n)).forget()
    return short.run_values(values, progress=False)


def classifier(name: str) -> tuple[Any, Any, Any]:
    """A table model, fitted, and the rows and labels that it was not fitted on."""
    ip: Any = importlib.import_module("infopursuit")  # of either edition
    X, y = read_table(name)
    half = len(X) // 2
    options: Any = {"strategy" if is_new() else "model": "table", "verbose": False, "random_state": 0}
    clf = ip.InformationPursuitClassifier(stopping=ip.Confidence(CONFIDENCE) | ip.MaxQueries(MAX_QUERIES), **options)
    return clf.fit(X[:half], y[:half]), X[half:], y[half:]


# ---- how it is timed ------------------------------------------------------------------------------------------------


def time_images(pursuit: Any, repeats: int) -> dict[str, Any]:
    """Milliseconds of steps 2 to 6 of the batch, the time of six steps less that of the first; the whole pursuit's
    accuracy and mean length, which should be the same."""
    X, y = images("test")
    values = pursuit.queries.observe(X[:N_IMAGES])
    whole = pursuit.run_values(values, progress=False)  # compiles, fills caches
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        short, long = (_times(lambda n=n: after(pursuit, n, values)) for n in STEPS)  # type: ignore[misc]
        for clock in short:
            found.setdefault(f"steps 2 to 6, batch of {N_IMAGES:,}, {clock}", []).append(long[clock] - short[clock])
    return found | _result(whole, y[:N_IMAGES])


def time_table(name: str, repeats: int) -> dict[str, Any]:
    """Milliseconds of a batch, and of one input alone."""
    clf, X, y = classifier(name)
    forget = clf.pursuit_.clear_cache if is_new() else clf.pursuit_.forget
    rows = [X[i : i + 1] for i in range(N_SINGLE)]

    def explain(*some: Any) -> Any:
        for each in some:
            forget()
            trace = clf.explain(each)
        return trace

    whole = explain(*rows[:1], X[:N_ROWS])
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        for clock, ms in _times(lambda: explain(X[:N_ROWS])).items():
            found.setdefault(f"batch of {len(whole):,}, {clock}", []).append(ms)
        for clock, ms in _times(lambda: explain(*rows)).items():
            found.setdefault(f"one input, {clock}", []).append(ms / len(rows))
    return found | _result(whole, y[:N_ROWS])


def read_table(name: str) -> tuple[Any, Any]:
    """A table of the data folder in random order; the label is its last column."""
    import pandas as pd

    folder = Path(os.environ["INFOPURSUIT_DATA"]) / "tables"
    types = json.loads((folder / "types.json").read_text())[name]
    frame = pd.read_csv(
        folder / f"{name}.csv.gz", na_values="?", dtype={c: str for c, t in types.items() if t == "cat"}
    )
    frame = frame.sample(frac=1.0, random_state=0).reset_index(drop=True)
    return frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy(dtype=str)


def _result(trace: Any, y: Any) -> dict[str, list[float]]:
    return {"accuracy": [float((trace.predictions == y).mean())], "mean length": [float(trace.length.mean())]}


def _times(work: Callable[[], Any]) -> dict[str, float]:
    """Milliseconds by both clocks."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return {
        "CPU ms": 1000 * (time.process_time() - processor),
        "wall ms": 1000 * (time.perf_counter() - wall),
    }


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
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), **dict.fromkeys(THREADS, "1")}
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
    from benchmarks.machine import write_result
    from benchmarks.pages import plain_table

    if "INFOPURSUIT_DATA" not in os.environ:
        raise ValueError("INFOPURSUIT_DATA is not set; name the folder with mnist.npz and tables/")
    with contextlib.ExitStack() as stack:
        base = args.base_path.resolve() if args.base_path else stack.enter_context(checked_out(args.base, ROOT))
        trees = {"base": base, "here": ROOT}
        rows = compare(trees, args.cases, args.table, args.rounds, args.repeats)
    print(plain_table(rows))
    slow = [f"{row['case']}, {row['what']}" for row in rows if "CPU" in row["what"] and row["ratio"] > MAX_RATIO]
    print(f"slower by more than {MAX_RATIO:g}: {'; '.join(slow) or 'nothing'}")
    told = f"--base-path {args.base_path}" if args.base_path else f"--base {args.base}"
    result = {"base": str(args.base_path or args.base), "rounds": args.rounds, "repeats": args.repeats, "rows": rows}
    file = write_result(args.out or RESULTS, "compare-commits", f"python -m benchmarks.compare_commits {told}", result)
    print(f"written to {file}")
    return int(bool(slow))


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run; in a child, time one case and print JSON."""
    args = build_parser().parse_args(argv)
    if args.time is not None:
        if args.time == "table":
            timed = time_table(args.table, args.repeats)
        else:
            weights = Path(__file__).parent / "weights" / "mnist-vae.safetensors"
            timed = time_images(shipped_pursuit() if args.time == "mnist" else vae_pursuit(weights), args.repeats)
        print(json.dumps(timed))
        return 0
    return run(args)


if __name__ == "__main__":
    sys.exit(main())
