"""The verdict of a summary: what is said of a rare class agrees with the posterior, in every language."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import infopursuit as ip
from infopursuit import case
from infopursuit.presentation.verdict import RARE_ODDS, rare_class, say_verdict
from infopursuit.pursuit.explanation import Explanation, ExplanationStep
from infopursuit.support import messages

ENGLISH = messages.load("en")


def explained(prior, *posteriors, classes=("no", "yes"), **told):
    """An explanation whose steps lead from a prior to the posteriors."""
    steps = tuple(
        ExplanationStep(k, f"column {k}", f"What is column {k}?", (1,), "high", 0.1, 0.0, tuple(p), (k,))
        for k, p in enumerate(posteriors)
    )
    return Explanation(tuple(classes), tuple(prior), steps, "confidence", len(steps), True, **told)


def percents(text, words=ENGLISH):
    """The percentages in a text, as probabilities."""
    pattern = re.escape(words("percent", p="@")).replace("@", r"(\d+(?:[.,]\d+)?)")
    return [float(found.replace(",", ".")) / 100 for found in re.findall(pattern, text)]


odds = st.floats(-12, 12)


@given(share=st.floats(1e-5, 0.1), change=odds, language=st.sampled_from(messages.LANGUAGES))
def test_the_numbers_of_two_classes_agree_with_the_posterior(share, change, language):
    words = messages.load(language)
    evidence = np.exp(change) * share / (1 - share)
    p = evidence / (1 + evidence)
    text = say_verdict(explained((1 - share, share), (1 - p, p)), words)
    shown = percents(text, words)
    if p < 1e-6:
        assert words("less_than", p=words.precise_percent(1e-6)) in text
    elif p < 0.5:
        assert len(shown) == 3
        assert shown[0] + shown[1] == pytest.approx(1, abs=1e-12)
        assert shown[1] == pytest.approx(p, rel=0.06)
        assert shown[2] == pytest.approx(share, rel=0.06)
        assert shown[1] > 0
    else:
        assert shown[-1] == pytest.approx(share, rel=0.06)
        assert "yes" in text


@given(share=st.floats(1e-4, 0.1), factor=st.floats(0.01, 4))
def test_but_is_said_only_where_the_rare_class_has_become_more_probable(share, factor):
    p = share * factor
    text = say_verdict(explained((1 - share, share), (1 - p, p)), ENGLISH)
    assert text.startswith("No (")
    assert (", but " in text) == (factor > 1.25)
    assert ("about as many as" in text) == (0.8 <= factor <= 1.25)


@given(st.floats(1e-6, 1 - 1e-6))
def test_precise_percentages_have_two_digits_of_what_is_missing_or_there(p):
    (shown,) = percents(ENGLISH.precise_percent(p))
    assert 0 < shown < 1
    assert abs(shown - p) <= 0.0501 * min(p, 1 - p) + 1e-12


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_the_prior_alone_makes_nothing_certain(language):
    words = messages.load(language)
    start = explained((0.995, 0.005))
    text = case.summary(start, None, words)
    sure = words("summary.certain", **{"class": "no", "p": words.percent(0.995)})
    assert sure not in text
    assert percents(text, words) == [0.995]

    skipped = explained((0.995, 0.005), (0.995, 0.005))
    skipped = replace(skipped, steps=(replace(skipped.steps[0], answer=None, said="unknown"),))
    assert case.summary(skipped, None, words) == text
    assert case.summary(explained((0.5, 0.5)), None, words) == words("summary.nothing") + words("full_stop")


def test_a_rare_class_that_is_predicted_is_compared_with_its_share():
    text = say_verdict(explained((0.995, 0.005), (0.03, 0.97)), ENGLISH)
    assert text.startswith("Almost certainly yes")
    assert percents(text) == [0.97, 0.005]


def test_frequent_classes_are_not_compared():
    assert say_verdict(explained((0.6, 0.4), (0.97, 0.03)), ENGLISH) == "Almost certainly no (97 %)"
    assert say_verdict(explained((0.6, 0.4), (0.7, 0.3)), ENGLISH) == "No is more likely than not (70 %)"
    games = explained((0.02,) * 50, (0.4, 0.3, *(0.3 / 48,) * 48), classes=tuple(f"animal {k}" for k in range(50)))
    assert percents(say_verdict(games, ENGLISH)) == [0.4]


def test_of_several_rare_classes_the_one_that_gained_most_is_named():
    shares = np.array([0.94, 0.05, 0.005, 0.005])
    assert rare_class(np.array([0.9, 0.00001, 0.095, 0.00499]), shares).index == 2
    assert rare_class(np.array([0.99, 0.00001, 0.0045, 0.00549]), shares).index == 1
    less_frequent = np.array([0.6, 0.38, 0.02])
    assert rare_class(np.array([0.75, 0.05, 0.2]), less_frequent).index == 2
    assert rare_class(np.array([0.75, 0.23, 0.02]), less_frequent) is None


@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=6), st.lists(odds, min_size=6, max_size=6))
def test_a_rare_class_is_never_the_predicted_one(weights, changes):
    shares = np.array(weights) / sum(weights)
    posterior = shares * np.exp(changes[: len(shares)])
    posterior /= posterior.sum()
    found = rare_class(posterior, shares)
    if found is not None:
        assert found.index != posterior.argmax()
        assert shares[posterior.argmax()] >= RARE_ODDS * found.share
        assert (found.probability, found.share) == (posterior[found.index], shares[found.index])


def test_the_answers_that_are_named_spoke_for_what_is_reported():
    rising = explained((0.995, 0.005), (0.999, 0.001), (0.92, 0.08))
    falling = explained((0.995, 0.005), (0.99, 0.01), (0.9999, 0.0001))
    for told in (rising, falling):
        text = case.summary(told, None)
        assert "column 1" in text
        assert "column 0" not in text
    assert "column" not in case.summary(explained((0.995, 0.005), (0.999, 0.001), (0.995, 0.005)), None)


def test_names_with_capitals_of_their_own_stay_as_they_are():
    assert say_verdict(explained((0.99, 0.01), (0.9, 0.1), classes=("pT1", "pT2")), ENGLISH).startswith("pT1 (")
    assert say_verdict(explained((0.99, 0.01), (0.9, 0.1), classes=(0, 1)), ENGLISH).startswith("0 (")


def test_what_is_known_beforehand_is_compared_with_all_cases():
    model = ip.models.TableModel([0.99, 0.01], None, [[0.05, 0.5], [0.9, 0.5]])
    asked = ip.queries.concepts(["leaks", "is old"])
    pursuit = ip.generative_pursuit(model, asked, classes=["sound", "broken"], stopping=ip.MaxQueries(1))
    session = pursuit.session(known={"leaks": "yes"})
    np.testing.assert_allclose(session.explanation.base_rates, [0.99, 0.01])
    text = case.summary(session.explanation, asked)
    assert percents(text) == pytest.approx([0.85, 0.15, 0.01])
    assert "leaks" in text

    again = Explanation.from_json(session.explanation.to_json())
    assert again == session.explanation
    assert pursuit.session().explanation.base_rates == ()
    damaged = session.explanation.to_json().replace('"base_rates": [', '"base_rates": [2.0, ')
    with pytest.raises(ValueError, match="base_rates"):
        Explanation.from_json(damaged)
