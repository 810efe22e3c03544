"""Units of work on Ray Data: a pool of workers that each load what they need once; one that dies is replaced.

Only the units travel, small JSON texts, and what came of them; inputs are read and traces written by the workers
themselves. Ray gives the units of a worker that died to another one, so a unit may be *done* twice; it must therefore
write under a name of its own, whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from infopursuit.jobs.engines import EXPECTED, Engine, Make, Unit, ray_address

logger = logging.getLogger(__name__)

MOST_BLOCKS = 2_000
"""Of more units than this several travel together, so that Ray has less to keep in mind."""


class Worker:
    """What lives in a process of Ray's."""

    def __init__(self, make: Make, threads: int) -> None:
        threadpool_limits(threads)
        torch.set_num_threads(threads)
        self.problem: list[str] | None = None
        try:
            self.work = make()
        except EXPECTED as error:  # told with the first unit: Ray would start the worker again and again
            self.problem = [type(error).__name__, str(error)]

    def __call__(self, batch: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Units as texts, one after the other."""
        for text in batch["unit"].tolist():
            yield {"unit": [text], "result": [json.dumps(self._one(json.loads(text)))]}

    def _one(self, unit: Unit) -> dict[str, Any]:
        if self.problem is not None:
            return {"problem": self.problem}
        try:
            return {"result": self.work(unit)}
        except EXPECTED as error:
            return {"problem": [type(error).__name__, str(error)]}


def run_on_ray(engine: Engine, make: Make, units: Sequence[Unit]) -> Iterator[tuple[Unit, Any]]:
    """See `Engine.run`."""
    ray = _import_ray()
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with _connected(ray, engine):
        from ray.data import ActorPoolStrategy, DataContext

        context = DataContext.get_current()
        shown, context.enable_progress_bars = context.enable_progress_bars, False
        threads = engine.threads or 1
        free = int(ray.cluster_resources().get("CPU", 1)) // threads
        if free < 1:
            raise ValueError(f"threads={threads} is more than the cluster has cores; give fewer")
        n_workers = min(engine.workers or free, len(units))
        if n_workers > free:
            raise ValueError(
                f"workers={n_workers} with {threads} threads each need {n_workers * threads} cores, and Ray has "
                f"{free * threads}; give at most {free}"
            )
        texts = [{"unit": json.dumps(unit)} for unit in units]
        data = ray.data.from_items(texts, override_num_blocks=min(len(texts), MOST_BLOCKS))
        done = data.map_batches(
            Worker,
            fn_constructor_args=(make, threads),
            batch_size=1,
            compute=ActorPoolStrategy(size=n_workers, max_tasks_in_flight_per_actor=2),
            num_cpus=threads,
        )
        try:
            for row in done.iter_rows():
                told = json.loads(row["result"])
                if "problem" in told:
                    raise _as_error(*told["problem"])
                yield json.loads(row["unit"]), told["result"]
        finally:
            context.enable_progress_bars = shown


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError(f"engine='ray' needs Ray; pip install 'infopursuit[cluster]' ({error})") from None
    return ray


@contextlib.contextmanager
def _connected(ray: Any, engine: Engine) -> Iterator[None]:
    """Connected to a cluster, or to one of this machine that ends with the job; one that is there is left as it is."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # it tells in its own log what the user need not act on
    address = engine.address or ray_address()
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


def _as_error(kind: str, text: str) -> Exception:
    """An error of a worker as one of this process."""
    kinds = {each.__name__: each for each in EXPECTED}
    return kinds.get(kind, ValueError)(text)
