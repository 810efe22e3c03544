"""Joint tables and the mutual information in them: against sums written out term by term."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import enumerator
import infopursuit as ip
from infopursuit.strategies import MutualInformation, entropy, mutual_information
from infopursuit.strategies.generative.answer_tables import (
    condition,
    part_gains,
    partial_products,
    pattern_joint,
    value_joint,
)
from infopursuit.strategies.generative.gains import FiniteGains

SEEDS = st.integers(0, 2**32 - 1)
WEIGHTS = st.one_of(st.just(0.0), st.floats(1e-12, 1.0), st.sampled_from([1e-300, 1e-30, 1.0]))


@st.composite
def tables(draw):
    """P(answer, y) with zeros, tiny and large entries, not all of them zero."""
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 5)))
    table = draw(arrays(np.float64, shape, elements=WEIGHTS))
    assume(table.sum() > 1e-6)
    return table


@given(tables())
def test_gain_is_the_mutual_information(table):
    truth = enumerator.mutual_information(table / table.sum())
    assert float(mutual_information(table)) == pytest.approx(truth, abs=1e-12)


@given(tables())
def test_gain_lies_between_zero_and_both_entropies(table):
    p = table / table.sum()
    found = float(mutual_information(table))
    assert found >= 0
    assert found <= min(enumerator.entropy(p.sum(0)), enumerator.entropy(p.sum(1))) + 1e-12


@given(tables(), st.randoms(use_true_random=False))
def test_gain_does_not_care_about_names_or_scale(table, random):
    rows, columns = list(range(table.shape[0])), list(range(table.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    found = float(mutual_information(table))
    assert float(mutual_information(table[rows][:, columns])) == pytest.approx(found, abs=1e-12)
    assert float(mutual_information(7 * table)) == pytest.approx(found, abs=1e-12)
    assert float(mutual_information(table.T.copy())) == pytest.approx(found, abs=1e-12)


@given(tables())
def test_joining_answers_never_gains(table):
    """Data processing: an answer that tells less apart tells no more."""
    assume(len(table) > 1)
    coarse = np.concatenate([table[:1] + table[1:2], table[2:]])
    assert float(mutual_information(coarse)) <= float(mutual_information(table)) + 1e-12


def test_gain_of_independent_and_of_determined_answers():
    assert float(mutual_information(np.array([[0.1, 0.3], [0.15, 0.45]]))) == pytest.approx(0, abs=1e-15)
    assert float(mutual_information(np.eye(4))) == pytest.approx(math.log(4))
    batch = np.stack([np.eye(2), np.ones((2, 2))])
    np.testing.assert_allclose(mutual_information(batch), [math.log(2), 0], atol=1e-15)


@given(arrays(np.float64, st.integers(1, 6), elements=WEIGHTS))
def test_entropy(p):
    assume(p.sum() > 1e-6)
    p = p / p.sum()
    found = float(entropy(p))
    assert found == pytest.approx(enumerator.entropy(p), abs=1e-12)
    assert found <= math.log(len(p)) + 1e-12


# ---- one variable at a time ------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5).filter(lambda sizes: sum(sizes) > 0), SEEDS)
def test_value_joint_sums_over_the_states_of_each_class(per_class, seed):
    """Classes of like and of unlike size, empty ones too."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(per_class)])
    weights, probs = rng.random((3, offsets[-1])), rng.random((5, offsets[-1]))
    found = value_joint(weights, probs, offsets)
    assert found.shape == (3, 5, len(per_class))
    for c, (a, b) in enumerate(itertools.pairwise(offsets.tolist())):
        np.testing.assert_allclose(found[:, :, c], weights[:, a:b] @ probs[:, a:b].T, atol=1e-13)


@given(SEEDS)
def test_condition_is_bayes_on_one_variable(seed):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(4) / 3, size=6).T * (rng.random((4, 6)) < 0.7)
    left = rng.random(4) < 0.6
    found = condition(probs, np.where(left, 0.0, -np.inf))
    for s in range(6):
        total = probs[left, s].sum()
        np.testing.assert_allclose(found[:, s], np.where(left, probs[:, s] / total, 0) if total > 0 else 0, atol=1e-14)


@given(st.lists(st.integers(2, 4), min_size=1, max_size=5), SEEDS)
def test_part_gains_are_gains_of_each_part(sizes, seed):
    rng = np.random.default_rng(seed)
    label = rng.dirichlet(np.ones(3), size=2)  # (H, C)
    given_label = [rng.dirichlet(np.ones(k), size=(2, 3)) for k in sizes]  # (H, C, k)
    joint = np.concatenate([(p * label[:, :, None]).transpose(0, 2, 1) for p in given_label], axis=1)
    found = part_gains(3.0 * joint, np.array(sizes))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for h in range(2):
        for p in range(len(sizes)):
            truth = enumerator.mutual_information(joint[h, starts[p] : starts[p + 1]])
            assert found[h, p] == pytest.approx(truth, abs=1e-13)


