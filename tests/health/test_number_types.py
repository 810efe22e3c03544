"""float32 and float64 give the same pursuits, but for ties.

Stated tolerances: a float32 rounds each probability by 6e-8, of itself in tables, of one in images and in draws. After
K answers a posterior is then off by no more than K times that, divided by the least probability of an answer. Where the
two types choose differently, the gains of what they choose differ by less than `GAINS`.
"""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rational import Rational
from soundness import assert_sound

import infopursuit as ip
from infopursuit.models import Blur, EmpiricalModel, Flip, TableModel, latent_classes
from infopursuit.models.sample import Sample
from infopursuit.strategies import SMC, Langevin
from quadrature import mixed, pixels, small_vae, yes_no
from worlds import random_world, table_model

POSTERIORS, GAINS = 2e-5, 2e-6
EPSILON = 0.05


def same_but_for_ties(one, two, posteriors=POSTERIORS, gains=GAINS):
    """Two traces of the same inputs; returns how many steps they have in common."""
    together = 0
    for i in range(len(one)):
        for k in range(int(max(one.length[i], two.length[i])) + 1):
            np.testing.assert_allclose(one.posteriors[i, k], two.posteriors[i, k], rtol=0, atol=posteriors)
            ends = [k == int(trace.length[i]) for trace in (one, two)]
            if ends[0] != ends[1]:  # a threshold that was met within rounding
                assert abs(one.posteriors[i, k].max() - (1 - EPSILON)) < posteriors
                break
            if ends[0]:
                assert one.stop_reason[i] == two.stop_reason[i]
                break
            assert one.gains[i, k] == pytest.approx(two.gains[i, k], abs=gains)
            if one.queries[i, k] != two.queries[i, k]:
                break  # their gains are as good as equal, which the line above has seen
            assert one.answers[i, k].tolist() == two.answers[i, k].tolist()
            together += 1
    return together


def pair(make, queries, values, **options):
    """The traces of a model in both types."""
    rules = ip.Confidence(EPSILON) | ip.MaxQueries(6)
    both = []
    for dtype in (np.float64, np.float32):
        model = make(dtype)
        assert model.dtype == dtype
        both.append(ip.generative_pursuit(model, queries, stopping=rules, **options).run_values(values))
        assert_sound(both[-1])
    return both


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_tables(seed):
    rng = np.random.default_rng(seed)
    world = random_world(rng)
    values = world.inputs(rng, 6, unknown=0.1)
    exact = None if rng.random() < 0.6 else False
    options = {"exact_gains": exact, "noise": ip.AnswerNoise(0.9) if rng.random() < 0.3 else None}
    tables = (world.prior, world.latent, world.probs)
    same_but_for_ties(*pair(lambda dtype: table_model(*tables, dtype=dtype), world.queries, values, **options))
    same_but_for_ties(*pair(lambda dtype: world.model.to(dtype=dtype), world.queries, values, **options))


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from(["flip", "blur", "latent classes"]))
def test_models_of_examples(seed, kind):
    rng = np.random.default_rng(seed)
    X, y = (rng.random((40, 16)) < rng.random((1, 16))).astype(np.int64), np.arange(40) % 3
    X = np.where(rng.random(X.shape) < 0.05, -1, X)
    flip, blur = EmpiricalModel(X, y, Flip((0.05, 0.4))), EmpiricalModel(X, y, Blur(shape=(4, 4)))
    mixture = latent_classes(2).fit(Sample.of(flip.variables, X, y))
    model = {"flip": flip, "blur": blur, "latent classes": mixture}[kind]
    wide = bool(rng.random() < 0.5)
    queries = ip.queries.patches((4, 4), size=2) if wide else ip.queries.concepts([f"a{a}" for a in range(16)])
    options = {} if rng.random() < 0.5 else {"exact_gains": False, "n_states": 30, "n_screened": 20}
    least = 0.002 if kind == "blur" else 0.02
    close = 6e-8 * 6 * 4 / least
    common = same_but_for_ties(
        *pair(lambda dtype: model.to(dtype=dtype), queries, X[:6], **options), max(close, POSTERIORS), max(close, GAINS)
    )
    assert common >= 6


@pytest.mark.parametrize("make", [yes_no, mixed, pixels])
def test_draws_that_all_histories_share(make):
    """The same numbers are drawn for both types, so that the same draws are decoded."""
    one, two = (make(2, seed=5, dtype=dtype) for dtype in (torch.float64, torch.float32))
    values = one.inputs(6, seed=1)
    sampler = SMC(n_draws=300, min_ess=0)
    rules = ip.Confidence(EPSILON) | ip.MaxQueries(5)
    traces = [
        ip.generative_pursuit(known.model, known.queries, sampler, rules).run_values(values) for known in (one, two)
    ]
    assert same_but_for_ties(*traces, posteriors=1e-4, gains=1e-4) >= 6


@pytest.mark.parametrize("sampler", [SMC(n_draws=400, min_ess=100, n_own=64, n_moves=2), Langevin(32, 8, 4)])
def test_chains_agree_within_their_standard_errors(sampler):
    """A step that is accepted in one type may be refused in the other, where it is a toss-up: other draws follow."""
    history = yes_no(2, seed=5).history([0, 3, 1], seed=2)
    beliefs, errors = [], []
    for dtype in (torch.float64, torch.float32):
        known = yes_no(2, seed=5, dtype=dtype)
        pursuit = ip.generative_pursuit(known.model, known.queries, sampler)
        state = pursuit.start()
        for query, answer in history:
            state = pursuit.absorb(state, pursuit.branch(query, answer), state.watch)
        beliefs.append(state.posterior[0])
        errors.append(state.posterior_error[0])
    assert (np.abs(beliefs[0] - beliefs[1]) <= 4 * np.hypot(*errors) + 1e-6).all()


def test_the_same_numbers_are_drawn_for_both_types():
    models = [small_vae((2, 3), 2, dtype=dtype) for dtype in (torch.float64, torch.float32)]
    labels = torch.zeros(5, dtype=torch.long)
    latents = [model.draw_prior(labels, torch.Generator().manual_seed(1)).to(torch.float64) for model in models]
    assert torch.equal(*latents)


def test_what_is_possible_stays_possible_in_a_float32():
    """A float32 ends at 1e-45; an answer with a probability of 1e-60 was refused by a table in that type only."""
    probs = [np.array([[[1e-60, 1 - 1e-60]], [[1e-50, 1 - 1e-50]]])]
    queries = ip.queries.concepts(["a"])
    for model in (
        table_model([0.5, 0.5], [[1.0], [1.0]], probs, dtype=np.float32),
        table_model([0.5, 0.5], [[1.0], [1.0]], probs).to(dtype=np.float32),
    ):
        assert np.isfinite(ip.generative_pursuit(model, queries).believe(((0, (0,)),))).all()
    never = TableModel([0.5, 0.5], None, [[1.0], [1.0]], dtype=np.float32)
    with pytest.raises(ip.ImpossibleAnswer):
        ip.generative_pursuit(never, queries).session([(0, (0,))])
    true = Rational([0.5, 0.5], [[1.0], [1.0]], probs, queries).posterior([(0, (0,))])
    exact = ip.generative_pursuit(table_model([0.5, 0.5], [[1.0], [1.0]], probs), queries).believe(((0, (0,)),))
    np.testing.assert_allclose(exact, true, atol=1e-12)
