"""One and two processes of a server under the same load, in turn: how many times as many requests two answer.

Where others use the cores too, processor time tells more than the clock: how many requests a second of it answers. Two
processes that are never idle answer on two free cores twice that ratio; they are idle where one has too few clients.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hardening.limits import memory_of
from benchmarks.machine import write_result
from benchmarks.serving.people import Client, Tally, own_cpu
from benchmarks.serving.served import MIB, Served, served
from benchmarks.serving.soak import MIX, Person
from infopursuit.support.terminal import table

LEAST = 1.6
"""Two processes must answer so many times as many requests as one."""
WORKERS = (1, 2)


def bench_workers(
    *, people: int, seconds: float, rounds: int, folder: Path, say: Callable[[str], None] = print,
    mix: dict[str, float] | None = None,
) -> bool:  # fmt: skip
    """Let people ask both servers in turn, without a pause; write ``serving-workers.json`` to a folder.

    ``mix``: models as ``serve`` takes them and how often each is played; those that come along where it is left out.
    """
    mix = mix or MIX
    shares = {model.partition("=")[0]: share for model, share in mix.items()}
    say(f"{people} people without a pause, {rounds} rounds of {seconds:g} s for each number of processes, in turn")
    found: dict[int, list[Round]] = {n: [] for n in WORKERS}
    before, start = own_cpu(), time.perf_counter()
    with served([*mix, "--workers", "1"]) as one, served([*mix, "--workers", "2"]) as two:
        servers = dict(zip(WORKERS, (one, two), strict=True))
        for k in range(-1, rounds):  # the first one fills caches
            for n in WORKERS if k % 2 == 0 else WORKERS[::-1]:
                done = Round(servers[n], shares, people, seconds, k)
                if k >= 0:
                    found[n].append(done)
            if k >= 0:
                say(f"round {k + 1}: {found[1][-1].rate:.0f} and {found[2][-1].rate:.0f} requests a second")
        memory = {n: [(memory_of(pid, "VmRSS") or 0) / MIB for pid in servers[n].workers()] for n in WORKERS}
    took = time.perf_counter() - start
    ratios = np.array([two.rate / one.rate for one, two in zip(*found.values(), strict=True)])
    rows = [_row(n, found[n], memory[n]) for n in WORKERS]
    one_second, two_second = (row["for each second of the processor"] for row in rows)
    each, even = two_second / one_second, _even(found[2])
    error = float(ratios.std(ddof=1) / np.sqrt(rounds)) if rounds > 1 else 0.0
    summary = {
        "requests a second, two to one": round(float(np.median(ratios)), 2), "standard error": round(error, 2),
        "requests for each second of the processor, two to one": round(each, 2),
        "all work to that of the busier one": round(even, 2),
        "load average": round(os.getloadavg()[1], 1),
        "cores that the people took": round((own_cpu() - before) / took, 2),
    }  # fmt: skip
    for line in (*table([list(rows[0]), *([str(v) for v in row.values()] for row in rows)]), "", f"{summary}"):
        say(line)
    result = {
        "experiment": "serving-workers", "seed": 0, "seconds": round(took, 1), "ratios": ratios.round(3).tolist(),
        "passed": float(np.median(ratios)) >= LEAST and not any(row["errors"] for row in rows),
        "tables": {"The same load on one and on two processes": rows, "Two processes to one": [summary]},
    }  # fmt: skip
    command = f"python -m benchmarks.bench workers --people {people} --seconds {seconds:g} --number {rounds}"
    say(f"written to {write_result(folder, 'serving-workers', command, result)}")
    return bool(result["passed"])


class Round:
    """What some people met with who asked without a pause; ``rate``: requests a second; ``cpu``: seconds of the
    processor that each process used."""

    def __init__(self, server: Served, mix: dict[str, float], people: int, seconds: float, seed: int) -> None:
        pids = server.workers()
        before, start = [server.cpu_seconds(pid) or 0.0 for pid in pids], time.perf_counter()
        self.tally = asyncio.run(_crowd(server, mix, people, seconds, seed))
        self.rate = self.tally.requests / (time.perf_counter() - start)
        self.cpu = np.array([server.cpu_seconds(pid) or 0.0 for pid in pids]) - before


async def _crowd(server: Served, mix: dict[str, float], people: int, seconds: float, seed: int) -> Tally:
    first, tally = Client(server.port), Tally()
    models = {one["name"]: one for one in json.loads(await first.send(Tally(), "GET", "/v1/models") or b"")["models"]}
    await first.close()
    everybody = [Person(server.port, 1000 * (seed + 1) + i, models, mix) for i in range(people)]
    end = time.perf_counter() + seconds
    await asyncio.gather(*(one.play(tally, end, None) for one in everybody))
    await asyncio.gather(*(one.client.close() for one in everybody))
    return tally


def _even(rounds: list[Round]) -> float:
    """All work to that of the busier process, the median of some rounds: 2 where two do the same."""
    return float(np.median([each.cpu.sum() / each.cpu.max() for each in rounds]))


def _row(n: int, rounds: list[Round], memory: list[float]) -> dict[str, Any]:
    milliseconds = 1000 * np.concatenate([each.tally.seconds for each in rounds])
    requests = sum(each.tally.requests for each in rounds)
    return {
        "processes": n, "requests": requests, "errors": sum(each.tally.errors for each in rounds),
        "a second, median": round(float(np.median([each.rate for each in rounds])), 1),
        "for each second of the processor": round(requests / float(sum(each.cpu.sum() for each in rounds)), 1),
        "p50, ms": round(float(np.percentile(milliseconds, 50))),
        "p99, ms": round(float(np.percentile(milliseconds, 99))),
        "memory of each, MiB": " and ".join(f"{each:.0f}" for each in memory),
    }  # fmt: skip
