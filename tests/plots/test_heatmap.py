"""The heatmap: which steps and classes it shows, what is written beside them, and that all of it can be read."""

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from made_up_pursuits import drawn_at_random, pursue, told
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Annotation

import infopursuit as ip
from infopursuit.plots import heatmap
from infopursuit.plots.style import FAINT, INK, NO, NOT_KNOWN, RIGHT, WRONG, YES


def drawn(explanation, **options):
    """The figure that the heatmap lies in."""
    return heatmap(explanation, **options).figure


@pytest.fixture
def small():
    """Four steps with every kind of answer and three classes; "c" comes out."""
    posteriors = [[0.25, 0.5, 0.25], [0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.1, 0.002, 0.898], [0.0005, 0, 0.9995]]
    return told(posteriors, ["yes", "not known", "4", "no"], ["fur", "fins", "legs", "tail"])


def beside(figure):
    """For each row the number, the question and the answer, as (text, colour, bold), from the top to the bottom."""
    rows = {}
    for note in (text for text in figure.axes[0].texts if isinstance(text, Annotation) and text.xy[1] != 1):
        rows.setdefault(note.xy[1], []).append(note)
    assert list(rows) == [row + 0.5 for row in range(len(rows))]
    assert figure.axes[0].yaxis_inverted()
    return [[_seen(note) for note in sorted(row, key=lambda note: note.xyann[0])] for row in rows.values()]


def above(figure):
    """The name of each column as (text, colour, bold), from left to right."""
    notes = [text for text in figure.axes[0].texts if isinstance(text, Annotation) and text.xy[1] == 1]
    return [_seen(note) for note in sorted(notes, key=lambda note: note.xy[0])]


def _seen(text):
    return text.get_text(), to_hex(text.get_color()).upper(), text.get_fontweight() == "bold"


def numbers(figure):
    """(row, column) -> what is written in a cell."""
    cells = (text for text in figure.axes[0].texts if not isinstance(text, Annotation))
    return {(int(y), int(x)): text for text in cells for x, y in [text.get_position()]}


def test_a_row_for_the_prior_and_one_for_each_step_in_order(small):
    rows = beside(drawn(small))
    assert [tuple(text for text, *_ in row) for row in rows] == [
        ("", "before any question", ""),
        ("1", "fur", "yes"),
        ("2", "fins", "not known"),
        ("3", "legs", "4"),
        ("4", "tail", "no"),
    ]


def test_questions_and_answers_are_coloured_by_the_answer_and_differ_without_colour(small):
    assert len({YES, NO, NOT_KNOWN, INK}) == 4
    rows = beside(drawn(small))[1:]
    for (_, question, answer), colour in zip(rows, (YES, NOT_KNOWN, INK, NO), strict=True):
        assert question[1:] == answer[1:] == (colour.upper(), colour == YES)


def test_a_word_that_happens_to_be_no_is_grey_where_nothing_was_answered():
    skipped = told([[0.5, 0.5]] * 2, ["no"])
    skipped = replace(skipped, steps=(replace(skipped.steps[0], answer=None),))
    assert beside(drawn(skipped))[1][1][1] == NOT_KNOWN.upper()


def test_the_cells_are_the_belief(small):
    figure = drawn(small)
    (image,) = figure.axes[0].images
    np.testing.assert_array_equal(image.get_array(), small.posteriors)
    assert (image.norm.vmin, image.norm.vmax) == (0, 1)
    dark = image.cmap(np.linspace(0, 1, 21))[:, :3].sum(axis=1)
    assert (np.diff(dark) < 0).all()


def test_the_colours_lie_under_their_numbers(small):
    figure = drawn(small, max_classes=1)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[::-1, :, :3]  # the lowest row first, as matplotlib counts
    axes = figure.axes[0]
    assert not axes.axison
    for image, column in zip(axes.images, (0, 1.2), strict=True):
        for row, p in enumerate(image.get_array()[:, 0]):
            x, y = axes.transData.transform((column + 0.1, row + 0.5)).astype(int)  # beside the number
            np.testing.assert_allclose(pixels[y, x], image.cmap(p, bytes=True)[:3], atol=1)


