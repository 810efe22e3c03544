"""The same picture made of characters."""

from dataclasses import replace

import numpy as np
import pytest
from made_up_pursuits import pursue

import infopursuit as ip
from infopursuit.presentation.plots import text_trace
from infopursuit.support.terminal import seen_width


def test_panels_side_by_side():
    image, explanation = pursue((4, 8), 2, classes=["a", "b", "c"])
    lines = text_trace(explanation, image=image, width=80).splitlines()
    assert lines[0].startswith("the image ")
    assert [lines[0].index(f"question {k}") for k in (1, 2, 3)] == [19, 38, 57]
    whole = [line[:16].ljust(16) for line in lines[1:5]]
    assert whole == ["".join("██" if pixel else "  " for pixel in row) for row in image]
    for k in (1, 2, 3):
        seen = explanation.revealed(k)
        panel = [line[19 * k : 19 * k + 16].ljust(16) for line in lines[1:5]]
        assert [[line[i : i + 2] == "░░" for i in range(0, 16, 2)] for line in panel] == (seen == -1).tolist()
        assert [[line[i : i + 2] == "██" for i in range(0, 16, 2)] for line in panel] == (seen == 1).tolist()


def test_the_belief_stands_below():
    _, explanation = pursue((4, 8), 2, classes=["a", "b", "c"])
    lines = text_trace(explanation, width=200).splitlines()
    leader = explanation.classes[int(explanation.posteriors[1].argmax())]
    assert lines[5].startswith(f"{leader} █")
    assert "%" in lines[5]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
@pytest.mark.parametrize("shape", [(8, 8), (3, 3), (5, 12)])
def test_lines_fit_the_width(width, shape):
    image, explanation = pursue(
        shape, 2, stopping=ip.MaxQueries(6), classes=["a", "b", "a class with a very long name"]
    )
    for colour in (False, True):
        lines = text_trace(explanation, image=image, width=width, colour=colour).splitlines()
        assert max(seen_width(line) for line in lines) <= width
        assert ("\x1b[" in "".join(lines)) == colour


def test_large_images_show_where_it_ended():
    _, explanation = pursue((28, 28), 3)
    text = text_trace(explanation, width=80)
    assert "question 3" in text
    assert "question 2" not in text


def test_no_steps():
    image, explanation = pursue((4, 4), 2, stopping=ip.MaxQueries(0))
    assert "nothing asked" in text_trace(explanation, image=image)
    assert "33 %" in text_trace(explanation)


def test_mistakes_are_named():
    image, explanation = pursue((4, 4), 2)
    with pytest.raises(ValueError, match="black and white"):
        text_trace(explanation, image=16 * np.ones((4, 4)))
    with pytest.raises(ValueError, match=r"image has shape \(4, 3\)"):
        text_trace(explanation, image=image[:, :3])
    with pytest.raises(ValueError, match="not about an image"):
        text_trace(replace(explanation, shape=None))
