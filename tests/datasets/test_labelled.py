"""Which columns are asked about, what kind of table it is, and tables of every make."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import infopursuit as ip
from infopursuit.estimator.labelled import label_table


def people(n=60):
    rng = np.random.default_rng(0)
    sick = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "name": [f"person {i}" for i in range(n)],
            "fever": np.where(rng.random(n) < 0.9, sick, 1 - sick),
            "age": rng.integers(20, 80, n),
            "country": "here",
            "empty": np.nan,
            "label": np.where(sick, "flu ", "none"),
        }
    )


def test_what_cannot_be_asked_about_is_left_out_and_said():
    table = label_table(people(), "label")
    assert table.left_out == {
        "id": "row numbers",
        "name": "a name: it differs from row to row",
        "country": "the same in every row",
        "empty": "empty",
    }
    assert table.X.columns.tolist() == ["fever", "age"]
    assert table.classes.tolist() == ["flu", "none"]
    assert not table.facts


def test_dropping_and_keeping():
    table = label_table(people(), "label", drop=["age"], keep=["name"])
    assert table.left_out["age"] == "as you said"
    assert table.X.columns.tolist() == ["name", "fever"]


def test_rows_without_a_label_are_left_out():
    frame = people()
    frame.loc[[3, 5], "label"] = [None, "  "]
    table = label_table(frame, "label")
    assert (table.unlabelled, len(table.y), len(table.X)) == (2, 58, 58)


@pytest.mark.parametrize(("rows", "labels", "facts"), [(6, 6, True), (11, 6, True), (18, 6, False), (100, 2, False)])
def test_few_rows_for_a_label_are_facts(rows, labels, facts):
    frame = pd.DataFrame({"y": [f"c{i % labels}" for i in range(rows)], "x": [i % 2 for i in range(rows)]})
    assert label_table(frame, "y").facts is facts
    assert label_table(frame, "y", facts=not facts).facts is not facts


def test_labels_keep_their_kind():
    frame = pd.DataFrame({"y": [1.0, 2.0, 1.0, np.nan], "x": [0, 1, 0, 1]})
    assert label_table(frame, "y").classes.tolist() == [1, 2]
    assert label_table(frame.assign(y=[True, False, True, None]), "y").classes.tolist() == [False, True]
    assert label_table(frame.assign(y=[1, "b", 1, None]), "y").classes.tolist() == ["1", "b"]


def test_five_lines_and_the_same_from_every_make_of_table(tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    clf = ip.fit_table(tmp_path / "a.csv", label="label")
    clf.save(tmp_path / "model")
    asked = frame[["fever", "age"]]
    wanted = ip.load(tmp_path / "model").explain(asked).posteriors
    makes = [frame, pl.from_pandas(frame), pl.from_pandas(frame).to_arrow(), str(tmp_path / "a.parquet")]
    for table in makes:
        np.testing.assert_allclose(ip.fit_table(table, "label").explain(asked).posteriors, wanted, atol=1e-9)


def test_numbers_as_names_of_many_labels_are_no_regression():
    frame = pd.DataFrame({"code": range(60), "a": [i % 2 for i in range(60)], "b": [i // 2 % 30 for i in range(60)]})
    assert ip.fit_table(frame, "code").classes_.tolist() == list(range(60))


@pytest.mark.parametrize("first", ["a;b;y", "﻿a,b,y", '"a";"b,c";y'])
def test_separators_and_marks(tmp_path, first):
    separator = ";" if ";" in first else ","
    rows = [first] + [separator.join(map(str, (i % 2, i % 3, "jä" if i % 2 else "nö"))) for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(rows), encoding="utf-8")
    table = label_table(tmp_path / "t.csv", "y")
    assert table.X.column_names[0] == "a"
    assert table.X.shape == (12, 2)
    assert table.classes.tolist() == ["jä", "nö"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"label": "Label"}, "label='Label' is no column of the table; did you mean 'label'"),
        ({"label": "zzzz"}, "there are 'id', 'name'"),
        ({"drop": ["feaver"]}, "drop='feaver' .* did you mean 'fever'"),
        ({"keep": ["nam"]}, "keep='nam' .* did you mean 'name'"),
        ({"drop": ["label"]}, "is the column of the labels"),
        ({"drop": ["fever", "age"]}, "no column is left to ask about"),
        ({"label": "country"}, "has one label only, 'here'"),
        ({"label": "empty"}, "is an empty column"),
    ],
)
def test_what_is_refused(options, named):
    with pytest.raises(ValueError, match=named):
        label_table(people(), **{"label": "label", **options})


def test_other_things_are_no_tables(tmp_path):
    with pytest.raises(TypeError, match="table is a list"):
        label_table([[1]], "a")
    (tmp_path / "a.csv").write_bytes(b"y,x\nn\x81,1\n")  # neither UTF-8 nor Windows-1252
    with pytest.raises(ValueError, match="is not UTF-8"):
        label_table(tmp_path / "a.csv", "y")
    (tmp_path / "a.xlsx").write_bytes(b"")
    with pytest.raises(ValueError, match=r"ends in '.xlsx'; give a .csv"):
        label_table(tmp_path / "a.xlsx", "y")
