"""The examples run as they are, in a process of their own, and do what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import infopursuit

ROOT = Path(__file__).parents[1]
QUESTION = re.compile(r"^ +\d+\. .+: .+ \(\d", re.MULTILINE)


def run(name, tmp_path):
    """What an example prints; it needs no data, no arguments, and nothing of the folder that it is started in."""
    environment = {**os.environ, "PYTHONPATH": str(Path(infopursuit.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / name],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        cwd=tmp_path,
        env={**environment, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())
    return done.stdout


def share(pattern, text):
    found = re.search(pattern, text)
    assert found is not None, text
    return float(found.group(1))


def test_units_of_a_network(tmp_path):
    out = run("neurons.py", tmp_path)
    network = share(r"hidden units: ([\d.]+) % right", out)
    asked = share(r"one at a time: ([\d.]+) % right", out)
    assert network > 94
    assert network - 5 < asked < 100
    assert share(r"right after ([\d.]+) of 32", out) < 12
    assert len(QUESTION.findall(out)) >= 3
    assert "is active: yes" in out or "is active: no" in out


def test_any_callable(tmp_path):
    out = run("any_callable.py", tmp_path)
    assert share(r"24 questions; ([\d.]+) % right", out) > 87
    assert share(r"right after ([\d.]+) of them", out) < 12
    assert len(QUESTION.findall(out)) >= 3
    assert re.search(r"8, with a probability of [6-9]\d %, after 1 question\.\n +1\. holes: two", out)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short_and_has_a_test(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    assert f'run("{path.name}"' in Path(__file__).read_text(encoding="utf-8")
