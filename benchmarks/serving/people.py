"""People who ask a server over real connections: what they send, and what they met with."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from benchmarks.serving.served import Line, hang_up, read_answer

MAX_ANSWERS = 30
GIVEN_UP = 30.0
"""Seconds until an answer that does not come counts as an error."""
FINE = ("200", "409")
"""An answer that contradicts the model (409) is the person's own doing."""


@dataclass
class Tally:
    """What all people together met with: seconds of each request, statuses, games played to their end; and seconds of
    requests that nobody had made before, by one who was alone."""

    seconds: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    games: int = 0

    @property
    def requests(self) -> int:
        """All that were made."""
        return sum(self.statuses.values())

    @property
    def errors(self) -> int:
        """Those that were not answered as they should be."""
        return sum(n for status, n in self.statuses.items() if status not in FINE)


class Client:
    """One who asks, on a connection that is kept as long as the server keeps it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._line: Line | None = None

    async def send(
        self, tally: Tally, method: str, path: str, body: Any = None, limit: float = GIVEN_UP
    ) -> bytes | None:
        """What was answered; None where it was refused, or no answer came."""
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        start = time.perf_counter()
        try:
            async with asyncio.timeout(limit):
                self._line = self._line or await asyncio.open_connection("127.0.0.1", self.port)
                reader, writer = self._line
                writer.write(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
                await writer.drain()
                status, told, answer = await read_answer(reader)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            tally.statuses[type(error).__name__] += 1
            await self.close()
            return None
        tally.seconds.append(time.perf_counter() - start)
        tally.statuses[str(status)] += 1
        if "connection: close" in told.lower():
            await self.close()
        return answer if status == 200 else None

    async def next(
        self, tally: Tally, model: str, history: list[dict[str, Any]], limit: float = GIVEN_UP
    ) -> dict[str, Any] | None:
        """What to ask after a history."""
        answer = await self.send(tally, "POST", f"/v1/models/{model}/next", {"history": history}, limit)
        found: dict[str, Any] | None = None if answer is None else json.loads(answer)
        return found

    async def close(self) -> None:
        """End the connection."""
        line, self._line = self._line, None
        await hang_up(line)


def longer(
    history: list[dict[str, Any]], told: dict[str, Any] | None, chance: random.Random
) -> list[dict[str, Any]] | None:
    """The history with an answer at random to what was asked; None where the game is over."""
    question = told and told.get("question")
    if not question or len(history) >= MAX_ANSWERS:
        return None
    return [*history, {"query": question["name"], "answer": _answer(question, chance)}]


def _answer(question: dict[str, Any], chance: random.Random) -> str | None:
    """At random; of a patch, whose parts other patches may have shown already, that it is not known now and then."""
    if question["choices"]:
        return str(chance.choice(question["choices"]))
    patch = question["patch"]
    if patch is None or chance.random() < 0.1:
        return None
    return chance.choice("01") * int(patch["rows"] * patch["columns"])


def own_cpu() -> float:
    """Seconds of processor time that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
