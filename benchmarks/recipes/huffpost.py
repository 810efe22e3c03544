"""HuffPost headlines by the words in them: pursuits of hundreds of questions, on five folds.

Everything is chosen on training rows: the vocabulary, the model and its settings, when to stop. In each fold a fifth
of the training rows is held out for that; the test rows are looked at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.baselines import fit_tree, fit_tuned, hold_out
from benchmarks.datasets.news import MERGED
from benchmarks.experiment import Experiment
from benchmarks.gain_stops import Limits, choose_limits, guesses_at, stops_at
from benchmarks.recipes.huffpost_tables import PAPER_GAIN, differences, draw, read_outcomes, rows, tables
from benchmarks.recipes.presence_network import fit_presence_network
from benchmarks.recipes.word_models import FAMILIES, LOG_ODDS, Family, all_answers, in_memory
from infopursuit import plots, queries
from infopursuit.app.datasets.dataset import Dataset
from infopursuit.models.sample import Sample
from infopursuit.pursuit.stopping import MaxQueries
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.support.types import IntArray


@dataclass(frozen=True)
class Settings:
    """The experiment in numbers.

    validation: share of a fold's training rows to choose on. gains, doubts: limits at which a pursuit may stop; the
    least gain is where traces end. most_loss: accuracy that stopping is expected to cost at the most. n_trial: held-out
    headlines that are pursued to choose limits. at_a_time: test headlines in a part that is kept. n_examples,
    most_questions: test headlines of each fold that are pursued with the training headlines as states, and how far;
    every question takes a thousand times the arithmetic. without: black boxes that are not tried; boosting takes
    longer than all others together and was five points behind the best on held-out rows of the first fold.
    """

    n_folds: int = 5
    n_words: int = 1000
    validation: float = 0.2
    gains: tuple[float, ...] = (0.01, 0.005, 0.003, 0.002, 0.0015, 1e-3, 7e-4, 5e-4, 4e-4, 3e-4, 2.5e-4, 2e-4, 1.5e-4)
    doubts: tuple[float, ...] = (0.0, 0.02, 0.05, 0.1)
    most_loss: float = 0.003
    n_trial: int = 250
    at_a_time: int = 850
    n_examples: int = 20
    most_questions: int = 100
    without: tuple[str, ...] = ("gradient boosting",)

    def options(self) -> list[Limits]:
        """Limits to choose from."""
        return [Limits(gain, doubt) for gain in self.gains for doubt in self.doubts]


N_PICTURED = 60
"""Test headlines of the first fold among which two are picked to be drawn."""


@dataclass(frozen=True)
class Fold:
    """One fold as yes/no answers, -1 nowhere: values (B, A), labels (B,)."""

    number: int
    texts: Any
    query_set: queries.QuerySet
    values_train: IntArray
    labels_train: IntArray
    values_test: IntArray
    labels_test: IntArray
    classes: tuple[str, ...]

    def sample(self, rows: Any = slice(None)) -> Sample:
        """Training rows to learn from."""
        return Sample.of(
            self.query_set.variables, self.values_train[rows], self.labels_train[rows], n_classes=len(self.classes)
        )


def huffpost(experiment: Experiment, settings: Settings | None = None) -> dict[str, Any]:
    """Run the experiment and write ``huffpost.json`` and its pictures."""
    settings = settings or Settings()
    data = datasets.load("huffpost")
    found = []
    for fold in _folds(data, settings, experiment):
        experiment.say(f"fold {fold.number}: {len(fold.labels_train)} headlines to learn from")
        found.append(_fold_results(experiment, settings, fold))
        if fold.number == 1:
            figures = _examples(experiment, fold, found[0])
    outcomes = read_outcomes(found, settings.options())
    main = draw(outcomes, settings.n_words, experiment)
    about: dict[str, Any] = {"headlines": len(outcomes.labels), "n_queries": settings.n_words, "folds": len(found)}
    classes = dict(zip(data.class_names, np.bincount(outcomes.labels).tolist(), strict=True))
    about |= {"classes": classes, "merged": dict(MERGED), "description": data.description}
    return experiment.finish(
        {
            "data": about,
            "settings": asdict(settings),
            "rows": [asdict(row) for row in rows(outcomes, settings.most_questions)],
            "differences": [asdict(difference) for difference in differences(outcomes)],
            "curves": {"Information Pursuit": [asdict(point) for point in outcomes.points]},
            "elbow": asdict(outcomes.elbow),
            "tables": tables(outcomes),
            "figures": [main, *figures],
        }
    )


def _folds(data: Dataset, settings: Settings, experiment: Experiment) -> Iterator[Fold]:
    """The folds, each with a vocabulary of its own; of the test rows as many as are wanted, drawn."""
    for number, part in enumerate(datasets.folds(data, n=settings.n_folds, seed=experiment.seed), start=1):
        query_set = queries.words(part.x_train, settings.n_words)
        rows = np.arange(len(part.x_test))
        if experiment.n_inputs is not None:
            drawn = np.random.default_rng((experiment.seed, number)).permutation(rows)
            rows = np.sort(drawn[: max(1, experiment.n_inputs // settings.n_folds)])
        texts = part.x_test[rows]
        values_train, values_test = query_set.observe(part.x_train), query_set.observe(texts)
        yield Fold(
            number, texts, query_set, values_train, part.y_train, values_test, part.y_test[rows], part.class_names
        )


def _fold_results(experiment: Experiment, settings: Settings, fold: Fold) -> dict[str, Any]:
    """Everything about one fold, part by part."""
    about = f"fold {fold.number}"
    models = experiment.part(f"{about} models", settings, lambda: _models(settings, fold, experiment))
    trees = experiment.part(f"{about} tree", settings, lambda: _tree(fold, experiment))
    boxes = experiment.part(f"{about} black box", settings, lambda: _black_box(settings, fold, experiment))
    trial = experiment.part(f"{about} trial", settings, lambda: _trial(settings, fold, models, experiment))
    experiment.say(f"stop at {trial['limits']}: {trial['length']:.0f} questions, {trial['loss']:.4f} lost, held out")
    asked: dict[str, list[Any]] = {}
    for start in range(0, len(fold.labels_test), settings.at_a_time):
        rows = slice(start, start + settings.at_a_time)
        pursue = partial(_pursue, settings, fold, models, rows, experiment)
        some = experiment.part(f"{about} pursuit {start}", settings, pursue)
        asked = {name: asked.get(name, []) + some[name] for name in some}
    few = experiment.part(f"{about} examples", settings, lambda: _with_examples(settings, fold, models, experiment))
    return {
        "models": models,
        "tree": trees,
        "black_box": boxes,
        "trial": trial,
        "asked": asked,
        "examples": few,
        "labels": fold.labels_test.tolist(),
    }


def _models(settings: Settings, fold: Fold, experiment: Experiment) -> dict[str, Any]:
    """Of each family the settings with the least log loss on held-out rows; and MAP using Q with all rows learnt."""
    learn, choose = hold_out(fold.labels_train, settings.validation, experiment.seed)
    values, labels = fold.values_train[choose], fold.labels_train[choose]
    sample, whole = fold.sample(learn), fold.sample()
    found: dict[str, Any] = {}
    for family in FAMILIES:
        begin = time.perf_counter()
        tried: list[dict[str, Any]] = []
        for option in family.options:
            log_class = all_answers(family.fit(sample, *option), values)
            loss = -float(log_class[np.arange(len(labels)), labels].mean())
            tried.append({"option": option, "loss": loss, "right": float((log_class.argmax(1) == labels).mean())})
        best = min(tried, key=lambda one: one["loss"])
        guess = all_answers(family.fit(whole, *best["option"]), fold.values_test).argmax(axis=1)
        seconds = time.perf_counter() - begin
        experiment.say(f"{family.name} {best['option']}: log loss {best['loss']:.4f}, held out, {seconds:.0f} s")
        found[family.name] = {"best": best, "tried": tried, "guess": guess.tolist(), "seconds": seconds}
    return found


def _fitted(family: Family, fold: Fold, models: Any, rows: Any = slice(None)) -> Any:
    """The model of a family with the settings that were chosen."""
    return family.fit(fold.sample(rows), *models[family.name]["best"]["option"])


def _tree(fold: Fold, experiment: Experiment) -> dict[str, Any]:
    tree = fit_tree(fold.query_set, fold.values_train, fold.labels_train, seed=experiment.seed)
    length = tree.questions[tree.nodes(fold.values_test)[:, -1]]
    return {"guess": tree.predict(fold.values_test), "length": length, "seconds": tree.seconds, **tree.details}


def _black_box(settings: Settings, fold: Fold, experiment: Experiment) -> dict[str, Any]:
    """The better of network and tuned model on the same held-out rows, as `baselines.black_box` has it."""
    rows, seed = (fold.query_set, fold.values_train, fold.labels_train), experiment.seed
    network = fit_presence_network(*rows, seed=seed)
    tuned = fit_tuned(*rows, without=settings.without, seed=seed, progress=experiment.progress, say=experiment.say)
    best = network if network.validation_accuracy >= tuned.validation_accuracy else tuned
    return {
        "guess": best.predict(fold.values_test),
        "chosen": best.name,
        "held_out": {network.name: network.validation_accuracy, **tuned.tried},
        "seconds": network.seconds + tuned.seconds,
    }


def _trial(settings: Settings, fold: Fold, models: Any, experiment: Experiment) -> dict[str, Any]:
    """When to stop: pursuits of held-out rows with a model that has not seen them."""
    learn, choose = hold_out(fold.labels_train, settings.validation, experiment.seed)
    few = np.sort(np.random.default_rng((experiment.seed, 1)).permutation(choose)[: settings.n_trial])
    model, values = _fitted(LOG_ODDS, fold, models, learn), fold.values_train[few]
    pursuit = generative_pursuit(model, fold.query_set, stopping=Limits(min(settings.gains)).rule())
    trace = pursuit.run_values(values, progress=experiment.progress)
    return asdict(choose_limits(trace, np.exp(all_answers(model, values)), settings.options(), settings.most_loss))


def _pursue(settings: Settings, fold: Fold, models: Any, rows: slice, experiment: Experiment) -> dict[str, Any]:
    """Pursuits of test rows to the least gain: lengths and guesses at all limits, in the order of the options."""
    model = _fitted(LOG_ODDS, fold, models)
    pursuit = generative_pursuit(model, fold.query_set, stopping=Limits(min(settings.gains)).rule())
    begin = time.perf_counter()
    trace = pursuit.run_values(fold.values_test[rows], progress=experiment.progress)
    stops = np.stack([stops_at(trace, limits) for limits in settings.options()], axis=1)  # (B, options)
    guess = np.stack([guesses_at(trace, stop) for stop in stops.T], axis=1)
    short = np.minimum(stops_at(trace, Limits(PAPER_GAIN)), settings.most_questions)
    return {
        "length": stops.tolist(),
        "guess": guess.tolist(),
        "short": np.stack([short, guesses_at(trace, short)], axis=1).tolist(),  # stopped as `_with_examples` stops
        "seconds": [time.perf_counter() - begin],
    }


def _with_examples(settings: Settings, fold: Fold, models: Any, experiment: Experiment) -> dict[str, Any]:
    """Pursuits of a few test rows with every training headline a state; rows are drawn, the file is in no order."""
    family = FAMILIES[-1]
    drawn = np.random.default_rng((experiment.seed, 2)).permutation(len(fold.labels_test))[: settings.n_examples]
    rows = np.sort(drawn)
    rule = Limits(PAPER_GAIN).rule() | MaxQueries(settings.most_questions)
    pursuit = generative_pursuit(
        in_memory(_fitted(family, fold, models)), fold.query_set, stopping=rule, exact_gains=True
    )
    begin = time.perf_counter()
    trace = pursuit.run_values(fold.values_test[rows], progress=experiment.progress)
    return {
        "rows": rows,
        "guess": guesses_at(trace, trace.length),
        "length": trace.length,
        "seconds": time.perf_counter() - begin,
    }


def _examples(experiment: Experiment, fold: Fold, found: Any) -> list[dict[str, str]]:
    """Pictures of two pursuits of the first fold: one of middling length that is right, one that is wrong."""
    model = _fitted(LOG_ODDS, fold, found["models"])
    limits = Limits(**found["trial"]["limits"])
    pursuit = generative_pursuit(model, fold.query_set, stopping=limits.rule(), classes=np.array(fold.classes))
    trace = pursuit.run_values(fold.values_test[:N_PICTURED], progress=experiment.progress)
    right = guesses_at(trace, trace.length) == fold.labels_test[:N_PICTURED]
    figures = []
    for name, mask in (("right", right), ("wrong", ~right)):
        rows = np.flatnonzero(mask)
        if not len(rows):
            continue
        i = int(rows[np.argsort(trace.length[rows], kind="stable")[len(rows) // 2]])
        axes = plots.heatmap(trace[i], truth=fold.classes[fold.labels_test[i]])
        about = f"The pursuit of a headline, which is {name} in the end: {fold.texts[i]}"
        figures.append(experiment.figure(axes, f"{experiment.name}-{name}.png", about, dpi=80, bbox_inches="tight"))
    return figures
