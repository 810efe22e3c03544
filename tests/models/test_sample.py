"""Labelled rows to learn from: repeating is weighting, the order of rows means nothing, frequencies by hand."""

import numpy as np
import pytest

from infopursuit.models import Sample
from infopursuit.support.types import Variables

ATOMS = Variables((2, 3))
VALUES = np.array([[0, 2], [1, -1], [0, 2], [1, 1], [0, 0]])
LABELS = np.array([1, 0, 1, 1, 0])


def random_rows(seed, n=60, sizes=(2, 3, 2, 4), n_classes=3):
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(-1, size, n) for size in sizes], axis=1)
    return Variables(sizes), values, rng.integers(n_classes, size=n)


def assert_same(one, other):
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)
    assert one.n_classes == other.n_classes


def test_repeated_rows_are_joined_and_sorted():
    sample = Sample.of(ATOMS, VALUES, LABELS)
    assert sample.values.tolist() == [[0, 0], [1, -1], [0, 2], [1, 1]]
    assert sample.labels.tolist() == [0, 0, 1, 1]
    assert sample.weights.tolist() == [1, 1, 2, 1]
    assert len(sample) == 4
    assert sample.n_classes == 2


def test_unknown_sorts_before_every_value_and_large_values_sort_as_numbers():
    """Rows are compared as bytes, in which -1 and 256 would stand in the wrong place if nothing were done about it."""
    variables = Variables((300,))
    sample = Sample.of(variables, [[256], [-1], [1], [255], [0]], [0] * 5)
    assert sample.values[:, 0].tolist() == [-1, 0, 1, 255, 256]


@pytest.mark.parametrize("seed", range(5))
def test_repeating_a_row_is_weighting_it(seed):
    variables, values, labels = random_rows(seed)
    times = np.random.default_rng(seed).integers(0, 4, len(values))
    weighted = Sample.of(variables, values, labels, times, 3)
    repeated = Sample.of(variables, np.repeat(values, times, axis=0), np.repeat(labels, times), None, 3)
    assert_same(weighted, repeated)
    np.testing.assert_array_equal(weighted.folds(5), repeated.folds(5))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_means_nothing(seed):
    variables, values, labels = random_rows(seed)
    order = np.random.default_rng(seed).permutation(len(values))
    one, other = Sample.of(variables, values, labels), Sample.of(variables, values[order], labels[order])
    assert_same(one, other)
    np.testing.assert_array_equal(one.keys, other.keys)
    np.testing.assert_array_equal(one.folds(3), other.folds(3))


def test_rows_of_no_weight_are_dropped_but_their_class_remains():
    sample = Sample.of(ATOMS, VALUES, LABELS, [1, 0, 1, 0.5, 0], n_classes=2)
    assert sample.values.tolist() == [[0, 2], [1, 1]]
    assert sample.weights.tolist() == [2, 0.5]
    assert sample.n_classes == 2
    assert sample.class_weights.tolist() == [0, 2.5]
    assert sample.class_prior.tolist() == pytest.approx([0.5 / 3.5, 3 / 3.5])


def test_keys_tell_rows_apart_and_depend_on_label_and_values():
    variables, values, labels = random_rows(0)
    sample = Sample.of(variables, values, labels)
    assert len(set(sample.keys.tolist())) == len(sample)
    one, two = Sample.of(ATOMS, [[0, 1]], [0]), Sample.of(ATOMS, [[0, 1]], [1])
    assert one.keys[0] != two.keys[0]
    # the number itself is pinned: folds, and with them the chosen model, must be the same on every machine
    assert one.keys.tolist() == [46_713_592_966_337_805]


def test_rows_that_occur_once_are_each_in_one_fold_and_classes_are_spread_evenly():
    rng = np.random.default_rng(1)
    variables = Variables((2,) * 30)
    sample = Sample.of(variables, rng.integers(2, size=(400, 30)), rng.choice(3, 400, p=[0.7, 0.25, 0.05]))
    held_out = sample.folds(5)
    assert (held_out.sum(axis=0) == 1).all()
    assert set(np.unique(held_out)) == {0, 1}
    for c in range(3):
        counts = held_out[:, sample.labels == c].sum(axis=1)
        assert counts.max() - counts.min() <= 1
        assert counts.min() >= 1


