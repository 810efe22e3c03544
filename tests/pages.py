"""Runs the code of a page of the documentation from top to bottom, and says what it printed.

A block ```` ```python ```` is run in one namespace with those before it, a block ```` ```sh ```` by a shell in which
``infopursuit`` is the package under test. A block ```` ```text ```` right below either is what it prints, where a line
of three dots stands for any lines.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIME = 120
"""Seconds that one command may take."""


@dataclass(frozen=True)
class Ran:
    """A block, what it printed, what the page says that it prints (None: nothing is said), and where that stands."""

    code: str
    printed: str
    said: str | None
    place: tuple[int, int] | None


def run(page: Path, folder: Path) -> list[Ran]:
    """Every block of a page, run in a folder."""
    text = page.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    names: dict[str, Any] = {"__name__": page.stem}
    done = []
    for i, block in enumerate(blocks):
        kind, code = block.groups()
        if kind == "text":
            continue
        following = blocks[i + 1] if i + 1 < len(blocks) else None
        below = following is not None and following[1] == "text" and not text[block.end() : following.start()].strip()
        printed = _python(code, page, names) if kind == "python" else _shell(code, folder)
        said = following[2] if below else None
        done.append(Ran(code, printed, said, following.span(2) if below else None))
    return done


def agrees(said: str, printed: str) -> bool:
    """Whether what is said is what is printed; a line of three dots stands for any lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", _bare(said), flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*?".join(parts), _bare(printed)) is not None


def _bare(text: str) -> str:
    """Without empty lines around and spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def _python(code: str, page: Path, names: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, str(page), "exec"), names)
    return out.getvalue()


def _shell(code: str, folder: Path) -> str:
    place = folder / ".bin"
    if not place.exists():
        place.mkdir()
        command = place / "infopursuit"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m infopursuit "$@"\n')
        command.chmod(0o755)
    source = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    path = os.pathsep.join([str(place), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": source, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"}
    done = subprocess.run(
        ["sh", "-e", "-c", code],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        timeout=TIME,
        check=False,
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}"
    return done.stdout
