"""One step of ours beside two others: the forward pass of an amortised querier, and the paper's own settings."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.paper_architecture import PaperArchitecture
from infopursuit.models.networks.autoencoder import VAE
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.state import Branches
from infopursuit.strategies.generative.answer_tables import mutual_information
from infopursuit.strategies.generative.langevin import start, target, ula
from infopursuit.strategies.generative.particles import LEAST
from infopursuit.support.types import FloatArray, IntArray

CHAINS, STEPS, KEPT = 256, 67, 47
"""The paper's settings: chains of each class, steps of each, and how many of those are kept."""
TIMES = 5
"""How often a batch is measured; medians are told."""


def forward_seconds(batch: int, times: int = 10) -> float:
    """The median time of one forward pass of the two networks of an amortised querier."""
    generator = torch.Generator().manual_seed(0)
    networks = [_mlp(1568, 1000, 500, n_out) for n_out in (676, 10)]
    inputs = torch.rand((batch, 1568), generator=generator)
    seconds = []
    with torch.no_grad():
        for _ in range(times + 1):
            begin = time.perf_counter()
            for network in networks:
                network(inputs)
            seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds[1:]))


def step_seconds(pursuit: Pursuit[Any], values: IntArray, n_steps: int = 6) -> list[float]:
    """The time of each step of a batch, nothing remembered and nobody stopped: choose, answer, believe. As many inputs
    at a time as the memory limit allows."""
    pursuit.clear_cache()
    rows = pursuit.rows_at_a_time()
    each = [_some_step_seconds(pursuit, values[start : start + rows], n_steps) for start in range(0, len(values), rows)]
    return [float(seconds) for seconds in np.sum(each, axis=0)]


def step_ratios(pursuit: Pursuit[Any], values: IntArray, batch: int = 1_000, times: int = 7) -> dict[str, Any]:
    """Steps of a batch beside `forward_seconds`, in turn. The first step is that of one history, and is left out."""
    step_seconds(pursuit, values[:20])
    timed = [(np.mean(step_seconds(pursuit, values[:batch])[1:]), forward_seconds(batch)) for _ in range(times)]
    return {
        "step_seconds": [float(step) for step, _ in timed],
        "yardstick_seconds": [forward for _, forward in timed],
        "step_to_yardstick": [float(step / forward) for step, forward in timed],
    }


def _some_step_seconds(pursuit: Pursuit[Any], values: IntArray, n_steps: int) -> list[float]:
    state = pursuit.start()
    place = np.zeros(len(values), dtype=np.int64)
    seconds = []
    for _ in range(n_steps):
        begin = time.perf_counter()
        choice = pursuit._choose(state, np.ones(len(state), dtype=bool))
        query = choice.query[place]
        answers = pursuit.queries.answers_of(values, query)
        together, place = np.unique(np.concatenate([place[:, None], answers], axis=1), axis=0, return_inverse=True)
        place, parents = place.ravel(), together[:, 0]
        state = pursuit.absorb(state, Branches(parents, choice.query[parents], together[:, 1:]), state.watch)
        seconds.append(time.perf_counter() - begin)
    return seconds


def paper_step_seconds(n_chains: int = 16, n_patches: int = 2, n_draws: int = 64) -> dict[str, float]:
    """One step at the paper's settings for one input, measured on a fraction and scaled: ten classes, 256 chains each,
    67 unadjusted steps; 12,000 draws of each class decoded; all 512 patterns of 676 patches on all of them."""
    model = VAE((2,) * 784, np.full(10, 0.1), PaperArchitecture(), latent_dim=100)
    generator = torch.Generator().manual_seed(0)
    labels = torch.zeros(n_chains, dtype=torch.int64)
    evidence = np.zeros(1568)
    evidence[1:18:2] = -np.inf  # one patch known
    density = target(model, labels, evidence, LEAST)
    chains = start(model.draw_prior(labels, generator), density)
    chain = _timed(lambda: ula(chains, density, 0.1, generator)) * STEPS * 10 * CHAINS / n_chains
    with torch.no_grad():
        decode = _timed(lambda: model.logits(chains.latents, labels)) * 10 * CHAINS * KEPT / n_chains
    lit = np.random.default_rng(0).random((n_patches, 9, n_draws), dtype=np.float32)

    def patterns() -> FloatArray:
        tables = []
        for pattern in product((0, 1), repeat=9):
            likelihood = np.ones((n_patches, n_draws), dtype=np.float32)
            for w, value in enumerate(pattern):
                likelihood = likelihood * (lit[:, w] if value else 1 - lit[:, w])
            tables.append(likelihood.sum(1))
        return mutual_information(np.stack(tables, axis=1)[..., None])

    every = _timed(patterns) * (676 / n_patches) * (10 * CHAINS * KEPT / n_draws)
    # many more draws at a time are cheaper each: what is scaled is measured where arithmetic dominates
    return {"chains": chain, "decoding": decode, "patterns": every, "total": chain + decode + every}


def compare(pursuit: Pursuit[Any], values: IntArray, say: Callable[[str], None]) -> dict[str, Any]:
    """Ratios of one step of ours to both."""
    n = len(values)
    # the first time compiles, and makes room; then ours and theirs in turn, so that both meet the same noise
    step_seconds(pursuit, values[:20])
    batches, forwards = [], []
    for _ in range(TIMES):
        batches.append(step_seconds(pursuit, values))
        forwards.append(forward_seconds(n))
    batch = [float(seconds) for seconds in np.median(batches, axis=0)]
    alone = [float(s) for s in np.median([step_seconds(pursuit, values[i : i + 1]) for i in range(20)], axis=0)]
    forward, forward_alone = float(np.median(forwards)), forward_seconds(1, 50)
    paper = paper_step_seconds(n_draws=4096)
    later, later_alone = float(np.mean(batch[1:])), float(np.mean(alone[1:]))
    found = {
        "inputs": n,
        "threads": torch.get_num_threads(),
        "batch_step_seconds": batch,
        "batch_ratios": [float(np.mean(b[1:]) / f) for b, f in zip(batches, forwards, strict=True)],
        "single_step_seconds": alone,
        "forward_seconds": forward,
        "forward_seconds_alone": forward_alone,
        "times_forward": later / forward,
        "times_forward_alone": later_alone / forward_alone,
        "paper_step_seconds": paper,
        "times_faster_than_paper": paper["total"] / later_alone,
        "times_faster_than_paper_in_batch": paper["total"] / (later / n),
    }
    say(
        f"steps 2 to 6 of {n} inputs: {1000 * later / n:.2f} ms each, {found['times_forward']:.0f} times the forward "
        f"pass of an amortised querier; alone {1000 * later_alone:.1f} ms, {found['times_forward_alone']:.0f} times"
    )
    say(
        f"the paper's settings: {paper['total'] / 60:.0f} minutes a step (scaled from a fraction), "
        f"{found['times_faster_than_paper']:.0f} times ours alone"
    )
    return found


def _mlp(*sizes: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _timed(work: Callable[[], Any], times: int = 3) -> float:
    work()
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds))
