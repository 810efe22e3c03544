"""Requests that no client should send, against a real server: it must refuse them, stay alive, and answer as before."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.machine import write_result
from benchmarks.serving.hostile_http import BROKEN, LONG, MODEL, Hostile, request, slow_ones
from benchmarks.serving.hostile_requests import hostile_requests
from benchmarks.serving.served import Served, served
from infopursuit.support.progress import Progress
from infopursuit.support.terminal import table

AT_ONCE = 16
PATIENCE = 60.0
"""Seconds until a connection on which nothing happens counts as left hanging."""
MEMORY = 1024.0
"""MiB that the server may use at most."""
BUSY = (503, 504)
"""What a server that has too much to do may say."""
CONTINUE = 100
"""Comes before the answer, to those who wait for it before they send a body."""
FAILURES = re.compile(r'"event": "(failed|complaint)"')
OUTCOMES = ("answered", "refused", "busy", "closed", "wrong")


def bench_hostile(
    n: int, *, folder: Path, seed: int = 0, n_slow: int = 8, seconds: float = 10.0, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Send n requests and some slow ones, judge, tell, and write ``hostile-requests.json`` to a folder.

    ``seconds``: the server's time limit.
    """
    say(f"{n} requests that no client should send, {AT_ONCE} at a time, and {n_slow} clients that are too slow")
    with tempfile.TemporaryFile("w+") as errors:
        with served([MODEL, "--log", "json", "--timeout", f"{seconds:g}"], errors) as server:
            result = asyncio.run(_run(server, n, seed, n_slow, seconds))
            result["alive_afterwards"] = server.is_alive
            result["memory_peak_mib"] = server.memory("VmHWM")
        result["exit_code"] = server.process.returncode
        errors.seek(0)
        complaints = [line.strip() for line in errors if FAILURES.search(line)]
    result |= {"complaints": len(complaints), "first_complaints": complaints[:5], "memory_limit_mib": MEMORY}
    result["passed"] = _passed(result)
    listed = [{"kind": kind, **found} for kind, found in result["by_kind"].items()]
    result["tables"] = {"Hostile requests": [*listed, {"kind": "all", **result["outcomes"]}]}
    for line in _lines(result):
        say(line)
    command = f"python -m benchmarks.bench hostile-requests --number {n} --seed {seed}"
    say(f"written to {write_result(folder, 'hostile-requests', command, result)}")
    return result


async def _run(server: Served, n: int, seed: int, n_slow: int, seconds: float) -> dict[str, Any]:
    good = request(body=json.dumps({"history": [{"query": "is a bird", "answer": "yes"}]}).encode())
    before = await _answer_to(server.port, good)
    memory = server.memory()
    start = time.perf_counter()
    kinds: dict[str, Counter[str]] = {}
    statuses: Counter[int] = Counter()
    wrong: list[str] = []

    def note(one: Hostile, outcome: str, told: Iterable[int]) -> None:
        kinds.setdefault(one.kind, Counter())[outcome] += 1
        statuses.update(told)
        if outcome == "wrong" and len(wrong) < 20:
            wrong.append(f"{one.kind}: {list(told) or 'no answer'} for {one.parts[0][:300]!r}")

    waiting = hostile_requests(n, seed)
    with Progress("sending", n, show=True) as progress:

        async def sender() -> None:
            for one in waiting:
                note(one, *await _send(server.port, one))
                progress.advance()

        async def slow(one: Hostile) -> None:
            note(one, *await _send(server.port, one))

        lazy = [asyncio.create_task(slow(one)) for one in slow_ones(n_slow, 3 * seconds)]
        await asyncio.gather(*(sender() for _ in range(AT_ONCE)))
        await asyncio.gather(*lazy)
    took = time.perf_counter() - start
    measured = (await _answer_to(server.port, request("GET", "/metrics"))).decode()
    return {
        "requests": n + n_slow,
        "seed": seed,
        "seconds": took,
        "outcomes": {outcome: sum(count[outcome] for count in kinds.values()) for outcome in OUTCOMES},
        "by_kind": {kind: {outcome: count[outcome] for outcome in OUTCOMES} for kind, count in sorted(kinds.items())},
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        "wrong": wrong,
        "answers_as_before": await _answer_to(server.port, good) == before,
        "under_way_afterwards": int(re.findall(r"^infopursuit_requests_in_flight (\d+)", measured, re.MULTILINE)[0])
        - 1,
        "memory_before_mib": memory,
        "memory_after_mib": server.memory(),
    }


