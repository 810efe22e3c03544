"""Small worlds of decoded yes/no particles, believed twice: by pruned enumeration, and exactly."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

import infopursuit as ip
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies import Exact
from infopursuit.strategies.generative.particles import Particles
from infopursuit.strategies.generative.pruned import PrunedBelief
from infopursuit.support.types import UNKNOWN
from quadrature import cells_of, small_vae, updated
from worlds import Given

SIZES = (150, 260, 97)
"""Draws of each class: neither equal nor whole blocks."""
ALONE = [[a] for a in range(16)]
PATCHES = ip.queries.patches((4, 4), size=2).query_variables.tolist()
NINES = ip.queries.patches((4, 4), size=3).query_variables.tolist()
OF_ALL_WIDTHS = [[5], [0, 1], [2, 7, 3], [4, 5, 8, 9], [6], NINES[3], [15, 0], [14], NINES[0], [13, 12, 11]]


def asking(variables):
    """Queries about some of 16 yes/no variables, padded."""
    width = max(len(query) for query in variables)
    padded = [[*query, *[UNKNOWN] * (width - len(query))] for query in variables]
    return Given([f"q{i}" for i in range(len(variables))], [2] * 16, padded)


QUERIES = {name: asking(a) for name, a in
           {"alone": ALONE, "patches": PATCHES, "nines": NINES, "all widths": OF_ALL_WIDTHS}.items()}  # fmt: skip


@dataclass(frozen=True)
class Decoded:
    """Particles and queries about them."""

    particles: Particles
    queries: QuerySet

    @cached_property
    def pruned(self):
        return PrunedBelief(self.particles, self.queries)

    @cached_property
    def exact(self):
        return Exact(self.particles, self.queries)

    def inputs(self, rng, n, *, unknown=0.0):
        """(n, A) values: most drawn from the model, every fourth from anywhere; some of them not known."""
        states = rng.choice(self.particles.n_states, size=n, p=np.exp(self.particles.log_prior))
        values = (rng.random((n, 16)) < self.particles.by_state[states]).astype(np.int64)
        values[::4] = rng.integers(2, size=values[::4].shape)
        return np.where(rng.random(values.shape) < unknown, UNKNOWN, values)

    def history(self, x, queries):
        """What one input (A,) answers."""
        answers = self.queries.answers_of(np.tile(x, (len(queries), 1)), np.asarray(queries, dtype=np.int64))
        return [(int(q), tuple(row.tolist())) for q, row in zip(queries, answers, strict=True)]


def decoded(kind="patches", sizes=SIZES, seed=1, scale=6.0, block=None, prior=None):
    """Draws of a small VAE; ``scale`` says how steep its decoder is."""
    model = small_vae((2,) * 16, 2, seed=seed, scale=scale)
    if prior is not None:
        model = model.with_class_prior(prior)
    labels = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    latents = model.draw_prior(labels, torch.Generator().manual_seed(seed))
    with np.errstate(divide="ignore"):
        log_prior = np.repeat(np.log(model.class_prior) - np.log(sizes), sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Decoded(Particles(model, latents, offsets, log_prior, block=block), QUERIES[kind])


def longer(belief, b, history):
    """One history that is longer by some answers."""
    for query, answer in history:
        b = updated(belief, b, [0], [query], [cells_of(answer, belief.queries.width)])
    return b
