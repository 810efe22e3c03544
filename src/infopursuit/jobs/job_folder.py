"""The folder of a job: what it is about, its parts, and which of them are finished; what was killed goes on there.

    DIR/traces.parquet/part-000000.parquet   the rows of the first part, and so on: one table in many files
    DIR/.job/job.json                        what the job is about
    DIR/.job/done/000000.json                a part that is finished: how many rows in how many bytes, and a summary

A part counts as finished when its last file, that in ``done``, is there; all files are written beside and renamed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infopursuit.files import sweep_leftovers, write_atomically

HIDDEN = ".job"


@dataclass(frozen=True)
class JobFolder:
    """A folder for a job. traces: the name of what it writes. suffix: of its files; None: as the name has it."""

    folder: Path
    traces: str
    suffix: str | None = None

    def begin(self, about: dict[str, Any], *, again: bool = False) -> bool:
        """Make it the folder of a job, or find that it is; True if there was one to go on with.

        about: all that the result depends on, JSON data. A folder of another job is refused, unless it is to be begun
        again.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file; give a folder for the traces")
        if again and (self.folder / HIDDEN).is_dir():
            shutil.rmtree(self.folder / self.traces, ignore_errors=True)
            shutil.rmtree(self.folder / HIDDEN)
        earlier = self._read(self.plan)
        if earlier is not None and earlier != about:
            other = [name for name in about if earlier.get(name) != about[name]] or ["something"]
            raise ValueError(
                f"{self.folder} holds a job that differs in {' and '.join(other)}; give another folder, or forget it "
                f"(again=True, --again)"
            )
        where = self.folder / self.traces
        if earlier is None and where.exists():
            raise ValueError(f"{where} is there and belongs to no job; remove it, or give another folder")
        where.mkdir(parents=True, exist_ok=True)
        (self.folder / HIDDEN / "done").mkdir(parents=True, exist_ok=True)
        self.sweep()
        if earlier is None:
            write_atomically(self.plan, f"{json.dumps(about, indent=1)}\n".encode())
        return earlier is not None

    def sweep(self) -> None:
        """Remove what killed processes of this machine have left half written."""
        for each in (self.folder / self.traces, self.folder / HIDDEN, self.folder / HIDDEN / "done"):
            sweep_leftovers(each)

    @property
    def plan(self) -> Path:
        """What says what the job is about."""
        return self.folder / HIDDEN / "job.json"

    def part(self, number: int) -> Path:
        """Where the rows of a part go."""
        return self.folder / self.traces / f"part-{number:06d}{self.suffix or Path(self.traces).suffix}"

    def finish(self, number: int, told: dict[str, Any]) -> dict[str, Any]:
        """Say that a part is finished, and what came of it."""
        told = {"number": number, "bytes": self.part(number).stat().st_size, **told}
        write_atomically(self._mark(number), f"{json.dumps(told)}\n".encode())
        return told

    def finished(self, number: int) -> dict[str, Any] | None:
        """What came of a part, or None where it is not finished or no longer whole."""
        told, file = self._read(self._mark(number)), self.part(number)
        if told is None or not file.is_file() or file.stat().st_size != told.get("bytes"):
            return None
        return told

    def all_finished(self, n: int) -> Iterator[dict[str, Any]]:
        """What came of those of n parts that are finished."""
        for number in range(n):
            told = self.finished(number)
            if told is not None:
                yield told

    def _mark(self, number: int) -> Path:
        return self.folder / HIDDEN / "done" / f"{number:06d}.json"

    @staticmethod
    def _read(file: Path) -> dict[str, Any] | None:
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None
