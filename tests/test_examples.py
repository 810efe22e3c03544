"""The examples run as they are, in a process of their own, and do what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import infopursuit
from data_fixtures import real_data  # noqa: F401

ROOT = Path(__file__).parents[1]
QUESTION = re.compile(r"^ +\d+\. .+: .+ \(\d", re.MULTILINE)


def run(name, tmp_path, *arguments, strict=True):
    """What an example prints; it needs nothing of the folder that it is started in, and gives no warnings."""
    environment = {**os.environ, "PYTHONPATH": str(Path(infopursuit.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *(["-W", "error"] if strict else []), ROOT / "examples" / name, *arguments],
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


def test_units_of_a_network_with_soft_answers(tmp_path, tmp_path_factory):
    picture = tmp_path_factory.mktemp("pictures") / "units.png"
    out = run("network_units.py", tmp_path, picture)
    network = share(r"hidden units: ([\d.]+) % right", out)
    rounded, soft = share(r"yes and no: ([\d.]+) % right", out), share(r"soft answers: ([\d.]+) % right", out)
    assert network > 94
    assert rounded < soft > network - 4
    assert share(r"soft answers: .* after ([\d.]+) of 16", out) < 13
    assert len(re.findall(r"unit \d+ is on: probably (?:yes|no) \(\d", out)) == 6
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_any_callable(tmp_path):
    out = run("any_callable.py", tmp_path)
    assert share(r"24 questions; ([\d.]+) % right", out) > 87
    assert share(r"right after ([\d.]+) of them", out) < 12
    assert len(QUESTION.findall(out)) >= 3
    assert re.search(
        r"8, with a probability of [6-9]\d % \(not calibrated\), after 1 question\.\n +1\. holes: two", out
    )


@pytest.mark.parametrize("name", ["fixed_order.py", "random_order.py"])
def test_a_baseline_of_ones_own_needs_more_questions(name, tmp_path):
    out = run("fixed_order.py", tmp_path) if name == "fixed_order.py" else run("random_order.py", tmp_path)
    (right, length), (other_right, other_length) = re.findall(r"([\d.]+)% right after ([\d.]+) questions", out)
    assert float(right) > 94
    assert float(other_right) <= float(right) + 1
    assert float(other_length) > 1.3 * float(length)


def test_boosted_trees_of_ones_own(tmp_path):
    out = run("masked_boosting.py", tmp_path)
    assert share(r"masked: ([\d.]+)% right", out) > 85
    assert share(r"right after ([\d.]+) questions", out) < 4
    assert re.search(r"^ +1\. worst .+: \d \w+ ", out, re.MULTILINE)


def test_a_bayesian_network(tmp_path, real_data):  # noqa: F811
    pytest.importorskip("pyagrum", reason="pyAgrum is not installed: pip install pyagrum")
    out = run(
        "bayesian_network.py", tmp_path, real_data("networks/child.bif.gz"), strict=False
    )  # pyAgrum's own warnings
    assert re.search(r"^\w+, with a probability of \d+ %, after \d questions?", out)
    assert len(QUESTION.findall(out)) >= 1


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short_and_has_a_test(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 100
    assert f'"{path.name}"' in Path(__file__).read_text(encoding="utf-8")
