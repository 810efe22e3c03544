"""One seed, one strategy: the same queries, answers, lengths and reasons on every processor, numbers up to rounding.

A processor rounds sums in an order of its own. That order is perturbed here on purpose: latent states are shuffled
within their class, training rows are shuffled, products are off in their last digits, batches have other shapes, and
other processes have other numbers of threads. Numbers agree to 1e-9 where tables are float64. Kernels in float32
(pruned enumeration, particles) agree to 2e-5, seven digits after sums over some hundred terms.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import one_result
import pytest
from soundness import assert_same_row, assert_same_traces

import infopursuit as ip
from infopursuit.models import EmpiricalModel, Flip, latent_classes
from infopursuit.models.finite import FiniteModel, segments
from infopursuit.models.sample import Sample
from infopursuit.pursuit.ranking import ROUGH_TIE
from infopursuit.strategies import SMC, Exact
from infopursuit.strategies.generative import answer_tables as tables
from infopursuit.strategies.generative import pruned
from infopursuit.strategies.generative.gains import FiniteGains
from infopursuit.support.threads import thread_limit
from quadrature import mixed
from worlds import random_rules, world_of

CLOSE, ROUGH = 1e-9, 2e-5
MARKS = ip.queries.concepts([f"mark {a}" for a in range(12)])
SAMPLE = Sample.of(MARKS.variables, one_result.MARKS, one_result.KINDS)


def examples(rows=slice(300), dtype="float64", **options):
    model = EmpiricalModel(one_result.MARKS[rows], one_result.KINDS[rows], Flip((0.1, 0.5)), n_classes=3, dtype=dtype)
    return ip.generative_pursuit(model, MARKS, **{"stopping": ip.Confidence(0.02), **options})


def thresholds():
    queries = ip.queries.columns(one_result.TABLE)
    sample = Sample.of(queries.variables, queries.observe(one_result.TABLE), one_result.LABELS)
    return ip.generative_pursuit(latent_classes(2).fit(sample), queries, stopping=ip.Confidence(0.02))


def patches(belief="exact", **options):
    queries = ip.queries.patches((6, 6), size=3)
    model = EmpiricalModel(one_result.IMAGES[:300], np.arange(300) % 3, Flip((0.1, 0.4)), dtype="float64")
    return ip.generative_pursuit(model, queries, belief, ip.MaxQueries(3), **options)


def particles():
    known = mixed(1, seed=4)
    sampler = SMC(n_draws=60, min_ess=30, n_own=16, n_moves=2)
    return ip.generative_pursuit(known.model, known.queries, sampler, ip.Confidence(0.1) | ip.MaxQueries(3))


FINITE = {
    "examples": examples,
    "gain rule": lambda: examples(stopping=ip.InformationGain(0.01)),
    "noise": lambda: examples(noise=ip.AnswerNoise(0.9)),
    "costs": lambda: examples(costs=ip.Costs(np.arange(12) / 4)),
    "mixture": lambda: ip.generative_pursuit(latent_classes(4).fit(SAMPLE), MARKS, stopping=ip.Confidence(0.02)),
    "naive Bayes": lambda: ip.generative_pursuit(
        ip.models.naive_bayes().fit(SAMPLE), MARKS, stopping=ip.Confidence(0.02)
    ),
    "thresholds": thresholds,
    "patches": lambda: patches(exact_gains=True),
}
SUBSAMPLED = {
    "some states": lambda: examples(exact_gains=False, n_states=64),
    "screened patches": lambda: patches(exact_gains=False, n_states=96, n_screened=5),
}
FLOAT32 = {"pruned": lambda: patches("pruned"), "particles": particles}


def inputs_of(pursuit, n=12, seed=1):
    """(n, A) any values, some of them unknown, and one input twice."""
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(-1, size, size=n) for size in pursuit.queries.variables.sizes], axis=1)
    values[n // 2] = values[1]
    return values


# ---- another order of sums ------------------------------------------------------------------------------------------


def shuffled(pursuit, rng):
    """The same pursuit with the latent states of each class in another order."""
    model = pursuit.model
    order = np.concatenate([begin + rng.permutation(end - begin) for begin, end in segments(model.offsets)])
    table = np.ascontiguousarray(model.block(slice(0, model.variables.n_slots))[:, order])
    other = FiniteModel(model.variables, model.log_prior[order], model.offsets, table)
    parts = ("stopping", "patience", "noise", "costs", "seed")
    return ip.Pursuit(
        pursuit.queries,
        Exact(other, pursuit.queries),
        pursuit.acquisition,
        **{part: getattr(pursuit, part) for part in parts},
    )


@pytest.mark.parametrize("name", FINITE)
def test_latent_states_in_another_order(name):
    pursuit = FINITE[name]()
    values = inputs_of(pursuit)
    trace = pursuit.run_values(values)
    assert trace.length.max() > 1
    for seed in range(3):
        assert_same_traces(trace, shuffled(pursuit, np.random.default_rng(seed)).run_values(values), CLOSE)


@pytest.mark.parametrize("seed", range(40))
def test_small_worlds_with_latent_states_in_another_order(seed):
    """All kinds of queries, zeros in the tables, and rules that stop at any time; ties between queries are common."""
    world, rng = world_of(50_000 + seed, n_latents=3)
    pursuit = world.pursuit(random_rules(rng), int(rng.integers(0, 2)))
    values = world.inputs(rng, 8, unknown=0.1)
    assert_same_traces(pursuit.run_values(values), shuffled(pursuit, rng).run_values(values), CLOSE)


@pytest.fixture
def other_processor(monkeypatch):
    """A function that makes all products and sums be off in their last digits, otherwise with each seed."""
    originals = {
        (tables, "value_joint"): tables.value_joint,
        (tables, "pattern_joint"): tables.pattern_joint,
        (tables, "part_gains"): tables.part_gains,
        (Exact, "of"): Exact.of,
    }

    def off(x, rng):
        return x * (1 + 4e-16 * rng.standard_normal(np.shape(x)))

    def on(seed):
        rng = np.random.default_rng(seed)
        for (where, name), original in originals.items():
            if where is tables:
                changed = lambda *args, original=original: off(original(*args), rng)  # noqa: E731
            else:

                def changed(self, log_weights, *rest, original=original):
                    return original(self, off(log_weights, rng), *rest)

            monkeypatch.setattr(where, name, changed)

    return on


@pytest.mark.parametrize("name", {**FINITE, **SUBSAMPLED})
def test_last_digits_that_differ_decide_nothing(name, other_processor):
    make = {**FINITE, **SUBSAMPLED}[name]
    values = inputs_of(make())
    trace = make().run_values(values)
    differs = False
    for seed in range(3):
        other_processor(seed)
        other = make().run_values(values)
        assert_same_traces(trace, other, CLOSE)
        differs |= bool((other.posteriors != trace.posteriors).any())
    assert differs  # else nothing was perturbed


def test_ties_would_be_decided_by_rounding(other_processor, monkeypatch):
    """The control of the tests above: without a tolerance for ties, a copy of a query is asked in its place."""
    marks = one_result.MARKS[:200, [0, 1, 2, 0, 1, 2]]
    queries = ip.queries.concepts([f"mark {a}" for a in range(6)])
    model = EmpiricalModel(marks, one_result.KINDS[:200], Flip((0.1, 0.5)), n_classes=3, dtype="float64")

    def first_queries():
        found = set()
        for seed in range(12):
            other_processor(seed)
            found.add(
                int(
                    ip.generative_pursuit(model, queries, stopping=ip.MaxQueries(1)).run_values(marks[:1]).queries[0, 0]
                )
            )
        return found

    assert len(first_queries()) == 1
    monkeypatch.setattr(sys.modules[FiniteGains.__module__], "TIE", 0.0)
    assert len(first_queries()) == 2


@pytest.mark.parametrize("learner", ["mixture", "naive Bayes", "examples"])
def test_rows_to_learn_from_may_come_in_any_order(learner):
    order, values = np.random.default_rng(2).permutation(300), one_result.MARKS[300:312]
    if learner == "examples":
        one, two = (examples(rows).run_values(values) for rows in (slice(300), order))
    else:
        strategy = latent_classes(3) if learner == "mixture" else ip.models.naive_bayes()
        one, two = (
            ip.InformationPursuitClassifier(MARKS, strategy, random_state=1)
            .fit(one_result.MARKS[rows], one_result.KINDS[rows])
            .explain(values)
            for rows in (np.arange(300), order)
        )
    assert_same_traces(one, two, CLOSE)


def test_a_pruned_pursuit_in_another_order_of_states(monkeypatch):
    """All states are looked at, so that their order is an order of sums alone; blocks are others, and nothing is
    pruned."""
    monkeypatch.setattr(pruned, "SHARE", 0.0)
    settings = {"n_states": 600, "n_screened": 16}
    values = inputs_of(patches())
    trace = patches("pruned", **settings).run_values(values)
    similar = pruned.similar_order

    def another(by_state, offsets, size):
        order, rng = similar(by_state, offsets, size), np.random.default_rng(0)
        return np.concatenate([rng.permutation(order[begin:end]) for begin, end in segments(offsets)])

    monkeypatch.setattr(pruned, "similar_order", another)
    assert_same_traces(trace, patches("pruned", **settings).run_values(values), ROUGH)


def test_a_copy_of_a_query_ties_with_it_in_float32():
    """Gains in float32 differ by more than 1e-9 where they are the same; the lowest index is asked all the same."""
    marks = one_result.MARKS[:200][:, [*range(12), *range(12)]]
    queries = ip.queries.concepts([f"mark {a}" for a in range(24)])
    model = EmpiricalModel(marks, one_result.KINDS[:200], Flip((0.1, 0.5)), n_classes=3)
    pursuit = ip.generative_pursuit(model, queries, "pruned", ip.MaxQueries(1))
    gains = pursuit.utilities(pursuit.start()).value[0]
    assert np.abs(gains[:12] - gains[12:]).max() < ROUGH_TIE
    assert pursuit.run_values(marks[:1]).queries[0, 0] == gains[:12].argmax()


# ---- other batches, other threads -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", {**FINITE, **SUBSAMPLED, **FLOAT32})
def test_batches_order_and_memory_change_nothing(name):
    """An input's trace is the same alone, in any batch, in any order, and by whoever knows the way."""
    make, tolerance = {**FINITE, **SUBSAMPLED, **FLOAT32}[name], ROUGH if name in FLOAT32 else CLOSE
    rng = np.random.default_rng(1)
    pursuit = make()
    values = inputs_of(pursuit, 6 if name == "particles" else 12)
    whole = pursuit.run_values(values)
    assert whole.length.max() > 1
    assert_same_traces(whole, pursuit.run_values(values), tolerance)  # what to ask is remembered now
    order = rng.permutation(len(values))
    with thread_limit(1):
        mixed_up = make().run_values(values[order])
    for place, i in enumerate(order):
        assert_same_row(whole, i, mixed_up, place, tolerance)
    other = make()
    for size in (1, 3):
        for start in range(0, 6, size):
            part = other.run_values(values[start : start + size])
            for j in range(len(part)):
                assert_same_row(whole, start + j, part, j, tolerance)


