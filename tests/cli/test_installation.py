"""``infopursuit --version``: versions, the platform, and which extras are installed."""

import platform
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import infopursuit
from infopursuit.app import cli
from infopursuit.app.cli import installation

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def without(monkeypatch):
    """Make a package look as if it were not installed."""
    installed_version = installation.installed_version

    def hide(name):
        monkeypatch.setattr(
            installation, "installed_version", lambda package: None if package == name else installed_version(package)
        )

    return hide


def test_versions_and_extras(capsys):
    assert cli.main(["--version"]) == 0
    first, dependencies, extras = capsys.readouterr().out.splitlines()[:3]
    assert first.startswith(f"infopursuit {infopursuit.__version__}, Python {platform.python_version()}, ")
    assert f"numpy {np.__version__}" in dependencies.split(", ")
    assert {"plots", "server", "tables"} <= set(extras.removeprefix("extras: ").split(", "))


def test_an_extra_that_is_not_installed_is_named_with_what_it_needs(without):
    without("torch")
    last = installation.describe_installation().splitlines()[-1]
    assert last.startswith("extras that are not installed: ")
    assert "networks (needs torch)" in last


def test_a_missing_dependency_is_named(without):
    without("scipy")
    assert "scipy missing" in installation.describe_installation().splitlines()[1]


def test_a_checkout_that_is_not_installed_has_a_version(monkeypatch):
    monkeypatch.setattr(installation, "_requirements", list)
    assert installation.describe_installation().splitlines()[0].startswith(f"infopursuit {infopursuit.__version__}")


def test_requirements_are_read_with_their_extras(monkeypatch):
    lines = ["numpy<3,>=1.26", 'ray[data]>=2.20; extra == "cluster"', "torch<3,>=2.2; extra == 'networks'"]
    monkeypatch.setattr(installation, "_requirements", lambda: lines)
    assert [installation.required_packages(name) for name in ("", "cluster", "networks", "text")] == [
        ["numpy"],
        ["ray"],
        ["torch"],
        [],
    ]


def test_the_extras_are_those_of_the_project():
    assert set(PROJECT["optional-dependencies"]) - {"all", "benchmarks", "dev"} == set(installation.EXTRAS)


def test_it_needs_no_other_package():
    """Who misses numpy still sees what is installed."""
    script = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numpy", "numba", "rich", "sklearn"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from infopursuit.app import cli
sys.exit(cli.main(["--version"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"infopursuit {infopursuit.__version__}")
