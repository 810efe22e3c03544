"""Sweeps: cross-validation over models, seeds and confidences, each run on any worker.

A run is one model, one seed and one fold: it is fitted on the other folds and asks about the inputs of its own until
the strictest confidence; the other confidences are read off the same traces. Finished runs are kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.stats import sem, t

from infopursuit.app import datasets
from infopursuit.app.datasets.dataset import fold_numbers, is_dataset
from infopursuit.app.datasets.examples import Source
from infopursuit.app.jobs.engines import Engine, Unit
from infopursuit.app.jobs.job import JobFolder
from infopursuit.estimator.classifier import InformationPursuitClassifier
from infopursuit.estimator.labelled import label_table
from infopursuit.estimator.table_files import GIVE, is_table_file, take_rows
from infopursuit.evaluation.measures import confidence_curve
from infopursuit.pursuit.stopping import Confidence
from infopursuit.support.checks import number, one_of, whole_number
from infopursuit.support.files import write_atomically
from infopursuit.support.progress import Progress

EPSILONS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
MODELS = ("auto", "hybrid", "table", "empirical", "vae", "amortized")
LEVEL = 0.95


@dataclass(frozen=True)
class Swept:
    """One model with one epsilon over all runs.

    accuracy, length: means over runs, with (low, high) t intervals from the spread between runs, None for one run.
    Folds share training inputs, so that the intervals are somewhat narrow. *_error: standard errors, 0 for one run.
    """

    model: str
    epsilon: float
    accuracy: float
    accuracy_error: float
    accuracy_interval: tuple[float, float] | None
    length: float
    length_error: float
    length_interval: tuple[float, float] | None
    n_runs: int
    n_inputs: int


@dataclass(frozen=True)
class Sweep:
    """What `sweep` has made. rows: one for each model and epsilon. n_kept: runs that an earlier call had finished."""

    folder: Path
    rows: tuple[Swept, ...]
    n_runs: int
    n_kept: int
    seconds: float

    def curves(self) -> dict[str, list[Swept]]:
        """For each model its rows, as `infopursuit.presentation.plots.trade_off` draws them."""
        return {
            name: [row for row in self.rows if row.model == name] for name in dict.fromkeys(r.model for r in self.rows)
        }


def sweep(
    data: Any,
    out: Any,
    *,
    label: str | None = None,
    models: Sequence[str] = ("auto",),
    epsilons: Sequence[float] = EPSILONS,
    seeds: Sequence[int] = (0,),
    folds: int = 5,
    engine: Engine | Literal["local", "ray"] = "local",
    again: bool = False,
    progress: bool | None = None,
) -> Sweep:
    """Fit and evaluate with every model, seed and fold; what was stopped goes on.

    Parameters
    ----------
    data: a table file with a column ``label``, or the name of a data set, whose training part is used:
        what is chosen by a sweep may then be reported on its test part.
    out: a folder for the runs and ``sweep.json``.
    models: of `InformationPursuitClassifier`. epsilons: of `Confidence`. seeds: of the fit and of the folds.
    folds: the inputs are cut into so many parts, each tested on once.
    engine: as for `explain`.
    """
    begin = time.perf_counter()
    chosen = engine if isinstance(engine, Engine) else Engine(engine)
    _check(models, epsilons, seeds, folds)
    place = Source(str(data), label, None)
    settings = {"epsilons": [float(e) for e in epsilons], "folds": folds}
    job = JobFolder(Path(out).absolute(), "runs", ".json")
    about = {"label": label, "models": list(models), "seeds": list(seeds), **settings}
    units = [
        {"number": i, "model": model, "seed": seed, "fold": fold}
        for i, (model, seed, fold) in enumerate(product(models, seeds, range(folds)))
    ]
    with job.begun({"data": place.identity(), **about}, again=again):
        found = {told["number"]: told for told in job.all_finished(len(units))}
        n_kept = len(found)
        make = partial(Runner, place, settings, job)
        with Progress("runs", len(units), show=progress, done=n_kept) as shown:
            for unit, told in chosen.run(make, [unit for unit in units if unit["number"] not in found]):
                found[unit["number"]] = told
                shown.advance()
    rows = tuple(_rows([found[i] for i in range(len(units))]))
    content = {"settings": about, "rows": [asdict(row) for row in rows]}
    write_atomically(Path(out) / "sweep.json", f"{json.dumps(content, indent=1)}\n".encode())
    return Sweep(Path(out), rows, len(units), n_kept, time.perf_counter() - begin)


class Runner:
    """What a worker does: one fit, and what every epsilon comes to. The data are read once."""

    def __init__(self, place: Source, settings: dict[str, Any], job: JobFolder) -> None:
        self.settings, self.job = settings, job
        self.X, self.y = _read(place)

    def __call__(self, unit: Unit) -> dict[str, Any]:
        """One model, seed and fold."""
        kept = self.job.finished(unit["number"])
        if kept is not None:
            return kept
        fold = fold_numbers(self.y, n=self.settings["folds"], seed=unit["seed"])
        learn, test = np.flatnonzero(fold != unit["fold"]), np.flatnonzero(fold == unit["fold"])
        rule = Confidence(min(self.settings["epsilons"]))
        clf = InformationPursuitClassifier(strategy=unit["model"], stopping=rule, random_state=unit["seed"])
        clf.fit(take_rows(self.X, learn), self.y[learn])
        trace = clf.explain(take_rows(self.X, test))
        points = confidence_curve(trace, self.y[test], self.settings["epsilons"])
        told = {"model": unit["model"], "points": [asdict(point) for point in points]}
        number = unit["number"]
        write_atomically(self.job.part(number), f"{json.dumps({**unit, **told}, indent=1)}\n".encode())
        return self.job.finish(number, told)


def _check(models: Sequence[str], epsilons: Sequence[float], seeds: Sequence[int], folds: int) -> None:
    for name, given in (("models", models), ("epsilons", epsilons), ("seeds", seeds)):
        if isinstance(given, str) or not len(given) or len(set(given)) != len(given):
            raise ValueError(f"{name}={given!r} must be a list of different entries, at least one")
    for model in models:
        one_of(model, "models", MODELS)
    for epsilon in epsilons:
        number(epsilon, "epsilons", above=0, below=1)
    for seed in seeds:
        whole_number(seed, "seeds")
    whole_number(folds, "folds", 2)


def _read(place: Source) -> tuple[Any, Any]:
    if not place.path.is_file() and is_dataset(place.data):
        found = datasets.load(place.data)
        return found.x_train, np.asarray(found.y_train)
    if not is_table_file(place.path):
        raise ValueError(f"{place.data} is no table; {GIVE} file, or the name of a data set")
    if place.label is None:
        raise ValueError(f"label is missing; say which column of {place.data} is to be found out")
    table = label_table(place.path, place.label, facts=False)
    return table.X, table.labels


def _rows(runs: Sequence[dict[str, Any]]) -> Iterator[Swept]:
    for model in dict.fromkeys(run["model"] for run in runs):
        those = [run["points"] for run in runs if run["model"] == model]
        for points in zip(*those, strict=True):  # one epsilon in all runs
            right, asked = (_mean([point[name] for point in points]) for name in ("accuracy", "length"))
            n = sum(point["n_inputs"] for point in points)
            yield Swept(model, points[0]["epsilon"], *right, *asked, len(points), n)


def _mean(values: Sequence[float]) -> tuple[float, float, tuple[float, float] | None]:
    """The mean, its standard error, and its t interval."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, 0.0, None
    error = float(sem(values))
    half = error * float(t.ppf((1 + LEVEL) / 2, len(values) - 1))
    return mean, error, (mean - half, mean + half)
