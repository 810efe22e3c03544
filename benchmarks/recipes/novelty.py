"""Inputs of no class: how many clothes, Japanese characters and random pixels the model of digits detects as novel.

What is usual is taken from digits that training left out; how many other digits are flagged is the false alarm rate.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.experiment import Experiment
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask, weights_checksum
from infopursuit import shipped
from infopursuit.calibration.novelty import INPUTS, MODEL, NoveltyReference, sample_values
from infopursuit.evaluation.measures import accuracy_interval, counted
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.support.types import FloatArray

EPSILON, ALPHA = 0.01, 0.05
N_REFERENCE, N_INPUTS = 1000, 2000
"""Held-out digits that say what is usual; images of each kind that are tested, the first."""
DIGITS = "MNIST, other digits"
LEAST = (0, 24)
"""How many questions are asked at least: with 0 the pursuit ends when it is confident."""
FLAGGED = "detected as novel, % (95 % interval)"


def novelty(experiment: Experiment) -> dict[str, Any]:
    """Seven kinds of images."""
    task = ImageTask(IMAGE_SETS["mnist"])
    kinds = _kinds(task, min(experiment.n_inputs or N_INPUTS, N_INPUTS))
    weights = weights_checksum("mnist")
    recipe = IMAGE_SETS["mnist"]
    settings = [EPSILON, N_REFERENCE, weights, recipe.decoded, recipe.sampler, recipe.n_states]
    shipped_model = shipped.load("mnist")
    usual = task.values[task.held_out[:N_REFERENCE]]
    drawn = sample_values(shipped_model.model, N_REFERENCE, experiment.seed)
    inputs = {"usual": usual, "drawn": drawn, **kinds}

    rows: list[dict[str, Any]] = []
    table: list[dict[str, Any]] = []
    parts: dict[str, Any] = {}
    for least in LEAST:
        pursuit = replace(shipped_model, stopping=Confidence(EPSILON) & MaxQueries(least))
        runs = {
            kind: experiment.part(
                f"{least} {kind}".replace(",", ""), [least, *settings], partial(_run, pursuit, values, experiment)
            )
            for kind, values in inputs.items()
        }
        table += [_row(least, kind, runs[kind], usual=runs["usual"], drawn=runs["drawn"]) for kind in kinds]
        for row in table[-len(kinds) :]:
            experiment.say(f"{least} questions at least, {row['images']}: {row[FLAGGED]} %")

        digits = runs[DIGITS]
        right = np.array(digits["predictions"]) == task.y_test[: len(kinds[DIGITS])]
        name = f"shipped mnist, {least} questions at least" if least else "shipped mnist"
        rows.append(asdict(counted(name, right, length=np.array(digits["lengths"]))))
        parts[str(least)] = {kind: {k: v for k, v in run.items() if k != "surprisals"} for kind, run in runs.items()}

    return experiment.finish(
        {
            "data": {"name": "mnist", "n_reference": N_REFERENCE, "alpha": ALPHA, "epsilon": EPSILON},
            "rows": rows,
            "tables": {f"Detected as novel at a level of {100 * ALPHA:g} %": table},
            "parts": parts,
        }
    )


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


def _run(pursuit: Any, values: Any, experiment: Experiment) -> dict[str, Any]:
    """How unexpected the answers of some inputs are."""
    trace = pursuit.run_values(values, progress=experiment.progress)
    return {
        "surprisals": trace.surprisal.round(9).tolist(),
        "predictions": trace.predictions.tolist(),
        "lengths": trace.length.tolist(),
    }


def _row(least: int, kind: str, run: dict[str, Any], *, usual: dict[str, Any], drawn: dict[str, Any]) -> dict[str, Any]:
    """How many inputs of one kind have a p-value up to alpha."""
    n = len(run["predictions"])
    share, by_model = (
        float((NoveltyReference(np.sort(each["surprisals"]), INPUTS).pvalues(run["surprisals"]) <= ALPHA).mean())
        for each in (usual, drawn)
    )
    low, high = accuracy_interval(round(share * n), n)
    return {
        "images": kind,
        "questions at least": least,
        "number": n,
        "questions": round(float(np.mean(run["lengths"])), 2),
        FLAGGED: f"{100 * share:.1f} ({100 * low:.1f} to {100 * high:.1f})",
        "area under the curve": round(area(np.array(usual["surprisals"]), np.array(run["surprisals"])), 4),
        f"usual is what the {MODEL} draws, %": round(100 * by_model, 1),
    }


def area(usual: FloatArray, tested: FloatArray) -> float:
    """The probability that a tested surprise is larger than a usual one, ties counted half.

    >>> area(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    0.875
    """
    usual = np.sort(usual)
    below, upto = (np.searchsorted(usual, tested, side=side) for side in ("left", "right"))
    return float(((below + upto) / 2 / len(usual)).mean())
