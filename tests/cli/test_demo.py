"""The demonstration: small in this process, and once as a visitor runs it."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import infopursuit
from infopursuit.app import cli
from infopursuit.app.cli import demo
from infopursuit.app.datasets import digits
from isolated import run_alone

PNG = b"\x89PNG"


@pytest.fixture
def small(monkeypatch):
    """A demo on a quarter of the digits."""
    data = digits()
    few = replace(
        data, x_train=data.x_train[:400], y_train=data.y_train[:400], x_test=data.x_test[:60], y_test=data.y_test[:60]
    )
    monkeypatch.setattr(demo, "digits", lambda: few)
    return few


def test_a_small_demo(small, tmp_path, capsys):
    assert cli.main(["demo", "--out", str(tmp_path / "deep" / "pictures"), "--examples", "3"]) == 0
    out = capsys.readouterr().out
    for words in ("Information Pursuit", "Decision tree", "Boosted trees", "Example 3 of 3", "Correct."):
        assert words in out
    assert "\x1b" not in out
    assert max(len(line) for line in out.splitlines() if str(tmp_path) not in line) <= 80
    files = sorted(path.name for path in (tmp_path / "deep" / "pictures").iterdir())
    assert files == ["example-1.png", "example-2.png", "example-3.png", "index.txt"]
    assert (tmp_path / "deep" / "pictures" / "example-1.png").read_bytes().startswith(PNG)
    assert str(tmp_path / "deep" / "pictures") in out


def test_the_table_says_what_happened(small, tmp_path, capsys):
    cli.main(["demo", "--out", str(tmp_path), "--examples", "0"])
    out = capsys.readouterr().out
    accuracy = {
        name: float(number) for name, number in re.findall(r"^([A-Z][^\d]+?)(?:, .*?)?  +(\d+\.\d) ±", out, re.M)
    }
    assert accuracy["Information Pursuit"] > accuracy["Decision tree"] > 40
    assert "Example" not in out
    assert not list(tmp_path.iterdir())


WITHOUT_MATPLOTLIB = """
import sys
from dataclasses import replace
from infopursuit.app import cli
from infopursuit.app.cli import demo
from infopursuit.app.datasets import digits

data = digits()
demo.digits = lambda: replace(
    data,
    x_train=data.x_train[:400],
    y_train=data.y_train[:400],
    x_test=data.x_test[:60],
    y_test=data.y_test[:60],
)
assert cli.main(["demo", "--out", sys.argv[1], "--examples", "1"]) == 0
"""


def test_without_matplotlib_it_goes_on(tmp_path):
    folder = tmp_path / "pictures"
    out = run_alone(WITHOUT_MATPLOTLIB, folder, without=["matplotlib"])
    assert "pip install infopursuit[plots]" in out
    assert "Example 1 of 1" in out
    assert not folder.exists()


def test_a_file_in_the_way_is_noticed_before_the_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo, "digits", lambda: pytest.fail("the work began"))
    (tmp_path / "file").write_text("")
    assert cli.main(["demo", "--out", str(tmp_path / "file")]) == 2
    err = capsys.readouterr().err
    assert str(tmp_path / "file") in err
    assert len(err.splitlines()) == 1


class Guesses:
    """As much of a trace as `choose_examples` needs."""

    def __init__(self, predictions):
        self.predictions = np.asarray(predictions)


def test_examples_are_different_digits_and_a_mistake():
    truth = np.repeat(np.arange(5), 20)
    guesses = truth.copy()
    guesses[[3, 50]] = 9
    for seed in range(5):
        chosen = demo.choose_examples(Guesses(guesses), truth, 5, seed)
        assert len(set(truth[chosen[:4]])) == 4
        assert (guesses[chosen[:4]] == truth[chosen[:4]]).all()
        assert chosen[4] in (3, 50)
        np.testing.assert_array_equal(chosen, demo.choose_examples(Guesses(guesses), truth, 5, seed))
    assert len({tuple(demo.choose_examples(Guesses(guesses), truth, 5, seed)) for seed in range(5)}) > 1


@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_examples_where_none_or_all_are_wrong(n):
    truth = np.arange(10)
    assert len(set(demo.choose_examples(Guesses(truth), truth, n, 0))) == min(n, 10)
    wrong = demo.choose_examples(Guesses(truth + 1), truth, n, 0)
    assert len(wrong) == (n > 1)


@pytest.mark.slow
def test_the_demo_as_a_visitor_runs_it(tmp_path):
    package = str(Path(infopursuit.__file__).parents[1])  # also where PYTHONPATH is relative
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": package}
    done = subprocess.run(
        [sys.executable, "-m", "infopursuit", "demo", "--examples", "2"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"Information Pursuit, 3 x 3 patches +9\d\.\d ±", done.stdout)
    assert "Correct." in done.stdout
    assert "Wrong: it is" in done.stdout
    assert len(list((tmp_path / "infopursuit-demo").glob("*.png"))) == 2
