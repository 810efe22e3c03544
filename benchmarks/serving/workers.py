"""One and two processes of a server under the same load, in turn: how many times as many requests two answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import write_result
from benchmarks.serving.people import Client, Tally, own_cpu
from benchmarks.serving.served import Served, served
from benchmarks.serving.soak import MIX, Person
from infopursuit.terminal import table

LEAST = 1.6
"""Two processes must answer so many times as many requests as one."""
WORKERS = (1, 2)


def bench_workers(*, people: int, seconds: float, rounds: int, folder: Path, say: Callable[[str], None]) -> bool:
    """Let people ask both servers in turn, without a pause; write ``serving-workers.json`` to a folder."""
    say(f"{people} people without a pause, {rounds} rounds of {seconds:g} s for each number of processes, in turn")
    found: dict[int, list[Tally]] = {n: [] for n in WORKERS}
    rates: dict[int, list[float]] = {n: [] for n in WORKERS}
    before, start = own_cpu(), time.perf_counter()
    with served([*MIX, "--workers", "1"]) as one, served([*MIX, "--workers", "2"]) as two:
        servers = dict(zip(WORKERS, (one, two), strict=True))
        for k in range(rounds):
            for n in WORKERS if k % 2 == 0 else WORKERS[::-1]:
                tally, rate = asyncio.run(_crowd(servers[n], people, seconds, k))
                found[n].append(tally)
                rates[n].append(rate)
            say(f"round {k + 1}: {rates[1][-1]:.0f} and {rates[2][-1]:.0f} requests a second")
        memory = {n: sorted(servers[n].memories()) for n in WORKERS}
        took = time.perf_counter() - start
        generator = (own_cpu() - before) / took
    ratios = np.array(rates[2]) / np.array(rates[1])
    errors = {n: sum(tally.errors for tally in found[n]) for n in WORKERS}
    rows = [_row(n, found[n], rates[n], memory[n], errors[n]) for n in WORKERS]
    middle, error = float(np.median(ratios)), float(ratios.std(ddof=1) / np.sqrt(len(ratios))) if rounds > 1 else 0.0
    summary = {"two to one, median of the rounds": round(middle, 2), "standard error of the mean": round(error, 2),
               "rounds": rounds, "share of a core that the people took": round(generator, 2)}  # fmt: skip
    for line in (*table([list(rows[0]), *([str(v) for v in row.values()] for row in rows)]), "", f"{summary}"):
        say(line)
    result = {
        "experiment": "serving-workers", "seed": 0, "seconds": round(took, 1), "ratios": ratios.round(3).tolist(),
        "passed": middle >= LEAST and not sum(errors.values()),
        "tables": {"The same load on one and on two processes": rows, "Two processes to one": [summary]},
    }  # fmt: skip
    command = f"python -m benchmarks.bench workers --people {people} --seconds {seconds:g} --number {rounds}"
    say(f"written to {write_result(folder, 'serving-workers', command, result)}")
    return bool(result["passed"])


async def _crowd(server: Served, people: int, seconds: float, k: int) -> tuple[Tally, float]:
    """What some people meet with who ask without a pause, and requests a second; the seed is that of the round."""
    first, tally = Client(server.port), Tally()
    models = {one["name"]: one for one in json.loads(await first.send(Tally(), "GET", "/v1/models") or b"")["models"]}
    await first.close()
    everybody = [Person(server.port, 1000 * k + i, models, MIX) for i in range(people)]
    start = time.perf_counter()
    await asyncio.gather(*(one.play(tally, start + seconds, None) for one in everybody))
    took = time.perf_counter() - start
    await asyncio.gather(*(one.client.close() for one in everybody))
    return tally, tally.requests / took


def _row(n: int, tallies: list[Tally], rates: list[float], memory: list[float], errors: int) -> dict[str, Any]:
    milliseconds = 1000 * np.concatenate([tally.seconds for tally in tallies])
    return {
        "processes": n, "requests": sum(tally.requests for tally in tallies),
        "a second, median": round(float(np.median(rates)), 1), "errors": errors,
        "p50, ms": round(float(np.percentile(milliseconds, 50))),
        "p99, ms": round(float(np.percentile(milliseconds, 99))),
        "memory of each, MiB": " and ".join(f"{each:.0f}" for each in memory),
    }  # fmt: skip
