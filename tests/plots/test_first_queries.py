"""Which queries are asked first: bars by position, or maps of an image; counted by hand."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import infopursuit as ip
from infopursuit.plots import first_queries
from infopursuit.plots.first_queries import LATER
from infopursuit.plots.style import NOW

ANSWERS = [
    [0, 0, 0, 0],
    [0, 0, 1, 1],
    [0, 1, 1, 0],
    [1, 1, 0, 0],
    [1, 0, 1, 0],
    [1, 1, 1, 1],
    [0, 1, 0, 1],
    [1, 0, 0, 0],
]


@pytest.fixture(scope="module")
def animals():
    """Eight inputs and four questions; later questions depend on earlier answers."""
    probs = [[0.9, 0.2, 0.8, 0.5], [0.1, 0.9, 0.3, 0.2], [0.1, 0.1, 0.9, 0.9]]
    model = ip.models.TableModel([0.4, 0.3, 0.3], None, probs)
    queries = ip.queries.concepts(["fur", "fins", "legs", "wings"])
    stopping = ip.Confidence(0.15) | ip.MaxQueries(3)
    return ip.Pursuit.of(model, queries, stopping=stopping, classes=["cat", "cod", "crow"]).run(ANSWERS)


@pytest.fixture(scope="module")
def images():
    """Forty images of 5 x 6, three questions about patches of 2 x 2."""
    rng = np.random.default_rng(0)
    model = ip.models.TableModel([0.5, 0.5], None, rng.uniform(0.1, 0.9, size=(2, 30)))
    queries = ip.queries.patches((5, 6), size=2)
    return ip.Pursuit.of(model, queries, stopping=ip.MaxQueries(3)).run(rng.integers(0, 2, size=(40, 5, 6)))


def bars(axes):
    """name -> the share of inputs at each position, by the drawn pieces."""
    names = [text for text in axes.texts if not text.get_text().endswith("%")]
    rows = {text.get_text(): text.xy[1] for text in names}
    pieces = [piece for container in axes.containers for piece in container]
    return {
        name: [p.get_width() for p in pieces if np.isclose(p.get_y() + p.get_height() / 2, at)]
        for name, at in rows.items()
    }


def test_the_pieces_are_the_shares_by_position(animals):
    found = bars(first_queries(animals, positions=3))
    for name, widths in found.items():
        q = animals.query_set.names.index(name)
        np.testing.assert_allclose(widths, (animals.queries == q).mean(axis=0))
    asked = {animals.query_set.names[q] for q in animals.queries[animals.queries >= 0].tolist()}
    assert set(found) == asked
    first = animals.query_set.names[animals.queries[0, 0]]
    assert found[first][0] == 1


def test_the_query_asked_most_is_at_the_top_and_numbers_tell_how_often(animals):
    axes = first_queries(animals)
    assert axes.yaxis_inverted()
    shares = [sum(widths) for widths in bars(axes).values()]
    assert shares == sorted(shares, reverse=True)
    numbers = [text.get_text() for text in axes.texts if text.get_text().endswith("%")]
    assert numbers == [f"{100 * share:.0f} %" for share in shares]


def test_positions_without_a_colour_of_their_own_are_later(animals):
    axes = first_queries(animals, positions=1)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["1st", "later"]
    assert to_hex(axes.containers[-1][0].get_facecolor()) == LATER.lower()
    assert [text.get_text() for text in first_queries(animals, positions=9).get_legend().get_texts()] == [
        "1st",
        "2nd",
        "3rd",
    ]


def test_only_so_many_bars(animals):
    assert len(bars(first_queries(animals, max_queries=2))) == 2


def test_the_headline_says_over_how_many_inputs(animals):
    words = [text.get_text() for text in first_queries(animals).figure.texts]
    assert "8 inputs" in " ".join(words)
    assert "out of 4" in " ".join(words)


def test_a_map_for_each_position_and_one_for_all(images):
    axes = first_queries(images, positions=2)
    first, second, all_of_it = (np.asarray(image.get_array()) for image in axes.images)
    for k, seen in enumerate((first, second)):
        expected = np.zeros(30)
        for q in images.queries[:, k]:
            expected[images.query_set.query_variables[q]] += 1 / 40
        np.testing.assert_allclose(seen, expected.reshape(5, 6))
    once = [len({a for q in row for a in images.query_set.query_variables[q].tolist()}) for row in images.queries]
    assert all_of_it.sum() == pytest.approx(np.mean(once))
    assert {text.get_text() for text in axes.texts} >= {
        "1st",
        "2nd",
        "at any time",
        "in the frame: 100 %",
        "the same for all",
    }


def test_the_frame_lies_around_the_patch_asked_most(images):
    axes = first_queries(images, positions=2)
    frames = [p for p in axes.patches if isinstance(p, Rectangle) and to_hex(p.get_edgecolor()).upper() == NOW]
    assert len(frames) == 2
    for k, frame in enumerate(frames):
        q = np.bincount(images.queries[:, k]).argmax()
        row, column = images.query_set.corners[q]
        start = axes.images[k].get_extent()[0]
        assert frame.get_xy() == (start + column, row)
        assert (frame.get_width(), frame.get_height()) == (2, 2)


@pytest.mark.parametrize("kind", ["animals", "images"])
def test_all_words_fit_the_figure(kind, request):
    axes = first_queries(request.getfixturevalue(kind))
    axes.figure.draw_without_rendering()
    for text in [*axes.texts, *axes.figure.texts]:
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= -1, text
        assert box.x1 <= axes.figure.bbox.x1 + 1, text
        assert box.y1 <= axes.figure.bbox.y1 + 1, text


@pytest.mark.parametrize("kind", ["animals", "images"])
def test_axes_of_the_caller(kind, request):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert first_queries(request.getfixturevalue(kind), axes=right) is right
    assert not figure.texts
    assert not left.texts


def test_a_pursuit_that_asks_nothing(animals):
    pursuit = ip.Pursuit.of(
        ip.models.TableModel([0.5, 0.5], None, [[0.5], [0.4]]), ip.queries.concepts(["fur"]), stopping=ip.MaxQueries(0)
    )
    axes = first_queries(pursuit.run([[1], [0]]))
    axes.figure.draw_without_rendering()
    assert not axes.containers


def test_mistakes_are_named(animals):
    with pytest.raises(ValueError, match="positions=0 must be at least 1"):
        first_queries(animals, positions=0)
    with pytest.raises(ValueError, match="max_queries=0 must be at least 1"):
        first_queries(animals, max_queries=0)
    with pytest.raises(TypeError, match="axes is of type ndarray"):
        first_queries(animals, axes=Figure().subplots(1, 2))
