"""What a classifier remembers of its training answers: true counts, small, and back from the disk as they were."""

import json
from pathlib import Path

import numpy as np
import pytest

import infopursuit as ip
from infopursuit import answer_profile
from infopursuit.answer_profile import AnswerProfile, effective_rows
from infopursuit.models.sample import Sample
from infopursuit.types import Variables
from test_serialization import NAMES, marks, read, table, write

V1 = Path(__file__).parent / "data" / "model_v1"


def fitted(weights=None, **options):
    X, y = marks()
    clf = ip.InformationPursuitClassifier(ip.queries.concepts(NAMES), ip.models.naive_bayes(1.0), **options)
    return clf.fit(X, y, sample_weight=weights), X, y


def test_the_counts_are_those_of_the_training_rows():
    X, y = table()
    clf = ip.InformationPursuitClassifier(strategy=ip.models.naive_bayes(1.0)).fit(X, y)
    profile, values = clf.profile_, clf.queries_.observe(X)
    assert profile.n_rows == 80
    assert profile.by_class
    for c, label in enumerate(clf.classes_):
        mine = values[y == label]
        assert profile.class_weights[c] == len(mine)
        for variable, size in enumerate(profile.variables.sizes):
            start = profile.variables.offsets[variable]
            counts = [(mine[:, variable] == value).sum() for value in range(size)]
            assert profile.values[c, start : start + size].tolist() == counts
            assert profile.missing[c, variable] == (mine[:, variable] == -1).sum()
    known, missing, n = profile.counts()
    assert (known.sum() + missing.sum(), n) == (80 * 4, 80)


def test_weights_count_and_many_rows_of_little_weight_are_fewer_than_they_seem():
    weights = np.where(np.arange(60) < 20, 3.0, 0.5)
    clf, X, y = fitted(weights)
    profile = clf.profile_
    np.testing.assert_allclose(profile.class_weights, [weights[y == c].sum() for c in range(3)])
    assert profile.n_rows == pytest.approx(weights.sum() ** 2 / (weights**2).sum()) == effective_rows(weights, 60)
    known, missing, n = profile.counts()
    share = (weights * (X[:, 0] == 1)).sum() / weights.sum()
    assert known[1] / n == pytest.approx(share)
    assert known[:2].sum() + missing[0] == pytest.approx(n)


def test_other_shares_of_the_classes():
    """Every class counts by its share; the number of rows is what that is worth."""
    clf, X, y = fitted()
    share = np.array([0.2, 0.2, 0.6])
    known, missing, n = clf.profile_.counts(share)
    expected = sum(share[c] * (X[y == c, 4] == 1).mean() for c in range(3))
    assert known[9] / n == pytest.approx(expected)
    assert missing[4] / n == pytest.approx(sum(share[c] * np.isnan(X[y == c, 4]).mean() for c in range(3)))
    assert n == pytest.approx(1 / sum(share[c] ** 2 / (y == c).sum() for c in range(3)))
    own = clf.profile_.class_weights / 60
    same = clf.profile_.counts(own)
    np.testing.assert_allclose(same[0], clf.profile_.counts()[0])
    assert same[2] == pytest.approx(60)


def test_many_classes_are_counted_together(monkeypatch):
    monkeypatch.setattr(answer_profile, "MAX_CELLS", 50)
    clf, X, _ = fitted()  # 3 classes of 18 values
    assert not clf.profile_.by_class
    assert clf.profile_.values.shape == (1, 18)
    known, missing, _ = clf.profile_.counts(np.array([1.0, 0, 0]))  # nothing is known of classes
    assert known[1] == (X[:, 0] == 1).sum()
    assert missing[0] == np.isnan(X[:, 0]).sum()
    assert not clf.drift(X).found


def test_the_fingerprint_knows_the_data_and_not_their_order():
    clf, X, y = fitted()
    again = ip.InformationPursuitClassifier(ip.queries.concepts(NAMES), ip.models.naive_bayes(1.0))
    order = np.random.default_rng(0).permutation(60)
    assert again.fit(X[order], y[order]).profile_.fingerprint == clf.profile_.fingerprint
    X = X.copy()
    X[0, 0] = 1 - np.nan_to_num(X[0, 0])
    assert again.fit(X, y).profile_.fingerprint != clf.profile_.fingerprint
    assert again.fit(X, np.roll(y, 1)).profile_.fingerprint != again.fit(X, y).profile_.fingerprint


