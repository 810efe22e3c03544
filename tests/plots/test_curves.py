"""Trade-off curves."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")

from infopursuit.evaluation.curve import Point
from infopursuit.plots import trade_off


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
