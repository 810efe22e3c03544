"""What a job reads: any range of any kind of source is what reading all of it gives, and memory stays small."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import infopursuit as ip
from infopursuit.datasets.table_files import read_frame
from infopursuit.jobs import parquet_rows, sources, staging
from infopursuit.jobs.parquet_rows import ParquetRows
from infopursuit.jobs.sources import Place
from infopursuit.jobs.staging import stage_table


@pytest.fixture(scope="module")
def pixels():
    """A model that asks about images of 3 x 3."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = (rng.random((80, 3, 3)) < np.where(y, 0.8, 0.2)[:, None, None]).astype(np.uint8)
    return ip.InformationPursuitClassifier(ip.queries.patches((3, 3), size=2), "table").fit(X, y).pursuit_


@pytest.fixture(scope="module")
def columns():
    """A model that asks about the columns of a table."""
    frame = table(60)
    return (
        ip.InformationPursuitClassifier(model="table").fit(frame.drop(columns=["kind", "id"]), frame["kind"]).pursuit_
    )


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["cat", "dog"], n)
    legs = np.where(rng.random(n) < 0.2, np.nan, rng.integers(2, 5, n))
    name = [f"animal {i}" for i in range(n)]
    return pd.DataFrame({"id": name, "weight": rng.normal(np.where(kind == "cat", 4, 9)), "legs": legs, "kind": kind})


# ---- Parquet --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", [1, 7, 100])
def test_any_range_in_any_order_is_that_of_the_whole(tmp_path, monkeypatch, group):
    monkeypatch.setattr(parquet_rows, "AT_ONCE", 5)
    whole = pd.concat([table(23, 0), table(1, 1), table(40, 2)], ignore_index=True)
    whole["count"] = pd.array([None if i % 50 == 7 else i for i in range(64)], dtype="Int64")  # gaps in one part only
    for name, start, stop in (("a", 0, 23), ("b", 23, 24), ("c", 24, 64)):
        whole[start:stop].to_parquet(tmp_path / f"{name}.parquet", row_group_size=group, index=False)
    rows = ParquetRows(sorted(tmp_path.iterdir()))
    expected = pd.read_parquet(tmp_path)
    expected["count"] = expected["count"].astype("float64")
    assert rows.n_rows == 64
    rng = np.random.default_rng(0)
    ranges = [(0, 64), (0, 0), (64, 64), *((i, i + 4) for i in range(0, 60, 4))]
    ranges += [tuple(sorted(rng.integers(0, 65, 2).tolist())) for _ in range(60)]
    for start, stop in ranges:
        found = rows.frame(start, stop)
        found["count"] = found["count"].astype("float64")
        pd.testing.assert_frame_equal(found, expected[start:stop].reset_index(drop=True), check_dtype=stop > start)


def test_whole_numbers_with_a_gap_anywhere_are_floats_everywhere(tmp_path):
    """As pandas would have them if it read all: 3 and 3.0 are not the same category in words."""
    pq.write_table(pa.table({"a": [1, 2, 3, None], "b": [1, 2, 3, 4]}), tmp_path / "a.parquet", row_group_size=2)
    first = ParquetRows([tmp_path / "a.parquet"]).frame(0, 2)
    assert [dtype.kind for dtype in first.dtypes] == ["f", "i"]


def test_ranges_that_follow_each_other_decode_every_row_once(tmp_path, monkeypatch):
    """A group is decoded from its first row; beginning anew for each range would take quadratic time."""
    monkeypatch.setattr(parquet_rows, "AT_ONCE", 10)
    pd.DataFrame({"a": np.arange(1000)}).to_parquet(tmp_path / "a.parquet")
    decoded = []
    real = pq.ParquetFile.iter_batches

    def counting(self, *args, **options):
        for batch in real(self, *args, **options):
            decoded.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counting)
    rows = ParquetRows([tmp_path / "a.parquet"])
    for start in range(0, 1000, 25):
        assert rows.frame(start, start + 25)["a"].tolist() == list(range(start, start + 25))
    assert sum(decoded) == 1000


def test_files_of_another_form_and_broken_ones_are_refused(tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"b": [1]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet has other columns than"):
        ParquetRows(sorted(tmp_path.iterdir()))
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[:-9] + b"\xff" * 9)
    with pytest.raises(ValueError, match=r"a\.parquet cannot be read as Parquet"):
        ParquetRows([tmp_path / "a.parquet"])


# ---- large tables of text -------------------------------------------------------------------------------------------


WORDS = ["", "1", "2.5", "-3", "1e3", "True", "False", "NA", "yes", "a,b", 'say "hi"', "two\nlines", "ä", " x "]
CELLS = st.one_of(st.sampled_from(WORDS), st.integers(-5, 5).map(str))


