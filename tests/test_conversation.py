"""What words mean, what each answer would mean, and sessions in files; without a terminal."""

import io
import itertools

import numpy as np
import pytest

import infopursuit as ip
from infopursuit import shipped
from infopursuit.app.cli.ask import show_posterior, show_why
from infopursuit.app.conversation import Word, history_of, look_ahead, resume_session, save_session, understand
from infopursuit.strategies.generative.answer_tables import entropy
from infopursuit.support.messages import load
from infopursuit.support.terminal import Terminal


@pytest.fixture
def pursuit():
    rng = np.random.default_rng(1)
    model = ip.models.TableModel([0.5, 0.3, 0.2], None, rng.uniform(0.05, 0.95, size=(3, 4)))
    return ip.generative_pursuit(model, ip.queries.concepts(["a", "b", "c", "d"]), stopping=ip.Confidence(0.001))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("yes", (1,)), ("Y", (1,)), (" No ", (0,)), ("n", (0,)), ("d", Word.UNKNOWN), ("Don’t  know", Word.UNKNOWN),
        ("?", Word.UNKNOWN), ("b", Word.BACK), ("undo", Word.BACK), ("wh", Word.WHY), ("w", Word.WHY),
        ("s", Word.STOP), ("quit", Word.STOP), ("help", Word.HELP), ("h", Word.HELP),
    ],
)  # fmt: skip
def test_words(pursuit, said, meant):
    assert understand(said, pursuit.queries, 0) == meant


@pytest.mark.parametrize("said", ["", "  ", "maybe", "1", "yess", "\x00"])
def test_what_is_no_answer_is_refused(pursuit, said):
    with pytest.raises(ValueError, match="say one of: no, yes; or help"):
        understand(said, pursuit.queries, 0)


def test_patches_in_several_spellings():
    queries = ip.queries.patches((4, 4), size=2)
    for said in ("0110", "01/10", "01 10", ".##.", "0 1 / 1 0"):
        assert understand(said, queries, 0) == (0, 1, 1, 0)
    assert understand("01/1?", queries, 0) == (0, 1, 1, -1)
    assert understand("????", queries, 0) is None
    assert understand("?", queries, 0) is Word.UNKNOWN
    for wrong in ("011", "01102", "abcd"):
        with pytest.raises(ValueError, match="say 2 rows of 2 pixels"):
            understand(wrong, queries, 0)


def test_what_is_foreseen_comes_true(pursuit):
    """Probabilities of answers by enumeration, and the belief after an answer as the session has it."""
    session = pursuit.session([("b", "yes")])
    index = session.question.index
    outcomes = {outcome.said: outcome for outcome in look_ahead(session.pursuit, session.state, index)}
    _, _, probs = pursuit.model.tables()
    expected = session.posterior @ probs[:, 0, 2 * index + 1]
    np.testing.assert_allclose(outcomes["yes"].probability, expected, atol=1e-12)
    np.testing.assert_allclose(sum(outcome.probability for outcome in outcomes.values()), 1)
    for said, outcome in outcomes.items():
        after = pursuit.session([("b", "yes"), (index, said)]).posterior
        assert dict(outcome.leaders) == pytest.approx(dict(enumerate(after)))
        assert outcome.candidates == pytest.approx(np.exp(entropy(after)))


def test_the_gain_is_what_the_outcomes_say(pursuit):
    """Expected fall of the entropy, from what is foreseen alone."""
    session = pursuit.session()
    found = look_ahead(pursuit, session.state, session.question.index)
    fall = entropy(session.posterior) - sum(o.probability * np.log(o.candidates) for o in found)
    assert session.gains[session.question.index] == pytest.approx(fall)
    assert session.gains[session.question.index] >= session.gains[session.runner_up.index]


def test_patterns_that_cannot_be_any_more_are_not_foreseen():
    session = shipped.load("digits").session()
    first = session.question.index
    assert len(look_ahead(session.pursuit, session.state, first)) == 512
    session.answer([0] * 9)
    overlapping = next(q for q in (first - 1, first + 1) if 0 <= q < 36)
    assert len(look_ahead(session.pursuit, session.state, overlapping)) == 8  # six of the nine pixels are known
    assert sum(
        outcome.probability for outcome in look_ahead(session.pursuit, session.state, overlapping)
    ) == pytest.approx(1)


