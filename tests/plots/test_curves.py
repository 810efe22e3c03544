"""Trade-off curves and reliability diagrams."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

pytest.importorskip("matplotlib")

from infopursuit.evaluation.measures import Point
from infopursuit.presentation.plots import calibration, trade_off


def points(*pairs: tuple[float, float]) -> list[Point]:
    return [Point(0.1, accuracy, 0.01, length, 0.1, 200) for length, accuracy in pairs]


def drawn(curves, **options):
    """The figure that the curves lie in."""
    return trade_off(curves, **options).figure


def test_each_curve_is_a_line_from_short_to_long():
    figure = drawn({"ours": points((5, 0.96), (3, 0.9), (4, 0.94)), "tree": points((6, 0.9), (8, 0.92))})
    lines = figure.axes[0].get_lines()
    assert [line.get_xdata().tolist() for line in lines] == [[3, 4, 5], [6, 8]]
    assert lines[0].get_ydata().tolist() == [0.9, 0.94, 0.96]


def test_the_legend_names_the_curves_and_how_many_inputs_they_come_from():
    figure = drawn({"ours": points((5, 0.96))}, marks={"the paper": (5.2, 0.968)})
    words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert words == ["ours (200 inputs)", "the paper"]


def test_bands_show_the_standard_error():
    figure = drawn({"ours": points((3, 0.9), (5, 0.96))})
    corners = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert corners.min() == pytest.approx(0.89)
    assert corners.max() == pytest.approx(0.97)


def test_it_draws_on_axes_that_are_given():
    from matplotlib.figure import Figure

    mine = Figure()
    axes = mine.add_subplot()
    assert trade_off({"ours": points((3, 0.9))}, axes=axes, title="mine") is axes
    assert axes.figure is mine
    assert axes.get_title(loc="left") == "mine"


def test_no_curves_are_refused():
    with pytest.raises(ValueError, match="curves is empty"):
        drawn({})


# ---- reliability diagrams -------------------------------------------------------------------------------------------

# three bins: two of 0.5 and 0.55, one of them right; one of 0.7; four of 0.9, 0.9, 0.94 and 0.94, three of them right
SURE = np.array([0.5, 0.55, 0.7, 0.9, 0.9, 0.94, 0.94])
HIT = np.array([True, False, True, True, False, True, True])


def test_bins_intervals_and_counts_by_hand():
    axes = calibration(SURE, HIT)
    line, _, (upright,) = axes.containers[0]
    np.testing.assert_allclose(line.get_xdata(), [0.525, 0.7, 0.92])
    np.testing.assert_allclose(line.get_ydata(), [0.5, 1.0, 0.75])
    for segment, (k, n) in zip(upright.get_segments(), ((1, 2), (1, 1), (3, 4)), strict=True):
        np.testing.assert_allclose(segment[:, 1], binomtest(k, n).proportion_ci(0.95, method="wilson"))
    assert [text.get_text() for text in axes.texts] == ["2", "1", "4"]


def test_the_expected_calibration_error_by_hand():
    """(2 * |0.525 - 0.5| + 1 * |0.7 - 1| + 4 * |0.92 - 0.75|) / 7 = 0.1471."""
    said = calibration(SURE, HIT, title="mine").get_title(loc="left")
    assert said == "mine\nexpected calibration error 14.7 %, accuracy 71.4 %\n7 inputs"


def test_before_and_after():
    axes = calibration(SURE, HIT, before=(np.full(7, 0.99), HIT))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["before", "after"]
    np.testing.assert_allclose(axes.containers[0][0].get_xdata(), [0.99])


@pytest.mark.parametrize(
    ("confidence", "right", "words"),
    [
        ([0.5, 1.5], [1, 1], r"confidence\[1\] is 1.5"),
        ([0.5], [2], r"right\[0\] is 2"),
        ([0.5], [1, 0], "confidence has shape"),
        ([], [], "confidence has shape"),
    ],
)
def test_mistakes_are_named(confidence, right, words):
    with pytest.raises(ValueError, match=words):
        calibration(confidence, right)
