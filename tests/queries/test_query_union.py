"""Columns, words, patches and functions about one table."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import infopursuit as ip
from infopursuit.models.networks.masked import Training
from infopursuit.queries import columns, concepts, functions, patches, union, words


def visits(n=160, seed=0):
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, 2, n)
    word = np.where(rng.random(n) < 0.9, np.where(ill, "fever", "check"), "age")
    frame = pd.DataFrame(
        {
            "age": rng.normal(40 + 15 * ill, 10).round(1),
            "sex": rng.choice(["f", "m"], n),
            "notes": [f"came with {w} number {i}" for i, w in enumerate(word)],
        }
    )
    return frame, np.where(ill, "flu", "none")


PARTS = (columns(), ("notes", words(size=5, stem=False)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_each_part_reads_its_columns(frame):
    X = frame(visits()[0].to_dict(orient="list"))
    qs = union(*PARTS).fit(X)
    assert qs.names[:2] == ("age", "sex")
    assert set(qs.names[2:]) == {"came", "number", "fever", "check", "notes: age"}
    assert qs.tabular
    apart = [columns(X.drop(columns="notes") if frame is pd.DataFrame else X.drop("notes")), qs.members[1]]
    seen = qs.read(X)
    first = apart[0].read(X)
    np.testing.assert_array_equal(seen.values[:, :2], first.values)
    np.testing.assert_array_equal(seen.numbers[:, :2], first.numbers)
    assert np.isnan(seen.numbers[:, 2:]).all()
    np.testing.assert_array_equal(seen.values[:, 2:], apart[1].observe(list(X["notes"])))
    assert qs.scale(0) == apart[0].scale(0)
    assert qs.scale(2) is None
    assert qs[2].sentence.endswith(" in notes?")


def test_names_that_clash_get_the_column_before_them():
    X = visits()[0]
    qs = union((["age", "sex"], columns()), ("notes", words(size=9, stem=False))).fit(X)
    assert "notes: age" in qs.names
    assert dict(qs.known_answers("age", 50.0))[0].value == 50
    assert qs.known_answers("notes: age", 1) == [(qs.names.index("notes: age"), (1,))]
    assert qs.known_answers("fever", 1) == [(qs.names.index("fever"), (1,))]


def test_patches_and_functions_beside_columns():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 2, (30, 4, 4))
    X = pd.DataFrame({"mass": rng.random(30), "scan": list(images)})
    heavy = functions({"heavy": lambda frame: frame["mass"] > 0.5})
    qs = union((["mass"], columns()), ("scan", patches((4, 4), 2)), heavy).fit(X)
    values = qs.observe(X)
    np.testing.assert_array_equal(values[:, 1:17], images.reshape(30, 16))
    np.testing.assert_array_equal(values[:, 17], X["mass"] > 0.5)
    assert qs.width == 4
    assert qs.say_answer(1, (0, 1, 0, 1)) == qs.members[1].say_answer(0, (0, 1, 0, 1))
    again = ip.queries.from_spec(
        "union", json.loads(json.dumps(qs.to_spec())), {"heavy": lambda frame: frame["mass"] > 0.5}
    )
    np.testing.assert_array_equal(again.observe(X), values)
    ip.testing.check_queries(union(([0], concepts(["a"])), ([1], concepts(["b"]))), np.eye(2))


@pytest.mark.parametrize(
    "strategy", ["table", ip.Hybrid(n_members=2, training=Training(max_steps=300, n_units=16))], ids=["table", "hybrid"]
)
def test_a_classifier_on_mixed_inputs_is_saved_and_loaded(strategy, tmp_path):
    X, y = visits()
    clf = ip.InformationPursuitClassifier(union(*PARTS), strategy, stopping=ip.MaxQueries(3)).fit(X, y)
    assert clf.score(X, y) > 0.7
    clf.save(tmp_path)
    again = ip.load(tmp_path)
    assert again.queries_.names == clf.queries_.names
    np.testing.assert_allclose(again.predict_proba(X), clf.predict_proba(X))
    session = again.session(known={"age": 60})
    assert session.question.name != "age"
    session.answer("yes" if "yes" in session.question.choices else 0)
    assert "known: age 60" in str(session.explanation)


def test_what_is_no_part_is_refused():
    for wrong in ((), ("notes",), (("notes", words(), 3),), (({}, words()),), ((["a", 1], words()),)):
        with pytest.raises(ValueError, match=r"parts has|reads is|union needs"):
            union(*wrong)
    with pytest.raises(ValueError, match="no column 'nots'"):
        union(columns(), ("nots", words())).fit(visits()[0])
