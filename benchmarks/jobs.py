"""How much faster two workers are than one, and what becomes of a job one of whose workers is killed."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.hardening.limits import memory_of
from benchmarks.machine import write_result
from infopursuit import datasets, queries
from infopursuit.app.jobs.engines import Engine
from infopursuit.app.jobs.job import MAX_PARTS, MIN_PART, Explained, explain
from infopursuit.estimator.classifier import InformationPursuitClassifier
from infopursuit.estimator.storage import save
from infopursuit.pursuit.stopping import Confidence, MaxQueries

LEAST = 1.7
"""Two workers must be so many times as fast as one."""
SLOWER = 1.1
"""Two threads may take so many times the seconds of one, which is what the same job varies by."""
SIZES = (2_000, 8_000, 32_000)
"""Inputs of the jobs whose growth is looked at."""
FAR = (10**6, 10**7, 10**8, 10**9)
"""Inputs that are only predicted."""
NOISE = 0.05
"""Share of the pixels of a digit that are turned over, so that no two inputs are the same."""


def bench_jobs(n_inputs: int, *, folder: Path, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Explain the same inputs by one worker, by two, by one process with two threads, and with a worker killed."""
    import ray

    begin = time.perf_counter()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="jobs-") as place:
        where = Path(place)
        prepare(where, n_inputs)

        def run(name: str, engine: Engine, killed: bool = False) -> Explained:
            say(f"{name} ...")
            with while_working(where / name, 3, _kill_worker) if killed else contextlib.nullcontext():
                done = explain(where / "inputs.parquet", where / "model", where / name, engine=engine, progress=True)
            rows.append({"engine": name, "inputs": done.summary.n_inputs, "parts": done.n_parts,
                         "seconds": round(done.seconds, 1), "inputs a second": round(n_inputs / done.seconds, 1),
                         **counted(done)})  # fmt: skip
            say(f"{name}: {rows[-1]}")
            return done

        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        try:
            run("one worker on Ray, one thread", Engine("ray", workers=1))
            run("two workers on Ray, one thread each", Engine("ray", workers=2))
            run("two workers on Ray, one of them killed", Engine("ray", workers=2), killed=True)
        finally:
            ray.shutdown()
        run("one process, one thread", Engine("local", threads=1))
        run("one process, two threads", Engine("local", threads=2))
        same = len({_bytes(where / row["engine"]) for row in rows}) == 1
        say("growth ...")
        grown = [growth(where, n) for n in SIZES if n <= n_inputs]
        for each in grown:
            say(f"{each}")
    times = rows[0]["seconds"] / rows[1]["seconds"]
    whole = all(row["missing"] == row["doubled"] == 0 for row in rows)
    say(f"two workers are {times:.2f} times as fast as one; {'the same bytes' if same else 'OTHER BYTES'} by all")
    result = {
        "experiment": "jobs",
        "seed": 0,
        "seconds": round(time.perf_counter() - begin, 1),
        "passed": times >= LEAST and whole and same,
        "two_workers_to_one": round(times, 2),
        "same_bytes": same,
        "tables": {
            "The same inputs explained on several engines": rows,
            "One process with one thread: growth with the number of inputs": grown,
            "What that predicts": predicted(grown),
        },
    }
    say(f"written to {write_result(folder, 'jobs', f'python -m benchmarks.bench jobs --number {n_inputs}', result)}")
    return result


