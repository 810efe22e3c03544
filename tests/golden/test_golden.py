"""Traces do not move: the committed ones are those of the first edition's engine; five cases ("exact thresholds",
"exact mixed", "gain rule", "smc", "langevin") are newer, from when queries with a known or unknowable answer closed."""

import json

import cases
import numpy as np
import pytest

KEPT = json.loads(cases.FILE.read_text())
NUMBERS = ("gains", "gain_errors", "posteriors", "posterior_errors", "log_evidence")


@pytest.mark.parametrize("name", cases.CASES)
def test_trace_is_the_committed_one(name):
    found, kept = cases.written(cases.CASES[name]()), KEPT[name]
    tolerance = cases.ROUGH if name in cases.FLOAT32 else cases.TOLERANCE
    for part, expected in kept.items():
        if part not in NUMBERS:
            assert json.loads(json.dumps(found[part])) == expected, part
        else:
            flat = [np.concatenate([np.ravel(row) for row in each]) for each in (found[part], expected)]
            np.testing.assert_allclose(*flat, rtol=0, atol=tolerance, err_msg=part)


def test_every_case_asks_something():
    assert set(KEPT) == set(cases.CASES)
    for name, kept in KEPT.items():
        assert sum(q >= 0 for row in kept["queries"] for q in row) > 3, name
