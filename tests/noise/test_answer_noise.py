"""`AnswerNoise`, what people say, and annotators that make errors."""

from dataclasses import replace

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.pursuit.noise import NoisyAnnotator, read_answer

QUERIES = ip.queries.concepts(["has wings", "is red"])


def pursuit(**options):
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.6], [0.1, 0.4]])
    return ip.generative_pursuit(model, QUERIES, **options)


@pytest.mark.parametrize("right", [-0.1, 1.1, "often", [[0.9, 0.2], [0.1, 0.9]], [0.9, 0.1], np.nan, None])
def test_refuses_what_is_no_accuracy(right):
    with pytest.raises(ValueError, match="accuracy"):
        ip.AnswerNoise(right)
    with pytest.raises(ValueError, match="has wings"):
        ip.AnswerNoise(0.9, {"has wings": right})


def test_refuses_what_does_not_fit_the_queries():
    with pytest.raises(ValueError, match="has fins"):
        pursuit(noise=ip.AnswerNoise(0.9, {"has fins": 0.5}))
    with pytest.raises(ValueError, match="2 choices"):
        pursuit(noise=ip.AnswerNoise(np.eye(3)))
    with pytest.raises(ValueError, match="max_repeats=0"):
        ip.AnswerNoise(0.9, max_repeats=0)
    with pytest.raises(TypeError, match="noise"):
        pursuit(noise=0.9)


def test_a_topic_stands_for_its_queries():
    """Three thresholds on one column, answered equally badly."""
    X = np.column_stack([1.5 * np.arange(40.0), np.arange(40.0) % 2])
    qs = ip.queries.columns(X, numbers="thresholds")
    about = [topic for topic, _ in qs.topics]
    channel = ip.AnswerNoise(0.95, {about[0]: 0.6}).bind(qs)
    rights = [channel.confusion_matrices[channel.which[q, 0]][0, 0] for q in range(len(qs))]
    assert about.count(about[0]) > 1
    assert rights == [0.6 if topic == about[0] else 0.95 for topic in about]


def test_words_of_a_person():
    session = pursuit(stopping=ip.MaxQueries(2)).session()
    session.answer("yes", confidence=0.8)
    assert session.posterior[0] == pytest.approx(0.8 * 0.9 + 0.2 * 0.1)
    assert "has wings: probably yes (80 %)" in str(session.explanation)
    again = ip.Explanation.from_json(session.explanation.to_json())
    assert again == session.explanation
    assert again.steps[0].soft == ((pytest.approx(0.2), 0.8),)
    session.undo().answer({"no": 0.3, "yes": 0.7})
    assert session.posterior[0] == pytest.approx(0.7 * 0.9 + 0.3 * 0.1)
    session.undo().answer("yes", noise=ip.AnswerNoise([[1.0, 0.0], [0.5, 0.5]]))  # never says yes without wings
    assert session.posterior[0] == pytest.approx(0.9)
    session.undo().answer({"yes": 0.5, "no": 0.5})  # is the same as not to know
    assert session.history == ((0, None),)


def test_two_histories_that_differ_in_how_sure_an_answer_is_are_two():
    """What is remembered of the one must not be taken for the other."""
    mine = pursuit(stopping=ip.MaxQueries(2))
    gains = [mine.session([("has wings", ip.SoftAnswer(((1 - s, s),)))]).gains[1] for s in (0.6, 0.99, 0.6)]
    assert gains[0] == gains[2] != gains[1]
    keys = {
        mine.at(((0, said),)).histories.key(0)
        for said in ((1,), ip.SoftAnswer(((0.4, 0.6),)), ip.SoftAnswer(((0.3, 0.7),)))
    }
    assert len(keys) == 3


@pytest.mark.parametrize(
    ("value", "confidence", "noise", "match"),
    [
        ("yes", 0.0, None, "confidence=0.0"),
        ("yes", 1.5, None, "confidence=1.5"),
        ("yes", 0.8, ip.AnswerNoise(0.9), "give one of them"),
        ({"yes": 0.8, "no": 0.8}, None, None, "sum to 1"),
        ({"yes": 0.8, "maybe": 0.2}, None, None, "maybe"),
        ({"yes": "much", "no": 0.2}, None, None, "'much'"),
        ({"yes": 1.0}, 0.5, None, "confidence"),
        (ip.SoftAnswer(((0.2, 0.3, 0.5),)), None, None, r"\[3\] cells"),
    ],
)
def test_refuses_answers_that_make_no_sense(value, confidence, noise, match):
    with pytest.raises(ValueError, match=match):
        read_answer(QUERIES, 0, value, confidence, noise)


@pytest.mark.parametrize("weights", [((-0.1, 1.0),), ((0.0, 0.0),), ((np.nan, 1.0),), ((np.inf, 1.0),)])
def test_refuses_weights_that_are_none(weights):
    with pytest.raises(ValueError, match=r"weights\[0\]"):
        ip.SoftAnswer(weights)


def test_errors_come_as_often_as_they_should():
    """And do not depend on which inputs are asked about together; asked again, the same error only if not fresh."""
    qs = ip.queries.concepts([f"q{i}" for i in range(3)])
    tables = {"q0": [[0.9, 0.1], [0.4, 0.6]], "q1": 0.7}
    inputs, holds = np.arange(20_000), np.tile([0, 1], 10_000)[:, None]
    for fresh in (False, True):
        somebody = NoisyAnnotator(qs, ip.AnswerNoise(1.0, tables), seed=3, fresh=fresh)
        said = {q: somebody.answer(inputs, np.full(20_000, q), holds, 0)[:, 0] for q in range(3)}
        assert said[0][::2].mean() == pytest.approx(0.1, abs=0.015)
        assert said[0][1::2].mean() == pytest.approx(0.6, abs=0.02)
        assert (said[1] == holds[:, 0]).mean() == pytest.approx(0.7, abs=0.015)
        assert (said[2] == holds[:, 0]).all()
        again = somebody.answer(inputs, np.full(20_000, 1), holds, 1)[:, 0]
        assert (again == said[1]).all() == (not fresh)
        some = np.array([7, 1234, 19_999])
        assert somebody.answer(some, np.full(3, 1), holds[some], 0)[:, 0].tolist() == said[1][some].tolist()
        assert np.corrcoef(said[0] == holds[:, 0], said[1] == holds[:, 0])[0, 1] == pytest.approx(0, abs=0.03)


def test_what_is_not_known_stays_so():
    somebody = NoisyAnnotator(QUERIES, ip.AnswerNoise(0.5))
    assert (somebody.answer(np.arange(9), np.zeros(9, dtype=int), np.full((9, 1), -1), 0) == -1).all()


def test_the_same_pursuit_for_somebody_less_reliable():
    """All settings stay; pruned enumeration, which cannot weigh answers, gives way."""
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.6], [0.1, 0.4]])
    for belief in ("exact", "pruned"):
        mine = ip.generative_pursuit(model, QUERIES, belief, ip.MaxQueries(2), 1, 7, classes=["a", "b"], n_states=50)
        other = replace(mine, noise=ip.AnswerNoise(0.8, max_repeats=2))
        kept = (other.stopping, other.patience, other.seed, other.classes.tolist(), other.acquisition.n_states)
        assert kept == (ip.MaxQueries(2), 1, 7, ["a", "b"], 50)
        assert other.session().answer("yes").posterior[0] == pytest.approx(0.8 * 0.9 + 0.2 * 0.1)
        assert mine.session().answer("yes").posterior[0] == pytest.approx(0.9, abs=1e-6)
