"""What every pursuit must give, whatever it was asked about: numbers, and those of probabilities."""

import json

import numpy as np

SUMS, NEGATIVE = 1e-9, 0.0
"""Posteriors add up to one but for this; gains are never negative."""


def assert_sound(trace):
    """No NaN, no infinity, posteriors that sum to one, gains from 0 on; also in what is written about it."""
    assert (trace.gains >= NEGATIVE).all()
    for name in ("gains", "gain_errors", "posteriors", "posterior_errors", "log_evidence"):
        assert np.isfinite(getattr(trace, name)).all(), name
    assert ((trace.posteriors >= 0) & (trace.posteriors <= 1)).all()
    np.testing.assert_allclose(trace.posteriors.sum(axis=2), 1, rtol=0, atol=SUMS)
    assert (trace.posterior_errors >= 0).all()
    for explanation in trace:
        json.loads(explanation.to_json())
        assert "nan" not in str(explanation).lower()


def assert_sound_session(session):
    """The same of a session, at every question."""
    assert np.isfinite(session.posterior).all()
    np.testing.assert_allclose(session.posterior.sum(), 1, rtol=0, atol=SUMS)
    told = session.gains[~np.isnan(session.gains)]
    assert (np.isfinite(told) & (told >= NEGATIVE)).all()
    assert np.isfinite(session.state.posterior_error).all()
    assert np.isfinite(session.state.log_evidence).all()


DECISIONS = ("queries", "answers", "length", "settled_at", "stop_reason")
NUMBERS = ("gains", "gain_errors", "posteriors", "posterior_errors", "log_evidence")
AFTER = ("posteriors", "posterior_errors", "log_evidence")


def assert_same_traces(one, two, tolerance=1e-9):
    """Two traces that decide the same, with the same numbers up to rounding."""
    assert len(one) == len(two)
    for i in range(len(one)):
        assert_same_row(one, i, two, i, tolerance)


def assert_same_row(one, i, two, j, tolerance=1e-9):
    """Row i of one trace is row j of another, however long the others are."""
    k = int(one.length[i])
    for name in (*DECISIONS, *NUMBERS):
        a, b = getattr(one, name)[i], getattr(two, name)[j]
        if np.ndim(a):
            a, b = (each[: k + 1 if name in AFTER else k] for each in (a, b))
        if name in DECISIONS:
            np.testing.assert_array_equal(a, b, err_msg=name)
        else:
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance, err_msg=name)


assert_same = assert_same_traces
