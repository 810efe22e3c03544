"""The reliability diagram: what lies in which bin, and the numbers that are written."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import binomtest

from infopursuit.plots import calibration

# three bins of five: two of 0.5 and 0.55, one of them right; one of 0.7; four of 0.9, 0.9, 1 and 1, three of them right
SURE = np.array([0.5, 0.55, 0.7, 0.9, 0.9, 1.0, 1.0])
RIGHT = np.array([True, False, True, True, False, True, True])


def drawn(confidence, right, **options):
    """The figure that the diagram lies in."""
    return calibration(confidence, right, **options).figure


def points(figure):
    """(x, y) of the points, and the (low, high) ends of their intervals."""
    bars = figure.axes[0].containers[0]
    line, _, (upright,) = bars
    return line.get_xdata(), line.get_ydata(), [segment[:, 1].tolist() for segment in upright.get_segments()]


def strip(figure):
    """What is above the diagram."""
    return figure.axes[0].child_axes[0]


def counts(figure):
    """The numbers above the bars by where they stand."""
    return {round(text.xy[0], 6): text.get_text() for text in strip(figure).texts if text.xy[0]}


def words(figure):
    return [text.get_text() for text in strip(figure).texts if not text.xy[0]]


def test_a_point_for_each_bin_that_has_inputs():
    x, y, _ = points(drawn(SURE, RIGHT, bins=5))
    np.testing.assert_allclose(x, [0.525, 0.7, 0.95])
    np.testing.assert_allclose(y, [0.5, 1.0, 0.75])


def test_the_line_on_which_all_should_lie():
    line = next(line for line in drawn(SURE, RIGHT).axes[0].get_lines() if line.get_linestyle() == "--")
    assert line.get_xydata().tolist() == [[0, 0], [1, 1]]


def test_intervals_are_wilsons():
    _, _, ends = points(drawn(SURE, RIGHT, bins=5))
    for found, (k, n) in zip(ends, ((1, 2), (1, 1), (3, 4)), strict=True):
        np.testing.assert_allclose(found, binomtest(k, n).proportion_ci(0.95, method="wilson"))


def test_the_expected_calibration_error_by_hand():
    """(2 * |0.525 - 0.5| + 1 * |0.7 - 1| + 4 * |0.95 - 0.75|) / 7 = 0.1643."""
    said = words(drawn(SURE, RIGHT, bins=5))
    assert said == ["expected calibration error 16.4 % over 7 inputs\naccuracy 71.4 %, confidence 79.3 % on average"]
    assert "over 1 input\n" in words(drawn([0.75], [1]))[0]


def test_a_perfect_classifier_has_no_error():
    said = words(drawn(np.repeat([0.25, 0.75], 4), [1, 0, 0, 0, 1, 1, 1, 0], bins=2))
    assert said[0].startswith("expected calibration error 0.0 % over 8 inputs")


def test_how_many_inputs_each_bin_has():
    figure = drawn(SURE, RIGHT, bins=5)
    assert counts(figure) == {0.5: "2", 0.7: "1", 0.9: "4"}
    bars = strip(figure).patches
    assert [bar.get_height() for bar in bars] == [0, 0, 2, 1, 4]
    np.testing.assert_allclose([(bar.get_x(), bar.get_width()) for bar in bars], [(k / 5, 0.2) for k in range(5)])
    assert strip(figure).get_xlim() == figure.axes[0].get_xlim()
    assert counts(drawn(np.full(1200, 0.55), np.ones(1200))) == {0.55: "1,200"}


def test_a_bin_has_its_lower_edge_and_the_last_one_both():
    assert counts(drawn([0.3, 0.6, 0.1 + 0.2, 0.7 - 0.1, 1.0], np.ones(5))) == {0.35: "2", 0.65: "2", 0.95: "1"}


def test_edges_of_the_caller():
    assert counts(drawn(SURE, RIGHT, bins=(0, 0.6, 0.95, 1))) == {0.3: "2", 0.775: "3", 0.975: "2"}


@pytest.mark.parametrize(
    ("sure", "right", "low"),
    [
        (SURE, RIGHT, 0.0),  # the interval of one in two reaches down to 9 %
        (np.full(1000, 0.95), np.ones(1000), 0.9),
        (np.full(1000, 0.95), np.arange(1000) < 750, 0.7),
        (np.full(1000, 0.65), np.ones(1000), 0.6),
    ],
)
def test_both_scales_begin_where_the_data_do(sure, right, low):
    axes = drawn(sure, right).axes[0]
    assert axes.get_xlim() == axes.get_ylim()
    np.testing.assert_allclose(axes.get_xlim(), (low - 0.02 * (1 - low), 1 + 0.02 * (1 - low)))


@pytest.mark.parametrize("bins", [1, 10, 40, (0, 0.5, 0.9, 0.99, 0.999, 0.9999, 1)])
def test_words_keep_apart_and_fit_the_figure(bins):
    rng = np.random.default_rng(0)
    sure = 1 - 10 ** rng.uniform(-5, -0.1, 20_000)
    figure = drawn(sure, rng.random(20_000) < sure, bins=bins, title="Edges close to one")
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in strip(figure).texts]
    for i, box in enumerate(boxes):
        assert 0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert 0 <= box.y0 < box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[:i])
    assert min(box.y0 for box in boxes) > strip(figure).bbox.y1


def test_axes_of_the_caller_and_a_title():
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    assert calibration(SURE, RIGHT, axes=right, title="a $ and a $") is right
    assert figure.axes == [left, right]
    assert not left.child_axes
    title = right.child_axes[0].texts[-1]
    assert title.get_text() == "a $ and a $"
    assert not title.get_parse_math()


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"confidence": SURE[:, None]}, r"confidence has shape \(7, 1\) and right \(7,\)"),
        ({"right": RIGHT[:3]}, r"confidence has shape \(7,\) and right \(3,\)"),
        ({"confidence": [], "right": []}, r"B from 1 on"),
        ({"confidence": [0.5] * 6 + [1.2]}, r"confidence\[6\] is 1.2; a confidence is a probability"),
        ({"confidence": [0.5, np.nan] + [0.5] * 5}, r"confidence\[1\] is nan"),
        ({"confidence": [-0.1] * 7}, r"confidence\[0\] is -0.1"),
        ({"right": [0, 1, 2, 0, 0, 0, 0]}, r"right\[2\] is 2; give True and False"),
        ({"bins": 0}, "bins=0 must be at least 1"),
        ({"bins": 2.5}, "bins=2.5 is neither"),
        ({"bins": (0.1, 1)}, "rise from 0 to 1"),
        ({"bins": (0, 0.9)}, "rise from 0 to 1"),
        ({"bins": (0, 0.5, 0.5, 1)}, "rise from 0 to 1"),
    ],
)
def test_mistakes_are_named(changed, match):
    given = {"confidence": SURE, "right": RIGHT, **changed}
    with pytest.raises(ValueError, match=match):
        drawn(given.pop("confidence"), given.pop("right"), **given)


def test_many_axes_are_refused():
    with pytest.raises(TypeError, match="axes is of type ndarray; give one matplotlib axes"):
        drawn(SURE, RIGHT, axes=Figure().subplots(1, 2))


def test_before_and_after_in_one_picture():
    rng = np.random.default_rng(0)
    right = rng.random(400) < 0.8
    before = (np.where(rng.random(400) < 0.99, 0.97, 0.55), right)
    figure = drawn(np.full(400, 0.8), right, before=before)
    lines = [line.get_xdata() for line in figure.axes[0].get_lines() if line.get_marker() == "o"]
    assert [np.round(x, 6).tolist() for x in lines] == [[0.97], [0.8]]  # the bin with four inputs is left out
    said = next(text.get_text() for text in figure.axes[0].child_axes[0].texts if "expected" in text.get_text())
    gap = abs(0.8 - right.mean())
    assert said.startswith(f"expected calibration error {100 * gap:.1f} %, ")
    assert said.endswith("\n400 inputs")
    assert " % before\n" in said
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["before", "after"]
    with pytest.raises(ValueError, match=r"before: confidence\[0\] is 2"):
        calibration([0.5], [True], before=([2.0], [True]))
