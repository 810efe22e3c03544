"""Tables given by the user: what they mean, and what is refused."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.models import TableModel
from worlds import Given, world_of


def test_two_ways_to_say_the_same():
    """P(atom = 1) and the probabilities of both values; with and without the axis of the single latent state."""
    p = np.array([[0.9, 0.2, 0.5], [0.1, 0.3, 0.0]])
    both = np.stack([1 - p, p], axis=-1)
    first = TableModel([0.4, 0.6], None, p)
    for latent, table in (
        (None, both),
        ([[1.0], [1.0]], p[:, None]),
        ([[1.0], [1.0]], both[:, None]),
        (None, both[:, None]),
    ):
        other = TableModel([0.4, 0.6], latent, table)
        np.testing.assert_array_equal(first.probs, other.probs)
        np.testing.assert_array_equal(first.log_prior, other.log_prior)
        assert first.atoms == other.atoms
    assert first.probs[:, 0].tolist() == pytest.approx([0.1, 0.9, 0.8, 0.2, 0.5, 0.5])


def test_naive_bayes_by_hand():
    model = TableModel([0.2, 0.8], None, [[0.9, 0.5], [0.3, 0.5]])
    pursuit = ip.Pursuit(model, ip.queries.concepts(["a", "b"]))
    np.testing.assert_allclose(pursuit.believe([(0, (1,))]), [0.18 / 0.42, 0.24 / 0.42])
    np.testing.assert_allclose(pursuit.believe([(0, (0,)), (1, (1,))]), [0.02 / 0.58, 0.56 / 0.58])


@pytest.mark.parametrize("seed", range(10))
def test_tables_give_back_what_was_put_in(seed):
    world, _ = world_of(40_000 + seed, zeros=bool(seed % 2))
    prior, latent, probs = world.model.tables()
    np.testing.assert_allclose(prior, world.prior, atol=1e-14)
    real = world.prior > 0  # a class that never occurs has no p(z | y) to give back
    np.testing.assert_allclose(latent[real], world.latent[real], atol=1e-14)
    np.testing.assert_allclose(latent.sum(axis=1), 1)
    np.testing.assert_allclose(probs, np.concatenate(world.probs, axis=2), atol=1e-14)
    assert world.model.n_latents == world.latent.shape[1]


def test_one_categorical_atom_is_not_taken_for_several_yes_no_atoms():
    """(C, A, V) with a single atom: without latent states the second axis is always that of the atoms."""
    model = TableModel([0.5, 0.5], None, [[[0.2, 0.3, 0.5]], [[0.6, 0.3, 0.1]]])
    assert model.atoms.sizes == (3,)
    assert model.probs[:, 1].tolist() == [0.6, 0.3, 0.1]


def test_atoms_of_different_sizes():
    table = np.array([[[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], [[0.1, 0.9, 0.0], [0.2, 0.2, 0.6]]])
    model = TableModel([0.5, 0.5], None, table, sizes=[2, 3])
    assert model.atoms.sizes == (2, 3)
    assert model.probs[:, 1].tolist() == [0.1, 0.9, 0.2, 0.2, 0.6]
    pursuit = ip.Pursuit(model, Given(["a", "b"], [2, 3], [[0], [1]]))
    np.testing.assert_allclose(pursuit.believe([(1, (1,))]), [0.6, 0.4])


def test_a_mean_that_came_out_above_one_is_one():
    """1 - p would be negative, its logarithm NaN, and a possible answer taken for impossible."""
    model = TableModel([0.5, 0.5], None, [[1 + 2e-16, 0.2], [1 + 5e-10, 0.4]])
    assert (model.probs >= 0).all()
    assert (model.probs <= 1).all()
    np.testing.assert_array_equal(model.probs[0], [0, 0])
    trace = ip.Pursuit(model, ip.queries.concepts(["a", "b"]), stopping=ip.MaxQueries(2)).run([[1, 1], [0, 1]])
    np.testing.assert_allclose(trace.posterior, [[1 / 3, 2 / 3]] * 2)
    assert trace.stopped_because.tolist() == ["max_queries", "impossible"]


def test_a_prior_that_is_almost_one_is_made_one():
    model = TableModel([0.3, 0.7 + 1e-8], None, [[0.9], [0.1]])
    assert model.class_prior.sum() == pytest.approx(1, abs=1e-15)


def test_dtype():
    assert TableModel([0.5, 0.5], None, [[0.9], [0.1]]).dtype == np.float64
    assert TableModel([0.5, 0.5], None, [[0.9], [0.1]], dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.5, 0.6], None, [[0.9], [0.1]]), {}, "class_prior must be probabilities"),
        (([1.5, -0.5], None, [[0.9], [0.1]]), {}, "class_prior must be probabilities"),
        (([0.5, np.nan], None, [[0.9], [0.1]]), {}, "class_prior must be probabilities"),
        (([0.5, 0.5], [[0.5, 0.4], [0.5, 0.5]], np.full((2, 2, 1), 0.5)), {}, r"latent_prior\[0\]"),
        (([0.5, 0.5], [1.0, 1.0], np.full((2, 1, 1), 0.5)), {}, "latent_prior has shape"),
        (([0.5, 0.5], [[1.0], [1.0]], np.full((2, 2, 1), 0.5)), {}, "atom_probs has shape"),
        (([0.5, 0.5], None, np.zeros((2, 0))), {}, "atom_probs has shape"),
        (([0.5, 0.5], None, [[1.1], [0.1]]), {}, "between 0 and 1"),
        (([0.5, 0.5], None, [[-0.1], [0.1]]), {}, "between 0 and 1"),
        (([0.5, 0.5], None, [[np.nan], [0.1]]), {}, "between 0 and 1"),
        (([0.5, 0.5], None, np.full((2, 2, 3), 0.2)), {}, "sum to 1"),
        (([0.5, 0.5], None, np.full((2, 2, 3), 1 / 3)), {"sizes": [2, 3]}, "sum to 1"),
        (([0.5, 0.5], None, np.full((2, 2, 3), 1 / 3)), {"sizes": [3, 4]}, "sizes names"),
        (([0.5, 0.5], None, np.full((2, 2, 3), 1 / 3)), {"sizes": [3]}, "sizes names"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        TableModel(*arguments, **options)
