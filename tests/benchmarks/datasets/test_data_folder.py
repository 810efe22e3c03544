"""Where data files are looked for."""

import sys
from pathlib import Path

import pytest

from benchmarks.datasets import data_folder


@pytest.fixture(autouse=True)
def no_variables(monkeypatch, tmp_path):
    for name in ("INFOPURSUIT_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_the_variable_wins(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.setenv("INFOPURSUIT_DATA", "/data")
    assert data_folder() == Path("/data")
    monkeypatch.setenv("INFOPURSUIT_DATA", "")
    assert data_folder() == Path("/cache/infopursuit")


def test_a_tilde_is_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("INFOPURSUIT_DATA", "~/data")
    assert data_folder() == tmp_path / "data"


@pytest.mark.parametrize(
    ("platform", "place"),
    [("linux", ".cache"), ("darwin", "Library/Caches"), ("win32", "AppData/Local")],
)
def test_else_the_cache_of_the_platform(monkeypatch, tmp_path, platform, place):
    monkeypatch.setattr(sys, "platform", platform)
    assert data_folder() == tmp_path / place / "infopursuit"


def test_windows_names_its_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert data_folder() == tmp_path / "local" / "infopursuit"