def test_a_session_in_a_file(pursuit, tmp_path):
    session = pursuit.session().answer("yes").skip().answer("no")
    save_session(session, tmp_path / "s.json")
    again = resume_session(pursuit, tmp_path / "s.json")
    assert again.history == session.history
    np.testing.assert_array_equal(again.posterior, session.posterior)
    assert history_of(again)[1]["answer"] is None


def test_patches_in_a_file(tmp_path):
    classifier = shipped.load("digits")
    session = classifier.session().answer([0, 1, 1, 0, -1, 1, 0, 0, 1])
    save_session(session, tmp_path / "s.json")
    assert resume_session(classifier.pursuit_, tmp_path / "s.json").history == session.history


@pytest.mark.parametrize(
    "history", ["3", '[{"query": "z", "answer": null}]', '[{"query": "a", "answer": "maybe"}]', '[{"answer": "no"}]',
                '[{"query": "a", "answer": {}}]'],
)  # fmt: skip
def test_a_damaged_file_is_refused(pursuit, tmp_path, history):
    file = tmp_path / "s.json"
    save_session(pursuit.session(), file)
    file.write_text(file.read_text().replace("[]", history))
    with pytest.raises(ValueError, match=r"s\.json is damaged"):
        resume_session(pursuit, file)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_lines_fit_the_terminal(width):
    session = shipped.load("animals").session()
    out = io.StringIO()
    terminal = Terminal(out, width=width, colour=False)
    for answer in itertools.islice(itertools.cycle(["yes", "no", "no"]), 8):
        show_posterior(session, terminal, load())
        show_why(session, terminal, load())
        session.answer(answer)
    assert max(len(line.rstrip()) for line in out.getvalue().splitlines()) < width


@pytest.mark.parametrize(
    ("said", "sure"),
    [("probably yes", 0.8), ("Maybe y", 0.65), ("yes 70 %", 0.7), ("yes, 70%", 0.7), ("i think yes", 0.8)],
)
def test_an_answer_that_is_not_certain(said, sure):
    queries = ip.queries.concepts(["has wings"])
    meant = understand(said, queries, 0)
    assert meant.cells == (1,)
    assert meant.share == pytest.approx(sure)


@pytest.mark.parametrize("said", ["probably", "maybe d", "probably stop", "yes 0 %", "yes 130 %"])
def test_not_certain_of_what(said):
    with pytest.raises(ValueError, match=r"say|confidence"):
        understand(said, ip.queries.concepts(["has wings"]), 0)


def test_answers_that_are_not_certain_are_kept(tmp_path):
    """Of one variable by the names of its choices, of several by weights."""
    pursuit = ip.generative_pursuit(
        ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.6], [0.1, 0.4]]),
        ip.queries.concepts(["has wings", "is red"]),
        stopping=ip.MaxQueries(2),
    )
    session = pursuit.session().answer("yes", confidence=0.8)
    save_session(session, tmp_path / "kept.json")
    again = resume_session(pursuit, tmp_path / "kept.json")
    np.testing.assert_allclose(again.posterior, session.posterior, rtol=0, atol=1e-12)
    patches = ip.queries.patches((2, 2), size=2)
    seen = ip.generative_pursuit(ip.models.TableModel([0.5, 0.5], None, [[0.9] * 4, [0.1] * 4]), patches)
    session = seen.session([(0, ip.SoftAnswer(((0.1, 0.9), (1.0, 1.0), (0.4, 0.6), (0.5, 0.2))))])
    save_session(session, tmp_path / "patch.json")
    assert resume_session(seen, tmp_path / "patch.json").history == session.history


@pytest.mark.parametrize(
    ("levels", "channels", "said", "cells"),
    [
        (4, 1, "0 3 / 2 ?", (0, 3, 2, -1)),
        (4, 1, "03/2?", (0, 3, 2, -1)),
        (16, 1, "0, 15, 2 / ?", (0, 15, 2, -1)),
        (3, 3, "012 012 / 000 222", (0, 1, 2, 0, 1, 2, 0, 0, 0, 2, 2, 2)),
    ],
)
def test_levels_of_a_patch(levels, channels, said, cells):
    patches = ip.queries.patches((2, 2), size=2, levels=levels, channels=channels)
    assert understand(said, patches, 0) == cells
    for wrong in (f"{said} 1", said.replace("2", "99")):
        with pytest.raises(ValueError, match="2 rows of 2 pixels"):
            understand(wrong, patches, 0)
