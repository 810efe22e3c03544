"""A union of finite models is their mixture."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.evaluation.map_using_q import log_joint
from infopursuit.models.empirical import Flip
from infopursuit.models.union import UnionModel

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
    pursuit = ip.Pursuit.of(union, QUERIES, posterior, ip.Confidence(0.05))
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
