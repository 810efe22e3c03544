"""The opinion pool: what is computed by hand, the contracts, files, and weights that are fitted."""

import numpy as np
import pytest
import torch

import infopursuit as ip
from infopursuit.models.networks.amortized import Trunk, build_network
from infopursuit.pursuit.histories import Histories
from infopursuit.saving.files import CARD
from infopursuit.strategies import LogPool, MutualInformation, NetworkBelief, OpinionPool
from infopursuit.strategies.amortized.belief import inputs_for
from infopursuit.strategies.amortized.querier import acquisition_for
from infopursuit.strategies.generative.build import build_belief
from infopursuit.strategies.generative.exact import class_entropy
from infopursuit.strategies.opinion_pool import fit_weights, pooled
from infopursuit.testing import check_acquisition, check_belief, check_strategy
from quadrature import small_vae
from unlimited import utilities

QUERIES = ip.queries.concepts([f"is {i}" for i in range(6)])
PATCHES = ip.queries.patches((5, 5), size=2, threshold=0.5)
YES = np.random.default_rng(3).uniform(0.05, 0.95, (3, 6))
MODEL = ip.models.TableModel([0.5, 0.3, 0.2], None, YES)
WEIGHTS = (0.7, 0.4)
TOLERANCE = 1e-6  # of a network in float32


def network(queries, n_classes=3, seed=0):
    """A belief of weights that mean nothing."""
    inputs = inputs_for(queries)
    found = build_network(inputs, n_classes, Trunk(hidden=(16,)), seed=seed)
    return NetworkBelief(found, inputs, n_classes, "score")


def examples():
    rng = np.random.default_rng(0)
    values = rng.integers(2, size=(40, 25))
    return ip.models.Sample.of(PATCHES.variables, values, rng.integers(3, size=40), n_classes=3)


def blurred():
    from infopursuit.models import Blur, EmpiricalModel

    return EmpiricalModel.of(examples(), Blur((0.7,), (0.02,), (0.02,), shape=(5, 5)))


def pool_of(kind="exact"):
    if kind == "exact":
        return OpinionPool(build_belief(MODEL, QUERIES), network(QUERIES), WEIGHTS, reweight=True), QUERIES
    return OpinionPool(build_belief(blurred(), PATCHES, kind), network(PATCHES), WEIGHTS, reweight=True), PATCHES


def after(belief, queries, steps):
    """The state of one history of (query, answers)."""
    b, h, one = belief.init(), Histories.empty(queries), np.zeros(1, int)
    for query, answers in steps:
        h = h.extend(one, np.array([query]), np.array([answers]))
        b = belief.update(b, one, h)
    return b, h


@pytest.mark.parametrize("kind", ["exact", "pruned"])
def test_contracts(kind):
    belief, queries = pool_of(kind)
    tolerance = TOLERANCE if kind == "exact" else 1e-4
    check_belief(belief, queries, tolerance=tolerance)
    check_acquisition(MutualInformation(), belief, queries, tolerance=tolerance)


def test_posterior_is_the_weighted_product():
    belief, _ = pool_of()
    b, _ = after(belief, QUERIES, [(0, [1]), (4, [0])])
    likelihood = YES[:, 0] * (1 - YES[:, 4])
    one = MODEL.class_prior * likelihood / (MODEL.class_prior * likelihood).sum()
    two = np.exp(belief.other.log_posterior(b.other).value[0])
    expected = one ** WEIGHTS[0] * two ** WEIGHTS[1]
    found = np.exp(belief.log_posterior(b).value[0])
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-12)
    assert np.abs(found - one).max() > 0.01  # the second member counts


@pytest.mark.parametrize("kind", ["exact", "pruned"])
def test_predictions_are_those_of_the_pooled_classes(kind):
    """p(answer) = sum over y of p_pool(y) p_generative(answer | y)."""
    belief, queries = pool_of(kind)
    width = queries.width
    steps = [(1, [1] * width), (3, [0] * width)]
    b, h = after(belief, queries, steps)
    p = np.exp(belief.log_posterior(b).value[0])
    query = 5
    given = []
    for c in range(3):  # what is said where only one class is left
        shift = np.full((1, 3), -200.0)
        shift[0, c] = 0.0
        given.append(
            belief.generative.answer_distribution(belief.generative.reweighed(b.generative, shift, [0]), query)[0]
        )
    expected = p @ np.array(given)
    np.testing.assert_allclose(belief.answer_distribution(b, query)[0], expected, atol=2e-4)
    joint = p[:, None] * np.array(given)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(joint > 0, joint * np.log(joint / (p[:, None] * expected)), 0.0)
    allowed = np.zeros((1, len(queries)), dtype=bool)
    allowed[0, query] = True
    acquisition = MutualInformation(exact=None if kind == "exact" else False, n_states=4000, n_screened=len(queries))
    found = utilities(acquisition.bind(belief, queries, None, None), b, h, allowed).value[0, query]
    assert found == pytest.approx(terms.sum(), abs=2e-4)
    generative = acquisition.bind(belief.generative, queries, None, None)
    alone = utilities(generative, b.generative, h, allowed).value[0, query]
    assert abs(alone - terms.sum()) > 5e-4  # negative control: not the gain of the generative member


