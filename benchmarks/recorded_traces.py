"""Traces of saved models on scikit-learn's tables, recorded once: any machine recomputes them in seconds and compares.

``python -m benchmarks.recorded_traces`` compares in processes that compute as other processors do (OpenBLAS, numpy and
numba are told to); ``--record`` writes traces anew, which only a change of a strategy is a reason for.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import infopursuit as ip
from benchmarks import ROOT, environment
from benchmarks.machine import describe, write_result
from benchmarks.pages import plain_table, update_page
from benchmarks.program import add_out, run_program, say
from infopursuit.support.files import write_atomically

NAME = "recorded-traces"
FOLDER = ROOT / "benchmarks" / "recorded"
FILE = FOLDER / "traces.json"
EXACT, ROUGH = 1e-9, 2e-5
"""Of numbers in float64, and where tables, networks or kernels are float32."""
EDGE = 1e-7
"""Nats. Two utilities whose difference is so close to the tolerance of ties could change their order with rounding."""
N_SHOWN = 5
"""Inputs whose numbers are recorded."""

AVX512 = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
PROCESSORS = {
    "this one": {},
    "Skylake-X": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "Zen": {"OPENBLAS_CORETYPE": "Zen", "NPY_DISABLE_CPU_FEATURES": AVX512},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": AVX512, "NUMBA_CPU_NAME": "haswell"},
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": f"{AVX512} AVX2 FMA3",
                "NUMBA_CPU_NAME": "nehalem"},
}  # fmt: skip
"""What tells the libraries to compute as on another processor."""


def wine() -> tuple[Any, Any]:
    """178 wines with 13 numbers each."""
    from sklearn.datasets import load_wine

    data = load_wine(as_frame=True)
    return data.data, data.target_names[data.target]


def digits() -> tuple[Any, Any]:
    """1,797 images of 8 x 8 pixels; the last 300 are asked about."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.images, data.target


def _exact() -> Any:
    X, y = wine()
    return ip.InformationPursuitClassifier(strategy="table", stopping=ip.Confidence(0.02), random_state=0).fit(X, y)


def _pruned() -> Any:
    X, y = digits()
    asked = ip.queries.patches((8, 8), size=2, threshold=8)
    how: dict[str, Any] = {"strategy": "empirical", "belief": "pruned", "stopping": ip.Confidence(0.05)}
    return ip.InformationPursuitClassifier(asked, **how, random_state=0).fit(X[:400], y[:400])


def _hybrid() -> Any:
    X, y = wine()
    small = ip.Hybrid(n_members=2, training=ip.models.masked.Training(n_units=32, max_steps=600))
    return ip.InformationPursuitClassifier(strategy=small, stopping=ip.Confidence(0.05), random_state=0).fit(X, y)


CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any], float]] = {
    "wine, exact": (_exact, lambda: wine()[0], EXACT),
    "digits, pruned": (_pruned, lambda: digits()[0][-300:], ROUGH),
    "wine, hybrid": (_hybrid, lambda: wine()[0], ROUGH),
}


def folder_of(case: str) -> Path:
    """Where its model is saved."""
    return FOLDER / case.replace(", ", "-")


def traced(case: str) -> tuple[Any, Any]:
    """The pursuit of a saved model, and its trace."""
    clf = ip.load(folder_of(case))
    return clf.pursuit_, clf.explain(CASES[case][1]())


def letters(trace: Any, i: int, steps: int | None = None) -> list[Any]:
    """What must be identical of an input: queries, answers, length, reason; or of its first steps."""
    n = int(trace.length[i]) if steps is None else steps
    numbers = [] if trace.numbers is None else [None if v != v else repr(float(v)) for v in trace.numbers[i, :n]]
    reason = str(trace.stop_reason[i]) if steps is None else ""
    return [trace.queries[i, :n].tolist(), trace.answers[i, :n].tolist(), numbers, n, reason]


def checksum(trace: Any, i: int, steps: int | None = None) -> str:
    """Of these, short."""
    return hashlib.sha256(json.dumps(letters(trace, i, steps)).encode()).hexdigest()[:8]


def compact(trace: Any) -> dict[str, Any]:
    """A short checksum for each input, and numbers of some inputs."""
    shown = range(min(N_SHOWN, len(trace)))
    return {
        "inputs": len(trace), "steps": int(trace.length.sum()),
        "checksums": " ".join(checksum(trace, i) for i in range(len(trace))),
        "ties": sum(int(trace.ties[i, : trace.length[i]].sum()) for i in range(len(trace))),
        "gains": [trace.gains[i, : trace.length[i]].tolist() for i in shown],
        "posteriors": [trace.posteriors[i, trace.length[i]].tolist() for i in shown],
        "means": [float(trace.posterior.max(axis=1).mean()), float(np.nanmean(trace.gains[:, 0]))],
    }  # fmt: skip


