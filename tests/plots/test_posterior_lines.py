"""The belief as lines: which lines there are, where they run, and what is written beside them."""

from itertools import pairwise

import numpy as np
import pytest
from made_up_pursuits import drawn_at_random, told
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from infopursuit.plots import posterior
from infopursuit.plots.style import COLOURS, FAINT, INK, NO, NOT_KNOWN, OTHERS, YES


@pytest.fixture
def small():
    """Three steps and three classes; "c" comes out."""
    return told(
        [[0.25, 0.5, 0.25], [0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.1, 0.002, 0.898]], ["yes", "not known", "no"]
    )


def written(axes):
    """What is written around the lines: text -> (colour, bold)."""
    return {
        text.get_text(): (to_hex(text.get_color()).upper(), text.get_fontweight() == "bold")
        for text in axes.texts
        if text.get_text()
    }


def test_a_line_for_each_class_from_the_prior_to_the_end(small):
    lines = posterior(small).get_lines()
    assert [line.get_ydata().tolist() for line in lines] == small.posteriors.T.tolist()
    assert all(line.get_xdata().tolist() == [0, 1, 2, 3] for line in lines)
    assert [line.get_color() for line in lines] == list(COLOURS[:3])
    assert len({line.get_marker() for line in lines}) == 3
    assert [line.get_linewidth() > 2 for line in lines] == [False, False, True]


def test_questions_and_answers_stand_below(small):
    found = written(posterior(small))
    assert found["1. question 0: yes"] == (YES.upper(), True)
    assert found["2. question 1: not known"] == (NOT_KNOWN.upper(), False)
    assert found["3. question 2: no"] == (NO.upper(), False)
    assert found["before"] == (FAINT.upper(), False)


def test_lines_end_at_the_name_of_their_class(small):
    found = written(posterior(small, truth="a"))
    assert found["c: 90 %"] == (INK.upper(), True)
    assert found["a (true): 10 %"] == (INK.upper(), True)
    assert found["b: 0 %"] == (INK.upper(), False)


def test_the_headline_tells_what_came_out(small):
    words = [text.get_text() for text in posterior(small, truth="a").figure.texts]
    assert words[0] == "c with 90 % after 3 questions, but it is a"


def test_of_many_classes_the_others_share_a_line():
    explanation = told([[0.2] * 5, [0.6, 0.2, 0.1, 0.06, 0.04], [0.01, 0.7, 0.2, 0.05, 0.04]], ["no", "yes"])
    axes = posterior(explanation, max_classes=2)
    shared, *lines = axes.get_lines()
    assert [line.get_ydata().tolist() for line in lines] == explanation.posteriors[:, :2].T.tolist()
    np.testing.assert_allclose(shared.get_ydata(), [0.6, 0.2, 0.29])
    assert (shared.get_color(), shared.get_linestyle()) == (OTHERS, "--")
    assert "3 others: 29 %" in written(axes)


def test_of_long_runs_the_last_and_the_most_influential_steps_are_shown():
    explanation = drawn_at_random(60, 3)
    axes = posterior(explanation, max_steps=6)
    rows = [0, *(k + 1 for k in explanation.shown_steps(6))]
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), explanation.posteriors[rows, 0])
    assert axes.figure.texts[1].get_text().startswith("6 of 60 steps")


@pytest.mark.parametrize(("steps", "classes"), [(0, 2), (1, 1), (3, 2), (12, 5), (40, 60)])
def test_all_words_fit_the_figure_and_names_keep_apart(steps, classes):
    names = {"names": ["something rather long to be asked"] * 40, "classes": [f"a class {c}" for c in range(60)]}
    explanation = drawn_at_random(steps, classes, names=names["names"][:steps], classes=names["classes"][:classes])
    axes = posterior(explanation, truth="a class 0")
    axes.figure.draw_without_rendering()
    for text in [*axes.texts, *axes.figure.texts]:
        box = text.get_window_extent()
        if text.get_text():
            assert box.x0 >= -1, text
            assert box.y0 >= -1, text
            assert box.x1 <= axes.figure.bbox.x1 + 1, text
            assert box.y1 <= axes.figure.bbox.y1 + 1, text
    ends = sorted((t.get_window_extent() for t in axes.texts if " %" in t.get_text()), key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 + 1.5 for below, above in pairwise(ends))


def test_axes_of_the_caller(small):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert posterior(small, axes=right) is right
    assert not figure.texts
    assert not left.lines


def test_mistakes_are_named(small):
    with pytest.raises(ValueError, match="truth='z' is none of the classes"):
        posterior(small, truth="z")
    with pytest.raises(ValueError, match="max_classes=0 must be at least 1"):
        posterior(small, max_classes=0)
    with pytest.raises(TypeError, match="axes is of type int"):
        posterior(small, axes=3)