# ---- other processes ------------------------------------------------------------------------------------------------


def elsewhere(hash_seed, threads):
    """The results of another process."""
    here = Path(__file__).parent
    path = os.pathsep.join(map(str, [here, here.parent, Path(ip.__file__).parent.parent]))
    env = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": str(hash_seed), "OMP_NUM_THREADS": str(threads)}
    command = [sys.executable, str(here / "one_result.py"), str(threads)]
    return json.loads(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)


def assert_close(one, two, tolerance):
    assert one.keys() == two.keys()
    for name in one:
        assert one[name]["same"] == two[name]["same"], name
        for mine, other in zip(one[name]["numbers"], two[name]["numbers"], strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=tolerance, err_msg=name)


def test_the_same_in_other_processes_with_other_threads_and_other_hashes():
    """Two processes side by side, so that it takes half as long: one of one thread, one of two."""
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda way: elsewhere(*way), [(1, 1), (2, 2)])
    assert_close(one["learnt"], two["learnt"], CLOSE)
    assert_close(one["asked"], two["asked"], CLOSE)
    assert_close(one["asked_float32"], two["asked_float32"], ROUGH)
    weights = [made["trained"][name] for made in (one, two) for name in ("weights", "from a checkpoint")]
    for other in weights[1:]:
        assert_close({"weights": weights[0]}, {"weights": other}, ROUGH)


def test_what_differs_is_found_out():
    """A test of the test."""
    one = {"a": one_result.of_numbers([1.0])}
    assert_close(one, {"a": one_result.of_numbers([1.0 + 2e-16])}, CLOSE)
    for other in ({"a": one_result.of_numbers([1.0 + 2e-9])}, {"a": {"same": [1], "numbers": [[1.0]]}}):
        with pytest.raises(AssertionError):
            assert_close(one, other, CLOSE)