# ---- several variables at a time -------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=6),
    st.lists(st.integers(0, 3), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_every_pattern_is_the_sum_of_products_over_the_states(sizes, per_class, seed):
    """Variables of any numbers of cells, classes of any numbers of states, none of them among them."""
    rng = np.random.default_rng(seed)
    n = sum(per_class)
    if n == 0:
        per_class, n = [*per_class, 1], 1
    weights, cells = (
        rng.random(n),
        [rng.dirichlet(np.ones(k), size=(2, n)).transpose(0, 2, 1) for k in sizes],
    )  # (Q, K_w, M)
    ends = np.cumsum(per_class).tolist()
    bounds = list(zip([0, *ends[:-1]], ends, strict=True))
    found = pattern_joint(weights, cells, bounds)
    assert found.shape == (2, np.prod(sizes), len(per_class))
    picked = list(itertools.product(*map(range, sizes)))
    for i in np.unique(rng.integers(len(picked), size=20)):
        for q, (c, (a, b)) in itertools.product(range(2), enumerate(bounds)):
            truth = sum(weights[m] * np.prod([cells[w][q, v, m] for w, v in enumerate(picked[i])]) for m in range(a, b))
            assert found[q, i, c] == pytest.approx(truth, abs=1e-14)
    np.testing.assert_allclose(found.sum(axis=1), [[weights[a:b].sum() for a, b in bounds]] * 2, atol=1e-12)


def test_the_last_variable_runs_fastest():
    one = np.array([[[0.1], [0.9]]])
    two = np.array([[[0.2], [0.3], [0.5]]])
    np.testing.assert_allclose(partial_products([one, two])[0, :, 0], [0.02, 0.03, 0.05, 0.18, 0.27, 0.45])


# ---- one state a class: the short way --------------------------------------------------------------------------------


def naive_bayes(n_classes=7, n_variables=15, seed=0):
    rng = np.random.default_rng(seed)
    table = rng.uniform(0.02, 0.98, (n_classes, n_variables))
    table[0, :3], table[1, :3] = (0.0, 1.0, 1.0), (1.0, 0.0, 1.0)  # certain answers have no entropy, and no NaN
    return ip.models.TableModel(rng.dirichlet(np.ones(n_classes)), None, table)


QUERIES = ip.queries.concepts([f"a{i}" for i in range(15)])


def test_it_asks_the_same_questions_with_the_same_gains(monkeypatch):
    model, values = naive_bayes(), np.random.default_rng(1).integers(0, 2, (60, 15))
    stopping = ip.InformationGain(1e-3) | ip.MaxQueries(12)
    quick = ip.generative_pursuit(model, QUERIES, stopping=stopping).run_values(values)
    monkeypatch.setattr(FiniteGains, "_one_state", None)
    plain = ip.generative_pursuit(model, QUERIES, stopping=stopping).run_values(values)
    np.testing.assert_array_equal(quick.queries, plain.queries)
    np.testing.assert_allclose(quick.gains, plain.gains, atol=1e-12)
    np.testing.assert_allclose(quick.posteriors, plain.posteriors, atol=1e-12)
    assert quick.length.min() < quick.length.max()


def test_a_variable_that_is_known_has_nothing_to_say():
    pursuit = ip.generative_pursuit(naive_bayes(), QUERIES)
    state = pursuit.start()
    state = pursuit.absorb(state, pursuit.branch(5, (1,)), state.watch)
    gains = FiniteGains(pursuit.model, QUERIES, MutualInformation()).part_gains(state.belief, pursuit.model)
    assert gains[0, 5] == 0
    assert (np.delete(gains[0], 5) > 0).sum() >= 13


@pytest.mark.parametrize(
    ("model", "queries"),
    [
        (ip.models.TableModel([0.5, 0.5], [[0.5, 0.5]] * 2, [[[0.1, 0.2]] * 2] * 2), ip.queries.concepts(["a", "b"])),
        (ip.models.EmpiricalModel([[0, 2], [1, 1]], [0, 1], sizes=(2, 3)), None),
    ],
)
def test_it_is_left_alone_where_it_does_not_hold(model, queries):
    if queries is None:
        queries = ip.queries.columns().fit(np.array([[0, 2], [1, 1], [0, 0]]))
    assert FiniteGains(model, queries, MutualInformation())._one_state is None
