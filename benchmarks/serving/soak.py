"""A long run with people who think: whether the server stays quick, makes no mistake, and keeps its size."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hardening.limits import memory_of
from benchmarks.machine import write_result
from benchmarks.serving.people import Client, Tally, longer, own_cpu
from benchmarks.serving.served import MIB, Served, served
from infopursuit.support.progress import Progress
from infopursuit.support.terminal import table

MIX = {"animals": 0.5, "mnist": 0.3, "digits": 0.2}
"""Which model a game is played with."""
THINKING = (1.0, 3.0)
"""Seconds that a person takes to read a question and to answer it, at random between these; nobody needs less."""
WARMING, WARMED = 0.1, 180.0
PRESSING = 16
"""Before the measurement some ask without a pause, for this share of it and no longer than that many seconds: what is
remembered is then full, and the rate is the largest that there is. More of them would only wait for each other, until
they are refused."""
REPORT, EXPLAIN, LIST = 0.2, 0.2, 0.1
"""After a game: how often somebody takes the report home, has inputs explained, looks at the list of models."""
EVERY = 2.0
"""Seconds from one look at the server's memory to the next."""
ENDS = 0.1
"""The share of these looks at either end whose mean is called start and end."""
P99_MS, GROWTH = 150.0, 0.02
"""What is demanded, beside no error at all."""


