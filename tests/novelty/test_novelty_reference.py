"""P-values against enumeration: how probable it is under the model that answers are as unexpected as these."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import infopursuit as ip
from infopursuit.calibration.novelty import NoveltyReference, sample_values
from infopursuit.models.networks.architectures import MLPArchitecture
from worlds import KINDS, table_model, world_of

RULES = [("confidence", 0.1, None), ("max_queries", 4)]


def true_p_values(world, trace):
    """Of all assignments, each with its probability: that of those whose histories are as improbable or more so.

    ``trace``: of every assignment. Histories are weighed by crossing out assignments, with nothing of the package.
    """
    truth = world.truth
    weights = truth.joint.sum(axis=(0, 1))
    surprise = np.empty(len(trace))
    for i in range(len(trace)):
        probability = truth.probability(trace.history(i))
        surprise[i] = np.inf if probability == 0 else -np.log(probability)
    return np.array([weights[surprise >= s - 1e-9].sum() for s in surprise]), weights


@pytest.mark.parametrize("kind", KINDS)
def test_p_values_are_the_enumerated_tail_probabilities(kind):
    world, _ = world_of(11, kind=kind)
    pursuit = world.pursuit(RULES)
    n = 4000
    reference = NoveltyReference.from_model(pursuit, n, seed=3)
    trace = pursuit.run_values(world.every_input())
    true, weights = true_p_values(world, trace)
    found = reference.pvalues(trace.surprisal)
    error = np.sqrt(true * (1 - true).clip(0) / n)
    assert (np.abs(found - true) <= 4.5 * error + 2 / n).all()
    # a control: the p-values differ, so that agreeing with them says something
    assert len(np.unique(np.round(true[weights > 0], 6))) > 2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_inputs_of_the_model_are_flagged_at_the_level_and_others_far_more_often(seed):
    rng = np.random.default_rng(seed)
    latent = np.full((3, 2), 0.5)
    probs = [np.stack([1 - p, p], axis=2) for p in rng.choice([0.03, 0.97], size=(14, 3, 2))]
    model = table_model(np.full(3, 1 / 3), latent, probs)
    names = ip.queries.concepts([f"c{a}" for a in range(14)])
    pursuit = ip.generative_pursuit(model, names, stopping=ip.Confidence(0.05))
    pursuit = replace(pursuit, novelty=NoveltyReference.from_model(pursuit, 999, seed=seed))
    own = pursuit.run_values(sample_values(model, 2000, seed=77 + seed)).p_values
    for alpha in (0.01, 0.05, 0.2, 0.5):
        # both the 999 and the 2000 are draws
        assert (own <= alpha).mean() <= alpha + 4.5 * np.sqrt(alpha * (1 - alpha) * (1 / 999 + 1 / 2000))
    strange = pursuit.run_values(rng.integers(2, size=(2000, 14))).p_values
    assert (strange <= 0.05).mean() > 5 * max((own <= 0.05).mean(), 0.02)


def test_p_values_of_exchangeable_inputs_are_never_too_small_on_average():
    """Whatever the model: reference and inputs of another law, the same for both."""
    rng = np.random.default_rng(5)
    world, _ = world_of(2, kind="yes_no", zeros=False)
    pursuit = world.pursuit(RULES)
    shares = []
    for _ in range(200):
        values = (rng.random((39 + 1, len(world.sizes))) < 0.8).astype(int)
        reference = NoveltyReference.from_values(pursuit, values[1:])
        shares.append(reference.pvalues(pursuit.run_values(values[:1]).surprisal)[0] <= 0.1)
    assert np.mean(shares) <= 0.1 + 4.5 * np.sqrt(0.09 / 200)


@pytest.mark.parametrize("kind", KINDS)
def test_batch_and_session_have_the_same_p_values(kind):
    world, rng = world_of(23, kind=kind)
    pursuit = world.pursuit([("confidence", 0.2, None), ("max_queries", 2)])
    pursuit = replace(pursuit, novelty=NoveltyReference.from_model(pursuit, 99))
    values = world.inputs(rng, 12, unknown=0.15)
    trace = pursuit.run_values(values)
    for i in np.flatnonzero(trace.stop_reason != "impossible"):
        alone = pursuit.run_values(values[i : i + 1])
        k = int(trace.length[i])
        assert alone.queries[0].tolist() == trace.queries[i, :k].tolist()
        assert alone.p_values[0] == trace.p_values[i]
        session = pursuit.session()
        assert (session.p_value is None) == (k > 0)  # that of a session that has stopped
        for step in range(k):
            assert session.question.index == trace.queries[i, step]
            session.answer(world.truth.answer(session.question.index, values[i].tolist()))
        assert session.question is None
        assert session.stop_reason == trace.stop_reason[i]
        assert session.p_value == trace.p_values[i]
        assert session.explanation.to_json() == trace[int(i)].to_json()
        state = pursuit.at(trace.history(int(i)))
        assert pursuit.propose(state).reason == [trace.stop_reason[i]]


def test_unknown_answers_say_nothing_against_an_input():
    world, _ = world_of(3, kind="yes_no", zeros=False)
    pursuit = world.pursuit([("max_queries", 1)])
    pursuit = replace(pursuit, novelty=NoveltyReference.from_model(pursuit, 99))
    trace = pursuit.run_values(np.full((1, len(world.sizes)), -1))
    assert trace.surprisal.tolist() == [0.0]
    assert trace.p_values.tolist() == [1.0]


def test_an_impossible_answer_is_as_unlike_as_can_be():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 1.0], [0.1, 1.0]])
    pursuit = ip.generative_pursuit(model, ip.queries.concepts(["a", "b"]), stopping=ip.Confidence(0.0))
    pursuit = replace(pursuit, novelty=NoveltyReference.from_model(pursuit, 49))
    trace = pursuit.run_values([[1, 0], [1, 1]])
    assert trace.stop_reason.tolist() == ["impossible", "exhausted"]
    assert trace.p_values[0] == 1 / 50
    assert trace.p_values[1] > 0.5


def test_draws_are_those_of_the_model():
    world, _ = world_of(4, kind="categorical")
    values = sample_values(world.model, 20_000, seed=1)
    codes = np.ravel_multi_index(values.T, world.sizes)
    found = np.bincount(codes, minlength=int(np.prod(world.sizes))) / len(values)
    true = world.truth.joint.sum(axis=(0, 1))
    assert (np.abs(found - true) <= 4.5 * np.sqrt(true * (1 - true) / len(values)) + 1e-12).all()
    np.testing.assert_array_equal(values, sample_values(world.model, 20_000, seed=1))
    assert (values != sample_values(world.model, 20_000, seed=2)).any()


def test_draws_of_a_vae_have_its_probabilities():
    vae = ip.models.VAE((2, 3), [0.7, 0.3], MLPArchitecture((8,)), latent_dim=2, seed=1)
    values = sample_values(vae, 20_000, seed=1)
    generator = torch.Generator().manual_seed(9)
    labels = (torch.rand(20_000, generator=generator) < 0.3).long()
    with torch.no_grad():
        expected = vae.log_probs(vae.draw_prior(labels, generator), labels).exp().mean(0).numpy()
    found = [(values[:, 0] == 1).mean(), (values[:, 1] == 2).mean()]
    np.testing.assert_allclose(found, expected[[1, 4]], atol=0.02)


def test_a_reference_as_json_data():
    reference = NoveltyReference(np.array([0.5] * 18 + [1.0, np.inf]), "model")
    again = NoveltyReference.from_spec(reference.to_spec())
    np.testing.assert_array_equal(again.surprisals, reference.surprisals)
    assert again.source == "model"
    good = reference.to_spec()
    for wrong in (
        {**good, "source": "guess"},
        {**good, "surprises": [1.0, 0.5] * 20},
        {**good, "surprises": ["a"] * 20},
        {**good, "n_impossible": -1},
        {**good, "surprises": [1.0]},
        [],
    ):
        with pytest.raises(ValueError, match="reference"):
            NoveltyReference.from_spec(wrong)


def test_too_few_inputs_are_refused():
    world, _ = world_of(3, kind="yes_no")
    with pytest.raises(ValueError, match="n=5"):
        NoveltyReference.from_model(world.pursuit(RULES), 5)
    with pytest.raises(ValueError, match="values has 3 reference inputs"):
        NoveltyReference.from_values(world.pursuit(RULES), world.every_input()[:3])
