"""What is asked about which class: numbers in cells, names beside them."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import infopursuit as ip
from infopursuit.plots import asked_by_class


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    names = [f"a question with a rather long name, number {a}" for a in range(8)]
    classes = [f"a class with the name {c}" for c in "abcde"]
    model = ip.models.TableModel(np.full(5, 0.2), None, rng.uniform(0.05, 0.95, (5, 8)))
    pursuit = ip.Pursuit.of(model, ip.queries.concepts(names), stopping=ip.Confidence(0.2), classes=classes)
    y = rng.choice(classes[:4], size=60)
    return ip.query_frequencies(pursuit.run(rng.integers(0, 2, size=(60, 8))), y)


def test_cells_are_the_shares(found):
    axes = asked_by_class(found, max_queries=5)
    cells = np.asarray(axes.images[0].get_array())
    np.testing.assert_allclose(cells[:, 0], found.share[:5])
    np.testing.assert_allclose(cells[:, 1:], found.by_class[:5, :4])  # nobody is in the fifth class
    numbers = [text.get_text() for text in axes.texts if text.get_text().isdecimal()]
    assert len(numbers) == (np.round(100 * cells) > 0).sum()


def test_the_largest_classes_and_the_queries_asked_most(found):
    axes = asked_by_class(found, max_queries=3, max_classes=2)
    largest = sorted(np.argsort(-found.class_sizes, kind="stable")[:2])
    texts = [text.get_text() for text in axes.texts]
    assert [name for name in texts if name.startswith("a class")] == [found.classes[c] for c in largest]
    assert "the 2 largest classes of 4" in " ".join(text.get_text() for text in axes.figure.texts).replace("\n", " ")


@pytest.mark.parametrize("classes", [1, 12])
def test_all_words_fit_the_figure(found, classes):
    axes = asked_by_class(found, max_classes=classes)
    axes.figure.draw_without_rendering()
    for text in [*axes.texts, *axes.figure.texts]:
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= -1, text
        assert box.x1 <= axes.figure.bbox.x1 + 1, text
        assert box.y1 <= axes.figure.bbox.y1 + 1, text


def test_axes_of_the_caller_and_mistakes(found):
    left, right = Figure().subplots(1, 2)
    assert asked_by_class(found, axes=right) is right
    assert not left.texts
    with pytest.raises(ValueError, match="max_queries=0 must be at least 1"):
        asked_by_class(found, max_queries=0)
    pursuit = ip.Pursuit.of(
        ip.models.TableModel([0.5, 0.5], None, [[0.5], [0.4]]), ip.queries.concepts(["fur"]), stopping=ip.MaxQueries(0)
    )
    with pytest.raises(ValueError, match="nothing was asked about any input"):
        asked_by_class(ip.query_frequencies(pursuit.run([[1]])))