def soak(
    *,
    people: int,
    seconds: float,
    folder: Path,
    workers: int = 1,
    mix: dict[str, float] | None = None,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Start a server with several models, let people play, judge, tell, and write ``soak.json`` and a figure to a
    folder.

    ``workers``: processes of the server.
    ``mix``: models as ``serve`` takes them and how often each is played; those that come along where it is left out.
    """
    folder.mkdir(parents=True, exist_ok=True)  # before the hour, not after it
    mix = MIX if mix is None else mix
    warming = min(WARMED, max(2.0, WARMING * seconds))
    say(f"{people} people for {seconds:g} s, each thinking {THINKING[0]:g} to {THINKING[1]:g} s before an answer;")
    say(f"before that {PRESSING} people for {warming:g} s without a pause.")
    say(f"Server and people share {os.cpu_count()} cores.")
    with served([*mix, "--workers", str(workers)]) as server:
        shares = {model.partition("=")[0]: share for model, share in mix.items()}
        result = asyncio.run(_run(server, shares, people, seconds, warming))
        used = [server.cpu_seconds(pid) for pid in server.workers()]
    result |= {"server_cpu_seconds_with_start": used, "exit_code": server.process.returncode}
    result["passed"] = _passed(result)
    result |= {"seed": 0, "tables": _tables(result)}
    if result["by_minute"]:
        from infopursuit.presentation.plots import save

        save(draw(result["by_minute"]), folder / "soak.png")
        about = "Growth of memory, 99th percentile of response times and load average, by minute"
        result["figures"] = [{"file": "soak.png", "about": about}]
    for line in _lines(result):
        say(line)
    command = f"python -m benchmarks.bench soak --people {people} --seconds {seconds:g}"
    command += f" --workers {workers}" if workers > 1 else ""
    say(f"written to {write_result(folder, 'soak', command, result)}")
    return result


async def _run(server: Served, mix: dict[str, float], people: int, seconds: float, warming: float) -> dict[str, Any]:
    first = Client(server.port)
    told = await first.send(Tally(), "GET", "/v1/models", limit=180)  # comes when all models are ready
    await first.close()
    if told is None:
        raise ValueError("the server does not answer; see above for its reason")
    models = {one["name"]: one for one in json.loads(told)["models"]}
    pressed, calm = Tally(), Tally()
    start = time.perf_counter()
    everybody = [Person(server.port, i, models, mix) for i in range(people)]
    await asyncio.gather(*(one.play(pressed, start + warming, None) for one in everybody[:PRESSING]))
    rate = pressed.requests / (time.perf_counter() - start)
    before, start = own_cpu(), time.perf_counter()
    looks: list[Look] = []
    watching = asyncio.create_task(_look(server, looks, calm, start, seconds))
    await asyncio.gather(*(one.play(calm, start + seconds, THINKING) for one in everybody))
    took = time.perf_counter() - start
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    await asyncio.gather(*(one.client.close() for one in everybody))
    return {
        "people": people,
        "mix": mix,
        "thinking_seconds": list(THINKING),
        "seconds": took,
        "requests": calm.requests,
        "requests_per_second": calm.requests / took,
        "errors": calm.errors,
        "statuses": dict(calm.statuses),
        "games_ended": calm.games,
        **_times(calm),
        "without_pause": {
            "seconds": warming,
            "requests": pressed.requests,
            "requests_per_second": rate,
            "errors": pressed.errors,
            "statuses": dict(pressed.statuses),
            "games_ended": pressed.games,
            **_times(pressed),
        },
        **_growth([(look.at, sum(look.memory)) for look in looks]),
        "memory_of_each_mib": _ends(looks),
        "load_average": float(np.mean([look.load for look in looks])) if looks else None,
        "by_minute": by_minute(looks, calm.seconds),
        "generator_cores": (own_cpu() - before) / took,
        "cores": os.cpu_count(),
    }


class Person:
    """Somebody who plays one game after the other, and now and then wants more than the next question."""

    def __init__(self, port: int, i: int, models: dict[str, dict[str, Any]], mix: dict[str, float]) -> None:
        self.client, self.chance, self.models, self.mix = Client(port), random.Random(i), models, mix

    async def play(self, tally: Tally, end: float, thinking: tuple[float, float] | None) -> None:
        """Play until a moment; ``thinking``: how long an answer takes, None for no time at all."""
        if thinking is not None:  # not all in the same moment, as people do not
            await asyncio.sleep(self.chance.uniform(0, thinking[1]))
        model, history = self._pick(), list[dict[str, Any]]()
        while time.perf_counter() < end:
            told = await self.client.next(tally, model, history)
            grown = longer(history, told, self.chance)
            if grown is None:
                tally.games += told is not None
                await self._afterwards(tally, model, history if told is not None else [])
                model, grown = self._pick(), []
            history = grown
            if thinking is not None:
                await asyncio.sleep(self.chance.uniform(*thinking))

    def _pick(self) -> str:
        return self.chance.choices(list(self.mix), list(self.mix.values()))[0]

    async def _afterwards(self, tally: Tally, model: str, history: list[dict[str, Any]]) -> None:
        if self.chance.random() < REPORT:
            await self.client.send(tally, "POST", f"/v1/models/{model}/report", {"history": history})
        if self.chance.random() < EXPLAIN:
            inputs = [self._input(model) for _ in range(self.chance.randint(1, 4))]
            await self.client.send(tally, "POST", f"/v1/models/{model}/explain", {"inputs": inputs})
        if self.chance.random() < LIST:
            await self.client.send(tally, "GET", "/v1/models")

    def _input(self, model: str) -> list[Any]:
        """A row of answers, or an image with one stroke."""
        told = self.models[model]
        if told["image"] is None:
            return [self.chance.choice((0, 1, None)) for _ in range(told["n_queries"])]
        (rows, columns), lit = told["image"]["shape"], 2 * (told["image"]["threshold"] or 0.5)
        at, wide = self.chance.uniform(0.3, 0.7) * columns, max(1.0, columns / 10)
        return [[lit if abs(column - at) < wide and 2 <= row < rows - 2 else 0 for column in range(columns)]
                for row in range(rows)]  # fmt: skip


@dataclass(frozen=True)
class Look:
    """What was seen after ``at`` seconds. memory: of each process, in MiB; pages of libraries as many as at the start,
    since the system drops them and reads them again as it likes. answered: requests up to then. load: average of the
    last minute."""

    at: float
    memory: tuple[float, ...]
    answered: int
    load: float


async def _look(server: Served, looks: list[Look], tally: Tally, start: float, seconds: float) -> None:
    """Note the server's memory now and then, and show how far it is."""
    files: dict[int, int] = {}
    with Progress("soaking", round(seconds), show=True) as progress:
        while True:
            at = time.perf_counter() - start
            with suppress(OSError):  # where the system does not tell
                pids = server.workers()
                files = {pid: files.get(pid) or memory_of(pid, "RssFile") or 0 for pid in pids}
                memory = tuple(((memory_of(pid, "RssAnon") or 0) + files[pid]) / MIB for pid in pids)
                looks.append(Look(at, memory, len(tally.seconds), os.getloadavg()[0]))
            progress.advance(max(0, round(at) - progress.done))
            await asyncio.sleep(EVERY)


def _growth(looks: list[tuple[float, float]]) -> dict[str, Any]:
    """Memory at the start and the end, and by how much a straight line through all looks grows, as a share.

    >>> found = _growth([(t, 100 + t / 10) for t in range(101)])
    >>> round(found["memory_growth"], 4), round(found["memory_start_mib"], 2)
    (0.1, 100.45)
    """
    if len(looks) < 2:
        return {"memory_start_mib": None, "memory_end_mib": None, "memory_growth": None, "memory_looks": len(looks)}
    at, used = np.array(looks).T
    slope, level = np.polyfit(at, used, 1)
    n = max(1, int(ENDS * len(looks)))
    return {
        "memory_start_mib": float(used[:n].mean()),
        "memory_end_mib": float(used[-n:].mean()),
        "memory_growth": float(slope * (at[-1] - at[0]) / (level + slope * at[0])),
        "memory_looks": len(looks),
    }


def _ends(looks: Sequence[Look]) -> list[list[float]]:
    """Of each process the mean memory at the start and at the end."""
    n = max(1, int(ENDS * len(looks)))
    means = [[float(np.mean(each)) for each in zip(*(one.memory for one in some), strict=False)]
             for some in (looks[:n], looks[-n:])]  # fmt: skip
    return [list(pair) for pair in zip(*means, strict=False)]


def by_minute(looks: Sequence[Look], seconds: Sequence[float]) -> list[dict[str, Any]]:
    """For each minute the memory of each process, the requests, their 99th percentile, and the load average.

    >>> looks = [Look(30.0 * i, (100.0 + i,), 10 * i, 1.0) for i in range(5)]
    >>> by_minute(looks, [0.02] * 50)[1]
    {'minute': 2, 'memory_mib': [102.5], 'requests': 20, 'p99_ms': 20.0, 'load_average': 1.0}
    """
    found, before = list[dict[str, Any]](), 0
    for minute in range(int(looks[-1].at // 60) if looks else 0):
        mine = [look for look in looks if minute <= look.at / 60 < minute + 1]
        after = next(look.answered for look in looks if look.at / 60 >= minute + 1)
        times, before = 1000 * np.array(seconds[before:after] or [np.nan]), after
        memory = zip(*(look.memory for look in mine), strict=False)
        found.append({
            "minute": minute + 1, "memory_mib": [round(float(np.mean(each)), 1) for each in memory],
            "requests": len(times), "p99_ms": round(float(np.percentile(times, 99)), 1),
            "load_average": round(float(np.mean([look.load for look in mine])), 2),
        })  # fmt: skip
    return found


def draw(minutes: Sequence[dict[str, Any]]) -> Any:
    """Growth of each process, p99 and load average by minute, with what is demanded."""
    from matplotlib.figure import Figure

    from infopursuit.presentation.plots import style

    figure = Figure(figsize=(11, 3), dpi=120, facecolor="white", layout="constrained")
    growth, times, load = figure.subplots(1, 3)
    at = [each["minute"] for each in minutes]
    for i, each in enumerate(zip(*(each["memory_mib"] for each in minutes), strict=False)):
        label = f"process {i + 1}, at first {each[0]:.0f} MiB"
        growth.plot(at, [100 * (now / each[0] - 1) for now in each], color=style.COLOURS[i], label=label)
    times.plot(at, [each["p99_ms"] for each in minutes], color=style.COLOURS[0])
    load.plot(at, [each["load_average"] for each in minutes], color=style.COLOURS[0])
    for axes, title, bar in (
        (growth, "Memory above the first minute, %", 100 * GROWTH),
        (times, "99th percentile of response times, ms", P99_MS),
        (load, f"Load average of the {os.cpu_count()} cores", None),
    ):
        if bar is not None:
            axes.axhline(bar, color=style.INK, linewidth=1, linestyle="--", label="demanded: below")
            axes.set_ylim(None, max(1.6 * bar, axes.get_ylim()[1]))
            axes.legend(frameon=False, loc="upper left")
        axes.set_ylim(min(0, axes.get_ylim()[0]), None)
        style.plain(axes)
        axes.set_title(title, fontsize=11)
        axes.set_xlabel("minute")
    return figure


def _times(tally: Tally) -> dict[str, float]:
    milliseconds = 1000 * np.array(tally.seconds or [np.nan])
    return {
        "p50_ms": float(np.percentile(milliseconds, 50)),
        "p99_ms": float(np.percentile(milliseconds, 99)),
        "max_ms": float(milliseconds.max()),
    }


def _passed(result: dict[str, Any]) -> bool:
    growth = result["memory_growth"]
    errors = result["errors"] + result["without_pause"]["errors"] + abs(result["exit_code"])
    return not errors and result["p99_ms"] < P99_MS and (growth is None or growth <= GROWTH)


def _tables(result: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """For a page."""
    rows = [
        {
            "": what,
            "seconds": round(found["seconds"]),
            "requests": found["requests"],
            "a second": round(found["requests_per_second"]),
            "errors": found["errors"],
            "p50, ms": round(found["p50_ms"]),
            "p99, ms": round(found["p99_ms"]),
            "slowest, ms": round(found["max_ms"]),
            "load average": None if found.get("load_average") is None else round(found["load_average"], 1),
        }
        for what, found in (
            (f"{result['people']} people who think", result),
            (f"before that, {min(PRESSING, result['people'])} without a pause", result["without_pause"]),
        )
    ]
    growth, each = result["memory_growth"], result["memory_of_each_mib"]
    ends = {f"process {i + 1}": (*pair, pair[1] / pair[0] - 1) for i, pair in enumerate(each) if len(each) > 1}
    ends["all" if ends else "the process"] = (result["memory_start_mib"], result["memory_end_mib"], growth)
    memory = [
        {
            "": who,
            "at the start, MiB": round(start or 0),
            "at the end, MiB": round(end or 0),
            "growth, %": None if more is None else round(100 * more, 2),
            "looks": result["memory_looks"],
        }
        for who, (start, end, more) in ends.items()
    ]
    return {"Requests": rows, "Memory": memory}


def _lines(result: dict[str, Any]) -> list[str]:
    pressed = result["without_pause"]

    def row(what: str, found: dict[str, Any]) -> list[str]:
        times = (f"{found[name]:.0f}" for name in ("p50_ms", "p99_ms", "max_ms"))
        return [what, str(found["requests"]), f"{found['requests_per_second']:.0f}", str(found["errors"]), *times]

    share = 100 * result["generator_cores"] / (result["cores"] or 1)
    lines = [
        "",
        *table([["", "requests", "a second", "errors", "p50 ms", "p99 ms", "longest ms"],
                row("without a pause", pressed), row("thinking", result)]),
        "",
        f"{result['games_ended']} games came to an end; statuses: "
        + ", ".join(f"{status}: {n}" for status, n in sorted(result["statuses"].items())),
        f"the people themselves took {share:.0f} % of {result['cores']} cores",
    ]  # fmt: skip
    if result["memory_growth"] is not None:
        lines.append(
            f"memory: {result['memory_start_mib']:.0f} MiB at the start, {result['memory_end_mib']:.0f} at the end; "
            f"a line through {result['memory_looks']} looks grows by {100 * result['memory_growth']:.1f} %"
        )
    wanted = f"no error, p99 below {P99_MS:.0f} ms, memory grows by at most {100 * GROWTH:.0f} %"
    return [*lines, f"{'passed' if result['passed'] else 'FAILED'}: {wanted}"]
