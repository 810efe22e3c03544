"""`belief="pruned"`: the exact posterior of a finite model, faster and nearly as good."""

import numpy as np
import pytest
import torch

import infopursuit as ip
from infopursuit.models import EmpiricalModel
from infopursuit.models.empirical import Blur, Flip
from infopursuit.beliefs import Bank, Exact, PrunedBelief

SHAPE = (7, 7)
QUERIES = ip.queries.patches(SHAPE, size=2, threshold=0.5)


def bars(n, rng):
    """Small images: a bar down or a bar across, with specks."""
    labels = rng.integers(0, 2, n)
    images = (rng.random((n, *SHAPE)) < 0.05).astype(np.int64)
    for image, label in zip(images, labels, strict=True):
        where = rng.integers(1, 6)
        if label:
            image[:, where] = 1
        else:
            image[where, :] = 1
    return images.reshape(n, -1), labels


def examples(n=400, seed=0):
    values, labels = bars(n, np.random.default_rng(seed))
    return EmpiricalModel(values, labels, Blur((0.4, 0.9), (0.01, 0.05), (0.01, 0.05), SHAPE))


def histories(n=30, seed=1):
    """Bars of which five patches are seen, one after the other."""
    rng = np.random.default_rng(seed)
    values, _ = bars(n, rng)
    return values, np.stack([rng.choice(len(QUERIES), 5, replace=False) for _ in range(n)])


def after(posterior, values, asked):
    """(B, C) the posterior of each input after its own questions."""
    belief = posterior.start()
    rows = np.zeros(len(values), dtype=np.int64)
    for k in range(asked.shape[1]):
        belief = posterior.update(belief, rows, asked[:, k], QUERIES.answers_of(values, asked[:, k]), [])
        rows = np.arange(len(values))
    return posterior.log_class(belief).exp().numpy()


def test_it_agrees_with_the_exact_posterior():
    model = examples()
    values, asked = histories()
    exact, fast = (after(make(model, QUERIES), values, asked) for make in (Exact, PrunedBelief))
    assert np.abs(exact - fast).max() < 2e-3  # five answers, of which each may let 3e-4 go
    assert np.abs(exact - 0.5).max() > 0.4  # and there was something to agree on


@pytest.mark.parametrize("smoothing", [Blur((0.4,), (0.01,), (0.01,), SHAPE), Flip((0.1, 0.4))])
def test_it_asks_what_the_exact_one_asks_where_gains_are_on_all_states(smoothing):
    values, labels = bars(300, np.random.default_rng(2))
    model = EmpiricalModel(values, labels, smoothing)
    stopping = ip.Confidence(0.02) | ip.MaxQueries(6)
    exact = ip.Pursuit.of(model, QUERIES, stopping=stopping, exact_gains=True)
    # as many drawn states as there are, and all queries: nothing is estimated
    fast = ip.Pursuit.of(model, QUERIES, "bank", stopping, n_states=model.n_states, n_screened=len(QUERIES))
    inputs, _ = bars(60, np.random.default_rng(3))
    theirs, ours = exact.run_values(inputs), fast.run_values(inputs)
    assert (theirs.predictions == ours.predictions).all()
    assert (theirs.length == ours.length).mean() > 0.95
    width = min(theirs.queries.shape[1], ours.queries.shape[1])
    assert (theirs.queries[:, :width] == ours.queries[:, :width]).mean() > 0.95
    assert ours.posterior_errors.max() == 0
    assert fast.posterior.name == "bank"


def test_a_classifier_may_have_it_and_is_saved_with_it(tmp_path):
    values, labels = bars(200, np.random.default_rng(4))
    X = values.reshape(-1, *SHAPE).astype(float)
    classifier = ip.InformationPursuitClassifier(QUERIES, model="empirical", belief="pruned").fit(X, labels)
    assert isinstance(classifier.pursuit_.posterior, PrunedBelief)
    ip.save(classifier, tmp_path / "model")
    loaded = ip.load(tmp_path / "model")
    assert isinstance(loaded.pursuit_.posterior, PrunedBelief)
    assert (loaded.explain(X[:20]).queries == classifier.explain(X[:20]).queries).all()


def test_it_refuses_what_it_cannot_do():
    concepts = ip.queries.concepts(["wings"])
    sure = ip.models.TableModel([0.5, 0.5], None, [[1.0], [0.2]])
    with pytest.raises(ValueError, match=r"needs probabilities from 1e-06 to 1 - 1e-06, and the model has 0"):
        ip.Pursuit.of(sure, concepts, "bank")
    model = examples(50)
    with pytest.raises(ValueError, match="exact_gains=True does not suit belief="pruned""):
        ip.Pursuit.of(model, QUERIES, Pruned(), exact_gains=True)
    three = EmpiricalModel([[0, 2], [1, 1]], [0, 1], sizes=(2, 3))
    with pytest.raises(ValueError, match="needs yes/no variables"):
        PrunedBelief(three, ip.queries.columns().fit(np.array([[0, 2], [1, 1], [0, 0]])))


def test_classes_without_examples_have_no_weight():
    model = EmpiricalModel([[1, 0], [0, 1]], [0, 2], Flip((0.1,)), n_classes=3)
    bank = PrunedBelief(model, ip.queries.concepts(["a", "b"]))
    assert torch.allclose(
        bank.log_class(bank.start()).exp(),
        Exact(model, bank.queries).log_class(Exact(model, bank.queries).start()).exp(),
    )
