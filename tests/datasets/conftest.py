"""Where the data files may be: the folder that the environment names, or `shared/data` beside the repository."""

from pathlib import Path

import pytest

from infopursuit.datasets import data_folder

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder."""
    monkeypatch.setenv("INFOPURSUIT_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def real_data(monkeypatch):
    """A function that points the package to a folder with that file, or skips the test."""

    def find(name):
        for folder in (data_folder(), BESIDE):
            if (folder / name).is_file():
                monkeypatch.setenv("INFOPURSUIT_DATA", str(folder))
                return folder / name
        pytest.skip(
            f"{name} is neither in {data_folder()} nor in {BESIDE}; set INFOPURSUIT_DATA to the folder that holds it"
        )

    return find
