"""Where units of work run: one after the other in this process, or side by side on Ray Data.

On Ray only the units travel, small JSON texts, and their results; workers read inputs and write traces themselves. Ray
gives the units of a worker that died to another one, so a unit may be *done* twice; it must therefore write under a
name of its own, whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from infopursuit.checks import one_of, whole_number
from infopursuit.threads import thread_limit

logger = logging.getLogger(__name__)

Unit = dict[str, Any]
"""One piece of work as JSON data."""
Work = Callable[[Unit], Any]
Make = Callable[[], Work]
"""Makes a worker, once in each process: this is where models are loaded."""
ENGINES = ("local", "ray")
EXPECTED = (ValueError, OSError, ImportError, MemoryError, TypeError)
"""Errors that a user can cause; those of a worker are raised again in this process."""
MAX_BLOCKS = 2_000
"""Blocks of a Ray data set; several units share one where there are more."""


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
        one_of(self.kind, "engine", ENGINES)
        for name in ("workers", "threads"):
            if getattr(self, name) is not None:
                whole_number(getattr(self, name), name, 1)
        if self.kind == "local" and (self.workers or 1) > 1:
            raise ValueError(f"workers={self.workers} needs engine='ray'; engine='local' is this process alone")
        if self.kind == "local" and self.address is not None:
            raise ValueError(f"address={self.address!r} is that of a cluster; it needs engine='ray'")

    def run(self, make: Make, units: Sequence[Unit]) -> Iterator[tuple[Unit, Any]]:
        """Every unit with what a worker made of it, JSON data, as they are finished: in any order, each once."""
        if units:
            yield from self._run_on_ray(make, units) if self.kind == "ray" else self._run_here(make, units)

    def _run_here(self, make: Make, units: Sequence[Unit]) -> Iterator[tuple[Unit, Any]]:
        with thread_limit(self.threads):
            work = make()
            for unit in units:
                yield unit, work(unit)

    def _run_on_ray(self, make: Make, units: Sequence[Unit]) -> Iterator[tuple[Unit, Any]]:
        ray = _import_ray()
        with _connected(ray, self):
            context = ray.data.DataContext.get_current()
            shown, context.enable_progress_bars = context.enable_progress_bars, False
            threads = self.threads or 1
            free = int(ray.cluster_resources().get("CPU", 1)) // threads
            if free < 1:
                raise ValueError(f"threads={threads} is more than the cluster has cores; give fewer")
            n_workers = min(self.workers or free, len(units))
            if n_workers > free:
                raise ValueError(
                    f"workers={n_workers} with {threads} threads each need {n_workers * threads} cores, and Ray has "
                    f"{free * threads}; give at most {free}"
                )
            texts = [{"unit": json.dumps(unit)} for unit in units]
            data = ray.data.from_items(texts, override_num_blocks=min(len(texts), MAX_BLOCKS))
            done = data.map_batches(
                Worker,
                fn_constructor_args=(make, threads),
                batch_size=1,
                compute=ray.data.ActorPoolStrategy(size=n_workers, max_tasks_in_flight_per_actor=2),
                num_cpus=threads,
            )
            try:
                for row in done.iter_rows():
                    told = json.loads(row["result"])
                    if "problem" in told:
                        kind, text = told["problem"]
                        raise {each.__name__: each for each in EXPECTED}.get(kind, ValueError)(text)
                    yield json.loads(row["unit"]), told["result"]
            finally:
                context.enable_progress_bars = shown


class Worker:
    """A process of Ray's: it makes its worker once, then does units."""

    def __init__(self, make: Make, threads: int) -> None:
        self._limit = thread_limit(threads)
        self._limit.__enter__()  # for as long as the process lives
        self.problem: list[str] | None = None
        try:
            self.work = make()
        except EXPECTED as error:  # told with the first unit: Ray would start the worker again and again
            self.problem = [type(error).__name__, str(error)]
        if (torch := sys.modules.get("torch")) is not None:  # it may have been imported only now
            torch.set_num_threads(threads)

    def __call__(self, batch: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for text in batch["unit"].tolist():
            yield {"unit": [text], "result": [json.dumps(self._one(json.loads(text)))]}

    def _one(self, unit: Unit) -> dict[str, Any]:
        if self.problem is not None:
            return {"problem": self.problem}
        try:
            return {"result": self.work(unit)}
        except EXPECTED as error:
            return {"problem": [type(error).__name__, str(error)]}


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError(f"engine='ray' needs Ray; pip install 'infopursuit[cluster]' ({error})") from None
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return ray


@contextlib.contextmanager
def _connected(ray: Any, engine: Engine) -> Iterator[None]:
    """Connect to a cluster, or start one on this machine that ends with the job; a connection is left as it is."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # it tells in its own log what the user need not act on
    address = engine.address or os.environ.get("RAY_ADDRESS") or None
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        cores = None if engine.workers is None else engine.workers * (engine.threads or 1)
        options |= {"num_cpus": cores, "include_dashboard": False, "address": "local"}
    else:
        options["address"] = address
    try:
        ray.init(**options)
    except ConnectionError as error:
        raise ConnectionError(f"no cluster answers at address={address!r}: {error}") from None
    logger.info("Ray with %s", ray.cluster_resources())
    try:
        yield
    finally:
        ray.shutdown()
