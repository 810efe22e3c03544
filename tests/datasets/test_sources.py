"""What a job reads: any range of any kind of source is what reading all of it gives, by row and by name."""

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import infopursuit as ip
from infopursuit.datasets.examples import Source


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
        ip.InformationPursuitClassifier(strategy="table")
        .fit(frame.drop(columns=["kind", "id"]), frame["kind"])
        .pursuit_
    )


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["cat", "dog"], n)
    legs = np.where(rng.random(n) < 0.2, np.nan, rng.integers(2, 5, n))
    name = [f"animal {i}" for i in range(n)]
    return pd.DataFrame({"id": name, "weight": rng.normal(np.where(kind == "cat", 4, 9)), "legs": legs, "kind": kind})


def test_a_folder_of_images_is_read_by_name_with_the_folders_as_labels(pixels, tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 2, (6, 3, 3)).astype(np.uint8)
    for i, image in enumerate(images):
        (tmp_path / str(i % 2)).mkdir(exist_ok=True)
        Image.fromarray(255 * image).save(tmp_path / str(i % 2) / f"{i}.png")
    source = Source(str(tmp_path), None, None).open(pixels)
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
        Source(str(tmp_path), None, None).open(pixels).read(0, 1)


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
        Source(*place).identity()


def test_a_row_with_a_strange_label_is_named_by_its_number_in_the_file(columns, tmp_path):
    frame = table(30)
    frame.loc[17, "kind"] = "cow"
    frame.to_parquet(tmp_path / "a.parquet")
    source = Source(str(tmp_path / "a.parquet"), "kind", "id").open(columns)
    assert source.read(0, 10).y.tolist() == frame["kind"][:10].tolist()
    with pytest.raises(ValueError, match="row 17, is 'cow', which is no class"):
        source.read(10, 20)
    with pytest.raises(ValueError, match="no column 'nobody' for name"):
        Source(str(tmp_path / "a.parquet"), "kind", "nobody").open(columns)


def test_the_identity_changes_with_the_content_and_with_nothing_else(tmp_path):
    table(30).to_csv(tmp_path / "a.csv", index=False)
    place = Source(str(tmp_path / "a.csv"), None, None)
    one = place.identity()
    assert Source(str(tmp_path / "." / "a.csv"), None, None).identity() == one
    table(30, 1).to_csv(tmp_path / "a.csv", index=False)
    assert place.identity() != one
