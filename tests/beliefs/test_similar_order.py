"""Draws that resemble each other lie next to each other."""

import numpy as np
import pytest
from scipy.special import expit

from decoded import decoded
from infopursuit.models.finite import segments
from infopursuit.strategies.generative import pruned
from infopursuit.strategies.generative.particles import Particles
from infopursuit.strategies.generative.pruned import similar_order
from quadrature import small_vae


def table_of(n, n_variables, seed=0, dtype="float32"):
    """(n, A) what draws look like that differ in a few directions."""
    rng = np.random.default_rng(seed)
    return expit(2 * rng.normal(size=(n, 3)) @ rng.normal(size=(3, n_variables))).astype(dtype)


def spread(table, offsets, size):
    """The mean variance within runs."""
    runs = [table[i : min(i + size, b)] for a, b in segments(offsets) for i in range(a, b, size)]
    return float(sum(len(run) * run.var(axis=0).sum() for run in runs) / len(table))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_variables", [1, 2, 40])
@pytest.mark.parametrize("size", [1, 7, 24, 96])
def test_every_class_keeps_its_draws_in_another_order(n_variables, size, dtype):
    """Classes of any size: none, one, fewer than a run, whole runs, and one more."""
    offsets = np.cumsum([0, 0, 1, 5, 96, 97, 300])
    table = table_of(int(offsets[-1]), n_variables, dtype=dtype)
    order = similar_order(table, offsets, size)
    assert order.dtype == np.int64
    for begin, end in segments(offsets):
        assert sorted(order[begin:end].tolist()) == list(range(begin, end))
        if end - begin <= size:
            assert order[begin:end].tolist() == list(range(begin, end))
    assert (order != np.arange(len(order))).mean() > 0.5
    np.testing.assert_array_equal(order, similar_order(table, offsets, size))


def test_runs_are_similar_order():
    """Far less spread within runs than in the order in which they were drawn; also where classes look the same."""
    offsets = np.array([0, 500, 1203])
    table = table_of(1203, 40)
    for size in (24, 96):
        order = similar_order(table, offsets, size)
        by_chance = spread(table, offsets, size)
        assert spread(table[order], offsets, size) < (0.25 if size == 24 else 0.45) * by_chance
        # runs begin where blocks do: shifted by half a run they are less alike
        shifted = np.concatenate([np.roll(order[a:b], size // 2) for a, b in segments(offsets)])
        assert spread(table[shifted], offsets, size) > 1.3 * spread(table[order], offsets, size)


def test_a_cut_is_across_the_direction_in_which_draws_differ_most():
    """Two groups that differ in many variables come apart, whatever else differs a little."""
    rng = np.random.default_rng(1)
    group = rng.permutation(192) < 96
    table = np.where(group[:, None], 0.8, 0.2) + 0.05 * rng.random((192, 30))
    order = similar_order(table, np.array([0, 192]), 96)
    assert group[order[:96]].all() or not group[order[:96]].any()
    assert group[order[96:]].all() or not group[order[96:]].any()


def test_draws_that_are_all_equal_are_all_kept():
    order = similar_order(np.full((100, 5), 0.5), np.array([0, 60, 100]), 8)
    assert sorted(order[:60].tolist()) == list(range(60))
    assert sorted(order[60:].tolist()) == list(range(60, 100))


def test_particles_in_another_order_are_the_same_particles():
    """Latents, probabilities, weights and families go together."""
    model = small_vae((2,) * 16, 2, seed=1, scale=6.0)
    plain = decoded("patches").particles
    log_prior = np.log(np.random.default_rng(2).dirichlet(np.ones(plain.n_states)))
    family = np.arange(plain.n_states)
    one = Particles(model, plain.latents, plain.offsets, log_prior, family)
    two = Particles(model, plain.latents, plain.offsets, log_prior, family, block=24)
    order = two.family
    assert (order != np.arange(len(order))).any()
    assert (order == similar_order(one.by_state, one.offsets, 24)).all()
    for mine, other in (
        (two.latents.numpy(), one.latents.numpy()[order]),
        (two.by_state, one.by_state[order]),
        (two.probs, one.probs[:, order]),
        (two.log_prior, one.log_prior[order]),
    ):
        np.testing.assert_allclose(mine, other, rtol=1e-6)
    np.testing.assert_allclose(two.class_prior, one.class_prior)


# ---- the same on every processor ------------------------------------------------------------------------------------

OFFSETS = np.array([0, 500, 1203])


def other_eigenvectors(monkeypatch, rng):
    """LAPACK as another processor may have it: every eigenvector and every column of Q with a sign of its own, and
    the last digits of all products otherwise."""
    qr, eigh = pruned.qr, pruned.eigh

    def signed(columns):
        return columns * rng.choice([-1.0, 1.0], size=columns.shape[1]) * (1 + 1e-15 * rng.normal(size=columns.shape))

    monkeypatch.setattr(pruned, "qr", lambda a: (signed(qr(a)[0]), None))
    monkeypatch.setattr(pruned, "eigh", lambda a: (eigh(a)[0], signed(eigh(a)[1])))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_signs_of_eigenvectors_do_not_matter(dtype, seed, monkeypatch):
    table = table_of(1203, 40, dtype=dtype)
    expected = similar_order(table, OFFSETS, 24)
    other_eigenvectors(monkeypatch, np.random.default_rng(seed))
    np.testing.assert_array_equal(similar_order(table, OFFSETS, 24), expected)


def test_without_fixed_signs_they_would_matter(monkeypatch):
    """The control of the test above."""
    table, found = table_of(1203, 40), set()
    places = pruned._principal_coordinates
    for seed in range(4):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=pruned.DIRECTIONS)
        monkeypatch.setattr(pruned, "_principal_coordinates", lambda rows, signs=signs: places(rows) * signs)
        found.add(similar_order(table, OFFSETS, 24).tobytes())
    assert len(found) > 1


@pytest.mark.parametrize("seed", range(8))
def test_directions_whose_largest_entries_are_opposite_have_a_sign(seed, monkeypatch):
    """A column and its complement: the largest entries of each direction are equal but for their sign and rounding."""
    table = table_of(1203, 20, dtype="float64")
    table = np.concatenate([table, 1 - table], axis=1)
    expected = similar_order(table, OFFSETS, 24)
    other_eigenvectors(monkeypatch, np.random.default_rng(seed))
    np.testing.assert_array_equal(similar_order(table, OFFSETS, 24), expected)


def test_equal_states_keep_their_order():
    """Ties, which any rounding would decide, go to the lower index."""
    table = np.repeat(table_of(50, 12), 6, axis=0)
    order = similar_order(table, np.array([0, 300]), 24)
    for twins in np.argsort(order).reshape(50, 6):
        assert (np.diff(twins) > 0).all()
