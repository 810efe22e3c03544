"""What is measured of jobs: counts that can fail, and a prediction that is a straight line."""

import pandas as pd
import pytest

from benchmarks.bench import MEASUREMENTS, build_parser
from benchmarks.hardening.nodes import largest_difference
from benchmarks.jobs import _bytes, counted, growth, predicted, prepare
from infopursuit import jobs


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    prepare(folder, 60)
    return folder


def test_missing_and_doubled_inputs_arecounted(place, tmp_path):
    done = jobs.explain(place / "inputs.parquet", place / "model", tmp_path, part=20)
    assert counted(done) == {"missing": 0, "doubled": 0}
    before = _bytes(tmp_path)
    part = tmp_path / "traces.parquet" / "part-000001.parquet"
    rows = pd.read_parquet(part)
    rows["input"] = [20, *rows["input"][:-1]]  # one twice, another not at all
    rows.to_parquet(part)
    assert counted(done) == {"missing": 1, "doubled": 1}
    assert _bytes(tmp_path) != before


def test_no_two_inputs_are_made_alike_and_the_same_ones_again(place, tmp_path):
    frame = pd.read_parquet(place / "inputs.parquet")
    assert len(frame.drop_duplicates()) == 60
    prepare(tmp_path, 60)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "inputs.parquet"), frame)


@pytest.mark.slow
def test_a_job_is_measured_in_a_process_of_its_own(place):
    told = growth(place, 40)
    assert told["inputs"] == 40
    assert told["parts"] == 1
    assert 100 < told["peak memory, MiB"] < 2000
    assert told["bytes a row"] > 50


def test_predictions_are_the_straight_line():
    grown = [
        {"inputs": 1_000, "seconds": 7.0, "bytes a row": 100},
        {"inputs": 11_000, "seconds": 27.0, "bytes a row": 2**30 // 10**6},
    ]
    rows = predicted(grown)
    assert [row["inputs"] for row in rows] == ["1,000,000", "10,000,000", "100,000,000", "1,000,000,000"]
    assert rows[0]["core-hours"] == pytest.approx(1e6 * 0.002 / 3600, rel=0.05)
    assert rows[3]["hours on 100 cores"] == pytest.approx(1e9 * 0.002 / 360000, rel=0.05)
    assert rows[0]["traces, GiB"] == 1.0
    assert [row["parts"] for row in rows] == [1_000, 10_000, 10_000, 10_000]


def test_every_measurement_is_listed_with_what_it_shows(capsys):
    with pytest.raises(SystemExit):
        build_parser().parse_args(["--help"])
    told = capsys.readouterr().out
    for name, measurement in MEASUREMENTS.items():
        assert f"  {name:<17} {measurement.summary}" in told


def test_what_differs_between_two_jobs_is_found(place, tmp_path):
    for name in ("one", "other"):
        jobs.explain(place / "inputs.parquet", place / "model", tmp_path / name, part=20)
    assert largest_difference(tmp_path / "one", tmp_path / "other") == 0
    part = tmp_path / "one" / "traces.parquet" / "part-000001.parquet"
    rows = pd.read_parquet(part)
    rows.loc[3, "probability"] -= 1e-6
    rows.to_parquet(part)
    assert largest_difference(tmp_path / "one", tmp_path / "other") == pytest.approx(1e-6, rel=1e-3)
    rows.loc[4, "stop_reason"] = "exhausted"
    rows.to_parquet(part)
    assert largest_difference(tmp_path / "one", tmp_path / "other") is None
