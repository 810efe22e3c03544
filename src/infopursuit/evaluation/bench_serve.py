"""Many people at once: a server of its own, people who think for two seconds between answers, and what they waited.

The people are simulated in this process on plain sockets, so that the load generator takes as little of the machine as
it can; what it took is told beside the result.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.evaluation.machine import write_result

PAUSE = 2.0
"""Seconds from one answer of a person to the next."""
MOST_ANSWERS = 30
N_ALONE = 120
"""Requests of the one who is alone."""
GIVEN_UP = 30.0
"""Seconds until an answer that does not come counts as an error."""


@dataclass
class Tally:
    """What all people together met with: seconds of each request, statuses, games played to their end; and seconds of
    requests that nobody had made before, by one who was alone."""

    seconds: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    games: int = 0


def bench_serve(
    model: str, *, people: int, seconds: float, folder: Path, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Start a server with one model, let people answer, tell, and write ``serve-MODEL.json`` to a folder."""
    name = model.partition("=")[0] if "=" in model else Path(model).resolve().name
    say(f"{name}: {people} people, each answering once in {PAUSE:g} s, for {seconds:g} s")
    # stderr goes where ours goes, so that what the server complains of is seen
    command = [sys.executable, "-m", "infopursuit", "serve", model, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = _port(server)
            before, start = _own_cpu(), time.perf_counter()
            tally = asyncio.run(_crowd(port, name, people, seconds))
            spent, took = _own_cpu() - before, time.perf_counter() - start
            served = _cpu_of(server.pid)
        finally:
            server.terminate()
            server.wait(30)
    result = _summary(tally, people, took, spent, served)
    for line in _lines(result):
        say(line)
    command_line = f"infopursuit bench serve --model {model} --people {people} --seconds {seconds:g}"
    say(f"written to {write_result(folder, f'serve-{name}', command_line, {'model': model, **result})}")
    return result


def _port(server: subprocess.Popen[str]) -> int:
    assert server.stdout is not None
    for line in server.stdout:
        found = re.search(r"open http://127\.0\.0\.1:(\d+)/", line)
        if found:
            return int(found[1])
    raise ValueError("the server did not start; see above for its reason")


async def _crowd(port: int, model: str, people: int, seconds: float) -> Tally:
    tally = Tally()
    # the first answer comes when the model is ready; nobody's waiting counts before that
    line = await asyncio.open_connection("127.0.0.1", port)
    await _ask(*line, model, [], Tally(), limit=120)
    tally.alone = await _alone(line, model)
    await _hang_up(line)
    end = time.perf_counter() + seconds
    await asyncio.gather(*(_person(port, model, i, people, end, tally) for i in range(people)))
    return tally


async def _alone(line: tuple[asyncio.StreamReader, asyncio.StreamWriter], model: str) -> list[float]:
    """Seconds of requests with histories that were never asked about, one after the other."""
    chance, seen, found = random.Random("alone"), {"[]"}, Tally()
    new: list[float] = []
    history: list[dict[str, Any]] = []
    while len(found.seconds) < N_ALONE:
        told = await _ask(*line, model, history, found)
        if json.dumps(history) not in seen:
            seen.add(json.dumps(history))
            new.append(found.seconds[-1])
        question = told and told.get("question")
        if question and len(history) < MOST_ANSWERS:
            history = [*history, {"query": question["name"], "answer": _answer(question, chance)}]
        else:
            history = []
    return new


async def _person(port: int, model: str, i: int, people: int, end: float, tally: Tally) -> None:
    """Somebody who plays game after game: reads the question, thinks, answers at random."""
    chance = random.Random(i)
    await asyncio.sleep(PAUSE * i / people)  # not all in the same moment, as people do not
    history: list[dict[str, Any]] = []
    line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    while time.perf_counter() < end:
        began = time.perf_counter()
        try:
            line = line or await asyncio.open_connection("127.0.0.1", port)
            told = await _ask(*line, model, history, tally)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            tally.statuses[type(error).__name__] += 1
            await _hang_up(line)
            line, told = None, None
        question = told and told.get("question")
        if question and len(history) < MOST_ANSWERS:
            history = [*history, {"query": question["name"], "answer": _answer(question, chance)}]
        else:
            tally.games += told is not None
            history = []
        await asyncio.sleep(max(0.0, PAUSE - (time.perf_counter() - began)))
    await _hang_up(line)


async def _hang_up(line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None) -> None:
    if line is not None:
        line[1].close()
        with contextlib.suppress(OSError):
            await line[1].wait_closed()


async def _ask(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    model: str,
    history: list[dict[str, Any]],
    tally: Tally,
    limit: float = GIVEN_UP,
) -> dict[str, Any] | None:
    """One request; None where it was refused. An answer that contradicts the model (409) is the person's own doing."""
    body = json.dumps({"history": history}).encode()
    head = f"POST /v1/models/{model}/next HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    start = time.perf_counter()
    async with asyncio.timeout(limit):
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", told, re.IGNORECASE)
        if length is None:
            raise ValueError("an answer without a length")
        content = await reader.readexactly(int(length[1]))
    tally.seconds.append(time.perf_counter() - start)
    status = told.split(" ", 2)[1]
    tally.statuses[status] += 1
    return json.loads(content) if status == "200" else None


def _answer(question: dict[str, Any], chance: random.Random) -> str | None:
    """At random; of a patch, whose parts other patches may have shown already, that it is not known now and then."""
    if question["choices"]:
        return str(chance.choice(question["choices"]))
    patch = question["patch"]
    if patch is None or chance.random() < 0.1:
        return None
    return chance.choice("01") * int(patch["rows"] * patch["columns"])


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _cpu_of(pid: int) -> float | None:
    """Seconds of processor time that a process has used, where the system tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _summary(tally: Tally, people: int, took: float, spent: float, served: float | None) -> dict[str, Any]:
    errors = {status: n for status, n in tally.statuses.items() if status not in ("200", "409")}
    milliseconds = 1000 * np.array(tally.seconds or [np.nan])
    return {
        "people": people,
        "seconds": took,
        "requests": sum(tally.statuses.values()),
        "requests_per_second": sum(tally.statuses.values()) / took,
        "errors": sum(errors.values()),
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
