"""Pictures of a strategy: how often queries are asked, and the tree; counted by hand."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import infopursuit as ip
from infopursuit.presentation.plots import asked_by_class, strategy_tree
from infopursuit.presentation.plots.strategy import THICK
from infopursuit.presentation.plots.style import RIGHT

CLASSES = ["cat", "cod", "$5 bill"]


@pytest.fixture(scope="module")
def pursuit():
    probs = [[0.9, 0.2, 0.8, 0.5], [0.1, 0.9, 0.3, 0.2], [0.1, 0.1, 0.9, 0.9]]
    model = ip.models.TableModel([0.4, 0.3, 0.3], None, probs)
    queries = ip.queries.concepts(["fur", "fins", "costs $x", "wings"])
    return ip.generative_pursuit(model, queries, stopping=ip.Confidence(0.15) | ip.MaxQueries(3), classes=CLASSES)


@pytest.fixture(scope="module")
def answers():
    return np.random.default_rng(0).integers(0, 2, size=(60, 4))


@pytest.fixture(scope="module")
def images():
    """Three questions about patches of 2 x 2 in images of 5 x 6."""
    model = ip.models.TableModel([0.5, 0.5], None, np.random.default_rng(0).uniform(0.1, 0.9, size=(2, 30)))
    return ip.generative_pursuit(model, ip.queries.patches((5, 6), size=2), stopping=ip.MaxQueries(3))


@pytest.fixture
def drawings(pursuit, images, answers):
    return {
        "classes": (asked_by_class, ip.query_frequencies(pursuit.run(answers))),
        "tree": (strategy_tree, ip.strategy_tree(pursuit, 3, X=answers)),
        "images": (strategy_tree, ip.strategy_tree(images, 2, max_branches=3)),
        "root": (strategy_tree, ip.strategy_tree(pursuit, 0)),
    }


@pytest.mark.parametrize("name", ["classes", "tree", "images", "root"])
def test_each_is_drawn_on_a_new_figure_or_on_axes_of_the_caller(drawings, name):
    draw, what = drawings[name]
    draw(what).figure.draw_without_rendering()
    left, right = Figure().subplots(1, 2)
    assert draw(what, axes=right) is right
    assert not left.texts
    with pytest.raises(TypeError, match="axes is of type ndarray"):
        draw(what, axes=Figure().subplots(1, 2))


# ---- how often ------------------------------------------------------------------------------------------------------


def test_what_is_asked_about_which_class(pursuit, answers):
    found = ip.query_frequencies(pursuit.run(answers))
    axes = asked_by_class(found, max_queries=3, max_classes=2)
    largest = sorted(np.argsort(-found.class_sizes, kind="stable")[:2])
    cells = np.asarray(axes.images[0].get_array())
    np.testing.assert_allclose(cells[:, 0], found.share[:3])
    np.testing.assert_allclose(cells[:, 1:], found.by_class[:3, largest])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["all", *(found.classes[c] for c in largest)]
    assert "the 2 largest classes of 3" in axes.get_xlabel()


def test_nothing_asked_and_numbers_below_one(pursuit, answers):
    model = ip.models.TableModel([0.5, 0.5], None, [[0.5], [0.4]])
    silent = ip.generative_pursuit(model, ip.queries.concepts(["fur"]), stopping=ip.MaxQueries(0)).run([[1], [0]])
    with pytest.raises(ValueError, match="nothing was asked about any input"):
        asked_by_class(ip.query_frequencies(silent))
    trace = pursuit.run(answers)
    with pytest.raises(ValueError, match="max_queries=0"):
        asked_by_class(ip.query_frequencies(trace), max_queries=0)


# ---- the tree -------------------------------------------------------------------------------------------------------


def test_every_node_has_a_box_and_every_branch_a_way(pursuit, answers):
    tree = ip.strategy_tree(pursuit, 3, X=answers, y=np.array(CLASSES)[answers[:, 0]])
    axes = strategy_tree(tree)
    nodes = list(tree.nodes())
    branches = [branch for node in nodes for branch in node.branches]
    unfollowed = [branch for branch in branches if branch.node is None]
    assert len(axes.texts) == len(nodes) + len(unfollowed)
    widths = sorted(line.get_linewidth() for line in axes.lines)
    np.testing.assert_allclose(widths, sorted(0.7 + THICK * branch.probability for branch in branches))
    green = [text for text in axes.texts if to_hex(text.get_bbox_patch().get_edgecolor()).upper() == RIGHT.upper()]
    assert len(green) == sum(node.stopped for node in nodes)
    assert any("60 inputs" in text.get_text() for text in axes.texts)
    assert any("$5 bill" in text.get_text() for text in axes.texts)


def test_boxes_do_not_touch(pursuit):
    axes = strategy_tree(ip.strategy_tree(pursuit, 3))
    axes.figure.draw_without_rendering()
    found = [text.get_bbox_patch().get_window_extent() for text in axes.texts]
    for i, a in enumerate(found):
        for b in found[:i]:
            assert a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0


def test_a_tree_too_large_to_read_is_refused():
    rng = np.random.default_rng(0)
    model = ip.models.TableModel([0.5, 0.5], None, rng.uniform(0.05, 0.95, (2, 10)))
    wide = ip.generative_pursuit(model, ip.queries.concepts([f"q{a}" for a in range(10)]), stopping=ip.MaxQueries(9))
    with pytest.raises(ValueError, match="tree has 512 leaves, more than 200"):
        strategy_tree(ip.strategy_tree(wide, 9, min_share=0))
