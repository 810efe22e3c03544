"""Fewer states with the same law. Judged in standard errors, with a control that must fail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from infopursuit.pursuit.histories import uniform_of
from infopursuit.pursuit.ranking import resample

WEIGHTS = arrays(
    np.float64, st.integers(1, 40), elements=st.one_of(st.just(0.0), st.floats(1e-9, 1.0), st.sampled_from([5.0, 50.0]))
)
UNIFORMS = st.one_of(st.just(0.0), st.floats(0, 1, exclude_max=True))


def normalised(weights):
    weights = weights if weights.sum() > 0 else np.ones_like(weights)
    return weights / weights.sum()


@given(WEIGHTS, st.integers(1, 45), UNIFORMS)
def test_no_more_than_asked_sorted_and_of_the_same_total(weights, size, uniform):
    weights = normalised(weights)
    states, mass, drawn = resample(weights, size, uniform)
    assert len(states) == len(mass) == len(drawn) <= size
    assert (states[1:] >= states[:-1]).all()
    assert float(mass.sum()) == pytest.approx(1, abs=1e-12)
    assert (mass > 0).all()
    assert (weights[states] > 0).all()
    # what was kept keeps its weight, what was drawn all weighs the same, and no less than before
    np.testing.assert_allclose(mass[~drawn], weights[states[~drawn]], rtol=1e-15)
    if drawn.any():
        step = mass[drawn][0]
        np.testing.assert_allclose(mass[drawn], step)
        assert (weights[states[drawn]] <= step * (1 + 1e-12)).all()
        assert not set(states[drawn].tolist()) & set(states[~drawn].tolist())


@given(WEIGHTS, UNIFORMS)
def test_with_room_for_all_every_state_is_kept(weights, uniform):
    weights = normalised(weights)
    states, mass, drawn = resample(weights, len(weights), uniform)
    np.testing.assert_array_equal(states, np.flatnonzero(weights > 0))
    np.testing.assert_allclose(mass, weights[states], rtol=1e-15)
    assert not drawn.any()


def heaviest(weights, size, uniform):
    """The control: keep the heaviest states and forget the rest, which keeps the total but not the law."""
    states = np.sort(np.argsort(-weights)[:size])
    return states, weights[states] / weights[states].sum(), np.zeros(size, dtype=bool)


def worst_z(scheme, weights, size, n=2000):
    """How many standard errors the mean weight of the worst state is off; states hardly ever drawn count together."""
    rng, true = np.random.default_rng(0), weights
    step = float(resample(weights, size, 0.5)[1].min())  # a light state weighs this much, or nothing
    rare = true * n / step < 10
    mean = np.zeros(len(true))
    for uniform in rng.random(n):
        states, mass, _ = scheme(weights, size, float(uniform))
        np.add.at(mean, states, mass / n)
    off, variance = np.abs(mean - true), np.maximum(true * (step - true), 0)
    z = off / np.sqrt(variance / n + 1e-24)
    z_rare = abs((mean - true)[rare].sum()) / np.sqrt(variance[rare].sum() / n + 1e-24)
    return float(max(z[~rare].max(initial=0), z_rare))


@pytest.mark.parametrize("skew", [0.1, 1.0, 10.0])
def test_every_weight_keeps_its_expectation(skew):
    weights = np.random.default_rng(1).dirichlet(np.full(50, skew))
    assert worst_z(resample, weights, 12) < 4.5
    assert worst_z(heaviest, weights, 12) > 4.5


def test_a_point_on_a_boundary_draws_no_state_of_weight_zero():
    weights = np.array([0.0, 0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    states, _, drawn = resample(weights, 4, 0.0)
    assert 0 not in states.tolist()
    assert states.tolist().count(1) == 1
    assert drawn.sum() == 3


def test_drawing_has_less_than_half_the_variance_of_plain_drawing():
    """Why heavy states are kept: the error of a mean is far below that of drawing every state by its weight."""
    rng = np.random.default_rng(2)
    weights, values = rng.dirichlet(np.full(200, 0.1)), rng.normal(size=200)
    means = []
    for uniform in rng.random(500):
        states, mass, _ = resample(weights, 30, float(uniform))
        means.append(float(mass @ values[states]))
    plain = [values[rng.choice(200, size=30, p=weights)].mean() for _ in range(500)]
    assert np.var(means) < 0.5 * np.var(plain)


def test_the_uniform_depends_on_seed_and_history_only():
    found = {uniform_of(seed, history) for seed in (-1, 0, 1, 2**40) for history in (b"", b"\0", b"\0\0", b"a")}
    assert len(found) == 16
    assert all(0 <= u < 1 for u in found)
    # pinned: the same in every process and every version, or saved traces could not be made again
    assert uniform_of(0, b"") == pytest.approx(0.23479174073963693, abs=1e-15)
    many = np.array([uniform_of(0, i.to_bytes(4, "little")) for i in range(4000)])
    assert abs(many.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 4000)
    assert np.histogram(many, bins=10, range=(0, 1))[0].min() > 320