def test_gains_of_the_generative_member_are_the_default():
    reweighted, queries = pool_of("pruned")
    belief = OpinionPool(reweighted.generative, reweighted.other, WEIGHTS)
    b, h = after(belief, queries, [(1, [1, 1, 0, 1])])
    allowed = np.ones((1, len(queries)), dtype=bool)
    found, alone, other = (
        utilities(MutualInformation().bind(each, queries, None, None), state, h, allowed).value
        for each, state in ((belief, b), (belief.generative, b.generative), (reweighted, b))
    )
    np.testing.assert_array_equal(found, alone)
    assert np.nanmax(np.abs(found - other)) > 1e-4
    check_belief(belief, queries, tolerance=1e-4)


def test_a_member_that_is_certain_leaves_the_classes_to_the_pool():
    always, queries = pool_of("pruned")
    b, h = after(always, queries, [(1, [1, 1, 0, 1])])
    entropy = float(class_entropy(always.generative.log_posterior(b.generative).value)[0])
    allowed = np.ones((1, len(queries)), dtype=bool)

    def gains(reweight):
        belief = OpinionPool(always.generative, always.other, WEIGHTS, reweight=reweight)
        return utilities(MutualInformation().bind(belief, queries, None, None), b, h, allowed).value

    np.testing.assert_array_equal(gains(entropy + 1e-6), gains(True))
    np.testing.assert_array_equal(gains(entropy - 1e-6), gains(False))
    assert np.nanmax(np.abs(gains(True) - gains(False))) > 1e-4
    with pytest.raises(ValueError, match="reweight"):
        OpinionPool(always.generative, always.other, WEIGHTS, reweight=-1.0)


def test_reweighing_leaves_the_state_as_it_was():
    belief, queries = pool_of("pruned")
    b, h = after(belief, queries, [(0, [1, 0, 1, 1])])
    before = b.generative.weights.values.copy()
    utilities(MutualInformation().bind(belief, queries, None, None), b, h, np.ones((1, len(queries)), dtype=bool))
    np.testing.assert_array_equal(b.generative.weights.values, before)


def test_strategy_and_files(tmp_path):
    belief, queries = pool_of("pruned")
    stopping = ip.Confidence(0.05) | ip.MaxQueries(6)
    pursuit = ip.Pursuit(queries, belief, MutualInformation(n_states=64, n_screened=8), stopping)
    X = np.random.default_rng(1).integers(2, size=(12, 5, 5))
    check_strategy(pursuit, X, tolerance=1e-4)
    ip.save(pursuit, tmp_path / "pool")
    loaded = ip.load(tmp_path / "pool")
    one, two = pursuit.run(X), loaded.run(X)
    np.testing.assert_array_equal(one.queries, two.queries)
    np.testing.assert_allclose(one.posteriors, two.posteriors, atol=1e-6)
    assert loaded.belief.weights == WEIGHTS
    assert "opinion pool" in (tmp_path / "pool" / CARD).read_text().lower()


def test_particles_of_their_own_are_reweighted():
    """A history whose particles were drawn anew: the pool's classes, as with those that all share."""
    queries = QUERIES
    belief = build_belief(small_vae((2,) * 6), queries, ip.strategies.SMC(n_draws=64, min_ess=60.0, n_own=64))
    pool = OpinionPool(belief, network(queries, belief.n_classes), WEIGHTS, reweight=True)
    b, _ = after(pool, queries, [(0, [1]), (1, [0])])
    state = pool.predicting(b, np.ones(1, dtype=bool))
    found = belief.log_posterior(state).value[0]
    np.testing.assert_allclose(np.exp(found), np.exp(pool.log_posterior(b).value[0]), atol=1e-6)
    assert state.own[0] is not None


def test_weights_are_found():
    """Labels drawn from a known pool: its weights are the fitted ones; a member that knows nothing counts nothing."""
    rng = np.random.default_rng(0)
    one, two = (torch.log_softmax(torch.as_tensor(rng.normal(size=(20_000, 4)) * 2), 1).numpy() for _ in range(2))
    p = np.exp(pooled([one, two], WEIGHTS))
    labels = (rng.random((len(p), 1)) > p.cumsum(axis=1)).sum(axis=1)
    np.testing.assert_allclose(fit_weights([one, two], labels), WEIGHTS, atol=0.05)
    shuffled = two[rng.permutation(len(two))]
    assert fit_weights([one, shuffled], labels)[1] < 0.05


