"""What may be said instead of an answer: not applicable, and later."""

import io

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.app import cli

QUERIES = ip.queries.concepts(["a", "b", "c"])
MODEL = ip.models.TableModel([0.5, 0.5], None, [[0.95, 0.8, 0.7], [0.05, 0.2, 0.3]])


def session(**parts):
    return ip.generative_pursuit(MODEL, QUERIES, stopping=ip.Confidence(0.001), **parts).session()


def test_later_puts_a_question_aside_until_nothing_else_is_asked():
    one = session()
    assert one.question.name == "a"
    assert one.later().question.name == "b"
    assert (len(one.history), len(one.explanation)) == (0, 0)
    assert one.answer(ip.LATER).question.name == "c"
    assert one.answer("yes").question.name == "a"  # what was put aside first comes first
    assert one.later().question.name == "b"
    assert one.answer("no").question.name == "a"
    assert one.later().question.name == "a"
    one.answer("yes")
    assert one.stop_reason == "exhausted"
    assert [step.name for step in one.explanation.steps] == ["c", "b", "a"]
    straight = session()
    for name, answer in (("c", 1), ("b", 0), ("a", 1)):
        straight._take(QUERIES.names.index(name), answer)
    np.testing.assert_allclose(one.posterior, straight.posterior)
    assert one.undo().question.name == "a"
    with pytest.raises(RuntimeError, match="stopped"):
        one.answer("yes").later()


def test_what_is_put_aside_is_asked_before_a_rule_about_gains_stops():
    one = ip.generative_pursuit(MODEL, QUERIES, stopping=ip.InformationGain(0.1)).session()
    assert one.later().question.name == "b"
    assert one.later().question.name == "a"  # the gain of c is below the rule's


def test_not_applicable_counts_as_unknown_and_is_said():
    one = session().answer(ip.NOT_APPLICABLE)
    assert one.history == ((0, None),)
    assert one.explanation.steps[0].said == "not applicable"
    assert ip.Explanation.from_json(one.explanation.to_json()).steps[0].said == "not applicable"
    assert one.question.name == "b"
    one.undo().skip()
    assert one.explanation.steps[0].said == "not known"


def test_on_the_command_line(tmp_path, capsys):
    ip.save(ip.generative_pursuit(MODEL, QUERIES, stopping=ip.Confidence(0.001)), tmp_path)
    answers = io.StringIO("later\nn/a\nyes\nyes\n")
    assert cli.main(["ask", str(tmp_path)], stdin=answers) == 0
    said = capsys.readouterr().out
    asked = [line for line in said.splitlines() if line.strip().endswith("?")]
    assert len(asked) >= 4
    assert "b: not applicable" in said
