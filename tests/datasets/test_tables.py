"""Tables in files: types and gaps as pandas has them, any range of rows as reading all of them gives, every format."""

import io
from datetime import datetime

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infopursuit.estimator import table_files as tables
from infopursuit.estimator.table_files import TableRows, read_frame, take_rows
from infopursuit.queries.frames import read_table


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["cat", "dog"], n)
    legs = np.where(rng.random(n) < 0.2, np.nan, rng.integers(2, 5, n))
    name = [f"animal {i}" for i in range(n)]
    return pd.DataFrame({"id": name, "weight": rng.normal(np.where(kind == "cat", 4, 9)), "legs": legs, "kind": kind})


def same_cells(one, other):
    """Whether two tables have the same columns with the same cells, of the same types."""
    one, other = (pa.table(each.to_native()) if isinstance(each, nw.DataFrame) else each for each in (one, other))
    return one.schema.equals(other.schema) and one.equals(other)


# ---- ranges of rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", [1, 7, 100])
def test_any_range_in_any_order_is_that_of_the_whole(tmp_path, group):
    whole = pd.concat([table(23, 0), table(1, 1), table(40, 2)], ignore_index=True)
    whole["count"] = pd.array([None if i % 50 == 7 else i for i in range(64)], dtype="Int64")  # gaps in one part only
    for name, start, stop in (("a", 0, 23), ("b", 23, 24), ("c", 24, 64)):
        whole[start:stop].to_parquet(tmp_path / f"{name}.parquet", row_group_size=group, index=False)
    rows = TableRows(sorted(tmp_path.iterdir()))
    expected = pa.Table.from_pandas(whole, preserve_index=False).replace_schema_metadata(None)
    assert rows.n_rows == 64
    assert rows.names == whole.columns.tolist()
    rng = np.random.default_rng(0)
    ranges = [(0, 64), (0, 0), (64, 64), *((i, i + 4) for i in range(0, 60, 4))]
    ranges += [tuple(sorted(rng.integers(0, 65, 2).tolist())) for _ in range(60)]
    for start, stop in ranges:
        assert same_cells(rows.read(start, stop), expected.slice(start, stop - start))
    assert same_cells(read_frame(tmp_path), expected)
    with pytest.raises(ValueError, match="rows 0 to 65 are not among the 64"):
        rows.read(0, 65)


def test_whole_numbers_with_a_gap_anywhere_are_numbers_everywhere(tmp_path):
    """A part must not depend on where the gaps are: 3 and 3.0 would not be the same category in words."""
    pq.write_table(pa.table({"a": [1, 2, 3, None], "b": [1, 2, 3, 4]}), tmp_path / "a.parquet", row_group_size=2)
    rows = TableRows([tmp_path / "a.parquet"])
    for start in (0, 2):
        part = read_table(rows.read(start, start + 2))
        assert [part.column(i).kind for i in range(2)] == ["number", "number"]
        assert part.column(0).text()[1][:1] == part.column(1).text()[1][:1] == (("1",) if start == 0 else ("3",))


def test_files_of_another_form_and_broken_ones_are_refused(tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"b": [1]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet has other columns than"):
        TableRows(sorted(tmp_path.iterdir()))
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[:-9] + b"\xff" * 9)
    with pytest.raises(ValueError, match=r"a\.parquet cannot be read as a table"):
        TableRows([tmp_path / "a.parquet"])


# ---- types of the cells of text tables ------------------------------------------------------------------------------


WORDS = ["", "1", "2.5", "-3", "1e3", "True", "False", "NA", "yes", "a,b", 'say "hi"', "two\nlines", "ä", " x "]
WORDS += [" 7", "+4", "007", "0x10", "None", "inf", "2020-01-31", "12:30"]
CELLS = st.one_of(st.sampled_from(WORDS), st.integers(-5, 5).map(str))
KINDS = [["1", "-3", "", "NA"], ["1", "2.5", "1e3", " 7"], ["True", "false", ""], WORDS]
COLUMNS = st.sampled_from(KINDS).flatmap(lambda words: st.lists(st.sampled_from(words), min_size=6, max_size=6))


@given(columns=st.lists(COLUMNS, min_size=1, max_size=3))
@settings(max_examples=100)
def test_cells_have_the_types_that_pandas_finds(columns, tmp_path_factory):
    """Apart from numbers with a gap, which Arrow keeps whole."""
    file = tmp_path_factory.mktemp("types") / "a.csv"
    names = [f"c{i}" for i in range(len(columns))]
    pd.DataFrame(dict(zip(names, columns, strict=True))).assign(last="z").to_csv(file, index=False)
    theirs, ours = pd.read_csv(file), read_frame(file)
    for name in names:
        for mine, wanted in zip(ours[name].to_list(), theirs[name].tolist(), strict=True):
            if pd.isna(wanted):
                assert mine is None
            elif isinstance(wanted, float):
                assert float(mine) == wanted
            else:
                assert type(mine) is type(wanted)
                assert mine == (wanted.strip() if isinstance(wanted, str) else wanted)  # no spaces around categories


