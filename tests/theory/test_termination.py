"""Lemmas 1 and 2: what sufficiency says about later gains, what it does not, and where the proof has to be mended."""

import numpy as np
import pytest

import infopursuit as ip
from theory import (
    enumerate_world,
    expected_length,
    gains,
    homogeneous,
    information,
    largest_gain_after,
    lemma_1_holds,
    lemma_2_bound,
    pursuit_tree,
    sufficiency,
    table_world,
    xor_world,
)
from worlds import random_world

BITS = np.array(list(np.ndindex(2, 2, 2, 2)))


def noisy_world(seed, *, support=True):
    """Four bits in any dependence; p(y | x) hangs on the first two only, and is never 0 where ``support`` says so."""
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 2
    posteriors = rng.dirichlet(np.full(n_classes, [0.5, 3.0, 30.0][seed % 3]), size=(2, 2))
    if not support:
        posteriors[0, 0] = np.eye(n_classes)[0]
    joint = rng.dirichlet(np.ones(16))[:, None] * posteriors[BITS[:, 0], BITS[:, 1]]
    return table_world(ip.queries.concepts(list("abcd")), BITS, joint)


def everything_asked(world):
    """Each history of the pursuit that asks all there is: the events S_m of the lemmas."""
    pursuit = ip.generative_pursuit(world.model, world.queries, stopping=ip.MaxQueries(len(world.queries)))
    return [(history, node.inputs) for history, node in pursuit_tree(pursuit, world).nodes()]


def kl(p, q):
    with np.errstate(divide="ignore"):
        return float(np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / q), 0)))


def naive_largest_gain(world, inputs):
    """By asking everything in every order."""
    here = gains(world, inputs)
    splits = [query for query in range(len(world.queries)) if len(set(world.answers[inputs, query])) > 1]
    parts = [inputs[world.answers[inputs, q] == a] for q in splits for a in set(world.answers[inputs, q].tolist())]
    return max([float(here.max()), *(naive_largest_gain(world, part) for part in parts)])


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_gain_is_that_of_all_histories(seed):
    world = noisy_world(seed)
    assert largest_gain_after(world) == pytest.approx(naive_largest_gain(world, world.inputs))
    half = np.flatnonzero(world.values[:, 2] == 0)
    assert largest_gain_after(world, half) == pytest.approx(naive_largest_gain(world, half))


# ---- Lemma 1 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_lemma_1(seed):
    world = noisy_world(seed, support=seed % 2 == 0)
    sure = 0
    for history, inputs in everything_asked(world):
        assert lemma_1_holds(world, inputs)
        known = {query for query, _ in history}
        same = {0, 1} <= known  # what p(y | x) hangs on
        assert homogeneous(world, inputs) == same
        if same:
            sure += len(inputs) > 1
            assert gains(world, inputs).max() == pytest.approx(0, abs=1e-12)
            assert information(world, inputs) == pytest.approx(0, abs=1e-12)
    assert sure >= 4  # it was no empty promise


@pytest.mark.parametrize("seed", range(6))
def test_lemma_1_in_any_world(seed):
    made = random_world(np.random.default_rng(seed), "yes_no", zeros=True)
    world = enumerate_world(made.model, made.queries)
    assert all(lemma_1_holds(world, inputs) for _, inputs in everything_asked(world))


def test_the_converse_of_lemma_1_is_false():
    world = xor_world(3)
    assert gains(world).max() == pytest.approx(0, abs=1e-12)
    assert not homogeneous(world, world.inputs)
    assert largest_gain_after(world) == pytest.approx(np.log(2))


def test_a_label_that_hangs_on_nothing_needs_no_question():
    """The paper takes the infimum over k >= 1 (eqs. 27, 31); k = 0 is needed."""
    world = table_world(ip.queries.concepts(list("abcd")), BITS, np.outer(np.arange(1, 17), [0.3, 0.7]))
    assert homogeneous(world, world.inputs)
    for patience, length in ((0, 0), (2, 2)):
        pursuit = ip.generative_pursuit(world.model, world.queries, stopping=ip.InformationGain(0), patience=patience)
        strategy = pursuit_tree(pursuit, world)
        assert expected_length(strategy) == pytest.approx(length)
        assert sufficiency(strategy) == pytest.approx(0, abs=1e-12)
        assert not pursuit.run_values(world.values).settled_at.any()


# ---- Lemma 2 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(9))
def test_lemma_2(seed):
    world = noisy_world(seed)
    eta = world.posteriors.min()
    for _, inputs in everything_asked(world):
        bound = lemma_2_bound(world, inputs)
        here = world.posterior(inputs)
        assert bound.epsilon == pytest.approx(max(kl(world.posteriors[row], here) for row in inputs), abs=1e-12)
        assert bound.eta == pytest.approx(eta)
        assert bound.same_support
        largest = largest_gain_after(world, inputs)
        assert largest <= bound.epsilon + 1e-12  # C = 1
        assert largest <= bound.paper + 1e-12
        pairs = [kl(world.posteriors[a], world.posteriors[b]) for a in inputs for b in inputs]
        assert max(pairs) <= bound.pairwise + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_lemma_2_needs_no_common_support(seed):
    world = noisy_world(seed, support=False)
    bound = lemma_2_bound(world, world.inputs)
    assert not bound.same_support
    assert bound.pairwise == np.inf
    assert 0 < largest_gain_after(world) <= bound.epsilon + 1e-12


def test_the_constant_of_lemma_2_is_reached():
    world = xor_world()
    assert lemma_2_bound(world, world.inputs).epsilon == pytest.approx(largest_gain_after(world))


def test_equation_38_of_the_paper_is_false():
    """Two inputs whose posteriors are further apart than epsilon / eta; 4 epsilon / eta is what its steps give."""
    world = table_world(ip.queries.concepts(["a"]), [[0], [1]], [[0.55, 0.45], [0.45, 0.55]])
    bound = lemma_2_bound(world, world.inputs)
    apart = kl(world.posteriors[0], world.posteriors[1])
    assert apart > 1.5 * bound.paper
    assert apart <= bound.pairwise
    assert largest_gain_after(world) <= bound.epsilon + 1e-12  # the lemma itself is untouched


def test_lemma_2_needs_every_input_not_the_average():
    """Where bit a is 1, which is rare, bit b is the label; else nothing tells. On average little is left to learn."""
    rare = 0.01
    posteriors = np.array([[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1]])
    joint = posteriors * np.array([1 - rare, 1 - rare, rare, rare])[:, None] / 2
    world = table_world(ip.queries.concepts(["a", "b"]), [[0, 0], [0, 1], [1, 0], [1, 1]], joint)
    average = information(world)  # E[KL(p(Y | X) || p(Y))]
    bound = lemma_2_bound(world, world.inputs)
    assert average == pytest.approx(rare * np.log(2))
    assert largest_gain_after(world) == pytest.approx(np.log(2))
    assert largest_gain_after(world) > 40 * average / bound.eta
    assert bound.epsilon == pytest.approx(np.log(2))  # pointwise it holds, as it must