def test_all_copies_of_a_row_and_all_its_weight_are_in_one_fold():
    variables = Variables((2,) * 6)
    values = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T
    copied = np.repeat(np.arange(64), 3)
    weighted = Sample.of(variables, values, np.arange(64) % 2, np.linspace(0.5, 9.0, 64))
    repeated = Sample.of(variables, values[copied], copied % 2)
    for sample in (weighted, repeated):
        held_out = sample.folds(4)
        assert ((held_out > 0).sum(axis=0) == 1).all()
        np.testing.assert_allclose(held_out.sum(axis=0), sample.weights)


def test_equal_inputs_with_different_labels_are_in_one_fold():
    variables = Variables((2,) * 6)
    values = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T
    twice = np.repeat(np.arange(64), 2)
    sample = Sample.of(variables, values[twice], np.arange(128) % 2)
    fold = sample.folds(4).argmax(axis=0)
    fold_of_input = {}
    for row, row_fold in zip(sample.values, fold, strict=True):
        assert fold_of_input.setdefault(row.tobytes(), row_fold) == row_fold


def test_groups_that_were_given_are_held_out_together():
    variables, values, labels = random_rows(3, n=80)
    groups = np.random.default_rng(0).integers(0, 12, 80)
    sample = Sample.of(variables, values, labels, n_classes=3, groups=groups)
    held_out = sample.folds(4) > 0
    for group in range(12):
        folds = held_out[:, sample.groups == group]
        assert (folds == folds[:, :1]).all()


def test_cases_of_few_distinct_inputs_are_dealt_one_by_one():
    """Two inputs with 600 rows are no copies: held out as a whole, nothing could be learnt about them."""
    values = np.repeat([[0], [1]], 300, axis=0)
    sample = Sample.of(Variables((2,)), values, np.tile([0, 1, 1], 200))
    held_out = sample.folds(4)
    assert (held_out > 0).all()
    np.testing.assert_allclose(held_out, np.tile(sample.weights / 4, (4, 1)), atol=1)
    np.testing.assert_allclose(held_out.sum(axis=0), sample.weights)


def test_copies_of_a_row_keep_its_label_and_are_no_cases():
    """Ten rows of three columns with ten values each are few of the thousand that could be."""
    values = np.repeat(np.random.default_rng(0).permuted(np.tile(np.arange(10), (3, 1)), axis=1).T, 60, axis=0)
    sample = Sample.of(Variables((10, 10, 10)), values, np.repeat(np.arange(10) % 2, 60))
    assert ((sample.folds(4) > 0).sum(axis=0) == 1).all()


def test_a_table_of_few_columns_whose_label_follows_from_them_has_cases():
    values = np.repeat(np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T, 30, axis=0)
    sample = Sample.of(Variables((2, 2, 2)), values, values[:, 0])
    assert (sample.folds(4) > 0).all()


