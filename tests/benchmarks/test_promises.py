"""The simulation of statistical promises: what is kept is called kept, and a planted fault is found."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import promises
from benchmarks.promises import Measured
from infopursuit.calibration.novelty import NoveltyReference

N = 25


def kept(found):
    return [each.row()[""] == "kept" for each in found]


def test_a_promise_is_kept_but_for_the_error_of_the_simulation():
    rare, often = np.arange(100) < 9, np.arange(100) < 30
    assert kept([Measured("a", rare, most=0.05), Measured("b", often, most=0.05)]) == [True, False]
    assert kept([Measured("c", often, least=0.2, most=0.4), Measured("d", rare, least=0.2, most=0.4)]) == [True, False]


def test_the_probabilities_of_the_world_are_those_of_its_draws():
    world = promises.World()
    assert world.joint.sum() == pytest.approx(1)
    rows, labels = world.draw(np.random.default_rng(0), 20_000)
    assert np.bincount(labels) / 20_000 == pytest.approx(world.prior, abs=0.02)
    said = world.runs.log_posterior[rows, -1].argmax(axis=1)
    everywhere = world.runs.log_posterior[:, -1].argmax(axis=1)
    assert (said == labels).mean() == pytest.approx(world.joint[range(1024), everywhere].sum(), abs=0.02)


@pytest.mark.parametrize("name", ["stopping", "sets", "novelty", "gains"])
def test_what_is_promised_is_kept(name):
    assert all(kept(promises.PROMISES[name](N)))


def test_a_rule_that_stops_too_early_is_found(monkeypatch):
    true = promises.calibrate
    monkeypatch.setattr(promises, "calibrate", lambda *args, **kw: replace(true(*args, **kw), epsilon=0.6))
    assert not kept(promises.calibrated_stopping(N))[0]


def test_pvalues_that_are_too_small_are_found(monkeypatch):
    true = NoveltyReference.pvalues
    monkeypatch.setattr(NoveltyReference, "pvalues", lambda self, surprisal: true(self, surprisal) / 2)
    assert not all(kept(promises.novelty_pvalues(N)))
