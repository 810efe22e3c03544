"""Runs the code of a page of the documentation from top to bottom, and says what it printed.

A block ```` ```python ```` is run in one namespace with those before it, a block ```` ```sh ```` by a shell in which
``infopursuit`` is the package under test. A block ```` ```text ```` right below either is what it prints, where a line
of three dots stands for any lines. ``<!-- about -->`` between the two says that networks were trained: the last digits
of what they predict, and with them the questions, depend on the processor. A server is started and stopped again at the
end of the page; it listens on a port that is free instead of the one that the page names.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import isolated

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ABOUT = "<!-- about -->"
"""Between a block and what it prints where that is not the same on every processor."""
PORT = "8000"
"""What pages call the port of a server."""
TIME = 120
"""Seconds that one command may take."""


@dataclass(frozen=True)
class Ran:
    """A block, what it printed, what the page says that it prints (None: nothing is said), and where that stands."""

    code: str
    printed: str
    said: str | None
    place: tuple[int, int] | None
    about: bool = False

    @property
    def true(self) -> bool:
        """Whether the page says what was printed, and nothing where nothing was."""
        if self.said is None:
            return not self.printed.strip()
        return resembles(self.said, self.printed) if self.about else agrees(self.said, self.printed)


def run(page: Path, folder: Path) -> list[Ran]:
    """Every block of a page, run in a folder."""
    text = page.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    names: dict[str, Any] = {"__name__": page.stem}
    with contextlib.ExitStack() as servers:
        done = list(_run(page, folder, text, blocks, names, servers))
    return done


def run_alone(page: Path, folder: Path) -> list[Ran]:
    """The same in a process of its own, in the folder: what the code changes stays there."""
    code = """
import json, sys
from dataclasses import asdict
from pathlib import Path
import pages

ran = pages.run(Path(sys.argv[1]), Path.cwd())
print(json.dumps([asdict(each) for each in ran]))
"""
    printed = isolated.run_alone(code, page, folder=folder)
    return [Ran(**values) for values in json.loads(printed.splitlines()[-1])]


def _run(
    page: Path,
    folder: Path,
    text: str,
    blocks: list[re.Match[str]],
    names: dict[str, Any],
    servers: contextlib.ExitStack,
) -> Iterator[Ran]:
    port = _free_port()
    for i, block in enumerate(blocks):
        kind, code = block.groups()
        if kind == "text":
            continue
        following = blocks[i + 1] if i + 1 < len(blocks) else None
        between = text[block.end() : following.start()].strip() if following else ""
        below = following is not None and following[1] == "text" and between in ("", ABOUT)
        if kind == "python":
            printed = _python(code.replace(PORT, port), page, names)
        elif code.startswith("infopursuit serve"):
            printed = servers.enter_context(_serving(code.replace(PORT, port), folder))
        else:
            printed = _shell(code, folder)
        said = following[2] if below and following else None
        place = following.span(2) if below and following else None
        yield Ran(code, printed.replace(port, PORT), said, place, bool(below and between))


def agrees(said: str, printed: str) -> bool:
    """Whether what is said is what is printed; a line of three dots stands for any lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", _bare(said), flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*?".join(parts), _bare(printed)) is not None


def resembles(said: str, printed: str) -> bool:
    """Whether the first line and the last are the same but for numbers."""
    ends = [
        [re.sub(r"\d[\d.,]*", "#", line) for line in (lines[0], lines[-1])]
        for lines in (_bare(text).splitlines() for text in (said, printed))
    ]
    return ends[0] == ends[1]


def _bare(text: str) -> str:
    """Without empty lines around and spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def _python(code: str, page: Path, names: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, str(page), "exec", dont_inherit=True), names)
    return out.getvalue()


@contextlib.contextmanager
def _serving(code: str, folder: Path) -> Iterator[str]:
    """A server that runs meanwhile; what it printed before it was ready."""
    command = [sys.executable, "-u", "-m", *shlex.split(code)]
    server = subprocess.Popen(
        command, cwd=folder, env=_environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert server.stdout is not None
        printed = []
        for line in server.stdout:
            printed.append(line)
            if "http://" in line:
                break
        yield "".join(printed)
    finally:
        server.terminate()
        server.communicate(timeout=TIME)


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def _environment(folder: Path) -> dict[str, str]:
    """Of a shell in which ``infopursuit`` is the package under test."""
    place = folder / ".bin"
    if not place.exists():
        place.mkdir()
        command = place / "infopursuit"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m infopursuit "$@"\n')
        command.chmod(0o755)
    source = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    path = os.pathsep.join([str(place), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": source, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"}


def _shell(code: str, folder: Path) -> str:
    done = subprocess.run(
        ["sh", "-e", "-c", code],
        cwd=folder,
        env=_environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        timeout=TIME,
        check=False,
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}"
    return done.stdout


def renew(page: Path) -> None:
    """Write what the blocks print now into the page; what has lines of three dots is left."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        done = run(page, Path(folder))
    text = page.read_text(encoding="utf-8")
    for ran in reversed(done):
        if ran.place is not None and "\n...\n" not in f"\n{ran.said}":
            text = text[: ran.place[0]] + _bare(ran.printed) + text[ran.place[1] :]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":  # python tests/pages.py docs/concepts.md
    for name in sys.argv[1:]:
        renew(Path(name).resolve())