def test_pool_is_better_than_an_overconfident_member():
    """`ip.pool` on a world whose true answers are less reliable than the generative model has them."""
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=1500)
    truth = np.where(y[:, None] == 1, 0.7, 0.3) * np.ones((1, 6))
    X = (rng.random((1500, 6)) < truth).astype(int)
    sure = ip.models.TableModel([0.5, 0.5], None, [[0.05] * 6, [0.95] * 6])
    right = ip.models.TableModel([0.5, 0.5], None, [[0.3] * 6, [0.7] * 6])
    stopping = ip.MaxQueries(4)
    generative = ip.generative_pursuit(sure, QUERIES, stopping=stopping)
    found = ip.pool(generative, build_belief(right, QUERIES), X[:1000], y[:1000], max_queries=4)

    def loss(pursuit):
        return -np.log(pursuit.run(X[1000:]).posterior[np.arange(500), y[1000:]]).mean()

    assert loss(found) < 0.8 * loss(generative)


@pytest.mark.parametrize("unit", ["score", "nats"])
def test_the_network_chooses(unit, tmp_path):
    """The same queries as the network alone; gains are within the entropy of the pool; contracts and files."""
    asks = network(PATCHES)
    asks = NetworkBelief(asks.network, asks.inputs, 3, unit)
    rng = np.random.default_rng(4)
    X, y = rng.integers(2, size=(30, 5, 5)), rng.integers(3, size=30)
    generative = ip.generative_pursuit(blurred(), PATCHES, stopping=ip.MaxQueries(4))
    pursuit = ip.pool(generative, asks, X, y, max_queries=4, chooses="other")
    alone = ip.Pursuit(PATCHES, asks, acquisition_for(asks), ip.MaxQueries(4))
    one, two = pursuit.run(X), alone.run(X)
    np.testing.assert_array_equal(one.queries, two.queries)
    assert np.abs(one.posteriors - two.posteriors).max() > 1e-3
    assert (one.queries != generative.run(X).queries).any()
    check_acquisition(acquisition_for(asks), pursuit.belief, PATCHES, tolerance=TOLERANCE)
    check_strategy(pursuit, X[:8], tolerance=1e-4)
    ip.save(pursuit, tmp_path / "pool")
    np.testing.assert_array_equal(ip.load(tmp_path / "pool").run(X).queries, one.queries)


def test_two_networks_are_pooled(tmp_path):
    """The first chooses, both believe; a pool may be a member of another."""
    first, second = (network(PATCHES, seed=seed) for seed in (1, 2))
    first = NetworkBelief(first.network, first.inputs, 3, "nats")
    rng = np.random.default_rng(5)
    X, y = rng.integers(2, size=(40, 5, 5)), rng.integers(3, size=40)
    alone = ip.Pursuit(PATCHES, first, acquisition_for(first), ip.MaxQueries(3))
    pursuit = ip.pool(alone, second, X, y, max_queries=3)
    assert type(pursuit.belief) is LogPool
    trace = pursuit.run(X)
    np.testing.assert_array_equal(trace.queries, alone.run(X).queries)
    b, _ = after(pursuit.belief, PATCHES, [(2, [1, 0, 0, 1])])
    members = [each.log_posterior(mine).value for each, mine in ((first, b.generative), (second, b.other))]
    np.testing.assert_allclose(b.log_posterior, pooled(members, pursuit.belief.weights), atol=1e-9)
    check_belief(pursuit.belief, PATCHES, tolerance=TOLERANCE)
    check_strategy(pursuit, X[:8], tolerance=1e-4)
    both = ip.pool(
        ip.generative_pursuit(blurred(), PATCHES, stopping=ip.MaxQueries(3)), pursuit.belief, X, y, chooses="other"
    )
    np.testing.assert_array_equal(both.run(X).queries, trace.queries)
    for name, each in (("two", pursuit), ("three", both)):
        ip.save(each, tmp_path / name)
        np.testing.assert_allclose(ip.load(tmp_path / name).run(X).posteriors, each.run(X).posteriors, atol=1e-6)


def test_errors_name_the_argument():
    exact = build_belief(MODEL, QUERIES)
    with pytest.raises(TypeError, match="generative"):
        OpinionPool(network(QUERIES), exact)
    with pytest.raises(ValueError, match="other"):
        LogPool(network(QUERIES), network(QUERIES, n_classes=4))
    with pytest.raises(ValueError, match="other"):
        OpinionPool(exact, network(QUERIES, n_classes=4))
    with pytest.raises(ValueError, match="weights"):
        OpinionPool(exact, network(QUERIES), (0.0, 1.0))
    always = ip.generative_pursuit(ip.models.TableModel([1.0, 0.0, 0.0], None, YES), QUERIES)
    with pytest.raises(ValueError, match="min_queries"):
        ip.pool(always, build_belief(MODEL, QUERIES), [[0] * 6], [0], max_queries=4, min_queries=4)
    for chooses in ("both", "other"):  # the second has no utilities
        with pytest.raises(ValueError, match="chooses"):
            ip.pool(always, build_belief(MODEL, QUERIES), [[0] * 6], [0], chooses=chooses)
    with pytest.raises(TypeError, match="pursuit"):
        ip.pool(exact, network(QUERIES), [[0] * 6], [0])
