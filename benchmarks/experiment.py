"""What every experiment is given: where results go, how to tell about them, and parts that are not done twice."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import write_result
from infopursuit.support.files import sweep_leftovers, write_atomically

logger = logging.getLogger(__name__)

PARTS = ".parts"
"""Folder, in that of the results, of what is finished of experiments."""


@dataclass(frozen=True)
class Experiment:
    """One run of one recipe.

    name: also that of the file of results. folder: where they go. n_inputs: only so many test inputs, None for all.
    seed: of everything that is drawn. clock: returns seconds.
    """

    name: str
    folder: Path
    n_inputs: int | None = None
    seed: int = 0
    say: Callable[[str], None] = logger.info
    progress: bool | None = None
    clock: Callable[[], float] = field(default=time.perf_counter, compare=False)
    _begin: float = field(default_factory=time.perf_counter, compare=False)
    _earlier: dict[Path, float] = field(default_factory=dict, compare=False)
    """Seconds that parts took which an earlier run has made."""

    def part(self, name: str, settings: Any, make: Callable[[], Any]) -> Any:
        """What ``make`` returns, JSON data, or what it returned in an earlier run with the same settings.

        settings: whatever the result depends on, dataclasses or JSON data; the seed and the number of test inputs
        count always. A run that was stopped goes on at the first part that is missing.
        """
        file = self.file(f"{name.replace(' ', '-')}.json")
        told = json.dumps([self.seed, self.n_inputs, settings], sort_keys=True, default=_plain)
        key = hashlib.sha256(told.encode()).hexdigest()
        kept = _read(file)
        if kept is not None and kept.get("key") == key:
            self.say(f"{name}: kept from {kept['when']}")
            self._earlier.setdefault(file, kept["seconds"])
            return kept["result"]
        begin = self.clock()
        result = json.loads(json.dumps(make(), default=_plain))
        when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        took = round(self.clock() - begin, 1)
        content = {"key": key, "settings": json.loads(told), "when": when, "seconds": took, "result": result}
        file.parent.mkdir(parents=True, exist_ok=True)
        sweep_leftovers(file.parent)
        write_atomically(file, f"{json.dumps(content, indent=1)}\n".encode())
        self._earlier[file] = 0.0
        return result

    def file(self, name: str) -> Path:
        """Where a part may keep something of its own, such as a trained network or a checkpoint."""
        return self.folder / PARTS / self.name / name

    @property
    def seconds(self) -> float:
        """What it took so far, parts that were kept included."""
        return self.clock() - self._begin + sum(self._earlier.values())

    def figure(self, drawn: Any, file: str, about: str, **options: Any) -> dict[str, str]:
        """Save a figure beside the results; returns its entry among the result's ``figures``."""
        from infopursuit.presentation.plots import save

        self.folder.mkdir(parents=True, exist_ok=True)
        save(drawn, self.folder / file, **options)
        return {"file": file, "about": about}

    def finish(self, result: dict[str, Any]) -> dict[str, Any]:
        """Write the result, with what is needed to take it again, and what it took, parts that were kept included."""
        whole = {
            "experiment": self.name,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            **result,
        }
        sweep_leftovers(self.folder)
        only = f" --inputs {self.n_inputs}" if self.n_inputs is not None else ""
        seed = f" --seed {self.seed}" if self.seed else ""
        file = write_result(self.folder, self.name, f"python -m benchmarks.reproduce {self.name}{only}{seed}", whole)
        self.say(f"written to {file}")
        return whole


def _plain(value: Any) -> Any:
    """Settings as JSON data."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{value!r} is no JSON data")


def _read(file: Path) -> dict[str, Any] | None:
    """A kept part; None where there is none, or none that can be read."""
    try:
        content = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    whole = isinstance(content, dict) and content.keys() >= {"key", "when", "seconds", "result"}
    return content if whole else None
