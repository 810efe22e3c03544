"""Inputs of no class: how many clothes, Japanese characters and random pixels the model of digits detects as novel.

What is usual is taken from digits that training left out; how many other digits are flagged is the false alarm rate.
The n-th novelty query does not depend on how many follow, so one run with the most of them has all smaller numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.experiment import Experiment
from benchmarks.novelty_rates import novelty_rates
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask, weights_checksum
from infopursuit import shipped
from infopursuit.calibration.novelty import INPUTS, MODEL, NoveltyReference, sample_values
from infopursuit.evaluation.measures import accuracy_interval, counted
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.trace import Trace
from infopursuit.support.types import FloatArray

N_QUERIES = 24
"""Questions after the stop: chosen on training images of digits and clothes, see RESULTS.md."""
COUNTS = (0, 2, 4, 8, 12, 16, 20, 24)
"""Numbers of novelty queries that are reported."""
EPSILON, ALPHA = 0.01, 0.05
N_REFERENCE, N_INPUTS = 1000, 2000
"""Held-out digits that say what is usual; images of each kind that are tested, the first."""
DIGITS = "MNIST, other digits"


def novelty(experiment: Experiment) -> dict[str, Any]:
    """Seven kinds of images."""
    task = ImageTask(IMAGE_SETS["mnist"])
    kinds = _kinds(task, min(experiment.n_inputs or N_INPUTS, N_INPUTS))
    weights = weights_checksum("mnist")
    recipe = IMAGE_SETS["mnist"]
    settings = [EPSILON, N_QUERIES, N_REFERENCE, weights, recipe.decoded, recipe.sampler, recipe.n_states]
    rows: list[dict[str, Any]] = []
    table: list[dict[str, Any]] = []
    found: dict[str, Any] = {}
    curves: dict[str, dict[str, list[float]]] = {}
    for name, make in _models().items():
        pursuit = cache(partial(_with_novelty_queries, make))  # made when a part needs it, and once
        usual = task.values[task.held_out[:N_REFERENCE]]
        runs = {"usual": partial(_run, pursuit, usual, experiment), "drawn": partial(_drawn, pursuit, experiment)}
        runs |= {kind: partial(_run, pursuit, values, experiment) for kind, values in kinds.items()}
        each = {kind: experiment.part(f"{name} {kind}".replace(",", ""), settings, run) for kind, run in runs.items()}
        found[name] = {kind: {k: v for k, v in one.items() if k != "surprises"} for kind, one in each.items()}
        judged = {kind: _judge(each["usual"], each[kind]) for kind in kinds}
        table += [_told(name, kind, each[kind], judged[kind], _judge(each["drawn"], each[kind])) for kind in kinds]
        curves[name] = {kind: judged[kind]["shares"] for kind in kinds}
        found[name]["flagged"] = judged
        right = np.array(each[DIGITS]["predictions"]) == task.y_test[: len(kinds[DIGITS])]
        early = np.array(each[DIGITS]["at_the_stop"]) == task.y_test[: len(kinds[DIGITS])]
        lengths = np.array(each[DIGITS]["lengths"])
        rows.append(asdict(counted(f"{name}, without novelty queries", early, length=lengths[:, 0])))
        rows.append(asdict(counted(f"{name}, with {N_QUERIES} novelty queries", right, length=lengths[:, 1])))
        experiment.say(f"{name}: " + ", ".join(f"{k} {100 * v['shares'][-1]:.1f} %" for k, v in judged.items()))
    axes = novelty_rates(COUNTS, curves, alpha=ALPHA)
    about = "share of images that are detected as novel against the number of novelty queries"
    return experiment.finish(
        {
            "data": {"name": "mnist", "n_reference": N_REFERENCE, "alpha": ALPHA, "epsilon": EPSILON},
            "rows": rows,
            "tables": {f"Detected as novel at a level of {100 * ALPHA:g} %": table},
            "parts": found,
            "figures": [experiment.figure(axes, "novelty.png", about)],
        }
    )


def _with_novelty_queries(make: Callable[[], Pursuit[Any]]) -> Pursuit[Any]:
    return replace(make(), n_novelty_queries=N_QUERIES)


def _models() -> dict[str, Callable[[], Pursuit[Any]]]:
    """The shipped model, decoded by the VAE; with all draws of the VAE a novelty query takes ten times as long."""
    return {"shipped mnist": lambda: shipped.load("mnist")}


def _kinds(task: ImageTask, n: int) -> dict[str, Any]:
    """(n, A) pixels of every kind of image, lit or not as the queries on digits see them."""
    rng = np.random.default_rng(0)
    digits = task.x_test[:n]
    see = task.query_set.observe
    return {
        DIGITS: digits,
        "Fashion-MNIST, clothes": see(datasets.load("fashion_mnist").x_test[:n]),
        "KMNIST, Japanese characters": see(datasets.load("kmnist").x_test[:n]),
        "random pixels, half of them lit": (rng.random(digits.shape) < 0.5).astype(np.int64),
        "random pixels, as many lit as in digits": (rng.random(digits.shape) < task.values.mean()).astype(np.int64),
        "pixels of a digit in any order": rng.permuted(digits, axis=1),
        "digits, dark and lit exchanged": 1 - digits,
    }


def _drawn(pursuit: Callable[[], Pursuit[Any]], experiment: Experiment) -> dict[str, Any]:
    return _run(pursuit, sample_values(pursuit().model, N_REFERENCE, experiment.seed), experiment)


def _run(pursuit: Callable[[], Pursuit[Any]], values: Any, experiment: Experiment) -> dict[str, Any]:
    """How unexpected the answers of some inputs are after each number of novelty queries."""
    trace = pursuit().run_values(values, progress=experiment.progress)
    rows, stop = np.arange(len(trace)), trace.novelty_from
    return {
        "surprises": [surprise_after(trace, n).round(9).tolist() for n in COUNTS],
        "predictions": trace.predictions.tolist(),
        "at_the_stop": trace.classes[trace.posteriors[rows, stop].argmax(axis=1)].tolist(),
        "lengths": np.stack([stop, trace.length], axis=1).tolist(),
    }


def surprise_after(trace: Trace, n: int) -> FloatArray:
    """(B,) the surprise if ``n`` novelty queries had been asked for: that of the whole pursuit where there are none."""
    rows, stop, log_evidence = np.arange(len(trace)), trace.novelty_from, trace.log_evidence
    if n == 0:
        return np.asarray(-log_evidence[rows, stop])
    return np.asarray(log_evidence[rows, stop] - log_evidence[rows, np.minimum(stop + n, trace.length)])


def _judge(usual: dict[str, Any], tested: dict[str, Any]) -> dict[str, Any]:
    """The share with a p-value up to alpha after each of `COUNTS` novelty queries, and the final area under curve."""
    shares = []
    for ours, theirs in zip(usual["surprises"], tested["surprises"], strict=True):
        p = NoveltyReference(np.sort(ours), INPUTS).pvalues(theirs)
        shares.append(float((p <= ALPHA).mean()))
    return {"shares": shares, "area": area(np.array(usual["surprises"][-1]), np.array(tested["surprises"][-1]))}


def area(usual: FloatArray, tested: FloatArray) -> float:
    """The probability that a tested surprise is larger than a usual one, ties counted half.

    >>> area(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    0.875
    """
    usual = np.sort(usual)
    below, upto = (np.searchsorted(usual, tested, side=side) for side in ("left", "right"))
    return float(((below + upto) / 2 / len(usual)).mean())


def _told(
    name: str, kind: str, each: dict[str, Any], judged: dict[str, Any], by_model: dict[str, Any]
) -> dict[str, Any]:
    n, lengths = len(each["predictions"]), np.array(each["lengths"])
    share = 100 * judged["shares"][-1]
    low, high = accuracy_interval(round(judged["shares"][-1] * n), n)
    return {
        "model": name,
        "images": kind,
        "number": n,
        "questions to the stop": round(float(lengths[:, 0].mean()), 2),
        "no novelty queries, %": round(100 * judged["shares"][0], 1),
        f"{N_QUERIES} novelty queries, % (95 % interval)": f"{share:.1f} ({100 * low:.1f} to {100 * high:.1f})",
        "area under the curve": round(judged["area"], 4),
        f"usual is what the {MODEL} draws, %": round(100 * by_model["shares"][-1], 1),
    }
