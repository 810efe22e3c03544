"""Fixtures of tests that read data files: an empty data folder, real files where there are any, small image sets."""

import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.datasets import files
from benchmarks.datasets.files import data_folder

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def use_data_folder(monkeypatch, folder):
    """Make a folder the one where data files are looked for."""
    monkeypatch.setattr(files, "ENVIRONMENT", {files.VARIABLE: str(folder)})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder."""
    use_data_folder(monkeypatch, tmp_path)
    return tmp_path


@pytest.fixture
def data_beside(monkeypatch):
    """The data folder beside the project, where there is one and nobody named another."""
    if BESIDE.is_dir() and files.VARIABLE not in os.environ:
        use_data_folder(monkeypatch, BESIDE)


@pytest.fixture
def real_data(monkeypatch):
    """A function that points the package to a folder with that file, or skips the test."""

    def find(name):
        for folder in (data_folder(), BESIDE):
            if (folder / name).is_file():
                use_data_folder(monkeypatch, folder)
                return folder / name
        pytest.skip(
            f"{name} is neither in {data_folder()} nor in {BESIDE}; set INFOPURSUIT_DATA to the folder that holds it"
        )

    return find


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
