"""Where units of work run: one after the other in this process, or side by side on Ray.

On Ray only the units travel, and their results; workers read inputs and write traces themselves. The unit of a worker
that died, alone or with its node, is done by another, so a unit may be *done* twice; it must therefore write under a
name of its own, whole or not at all.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from infopursuit.support.checks import one_of, whole_number
from infopursuit.support.threads import thread_limit

logger = logging.getLogger(__name__)

Unit = dict[str, Any]
"""One piece of work as JSON data, with its "number"."""
Work = Callable[[Unit], Any]
Make = Callable[[], Work]
"""Makes a worker, once in each process: this is where models are loaded."""
ENGINES = ("local", "ray")
MAX_RETRIES = 3
"""Of a unit whose worker dies, and of a worker that dies before it begins."""


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
            threads = self.threads or 1
            nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            free = sum(int(node.get("CPU", 0)) // threads for node in nodes)  # a worker is on one node
            n_workers = min(self.workers or max(free, 1), len(units))
            if n_workers > free:
                raise ValueError(
                    f"workers={n_workers} with {threads} threads each need {n_workers * threads} cores, and Ray has "
                    f"{free * threads}; give at most {free}, or fewer threads"
                )
            hire = ray.remote(num_cpus=threads)(Worker).remote
            yield from _dispatch(ray, lambda: hire(make, threads), n_workers, units)


def _dispatch(ray: Any, hire: Callable[[], Any], n_workers: int, units: Sequence[Unit]) -> Iterator[tuple[Unit, Any]]:
    """Give units to workers as they become free; what a worker was doing when it died is given to another.

    A replacement gets nothing until it answers: where a node was lost there may be no core for it, and the workers that
    are left do all the rest.
    """
    waiting, idle, deaths = deque(units), list[Any](), Counter[int | None]()
    busy: dict[Any, tuple[Any, Unit | None]] = {}  # what was promised: by whom, about which unit; None: to be there
    n_left = len(units)
    for _ in range(n_workers):
        worker = hire()
        busy[worker.ready.remote()] = (worker, None)
    while n_left:
        while idle and waiting:
            worker, following = idle.pop(), waiting.popleft()
            busy[worker.work.remote(following)] = (worker, following)
        (done,), _ = ray.wait(list(busy), num_returns=1)
        worker, unit = busy.pop(done)
        which = None if unit is None else unit["number"]
        try:
            result = ray.get(done)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None  # as if it had happened in this process
        except ray.exceptions.RayError as error:  # of the worker, or of its node
            deaths[which] += 1
            if deaths[which] > MAX_RETRIES:
                doing = "starting" if unit is None else f"doing {unit}"
                wrong = f"a worker of Ray died while {doing}, {deaths[which]} times in a row"
                raise RuntimeError(f"{wrong}; has its machine enough memory? ({error})") from None
            waiting.extendleft([] if unit is None else [unit])
            worker = hire()
            busy[worker.ready.remote()] = (worker, None)
            continue
        deaths[which] = 0
        idle.append(worker)
        if unit is not None:
            n_left -= 1
            yield unit, result


class Worker:
    """A process of Ray's: it makes its worker once, then does units."""

    def __init__(self, make: Make, threads: int) -> None:
        self.make, self.threads = make, threads

    def ready(self) -> None:
        """It is there."""

    def work(self, unit: Unit) -> Any:
        """What comes of a unit."""
        return self.made(unit)

    @cached_property
    def made(self) -> Work:
        """Made with the first unit: an error of it is then told as any other."""
        self._limit = thread_limit(self.threads)
        self._limit.__enter__()  # for as long as the process lives
        made = self.make()
        if (torch := sys.modules.get("torch")) is not None:  # it may have been imported only now
            torch.set_num_threads(self.threads)
        return made


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError(f"engine='ray' needs Ray; pip install 'infopursuit[cluster]' ({error})") from None
    logging.getLogger("ray").setLevel(logging.ERROR)
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
