"""Pictures of one pursuit: which steps and classes they show, and what is written beside them."""

import numpy as np
import pytest
from made_up_pursuits import drawn_at_random, told
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from infopursuit.presentation.plots import heatmap
from infopursuit.presentation.plots.style import FAINT, INK, NO, NOT_KNOWN, RIGHT, WRONG, YES

POSTERIORS = [[0.25, 0.5, 0.25], [0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.1, 0.002, 0.898], [0.0005, 0, 0.9995]]
SMALL = told(POSTERIORS, ["yes", "not known", "4", "no"], ["fur", "fins", "legs", "tail"])
"""Four steps with every kind of answer and three classes; "c" comes out."""
STEPS = [
    ("before any question", FAINT.upper(), False),
    ("1. fur: yes", YES.upper(), True),
    ("2. fins: not known", NOT_KNOWN.upper(), False),
    ("3. legs: 4", INK.upper(), False),
    ("4. tail: no", NO.upper(), False),
]


def seen(labels):
    return [(t.get_text(), to_hex(t.get_color()).upper(), t.get_fontweight() == "bold") for t in labels]


def title(axes):
    return axes.get_title(loc="left")


# ---- heatmap ----------------------------------------------------------------------------------------------------


def test_questions_and_answers_are_coloured_by_the_answer_and_differ_without_colour():
    assert seen(heatmap(SMALL).get_yticklabels()) == STEPS


def test_the_others_share_a_last_column():
    explanation = drawn_at_random(6, 10)
    cells = np.asarray(heatmap(explanation, max_classes=3, truth="a").images[0].get_array())
    np.testing.assert_allclose(cells.sum(axis=1), 1)
    names = [text for text, *_ in seen(heatmap(explanation, max_classes=3, truth="a").get_xticklabels())]
    assert names[0] == "true: a"
    assert names[-1] == "7 others"
    assert explanation.prediction in names


def test_the_cells_are_the_belief_with_numbers_where_there_is_any():
    axes = heatmap(SMALL)
    (image,) = axes.images
    np.testing.assert_array_equal(image.get_array(), SMALL.posteriors)
    dark = image.cmap(np.linspace(0, 1, 21))[:, :3].sum(axis=1)
    assert (np.diff(dark) < 0).all()
    texts = {(round(y), round(x)): text for text in axes.texts for x, y in [text.get_position()]}
    assert [texts[3, c].get_text() for c in range(3)] == ["10", "", "90"]
    assert [texts[4, c].get_text() for c in range(3)] == ["", "", "99.9"]
    assert to_hex(texts[0, 0].get_color()).upper() == INK.upper()
    assert to_hex(texts[4, 2].get_color()).upper() == "#FFFFFF"


def test_the_predicted_and_the_true_class_stand_out():
    a, b = ("a", INK.upper(), False), ("b", INK.upper(), False)
    assert seen(heatmap(SMALL).get_xticklabels()) == [a, b, ("c", RIGHT.upper(), True)]
    wrong = [("true: a", RIGHT.upper(), True), b, ("c", WRONG.upper(), True)]
    assert seen(heatmap(SMALL, truth="a").get_xticklabels()) == wrong


def test_the_headline_tells_what_came_out():
    assert title(heatmap(SMALL)) == "c with 99.9 % after 4 questions"
    assert title(heatmap(SMALL, truth="c")) == "c with 99.9 % after 4 questions, which is right"
    assert title(heatmap(SMALL, truth="a")) == "c with 99.9 % after 4 questions, but it is a"


def test_of_long_runs_the_last_and_the_most_influential_steps_are_shown():
    explanation = drawn_at_random(60, 4)
    axes = heatmap(explanation, max_steps=7)
    labels = [text for text, *_ in seen(axes.get_yticklabels())]
    assert [int(text.split(".")[0]) - 1 for text in labels[1:]] == explanation.shown_steps(7)
    assert axes.get_xlabel().startswith("7 of 60 steps")


def test_axes_of_the_caller_dollars_and_mistakes(tmp_path):
    left, right = Figure().subplots(1, 2)
    priced = told([[0.5, 0.5], [0.1, 0.9]], ["yes"], ["costs $5 or $x^2$"], classes=["$", "a_b$c^"])
    assert heatmap(priced, axes=right) is right
    assert not left.lines
    right.figure.savefig(tmp_path / "drawn.png")  # a formula would be an error
    with pytest.raises(TypeError, match="axes is of type ndarray"):
        heatmap(SMALL, axes=Figure().subplots(1, 2))
    with pytest.raises(ValueError, match="truth='z' is none of the classes"):
        heatmap(SMALL, truth="z")
    with pytest.raises(ValueError, match="max_classes=0"):
        heatmap(SMALL, max_classes=0)
    heatmap(told([[0.5, 0.5]], [])).figure.draw_without_rendering()