def bench_threads(n_inputs: int, rounds: int, *, folder: Path, say: Callable[[str], None] = print) -> bool:
    """The same job in one process with one thread and with two, in turn; two must not be slower."""
    begin, rows = time.perf_counter(), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory(prefix="jobs-") as place:
        where = Path(place)
        prepare(where, n_inputs)
        for k in range(2 * rounds):
            n = 1 + (k + k // 2) % 2  # 1, 2, 2, 1, ...
            before = resource.getrusage(resource.RUSAGE_SELF)
            engine, given = Engine("local", threads=n), (where / "inputs.parquet", where / "model", where / f"{k}")
            seconds = explain(*given, engine=engine, progress=False).seconds
            after = resource.getrusage(resource.RUSAGE_SELF)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            rows.append({"threads": n, "seconds": seconds, "processor time": used,
                         "waits": after.ru_nvcsw - before.ru_nvcsw})  # fmt: skip
            say(f"{rows[-1]}")
    found = [
        {"threads": n, "jobs": rounds, "inputs": n_inputs,
         **{f"{name}, median": round(float(np.median([row[name] for row in rows if row["threads"] == n])), 2)
            for name in ("seconds", "processor time", "waits")}}
        for n in (1, 2)
    ]  # fmt: skip
    ratio = found[1]["seconds, median"] / found[0]["seconds, median"]
    cost = found[1]["processor time, median"] / found[0]["processor time, median"]
    result = {
        "experiment": "job-threads", "seed": 0, "seconds": round(time.perf_counter() - begin, 1),
        "load_average": os.getloadavg()[1], "two_threads_to_one": round(ratio, 2),
        "processor_time_two_to_one": round(cost, 2), "passed": ratio <= SLOWER,
        "tables": {"One process with one and with two threads, in turn": found},
    }  # fmt: skip
    say(f"two threads take {ratio:.2f} times the seconds of one, {cost:.2f} times the processor time")
    command = f"python -m benchmarks.bench job-threads --number {n_inputs}"
    say(f"written to {write_result(folder, 'job-threads', command, result)}")
    return bool(result["passed"])


def growth(where: Path, n: int) -> dict[str, Any]:
    """A job in a process of its own: seconds, peak memory and bytes written."""
    out = where / f"growth-{n}"
    told = ["explain", str(where / "inputs.parquet"), "--model", str(where / "model"), "--out", str(out)]
    command = [sys.executable, "-m", "infopursuit", *told, "--inputs", str(n), "--threads", "1"]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    peak = 0
    while process.poll() is None:
        peak = max(peak, memory_of(process.pid, "VmHWM") or 0)
        time.sleep(0.05)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    size = sum(file.stat().st_size for file in (out / "traces.parquet").iterdir())
    return {
        "inputs": n,
        "seconds": round(time.perf_counter() - begin, 1),
        "peak memory, MiB": round(peak / 2**20),
        "bytes a row": round(size / n),
        "parts": len(list((out / "traces.parquet").iterdir())),
    }


def predicted(grown: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For more inputs than anybody waits for here: each costs what one more has cost between the smallest and the
    largest job, and a part has as many as there are then in one of 10,000."""
    first, last = grown[0], grown[-1]
    more = max(last["inputs"] - first["inputs"], 1)
    each = max(last["seconds"] - first["seconds"], 0.0) / more if len(grown) > 1 else first["seconds"] / first["inputs"]
    rows = []
    for n in FAR:
        size = max(MIN_PART, -(-n // MAX_PARTS))
        rows.append(
            {
                "inputs": f"{n:,}",
                "core-hours": float(f"{n * each / 3600:.2g}"),
                "hours on 100 cores": float(f"{n * each / 360000:.2g}"),
                "traces, GiB": float(f"{n * last['bytes a row'] / 2**30:.2g}"),
                "parts": -(-n // size),
                "inputs in a part": size,
            }
        )
    return rows


def prepare(where: Path, n_inputs: int) -> None:
    """A model of scikit-learn's digits, and digits with some of their pixels turned over, as Parquet."""
    import pandas as pd

    data = datasets.digits()
    asked = queries.patches((8, 8), size=2, threshold=8)
    clf = InformationPursuitClassifier(asked, "table", stopping=Confidence(0.01) | MaxQueries(10), random_state=0)
    save(clf.fit(data.x_train, data.y_train), where / "model")
    rng = np.random.default_rng(0)
    images = data.x_train[rng.integers(0, len(data.x_train), n_inputs)].reshape(n_inputs, -1)
    images = np.where(rng.random(images.shape) < NOISE, 16 - images, images).astype(np.uint8)
    frame = pd.DataFrame(images, columns=[f"pixel {i}" for i in range(images.shape[1])])
    frame.to_parquet(where / "inputs.parquet", row_group_size=10_000)


@contextlib.contextmanager
def while_working(out: Path, n_parts: int, kill: Callable[[], bool]) -> Iterator[None]:
    """Call ``kill`` until it has killed, once the job in a folder has finished so many of its parts."""
    over, killed = threading.Event(), threading.Event()

    def watch() -> None:
        while not over.wait(0.02) and not killed.is_set():
            if len(list((out / ".job" / "done").glob("*.json"))) >= n_parts and kill():
                killed.set()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    if not killed.is_set():
        raise RuntimeError("the job was over before anything could be killed; give more inputs")


def _kill_worker() -> bool:
    workers = _workers()
    if workers:
        os.kill(workers[0], signal.SIGKILL)
    return bool(workers)


def _workers() -> list[int]:
    """Processes of Ray's that explain."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and b"ray::Worker" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return sorted(found)


def counted(done: Explained) -> dict[str, int]:
    """Inputs that no row or more than one is about."""
    import pyarrow.parquet as pq

    numbers = pq.read_table(done.traces, columns=["input"])["input"].to_numpy()
    counts = np.bincount(numbers, minlength=done.summary.n_inputs)
    return {"missing": int((counts == 0).sum()), "doubled": int((counts > 1).sum())}


def _bytes(out: Path) -> tuple[bytes, ...]:
    files = sorted((out / "traces.parquet").iterdir())
    return tuple(hashlib.sha256(file.read_bytes()).digest() for file in files)
