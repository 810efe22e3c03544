"""Tables given by the user: what they mean, and what is refused."""

from itertools import permutations

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.models import Sample, TableModel
from infopursuit.models.table import fit_latent_classes
from infopursuit.support.types import Variables
from worlds import Given, world_of


def test_two_ways_to_say_the_same():
    """P(variable = 1) and the probabilities of both values; with and without the axis of the single latent state."""
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
        assert first.variables == other.variables
    assert first.probs[:, 0].tolist() == pytest.approx([0.1, 0.9, 0.8, 0.2, 0.5, 0.5])


def test_naive_bayes_by_hand():
    model = TableModel([0.2, 0.8], None, [[0.9, 0.5], [0.3, 0.5]])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(["a", "b"]))
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


def test_one_categorical_variable_is_not_taken_for_several_yes_no_variables():
    """(C, A, V) with a single variable: without latent states the second axis is always that of the variables."""
    model = TableModel([0.5, 0.5], None, [[[0.2, 0.3, 0.5]], [[0.6, 0.3, 0.1]]])
    assert model.variables.sizes == (3,)
    assert model.probs[:, 1].tolist() == [0.6, 0.3, 0.1]


def test_variables_of_different_sizes():
    table = np.array([[[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], [[0.1, 0.9, 0.0], [0.2, 0.2, 0.6]]])
    model = TableModel([0.5, 0.5], None, table, sizes=[2, 3])
    assert model.variables.sizes == (2, 3)
    assert model.probs[:, 1].tolist() == [0.1, 0.9, 0.2, 0.2, 0.6]
    pursuit = ip.generative_pursuit(model, Given(["a", "b"], [2, 3], [[0], [1]]))
    np.testing.assert_allclose(pursuit.believe([(1, (1,))]), [0.6, 0.4])


def test_a_mean_that_came_out_above_one_is_one():
    """1 - p would be negative, its logarithm NaN, and a possible answer taken for impossible."""
    model = TableModel([0.5, 0.5], None, [[1 + 2e-16, 0.2], [1 + 5e-10, 0.4]])
    assert (model.probs >= 0).all()
    assert (model.probs <= 1).all()
    np.testing.assert_array_equal(model.probs[0], [0, 0])
    trace = ip.generative_pursuit(model, ip.queries.concepts(["a", "b"]), stopping=ip.MaxQueries(2)).run(
        [[1, 1], [0, 1]]
    )
    np.testing.assert_allclose(trace.posterior, [[1 / 3, 2 / 3]] * 2)
    assert trace.stop_reason.tolist() == ["max_queries", "impossible"]


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
        (([0.5, 0.5], [[1.0], [1.0]], np.full((2, 2, 1), 0.5)), {}, "variable_probs has shape"),
        (([0.5, 0.5], None, np.zeros((2, 0))), {}, "variable_probs has shape"),
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


# ---- latent classes -------------------------------------------------------------------------------------------------
# EM for a mixture in each class: its objective never falls, it finds what was planted, whatever the order of rows.


KINDS = np.array([[0.95, 0.9, 0.9, 0.1, 0.05, 0.1, 0.9, 0.1], [0.1, 0.05, 0.1, 0.9, 0.9, 0.95, 0.1, 0.9]])


def planted(seed=0, n=600, missing=0.0, share=0.3):
    """Rows of one class that has two kinds; the second class is its mirror image."""
    rng = np.random.default_rng(seed)
    kind = (rng.random(n) < share).astype(int)
    labels = rng.integers(2, size=n)
    values = (rng.random((n, 8)) < np.where(labels[:, None] == 0, KINDS[kind], 1 - KINDS[kind] ** 2)).astype(int)
    values[rng.random(values.shape) < missing] = -1
    return Variables((2,) * 8), values, labels


def mixed(seed, n=80, sizes=(2, 3, 4, 2), n_classes=2):
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(-1, size, n) for size in sizes], axis=1)
    return Sample.of(Variables(sizes), values, rng.integers(n_classes, size=n), rng.integers(1, 4, n), n_classes)


def log_likelihood(sample, c, mixing, table):
    """sum over rows of log sum over kinds of p(kind) prod P(value | kind), one row after the other."""
    total = 0.0
    for row, label, weight in zip(sample.values, sample.labels, sample.weights, strict=True):
        if label != c:
            continue
        slots = [sample.variables.offsets[a] + v for a, v in enumerate(row) if v != -1]
        total += weight * np.log(sum(p * np.prod(t[slots]) for p, t in zip(mixing, table, strict=True)))
    return total


def objective(sample, c, mixing, table, smoothing):
    """The likelihood and the two priors: `smoothing` rows as in the class in every kind, one row in each kind."""
    usual = sample.marginals(smoothing)[c]
    return log_likelihood(sample, c, mixing, table) + smoothing * (usual * np.log(table)).sum() + np.log(mixing).sum()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("smoothing", [0.3, 2.0])
def test_the_objective_never_falls(seed, smoothing):
    sample = mixed(seed)
    for c in range(2):
        after = []
        for rounds in range(1, 9):
            latent, tables = fit_latent_classes(sample, 3, smoothing, seed, rounds=rounds, tolerance=-np.inf)
            after.append(objective(sample, c, latent[c], tables[c], smoothing))
        assert (np.diff(after) >= -1e-9).all()
        assert after[-1] > after[0] + 1e-3  # a fit that does not move would pass the line above


