"""New inputs against a reference: predictions of the same pursuit."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.monitoring import CLASS, compare_traces

NAMES = ["wings", "red", "loud", "large", "fast"]
PROBS = np.array([[0.95, 0.6, 0.4, 0.7, 0.8], [0.05, 0.4, 0.6, 0.3, 0.2]])


def birds(n, seed, *, share=0.5, lost=0.0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) >= share).astype(int)
    X = (rng.random((n, 5)) < PROBS[y]).astype(float)
    X[rng.random(X.shape) < lost] = np.nan
    return X


@pytest.fixture(scope="module")
def pursuit():
    model = ip.models.TableModel([0.5, 0.5], None, PROBS)
    return ip.Pursuit.of(model, ip.queries.concepts(NAMES), stopping=ip.Confidence(0.02) | ip.MaxQueries(4))


def test_what_is_compared_is_what_the_traces_hold(pursuit):
    now, before = pursuit.run(birds(200, 1, share=0.8)), pursuit.run(birds(300, 2))
    changes = {(change.kind, change.name): change for change in compare_traces(now, before)}
    assert len(changes) == 2
    for label in (0, 1):
        assert changes[CLASS, str(label)].now == pytest.approx((now.predictions == label).mean())
        assert changes[CLASS, str(label)].before == pytest.approx((before.predictions == label).mean())


def test_with_inputs_as_reference_a_pursuit_needs_no_profile(pursuit):
    same = ip.drift(pursuit, birds(200, 1), reference=birds(300, 2))
    assert not same.found
    assert same.against == "the reference"
    assert len(same.changes) == 10 + 2
    other = ip.drift(pursuit, birds(200, 1, share=0.9), reference=birds(300, 2))
    assert {change.name for change in other.drifted("answers")} >= {"wings"}
    assert other.n_before == 300


def test_a_reference_takes_the_place_of_the_prior_in_judging_predictions():
    """A model whose prior is wrong predicts otherwise than its prior says, always; only against a reference is that
    no drift."""
    X, rng = birds(300, 0), np.random.default_rng(0)
    y = rng.integers(2, size=300)
    clf = ip.InformationPursuitClassifier(
        ip.queries.concepts(NAMES), ip.models.TableModel([0.1, 0.9], None, PROBS), stopping=ip.Confidence(0.02)
    ).fit(X, y)
    new = birds(400, 1)
    assert {change.kind for change in clf.drift(new).drifted()} == {CLASS}
    assert not clf.drift(new, reference=birds(400, 2)).found


def test_a_reference_of_the_same_kind_is_no_drift(pursuit):
    alarms = [ip.drift(pursuit, birds(100, s), reference=birds(150, 1000 + s), level=0.05).found for s in range(100)]
    assert sum(alarms) <= 11  # 5 expected at most; 12 or more has a probability of 0.4 %
