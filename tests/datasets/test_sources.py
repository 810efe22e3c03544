"""What a job reads: any range of any kind of source is what reading all of it gives, by row and by name."""

import numpy as np
import pandas as pd
import pytest

import infopursuit as ip
from infopursuit.app.datasets.examples import Source


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


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("gone.csv", "neither a file nor a data set, nor a folder"),
        ("empty", "neither a file"),
    ],
)
def test_what_is_not_there_is_told(tmp_path, place, said):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=said):
        Source(place, None, None, base=str(tmp_path)).identity()


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
