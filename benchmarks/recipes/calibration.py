"""Calibrated stopping and prediction sets: a hundred random halves of the test inputs of each data set.

One run asks farther than any rule that may be chosen; where a rule would have stopped is read off it. Then half of the
test inputs, drawn anew each time, are calibrated on, and the other half shows what came of it. The way of calibrating
was settled on pursuits of held-out training inputs, not on test inputs; models and queries are those of the other
experiments, whose pages say how often their test inputs were looked at. The halves overlap from split to split, so that
a hundred splits say less than a hundred data sets would.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import safetensors.numpy
from sklearn.datasets import load_digits

from benchmarks import datasets
from benchmarks.experiment import Experiment
from benchmarks.recipes import huffpost
from benchmarks.recipes.image_sets import IMAGE_SETS, ImageTask, weights_checksum
from benchmarks.recipes.word_models import LOG_ODDS
from benchmarks.splits import before_and_after, halves, many_splits, one_split
from infopursuit import queries
from infopursuit.calibration.temperature import HeldOutRuns, TemperatureScaling
from infopursuit.models.learning import naive_bayes
from infopursuit.models.sample import Sample
from infopursuit.presentation.plots import calibration
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.support.files import write_atomically
from infopursuit.support.types import IntArray

DELTA = 0.05
N_SPLITS, N_TRIED = 100, 10
"""Random halves for each target, and those that a higher target is tried with."""
MIN_STOPPED = 0.8
HIGHER, LOWEST = 0.01, 0.5
"""From one target that is tried to the next, and where to give up."""

Inputs = tuple[Pursuit[Any], IntArray, IntArray]
"""A pursuit, the values of test inputs (B, A), and their labels (B,)."""


@dataclass(frozen=True)
class CalibrationSet:
    """One data set.

    whole: accuracy of MAP using Q with the same model, as measured (`RESULTS.md`); the target stays below it. That of
    digits was not measured: 0.80 is a target that its few inputs can support, for a run that takes a minute. epsilon:
    of the strict run. at_a_time: inputs in a part that is kept. every: rules are looked at after so many questions;
    where hundreds are asked, looking after each would take a hundred splits hours and tell no more.
    """

    name: str
    whole: float
    max_queries: int
    epsilon: float = 1e-5
    at_a_time: int = 1000
    every: int = 1

    @property
    def target(self) -> float:
        """0.97, or the accuracy of MAP using Q rounded down to a whole per cent."""
        return float(min(0.97, np.floor(100 * self.whole + 1e-9) / 100))


CALIBRATION_SETS = {
    "mnist": CalibrationSet("mnist", 0.9907, 40),
    "fashion": CalibrationSet("fashion", 0.8579, 40),
    "huffpost": CalibrationSet("huffpost", 0.6714, 400, epsilon=1e-4, every=4),
    "digits": CalibrationSet("digits", 0.80, 20),
}


def calibration_splits(name: str, experiment: Experiment) -> dict[str, Any]:
    """Run the experiment on one data set."""
    about = CALIBRATION_SETS[name]
    pursued = _pursued(about, experiment)
    say = experiment.say
    final = float(pursued.correct[:, -1].mean())
    asked = about.every * float(pursued.length.mean())
    say(f"{len(pursued)} test inputs, {100 * final:.2f} % right after {asked:.1f} questions")
    measured = [_splits(experiment, pursued, about.target, N_SPLITS)]
    highest = _highest(experiment, pursued, about.target)
    if highest != about.target:
        measured.append(_splits(experiment, pursued, highest, N_SPLITS))
    figure = _draw(experiment, pursued, about, highest)
    title = f"Calibrated on half of the test inputs, measured on the other half, delta = {DELTA:g}, at most "
    title += f"{about.max_queries} questions; means of {N_SPLITS} splits"
    return experiment.finish(
        {
            "data": {"name": name, "n_test": len(pursued), "budget": about.max_queries, "right at the end": final},
            "tables": {
                f"Calibrated on half of the test inputs, measured on the other half, delta = {DELTA:g}, at most "
                f"{about.max_queries} questions; means of {N_SPLITS} splits": [
                    _row(each, about.every) for each in measured
                ],
                "Prediction sets on the same splits": [row for each in measured for row in _set_rows(each)],
            },
            "parts": {f"{each['target']:g}": each for each in measured},
            "figures": figure,
        }
    )


def _splits(experiment: Experiment, pursued: HeldOutRuns, target: float, n: int) -> dict[str, Any]:
    found = experiment.part(
        f"{n} splits at {target:g}",
        [target, DELTA, n, _checksum(pursued)],
        lambda: many_splits(pursued, target, DELTA, n, experiment.seed, progress=experiment.progress),
    )
    if found["splits"]:
        experiment.say(
            f"target {target:g}: kept in {found['n_kept']} of {n} splits, {found['n_refused']} refused, "
            f"{100 * found['stopped']:.1f} % stopped, {100 * found['accuracy']:.2f} % of them right, error "
            f"{100 * found['error_before']:.2f} to {100 * found['error']:.2f} %, "
            f"{found['length_before']:.1f} to {found['length']:.1f} questions"
        )
    return dict(found)


def _highest(experiment: Experiment, pursued: HeldOutRuns, target: float) -> float:
    """The highest target, in whole per cents, that a few splits can all guarantee with enough inputs stopped: above the
    one that is asked for where that can be kept, else below it."""

    def fits(some: float) -> bool:
        found = _splits(experiment, pursued, some, N_TRIED)
        return not found["n_refused"] and found["stopped"] >= MIN_STOPPED

    if fits(target):
        while target + HIGHER < 1 and fits(round(target + HIGHER, 4)):
            target = round(target + HIGHER, 4)
        return target
    while target > LOWEST and not fits(target):
        target = round(target - HIGHER, 4)
    return target


def _row(found: dict[str, Any], every: int = 1) -> dict[str, Any]:
    if not found["splits"]:
        return {"target, %": 100 * found["target"], "refused": found["n_refused"]}
    return {
        "target, %": round(100 * found["target"], 1),
        "kept": found["n_kept"],
        "expected": round(found["n_expected"], 1),
        "refused": found["n_refused"],
        "stopped, %": round(100 * found["stopped"], 1),
        "of those right, %": round(100 * found["accuracy"], 2),
        "calibration error before, %": round(100 * found["error_before"], 2),
        "calibration error after, %": round(100 * found["error"], 2),
        "halved in": sum(each["error"] <= each["error_before"] / 2 for each in found["splits"]),
        f"{100 * MIN_STOPPED:.0f} % stopped in": sum(each["stopped"] >= MIN_STOPPED for each in found["splits"]),
        "questions before": round(every * found["length_before"], 1),
        "questions after": round(every * found["length"], 1),
        "temperature": round(found["temperature"], 2),
        "confidence to stop at, %": round(100 * found["threshold"], 1),
    }


def _set_rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "target, %": round(100 * found["target"], 1),
            "coverage asked for, %": 100 * float(name),
            "after k questions, the worst k, %": round(100 * each["after, least"], 2),
            "the middle k, %": round(100 * each["after, median"], 2),
            "at the stop, %": round(100 * each["stop"], 2),
            "at all k at once, %": round(100 * each["anytime"], 2),
            "classes at the stop": round(each["size"], 2),
            "anytime": round(each["size_anytime"], 2),
        }
        for name, each in (found.get("sets") or {}).items()
    ]


def _draw(experiment: Experiment, pursued: HeldOutRuns, about: CalibrationSet, target: float) -> list[dict[str, str]]:
    """The reliability of the first split at a target."""
    first = one_split(pursued, target, DELTA, experiment.seed)
    if first is None:
        return []
    theirs = pursued.take(halves(len(pursued), experiment.seed)[1])
    before, after = before_and_after(theirs, TemperatureScaling(first.temperature), target, first.threshold)
    axes = calibration(*after, before=before, title=f"{about.name}, target {100 * target:g} %, one split")
    told = f"reliability on {about.name} before and after calibration"
    return [experiment.figure(axes, f"calibration-{about.name}.png", told)]


# ---- the strict run -------------------------------------------------------------------------------------------------


def _pursued(about: CalibrationSet, experiment: Experiment) -> HeldOutRuns:
    """All test inputs, in parts that are kept; arrays lie beside the parts, named by their checksum."""
    task = _Task(about, experiment)
    arrays: list[dict[str, Any]] = []
    for start, stop, fold in task.chunks():
        name = f"strict {fold} {start}"
        settings = [about.name, about.max_queries, about.epsilon, task.key, start, stop]
        for _ in range(2):  # an array that was damaged or thrown away is made again
            kept = experiment.part(name, settings, partial(_run, task, fold, start, stop))
            try:
                payload = experiment.file(kept["file"]).read_bytes()
            except OSError:
                payload = b""
            if hashlib.sha256(payload).hexdigest() == kept["sha256"]:
                break
            experiment.file(f"{name.replace(' ', '-')}.json").unlink()
        arrays.append(safetensors.numpy.load(payload))
    log_posterior, length, labels = (
        np.concatenate([each[key] for each in arrays]) for key in ("log_posterior", "length", "labels")
    )
    log_posterior, length = log_posterior[:, :: about.every].astype(np.float64), -(-length // about.every)
    n_answers = np.minimum(np.arange(log_posterior.shape[1]), length[:, None])
    return HeldOutRuns(log_posterior, np.zeros(n_answers.shape), n_answers, length, labels, about.epsilon)


def _run(task: _Task, fold: int, start: int, stop: int) -> dict[str, Any]:
    """Pursue some inputs and keep what is believed after each question."""
    pursuit, values, labels = task.inputs(fold)
    about = task.about
    rule = Confidence(about.epsilon) | MaxQueries(about.max_queries)
    pursuit = replace(pursuit, stopping=rule)
    trace = pursuit.run_values(values[start:stop], progress=task.experiment.progress)
    with np.errstate(divide="ignore"):
        own = np.maximum(np.log(trace.posteriors), -700.0).astype(np.float32)
    missing = about.max_queries + 1 - own.shape[1]  # all parts are as long
    log_posterior = np.concatenate([own, np.repeat(own[:, -1:], missing, axis=1)], axis=1)
    payload = safetensors.numpy.save(
        {"log_posterior": log_posterior, "length": trace.length, "labels": labels[start:stop].astype(np.int64)}
    )
    digest = hashlib.sha256(payload).hexdigest()
    file = task.experiment.file(f"strict-{digest[:16]}.safetensors")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, payload)
    return {"file": file.name, "sha256": digest, "questions": float(trace.length.mean())}


class _Task:
    """The test inputs of a data set, made when they are needed: a run whose parts are all kept loads no model."""

    def __init__(self, about: CalibrationSet, experiment: Experiment) -> None:
        self.about, self.experiment = about, experiment
        self._made: dict[int, Inputs] = {}
        makers: dict[str, Callable[[int], Inputs]] = {"huffpost": self._headlines, "digits": self._digits}
        self._make = makers.get(about.name, self._images)
        self.key = weights_checksum(about.name)

    def chunks(self) -> list[tuple[int, int, int]]:
        """(first input, one after the last, fold)."""
        found = []
        for fold, n in enumerate(self._sizes()):
            for start in range(0, n, self.about.at_a_time):
                found.append((start, min(start + self.about.at_a_time, n), fold))
        return found

    def inputs(self, fold: int) -> Inputs:
        """Everything of one fold; only one is kept."""
        if fold not in self._made:
            self._made = {fold: self._make(fold)}
        return self._made[fold]

    def _sizes(self) -> list[int]:
        """Test inputs of each fold."""
        most = self.experiment.n_inputs
        if self.about.name == "huffpost":
            return [len(part.x_test) if most is None else max(1, most // 5) for part in _folds(self.experiment)]
        n = len(self._digit_rows()[1]) if self.about.name == "digits" else 10_000
        return [n if most is None else min(most, n)]

    def _images(self, fold: int) -> Inputs:
        task = ImageTask(IMAGE_SETS[self.about.name], self.experiment.n_inputs)
        return task.with_vae(slice(None), self.about.epsilon), task.x_test, task.y_test

    def _headlines(self, fold: int) -> Inputs:
        """A fold as the experiment on headlines has it, with the settings that all its folds chose."""
        folds = huffpost._folds(datasets.load("huffpost"), huffpost.Settings(), self.experiment)
        found = next(each for each in folds if each.number == fold + 1)
        model = LOG_ODDS.fit(found.sample(), 0.7, 1.0)
        return generative_pursuit(model, found.query_set), found.values_test, found.labels_test

    def _digit_rows(self) -> tuple[IntArray, IntArray]:
        order = np.random.default_rng(self.experiment.seed).permutation(len(load_digits().target))
        return order[:600], order[600:]

    def _digits(self, fold: int) -> Inputs:
        """Scikit-learn's small digits, with a model that is far too sure: naive Bayes on overlapping patches."""
        data = load_digits()
        learn, test = self._digit_rows()
        query_set = queries.patches((8, 8), size=2, threshold=7.5)
        values = query_set.observe(data.images)
        model = naive_bayes().fit(Sample.of(query_set.variables, values[learn], data.target[learn]))
        test = test[: self.experiment.n_inputs]
        return generative_pursuit(model, query_set), values[test], data.target[test]


def _folds(experiment: Experiment) -> list[Any]:
    return list(datasets.folds(datasets.load("huffpost"), n=huffpost.Settings().n_folds, seed=experiment.seed))


def _checksum(pursued: HeldOutRuns) -> str:
    """Of what the splits are made of."""
    return hashlib.sha256(pursued.log_posterior.tobytes()).hexdigest()
