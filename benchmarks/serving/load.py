"""Many people at once: a server of its own, people who think for two seconds between answers, and what they waited.

The people are simulated in this process on plain sockets, so that the load generator takes as little of the machine as
it can; what it took is told beside the result.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import write_result
from benchmarks.serving.people import Client, Tally, longer, own_cpu
from benchmarks.serving.served import served

PAUSE = 2.0
"""Seconds from one answer of a person to the next."""
N_ALONE = 120
"""Requests of the one who is alone."""


def bench_serve(
    model: str, *, people: int, seconds: float, folder: Path, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Start a server with one model, let people answer, tell, and write ``serve-MODEL.json`` to a folder."""
    name = model.partition("=")[0] if "=" in model else Path(model).resolve().name
    say(f"{name}: {people} people, each answering once in {PAUSE:g} s, for {seconds:g} s")
    # stderr goes where ours goes, so that what the server complains of is seen
    with served([model]) as server:
        before, start = own_cpu(), time.perf_counter()
        tally = asyncio.run(_crowd(server.port, name, people, seconds))
        spent, took = own_cpu() - before, time.perf_counter() - start
        used = server.cpu_seconds()
    result = _summary(tally, people, took, spent, used)
    for line in _lines(result):
        say(line)
    command_line = f"python -m benchmarks.bench serve --model {model} --people {people} --seconds {seconds:g}"
    say(f"written to {write_result(folder, f'serve-{name}', command_line, {'model': model, **result})}")
    return result


async def _crowd(port: int, model: str, people: int, seconds: float) -> Tally:
    tally = Tally()
    # the first answer comes when the model is ready; nobody's waiting counts before that
    first = Client(port)
    await first.next(Tally(), model, [], limit=120)
    tally.alone = await _alone(first, model)
    await first.close()
    end = time.perf_counter() + seconds
    await asyncio.gather(*(_person(port, model, i, people, end, tally) for i in range(people)))
    return tally


async def _alone(client: Client, model: str) -> list[float]:
    """Seconds of requests with histories that were never asked about, one after the other."""
    chance, seen, found = random.Random("alone"), {"[]"}, Tally()
    new: list[float] = []
    history: list[dict[str, Any]] = []
    while found.requests < N_ALONE:
        told = await client.next(found, model, history)
        if told is not None and json.dumps(history) not in seen:
            seen.add(json.dumps(history))
            new.append(found.seconds[-1])
        history = longer(history, told, chance) or []
    return new


async def _person(port: int, model: str, i: int, people: int, end: float, tally: Tally) -> None:
    """Somebody who plays game after game: reads the question, thinks, answers at random."""
    chance, client = random.Random(i), Client(port)
    await asyncio.sleep(PAUSE * i / people)  # not all in the same moment, as people do not
    history: list[dict[str, Any]] = []
    while time.perf_counter() < end:
        began = time.perf_counter()
        told = await client.next(tally, model, history)
        grown = longer(history, told, chance)
        tally.games += told is not None and grown is None
        history = grown or []
        await asyncio.sleep(max(0.0, PAUSE - (time.perf_counter() - began)))
    await client.close()


def _summary(tally: Tally, people: int, took: float, spent: float, served: float | None) -> dict[str, Any]:
    milliseconds = 1000 * np.array(tally.seconds or [np.nan])
    return {
        "people": people,
        "seconds": took,
        "requests": tally.requests,
        "requests_per_second": tally.requests / took,
        "errors": tally.errors,
        "statuses": dict(tally.statuses),
        "games_ended": tally.games,
        "alone_p50_ms": 1000 * float(np.median(tally.alone or [np.nan])),
        "alone_max_ms": 1000 * float(np.max(tally.alone or [np.nan])),
        "p50_ms": float(np.percentile(milliseconds, 50)),
        "p99_ms": float(np.percentile(milliseconds, 99)),
        "max_ms": float(milliseconds.max()),
        "generator_cores": spent / took,
        "server_cpu_seconds_with_start": served,
        "cores": os.cpu_count(),
    }


def _lines(result: dict[str, Any]) -> list[str]:
    share = 100 * result["generator_cores"] / (result["cores"] or 1)
    statuses = ", ".join(f"{status}: {n}" for status, n in sorted(result["statuses"].items()))
    return [
        f"{result['requests']} requests, {result['requests_per_second']:.0f} a second, {result['errors']} errors "
        f"({statuses}); {result['games_ended']} games came to an end",
        f"one alone, with histories that are new: p50 {result['alone_p50_ms']:.1f} ms, longest "
        f"{result['alone_max_ms']:.0f} ms",
        f"p50 {result['p50_ms']:.1f} ms, p99 {result['p99_ms']:.1f} ms, longest {result['max_ms']:.0f} ms",
        f"the people themselves took {share:.0f} % of {result['cores']} cores",
    ]
