"""A union of finite models is their mixture; a pool is the mean of what they believe."""

import numpy as np
import pytest

import infopursuit as ip
from bars import after, bars
from benchmarks.log_joint import log_joint
from benchmarks.pool import Pooled, UnionModel
from infopursuit.models import EmpiricalModel, TableModel
from infopursuit.models.empirical import Blur, Flip
from infopursuit.models.finite import softmax
from infopursuit.strategies import Exact
from infopursuit.strategies.generative import pruned as pruned_module
from quadrature import posterior_of, updated

QUERIES = ip.queries.concepts(["a", "b", "c", "d"])


def models(seed=0):
    """A table with two states a class, and examples."""
    rng = np.random.default_rng(seed)
    table = ip.models.TableModel([0.2, 0.3, 0.5], rng.dirichlet([1, 1], 3), rng.uniform(0.1, 0.9, (3, 2, 4)))
    values, labels = rng.integers(0, 2, (12, 4)), np.arange(12) % 3
    return table, ip.models.EmpiricalModel(values, labels, Flip((0.1, 0.5)), dtype=np.float64)


def every_input():
    return np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T


@pytest.mark.parametrize("shares", [None, [0.3, 0.7]])
def test_its_joint_is_the_weighted_sum_of_theirs(shares):
    table, examples = models()
    union = UnionModel([table, examples], shares)
    a, b = shares or (0.5, 0.5)
    theirs = a * np.exp(log_joint(table, every_input())) + b * np.exp(log_joint(examples, every_input()))
    np.testing.assert_allclose(np.exp(log_joint(union, every_input())), theirs, rtol=1e-5)
    assert np.exp(log_joint(union, every_input())).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("posterior", ["exact", "pruned"])
def test_pursuits_believe_what_the_mixture_says(posterior):
    union = UnionModel(models())
    pursuit = ip.generative_pursuit(union, QUERIES, posterior, ip.Confidence(0.05))
    history = [(0, (1,)), (2, (0,))]
    seen = np.array([[1, -1, 0, -1]])
    joint = np.exp(log_joint(union, seen))[0]
    np.testing.assert_allclose(
        pursuit.believe(history), joint / joint.sum(), atol=2e-3 if posterior == "pruned" else 1e-5
    )


def test_rows_and_states_agree():
    union = UnionModel(models())
    slots = np.arange(union.variables.n_slots)
    np.testing.assert_allclose(union.rows(slots), union.state_probs(np.arange(union.n_states)))
    assert (np.diff(union.offsets) == sum(np.diff(model.offsets) for model in models())).all()


def test_it_refuses_models_that_do_not_fit():
    table, examples = models()
    with pytest.raises(ValueError, match="models is empty"):
        UnionModel([])
    with pytest.raises(TypeError, match=r"models\[1\] is str"):
        UnionModel([table, "examples"])
    other = ip.models.TableModel([0.5, 0.5], None, [[0.9], [0.2]])
    with pytest.raises(ValueError, match=r"models\[1\] has 1 variables and 2 classes.* they must be the same"):
        UnionModel([table, other])
    with pytest.raises(ValueError, match="must be 2 numbers, one for each model"):
        UnionModel([table, examples], [1.0])


# ---- the linear opinion pool ----------------------------------------------------------------------------------------

SMALL = ip.queries.patches((6, 6), size=2, threshold=0.5)


def members():
    """Three models of unlike sizes that believe unlike things."""
    values, labels = bars(260, np.random.default_rng(0), (6, 6), 0.1)
    probs = np.random.default_rng(1).uniform(0.1, 0.9, (2, 1, 36))
    return [
        EmpiricalModel(values[:200], labels[:200], Blur((0.4,), (0.02,), (0.02,), (6, 6))),
        EmpiricalModel(values[200:], labels[200:], Flip((0.2,))),
        TableModel([0.3, 0.7], [[1.0], [1.0]], probs),
    ]


@pytest.mark.parametrize("shares", [None, [0.5, 0.3, 0.2]])
def test_it_is_the_mean_of_what_the_models_believe_each_by_itself(shares):
    models, (values, _) = members(), bars(25, np.random.default_rng(2), (6, 6), 0.1)
    asked = np.stack([np.random.default_rng(i).choice(len(SMALL), 6, replace=False) for i in range(len(values))])
    union = UnionModel(models, shares)
    pooled, _ = after(Pooled().build(union, SMALL), values, asked)
    each = np.array([after(Exact(model, SMALL), values, asked)[0] for model in models])
    mean = np.einsum("m,mkbc->kbc", union.shares, each)
    # six answers, each of which may let 3e-4 of all go, which is more of one model
    assert np.abs(pooled - mean).max() < 1e-2
    assert np.abs(pooled - mean).mean() < 1e-3
    bayes, _ = after(Exact(union, SMALL), values, asked)
    assert np.abs(bayes - mean).max() > 0.1  # and that is another thing than Bayes' rule for all together


