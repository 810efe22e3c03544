"""Speed and what it costs: ratios measured in one run, and how often the short cuts miss the best query."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.machine import write_result
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask
from benchmarks.scaling import scaling
from benchmarks.step_times import compare
from infopursuit.models.empirical import Blur, EmpiricalModel
from infopursuit.models.finite import segments
from infopursuit.pursuit.information import MutualInformation
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.state import State
from infopursuit.pursuit.stopping import MaxQueries
from infopursuit.queries.patches import Patches
from infopursuit.strategies.generative.answer_tables import mutual_information, pattern_joint
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.strategies.generative.gains import FiniteGains
from infopursuit.support.types import FloatArray, IntArray


def bench(*, folder: Path, say: Callable[[str], None] = print, n_histories: int = 120) -> dict[str, Any]:
    """Measure, tell, and write ``bench.json`` to a folder."""
    rng = np.random.default_rng(0)
    images, labels, source = _images()
    say(f"images: {source}")
    shape = images.shape[1:]
    queries = Patches((int(shape[0]), int(shape[1])), (3, 3), (1, 1), None)
    order = rng.permutation(len(images))
    train, rest = order[: min(3000, len(order) - 100)], order[min(3000, len(order) - 100) :]
    values = queries.observe(images)
    model = EmpiricalModel(values[train], labels[train], Blur(shape=queries.shape))
    result = {
        "images": source,
        "contraction": _contraction(model, queries),
        "sharing": _sharing(model, queries, values[rest[:60]]),
        "short_cuts": _short_cuts(model, queries, values[rest], n_histories),
        "scaling": scaling(say),
        "step_times": _step_times(say),
    }
    for line in _lines(result):
        say(line)
    say(f"written to {write_result(folder, 'bench', 'make bench', result)}")
    return result


def _step_times(say: Callable[[str], None]) -> dict[str, Any] | None:
    """Steps with the trained VAE on 1,000 MNIST test images, where they are at hand."""
    try:
        task = ImageTask(IMAGE_SETS["mnist"])
        pursuit, values = task.with_vae(slice(None), 0.05), task.x_test
    except FileNotFoundError:
        say("step times need MNIST, which is not here")
        return None
    return compare(pursuit, values[:1000], say)


def _images() -> tuple[Any, Any, str]:
    """Binary images: MNIST where it is at hand, scikit-learn's digits otherwise."""
    try:
        data = datasets.load("mnist")
        return (data.x_train > 127).astype(np.uint8), np.asarray(data.y_train, dtype=np.int64), "mnist, training part"
    except FileNotFoundError:
        data = datasets.load("digits")
        return (
            (data.x_train > 7).astype(np.uint8),
            np.asarray(data.y_train, dtype=np.int64),
            "digits, training part (8 x 8)",
        )


def _contraction(model: EmpiricalModel, queries: Patches) -> dict[str, float]:
    """Time of all patterns by the split contraction over that of enumerating them, on the same states and patches."""
    weights = np.exp(model.log_prior)
    table = model.block(slice(0, model.variables.n_slots)).astype(np.float64)
    some = np.linspace(0, len(queries) - 1, 8).astype(int)
    slots = 2 * queries.query_variables[some]  # (8, 9) slot of the dark value
    cells = [table[slots[:, w, None] + np.arange(2)] for w in range(slots.shape[1])]
    bounds = segments(model.offsets)

    def split() -> FloatArray:
        return mutual_information(pattern_joint(weights, cells, bounds))

    def enumerate_all() -> FloatArray:
        tables = []
        for pattern in product((0, 1), repeat=len(cells)):
            likelihood = np.broadcast_to(weights, (len(some), len(weights)))
            for w, value in enumerate(pattern):
                likelihood = likelihood * cells[w][:, value]
            tables.append(np.stack([likelihood[:, a:b].sum(1) for a, b in bounds], axis=-1))
        return mutual_information(np.stack(tables, axis=1))

    fast, slow = _seconds(split, 5), _seconds(enumerate_all, 1)
    apart = float(np.abs(split() - enumerate_all()).max())
    return {
        "times_faster": slow / fast,
        "largest_difference_nats": apart,
        "patches": len(some),
        "states": model.n_states,
    }


def _sharing(model: EmpiricalModel, queries: Patches, values: IntArray) -> dict[str, float]:
    """Time of a batch over that of the same inputs one by one, nothing remembered from before."""

    def pursuit() -> Pursuit[Any]:
        return generative_pursuit(model, queries, stopping=MaxQueries(4), exact_gains=False)

    together = _seconds(lambda: pursuit().run_values(values), 1)
    one_by_one = _seconds(lambda: [pursuit().run_values(v[None]) for v in values], 1)
    steps = len(values) * 4
    return {
        "times_faster": one_by_one / together,
        "milliseconds_per_step_in_batch": 1000 * together / steps,
        "milliseconds_per_step_alone": 1000 * one_by_one / steps,
        "inputs": len(values),
    }