def test_numbers_in_the_cells(small):
    found = {at: text.get_text() for at, text in numbers(drawn(small)).items()}
    assert [[found[row, column] for column in range(3)] for row in range(5)] == [
        ["25", "50", "25"],
        ["50", "25", "25"],
        ["50", "25", "25"],
        ["10", "", "90"],
        ["", "", "99.9"],
    ]


def test_the_leading_class_of_each_row_is_bold_unless_there_are_two(small):
    tied = replace(small, prior=(0.4, 0.4, 0.2))
    bold = {at for at, text in numbers(drawn(tied)).items() if text.get_fontweight() == "bold"}
    assert bold == {(1, 0), (2, 0), (3, 2), (4, 2)}


def test_numbers_are_light_on_dark_and_dark_on_light(small):
    found = {at: to_hex(text.get_color()).upper() for at, text in numbers(drawn(small)).items()}
    assert found[0, 0] == INK.upper()
    assert found[4, 2] == "#FFFFFF"


def test_the_headline_tells_what_came_out(small):
    def headline(truth=None):
        return drawn(small, truth=truth).texts[0].get_text()

    assert headline() == "c with 99.9 % after 4 questions"
    assert headline("c") == "c with 99.9 % after 4 questions, which is right"
    assert headline("a") == "c with 99.9 % after 4 questions, but it is a"
    assert drawn(replace(small, steps=small.steps[:1])).texts[0].get_text().endswith("after 1 question")


def test_the_predicted_and_the_true_class_stand_out(small):
    a, b = ("a", INK.upper(), False), ("b", INK.upper(), False)
    assert above(drawn(small)) == [a, b, ("c", RIGHT.upper(), True)]
    assert above(drawn(small, truth="c")) == [a, b, ("true: c", RIGHT.upper(), True)]
    assert above(drawn(small, truth="a")) == [("true: a", RIGHT.upper(), True), b, ("c", WRONG.upper(), True)]


def test_of_long_runs_the_last_and_the_most_influential_steps_are_shown():
    explanation = drawn_at_random(60, 4)
    figure = drawn(explanation, max_steps=7)
    shown = explanation.shown_steps(7)
    assert [row[0][0] for row in beside(figure)] == ["", *(str(k + 1) for k in shown)]
    assert [row[1][0] for row in beside(figure)][1:] == [f"question {k}" for k in shown]
    np.testing.assert_array_equal(
        figure.axes[0].images[0].get_array(), explanation.posteriors[[0, *(k + 1 for k in shown)]]
    )
    assert figure.texts[1].get_text().startswith("7 of 60 steps")
    assert "steps" not in drawn(explanation, max_steps=60).texts[1].get_text()


def test_of_many_classes_those_that_were_probable_at_some_step_are_shown_in_class_order():
    posteriors = [[0.2] * 5, [0.9, 0.025, 0.025, 0.03, 0.02], [0.01, 0.04, 0.05, 0.1, 0.8]]
    explanation = told(posteriors, ["no", "yes"])
    figure = drawn(explanation, max_classes=3)
    assert above(figure) == [
        ("a", INK.upper(), False), ("b", INK.upper(), False), ("e", RIGHT.upper(), True), ("2 others", FAINT, False)
    ]  # fmt: skip
    shown, others = (image.get_array() for image in figure.axes[0].images)
    np.testing.assert_array_equal(shown, np.array(posteriors)[:, [0, 1, 4]])
    np.testing.assert_allclose(others, np.array(posteriors)[:, [2, 3]].sum(axis=1, keepdims=True))
    assert [text for text, *_ in above(drawn(explanation, max_classes=4))][-1] == "1 other"
    assert len(drawn(explanation, max_classes=5).axes[0].images) == 1


def test_the_predicted_and_the_true_class_are_always_shown():
    posteriors = [[0.3, 0.3, 0.2, 0.2], [0.9, 0.1, 0.0, 0.0], [0.1, 0.8, 0.1, 0.0], [0.2, 0.2, 0.2, 0.4]]
    explanation = told(posteriors, ["no", "yes", "no"])
    assert [text for text, *_ in above(drawn(explanation, max_classes=1))] == ["d", "3 others"]
    assert [text for text, *_ in above(drawn(explanation, max_classes=2, truth="c"))] == ["true: c", "d", "2 others"]
    assert [text for text, *_ in above(drawn(explanation, max_classes=1, truth="c"))] == ["true: c", "d", "2 others"]


