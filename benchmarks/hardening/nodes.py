"""A Ray cluster of two node processes on this machine, one of which is killed in the middle of a job, with its workers.

The other node has no core left for another worker, as on a cluster that is fully used: what is left is done there.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.jobs import counted, prepare, while_working
from benchmarks.machine import write_result
from infopursuit.app.jobs.engines import Engine
from infopursuit.app.jobs.job import explain

TOLERANCE = 1e-9
N_PARTS = 30
NUMBERS = ("probability", "p_value", "gain")


def bench_nodes(
    n_kills: int, n_inputs: int, *, folder: Path, say: Callable[[str], None], seed: int = 0
) -> dict[str, Any]:
    """Kill a node in the middle of each of so many jobs; compare with the job in one process."""
    begin, moments, rows = time.perf_counter(), random.Random(seed), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory(prefix="nodes-") as place, _cluster() as cluster:
        where = Path(place)
        prepare(where, n_inputs)
        given, part = (where / "inputs.parquet", where / "model"), -(-n_inputs // N_PARTS)
        explain(*given, where / "undisturbed", part=part, progress=False)
        for k in range(n_kills):
            second, out, killed = cluster.add_node(num_cpus=1), where / f"job-{k}", list[str]()

            def kill(node: Any = second, killed: list[str] = killed) -> bool:
                """Whether the node was doing something, and is dead now."""
                found = processes_of(node.all_processes["raylet"][0].process.pid)
                working = any("ray::Worker.work" in name for name in found.values())
                if working:
                    killed.extend(found.values())
                    for pid in found:
                        os.kill(pid, signal.SIGKILL)
                return working

            after = moments.randint(2, N_PARTS // 2)
            with while_working(out, after, kill):
                done = explain(*given, out, part=part, engine=Engine("ray", 2, address=cluster.address), progress=False)
            cluster.remove_node(second, allow_graceful=False)
            difference = largest_difference(out, where / "undisturbed")
            rows.append({
                "kill": k + 1, "inputs": n_inputs, "parts": done.n_parts, "parts done before": f"{after} or more",
                "processes killed": len(killed), "workers among them": sum("ray::Worker" in name for name in killed),
                **counted(done), "queries, answers, lengths, reasons": "other" if difference is None else "the same",
                "largest difference of a number": difference,
                "half-written files left over": sum(1 for file in out.rglob(".*-*") if file.is_file()),
            })  # fmt: skip
            say(f"{rows[-1]}")
    same = all(
        row["largest difference of a number"] is not None and row["largest difference of a number"] <= TOLERANCE
        for row in rows
    )
    whole = all(row["missing"] == row["doubled"] == row["half-written files left over"] == 0 for row in rows)
    result = {
        "experiment": "node-kills", "seed": seed, "seconds": round(time.perf_counter() - begin, 1),
        "passed": same and whole and all(row["workers among them"] for row in rows),
        "tables": {"A Ray cluster of two nodes, one of which is killed in the middle of a job": rows},
    }  # fmt: skip
    command = f"python -m benchmarks.bench node-kills --number {n_kills}"
    say(f"written to {write_result(folder, 'node-kills', command, result)}")
    return result


@contextlib.contextmanager
def _cluster() -> Iterator[Any]:
    """A cluster whose first node has one core; others are added."""
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    from ray.cluster_utils import Cluster

    logging.getLogger("ray").setLevel(logging.ERROR)
    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        yield cluster
    finally:
        cluster.shutdown()


def processes_of(pid: int) -> dict[int, str]:
    """The command lines of a process and of all that it started, and those started."""
    started, names = dict[int, list[int]](), dict[int, str]()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                started.setdefault(parent, []).append(int(entry.name))
                names[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    found = [pid]
    for each in found:
        found += started.get(each, [])
    return {each: names[each] for each in found if each in names}


def largest_difference(one: Path, other: Path) -> float | None:
    """Of the numbers in the traces of two jobs; None where anything else differs."""
    import pandas as pd

    mine, theirs = (pd.read_parquet(folder / "traces.parquet").to_dict("records") for folder in (one, other))
    letters, numbers = list[list[Any]](), list[list[float]]()
    for rows in (mine, theirs):
        kept, values = list[Any](), list[float]()
        for row in rows:
            for each in ({name: value for name, value in row.items() if name != "steps"}, *json.loads(row["steps"])):
                kept.append({name: value for name, value in each.items() if name not in NUMBERS})
                values += [np.nan if each.get(name) is None else each[name] for name in NUMBERS if name in each]
        letters.append(kept)
        numbers.append(values)
    # a value that is missing is NaN in a frame, which is not even equal to itself
    if [repr(each) for each in letters[0]] != [repr(each) for each in letters[1]]:
        return None
    a, b = (np.array(each) for each in numbers)
    if (np.isnan(a) != np.isnan(b)).any():
        return None
    return float(np.nanmax(np.abs(a - b), initial=0.0))
