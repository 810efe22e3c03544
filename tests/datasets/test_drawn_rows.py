"""Files with more rows than wanted: a uniform draw in the order of the file, without all of it in memory."""

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.estimator import table_files as tables
from infopursuit.estimator.table_files import read_frame

N = 5_000
FRAME = pd.DataFrame({"row": np.arange(N), "half": np.arange(N) / 2, "name": [f"n{i}" for i in range(N)]})


@pytest.fixture(params=["csv", "parquet", "folder"])
def file(request, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK", 4096)  # many blocks
    if request.param == "csv":
        FRAME.to_csv(tmp_path / "t.csv", index=False)
        return tmp_path / "t.csv"
    if request.param == "parquet":
        FRAME.to_parquet(tmp_path / "t.parquet", row_group_size=300, index=False)
        return tmp_path / "t.parquet"
    for part in range(4):
        FRAME[part * N // 4 : (part + 1) * N // 4].to_parquet(tmp_path / f"{part}.parquet", index=False)
    return tmp_path


def test_rows_are_drawn_whole_and_in_order(file):
    drawn = read_frame(file, max_rows=700, seed=3).to_pandas()
    assert len(drawn) == 700
    rows = drawn["row"].to_numpy()
    assert (np.diff(rows) > 0).all()
    pd.testing.assert_frame_equal(drawn, FRAME.iloc[rows].reset_index(drop=True), check_dtype=False)
    again = read_frame(file, max_rows=700, seed=3).to_pandas()
    np.testing.assert_array_equal(again["row"], rows)
    assert set(read_frame(file, max_rows=700, seed=4)["row"].to_list()) != set(rows.tolist())


def test_every_row_is_drawn_as_often_as_another(file):
    counts = np.zeros(N)
    for seed in range(40):
        counts[read_frame(file, max_rows=1000, seed=seed)["row"].to_numpy()] += 1
    tenths = counts.reshape(10, -1).sum(axis=1)
    assert tenths.sum() == 40_000
    assert np.abs(tenths - 4_000).max() < 5 * np.sqrt(4_000)


def test_fewer_rows_are_read_as_they_are(file):
    assert len(read_frame(file, max_rows=N)) == len(read_frame(file)) == N


@pytest.mark.usefixtures("quick_hybrid")
def test_a_classifier_learns_from_the_rows_that_were_drawn(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(3_000, 3)), columns=list("abc")).assign(label=np.repeat(["no", "yes"], 1_500))
    frame.loc[frame.label == "yes", "a"] += 3
    frame.to_parquet(tmp_path / "t.parquet")
    clf = ip.fit_table(tmp_path / "t.parquet", label="label", max_rows=600)
    assert clf.tuning_.n_rows <= 600
    assert clf.score(frame[["a", "b", "c"]], frame.label) > 0.85


def test_dates_and_question_marks_of_a_csv(tmp_path):
    """Dates become dates, where all cells are; "?" is missing."""
    lines = ["day,wrong,number", "2024-05-17,2024-02-31,3", "2024-05-18 12:30,2024-02-03,?", ",2024-02-03,4.5"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    frame = read_frame(tmp_path / "t.csv").to_native()
    assert str(frame.schema.field("day").type) == "timestamp[us]"
    assert str(frame.schema.field("wrong").type) == "string"
    assert frame["number"].to_pylist() == [3.0, None, 4.5]