def test_rows_that_are_typical_of_a_class_are_cases():
    """Eight columns that nearly always agree with the label: a few combinations have most of the rows."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 400)
    values = np.where(rng.random((800, 8)) < 0.99, labels[:, None], 1 - labels[:, None])
    sample = Sample.of(Variables((2,) * 8), values, labels)
    frequent = sample.counts >= 4
    assert frequent.sum() >= 2
    assert (sample.folds(4)[:, frequent] > 0).all()


@pytest.mark.parametrize("n_copies", [30, (25, 35)])
def test_rows_that_were_drawn_again_are_copies(n_copies):
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, 10, (20, 4)), axis=0)
    counts = np.full(len(rows), n_copies) if isinstance(n_copies, int) else rng.integers(*n_copies, len(rows))
    values = np.repeat(rows, counts, axis=0)
    sample = Sample.of(Variables((10,) * 4), values, np.repeat(np.arange(len(rows)) % 2, counts))
    assert ((sample.folds(4) > 0).sum(axis=0) == 1).all()


def test_parts_of_a_table_keep_whether_its_repeats_are_cases():
    values = np.repeat([[0], [1]], 300, axis=0)
    sample = Sample.of(Variables((2,)), values, np.tile([0, 1, 1], 200), cases=False)
    assert ((sample.folds(4) > 0).sum(axis=0) <= 1).all()
    assert sample.take(np.arange(2)).cases is False


@pytest.mark.parametrize("seed", range(5))
def test_folds_hold_out_everything_once_and_never_all_of_a_class(seed):
    rng = np.random.default_rng(seed)
    variables, values, labels = random_rows(seed)
    sample = Sample.of(variables, values, labels, rng.choice([0.3, 1.0, 2.5, 9.0], len(values)))
    held_out = sample.folds(4)
    np.testing.assert_allclose(held_out.sum(axis=0), sample.weights, atol=1e-8)
    for c in range(3):
        mine = sample.labels == c
        assert (held_out[:, mine].sum(axis=1) < sample.class_weights[c] - 0.3).all()


def test_a_class_with_a_single_row_is_never_held_out():
    variables = Variables((2,) * 5)
    values = np.array(np.meshgrid(*[[0, 1]] * 5)).reshape(5, -1).T
    sample = Sample.of(variables, values, np.array([0] * 28 + [1] * 3 + [2]))
    held_out = sample.folds(5)
    assert (held_out[:, sample.labels == 2] == 0).all()
    assert (held_out[:, sample.labels < 2].sum(axis=0) == 1).all()
    assert not Sample.of(variables, values[:2], [0, 1]).folds(5).any()


def test_frequencies_by_hand():
    """Two rows of class 0 ([0, 0] and [1, ?]), three of class 1 ([0, 2] twice and [1, 1]); one more row as in all."""
    sample = Sample.of(ATOMS, VALUES, LABELS)
    assert sample.value_weights().tolist() == [[1, 1, 1, 0, 0], [2, 1, 0, 1, 2]]
    everywhere = np.array([3.5 / 6, 2.5 / 6, 1.5 / 5.5, 1.5 / 5.5, 2.5 / 5.5])
    expected = [
        [
            (1 + everywhere[0]) / 3,
            (1 + everywhere[1]) / 3,
            (1 + everywhere[2]) / 2,
            everywhere[3] / 2,
            everywhere[4] / 2,
        ],
        [
            (2 + everywhere[0]) / 4,
            (1 + everywhere[1]) / 4,
            everywhere[2] / 4,
            (1 + everywhere[3]) / 4,
            (2 + everywhere[4]) / 4,
        ],
    ]
    np.testing.assert_allclose(sample.marginals(), expected, rtol=1e-14)
    np.testing.assert_allclose(sample.class_prior, [2.5 / 6, 3.5 / 6])


@pytest.mark.parametrize("smoothing", [0.1, 1.0, 8.0])
def test_frequencies_are_positive_and_sum_to_one(smoothing):
    variables, values, labels = random_rows(7)
    values[:, 2] = -1  # never known
    table = Sample.of(variables, values, labels, n_classes=4).marginals(smoothing)  # class 3 has no rows
    assert (table > 0).all()
    for begin, end in zip(variables.offsets[:-1], variables.offsets[1:], strict=True):
        np.testing.assert_allclose(table[:, begin:end].sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(table[:, variables.offsets[2] : variables.offsets[3]], 0.5)


@pytest.mark.parametrize(
    ("values", "labels", "weights", "n_classes", "message"),
    [
        ([[0, 3]], [0], None, None, r"values\[0, 1\] is 3"),
        ([[0]], [0], None, None, "one column for each variable"),
        ([[0.5, 1]], [0], None, None, "not whole"),
        ([[0, 1]], [0, 1], None, None, "labels is .*; expected the class number of each of 1 rows"),
        ([[0, 1]], [0.0], None, None, "labels is .*; expected the class number of each of 1 rows"),
        ([[0, 1]], [-1], None, None, "labels is .*; expected the class number of each of 1 rows"),
        ([[0, 1]], [2], None, 2, "labels go up to 2, but there are only 2 classes"),
        ([[0, 1]], [0], [-1], None, "weights must be 1 numbers, none negative"),
        ([[0, 1]], [0], [np.nan], None, "weights must be 1 numbers"),
        ([[0, 1]], [0], [1, 1], None, "weights must be 1 numbers"),
        ([[0, 1]], [0], [0], None, "no row has a positive weight"),
        (np.zeros((0, 2)), np.zeros(0, dtype=int), None, None, "nothing to learn from"),
    ],
)
def test_what_makes_no_sense_is_refused(values, labels, weights, n_classes, message):
    with pytest.raises(ValueError, match=message):
        Sample.of(ATOMS, values, labels, weights, n_classes)
