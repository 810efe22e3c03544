"""The image sets from their official idx files, whole and with every kind of damage."""

import gzip
import hashlib

import numpy as np
import pytest

from benchmarks import datasets
from benchmarks.datasets.images import IMAGES, LABELS, read_idx
from data_fixtures import write

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
