"""The kill harness: processes killed at random moments and at the moments at which they write, started again, and what
they come to in the end compared with a run that nobody disturbed."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import environment
from benchmarks.hardening.dying import MOMENTS
from benchmarks.hardening.killed_tasks import TASKS, Task, prepare
from benchmarks.machine import write_result
from infopursuit.estimator.storage import load, save

MAX_WRITES = 6
"""A process that kills itself does so at one of its first so many files."""


def bench_kills(
    n_kills: int, *, folder: Path, say: Callable[[str], None], seed: int = 0, tasks: Sequence[Task] = TASKS,
    name: str = "kills",
) -> dict[str, Any]:  # fmt: skip
    """Kill every task so many times; half of the kills come from outside, half at a moment of writing."""
    begin = time.perf_counter()
    rows = []
    with tempfile.TemporaryDirectory(prefix="kills-") as place:
        made = Path(place)
        prepare(made)
        for task in tasks:
            say(f"{task.name}: {task.about}")
            rows.append(kill(task, made, n_kills, random.Random(f"{seed} {task.name}"), say))
            say(f"{task.name}: {rows[-1]}")
    same = all(row["same as undisturbed"] == row["brought to an end"] for row in rows)
    result = {
        "experiment": name,
        "passed": same and not any(row["half-written files left over"] for row in rows),
        "seed": seed,
        "seconds": round(time.perf_counter() - begin, 1),
        "tables": {"Processes killed with SIGKILL and started again": rows},
        "tasks": {task.name: task.about for task in tasks},
    }
    write_result(folder, name, f"python -m benchmarks.bench {name} --number {n_kills}", result)
    return result


def kill(task: Task, made: Path, n_kills: int, moments: random.Random, say: Callable[[str], None]) -> dict[str, Any]:
    """One task, killed again and again, begun anew when it has come to its end before the last kill."""
    undisturbed, span = _undisturbed(task, made)
    counts = dict.fromkeys(("kills", "from outside", "while writing", "rounds", "same", "left"), 0)
    while counts["kills"] < n_kills:
        folder = made / f"{task.name}-{counts['rounds']}"
        folder.mkdir()
        if task.endless:
            shutil.copytree(made / "model", folder / "saved")
        while counts["kills"] < n_kills:
            killed, how = _once(task, made, folder, moments, span)
            if not killed:
                break
            counts["kills"] += 1
            counts[how] += 1
            say(f"{task.name}: kill {counts['kills']} of {n_kills}, {how}")
            if task.endless:
                counts["rounds"] += 1
                counts["same"] += int(task.result(folder))
        if task.endless:
            save(load(made / "model"), folder / "saved")
        else:
            _run(task.command(made, folder))  # nothing disturbs it any more; all that is left is done
            counts["rounds"] += 1
            counts["same"] += int(task.result(folder) == undisturbed)
        counts["left"] += sum(1 for file in folder.rglob(".*-*") if file.is_file())
        shutil.rmtree(folder)
    return {
        "task": task.name,
        "kills": counts["kills"],
        "from outside": counts["from outside"],
        "while writing": counts["while writing"],
        "brought to an end": counts["rounds"],
        "same as undisturbed": counts["same"],
        "half-written files left over": counts["left"],
    }


def _undisturbed(task: Task, made: Path) -> tuple[Any, tuple[float, float]]:
    """What the task comes to, and the seconds between which it does something."""
    begin = time.perf_counter()
    _run(["--version"])
    start = time.perf_counter() - begin
    if task.endless:
        return True, (start, start + 3)
    folder = made / f"{task.name}-undisturbed"
    folder.mkdir()
    begin = time.perf_counter()
    _run(task.command(made, folder))
    took = time.perf_counter() - begin
    # so long that a good many kills come before the end
    return task.result(folder), (0.8 * start, start + max(0.5, (took - start) * task.until))


def _once(task: Task, made: Path, folder: Path, moments: random.Random, span: tuple[float, float]) -> tuple[bool, str]:
    """Run it until it is killed, or comes to its end."""
    writing = moments.random() < 0.5 and task.writes
    n = moments.randint(1, MAX_WRITES) if writing else 0
    moment, seconds = moments.choice(MOMENTS), moments.uniform(*span)
    process = _start(task.command(made, folder), n, moment)
    try:
        process.wait(timeout=600 if writing and not task.endless else 60 if writing else seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    _, told = process.communicate()
    if process.returncode not in (0, -9):
        raise RuntimeError(f"{task.name} failed after a kill, with {process.returncode}: {told[-2000:]}")
    return process.returncode == -9, "while writing" if writing else "from outside"


def _run(command: Sequence[str]) -> None:
    process = _start(command, 0, MOMENTS[0])
    _, told = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {told[-2000:]}")


def _start(command: Sequence[str], n: int, moment: str) -> subprocess.Popen[str]:
    told = [sys.executable, "-m", "benchmarks.hardening.dying", str(n), moment, *command]
    return subprocess.Popen(told, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment())
