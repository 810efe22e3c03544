"""The drawn tree: every node has its box, nothing lies on anything else, and all of it fits."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle

import infopursuit as ip
from infopursuit.plots import strategy_tree as draw
from infopursuit.plots.strategy_tree import THICK
from infopursuit.plots.style import COLOURS, NOW

LONG = "does it, as far as anybody can tell who has looked at it for long, have {} of any kind or size at all"


def random_pursuit(n_classes, n_queries, names=None, seed=0, **options):
    rng = np.random.default_rng(seed)
    model = ip.models.TableModel(
        np.full(n_classes, 1 / n_classes), None, rng.uniform(0.05, 0.95, (n_classes, n_queries))
    )
    queries = ip.queries.concepts(names or [f"question {a}" for a in range(n_queries)])
    return ip.Pursuit.of(model, queries, **options)


@pytest.fixture(scope="module")
def trees():
    rng = np.random.default_rng(1)
    long = random_pursuit(
        3, 6, [LONG.format(word) for word in ("fur", "fins", "wings", "$x$", "scales", "a_shell^2")],
        stopping=ip.Confidence(0.1), classes=["a class whose name is a whole sentence, as it were", "cod", "$5 bill"],
    )  # fmt: skip
    model = ip.models.TableModel([0.5, 0.5], None, rng.uniform(0.02, 0.98, size=(2, 30)))
    image = ip.Pursuit.of(model, ip.queries.patches((5, 6), size=2), stopping=ip.MaxQueries(2))
    X, y = rng.integers(0, 2, size=(80, 6)), rng.integers(0, 3, size=80)
    return {
        "long": ip.strategy_tree(long, 3, X=X, y=long.classes[y]),
        "many": ip.strategy_tree(random_pursuit(40, 12), 3),
        "image": ip.strategy_tree(image, 2, X=rng.integers(0, 2, size=(50, 5, 6)), min_share=0.03, max_branches=3),
        "root": ip.strategy_tree(long, 0),
    }


NAMES = ["long", "many", "image", "root"]


def boxes(axes):
    return [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]


@pytest.mark.parametrize("name", NAMES)
def test_every_node_has_a_box_and_every_branch_a_way(trees, name):
    axes = draw(trees[name])
    nodes = list(trees[name].nodes())
    assert len(boxes(axes)) == len(nodes)
    branches = [branch for node in nodes for branch in node.branches]
    ways = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    assert sorted(way.get_linewidth() for way in ways) == pytest.approx(
        sorted(0.7 + THICK * branch.probability for branch in branches)
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("own", [True, False], ids=["new figure", "axes of the caller"])
def test_no_word_lies_on_another_and_all_fit(trees, name, own):
    axes = draw(trees[name]) if own else draw(trees[name], axes=Figure(figsize=(5, 4)).subplots())
    figure = axes.figure
    figure.draw_without_rendering()
    words = [text for text in [*axes.texts, *figure.texts] if text.get_text().strip()]
    assert words
    extents = [text.get_window_extent() for text in words]
    for a, b in itertools.combinations(range(len(words)), 2):
        apart = extents[a].x1 <= extents[b].x0 + 1 or extents[b].x1 <= extents[a].x0 + 1
        apart = apart or extents[a].y1 <= extents[b].y0 + 1 or extents[b].y1 <= extents[a].y0 + 1
        assert apart, (words[a].get_text(), words[b].get_text())
    for extent in [*extents, *(box.get_window_extent() for box in boxes(axes))]:
        assert min(extent.x0, extent.y0) >= -1
        assert extent.x1 <= figure.bbox.x1 + 1
        assert extent.y1 <= figure.bbox.y1 + 1


@pytest.mark.parametrize("name", NAMES)
def test_boxes_do_not_touch_and_words_stay_inside(trees, name):
    axes = draw(trees[name])
    axes.figure.draw_without_rendering()
    found = [box.get_window_extent() for box in boxes(axes)]
    for a, b in itertools.combinations(found, 2):
        assert a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0
    inside = 0
    for text in axes.texts:
        extent = text.get_window_extent()
        middle = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
        for box in found:
            if box.x0 <= middle[0] <= box.x1 and box.y0 <= middle[1] <= box.y1:
                inside += 1
                assert box.x0 - 1 <= extent.x0, text.get_text()
                assert extent.x1 <= box.x1 + 1, text.get_text()
                assert box.y0 - 2 <= extent.y0, text.get_text()
                assert extent.y1 <= box.y1 + 2, text.get_text()
    assert inside >= len(found)


def test_pieces_of_a_bar_are_the_posterior(trees):
    tree = trees["long"]
    axes = draw(tree)
    widths = {colour: [] for colour in COLOURS[:3]}
    for patch in axes.patches:
        colour = to_hex(patch.get_facecolor()).upper()
        if isinstance(patch, Rectangle) and colour in widths:
            widths[colour].append(patch.get_width())
    drawn = np.array(list(widths.values())).T  # (nodes, classes), in the order of the nodes
    expected = np.array([node.posterior for node in tree.nodes()])
    np.testing.assert_allclose(drawn / drawn.sum(axis=1, keepdims=True), expected, atol=1e-9)


def test_images_show_what_was_seen_and_what_is_next(trees):
    tree = trees["image"]
    axes = draw(tree)
    nodes = list(tree.nodes())
    assert len(axes.images) == len(nodes)
    frames = [p for p in axes.patches if isinstance(p, Rectangle) and to_hex(p.get_edgecolor()).upper() == NOW]
    assert len(frames) == sum(not node.stopped for node in nodes)
    for node, image in zip(nodes, axes.images, strict=True):
        shown = np.asarray(image.get_array()).ravel()
        seen = {}
        for query, answer in node.history:
            seen |= dict(zip(tree.query_set.query_variables[query].tolist(), answer, strict=True))
        assert {a: int(v) for a, v in enumerate(shown) if v != 1} == {a: 2 * v for a, v in seen.items()}


def test_the_words_of_a_node(trees):
    texts = [text.get_text() for text in draw(trees["long"]).texts]
    assert "$5 bill" in texts
    assert any(text.startswith("80 inputs, ") for text in texts)
    assert any(text.endswith("…") for text in texts)


def test_axes_of_the_caller(trees):
    figure = Figure(figsize=(8, 4))
    left, right = figure.subplots(1, 2)
    assert draw(trees["many"], axes=right) is right
    assert not figure.texts
    assert not left.texts
    sizes = {text.get_fontsize() for text in right.texts}
    assert max(sizes) < 9  # made smaller, with all the rest


def test_mistakes_are_named(trees):
    with pytest.raises(TypeError, match="axes is of type ndarray"):
        draw(trees["many"], axes=Figure().subplots(1, 2))
    wide = ip.strategy_tree(random_pursuit(2, 10, stopping=ip.MaxQueries(9)), 9, min_share=0)
    with pytest.raises(ValueError, match="tree has 512 leaves, more than 200"):
        draw(wide)
