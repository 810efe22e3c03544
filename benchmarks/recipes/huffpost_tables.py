"""What the HuffPost experiment came to: rows, differences, the curve, tables by fold and by model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.experiment import Experiment
from benchmarks.gain_stops import Limits, elbow
from benchmarks.pages import quoted
from benchmarks.paired import Difference, paired
from benchmarks.recipes.word_models import FAMILIES, LOG_ODDS
from infopursuit import plots
from infopursuit.evaluation.measures import Point, Row, counted, point_of
from infopursuit.support.types import IntArray

PAPER_GAIN = 1e-3
"""Where the paper stops on texts, nats."""
OTHER_DATA = "the paper's, on ten times as many headlines with descriptions: not comparable"
PAPER = {
    "Information Pursuit": 0.7121,
    "decision tree": 0.63,
    "MAP using Q": 0.7172,
    "black box using Q": 0.7148,
    "black box": 0.8645,
}


@dataclass(frozen=True)
class Outcomes:
    """All test rows of all folds, B of them; whether each was classified rightly, by whom, after how many questions.

    found: what the parts of each fold returned. fold: (B,) from 1 on. points: one for each gain, without a limit on
    confidence. chosen: (B,) by the limits that were chosen in the fold. few: the rows that were pursued with examples
    as states; the short pursuits are those with log-odds that stopped in the same way.
    """

    found: Sequence[Mapping[str, Any]]
    labels: IntArray
    fold: IntArray
    points: Sequence[Point]
    chosen: Any
    chosen_length: Any
    paper_gain: Any
    paper_gain_length: Any
    maps: Mapping[str, Any]
    tree: Any
    tree_length: Any
    black_box: Any
    few: IntArray
    examples: Any
    examples_length: Any
    short: Any
    short_length: Any

    @property
    def elbow(self) -> Point:
        """The point of the curve where more questions begin to pay less."""
        return self.points[elbow([p.length for p in self.points], [p.accuracy for p in self.points])]


def read_outcomes(found: Sequence[Mapping[str, Any]], options: Sequence[Limits]) -> Outcomes:
    """Put the folds together. options: the limits, in the order in which lengths and guesses have them."""

    def joined(part: str, name: str) -> Any:
        return np.concatenate([np.asarray(one[part][name]) for one in found])

    labels = np.concatenate([np.asarray(one["labels"]) for one in found])
    sizes = [len(one["labels"]) for one in found]
    fold = np.repeat(np.arange(1, len(found) + 1), sizes)
    length, right = joined("asked", "length"), joined("asked", "guess") == labels[:, None]  # (B, options)
    column = np.array([options.index(Limits(**one["trial"]["limits"])) for one in found])[fold - 1]
    paper, every = options.index(Limits(PAPER_GAIN)), np.arange(len(labels))
    starts = np.cumsum([0, *sizes[:-1]])
    few = np.concatenate(
        [start + np.asarray(one["examples"]["rows"]) for start, one in zip(starts, found, strict=True)]
    )
    short = joined("asked", "short")[few]  # (few, 2) length and guess
    return Outcomes(
        found=found,
        labels=labels,
        fold=fold,
        points=[
            point_of(limits.gain, right[:, i], length[:, i]) for i, limits in enumerate(options) if not limits.doubt
        ],
        chosen=right[every, column],
        chosen_length=length[every, column],
        paper_gain=right[:, paper],
        paper_gain_length=length[:, paper],
        maps={
            family.name: np.concatenate([one["models"][family.name]["guess"] for one in found]) == labels
            for family in FAMILIES
        },
        tree=joined("tree", "guess") == labels,
        tree_length=joined("tree", "length"),
        black_box=joined("black_box", "guess") == labels,
        few=few,
        examples=joined("examples", "guess") == labels[few],
        examples_length=joined("examples", "length"),
        short=short[:, 1] == labels[few],
        short_length=short[:, 0],
    )


def rows(outcomes: Outcomes, most_questions: int) -> list[Row]:
    """Table 1. most_questions: of the pursuits with examples as states."""
    o, found = outcomes, outcomes.found
    return [
        counted(
            "Information Pursuit",
            o.chosen,
            length=o.chosen_length,
            seconds=sum(sum(one["asked"]["seconds"]) for one in found),
            note="naive Bayes by log-odds; when to stop chosen on held-out training rows",
        ),
        counted(
            "Information Pursuit, no gain above 0.001",
            o.paper_gain,
            length=o.paper_gain_length,
            note="stopped where the paper stops",
        ),
        counted(
            "Information Pursuit, examples as states",
            o.examples,
            length=o.examples_length,
            seconds=sum(one["examples"]["seconds"] for one in found),
            note=f"stopped where the paper stops, at {most_questions} questions at the latest",
        ),
        counted(
            "Information Pursuit, log-odds on the same inputs",
            o.short,
            length=o.short_length,
            note="stopped in the same way",
        ),
        counted("MAP using Q", o.maps[LOG_ODDS.name], note="the model of the pursuit"),
        *(counted(f"MAP using Q, {f.name}", o.maps[f.name]) for f in FAMILIES if f is not LOG_ODDS),
        counted("decision tree on Q", o.tree, length=o.tree_length),
        counted(
            "black box using Q",
            o.black_box,
            note=f"chosen: {_listed(one['black_box']['chosen'] for one in found)}",
        ),
        *(quoted(f"{name}, paper", accuracy, note=OTHER_DATA) for name, accuracy in PAPER.items()),
    ]


def differences(outcomes: Outcomes) -> list[Difference]:
    """Who is right more often, on the same rows."""
    o, alone = outcomes, FAMILIES[1].name
    return [
        paired("Information Pursuit - MAP using Q", o.chosen, o.maps[LOG_ODDS.name], o.fold),
        paired("MAP using Q - black box using Q", o.maps[LOG_ODDS.name], o.black_box, o.fold),
        paired("Information Pursuit - decision tree", o.chosen, o.tree, o.fold),
        paired(f"MAP using Q, {alone} - black box using Q", o.maps[alone], o.black_box, o.fold),
        paired("Information Pursuit, examples as states - log-odds", o.examples, o.short),
    ]


def tables(outcomes: Outcomes) -> dict[str, list[dict[str, Any]]]:
    """By fold, by model, and along the curve."""
    return {
        "The folds, right in %": [_fold(outcomes, k) for k in range(1, len(outcomes.found) + 1)],
        "Models, settings chosen by log loss on held-out training rows": [
            _model(family.name, outcomes.found) for family in FAMILIES
        ],
        "Accuracy against length, as the gain that stops a pursuit varies": [
            {
                "gain": point.epsilon,
                "questions": round(point.length, 1),
                "right, %": _percent(point.accuracy),
                "elbow": "elbow" if point == outcomes.elbow else "",
            }
            for point in outcomes.points
        ],
    }


def draw(outcomes: Outcomes, n_words: int, experiment: Experiment) -> dict[str, str]:
    """The trade-off curve as a picture, and what it shows."""
    marks = {
        "stopped as chosen": (float(outcomes.chosen_length.mean()), float(outcomes.chosen.mean())),
        "MAP using Q": (float(n_words), float(outcomes.maps[LOG_ODDS.name].mean())),
    }
    axes = plots.trade_off({"Information Pursuit": outcomes.points}, marks=marks, title="HuffPost headlines")
    about = "Accuracy against the mean number of questions, as the gain that stops a pursuit varies"
    return experiment.figure(axes, f"{experiment.name}.png", about, dpi=100)


def _fold(outcomes: Outcomes, number: int) -> dict[str, Any]:
    here, one = outcomes.fold == number, outcomes.found[number - 1]
    return {
        "fold": number,
        "headlines": int(here.sum()),
        "Information Pursuit": _percent(outcomes.chosen[here]),
        "questions": round(float(outcomes.chosen_length[here].mean()), 1),
        "MAP using Q": _percent(outcomes.maps[LOG_ODDS.name][here]),
        "tree": _percent(outcomes.tree[here]),
        "black box": _percent(outcomes.black_box[here]),
        "stop: gain": one["trial"]["limits"]["gain"],
        "stop: 1 - confidence": one["trial"]["limits"]["doubt"],
        "black box is": one["black_box"]["chosen"],
    }


def _model(name: str, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    best = [one["models"][name]["best"] for one in found]
    return {
        "model": name,
        "settings": _listed(", ".join(f"{setting:g}" for setting in one["option"]) for one in best),
        "log loss": round(float(np.mean([one["loss"] for one in best])), 4),
        "right, %": _percent([one["right"] for one in best]),
    }


def _percent(share: Any) -> float:
    return round(100 * float(np.mean(share)), 2)


def _listed(names: Iterable[str]) -> str:
    """Each name once, with how often it occurs."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return "; ".join(f"{name} ({n} of {sum(counts.values())})" for name, n in counts.items())