# ---- on the disk ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_saved_and_comes_back(tmp_path, weighted):
    clf, X, _ = fitted(np.random.default_rng(0).random(60) / 3 if weighted else None)
    clf.save(tmp_path)
    again = ip.load(tmp_path).profile_
    np.testing.assert_array_equal(again.values, clf.profile_.values)
    np.testing.assert_array_equal(again.class_weights, clf.profile_.class_weights)
    assert (again.n_rows, again.fingerprint) == (clf.profile_.n_rows, clf.profile_.fingerprint)
    assert ip.load(tmp_path).drift(X).to_json() == clf.drift(X).to_json()


@pytest.mark.parametrize("name", ["table", "examples", "images"])
def test_models_saved_before_have_none_and_still_load(name):
    clf = ip.load(V1 / name)
    assert not hasattr(clf, "profile_")
    assert "No profile of the training answers" in clf.model_card()
    expected = json.loads((V1 / f"{name}.json").read_text())
    X = np.array(expected["X"], dtype=object if expected["dtype"] == "object" else float)
    with pytest.raises(ValueError, match="no profile of its training answers"):
        clf.drift(X)
    assert not clf.drift(X, reference=X).found


def test_a_model_saved_before_is_saved_again_as_it_was(tmp_path):
    ip.load(V1 / "table").save(tmp_path)
    assert read(tmp_path)[0]["classifier"]["profile"] is None


def _put(key, value):
    return lambda profile: {**profile, key: value}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda profile: [], "damaged"),
        (lambda profile: {}, "damaged"),
        (_put("n_rows", 0), "n_rows of the profile is 0"),
        (_put("n_rows", "60"), "n_rows of the profile is '60'"),
        (_put("n_rows", True), "n_rows of the profile is True"),
        (_put("fingerprint", "../x"), "fingerprint of the profile"),
        (_put("class_weights", "1 2"), "class_weights of the profile must be 3 numbers"),
        (_put("class_weights", "1 2 -3"), "class_weights of the profile must be 3 numbers"),
        (_put("class_weights", "0 0 0"), "no rows of positive weight"),
        (_put("class_weights", "1 1 1"), "counts more values of a variable than there are rows"),
        (_put("class_weights", "1 1 1e999"), "too large"),
        (_put("class_weights", [1, 2, 3]), "class_weights of the profile must be 3 numbers"),
        (_put("values", "x"), "one row of counts"),
        (_put("values", ["1 2"]), "values of the profile must be 18 numbers"),
        (_put("values", ["nan " * 17 + "nan"]), "values of the profile must be 18 numbers"),
        (_put("values", ["1 " * 100_000]), "values of the profile must be 18 numbers"),
        (_put("values", [None] * 3), "values of the profile must be 18 numbers"),
    ],
)
def test_a_profile_that_was_altered_is_refused(tmp_path, change, message):
    clf, _, _ = fitted()
    clf.save(tmp_path)
    manifest, _ = read(tmp_path)
    manifest["classifier"]["profile"] = change(manifest["classifier"]["profile"])
    write(tmp_path, manifest)
    with pytest.raises(ip.ModelFormatError, match=message):
        ip.load(tmp_path)


def test_inputs_without_labels_have_a_profile_too():
    variables = Variables((2, 3))
    profile = AnswerProfile.of_values(variables, [[0, 2], [0, 2], [1, -1]])
    assert profile.values.tolist() == [[2, 1, 0, 0, 2]]
    assert profile.missing.tolist() == [[0, 1]]
    assert profile.n_rows == 3
    again = AnswerProfile.from_spec(profile.to_spec(), variables, 1)
    assert again.values.tolist() == profile.values.tolist()
    assert (
        profile.fingerprint
        == AnswerProfile.of(Sample.of(variables, [[1, -1], [0, 2], [0, 2]], [0, 0, 0]), 3).fingerprint
    )
