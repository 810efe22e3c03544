"""Growth: exponents are slopes, silence is counted, and a case runs."""

import json

import numpy as np
import pytest

from benchmarks.growth import AXES, draw, examples, exponent, main, summarise, watched, write_rows
from infopursuit.support.progress import Progress


def test_an_exponent_is_the_slope_of_the_last_points():
    sizes = [10, 100, 1_000, 10_000]
    assert exponent(sizes, [5, 5, 50, 500]) == pytest.approx(1.0)
    assert exponent(sizes, [1, 1, 100, 10_000]) == pytest.approx(2.0)


def test_what_a_terminal_would_not_be_told_counts_as_silence():
    def work():
        np.linalg.svd(np.random.default_rng(0).random((200, 200)))

    with watched() as told, Progress("work", 30) as shown:
        for _ in range(30):
            work()
            shown.advance()
    with watched() as silent, Progress("work", 30, show=False) as shown:
        for _ in range(30):
            work()
            shown.advance()
    assert told["silent"] < 0.5 * told["seconds"]
    assert silent["silent"] > 0.9 * silent["seconds"]


def test_texts_have_as_many_words_as_asked_for():
    X, y = examples("words", 50, seed=0, n=9)
    assert [len(text.split()) for text in X] == [50] * 9
    assert set(y) <= set("abc")


@pytest.mark.slow
def test_a_case_runs_in_a_process_of_its_own_and_is_kept(tmp_path, capsys):
    write_rows(tmp_path / "rows-400.parquet", 400, seed=0)
    for step in ("fit", "explain"):
        assert main(["--only", f"rows-400-{step}", "--work", str(tmp_path)]) == 0
        told = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert told["seconds"] > 0
        assert told["peak_bytes"] > 50 * 2**20  # of this process, whatever it did before
    assert told["inputs"] == 400
    assert told["accuracy"] > 0.7


def test_cases_become_tables_and_a_figure(tmp_path):
    told = {"peak_bytes": 2**28, "longest_without_progress": 1.0}
    cases = {
        f"{axis}-{size}-fit": {**told, "seconds": 1e-3 * size, "strategy": "hybrid"}
        for axis, plan in AXES.items()
        for size in plan.all
    }
    rows, slopes = summarise(cases)
    assert len(rows) == sum(len(plan.all) for plan in AXES.values())
    assert {row["exponent of time, last three"] for row in slopes} == {"1.00"}
    assert {row["at the end"] for row in slopes} == {"1.00"}
    assert {row["exponent of memory"] for row in slopes} <= {"0.00", "-0.00"}
    draw(cases, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 10_000