def _short_cuts(model: EmpiricalModel, queries: Patches, values: IntArray, n_histories: int) -> dict[str, Any]:
    """How often screening and drawing states miss the query with the largest exact gain, and what that costs in nats.

    The histories are those that pursuits of held-out images pass through, after 1 to 5 answers.
    """
    exact = FiniteGains(model, queries, MutualInformation(exact=True))
    drawn = FiniteGains(model, queries, MutualInformation(exact=False))
    pursuit = generative_pursuit(model, queries, stopping=MaxQueries(6), exact_gains=False)
    parts, sizes = queries.parts.query_part, (16, 32, 64, 128)
    misses, losses = dict.fromkeys(sizes, 0), dict.fromkeys(sizes, 0.0)
    other, sampled_loss, errors, best_gains, ranks = 0, 0.0, [], [], []
    histories = _histories(pursuit, values, n_histories)
    for state in histories:
        gains = np.nan_to_num(exact.on_states(state.belief, state.histories, ~state.closed, model).value[0], nan=-1.0)
        query, best = int(gains.argmax()), float(gains.max())
        alone = exact.part_gains(state.belief, model)[0]  # of each pixel
        promise = np.where(parts >= 0, alone[parts], 0.0).sum(axis=1)
        order = np.argsort(-np.where(state.closed[0], -1.0, promise), kind="stable")
        ranks.append(int(np.flatnonzero(order == query)[0]))
        for n in sizes:
            reached = gains[order[:n]].max()
            misses[n] += reached < best - 1e-9
            losses[n] += best - reached
        guess = drawn.on_states(state.belief, state.histories, ~state.closed, model)
        guessed = int(np.nan_to_num(guess.value[0], nan=-1.0).argmax())
        other += int(guessed != query)
        sampled_loss += best - gains[guessed]
        errors.append(float(guess.error[0, guessed]))
        best_gains.append(best)
    n_all = len(histories)
    return {
        "histories": n_all,
        "mean_best_gain_nats": float(np.mean(best_gains)),
        "screening": {str(n): {"miss_rate": misses[n] / n_all, "mean_loss_nats": losses[n] / n_all} for n in sizes},
        "largest_rank_of_the_best": max(ranks),
        "drawn_states_and_screening": {
            "n_states": drawn.settings.n_states,
            "n_screened": drawn.settings.n_screened,
            "other_query_chosen": other / n_all,
            "mean_loss_nats": sampled_loss / n_all,
            "mean_reported_error_nats": float(np.mean(errors)),
        },
    }


def _histories(pursuit: Pursuit[Any], values: IntArray, n: int) -> list[State[Any]]:
    """States that pursuits pass through, after 1 to 5 answers in turn."""
    found = []
    for i in range(n):
        state = pursuit.start()
        for _ in range(1 + i % 5):
            query = int(pursuit.propose(state).choice.query[0])
            answer = pursuit.queries.answers_of(values[i : i + 1], np.array([query]))[0]
            state = pursuit.absorb(state, pursuit.branch(query, tuple(answer.tolist())), state.watch)
        found.append(state)
    return found


def _seconds(work: Callable[[], Any], times: int) -> float:
    if times > 1:
        work()
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


def _lines(result: dict[str, Any]) -> list[str]:
    contraction, sharing, short = result["contraction"], result["sharing"], result["short_cuts"]
    drawn = short["drawn_states_and_screening"]
    lines = [
        f"all patterns of a patch: {contraction['times_faster']:.0f} times faster than enumerating them "
        f"(largest difference {contraction['largest_difference_nats']:.1e} nats)",
        f"a batch of {sharing['inputs']}: {sharing['times_faster']:.1f} times faster than one by one "
        f"({sharing['milliseconds_per_step_in_batch']:.1f} against "
        f"{sharing['milliseconds_per_step_alone']:.1f} ms a question)",
        f"screening, on {short['histories']} histories (mean best gain {short['mean_best_gain_nats']:.3f} nats):",
    ]
    lines += [
        f"  the best {n:>3} by one-pixel gains: best query missed in {100 * row['miss_rate']:.1f} %, "
        f"mean loss {row['mean_loss_nats']:.5f} nats"
        for n, row in short["screening"].items()
    ]
    lines.append(
        f"with {drawn['n_states']} drawn states and {drawn['n_screened']} screened queries: another query in "
        f"{100 * drawn['other_query_chosen']:.0f} %, mean loss {drawn['mean_loss_nats']:.4f} nats "
        f"(reported standard error {drawn['mean_reported_error_nats']:.4f})"
    )
    return lines
