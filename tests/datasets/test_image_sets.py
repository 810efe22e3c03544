"""The loaders: what comes along, real files where they are, and made-up files with every kind of damage."""

import gzip
import hashlib

import numpy as np
import pytest

from infopursuit import datasets
from infopursuit.datasets.idx import IMAGES, LABELS, read_idx

IDX = {
    "x_train": "train-images-idx3-ubyte",
    "y_train": "train-labels-idx1-ubyte",
    "x_test": "t10k-images-idx3-ubyte",
    "y_test": "t10k-labels-idx1-ubyte",
}


def idx(array):
    """The bytes of an idx file, written down from the description of the format."""
    header = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return header + array.tobytes()


def write_idx(folder, npz, *, packed=True):
    """The four official files with the arrays of an npz file."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = np.load(npz)
    for key, name in IDX.items():
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx(arrays[key]), mtime=0))
        else:
            (folder / name).write_bytes(idx(arrays[key]))


def write(folder, name="mnist", n_train=12, n_test=5, **changes):
    """A small file in the right form, apart from the changes; None leaves an array out."""
    rng = np.random.default_rng(0)
    arrays = {
        "x_train": rng.integers(256, size=(n_train, 28, 28), dtype=np.uint8),
        "y_train": (np.arange(n_train) % 10).astype(np.uint8),
        "x_test": rng.integers(256, size=(n_test, 28, 28), dtype=np.uint8),
        "y_test": (np.arange(n_test) % 10).astype(np.uint8),
        "class_names": np.array([f"class {c}" for c in range(10)]),
        **changes,
    }
    path = folder / f"{name}.npz"
    np.savez_compressed(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def test_digits():
    data = datasets.digits()
    assert data.x_train.shape == (1437, 8, 8)
    assert data.x_test.shape == (360, 8, 8)
    assert data.x_train.min() == 0
    assert data.x_train.max() == 16
    assert data.class_names == tuple("0123456789")
    shares = [np.bincount(y, minlength=10) / len(y) for y in (data.y_train, data.y_test)]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.005)
    again = datasets.load("digits")
    np.testing.assert_array_equal(data.x_test, again.x_test)
    together = np.concatenate([data.x_train, data.x_test]).reshape(1797, -1)
    assert len(np.unique(together, axis=0)) == 1797  # no test image among those to learn from


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


def test_names_are_forgiving_and_unknown_ones_are_listed(folder):
    write(folder, "fashion_mnist")
    assert datasets.load("Fashion-MNIST").name == "fashion_mnist"
    assert datasets.load(" fashion ").name == "fashion_mnist"
    with pytest.raises(
        ValueError, match="no data set 'cifar'; there are breast_cancer, cub, digits, diseases, fashion_"
    ):
        datasets.load("cifar")


def test_a_missing_file_says_which_and_where_and_what_to_do(folder):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.mnist()
    official = (
        "train-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
        str(folder / "mnist"),
        "https://",
        "download(",
    )
    for words in ("mnist.npz", str(folder), "INFOPURSUIT_DATA", "Put the file there", *official):
        assert words in str(caught.value)


def test_a_missing_folder_is_called_missing(folder, monkeypatch):
    monkeypatch.setenv("INFOPURSUIT_DATA", str(folder / "nowhere"))
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
    with pytest.raises(ValueError, match="single array"):
        datasets.mnist()


@pytest.mark.parametrize(("name", "raw"), [("mnist", "MNIST"), ("fashion_mnist", "FashionMNIST"), ("kmnist", "KMNIST")])
@pytest.mark.parametrize("packed", [True, False])
def test_the_official_files_give_the_same_arrays(folder, name, raw, packed):
    path = write(folder, name)
    from_npz = datasets.load(name)
    for place in (folder / name, folder / raw / "raw"):
        write_idx(place, path, packed=packed)
        path.rename(folder / "away")
        from_idx = datasets.load(name)
        for key in IDX:
            np.testing.assert_array_equal(getattr(from_idx, key), getattr(from_npz, key))
            assert getattr(from_idx, key).dtype == getattr(from_npz, key).dtype
        assert from_idx.x_train.flags.writeable
        (folder / "away").rename(path)
        for file in place.iterdir():
            file.unlink()


def test_the_official_files_come_before_the_npz_file_which_comes_before_a_part_of_them(folder):
    npz = write(folder, "kmnist", n_train=12)
    longer = write(folder, "longer", n_train=20)
    write_idx(folder / "kmnist", longer)
    assert len(datasets.kmnist().x_train) == 20
    (folder / "kmnist" / f"{IDX['y_test']}.gz").unlink()
    assert len(datasets.kmnist().x_train) == 12
    npz.unlink()
    with pytest.raises(
        FileNotFoundError, match=r"Some of the official files are there.*: t10k-labels-idx1-ubyte.gz \("
    ):
        datasets.kmnist()


@pytest.mark.parametrize(
    ("key", "content", "message"),
    [
        ("x_train", lambda good: b"", "magic number 0; expected 2051"),
        ("x_train", lambda good: b"\0\0\x08", "magic number 8; expected 2051"),
        ("x_train", lambda good: b"\0\0\x0d" + good[3:], "magic number 3331; expected 2051"),
        ("y_test", lambda good: b"\0\0\x08\x03" + good[4:], "magic number 2051; expected 2049"),
        ("x_train", lambda good: good[:-1], "12 x 28 x 28 bytes, but 9407 follow"),
        ("x_train", lambda good: good + b"\0", "but 9409 follow"),
        ("x_train", lambda good: good[:9], "bytes, but 0 follow"),
        ("x_train", lambda good: good[:4] + b"\xff" * 12 + good[16:], "4294967295 x 4294967295 x 4294967295 bytes"),
        ("y_train", lambda good: good[:7] + b"\x0b" + good[8:-1], "12 inputs, but y_train has 11 labels"),
        ("x_test", lambda good: idx(np.zeros((5, 28, 27), dtype=np.uint8)), r"\(5, 28, 27\)"),
        ("y_test", lambda good: good[:-1] + b"\x0a", "labels from 0 to 10"),
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_bad_official_files_are_refused_by_name(folder, key, content, message, packed):
    place = folder / "mnist"
    write_idx(place, write(folder, "other"), packed=packed)
    file = place / (f"{IDX[key]}.gz" if packed else IDX[key])
    good = gzip.decompress(file.read_bytes()) if packed else file.read_bytes()
    bad = content(good)
    file.write_bytes(gzip.compress(bad) if packed else bad)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.mnist()
    fits_alone = "labels" in message
    assert str(place if fits_alone else file) in str(caught.value)


def test_broken_gzip_files_are_refused(folder):
    place = folder / "mnist"
    write_idx(place, write(folder, "other"))
    file = place / f"{IDX['x_test']}.gz"
    whole = file.read_bytes()
    middle = len(whole) // 2
    damaged = whole[:middle] + bytes(255 - byte for byte in whole[middle : middle + 60]) + whole[middle + 60 :]
    for content in (b"", b"no gzip at all", whole[:middle], whole[:-4], damaged):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"not a whole gzip file|magic number 0") as caught:
            datasets.mnist()
        assert str(file) in str(caught.value)


@pytest.mark.data
@pytest.mark.parametrize("name", ["mnist", "kmnist"])
def test_real_images_survive_the_official_format(name, real_data, tmp_path):
    path = real_data(f"{name}.npz")
    write_idx(tmp_path, path, packed=False)
    arrays = np.load(path)
    for key, file in IDX.items():
        found = read_idx(tmp_path / file, IMAGES if key.startswith("x") else LABELS)
        np.testing.assert_array_equal(found, arrays[key])


@pytest.mark.data
def test_the_real_mnist_is_the_official_one(real_data, tmp_path):
    """The MD5 of the raw idx files, as widely published."""
    write_idx(tmp_path, real_data("mnist.npz"), packed=False)
    sums = {key: hashlib.md5((tmp_path / file).read_bytes()).hexdigest() for key, file in IDX.items()}
    assert sums == {
        "x_train": "6bbc9ace898e44ae57da46a324031adb",
        "y_train": "a25bea736e30d166cdddb491f175f624",
        "x_test": "2646ac647ad5339dbf082846283269ea",
        "y_test": "27ae3e4e09519cfbb04c329615203637",
    }
