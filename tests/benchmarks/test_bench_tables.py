"""The comparison on tables: what is read, what is measured, and that nothing is measured twice."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from benchmarks import table_measures, table_peers, tables
from benchmarks.experiment import PARTS
from benchmarks.table_measures import acquisition, calibration_errors, measure
from benchmarks.table_peers import Outcome, encoder, one_standard_error, owners, path_lengths, pruned
from data_fixtures import use_data_folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with one small table: a number with gaps, a category with gaps, a column that leaks."""
    rng = np.random.default_rng(0)
    label = rng.random(120) < 0.4
    number = label + rng.normal(size=120) * 0.5
    lines = ["width,colour,id,kind"]
    for i in range(120):
        width = "?" if i % 10 == 0 else f"{number[i]:.4f}"
        colour = "" if i % 15 == 0 else "NA" if label[i] and i % 2 else "red"
        lines.append(f"{width},{colour},{int(label[i])},{'yes' if label[i] else 'no'}")
    data = tmp_path / "data" / "tables"
    data.mkdir(parents=True)
    (data / "toy.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (data / "types.json").write_text(json.dumps({"toy": {"width": "num", "colour": "cat", "id": "num", "kind": "cat"}}))
    use_data_folder(monkeypatch, tmp_path / "data")
    monkeypatch.setattr(tables, "TABLES", {"toy": tables.Table("kind", ("id",))})
    return tmp_path


def test_a_table_has_numbers_texts_and_gaps_and_no_column_that_leaks(folder):
    frame, labels = tables.read_table("toy")
    assert list(frame.columns) == ["width", "colour"]
    assert frame["width"].dtype == float
    assert np.flatnonzero(frame["width"].isna()).tolist() == list(range(0, 120, 10))
    assert frame["colour"][0] is None
    assert set(frame["colour"]) == {None, "NA", "red"}  # "NA" is a category, only "?" and nothing are gaps
    assert set(labels) == {"yes", "no"}


def test_folds_hold_every_row_once_and_the_classes_in_equal_shares(folder):
    _, labels = tables.read_table("toy")
    held = [rows for _, rows in tables.folds(labels)]
    assert sorted(np.concatenate(held).tolist()) == list(range(120))
    assert np.ptp([(labels[rows] == "yes").sum() for rows in held]) <= 1


def test_a_run_goes_on_where_an_earlier_one_stopped(folder, monkeypatch, capsys):
    calls = []

    def stopped(frame, labels, test, seed):
        if len(calls) == 3:
            raise MemoryError("no memory")
        calls.append(seed)
        share = (labels == "yes").mean()
        return {"guess": Outcome(np.array(["no", "yes"]), np.tile([1 - share, share], (len(test), 1)), 0.1, 0.1)}

    monkeypatch.setattr(tables, "METHODS", {"guess": stopped})
    out = folder / "results"
    assert tables.main(["--out", str(out)]) == 2
    assert calls == [0, 1, 2]
    calls[:] = [-1]  # so that none fails
    assert tables.main(["--out", str(out)]) == 0
    assert calls == [-1, 3, 4]
    assert len(list((out / PARTS / "tables").iterdir())) == 5
    result = json.loads((out / "tables.json").read_text())
    told = result["measured"]["toy"]["guess"]
    assert (told["inputs"], told["folds"], told["questions"]) == (120, 5, None)
    assert told["low"] < told["accuracy"] < told["high"]
    assert "| toy | 120 |" in capsys.readouterr().out
    calls[:] = [-1, -1, -1, -1]
    assert tables.main(["--out", str(out), "--folds", "2", "--again", "guess"]) == 0
    assert calls == [-1, -1, -1, -1, 0, 1]


def test_a_page_gets_the_tables(folder, monkeypatch):
    monkeypatch.setattr(tables, "METHODS", {"cart": table_peers.cart})
    page = folder / "RESULTS.md"
    page.write_text("before\n<!-- measured: tables -->\n<!-- end -->\nafter\n")
    assert tables.main(["--out", str(folder / "results"), "--page", str(page)]) == 0
    text = page.read_text()
    assert "`INFOPURSUIT_DATA=... python -m benchmarks.tables` (20" in text
    assert "| toy | 120 |" in text
    assert text.endswith("<!-- end -->\nafter\n")


def test_the_debiased_calibration_error_is_nought_in_the_mean_where_the_plain_one_is_not():
    rng = np.random.default_rng(1)
    found = []
    for seed in range(200):
        confidence = rng.uniform(0.5, 1, 150)
        found.append(calibration_errors(confidence, rng.random(150) < confidence, seed))
    plain, squared, excess = (np.array([each[name] for each in found]) for name in ("plain", "squared", "excess"))
    assert plain.mean() > 0.05
    for each in (squared, excess):
        assert abs(each.mean()) < 4 * each.std() / np.sqrt(len(each))


def test_the_debiased_calibration_error_finds_one_that_is_there():
    rng = np.random.default_rng(2)
    confidence = rng.uniform(0.7, 1, 4000)
    found = calibration_errors(confidence, rng.random(4000) < confidence - 0.2)
    assert found["debiased"] == pytest.approx(0.2, abs=0.03)
    assert found["plain"] == pytest.approx(0.2, abs=0.03)


def test_the_debiased_calibration_error_by_hand(monkeypatch):
    monkeypatch.setattr(table_measures, "BINS", 2)
    found = calibration_errors([0.6, 0.9, 0.6, 0.9, 0.6, 0.9], [1, 1, 0, 1, 0, 0])
    # bins of three: said 0.6, was 1/3; said 0.9, was 2/3; variances 2/9 / 2
    assert found["plain"] == pytest.approx((0.6 - 1 / 3 + 0.9 - 2 / 3) / 2)
    assert found["squared"] == pytest.approx(((0.6 - 1 / 3) ** 2 + (0.9 - 2 / 3) ** 2) / 2 - 1 / 9)
    assert found["debiased"] == 0.0


def test_a_class_that_the_training_part_lacks_counts_as_wrong():
    outcome = Outcome(np.array(["a", "c"]), np.array([[0.8, 0.2], [0.4, 0.6]]), 0.0, 0.0)
    found = measure(outcome, np.array(["a", "b"]), np.array(["a", "b", "c"]))
    assert found["accuracy"] == 0.5
    assert found["log_loss"] == pytest.approx((-np.log(0.8) - np.log(table_measures.LEAST)) / 2)


def test_a_pruned_tree_is_the_one_that_scikit_learn_grows_with_that_alpha():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 0).astype(int)
    grown = DecisionTreeClassifier(random_state=0).fit(X, y)
    for alpha in (0.0, 0.003, 0.01, 0.1):
        expected = DecisionTreeClassifier(random_state=0, ccp_alpha=alpha).fit(X, y)
        found = pruned(grown, alpha)
        assert found.get_n_leaves() == expected.get_n_leaves()
        assert np.array_equal(found.predict(X), expected.predict(X))
    assert pruned(grown, 0.0).get_n_leaves() == grown.get_n_leaves() > pruned(grown, 0.01).get_n_leaves()


