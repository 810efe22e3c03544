"""`belief="pruned"` for finite models: nearly the exact posterior; `Pruned(pooled=True)`, the linear opinion pool."""

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.beliefs import Exact, Pruned, PrunedBelief
from infopursuit.beliefs import pruned as pruned_module
from infopursuit.models import EmpiricalModel, TableModel, UnionModel
from infopursuit.models.empirical import Blur, Flip
from infopursuit.models.finite import softmax
from quadrature import posterior_of, updated

SHAPE = (7, 7)
QUERIES = ip.queries.patches(SHAPE, size=2, threshold=0.5)


def bars(n, rng, shape=SHAPE, specks=0.05):
    """Small images: a bar down or a bar across, with specks."""
    labels = rng.integers(0, 2, n)
    images = (rng.random((n, *shape)) < specks).astype(np.int64)
    for image, label in zip(images, labels, strict=True):
        where = rng.integers(1, shape[0] - 1)
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


def after(belief, values, asked):
    """(K, B, C) the posterior of each input after each of its own questions, and the last state."""
    b, rows, found = belief.init(), np.zeros(len(values), dtype=np.int64), []
    for k in range(asked.shape[1]):
        b = updated(belief, b, rows, asked[:, k], belief.queries.answers_of(values, asked[:, k]))
        rows = np.arange(len(values))
        found.append(posterior_of(belief, b))
    return np.array(found), b


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
    exact = ip.Pursuit.of(model, QUERIES, stopping=stopping, exact_gains=True)
    # as many drawn states as there are, and all queries: nothing is estimated
    fast = ip.Pursuit.of(model, QUERIES, "pruned", stopping, n_states=model.n_states, n_screened=len(QUERIES))
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
        ip.Pursuit.of(sure, concepts, "pruned")
    model = examples(50)
    with pytest.raises(ValueError, match="exact gains do not suit belief='pruned'"):
        ip.Pursuit.of(model, QUERIES, Pruned(), exact_gains=True)
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


# ---- the linear opinion pool ----------------------------------------------------------------------------------------

SMALL = ip.queries.patches((6, 6), size=2, threshold=0.5)


def members():
    """Three models of unlike sizes that believe unlike things."""
    values, labels = bars(260, np.random.default_rng(0), (6, 6), 0.1)
    probs = np.random.default_rng(1).uniform(0.1, 0.9, (2, 1, 36))
    return [
        EmpiricalModel(values[:200], labels[:200], Blur((0.4,), (0.02,), (0.02,), (6, 6))),
        EmpiricalModel(values[200:], labels[200:], Flip((0.2,))),
        TableModel([0.3, 0.7], [[1.0], [1.0]], probs),
    ]


@pytest.mark.parametrize("shares", [None, [0.5, 0.3, 0.2]])
def test_it_is_the_mean_of_what_the_models_believe_each_by_itself(shares):
    models, (values, _) = members(), bars(25, np.random.default_rng(2), (6, 6), 0.1)
    asked = np.stack([np.random.default_rng(i).choice(len(SMALL), 6, replace=False) for i in range(len(values))])
    union = UnionModel(models, shares)
    pooled, _ = after(PrunedBelief.of(union, SMALL, pooled=True), values, asked)
    each = np.array([after(Exact(model, SMALL), values, asked)[0] for model in models])
    mean = np.einsum("m,mkbc->kbc", union.shares, each)
    # six answers, each of which may let 3e-4 of all go, which is more of one model
    assert np.abs(pooled - mean).max() < 1e-2
    assert np.abs(pooled - mean).mean() < 1e-3
    bayes, _ = after(Exact(union, SMALL), values, asked)
    assert np.abs(bayes - mean).max() > 0.1  # and that is another thing than Bayes' rule for all together


def test_each_model_keeps_its_share_of_the_weight():
    models, (values, _) = members(), bars(10, np.random.default_rng(3), (6, 6), 0.1)
    union = UnionModel(models, [0.2, 0.3, 0.5])
    belief = PrunedBelief.of(union, SMALL, pooled=True)
    asked = np.tile(np.arange(0, 24, 4), (len(values), 1))
    _, b = after(belief, values, asked)
    weights = softmax(b.log_weights)
    runs, member = union.runs()
    of = np.repeat(member, np.diff(runs))
    for m, share in enumerate(union.shares):
        assert weights[:, of == m].sum(axis=1) == pytest.approx(share, abs=2e-3)


def test_weights_computed_anew_are_those_that_were_followed(monkeypatch):
    models, (values, _) = members(), bars(8, np.random.default_rng(4), (6, 6), 0.1)
    asked = np.tile(np.arange(0, 24, 2), (len(values), 1))
    union = UnionModel(models)
    followed, _ = after(PrunedBelief.of(union, SMALL, pooled=True), values, asked)
    monkeypatch.setattr(pruned_module, "DROP", 0.0)  # as if every answer were improbable enough
    anew, b = after(PrunedBelief.of(union, SMALL, pooled=True), values, asked)
    assert np.abs(followed - anew).max() < 5e-3
    assert (b.weights.log_whole == b.weights.log_total).all()


def test_an_answer_that_one_model_all_but_rules_out_leaves_the_others_their_say():
    sure = TableModel([0.5, 0.5], [[1.0], [1.0]], np.full((2, 1, 36), 2e-6))
    unsure = TableModel([0.5, 0.5], [[1.0], [1.0]], np.stack([np.full((1, 36), 0.6), np.full((1, 36), 0.4)]))
    queries = ip.queries.patches((6, 6), size=4, threshold=0.5)  # sixteen pixels: less than a float32 holds
    belief = PrunedBelief.of(UnionModel([sure, unsure]), queries, pooled=True)
    b = updated(belief, belief.init(), [0], [0], np.ones((1, 16), dtype=np.int64))
    found = posterior_of(belief, b)[0]
    theirs = 0.6**16 / (0.6**16 + 0.4**16)
    assert found == pytest.approx([(0.5 + theirs) / 2, (1.5 - theirs) / 2], abs=1e-4)


def test_a_pursuit_of_a_pool_stops_later_where_its_models_disagree():
    values, labels = bars(300, np.random.default_rng(5), (6, 6), 0.1)
    sharp = EmpiricalModel(values, labels, Flip((0.02,)))
    soft = EmpiricalModel(values, labels, Flip((0.3,)))
    inputs, truth = bars(60, np.random.default_rng(6), (6, 6), 0.1)
    stopping = ip.Confidence(0.05) | ip.MaxQueries(12)
    settings = {"n_states": 600, "n_screened": len(SMALL)}
    alone = ip.Pursuit.of(sharp, SMALL, "pruned", stopping, **settings).run_values(inputs)
    pooled = ip.Pursuit.of(UnionModel([sharp, soft]), SMALL, Pruned(pooled=True), stopping, **settings)
    together = pooled.run_values(inputs)
    assert together.length.mean() > alone.length.mean()
    assert (together.predictions == truth).mean() > 0.95
    # what is believed is a function of the history: alone or in a batch
    for i in range(3):
        assert pooled.believe(together.history(i)) == pytest.approx(together.posteriors[i, -1], abs=1e-9)


def test_only_a_union_has_models_to_pool():
    values, labels = bars(30, np.random.default_rng(7), (6, 6), 0.1)
    with pytest.raises(ValueError, match="pooled=True needs a UnionModel"):
        PrunedBelief.of(EmpiricalModel(values, labels, Flip((0.1,))), SMALL, pooled=True)
