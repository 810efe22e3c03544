"""Traces of saved models on scikit-learn's tables are those that were recorded, on this processor and on others."""

import json
import os
import subprocess
import sys

import pytest

from benchmarks import ROOT
from benchmarks.recorded_traces import CASES, EDGE, FILE, PROCESSORS, checksum, compact, compare, traced

KEPT = json.loads(FILE.read_text())


def check(row):
    """Identical traces and numbers within what is promised; another trace is excused at a recorded near-tie alone."""
    message = f"{row} beside what was recorded on {KEPT['machine']['processor']}"
    assert row["other traces"] == row["of them at a near-tie"], message
    if not row["other traces"]:
        assert row["largest difference of a number"] <= row["promised"], message


@pytest.mark.parametrize("case", CASES)
def test_traces_are_the_recorded_ones(case):
    check(compare(case, KEPT[case]))


def test_as_on_a_processor_without_avx(tmp_path):
    """The one furthest from this one; `python -m benchmarks.recorded_traces` tries all."""
    given = {**os.environ, **PROCESSORS["Nehalem"]}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.recorded_traces", "--here"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=given, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    for row in json.loads(done.stdout.splitlines()[-1]):
        check(row)


def test_a_trace_that_differs_is_found_and_named():
    case = "wine, exact"
    kept = json.loads(json.dumps(KEPT[case]))
    sums = kept["checksums"].split()
    kept["checksums"] = " ".join([*sums[:17], "00000000", *sums[18:]])
    row = compare(case, kept)
    assert row["inputs that differ"] == [17]
    with pytest.raises(AssertionError, match="other traces': 1"):
        check(row)
    first, wrong = checksum(traced(case)[1], 17, 1), "00000000"
    check(compare(case, {**kept, "near_ties": [[17, 1, EDGE / 2, first]]}))  # told as a near-tie, it is excused
    with pytest.raises(AssertionError):  # unless it differed before
        check(compare(case, {**kept, "near_ties": [[17, 1, EDGE / 2, wrong]]}))
    with pytest.raises(AssertionError):
        check(compare(case, {**KEPT[case], "means": [value + 1e-8 for value in KEPT[case]["means"]]}))


def test_every_answer_counts():
    _, trace = traced("wine, exact")
    before = compact(trace)["checksums"].split()
    trace.answers[5, 0] = (trace.answers[5, 0] + 1) % 2
    after = compact(trace)["checksums"].split()
    assert [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [5]
