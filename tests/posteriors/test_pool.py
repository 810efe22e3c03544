"""`Pruned(pooled=True)`: the mean of what several models believe, each by itself."""

import numpy as np
import pytest
import torch

import infopursuit as ip
from infopursuit.beliefs import Exact, PrunedBelief
from infopursuit.beliefs import bank as bank_module
from infopursuit.models import EmpiricalModel, TableModel, UnionModel
from infopursuit.models.empirical import Blur, Flip

QUERIES = ip.queries.patches((6, 6), size=2, threshold=0.5)


def bars(n, seed):
    """Small images: a bar down or a bar across, with specks."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    images = (rng.random((n, 6, 6)) < 0.1).astype(np.int64)
    for image, label in zip(images, labels, strict=True):
        where = rng.integers(1, 5)
        if label:
            image[:, where] = 1
        else:
            image[where, :] = 1
    return images.reshape(n, -1), labels


def members():
    """Three models of unlike sizes that believe unlike things."""
    values, labels = bars(260, 0)
    probs = np.random.default_rng(1).uniform(0.1, 0.9, (2, 1, 36))
    return [
        EmpiricalModel(values[:200], labels[:200], Blur((0.4,), (0.02,), (0.02,), (6, 6))),
        EmpiricalModel(values[200:], labels[200:], Flip((0.2,))),
        TableModel([0.3, 0.7], [[1.0], [1.0]], probs),
    ]


def after(posterior, values, asked):
    """[(B, C)] the posterior of each input after each of its own questions."""
    belief, rows, found = posterior.start(), np.zeros(len(values), dtype=np.int64), []
    for k in range(asked.shape[1]):
        belief = posterior.update(belief, rows, asked[:, k], QUERIES.answers_of(values, asked[:, k]), [])
        rows = np.arange(len(values))
        found.append(posterior.log_class(belief).exp().numpy())
    return np.array(found), belief


@pytest.mark.parametrize("shares", [None, [0.5, 0.3, 0.2]])
def test_it_is_the_mean_of_what_the_models_believe_each_by_itself(shares):
    models, (values, _) = members(), bars(25, 2)
    asked = np.stack([np.random.default_rng(i).choice(len(QUERIES), 6, replace=False) for i in range(len(values))])
    union = UnionModel(models, shares)
    pooled, _ = after(PrunedBelief(union, QUERIES, pooled=True), values, asked)
    each = np.array([after(Exact(model, QUERIES), values, asked)[0] for model in models])
    mean = np.einsum("m,mkbc->kbc", union.shares, each)
    # six answers, each of which may let 3e-4 of all go, which is more of one model
    assert np.abs(pooled - mean).max() < 1e-2
    assert np.abs(pooled - mean).mean() < 1e-3
    bayes, _ = after(Exact(union, QUERIES), values, asked)
    assert np.abs(bayes - mean).max() > 0.1  # and that is another thing than Bayes' rule for all together


def test_each_model_keeps_its_share_of_the_weight():
    models, (values, _) = members(), bars(10, 3)
    union = UnionModel(models, [0.2, 0.3, 0.5])
    posterior = PrunedBelief(union, QUERIES, pooled=True)
    asked = np.tile(np.arange(0, 24, 4), (len(values), 1))
    _, belief = after(posterior, values, asked)
    weights = torch.softmax(belief.log_weights, dim=1).numpy()
    runs, member = union.runs()
    of = np.repeat(member, np.diff(runs))
    for m, share in enumerate(union.shares):
        assert weights[:, of == m].sum(axis=1) == pytest.approx(share, abs=2e-3)


def test_weights_computed_anew_are_those_that_were_followed(monkeypatch):
    models, (values, _) = members(), bars(8, 4)
    asked = np.tile(np.arange(0, 24, 2), (len(values), 1))
    union = UnionModel(models)
    followed, _ = after(PrunedBelief(union, QUERIES, pooled=True), values, asked)
    monkeypatch.setattr(bank_module, "DROP", 0.0)  # as if every answer were improbable enough
    anew, belief = after(PrunedBelief(union, QUERIES, pooled=True), values, asked)
    assert np.abs(followed - anew).max() < 5e-3
    assert (belief.weights.log_whole == belief.weights.log_total).all()


def test_an_answer_that_one_model_all_but_rules_out_leaves_the_others_their_say():
    sure = TableModel([0.5, 0.5], [[1.0], [1.0]], np.full((2, 1, 36), 2e-6))
    unsure = TableModel([0.5, 0.5], [[1.0], [1.0]], np.stack([np.full((1, 36), 0.6), np.full((1, 36), 0.4)]))
    queries = ip.queries.patches((6, 6), size=4, threshold=0.5)  # sixteen pixels: less than a float32 holds
    posterior = PrunedBelief(UnionModel([sure, unsure]), queries, pooled=True)
    belief = posterior.update(posterior.start(), np.zeros(1, int), np.zeros(1, int), np.ones((1, 16), int), [])
    found = posterior.log_class(belief).exp().numpy()[0]
    theirs = 0.6**16 / (0.6**16 + 0.4**16)
    assert found == pytest.approx([(0.5 + theirs) / 2, (1.5 - theirs) / 2], abs=1e-4)


def test_a_pursuit_of_a_pool_stops_later_where_its_models_disagree():
    values, labels = bars(300, 5)
    sharp = EmpiricalModel(values, labels, Flip((0.02,)))
    soft = EmpiricalModel(values, labels, Flip((0.3,)))
    inputs, truth = bars(60, 6)
    stopping = ip.Confidence(0.05) | ip.MaxQueries(12)
    settings = {"n_states": 600, "n_screened": len(QUERIES)}
    alone = ip.Pursuit.of(sharp, QUERIES, "bank", stopping, **settings).run_values(inputs)
    pooled = ip.Pursuit.of(UnionModel([sharp, soft]), QUERIES, Pruned(pooled=True), stopping, **settings)
    together = pooled.run_values(inputs)
    assert together.length.mean() > alone.length.mean()
    assert (together.predictions == truth).mean() > 0.95
    # what is believed is a function of the history: alone or in a batch
    for i in range(3):
        assert pooled.believe(history_of(together, i)) == pytest.approx(together.posteriors[i, -1], abs=1e-9)


def history_of(trace, i):
    """What was asked of one input and answered."""
    n = trace.length[i]
    return [(int(q), a) for q, a in zip(trace.queries[i, :n], trace.answers[i, :n], strict=True)]


def test_only_a_union_has_models_to_pool():
    values, labels = bars(30, 7)
    with pytest.raises(ValueError, match=r"pooled=True needs a UnionModel, and the model is EmpiricalModel"):
        PrunedBelief(EmpiricalModel(values, labels, Flip((0.1,))), QUERIES, pooled=True)
