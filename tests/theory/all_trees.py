"""Every decision tree of a tiny world, one by one, and what it is worth: no dynamic programming, no sets of bits.

A tree is None (stop) or (query, {answer: tree}). It reads only the table of `enumerator.Truth` and its answers.
"""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from enumerator import entropy, mutual_information
from worlds import Given, World

TINY = ("yes_no", "thresholds", "categorical", "patches", "hidden")


def tiny_world(seed, *, zeros=None, n_classes=None):
    """A world of two or three queries: about all its trees (33 to 1,068) something can be said one by one."""
    rng = np.random.default_rng(seed)
    kind = TINY[seed % len(TINY)]
    queries = {
        "yes_no": lambda: Given(list("abc"), [2, 2, 2], [[0], [1], [2]]),
        "thresholds": lambda: Given(
            [">0", ">1", ">2"], [4], [[0], [0], [0]], [[[0, 1, 1, 1]], [[0, 0, 1, 1]], [[0, 0, 0, 1]]]
        ),
        "categorical": lambda: Given(list("abc"), [3, 2, 2], [[0], [1], [2]]),
        "patches": lambda: Given(["left", "right"], [2, 2, 2], [[0, 1], [1, 2]]),
        "hidden": lambda: Given(list("ab"), [2, 2, 2], [[0], [2]]),  # nothing asks about variable 1
    }[kind]()
    zeros = seed % 3 == 0 if zeros is None else zeros
    n_classes = int(rng.integers(2, 4)) if n_classes is None else n_classes
    n_latents = int(rng.integers(1, 4))
    prior = rng.dirichlet(np.ones(n_classes))
    latent = rng.dirichlet(np.ones(n_latents), size=n_classes)
    probs = [rng.dirichlet(np.ones(size), size=(n_classes, n_latents)) for size in queries.variables.sizes]
    if zeros:
        for table in probs:
            table[rng.random(table.shape[:2]) < 0.4] = np.eye(table.shape[2])[rng.integers(table.shape[2])]
    return World(prior, latent, probs, queries)


@dataclass(frozen=True)
class Leaf:
    """Where a tree stops: the assignments left, the queries asked on the way."""

    rows: tuple
    asked: tuple


@dataclass(frozen=True)
class Worth:
    length: float
    divergence: float  # E[KL(p(Y | X) || p(Y | leaf))]
    leaves: tuple


def all_trees(truth):
    """Every tree with what it is worth."""
    table = truth.joint.sum(axis=1).T  # (assignments, C)
    rows = tuple(n for n in range(len(table)) if table[n].sum() > 0)
    for leaves in _trees(truth, Leaf(rows, ())):
        length = sum(table[list(leaf.rows)].sum() * len(leaf.asked) for leaf in leaves)
        divergence = sum(_divergence(table, n, leaf.rows) for leaf in leaves for n in leaf.rows)
        yield Worth(length, divergence, leaves)


def _trees(truth, leaf):
    yield (leaf,)
    for query in range(len(truth.queries.names)):
        if query in leaf.asked:
            continue
        parts = {}
        for n in leaf.rows:
            parts.setdefault(truth.answers[query][n], []).append(n)
        below = [
            list(_trees(truth, replace(leaf, rows=tuple(part), asked=(*leaf.asked, query)))) for part in parts.values()
        ]
        for chosen in itertools.product(*below):
            yield tuple(itertools.chain.from_iterable(chosen))


def _divergence(table, n, rows):
    """p(x) KL(p(Y | x) || p(Y | x in rows))."""
    mass = table[list(rows)].sum(axis=0)
    here, there = table[n] / table[n].sum(), mass / mass.sum()
    return table[n].sum() * sum(p * math.log(p / q) for p, q in zip(here, there, strict=True) if p > 0)


def may_stop(truth, leaf, rule, epsilon):
    """Whether a rule lets a tree stop at a leaf; also where no query tells its assignments apart."""
    table = truth.joint.sum(axis=1).T[list(leaf.rows)]
    posterior = table.sum(axis=0) / table.sum()
    answers = [[truth.answers[query][n] for n in leaf.rows] for query in range(len(truth.queries.names))]
    if all(len(set(said)) == 1 for said in answers):
        return True
    if rule == "confidence":
        return max(posterior) >= 1 - epsilon - 1e-12
    if rule == "within":
        left = entropy(posterior) - sum(row.sum() / table.sum() * entropy(row / row.sum()) for row in table)
        return left <= epsilon + 1e-12
    gains = []
    for said in answers:
        parts = {}
        for answer, row in zip(said, table, strict=True):
            parts[answer] = parts.get(answer, 0) + row
        gains.append(mutual_information(np.array(list(parts.values())) / table.sum()))
    return max(gains) <= epsilon + 1e-12
