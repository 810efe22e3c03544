"""The grid that stands for the truth about small VAEs: against naive loops, and against a finer grid."""

import itertools
import math

import numpy as np
import pytest
import torch

from enumerator import mutual_information
from quadrature import REACH, Known, grid, mixed, on_grid, pixels, small_vae, yes_no

MAKERS = {"yes/no": yes_no, "mixed": mixed, "pixels": pixels}


def naive_probs(model, z, c):
    """P(value | z, c) for each variable, from the decoder: one logit for yes/no, else one for each value."""
    with torch.no_grad():
        logits = model.logits(torch.tensor([z], dtype=model.dtype), torch.tensor([c]))[0].tolist()
    found = []
    for size in model.variables.sizes:
        if size == 2:
            yes = 1 / (1 + math.exp(-logits.pop(0)))
            found.append([1 - yes, yes])
        else:
            weights = [math.exp(logits.pop(0)) for _ in range(size)]
            found.append([w / sum(weights) for w in weights])
    return found


def naive_joint(known, history, query, n):
    """(answers to a query, C) p(history, answer, y), point by point of a grid and value by value of every variable."""
    model, queries = known.model, known.queries
    line = np.linspace(-REACH, REACH, n)
    total = sum(math.exp(-sum(x * x for x in z) / 2) for z in itertools.product(line, repeat=model.latent_dim))
    limits = [int(k) for k in queries.n_cells[query][queries.query_variables[query] >= 0]]
    answers = list(itertools.product(*map(range, limits)))
    table = np.zeros((len(answers), model.n_classes))
    for c, z in itertools.product(range(model.n_classes), itertools.product(line, repeat=model.latent_dim)):
        probs = naive_probs(model, z, c)
        weight = model.class_prior[c] * math.exp(-sum(x * x for x in z) / 2) / total
        for i, answer in enumerate(answers):
            p = weight
            left = [set(range(size)) for size in model.variables.sizes]
            for q, said in [*history, (query, answer)]:
                for w, cell in enumerate(said):
                    variable = int(queries.query_variables[q][w])
                    left[variable] &= {v for v in left[variable] if queries.query_cells[q][w][v] == cell}
            for variable, values in enumerate(left):
                p *= sum(probs[variable][v] for v in values)
            table[i, c] += p
    return table


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_grid_is_the_naive_sum_over_its_points(make):
    n = 7
    known = make(1, seed=3)
    known = Known(known.model, known.queries, n)
    history = known.history([3, 0, 1], seed=1)
    for k, query in ((0, 2), (3, 2)):
        table = naive_joint(known, history[:k], query, n)
        np.testing.assert_allclose(np.exp(known.log_joint(history[:k])), table.sum(axis=0), rtol=1e-5)
        np.testing.assert_allclose(known.class_probs(history[:k]), table.sum(axis=0) / table.sum(), rtol=1e-5)
        assert known.gains(history[:k])[query] == pytest.approx(mutual_information(table / table.sum()), rel=1e-4)


@pytest.mark.parametrize("latent_dim", [1, 2])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_finer_grid_changes_nothing_that_matters(make, latent_dim):
    known = make(latent_dim, seed=1)
    finer = Known(known.model, known.queries, {1: 1601, 2: 151}[latent_dim])
    history = known.history([2, 0, 3, 1], seed=2)
    for k in (0, 2, 4):
        np.testing.assert_allclose(known.log_joint(history[:k]), finer.log_joint(history[:k]), rtol=0, atol=3e-3)
    assert np.nanmax(np.abs(known.gains(history[:2]) - finer.gains(history[:2]))) < 1e-3


@pytest.mark.parametrize("latent_dim", [1, 2])
def test_the_weights_are_those_of_a_standard_normal(latent_dim):
    latents, weights = grid(latent_dim)
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(weights @ latents, 0, atol=1e-12)
    np.testing.assert_allclose((latents.T * weights) @ latents, np.eye(latent_dim), atol=2e-4)


def test_answers_depend_on_each_other_given_the_label():
    """Else a naive Bayes model would do as well, and no sampler would be put to the test."""
    world = on_grid(small_vae((2,) * 6, 2, seed=5), yes_no().queries)
    p = np.stack([table[:, :, 1] for table in world.probs], axis=-1)  # (C, Z, A)
    weights = world.latent[0]
    mean = weights @ p  # (C, A)
    spread = np.sqrt(weights @ (p - mean[:, None]) ** 2)
    assert spread.max() > 0.3