def test_it_ends_at_a_maximum():
    """Moving a little in any direction lowers the objective, its priors included."""
    sample = mixed(0)
    latent, tables = fit_latent_classes(sample, 2, rounds=1000, tolerance=-np.inf)
    best = objective(sample, 0, latent[0], tables[0], 1.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        mixing, table = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(1000), size=2)[:, : tables.shape[2]]
        for begin, end in zip(sample.variables.offsets[:-1], sample.variables.offsets[1:], strict=True):
            table[:, begin:end] /= table[:, begin:end].sum(axis=1, keepdims=True)
        for step in (0.01, 0.1):
            moved = (1 - step) * latent[0] + step * mixing, (1 - step) * tables[0] + step * table
            assert objective(sample, 0, moved[0], tables[0], 1.0) < best
            assert objective(sample, 0, latent[0], moved[1], 1.0) < best


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_planted_mixture_is_found(missing):
    """Within four standard errors of the planted frequencies. Kinds have no names: the best way to pair them counts."""
    sample = Sample.of(*planted(n=3000, missing=missing))
    latent, tables = fit_latent_classes(sample, 2)
    for c, truth in enumerate((KINDS, 1 - KINDS**2)):
        found = tables[c][:, 1::2]
        order = min(permutations(range(2)), key=lambda o: np.abs(found[list(o)] - truth).max())
        seen = sample.class_weights[c] * (1 - missing) * np.array([[0.7], [0.3]])
        assert (np.abs(found[list(order)] - truth) < 4 * np.sqrt(truth * (1 - truth) / seen) + 2 / seen).all()
        np.testing.assert_allclose(latent[c][list(order)], [0.7, 0.3], atol=0.05)


def test_one_kind_is_naive_bayes():
    """With a single kind the fit is the class's frequencies, drawn once more towards themselves."""
    sample = Sample.of(*planted(n=50))
    latent, tables = fit_latent_classes(sample, 1, smoothing=0.5)
    usual, counts = sample.marginals(0.5), sample.value_weights()
    np.testing.assert_array_equal(latent, [[1], [1]])
    rows = sample.class_weights[:, None]
    np.testing.assert_allclose(tables[:, 0], (counts + 0.5 * usual) / (rows + 0.5), rtol=1e-12)


def test_more_kinds_explain_the_planted_rows_better():
    sample = Sample.of(*planted())
    fits = [fit_latent_classes(sample, n) for n in (1, 2)]
    one, two = (log_likelihood(sample, 0, latent[0], tables[0]) for latent, tables in fits)
    assert two > one + 300


@pytest.mark.parametrize("n_latents", [2, 5, 16])
def test_a_class_with_fewer_rows_than_kinds_or_none_at_all(n_latents):
    variables = Variables((2, 3))
    sample = Sample.of(variables, [[0, 2], [1, 1], [0, 0], [1, -1], [0, 1]], [0, 1, 1, 1, 1], n_classes=3)
    latent, tables = fit_latent_classes(sample, n_latents)
    np.testing.assert_allclose(latent.sum(axis=1), 1)
    assert (latent > 0).all()
    assert (tables > 0).all()
    np.testing.assert_allclose(tables[..., :2].sum(axis=-1), 1)
    np.testing.assert_allclose(tables[..., 2:].sum(axis=-1), 1)
    np.testing.assert_allclose(tables[2], np.tile(sample.marginals()[2], (n_latents, 1)))


def test_an_variable_that_is_never_known_stays_as_it_is_everywhere():
    sample = Sample.of(Variables((2, 2)), [[0, -1], [1, -1], [1, -1]], [0, 0, 1])
    _, tables = fit_latent_classes(sample, 2)
    np.testing.assert_allclose(tables[..., 2:], 0.5)


def test_unknown_values_are_left_out_rather_than_counted():
    """A row with nothing known says nothing about the tables."""
    variables, values, labels = planted(n=100)
    more = np.concatenate([values, np.full((30, 8), -1)])
    with_gaps = Sample.of(variables, more, np.concatenate([labels, np.zeros(30, dtype=int)]))
    plain = Sample.of(variables, values, labels)
    np.testing.assert_allclose(fit_latent_classes(with_gaps, 1)[1], fit_latent_classes(plain, 1)[1], rtol=1e-12)


def test_the_same_seed_gives_the_same_fit_whatever_the_order_of_rows():
    variables, values, labels = planted(n=200, missing=0.1)
    order = np.random.default_rng(5).permutation(len(values))
    one, again = (fit_latent_classes(Sample.of(variables, values, labels), 3, seed=4) for _ in range(2))
    other = fit_latent_classes(Sample.of(variables, values[order], labels[order]), 3, seed=4)
    for a, b, c in zip(one, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


def test_another_seed_may_give_another_fit():
    """Otherwise the test above would show nothing."""
    sample = mixed(1)
    assert np.abs(fit_latent_classes(sample, 3, seed=0)[1] - fit_latent_classes(sample, 3, seed=9)[1]).max() > 1e-3


def test_repeating_a_row_is_weighting_it():
    variables, values, labels = planted(n=60)
    times = np.random.default_rng(0).integers(1, 4, 60)
    one = fit_latent_classes(Sample.of(variables, values, labels, times), 2)
    other = fit_latent_classes(Sample.of(variables, np.repeat(values, times, axis=0), np.repeat(labels, times)), 2)
    np.testing.assert_array_equal(one[1], other[1])