def near_ties(pursuit: Any, trace: Any) -> list[list[Any]]:
    """[input, step, distance in nats, checksum of the steps before] of choices that rounding could turn: the best query
    leads another one by almost exactly the tolerance within which the lowest index is taken."""
    tie = float(getattr(pursuit.bindings.bind(pursuit)[1], "tie", ip.support.types.TIE))
    found, seen = [], dict[bytes, float]()
    for i in range(len(trace)):
        history = trace.history(i)
        for k in range(int(trace.length[i])):
            key = repr(history[:k]).encode()
            if key not in seen:
                gains = np.sort(pursuit.utilities(pursuit.at(history[:k])).value[0])
                gains = gains[~np.isnan(gains)]
                seen[key] = float(np.abs(gains[-1] - gains[:-1] - tie).min(initial=np.inf))
            if seen[key] < EDGE:
                found.append([i, k, seen[key], checksum(trace, i, k)])
    return found


def compare(case: str, kept: dict[str, Any]) -> dict[str, Any]:
    """What is recomputed here beside what was recorded."""
    trace = traced(case)[1]
    now = compact(trace)
    pairs = zip(now["checksums"].split(), kept["checksums"].split(), strict=True)
    other = [i for i, (mine, theirs) in enumerate(pairs) if mine != theirs]
    near = {i for i, k, _, before in kept["near_ties"] if checksum(trace, i, k) == before}  # the same up to there
    largest = 0.0
    for name in ("gains", "posteriors", "means"):
        for mine, theirs in zip(now[name], kept[name], strict=True):
            same_shape = np.shape(mine) == np.shape(theirs)
            largest = max(largest, float(np.abs(np.subtract(mine, theirs)).max(initial=0.0)) if same_shape else np.inf)
    return {
        "case": case, "inputs": now["inputs"], "steps": now["steps"],
        "ties that the trace tells": kept["ties"], "near-ties": len(kept["near_ties"]),
        "other traces": len(other), "of them at a near-tie": len(near & set(other)),
        "largest difference of a number": float(f"{largest:.1e}"), "promised": CASES[case][2],
        "inputs that differ": other,
    }  # fmt: skip


def record() -> None:
    """Fit and save the models that are not there, and write the traces."""
    found = {}
    for case, (fit, _, _) in CASES.items():
        if not folder_of(case).is_dir():
            fit().save(folder_of(case))
        pursuit, trace = traced(case)
        found[case] = {**compact(trace), "near_ties": near_ties(pursuit, trace)}
        say(f"{case}: {found[case]['steps']} steps, {found[case]['ties']} ties, {found[case]['near_ties']}")
    lines = [f"{json.dumps(name)}: {json.dumps(data)}" for name, data in found.items()]
    machine = f'"machine": {json.dumps(describe())}'
    write_atomically(FILE, ("{\n" + ",\n".join([machine, *lines]) + "\n}\n").encode())


def run(args: argparse.Namespace) -> int:
    """Record, or compare on several processors."""
    if args.record:
        record()
        return 0
    kept = json.loads(FILE.read_text())
    if args.here:
        print(json.dumps([compare(case, kept[case]) for case in CASES]))
        return 0
    begin, rows = time.perf_counter(), list[dict[str, Any]]()
    for name, variables in PROCESSORS.items():
        if name == "Skylake-X" and "avx512f" not in _flags():
            continue
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.recorded_traces", "--here"]
        given = environment(**variables)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=given, cwd=ROOT)
        rows += [{"computed as on": name, **row} for row in json.loads(done.stdout.splitlines()[-1])]
    passed = all(
        row["other traces"] == row["of them at a near-tie"] and row["largest difference of a number"] <= row["promised"]
        for row in rows
    )
    shown = [{name: value for name, value in row.items() if name != "inputs that differ"} for row in rows]
    result = {
        "experiment": NAME, "seed": 0, "seconds": round(time.perf_counter() - begin, 1), "passed": passed,
        "recorded_on": kept["machine"], "tables": {"Recorded traces": shown},
    }  # fmt: skip
    say(plain_table(shown))
    say(f"written to {write_result(args.out, NAME, 'python -m benchmarks.recorded_traces', result)}")
    if args.page is not None:
        update_page(args.page, args.out)
    return 0 if passed else 1


def _flags() -> str:
    try:
        return next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    except (OSError, StopIteration):
        return ""


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recorded_traces", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the traces anew, and models that are not there")
    parser.add_argument("--here", action="store_true", help="compare in this process, and print JSON")
    parser.add_argument("--page", type=Path, metavar="FILE", help="a page whose tables are written anew")
    add_out(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    return run_program(build_parser(), run, argv)


if __name__ == "__main__":
    sys.exit(main())
