"""One seed, one result: what `docs/reproducibility.md` promises, each of it to the last bit."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import one_result
import pytest
import torch
from soundness import assert_same_bits, assert_same_row

import infopursuit as ip
from infopursuit.beliefs import SMC
from infopursuit.models import EmpiricalModel, Flip, latent_classes
from infopursuit.models.sample import Sample
from infopursuit.threads import one_thread, side_by_side, steady
from quadrature import mixed


def elsewhere(hash_seed, threads):
    """The results of another process."""
    here = Path(__file__).parent
    path = os.pathsep.join(map(str, [here, here.parent, Path(ip.__file__).parent.parent]))
    env = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": str(hash_seed), "OMP_NUM_THREADS": str(threads)}
    command = [sys.executable, str(here / "one_result.py"), str(threads)]
    return json.loads(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)


def test_the_same_in_other_processes_with_other_threads_and_other_hashes():
    """Two processes side by side, so that it takes half as long: one of one thread, one of two."""
    one, two = side_by_side_processes([(1, 1), (2, 2)])
    assert one["learnt"] == two["learnt"]
    assert one["asked"] == two["asked"]
    assert one["trained"]["weights"] == one["trained"]["from a checkpoint"]
    assert one["trained"] == one_result.trained()  # of a network, where the number of threads is the same


def side_by_side_processes(ways):
    with ThreadPoolExecutor(len(ways)) as pool:
        return list(pool.map(lambda way: elsewhere(*way), ways))


def test_a_digest_tells_results_apart():
    """A test of the test."""
    assert one_result.digest(np.array([1.0])) != one_result.digest(np.array([1.0 + 2e-16]))
    assert one_result.digest({"a": 1}) != one_result.digest({"a": 2})


MARKS = ip.queries.concepts([f"mark {a}" for a in range(12)])
SAMPLE = Sample.of(MARKS.variables, one_result.MARKS, one_result.KINDS)


def examples(**options):
    model = EmpiricalModel(one_result.MARKS[:300], one_result.KINDS[:300], Flip((0.1, 0.5)), n_classes=3)
    return ip.Pursuit.of(model, MARKS, stopping=ip.Confidence(0.02), **options)


def mixture():
    return ip.Pursuit.of(latent_classes(4).fit(SAMPLE), MARKS, stopping=ip.Confidence(0.02))


def naive_bayes():
    return ip.Pursuit.of(ip.models.naive_bayes().fit(SAMPLE), MARKS, stopping=ip.Confidence(0.02))


def thresholds():
    queries = ip.queries.columns(one_result.TABLE)
    sample = Sample.of(queries.variables, queries.observe(one_result.TABLE), one_result.LABELS)
    return ip.Pursuit.of(latent_classes(2).fit(sample), queries, stopping=ip.Confidence(0.02))


def draws():
    known = mixed(1, seed=4)
    sampler = SMC(n_draws=60, min_ess=30, n_own=16, n_moves=2)
    return ip.Pursuit.of(known.model, known.queries, sampler, ip.Confidence(0.1) | ip.MaxQueries(3))


PURSUITS = {
    "examples": examples,
    "on some states": lambda: examples(exact_gains=False, n_states=64),
    "doubtful": lambda: examples(noise=ip.AnswerNoise(0.9)),
    "mixture": mixture,
    "naive Bayes": naive_bayes,
    "thresholds": thresholds,
    "draws": draws,
}


@pytest.mark.parametrize("name", PURSUITS)
def test_batches_order_and_memory_change_nothing(name):
    """An input's trace is the same to the last bit alone, in any batch, in any order, and by whoever knows the way."""
    make = PURSUITS[name]
    rng = np.random.default_rng(1)
    pursuit = make()
    values = np.stack([rng.integers(-1, size, size=12) for size in pursuit.queries.variables.sizes], axis=1)
    values = values[:6] if name == "draws" else values
    values[3] = values[1]
    whole = pursuit.run_values(values)
    assert whole.length.max() > 1
    assert_same_bits(whole, pursuit.run_values(values))  # what to ask is remembered now
    order = rng.permutation(len(values))
    mixed_up = make().run_values(values[order])
    for place, i in enumerate(order):
        assert_same_row(whole, i, mixed_up, place)
    other = make()
    for size in (1, 3):
        for start in range(0, 6, size):
            part = other.run_values(values[start : start + size])
            for j in range(len(part)):
                assert_same_row(whole, start + j, part, j)


def test_rows_to_learn_from_may_come_in_any_order():
    rng = np.random.default_rng(2)
    order = rng.permutation(300)
    for learner in (latent_classes(3), ip.models.naive_bayes()):
        folders = []
        for rows in (np.arange(300), order):
            clf = ip.InformationPursuitClassifier(MARKS, learner, random_state=1)
            folders.append(one_result.of_folder(clf.fit(one_result.MARKS[rows], one_result.KINDS[rows])))
        assert folders[0] == folders[1]


def test_within_steady_only_histories_are_side_by_side():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with steady():
            assert torch.get_num_threads() == 1
            with steady():
                seen = side_by_side(lambda i: (torch.get_num_threads(), threading.get_ident()), 2)
        assert [n for n, _ in seen] == [1, 1]
        assert threading.get_ident() not in {name for _, name in seen}  # others have done it
        assert torch.get_num_threads() == 2
        with one_thread(), steady():  # who wants one thread gets one
            assert {name for _, name in side_by_side(lambda i: (i, threading.get_ident()), 4)} == {
                threading.get_ident()
            }
        assert side_by_side(lambda i: threading.get_ident(), 4, most=1) == [threading.get_ident()] * 4
    finally:
        torch.set_num_threads(before)