def test_one_standard_error_takes_the_simplest_tree_that_is_as_good():
    right = np.zeros((100, 4), dtype=bool)
    for a, n in enumerate((85, 90, 88, 60)):
        right[:n, a] = True
    assert one_standard_error(right) == (1, 2)  # the error of 90 % of 100 is 3 points


def test_path_lengths_count_splits_and_distinct_columns():
    X = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0], [0, 1], [1, 1], [2, 1], [3, 1]])
    y = np.array([0, 1, 2, 3, 4, 4, 4, 4])
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    splits, columns = path_lengths(tree, X, np.array([0, 1]))
    assert splits.tolist() == (np.asarray(tree.decision_path(X).sum(axis=1)).ravel() - 1).tolist()
    assert columns.tolist() == [2, 2, 2, 2, 1, 1, 1, 1]
    assert splits.max() > 2


def test_features_know_their_columns():
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": [1.0, np.nan, 3.0], "c": [1.0, 2.0, 3.0]})
    frame["a"] = frame["a"].astype(object).where(frame["a"].notna(), None)
    plain, scaled = encoder(frame).fit(frame), encoder(frame, scaled=True).fit(frame)
    assert owners(plain, frame).tolist() == [1, 2, 0, 0, 0]
    assert owners(scaled, frame).tolist() == [1, 2, 1, 0, 0, 0]  # b is indicated where it is missing
    assert scaled.transform(frame).shape == (3, 6)


def test_differences_after_k_columns_carry_the_error_of_the_folds():
    ours = {"ckd": np.array([[90.0, 95.0], [92.0, 97.0], [0.0, 0.0]]), "adult": np.array([[80.0, 81.0]])}
    theirs = {"ckd": np.array([[89.0, 95.0], [89.0, 98.0]])}
    rows = acquisition({"ours": ours, "GDFS": theirs})  # the table and the fold that both have
    told = {"tables": 1, "folds": "2"}
    assert rows[0] == {"columns": "ours", "1": "91.0", "2": "96.0", **told}
    assert rows[-1] == {"columns": "ours less GDFS", "1": "+2.0 ± 1.0", "2": "-0.5 ± 0.5", **told}
    assert acquisition({"ours": {"adult": ours["adult"]}, "GDFS": theirs}) == []


def test_rows_of_one_confidence_share_a_bin():
    right = np.arange(1000) < 900  # in the order of the file, the wrong ones last
    errors = calibration_errors(np.full(1000, 0.9), right)
    assert errors["plain"] == pytest.approx(0, abs=1e-9)
    assert errors["debiased"] == 0
