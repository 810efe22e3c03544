"""Fixtures of tests that read data files, where there are any."""

import os
from pathlib import Path

import pytest

from benchmarks.datasets import files
from benchmarks.datasets.files import data_folder

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def use_data_folder(monkeypatch, folder):
    """Make a folder the one where data files are looked for."""
    monkeypatch.setattr(files, "ENVIRONMENT", {files.VARIABLE: str(folder)})


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
