"""How the cost of one step grows with the number of queries, classes, latent states and answers, and what memory it
takes: fitted exponents beside the paper's O(N + |Q| m)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.hardening.limits import forget_peak, memory_of
from infopursuit.models.table import TableModel
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import MaxQueries
from infopursuit.queries import concepts
from infopursuit.strategies.generative.build import generative_pursuit

MEMORY_LIMIT = 2**28
"""Bytes that a step may take in these measurements."""


def scaling(say: Callable[[str], None], *, small: bool = False) -> dict[str, Any]:
    """Seconds of one step over each axis, with the exponent of the best straight line on a log-log plot."""
    plans: dict[str, tuple[Sequence[int], Callable[[int], Pursuit[Any]], int]] = {
        "queries": ((100, 1_000, 10_000) if small else (100, 1_000, 10_000, 100_000), lambda n: _pursuit(n), 1),
        "classes": (
            (2, 20, 100) if small else (2, 10, 100, 1_000),
            lambda n: _pursuit(500, n_classes=n, n_latents=2),
            1,
        ),
        "states": ((10, 100, 1_000) if small else (10, 100, 1_000, 10_000), lambda n: _pursuit(500, n_latents=n), 1),
        "answers": ((1, 10, 50) if small else (1, 10, 100, 300), lambda n: _pursuit(500), 0),
    }
    found: dict[str, Any] = {}
    for axis, (sizes, build, fixed) in plans.items():
        seconds = []
        for size in sizes:
            pursuit = build(size)
            seconds.append(_step_seconds(pursuit, fixed or size))
        # the ends of the axis where overhead no longer hides the work
        slope = float(np.polyfit(np.log(sizes[-3:]), np.log(seconds[-3:]), 1)[0])
        found[axis] = {"sizes": list(sizes), "milliseconds": [1000 * s for s in seconds], "exponent": slope}
        shown = ", ".join(f"{n:,}: {1000 * s:.2f} ms" for n, s in zip(sizes, seconds, strict=True))
        say(f"a step by number of {axis}: {shown} (exponent {slope:.2f})")
    largest = plans["queries"][0][-1]
    found["memory"] = _memory(largest)
    if found["memory"]["peak_bytes"] is not None:
        say(
            f"memory of a step with {largest:,} queries: {found['memory']['peak_bytes'] / 2**20:.0f} MB above the "
            f"model, limit {MEMORY_LIMIT / 2**20:.0f} MB"
        )
    return found


def _pursuit(n_queries: int, n_classes: int = 10, n_latents: int = 20) -> Pursuit[Any]:
    """A made-up model of yes/no answers."""
    rng = np.random.default_rng(0)
    probs = rng.beta(0.5, 0.5, size=(n_classes, n_latents, n_queries)).clip(0.02, 0.98)
    prior = np.full(n_classes, 1 / n_classes)
    model = TableModel(prior, None if n_latents == 1 else np.full((n_classes, n_latents), 1 / n_latents), probs)
    names = [f"q{i}" for i in range(n_queries)]
    stopping = MaxQueries(n_queries)
    return generative_pursuit(model, concepts(names), stopping=stopping, memory_limit=MEMORY_LIMIT)


def _step_seconds(pursuit: Pursuit[Any], n_answers: int) -> float:
    """The median time of looking, choosing and absorbing one answer, after some random answers."""
    rng = np.random.default_rng(1)
    state = pursuit.start()
    order = rng.permutation(len(pursuit.queries))
    for query in order[:n_answers].tolist():
        state = pursuit.absorb(state, pursuit.branch(query, (int(rng.integers(2)),)), state.watch)
    times = []
    for _ in range(5):
        pursuit.clear_cache()
        start = time.perf_counter()
        step = pursuit.propose(state)
        pursuit.absorb(step.state, pursuit.branch(int(step.choice.query[0]), (1,)), step.watch)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def _memory(n_queries: int) -> dict[str, Any]:
    """Peak of the resident memory in one step above what it was before, where the system tells."""
    pursuit = _pursuit(n_queries)
    before = _peak(reset=True)
    _step_seconds(pursuit, 1)
    after = _peak()
    known = before is not None and after is not None
    return {"queries": n_queries, "memory_limit_bytes": MEMORY_LIMIT, "peak_bytes": after - before if known else None}  # type: ignore[operator]


def _peak(reset: bool = False) -> int | None:
    """The highest resident memory so far in bytes; ``reset`` begins anew. None where it is not Linux."""
    if reset:
        forget_peak()
    return memory_of("self", "VmHWM")
