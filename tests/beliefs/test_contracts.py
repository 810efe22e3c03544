"""All beliefs and all acquisition functions pass the checks that the package ships, and parts with a fault do not."""

import numpy as np
import pytest

import infopursuit as ip
from decoded import decoded
from infopursuit.models import EmpiricalModel, Flip
from infopursuit.pursuit.protocols import Estimate
from infopursuit.strategies import (
    SMC,
    Exact,
    FixedOrder,
    Langevin,
    LookAhead,
    MutualInformation,
    Pruned,
    PrunedBelief,
    RandomOrder,
)
from infopursuit.testing import check_acquisition, check_belief
from quadrature import mixed, pixels, yes_no
from worlds import KINDS, world_of

ROUGH = 2e-5
"""What kernels in float32 may differ by."""
SAMPLERS = {"smc": SMC(n_draws=60, min_ess=20, n_own=12, n_moves=1), "langevin": Langevin(8, 4, 2)}
KNOWN = {"yes/no": yes_no(1, seed=5), "mixed": mixed(1, seed=4), "pixels": pixels(2, seed=1)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_exact(kind, seed):
    world, _ = world_of(70_000 + seed, kind=kind, zeros=False)
    belief = Exact(world.model, world.queries)
    check_belief(belief, world.queries, seed=seed)
    for acquisition in (
        MutualInformation(),
        MutualInformation(exact=True),
        LookAhead(),
        FixedOrder(),
        RandomOrder(seed),
    ):
        check_acquisition(acquisition, belief, world.queries, seed=seed)
    check_acquisition(MutualInformation(False, n_states=3, n_screened=2), belief, world.queries, seed=seed)
    costs = np.random.default_rng(seed).integers(3, size=len(world.queries)).astype(float)
    check_acquisition(MutualInformation(), belief, world.queries, costs=costs, seed=seed)
    check_acquisition(MutualInformation(), belief, world.queries, noise=ip.AnswerNoise(0.8).bind(world.queries))


@pytest.mark.parametrize("kind", ["alone", "patches", "all widths"])
def test_pruned(kind):
    world = decoded(kind, block=24)
    check_belief(world.pruned, world.queries, tolerance=ROUGH)
    check_acquisition(MutualInformation(False, n_states=100), world.pruned, world.queries, tolerance=ROUGH)
    check_acquisition(LookAhead(), world.pruned, world.queries, tolerance=ROUGH)


def test_pruned_for_a_finite_model():
    values = np.random.default_rng(0).integers(2, size=(200, 8))
    model = EmpiricalModel(values, np.arange(200) % 3, Flip((0.1, 0.3)))
    queries = ip.queries.concepts(list("abcdefgh"))
    belief = Pruned().build(model, queries)
    assert isinstance(belief, PrunedBelief)
    check_belief(belief, queries, tolerance=ROUGH)
    check_acquisition(MutualInformation(), belief, queries, tolerance=ROUGH)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", KNOWN)
def test_particles(name, sampler):
    known = KNOWN[name]
    belief = SAMPLERS[sampler].build(known.model, known.queries)
    check_belief(belief, known.queries, n_histories=4, tolerance=ROUGH)
    check_acquisition(MutualInformation(), belief, known.queries, n_histories=4, tolerance=ROUGH)


def test_noisy_particles():
    known = KNOWN["mixed"]
    noise = ip.AnswerNoise(0.9).bind(known.queries)
    belief = SAMPLERS["smc"].build(known.model, known.queries, noisy=True)
    check_acquisition(MutualInformation(), belief, known.queries, noise=noise, n_histories=3, tolerance=ROUGH)


# ---- parts with a fault ---------------------------------------------------------------------------------------------


class Unnormalised(Exact):
    def log_posterior(self, b):
        return Estimate.exact(b.log_joint)


class Impure(Exact):
    def update(self, b, parents, new):
        b.log_joint[:] -= np.arange(self.n_classes)
        return super().update(b, parents, new)


class OfTheBatch(Exact):
    """What is believed depends on the other histories."""

    def log_posterior(self, b):
        shifted = b.log_joint + 0.01 * len(b) * np.arange(self.n_classes)
        return Estimate.exact(shifted - np.logaddexp.reduce(shifted, axis=1)[:, None])


class Forgetful(Exact):
    """An unanswered query changes something."""

    def update(self, b, parents, new):
        found = super().update(b, parents, new)
        found.log_joint[(new.answers[:, -1] < 0).all(axis=1), 0] -= 0.1
        return found


@pytest.mark.parametrize(
    ("fault", "message"),
    [(Unnormalised, "sum to 1"), (Impure, "update changed"), (OfTheBatch, "alone and in a batch"),
     (Forgetful, "without an answer")],
)  # fmt: skip
def test_beliefs_with_a_fault(fault, message):
    world, _ = world_of(70_000, kind="yes_no", zeros=False)
    with pytest.raises(AssertionError, match=message):
        check_belief(fault(world.model, world.queries), world.queries)


class TooMuch(FixedOrder):
    """Scores that are said to be nats."""

    unit = "nats"


class AllAllowed(RandomOrder):
    def utilities(self, b, h, allowed, budget):
        return super().utilities(b, h, np.ones_like(allowed), budget)


class Restless(RandomOrder):
    def utilities(self, b, h, allowed, budget):
        return Estimate.exact(np.where(allowed, np.random.default_rng().random(), np.nan))


@pytest.mark.parametrize(
    ("fault", "message"), [(TooMuch, "entropy"), (AllAllowed, "not allowed"), (Restless, "called twice")]
)
def test_acquisition_functions_with_a_fault(fault, message):
    world, _ = world_of(70_000, kind="yes_no", zeros=False)
    with pytest.raises(AssertionError, match=message):
        check_acquisition(fault(), Exact(world.model, world.queries), world.queries)
