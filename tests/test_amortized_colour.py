"""Amortised querying of grey and colour images, whose patches have too many answers for exact gains."""

import numpy as np
import pytest

import infopursuit as ip

pytest.importorskip("torch")
from infopursuit.strategies.amortized.belief import VariableInputs


def test_planes_of_a_colour_image_are_its_colours():
    queries = ip.queries.patches((4, 5), size=2, levels=4, channels=3)
    image = np.random.default_rng(0).integers(0, 4, size=(1, 4, 5, 3)) / 3
    planes = VariableInputs(queries).encode(queries.observe(image)).reshape(12, 4, 5).numpy()
    for colour in range(3):
        np.testing.assert_allclose(planes[colour], 2 * image[0, :, :, colour] - 1, atol=1e-6)
    assert (planes[3:6] == 1).all()
    assert np.array_equal(planes[9:], (planes[:3] == 1))


@pytest.mark.parametrize("channels", [1, 3])
def test_the_patch_that_tells_the_class_is_asked_first(channels):
    rng = np.random.default_rng(0)
    X = rng.random((600, 4, 4, channels)).astype(np.float32)
    y = X[:, 3, 1, -1] > 0.5
    queries = ip.queries.patches((4, 4), size=2, stride=2, levels=16, channels=channels)
    strategy = ip.Amortized(training=ip.QuerierTraining(epochs=40, batch_size=64, max_queries=2, learning_rate=3e-3))
    clf = ip.InformationPursuitClassifier(queries, strategy, stopping=ip.MaxQueries(1)).fit(X[:500], y[:500])
    trace = clf.explain(X[500:])
    right = [q for q, (row, column) in enumerate(queries.corners) if (row, column) == (2, 0)]
    assert (trace.queries[:, 0] == right[0]).all()
    assert (trace.predictions == y[500:]).mean() > 0.8
