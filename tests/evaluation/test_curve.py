"""A curve from one set of traces is what pursuits that stop earlier would have given."""

import pytest

from infopursuit import Confidence
from infopursuit.evaluation.measures import confidence_curve, point_of
from infopursuit.strategies.generative.build import generative_pursuit
from worlds import world_of

EPSILONS = (0.3, 0.2, 0.1, 0.05)


def pursuit(world, epsilon, patience):
    return generative_pursuit(world.model, world.queries, stopping=Confidence(epsilon), patience=patience)


@pytest.mark.parametrize("patience", [0, 1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_every_point_is_a_pursuit_of_its_own(seed, patience):
    world, rng = world_of(seed, kind="yes_no")
    values = world.inputs(rng, 40)
    labels = rng.integers(0, world.model.n_classes, 40)
    trace = pursuit(world, 0.01, patience).run_values(values)
    keep = trace.stop_reason != "impossible"
    values, labels = values[keep], labels[keep]
    trace = pursuit(world, 0.01, patience).run_values(values)
    for epsilon, point in zip(EPSILONS, confidence_curve(trace, labels, EPSILONS, patience), strict=True):
        own = pursuit(world, epsilon, patience).run_values(values)
        assert point == point_of(epsilon, own.predictions == labels, own.length)
