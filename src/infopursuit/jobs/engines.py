"""Where units of work are done: one after the other in this process, or side by side on Ray."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import torch

Unit = dict[str, Any]
"""One piece of work as JSON data: it must fit on any machine."""
Work = Callable[[Unit], Any]
Make = Callable[[], Work]
"""Makes a worker; called once in each, so this is where models are loaded. Ray sends it to its workers."""

ENGINES = ("local", "ray")
EXPECTED = (ValueError, OSError, ImportError, MemoryError, TypeError)
"""What a user can cause, in a worker as anywhere: told as if it had happened here."""

Given = TypeVar("Given")


@dataclass(frozen=True)
class Engine:
    """What works.

    kind: "local", this process, or "ray". workers: processes of Ray; None for as many as it has cores. threads: of
    each of them, None for as many as this process may use ("local") or one ("ray"). address: of a running cluster,
    None for the one that ``RAY_ADDRESS`` names, or else one of this machine alone.
    """

    kind: Literal["local", "ray"] = "local"
    workers: int | None = None
    threads: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in ENGINES:
            raise ValueError(f"engine={self.kind!r} is not known; give {' or '.join(map(repr, ENGINES))}")
        for name in ("workers", "threads"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(f"{name}={value!r} must be a whole number, 1 or more")
        if self.kind == "local" and (self.workers or 1) > 1:
            raise ValueError(f"workers={self.workers} needs engine='ray'; engine='local' is this process alone")
        if self.kind == "local" and self.address is not None:
            raise ValueError(f"address={self.address!r} is that of a cluster; it needs engine='ray'")

    def run(self, make: Make, units: Sequence[Unit]) -> Iterator[tuple[Unit, Any]]:
        """Every unit with what a worker made of it, JSON data, as they are finished: in any order, each once."""
        if not units:
            return
        if self.kind == "ray":
            from infopursuit.jobs.ray_data import run_on_ray

            results = run_on_ray(self, make, units)
        else:
            results = self._run_here(make, units)
        yield from results

    def _run_here(self, make: Make, units: Iterable[Unit]) -> Iterator[tuple[Unit, Any]]:
        before = torch.get_num_threads()
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        try:
            work = make()
            for unit in units:
                yield unit, work(unit)
        finally:
            torch.set_num_threads(before)


def as_engine(engine: Engine | str, **options: Any) -> Engine:
    """An engine, also where only its name is given."""
    if isinstance(engine, Engine):
        if any(value is not None for value in options.values()):
            raise ValueError("give workers, threads and address to the Engine, or the engine by its name")
        return engine
    return Engine(engine, **options)  # type: ignore[arg-type]


def ray_address() -> str | None:
    """Of the cluster that the environment names."""
    return os.environ.get("RAY_ADDRESS") or None
