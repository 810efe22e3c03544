"""Where data files are looked for."""

from pathlib import Path

import pytest

from benchmarks.datasets import data_folder


def test_the_variable_wins():
    variables = {"XDG_CACHE_HOME": "/cache", "INFOPURSUIT_DATA": "/data"}
    assert data_folder(variables) == Path("/data")
    variables["INFOPURSUIT_DATA"] = ""
    assert data_folder(variables, "linux") == Path("/cache/infopursuit")


def test_a_tilde_is_the_home():
    assert data_folder({"INFOPURSUIT_DATA": "~/data"}) == Path.home() / "data"


@pytest.mark.parametrize(
    ("platform", "place"),
    [("linux", ".cache"), ("darwin", "Library/Caches"), ("win32", "AppData/Local")],
)
def test_else_the_cache_of_the_platform(platform, place):
    assert data_folder({}, platform) == Path.home() / place / "infopursuit"


def test_windows_names_its_folder(tmp_path):
    local = tmp_path / "local"
    assert data_folder({"LOCALAPPDATA": str(local)}, "win32") == local / "infopursuit"
