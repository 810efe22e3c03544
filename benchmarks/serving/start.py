"""How long `serve`, `ask` and `explain` take to start, beside an import that everybody knows.

A start uses one core, so that its processor time is what it takes on a machine that does nothing else; on a busy one
the seconds until something happens say more about the others.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.machine import write_result
from benchmarks.serving.served import served
from infopursuit import shipped
from infopursuit.estimator.storage import save
from infopursuit.support.terminal import table

BARS = {"serve: first byte": 2.0, "serve: first answer of animals": 5.0, "ask animals: first question": 2.0}
"""Seconds of processor time at the most, which are those of an idle machine."""
YARDSTICK = "import sklearn.ensemble"


def bench_start(rounds: int, *, folder: Path, say: Callable[[str], None]) -> bool:
    """Start everything some times in turn; the first round, with an empty cache of compiled code, is told apart."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="start-") as place:
        made, cache = Path(place), Path(place) / "compiled"
        save(shipped.load("tumours"), made / "model")
        rows = shipped.tumours()[2][:20]
        header = ",".join(shipped.TUMOUR_COLUMNS.values())
        np.savetxt(made / "rows.csv", rows, delimiter=",", header=header, comments="")
        found = [once(made, cache, say) for _ in range(rounds + 1)]
    cold, warm = found[0], {name: np.array([one[name] for one in found[1:]]) for name in found[0]}
    plain = warm[YARDSTICK][:, 1].min()
    table_rows = [
        {"": name, "processor time, s": round(float(times[:, 1].min()), 2),
         f"times that of {YARDSTICK}": round(float(times[:, 1].min() / plain), 2), "bar, s": BARS.get(name),
         "wall clock, s": round(float(times[:, 0].min()), 2),
         "processor time with nothing compiled, s": round(cold[name][1], 2)}
        for name, times in warm.items()
    ]  # fmt: skip
    for line in table([list(table_rows[0]), *([str(v) for v in row.values()] for row in table_rows)]):
        say(line)
    result = {
        "experiment": "serving-start", "seed": None, "seconds": round(time.perf_counter() - begin, 1), "rounds": rounds,
        "load_average": os.getloadavg()[0],
        "passed": all(warm[name][:, 1].min() <= bar for name, bar in BARS.items()),
        "tables": {f"Starts, the best of {rounds} in turn": table_rows},
    }  # fmt: skip
    command = f"python -m benchmarks.bench start --number {rounds}"
    say(f"written to {write_result(folder, 'serving-start', command, result)}")
    return bool(result["passed"])


def once(
    made: Path, cache: Path, say: Callable[[str], None], models: Sequence[str] = ()
) -> dict[str, tuple[float, float]]:
    """Seconds of each, once: by the clock on the wall, and of the processor. models: to serve, () for all shipped."""
    env, found = environment(NUMBA_CACHE_DIR=str(cache)), dict[str, tuple[float, float]]()

    def run(name: str, *arguments: str) -> None:
        begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        told = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        subprocess.run([sys.executable, *arguments], env=env, check=False, **told)  # type: ignore[call-overload]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found[name] = (time.perf_counter() - begin, used)

    run(YARDSTICK, "-c", YARDSTICK)
    run("ask animals: first question", "-m", "infopursuit", "ask", "animals")  # asks, and finds that nobody answers
    explain = [str(made / "rows.csv"), "--model", str(made / "model"), "--inputs", "1"]
    run("explain: one row of a table", "-m", "infopursuit", "explain", *explain)
    begin = time.perf_counter()
    with served(models, wait=False, env=env) as server:
        for name, path, body in (
            ("serve: first byte", "/healthz", None),
            ("serve: first answer of animals", "/v1/models/animals/next", b"{}"),
            ("serve: all models", "/readyz", None),
        ):
            while not _answers(f"http://127.0.0.1:{server.port}{path}", body):
                time.sleep(0.02)
            found[name] = (time.perf_counter() - begin, server.cpu_seconds() or 0.0)
    say(", ".join(f"{name}: {wall:.2f} s, {used:.2f} of the processor" for name, (wall, used) in found.items()))
    return found


def _answers(address: str, body: Any) -> bool:
    request = urllib.request.Request(address, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError:
        return False