@given(
    rows=st.integers(1, 4).flatmap(lambda wide: st.lists(st.lists(CELLS, min_size=wide, max_size=wide), min_size=1)),
    chunk=st.integers(1, 4),
)
@settings(max_examples=60, deadline=None)
def test_a_staged_table_is_the_table_that_pandas_reads_at_once(rows, chunk, tmp_path_factory):
    folder = tmp_path_factory.mktemp("staged")
    names = [f"c{i}" for i in range(len(rows[0]))]
    pd.DataFrame(rows, columns=names).to_csv(folder / "a.csv", index=False, lineterminator="\n")
    before, staging.CHUNK = staging.CHUNK, chunk
    try:
        stage_table(folder / "a.csv", folder / "a.parquet", progress=False)
    finally:
        staging.CHUNK = before
    whole = read_frame(folder / "a.csv")
    staged = ParquetRows([folder / "a.parquet"]).frame(0, len(whole))
    assert staged.columns.tolist() == whole.columns.tolist()
    for name in names:
        for one, other in zip(whole[name].tolist(), staged[name].tolist(), strict=True):
            assert (pd.isna(one) and pd.isna(other)) or (type(one) is type(other) and one == other), (name, one, other)


def test_large_files_are_staged_and_give_the_same_inputs(columns, tmp_path, monkeypatch):
    frame = table(50, 3)
    frame.to_csv(tmp_path / "a.csv", index=False)
    np.savez_compressed(tmp_path / "a.npz", x=np.eye(9, dtype=np.uint8).reshape(9, 3, 3), y=np.arange(9) % 2)
    place = Place(str(tmp_path / "a.csv"), "kind", "id", str(tmp_path / "job"))
    small = place.open(columns)
    assert place.staged is None
    monkeypatch.setattr(sources, "SMALL", 10)
    monkeypatch.setattr(staging, "CHUNK", 7)
    place.prepare(progress=False)
    assert place.staged.is_file()
    large = place.open(columns)
    assert isinstance(small, sources.Whole)
    assert isinstance(large, sources.Table)
    for start, stop in ((0, 50), (13, 20)):
        one, other = small.read(start, stop), large.read(start, stop)
        np.testing.assert_array_equal(columns.queries.observe(one.X), columns.queries.observe(other.X))
        assert one.y.tolist() == other.y.tolist() == frame["kind"][start:stop].tolist()
        assert list(one.names) == list(other.names) == frame["id"][start:stop].tolist()


def test_large_arrays_are_staged(pixels, tmp_path, monkeypatch):
    x, y = np.eye(9, dtype=np.uint8).reshape(9, 3, 3), np.arange(9) % 2
    np.savez_compressed(tmp_path / "a.npz", x=x, y=y)
    monkeypatch.setattr(sources, "SMALL", 10)
    place = Place(str(tmp_path / "a.npz"), None, None, str(tmp_path / "job"))
    place.prepare()
    source = place.open(pixels)
    assert isinstance(source, sources.Arrays)
    some = source.read(2, 5)
    np.testing.assert_array_equal(some.X, x[2:5])
    assert some.y.tolist() == y[2:5].tolist()


# ---- images ---------------------------------------------------------------------------------------------------------


def test_a_folder_of_images_is_read_by_name_with_the_folders_as_labels(pixels, tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 2, (6, 3, 3)).astype(np.uint8)
    for i, image in enumerate(images):
        (tmp_path / str(i % 2)).mkdir(exist_ok=True)
        Image.fromarray(255 * image).save(tmp_path / str(i % 2) / f"{i}.png")
    source = Place(str(tmp_path), None, None, "").open(pixels)
    some = source.read(0, 6)
    assert list(some.names) == ["0/0.png", "0/2.png", "0/4.png", "1/1.png", "1/3.png", "1/5.png"]
    assert some.y.tolist() == [0, 0, 0, 1, 1, 1]
    np.testing.assert_array_equal(some.X, images[[0, 2, 4, 1, 3, 5]])
    assert source.read(4, 5).names == ["1/3.png"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no image", "cannot be read as an image"),
        (None, "4 pixels high and 3 wide; the model asks about images of 3 x 3"),
    ],
)
def test_what_is_no_fitting_image_is_named(pixels, tmp_path, content, said):
    if content is None:
        held = io.BytesIO()
        Image.new("L", (3, 4)).save(held, "png")
        content = held.getvalue()
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(ValueError, match=said):
        Place(str(tmp_path), None, None, "").open(pixels).read(0, 1)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (("gone.csv", None, None), "neither a file nor a data set, nor a folder"),
        (("empty", None, None), "neither a file"),
    ],
)
def test_what_is_not_there_is_told(tmp_path, monkeypatch, place, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=said):
        Place(*place, "").identity()


def test_a_row_with_a_strange_label_is_named_by_its_number_in_the_file(columns, tmp_path):
    frame = table(30)
    frame.loc[17, "kind"] = "cow"
    frame.to_parquet(tmp_path / "a.parquet")
    source = Place(str(tmp_path / "a.parquet"), "kind", "id", "").open(columns)
    assert source.read(0, 10).y.tolist() == frame["kind"][:10].tolist()
    with pytest.raises(ValueError, match="row 17, is 'cow', which is no class"):
        source.read(10, 20)
    with pytest.raises(ValueError, match="no column 'nobody' for name"):
        Place(str(tmp_path / "a.parquet"), "kind", "nobody", "").open(columns)


def test_the_identity_changes_with_the_content_and_with_nothing_else(tmp_path):
    table(30).to_csv(tmp_path / "a.csv", index=False)
    place = Place(str(tmp_path / "a.csv"), None, None, "")
    one = place.identity()
    assert Place(str(tmp_path / "." / "a.csv"), None, None, "elsewhere").identity() == one
    table(30, 1).to_csv(tmp_path / "a.csv", index=False)
    assert place.identity() != one
