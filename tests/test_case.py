"""What is said about a case: the summary, why not another class, and how many more questions to expect."""

from dataclasses import replace

import numpy as np
import pytest

import infopursuit as ip
from infopursuit import case
from infopursuit.support import messages
from worlds import world_of


def finished(world, values, **options):
    """A session that was answered to its end, or to an impossible answer."""
    trace = world.pursuit((("confidence", 0.05, None), ("max_queries", 5)), **options).run_values([values])
    return None if trace.stop_reason[0] == "impossible" else world.pursuit(**options).session(trace.history(0))


@pytest.mark.parametrize("seed", range(30))
def test_a_change_that_is_named_leads_to_what_is_said(seed):
    """In a new session that is answered so; and where one change suffices, one is named."""
    world, rng = world_of(61_000 + seed)
    named = 0
    for values in world.inputs(rng, 6):
        session = finished(world, values)
        if session is None:
            continue
        for label in session.pursuit.classes:
            found = case.why_not(session, label)
            if label == session.prediction:
                assert found.changes == () == found.against
                continue
            single = [
                ((query, other), k)
                for k, (query, said) in enumerate(session.history)
                if said is not None
                for other, _ in case._alternatives(world.queries, query, said)
            ]
            enough = False
            for changed, k in single:
                history = [changed if i == k else each for i, each in enumerate(session.history)]
                if world.truth.probability(history) > 0:
                    second, first = sorted(p := world.truth.posterior(history))[-2:]
                    enough |= first - p[label] < 1e-12 and first - second > 1e-6
            assert not enough or len(found.changes) == 1
            if not found.changes:
                continue
            named += 1
            answers = list(session.history)
            for change in found.changes:
                assert change.other != answers[change.place][1]
                answers[change.place] = (change.query, change.other)
            after = session.pursuit.session(answers)
            assert after.prediction == label != session.prediction
            np.testing.assert_allclose(after.posterior, found.then, rtol=0, atol=1e-9)
    assert named or seed % 3  # worlds without any are rare


def test_what_counts_against_a_class_is_what_its_absence_would_change():
    queries = ip.queries.concepts(["fever", "rash", "cough"])
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.2, 0.5], [0.3, 0.6, 0.5]])
    pursuit = ip.generative_pursuit(model, queries, stopping=ip.MaxQueries(3), classes=["flu", "measles"])
    session = pursuit.session([("fever", "yes"), ("rash", "yes"), ("cough", "no")])
    found = case.why_not(session, "measles")
    expected = {0: np.log(0.9 / 0.3), 1: np.log(0.2 / 0.6)}
    against = dict(found.against)
    assert session.prediction == "flu"
    assert list(against) == [0]
    assert against[0] == pytest.approx(expected[0])
    (change,) = found.changes
    assert (change.name, change.said, change.other_said) == ("fever", "yes", "no")
    text = " ".join(case.say_why_not(found, session))
    assert "fever" in text
    assert "measles" in text
    with pytest.raises(ValueError, match="label='cold'"):
        case.why_not(session, "cold")


@pytest.mark.parametrize("seed", range(8))
def test_the_continuations_have_the_lengths_that_the_model_implies(seed):
    """Against the enumeration of all inputs, each with its probability given the answers so far."""
    world, rng = world_of(62_000 + seed, zeros=False)
    pursuit = world.pursuit((("confidence", 0.1, None), ("max_queries", 4)))
    every = world.every_input()
    trace = pursuit.run_values(every)
    weight = world.truth.joint.sum(axis=(0, 1))
    start = int(rng.choice(len(every), p=weight / weight.sum()))
    known = trace.history(start)[: int(rng.integers(0, 2))]
    same = np.array([trace.history(i)[: len(known)] == known for i in range(len(every))])
    exact = np.bincount(trace.length[same] - len(known), weights=weight[same] / weight[same].sum(), minlength=6)
    session = pursuit.session(known)
    if session.question is None:
        assert case.remaining(session) == case.Remaining(0, 0, 0)
        return
    lengths = case.continuations(pursuit, session._step, n := 4000)
    share = np.bincount(lengths, minlength=6) / n
    assert np.abs(share - exact).max() < 5 * 0.5 / np.sqrt(n)
    assert case.remaining(session) == case.remaining(pursuit.session(known))  # a function of the history
    found = case.remaining(session)
    assert found.low <= found.median <= found.high


def test_a_summary_names_what_spoke_for_the_class():
    pd = pytest.importorskip("pandas")
    table = {"glucose": np.repeat(np.arange(80.0, 180.0, 2), 2), "bmi": np.tile([20.0, 30.0, 25.0, 35.0, 22.0], 20)}
    y = np.where(table["glucose"] > 130, "positive", "negative")
    clf = ip.InformationPursuitClassifier(strategy="table").fit(pd.DataFrame(table), pd.Series(y, name="diabetes"))
    session = clf.session()
    while session.question is not None:
        session.answer({"glucose": 85, "bmi": 25}[session.question.name])
    text = case.summary(session.explanation, clf.queries_)
    assert "negative" in text
    assert "glucose is low (85)" in text
    assert session.explanation.label_name == clf.pursuit_.label_name == "diabetes"
    assert case.title(clf.pursuit_) == "diabetes: negative or positive?"
    german = case.summary(session.explanation, clf.queries_, messages.load("de"))
    assert german != text
    plain = replace(session.explanation, calibrated=False)
    assert "not calibrated" in case.summary(plain, clf.queries_)