def test_each_model_keeps_its_share_of_the_weight():
    models, (values, _) = members(), bars(10, np.random.default_rng(3), (6, 6), 0.1)
    union = UnionModel(models, [0.2, 0.3, 0.5])
    belief = Pooled().build(union, SMALL)
    asked = np.tile(np.arange(0, 24, 4), (len(values), 1))
    _, b = after(belief, values, asked)
    weights = softmax(b.log_weights)
    runs, member = union.runs()
    of = np.repeat(member, np.diff(runs))
    for m, share in enumerate(union.shares):
        assert weights[:, of == m].sum(axis=1) == pytest.approx(share, abs=2e-3)


def test_weights_computed_anew_are_those_that_were_followed(monkeypatch):
    models, (values, _) = members(), bars(8, np.random.default_rng(4), (6, 6), 0.1)
    asked = np.tile(np.arange(0, 24, 2), (len(values), 1))
    union = UnionModel(models)
    followed, _ = after(Pooled().build(union, SMALL), values, asked)
    monkeypatch.setattr(pruned_module, "DROP", 0.0)  # as if every answer were improbable enough
    anew, b = after(Pooled().build(union, SMALL), values, asked)
    assert np.abs(followed - anew).max() < 5e-3
    assert (b.weights.log_whole == b.weights.log_total).all()


def test_an_answer_that_one_model_all_but_rules_out_leaves_the_others_their_say():
    sure = TableModel([0.5, 0.5], [[1.0], [1.0]], np.full((2, 1, 36), 2e-6))
    unsure = TableModel([0.5, 0.5], [[1.0], [1.0]], np.stack([np.full((1, 36), 0.6), np.full((1, 36), 0.4)]))
    queries = ip.queries.patches((6, 6), size=4, threshold=0.5)  # sixteen pixels: less than a float32 holds
    belief = Pooled().build(UnionModel([sure, unsure]), queries)
    b = updated(belief, belief.init(), [0], [0], np.ones((1, 16), dtype=np.int64))
    found = posterior_of(belief, b)[0]
    theirs = 0.6**16 / (0.6**16 + 0.4**16)
    assert found == pytest.approx([(0.5 + theirs) / 2, (1.5 - theirs) / 2], abs=1e-4)


def test_a_pursuit_of_a_pool_stops_later_where_its_models_disagree():
    values, labels = bars(300, np.random.default_rng(5), (6, 6), 0.1)
    sharp = EmpiricalModel(values, labels, Flip((0.02,)))
    soft = EmpiricalModel(values, labels, Flip((0.3,)))
    inputs, truth = bars(60, np.random.default_rng(6), (6, 6), 0.1)
    stopping = ip.Confidence(0.05) | ip.MaxQueries(12)
    settings = {"n_states": 600, "n_screened": len(SMALL)}
    alone = ip.generative_pursuit(sharp, SMALL, "pruned", stopping, **settings).run_values(inputs)
    pooled = ip.generative_pursuit(UnionModel([sharp, soft]), SMALL, Pooled(), stopping, **settings)
    together = pooled.run_values(inputs)
    assert together.length.mean() > alone.length.mean()
    assert (together.predictions == truth).mean() > 0.95
    # what is believed is a function of the history: alone or in a batch
    for i in range(3):
        assert pooled.believe(together.history(i)) == pytest.approx(together.posteriors[i, -1], abs=1e-9)


def test_only_a_union_has_models_to_pool():
    values, labels = bars(30, np.random.default_rng(7), (6, 6), 0.1)
    with pytest.raises(ValueError, match="needs a UnionModel"):
        Pooled().build(EmpiricalModel(values, labels, Flip((0.1,))), SMALL)


def test_a_model_without_a_share_in_a_pool():
    tables = [TableModel([0.5, 0.5], None, [[p, 0.3], [1 - p, 0.6]]) for p in (0.9, 0.6)]
    queries = ip.queries.concepts(["a", "b"])
    X = [[1, 0], [0, 1], [-1, -1]]
    trace = ip.generative_pursuit(UnionModel(tables, [0.0, 1.0]), queries, Pooled(), ip.MaxQueries(2)).run_values(X)
    alone = ip.generative_pursuit(tables[1], queries, stopping=ip.MaxQueries(2))
    for i in range(3):
        np.testing.assert_allclose(trace.posterior[i], alone.believe(trace.history(i)), atol=1e-6)
