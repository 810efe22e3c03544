"""A server in a process of its own, for measurements: started, watched, asked, stopped."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks import environment
from benchmarks.hardening.limits import memory_of

MIB = 2**20
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class Served:
    """A running server: its port, and what the system says of its process."""

    port: int
    process: subprocess.Popen[str]

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def wait_until_ready(self, limit: float = 900.0) -> None:
        """Until all models are loaded."""
        end = time.monotonic() + limit
        while time.monotonic() < end and self.is_alive:
            line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit)
            with contextlib.closing(line), contextlib.suppress(OSError):
                line.request("GET", "/readyz")
                if line.getresponse().status == 200:
                    return
            time.sleep(0.05)
        raise ValueError("the server does not get ready; see above for its reason")

    def cpu_seconds(self) -> float | None:
        """Seconds of processor time that it has used, where the system tells."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, field: str = "VmRSS") -> float | None:
        """MiB in memory now (VmRSS) or at most (VmHWM), where the system tells."""
        found = memory_of(self.process.pid, field)
        return None if found is None else found / MIB


@contextlib.contextmanager
def served(arguments: Sequence[str], errors: IO[str] | None = None) -> Iterator[Served]:
    """``infopursuit serve`` with some arguments on a free port, when all its models are loaded; ``errors``: where its
    stderr goes, else to ours."""
    command = [sys.executable, "-m", "infopursuit", "serve", *arguments, "--port", "0"]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": errors, "text": True, "env": environment()}
    with subprocess.Popen(command, **options) as process:
        try:
            server = Served(_port(process), process)
            server.wait_until_ready()
            yield server
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"open http://127\.0\.0\.1:(\d+)/", line)
        if found:
            return int(found[1])
    raise ValueError("the server did not start; see above for its reason")


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, str, bytes]:
    """(status, head, content) of an answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
    if length is None:
        raise ValueError("an answer without a length")
    content = await reader.readexactly(int(length[1]))
    return int(head.split(" ", 2)[1]), head, content


async def hang_up(line: Line | None) -> None:
    """Close a connection, if there is one."""
    if line is not None:
        line[1].close()
        with contextlib.suppress(OSError):
            await line[1].wait_closed()