def test_a_class_that_shares_a_column_can_lead():
    """Then none of the numbers that are shown is bold."""
    explanation = told([[0.3, 0.3, 0.4], [0.2, 0.5, 0.3]], ["no"])
    bold = {at for at, text in numbers(drawn(explanation, max_classes=1)).items() if text.get_fontweight() == "bold"}
    assert bold == {(1, 0)}


LONG = {
    "names": [f"has underparts of a colour like that of stone number {k}" for k in range(200)],
    "classes": [f"Nelson's Sharp-tailed Sparrow number {c}" for c in range(200)],
}
CASES = {
    "5 steps, 2 classes": drawn_at_random(5, 2, classes=["benign", "malignant"]),
    "no steps": drawn_at_random(0, 2),
    "7 level names": drawn_at_random(3, 7),
    "10 slanted names": drawn_at_random(30, 10, classes=[f"Food and drink {c}" for c in range(10)]),
    "200 steps, 200 classes": drawn_at_random(200, 200, **LONG),
    "narrow letters": drawn_at_random(4, 3, names=["il" * 30] * 4, classes=["i" * 60, "W" * 60, "l"]),
    "one long last name": drawn_at_random(4, 10, classes=[*"abcdefghi", "Nelson's Sharp-tailed Sparrow"]),
    "dollars": drawn_at_random(2, 2, names=["price > $5", "cost < $3 or > $9"], classes=["$cheap$", "dear"]),
}


@pytest.mark.parametrize("name", CASES)
def test_all_words_fit_the_figure_and_keep_apart(name):
    explanation = CASES[name]
    truth = explanation.classes[int(explanation.posteriors[-1].argmin())]
    figure = drawn(explanation, truth=truth)
    figure.draw_without_rendering()
    axes, dpi = figure.axes[0], figure.dpi
    assert figure.bbox.width < 13 * dpi
    notes = [text for text in axes.texts if isinstance(text, Annotation)]
    for text in [*notes, *figure.texts]:
        box = text.get_window_extent()
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    rows, names = {}, [note for note in notes if note.xy[1] == 1]
    for note in notes:
        if note.xy[1] != 1 and note.get_text():
            rows.setdefault(note.xy[1], []).append(note.get_window_extent())
    for boxes in rows.values():
        edges = [*((box.x0, box.x1) for box in sorted(boxes, key=lambda box: box.x0)), (axes.bbox.x0, np.inf)]
        assert all(end < start for (_, end), (start, _) in pairwise(edges))
    heights = [max(box.y1 for box in row) - min(box.y0 for box in row) for row in rows.values()]
    assert max(heights) < axes.bbox.height / axes.get_ylim()[0]
    if not names[0].get_rotation():
        edges = [(box.x0, box.x1) for box in (note.get_window_extent() for note in names)]
        assert all(end < start for (_, end), (start, _) in pairwise(edges))
    top = max(note.get_window_extent().y1 for note in names)
    head, note = (text.get_window_extent() for text in figure.texts)
    assert top < note.y0 < note.y1 <= head.y0 + 1
    column = axes.bbox.width / axes.get_xlim()[1]
    for text in numbers(figure).values():
        if text.get_text():
            assert text.get_window_extent().width < column


def test_figures_grow_with_their_content():
    small, large = (drawn(drawn_at_random(n, c)).get_size_inches() for n, c in ((5, 2), (20, 10)))
    assert (large > small).all()


def test_names_are_slanted_where_they_do_not_fit():
    def turned(**names):
        return {
            text.get_rotation() for text in drawn(drawn_at_random(2, 10, **names)).axes[0].texts
            if isinstance(text, Annotation) and text.xy[1] == 1
        }  # fmt: skip

    assert turned() == {0}
    assert turned(classes=[f"Food and drink {c}" for c in range(10)]) == {38}