async def _send(port: int, one: Hostile) -> tuple[str, list[int]]:
    """(what became of it, the statuses of the answers)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    told = bytearray()
    hanging = False
    try:
        async with asyncio.timeout(PATIENCE):
            answers = asyncio.create_task(_read_all(reader, told))
            with contextlib.suppress(OSError):
                for i, part in enumerate(one.parts):
                    if i and one.wait:
                        done, _ = await asyncio.wait([answers], timeout=one.wait)
                        if done:
                            break
                    writer.write(part)
                    await writer.drain()
                if one.closes:
                    writer.write_eof()
            if one.waits_for_answer:
                await answers
            else:
                answers.cancel()
    except TimeoutError:
        hanging = True
    finally:
        writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()
    statuses = [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", bytes(told))]
    statuses = [status for status in statuses if status != CONTINUE]
    if hanging or any(
        (status >= 500 and status not in BUSY) or status < 200 or 300 <= status < 400 for status in statuses
    ):
        return "wrong", statuses
    if not statuses:
        return "closed" if one.kind in (*BROKEN, *LONG) else "wrong", statuses
    worst = max(statuses)
    return ("busy" if worst in BUSY else "refused" if worst >= 400 else "answered"), statuses


async def _read_all(reader: asyncio.StreamReader, told: bytearray) -> None:
    with contextlib.suppress(OSError):
        while part := await reader.read(2**16):
            told += part


async def _answer_to(port: int, sent: bytes) -> bytes:
    """The content of the answer to a good request; an error where it is not answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    told = bytearray()
    async with asyncio.timeout(180):
        await _read_all(reader, told)
    writer.close()
    head, _, content = bytes(told).partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise ValueError(f"a good request was not answered but told {head[:60]!r}")
    return content


def _passed(result: dict[str, Any]) -> bool:
    peak = result["memory_peak_mib"]
    good = result["alive_afterwards"] and result["answers_as_before"] and result["exit_code"] == 0
    quiet = not result["outcomes"]["wrong"] and not result["complaints"] and not result["under_way_afterwards"]
    return bool(good and quiet and (peak is None or peak <= MEMORY))


def _lines(result: dict[str, Any]) -> list[str]:
    rows = [["", *OUTCOMES]]
    rows += [[kind, *(str(found[outcome]) for outcome in OUTCOMES)] for kind, found in result["by_kind"].items()]
    rows.append(["all", *(str(result["outcomes"][outcome]) for outcome in OUTCOMES)])
    statuses = ", ".join(f"{status}: {n}" for status, n in result["statuses"].items())
    peak = result["memory_peak_mib"]
    used = "not told by this system" if peak is None else f"{peak:.0f} MiB at most, of {MEMORY:.0f} allowed"
    return [
        "",
        *table(rows),
        "",
        "answered: 2xx, it was valid after all; refused: 4xx; busy: 503 or 504; closed: broken HTTP, unanswered;",
        "wrong: any other status, no answer to what is HTTP, or a connection left hanging",
        f"statuses: {statuses}",
        f"the server is {'alive' if result['alive_afterwards'] else 'DEAD'}, "
        f"answers {'as before' if result['answers_as_before'] else 'OTHERWISE THAN BEFORE'}, "
        f"has {result['under_way_afterwards']} requests under way, logged {result['complaints']} errors",
        f"memory: {used}",
        *(f"wrong: {line}" for line in result["wrong"][:5]),
        *(f"logged: {line[:300]}" for line in result["first_complaints"]),
        f"{'passed' if result['passed'] else 'FAILED'} in {result['seconds']:.0f} s",
    ]
