"""The image sets from npz files: real ones where they are, and made ones with every kind of damage."""

import numpy as np
import pytest

from benchmarks import datasets
from data_fixtures import use_data_folder, write


@pytest.mark.data
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "kmnist"])
def test_real_files(name, real_data):
    real_data(f"{name}.npz")
    data = datasets.load(name)
    assert data.x_train.shape[1:] == data.x_test.shape[1:] == (28, 28)
    assert data.x_train.dtype == data.x_test.dtype == np.uint8
    assert len(data.x_test) == 10_000
    assert data.n_classes == 10
    assert set(np.unique(data.y_train)) == set(range(10))
    assert data.x_train.max() == 255
    if name == "kmnist" and len(data.x_train) < 60_000:
        assert f"only {len(data.x_train):,} of the official 60,000" in data.description


@pytest.mark.data
def test_the_counts_of_mnist(real_data):
    real_data("mnist.npz")
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert np.bincount(datasets.mnist().y_test).tolist() == counts


def test_a_file_in_the_named_folder(folder):
    write(folder)
    data = datasets.mnist()
    assert data.class_names[3] == "class 3"
    assert data.y_train.dtype == np.int64
    assert repr(data) == "<mnist: 12 images of 28 x 28 to learn from, 5 to test on, 10 classes>"
    assert "CC BY-SA" in data.licence


def test_files_without_class_names_get_the_usual_ones(folder):
    write(folder, "fashion_mnist", class_names=None)
    assert datasets.fashion_mnist().class_names[9] == "Ankle boot"


def test_a_short_kmnist_says_so(folder):
    write(folder, "kmnist")
    assert "only 12 of the official 60,000" in datasets.kmnist().description


def test_a_missing_folder_is_called_missing(tmp_path, monkeypatch):
    use_data_folder(monkeypatch, tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        datasets.mnist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x_test": None}, "no array 'x_test'.*found x_train"),
        ({"x_train": None, "y_train": None}, "no array 'x_train' and no 'y_train'"),
        ({"x_train": np.zeros((12, 28, 27), dtype=np.uint8)}, r"\(12, 28, 27\)"),
        ({"x_train": np.zeros((12, 28, 28))}, "float64"),
        ({"y_train": np.zeros(11, dtype=np.uint8)}, "12 inputs, but y_train has 11 labels"),
        ({"y_train": np.zeros((12, 1), dtype=np.uint8)}, r"y_train.*\(12, 1\)"),
        ({"y_train": np.zeros(12)}, "y_train.*float64"),
        ({"y_test": np.full(5, 10)}, "labels from 10 to 10, but there are 10 classes"),
        ({"y_test": np.full(5, -1)}, "labels from -1 to -1"),
        ({"x_test": np.zeros((0, 28, 28), dtype=np.uint8), "y_test": np.zeros(0, dtype=int)}, "x_test is empty"),
        ({"y_test": np.array([None] * 5)}, "'y_test'"),  # would be a pickle
    ],
)
def test_what_does_not_fit_is_refused_by_name(folder, changes, message):
    path = write(folder, **changes)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.mnist()
    assert str(path) in str(caught.value)


def test_broken_files_are_refused(folder):
    path = write(folder)
    whole = path.read_bytes()
    middle = len(whole) // 3
    broken = (
        b"",
        b"not an archive at all",
        whole[: len(whole) // 2],
        whole[:middle] + b"\0" * 200 + whole[middle + 200 :],
    )
    for content in broken:
        path.write_bytes(content)
        with pytest.raises(ValueError, match="fetch it again") as caught:
            datasets.mnist()
        assert str(path) in str(caught.value)
        assert "pickle" not in str(caught.value)


def test_a_single_array_is_not_an_archive(folder):
    with (folder / "mnist.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match="is not an npz file"):
        datasets.mnist()