def test_long_names_are_shortened():
    figure = drawn(CASES["200 steps, 200 classes"])
    names = [text for text, *_ in above(figure)[:-1]]
    questions = [row[1][0] for row in beside(figure)[1:]]
    assert all(text.endswith("…") for text in names + questions)
    assert max(map(len, names)) <= 28
    assert max(map(len, questions)) <= 44
    wordy = told([[0.5, 0.5]] * 2, ["yes"])
    wordy = replace(wordy, steps=(replace(wordy.steps[0], said="neither this nor that nor both"),))
    assert beside(drawn(wordy))[1][2][0] == "neither this nor th…"


def test_a_dollar_is_a_dollar():
    figure = drawn(CASES["dollars"])
    assert not any(text.get_parse_math() for text in figure.axes[0].texts if "$" in text.get_text())
    assert not any(text.get_parse_math() for text in figure.texts)


def test_a_small_file_is_written(tmp_path):
    file = tmp_path / "heatmap.png"
    drawn(CASES["200 steps, 200 classes"]).savefig(file)
    assert file.read_bytes().startswith(b"\x89PNG")
    assert file.stat().st_size < 400_000


def test_patches_are_told_in_their_own_words():
    _, explanation = pursue((5, 6), 2, classes=["a", "b", "c"])
    rows = beside(drawn(explanation))[1:]
    assert [row[1] for row in rows] == [(step.name, INK.upper(), False) for step in explanation.steps]
    assert [row[2][0] for row in rows] == [step.said for step in explanation.steps]
    assert "█" in "".join(row[2][0] for row in rows)


def test_a_pursuit_over_yes_no_questions():
    rng = np.random.default_rng(0)
    model = ip.models.TableModel(np.full(3, 1 / 3), None, rng.uniform(0.1, 0.9, size=(3, 4)))
    queries = ip.queries.concepts(["fur", "fins", "wings", "tail"])
    pursuit = ip.Pursuit.of(model, queries, stopping=ip.MaxQueries(4), classes=["cat", "cod", "crow"])
    explanation = pursuit.run(np.array([[1, 0, np.nan, 0]]))[0]
    said = {row[1][0]: row[2] for row in beside(drawn(explanation, truth="cod"))[1:]}
    assert said == {
        "fur": ("yes", YES, True),
        "fins": ("no", NO, False),
        "tail": ("no", NO, False),
        "wings": ("not known", NOT_KNOWN, False),
    }


def test_axes_of_the_caller(small):
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    assert heatmap(small, axes=right) is right
    assert figure.axes == [left, right]
    assert not figure.texts
    assert not left.texts
    np.testing.assert_array_equal(right.images[0].get_array(), small.posteriors)
    assert {text.get_text() for text in right.texts} >= {"fur", "yes", "c", "90"}


def test_cells_that_are_too_small_have_no_numbers(small):
    axes = Figure(figsize=(1, 1)).subplots()
    drawn(small, axes=axes)
    assert all(isinstance(text, Annotation) for text in axes.texts)
    assert "fur" in [text.get_text() for text in axes.texts]


def test_mistakes_are_named(small):
    with pytest.raises(ValueError, match="truth='z' is none of the classes"):
        drawn(small, truth="z")
    with pytest.raises(ValueError, match="max_steps=0 must be at least 1"):
        drawn(small, max_steps=0)
    with pytest.raises(ValueError, match="max_classes=0 must be at least 1"):
        drawn(small, max_classes=0)
    with pytest.raises(TypeError, match="axes is of type ndarray; give one matplotlib axes"):
        drawn(small, axes=Figure().subplots(1, 2))


def test_pyplot_is_left_alone(small, tmp_path):
    """In a process of its own, since other tests may have imported pyplot."""
    (tmp_path / "explanation.json").write_text(small.to_json(), encoding="utf-8")
    code = """
import sys
from pathlib import Path
from infopursuit import Explanation
from infopursuit.plots import heatmap

assert "matplotlib" not in sys.modules
folder = Path(sys.argv[1])
explanation = Explanation.from_json((folder / "explanation.json").read_text(encoding="utf-8"))
heatmap(explanation).figure.savefig(folder / "heatmap.png")
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code, str(tmp_path)], check=True)
    assert (tmp_path / "heatmap.png").exists()


def test_without_matplotlib_the_error_says_what_to_install(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install infopursuit\[plots\]"):
        drawn(small)
