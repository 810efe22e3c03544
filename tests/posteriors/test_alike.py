"""Draws that resemble each other lie next to each other."""

import numpy as np
import pytest
import torch

from banks import banked
from infopursuit.beliefs.particles import Particles
from infopursuit.beliefs.pruned import alike
from infopursuit.models.finite import segments
from quadrature import small_vae


def table_of(n, n_variables, seed=0, dtype=torch.float32):
    """(n, A) what draws look like that differ in a few directions."""
    generator = torch.Generator().manual_seed(seed)
    places, directions = torch.randn((n, 3), generator=generator), torch.randn((3, n_variables), generator=generator)
    return torch.sigmoid(2 * places @ directions).to(dtype)


def spread(table, offsets, size):
    """The mean variance within runs."""
    runs = [table[i : min(i + size, b)] for a, b in segments(offsets) for i in range(a, b, size)]
    return float(sum(len(run) * run.var(dim=0, unbiased=False).sum() for run in runs) / len(table))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_variables", [1, 2, 40])
@pytest.mark.parametrize("size", [1, 7, 24, 96])
def test_every_class_keeps_its_draws_in_another_order(n_variables, size, dtype):
    """Classes of any size: none, one, fewer than a run, whole runs, and one more."""
    offsets = np.cumsum([0, 0, 1, 5, 96, 97, 300])
    table = table_of(int(offsets[-1]), n_variables, dtype=dtype)
    order = alike(table, offsets, size)
    assert order.dtype == np.int64
    for begin, end in segments(offsets):
        assert sorted(order[begin:end].tolist()) == list(range(begin, end))
        if end - begin <= size:
            assert order[begin:end].tolist() == list(range(begin, end))
    assert (order != np.arange(len(order))).mean() > 0.7
    np.testing.assert_array_equal(order, alike(table, offsets, size))


def test_runs_are_alike():
    """Far less spread within runs than in the order in which they were drawn; also where classes look the same."""
    offsets = np.array([0, 500, 1203])
    table = table_of(1203, 40)
    for size in (24, 96):
        order = alike(table, offsets, size)
        by_chance = spread(table, offsets, size)
        assert spread(table[order], offsets, size) < (0.25 if size == 24 else 0.45) * by_chance
        # runs begin where blocks do: shifted by half a run they are less alike
        shifted = np.concatenate([np.roll(order[a:b], size // 2) for a, b in segments(offsets)])
        assert spread(table[shifted], offsets, size) > 1.3 * spread(table[order], offsets, size)


def test_a_cut_is_across_the_direction_in_which_draws_differ_most():
    """Two groups that differ in many variables come apart, whatever else differs a little."""
    generator = torch.Generator().manual_seed(1)
    group = torch.rand(192, generator=generator).argsort() < 96
    table = torch.where(group[:, None], 0.8, 0.2) + 0.05 * torch.rand((192, 30), generator=generator)
    order = alike(table, np.array([0, 192]), 96)
    assert group[order[:96]].all() or not group[order[:96]].any()
    assert group[order[96:]].all() or not group[order[96:]].any()


def test_draws_that_are_all_equal_are_all_kept():
    order = alike(torch.full((100, 5), 0.5), np.array([0, 60, 100]), 8)
    assert sorted(order[:60].tolist()) == list(range(60))
    assert sorted(order[60:].tolist()) == list(range(60, 100))


def test_a_cloud_in_another_order_is_the_same_cloud():
    """Latents, probabilities, weights and families go together."""
    model = small_vae((2,) * 16, 2, seed=1, scale=6.0)
    plain = banked("patches").cloud
    generator = torch.Generator().manual_seed(2)
    log_prior = torch.log_softmax(torch.randn(plain.n_states, generator=generator, dtype=torch.float64), dim=0)
    family = torch.arange(plain.n_states)
    one = Particles(model, plain.latents, plain.offsets, log_prior, family)
    two = Particles(model, plain.latents, plain.offsets, log_prior, family, block=24)
    order = two.family.numpy()
    assert (order != np.arange(len(order))).any()
    assert (order == alike(one.by_state, one.offsets, 24)).all()
    torch.testing.assert_close(two.latents, one.latents[order], rtol=0, atol=0)
    torch.testing.assert_close(two.by_state, one.by_state[order], rtol=0, atol=0)
    torch.testing.assert_close(two.probs, one.probs[:, order], rtol=0, atol=0)
    torch.testing.assert_close(two.log_prior, one.log_prior[order], rtol=0, atol=0)
    np.testing.assert_allclose(two.class_prior, one.class_prior)