@pytest.mark.parametrize(
    ("separator", "cells", "expected"),
    [
        (",", ["1.5", "2.5", "unknown", "-"], [1.5, 2.5, None, None]),
        (",", ['"1,200"', '"12,345.5"', "7"], [1200.0, 12345.5, 7.0]),
        (",", ["12%", "15 %", "n.a."], [12.0, 15.0, None]),
        (",", ["$3", "€4", "£5.5"], [3.0, 4.0, 5.5]),
        (";", ["12,5", "1.234,5", "9"], [12.5, 1234.5, 9.0]),
        (";", ["1.25", "2.5", "x"], ["1.25", "2.5", "x"]),
        (";", ["36,6"], [36.6]),
        (";", ["36,6", "k.A."], [36.6, None]),
        (",", ["a", " b", "b "], ["a", "b", "b"]),
        (",", ["1", "unknown", "unknown", "none"], ["1", "unknown", "unknown", "none"]),
        (",", ["unknown", "none"], ["unknown", "none"]),
    ],
)
def test_numbers_are_read_as_people_write_them(separator, cells, expected, tmp_path):
    lines = [f"n{separator}z", *(f"{cell}{separator}z" for cell in cells)]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    assert read_frame(tmp_path / "a.csv")["n"].to_list() == expected


def test_a_few_strange_cells_among_numbers_are_missing_and_named(tmp_path):
    (tmp_path / "a.csv").write_text("n,z\n" + "\n".join(f"{i / 2},z" for i in range(40)) + "\n<5,z\n")
    with pytest.warns(UserWarning, match="column 'n'.*1 cells.*'<5'"):
        frame = read_frame(tmp_path / "a.csv")
    assert frame["n"].to_list() == [*(i / 2 for i in range(40)), None]


def test_short_rows_far_down_are_filled_and_long_ones_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK", 100)
    lines = ["a,b", *(f"{i},{i % 3}" for i in range(200)), "200", "", "201,1"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    frame = read_frame(tmp_path / "a.csv")
    assert frame["a"].to_list() == list(range(202))
    assert frame["b"].to_list()[-3:] == [1, None, 1]
    (tmp_path / "a.csv").write_text("\n".join([*lines, "1,2,3"]))
    with pytest.raises(ValueError, match=r"a\.csv has a row of 3 cells"):
        read_frame(tmp_path / "a.csv")


# ---- formats and libraries ------------------------------------------------------------------------------------------


def test_every_format_gives_the_same_table(tmp_path):
    frame = table(30)
    frame["born"], frame["tame"] = ["2020-01-31 late"] * 30, [True, False, None] * 10
    wanted = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv.gz", index=False, sep="\t")
    frame.set_index("id", drop=False).rename_axis("row").to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.tsv.gz", "a.parquet"):
        found = pa.table(read_frame(tmp_path / name).to_native())
        assert found.column_names == wanted.column_names, name
        for column in wanted.column_names:
            cells = zip(found[column].to_pylist(), wanted[column].to_pylist(), strict=True)
            assert all(one == (pytest.approx(two, rel=1e-12) if isinstance(two, float) else two) for one, two in cells)


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(ValueError, match="folder without Parquet files"):
        read_frame(tmp_path)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_data_frames_of_every_library_stay_what_they_are(make):
    frame = make({"a": [1, 2, 3], "b": ["x", "y", None]})
    assert read_frame(frame).columns == ["a", "b"]
    some = take_rows(frame, [2, 0])
    assert type(some) is type(frame)
    assert read_frame(some)["a"].to_list() == [3, 1]


def test_rows_of_lists_and_arrays():
    assert take_rows(["a", "b", "c"], [2, 0]) == ["c", "a"]
    assert take_rows(np.arange(6).reshape(3, 2), [2, 0]).tolist() == [[4, 5], [0, 1]]


def test_names_that_are_numbers_become_texts():
    assert read_frame(pd.DataFrame(np.eye(2))).columns == ["0", "1"]
    with pytest.raises(TypeError, match="table is a StringIO"):
        read_frame(io.StringIO())


@pytest.mark.parametrize("text", ["größe,x\nklein,1\n", "größe;x\n„groß“\n", "x\n5 €\n"])
def test_spreadsheets_of_western_windows_are_read_and_the_encoding_is_named(tmp_path, text):
    file, whole = tmp_path / "t.csv", tmp_path / "utf8.csv"
    file.write_bytes(text.encode("cp1252"))
    whole.write_bytes(text.encode())
    with pytest.warns(UserWarning, match="Windows-1252"):
        found = read_frame(file)
    assert found.to_dict(as_series=False) == read_frame(whole).to_dict(as_series=False)


@pytest.mark.parametrize(
    "cells",
    [
        ["31.12.2020", "1.2.2021", ""],
        ["31/12/2020", "1/2/2021", ""],
        ["12/31/2020", "2/1/2021", ""],
        ["31-12-2020", "01-02-2021", "k.A."],
        ["2020-12-31", "2021-02-01", "#NV"],
    ],
)
def test_dates_as_people_write_them(tmp_path, cells):
    file = tmp_path / "t.csv"
    file.write_text("day,x\n" + "".join(f"{cell},1\n" for cell in cells))
    assert read_frame(file)["day"].to_list() == [datetime(2020, 12, 31), datetime(2021, 2, 1), None]


@pytest.mark.parametrize("cells", [["1/2/2020", "3/4/2021"], ["31/12/2020", "12/31/2020"], ["31.2.2020", "1.1.2020"]])
def test_dates_that_are_none_or_ambiguous_stay_texts(tmp_path, cells):
    file = tmp_path / "t.csv"
    file.write_text("day,x\n" + "".join(f"{cell},1\n" for cell in cells))
    assert read_frame(file)["day"].to_list() == cells
