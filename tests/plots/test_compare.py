"""Two explanations side by side: where they part, what is drawn on each side, and what is said about it."""

import numpy as np
import pytest
from made_up_pursuits import drawn_at_random, told
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from infopursuit.plots import compare
from infopursuit.plots.compare import PART, TOGETHER, together
from infopursuit.plots.style import COLOURS, OTHERS, RIGHT, WRONG

LEFT = told([[0.5, 0.5], [0.7, 0.3], [0.4, 0.6], [0.9, 0.1]], ["yes", "no", "yes"], ["fur", "fins", "legs"])
RIGHT_SIDE = told([[0.5, 0.5], [0.6, 0.4], [0.2, 0.8]], ["yes", "yes"], ["fur", "tail"])
OTHER_ANSWER = told([[0.5, 0.5], [0.7, 0.3], [0.1, 0.9]], ["yes", "yes"], ["fur", "fins"])
SHORTER = told([[0.5, 0.5], [0.7, 0.3]], ["yes"], ["fur"])


def said(figure):
    return [text.get_text() for text in figure.texts]


def beside(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def lines(figure):
    """Where the red line lies on each side."""
    return [[line.get_ydata()[0] for line in axes.get_lines() if line.get_color() == PART] for axes in figure.axes]


@pytest.mark.parametrize(
    ("other", "same"), [(RIGHT_SIDE, 1), (OTHER_ANSWER, 1), (SHORTER, 1), (LEFT, 3), (told([[0.5, 0.5]], []), 0)]
)
def test_how_far_they_go_together(other, same):
    assert together(LEFT, other) == together(other, LEFT) == same


def test_they_part_below_the_last_row_that_both_have():
    figure = compare(LEFT, RIGHT_SIDE)
    assert lines(figure) == [[2], [2]]  # rows: before, fur
    for axes in figure.axes:
        (pale,) = [p for p in axes.patches if to_hex(p.get_facecolor()) == TOGETHER.lower()]
        assert (pale.get_y(), pale.get_height()) == (0, 2)
    assert lines(compare(LEFT, LEFT)) == [[], []]


def test_it_says_where_they_part():
    names = ("ours", "theirs")
    assert said(compare(LEFT, RIGHT_SIDE, names=names))[:2] == [
        "The same for 1 question, then they part", "ours asks fins; theirs asks tail"
    ]  # fmt: skip
    assert said(compare(LEFT, OTHER_ANSWER, names=names))[:2] == [
        "The same for 1 question, then the answer differs", "fins: ours hears no, theirs hears yes"
    ]  # fmt: skip
    assert said(compare(LEFT, SHORTER, names=names))[:2] == [
        "The same for 1 question; then theirs stops",
        "ours goes on",
    ]
    assert said(compare(LEFT, LEFT))[0] == "The same questions and answers"
    first = told([[0.5, 0.5], [0.7, 0.3]], ["yes"], ["wings"])
    assert said(compare(LEFT, first))[0] == "They part at the first question"
    assert said(compare(told([[0.5, 0.5]], []), LEFT, names=names))[0] == "ours asks nothing"


def test_each_side_has_its_own_rows():
    left, right = compare(LEFT, RIGHT_SIDE, names=("ours", "theirs"), truth="a").axes
    assert {"ours", "fur", "fins", "legs", "a with 90 % after 3 questions"} <= set(beside(left))
    assert {"theirs", "fur", "tail", "b with 80 % after 2 questions"} <= set(beside(right))
    colours = {text.get_text(): text.get_color() for axes in (left, right) for text in axes.texts}
    assert colours["a with 90 % after 3 questions"] == RIGHT
    assert colours["b with 80 % after 2 questions"] == WRONG
    assert left.get_ylim() == right.get_ylim() == (4, 0)


def test_the_bars_are_the_belief():
    left, right = compare(LEFT, RIGHT_SIDE).axes
    for axes, explanation in ((left, LEFT), (right, RIGHT_SIDE)):
        for c in range(2):
            pieces = axes.containers[c]
            np.testing.assert_allclose([piece.get_width() for piece in pieces], explanation.posteriors[:, c])
            assert to_hex(pieces[0].get_facecolor()).upper() == COLOURS[c]
        assert [piece.get_x() for piece in axes.containers[1]] == explanation.posteriors[:, 0].tolist()


def test_classes_in_another_order_are_the_same_classes():
    turned = told([[0.5, 0.5], [0.4, 0.6], [0.8, 0.2]], ["yes", "yes"], ["fur", "tail"], classes=["b", "a"])
    right = compare(LEFT, turned, truth="b").axes[1]
    np.testing.assert_allclose([piece.get_width() for piece in right.containers[0]], [0.5, 0.6, 0.2])
    assert "b with 80 % after 2 questions" in beside(right)
    assert {text.get_color() for text in right.texts if "80 %" in text.get_text()} == {RIGHT}


def test_of_many_classes_the_winners_and_the_true_one_have_a_colour():
    one, other = drawn_at_random(5, 30, seed=1), drawn_at_random(5, 30, seed=2, names=[f"other {k}" for k in range(5)])
    one, other = (
        told(each.posteriors.tolist(), [s.said for s in each.steps], classes=[f"c{c}" for c in range(30)])
        for each in (one, other)
    )
    figure = compare(one, other, truth="c7", max_classes=3)
    legend = said(figure)[2:]
    assert legend[-1] == "27 others"
    assert "true: c7" in legend
    assert {str(one.prediction), str(other.prediction)} <= set(legend)
    assert to_hex(figure.axes[0].containers[-1][0].get_facecolor()) == OTHERS.lower()
    widths = np.sum([[piece.get_width() for piece in group] for group in figure.axes[0].containers], axis=0)
    np.testing.assert_allclose(widths, 1)


def test_rows_that_both_have_stay_level_in_long_runs():
    long = drawn_at_random(40, 3)
    changed = told(long.posteriors[:12].tolist(), [*(s.said for s in long.steps[:10]), "4"])
    left, right = compare(long, changed, max_steps=5).axes
    for axes in (left, right):
        asked = [text.get_text() for text in axes.texts if text.get_text().startswith("question ")]
        assert asked[:10] == [f"question {k}" for k in range(10)]


@pytest.mark.parametrize(
    "pair", [(LEFT, RIGHT_SIDE), (LEFT, SHORTER), (drawn_at_random(12, 9), drawn_at_random(3, 9, 1))]
)
def test_all_words_fit_the_figure(pair):
    figure = compare(*pair, truth="a", names=("one with a long name", "another"))
    figure.draw_without_rendering()
    for text in [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]:
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y1 <= figure.bbox.y1 + 1, text


def test_axes_of_the_caller():
    figure = Figure()
    axes = figure.subplots(1, 3)
    assert compare(LEFT, RIGHT_SIDE, axes=axes[1:]) is figure
    assert not figure.texts
    assert not axes[0].texts
    assert [text.get_text() for text in axes[1].get_legend().get_texts()] == ["a", "b"]


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="over different classes, \\['a', 'b'\\] and \\['a', 'b', 'c'\\]"):
        compare(LEFT, drawn_at_random(2, 3))
    with pytest.raises(ValueError, match="give two axes, left and right"):
        compare(LEFT, RIGHT_SIDE, axes=Figure().subplots(1, 3))
    with pytest.raises(ValueError, match="must be two names"):
        compare(LEFT, RIGHT_SIDE, names=["one"])
    with pytest.raises(ValueError, match="truth='z' is none of the classes"):
        compare(LEFT, RIGHT_SIDE, truth="z")
