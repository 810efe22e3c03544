"""`belief="pruned"` for finite models: nearly the exact posterior."""

import numpy as np
import pytest

import infopursuit as ip
from bars import SHAPE, after, bars
from infopursuit.models import EmpiricalModel
from infopursuit.models.empirical import Blur, Flip
from infopursuit.strategies import Exact, Pruned, PrunedBelief
from quadrature import posterior_of

QUERIES = ip.queries.patches(SHAPE, size=2, threshold=0.5)


def examples(n=400, seed=0):
    values, labels = bars(n, np.random.default_rng(seed))
    return EmpiricalModel(values, labels, Blur((0.4, 0.9), (0.01, 0.05), (0.01, 0.05), SHAPE))


def histories(n=30, seed=1):
    """Bars of which five patches are seen, one after the other."""
    rng = np.random.default_rng(seed)
    values, _ = bars(n, rng)
    return values, np.stack([rng.choice(len(QUERIES), 5, replace=False) for _ in range(n)])


def test_it_agrees_with_the_exact_posterior():
    model = examples()
    values, asked = histories()
    exact, fast = (after(make(model, QUERIES), values, asked)[0][-1] for make in (Exact, PrunedBelief.of))
    assert np.abs(exact - fast).max() < 2e-3  # five answers, of which each may prune 3e-4
    assert np.abs(exact - 0.5).max() > 0.4  # and there was something to agree on


@pytest.mark.parametrize("smoothing", [Blur((0.4,), (0.01,), (0.01,), SHAPE), Flip((0.1, 0.4))])
def test_it_asks_what_the_exact_one_asks_where_gains_are_on_all_states(smoothing):
    values, labels = bars(300, np.random.default_rng(2))
    model = EmpiricalModel(values, labels, smoothing)
    stopping = ip.Confidence(0.02) | ip.MaxQueries(6)
    exact = ip.generative_pursuit(model, QUERIES, stopping=stopping, exact_gains=True)
    # as many drawn states as there are, and all queries: nothing is estimated
    fast = ip.generative_pursuit(model, QUERIES, "pruned", stopping, n_states=model.n_states, n_screened=len(QUERIES))
    inputs, _ = bars(60, np.random.default_rng(3))
    theirs, ours = exact.run_values(inputs), fast.run_values(inputs)
    assert (theirs.predictions == ours.predictions).all()
    assert (theirs.length == ours.length).mean() > 0.95
    width = min(theirs.queries.shape[1], ours.queries.shape[1])
    assert (theirs.queries[:, :width] == ours.queries[:, :width]).mean() > 0.95
    assert ours.posterior_errors.max() == 0
    assert fast.belief.kind == "pruned"


def test_a_classifier_may_have_it_and_is_saved_with_it(tmp_path):
    values, labels = bars(200, np.random.default_rng(4))
    X = values.reshape(-1, *SHAPE).astype(float)
    classifier = ip.InformationPursuitClassifier(QUERIES, strategy="empirical", belief="pruned").fit(X, labels)
    assert isinstance(classifier.pursuit_.belief, PrunedBelief)
    ip.save(classifier, tmp_path / "model")
    loaded = ip.load(tmp_path / "model")
    assert isinstance(loaded.pursuit_.belief, PrunedBelief)
    assert (loaded.explain(X[:20]).queries == classifier.explain(X[:20]).queries).all()


def test_it_refuses_what_it_cannot_do():
    concepts = ip.queries.concepts(["wings"])
    sure = ip.models.TableModel([0.5, 0.5], None, [[1.0], [0.2]])
    with pytest.raises(ValueError, match="belief='pruned' needs probabilities"):
        ip.generative_pursuit(sure, concepts, "pruned")
    model = examples(50)
    with pytest.raises(ValueError, match="exact gains do not suit belief='pruned'"):
        ip.generative_pursuit(model, QUERIES, Pruned(), exact_gains=True)
    three = EmpiricalModel([[0, 2], [1, 1]], [0, 1], sizes=(2, 3))
    with pytest.raises(ValueError, match="needs yes/no variables"):
        PrunedBelief.of(three, ip.queries.columns().fit(np.array([[0, 2], [1, 1], [0, 0]])))


def test_classes_without_examples_have_no_weight():
    model = EmpiricalModel([[1, 0], [0, 1]], [0, 2], Flip((0.1,)), n_classes=3)
    queries = ip.queries.concepts(["a", "b"])
    found, expected = (
        posterior_of(belief, belief.init()) for belief in (PrunedBelief.of(model, queries), Exact(model, queries))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)
