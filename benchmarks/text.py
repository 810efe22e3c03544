"""``python -m benchmarks.text``: texts by yes/no questions about their words, phrases, and groups of words.

R8 and TREC with their official split, HuffPost headlines on five folds. Everything is chosen on training texts: the
vocabulary, naive Bayes and its settings, the network, when to stop. Test texts are looked at once. It goes on where it
was stopped.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from benchmarks import datasets
from benchmarks.baselines import hold_out
from benchmarks.datasets.texts import texts
from benchmarks.experiment import Experiment
from benchmarks.gain_stops import Limits, choose_limits
from benchmarks.machine import write_result
from benchmarks.pages import plain_table, update_page
from benchmarks.program import add_out, run_program, say
from benchmarks.recipes.text_queries import with_phrases, words
from benchmarks.recipes.text_strategies import LEAST_GAIN, STRATEGIES, Rows, after, at_limits, groups
from benchmarks.recipes.word_models import all_answers
from infopursuit import queries
from infopursuit.app.datasets.dataset import Dataset
from infopursuit.support.types import IntArray

NAME = "text"
ABOUT = "Accuracy after k questions; dashed: all answers. HuffPost: single words on the first fold, groups on all five"
SHOWN = (5, 10, 20, 50, 100, 200)
OPTIONS = tuple((spread, conditional) for spread in (0.7, 1.0, 1.5) for conditional in (0.0, 1.0, 3.0))
STRENGTHS = (0.1, 1.0, 3.0)
RUNS = {
    "r8": (("words", "generative"), ("words", "hybrid"), ("phrases", "generative")),
    "trec": (
        ("words", "generative"), ("words", "hybrid"), ("words", "groups"), ("phrases", "generative"),
        ("phrases", "hybrid"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The experiment in numbers.

    reserve: accuracy that the stopping rule may lose on held-out texts. gains, doubts: limits to choose from. headline:
    settings of naive Bayes for headlines, those that `recipes.huffpost` chose on all folds. n_trial: held-out headlines
    that are pursued to choose limits. most_loss: accuracy that stopping may be expected to cost there. largest: words
    of a group at the most, and other sizes that are tried on held-out headlines alone.
    """

    n_words: int = 1000
    validation: float = 0.2
    most: int = 200
    reserve: float = 0.005
    gains: tuple[float, ...] = (0.03, 0.02, 0.01, 0.005, 0.003, 0.002, 1e-3, 5e-4, 2e-4, 1e-4, 0.0)
    doubts: tuple[float, ...] = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
    headline: tuple[float, float] = (0.7, 1.0)
    n_folds: int = 5
    n_trial: int = 250
    most_loss: float = 0.003
    largest: tuple[int, ...] = (30, 10, 100, 1000)
    seed: int = 0

    def limits(self, strategy: str = "groups") -> list[Limits]:
        """Limits to choose from."""
        gains = [gain for gain in self.gains if strategy != "groups" or gain >= LEAST_GAIN]
        return [Limits(gain, doubt) for gain in gains for doubt in self.doubts]


def make_rows(settings: Settings, kind: str, x: Any, y: IntArray, n_classes: int) -> Rows:
    """The answers of training texts to one of the query sets, which is made from them."""
    asked = words(x, settings.n_words) if kind == "words" else with_phrases(x, y, settings.n_words)
    return Rows(asked, asked.observe(x), y, n_classes, most=settings.most, seed=settings.seed, say=say)


# ---- R8 and TREC -----------------------------------------------------------------------------------------------------


def choose_models(settings: Settings, kind: str, data: Dataset) -> dict[str, Any]:
    """On held-out training texts: settings of naive Bayes by log loss, of logistic regression by accuracy; and what
    both come to on test texts with all answers."""
    learn, choose = hold_out(data.y_train, settings.validation, settings.seed)
    rows = make_rows(settings, kind, data.x_train[learn], data.y_train[learn], data.n_classes)
    values, labels = rows.queries.observe(data.x_train[choose]), data.y_train[choose]
    losses = []
    for option in OPTIONS:
        log_class = all_answers(replace(rows, option=option).model(), values)
        losses.append(-float(log_class[np.arange(len(labels)), labels].mean()))
    option = OPTIONS[int(np.argmin(losses))]
    scores = [_logistic(c, rows.values, rows.labels).score(values, labels) for c in STRENGTHS]
    strength = STRENGTHS[int(np.argmax(scores))]
    whole = make_rows(settings, kind, data.x_train, data.y_train, data.n_classes)
    test = whole.queries.observe(data.x_test)
    guess = all_answers(replace(whole, option=option).model(), test).argmax(axis=1)
    return {
        "option": option,
        "losses": losses,
        "strength": strength,
        "n_queries": len(whole.queries),
        "naive Bayes": float((guess == data.y_test).mean()),
        "logistic regression": float(_logistic(strength, whole.values, whole.labels).score(test, data.y_test)),
    }


def every_word(settings: Settings, data: Dataset) -> dict[str, Any]:
    """Logistic regression on all words, and all bigrams, of the training texts: what texts tell beyond the queries."""
    found = {}
    learn, choose = hold_out(data.y_train, settings.validation, settings.seed)
    for name, longest in (("every word", 1), ("every word and bigram", 2)):
        counts = CountVectorizer(binary=True, ngram_range=(1, longest), token_pattern=r"\S+")
        matrix = counts.fit_transform(data.x_train)
        scores = [
            _logistic(c, matrix[learn], data.y_train[learn]).score(matrix[choose], data.y_train[choose])
            for c in STRENGTHS
        ]
        best = _logistic(STRENGTHS[int(np.argmax(scores))], matrix, data.y_train)
        found[name] = float(best.score(counts.transform(data.x_test), data.y_test))
    return found


def _logistic(strength: float, values: Any, labels: IntArray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # iterations are bounded; judged on held-out rows
        return LogisticRegression(C=strength, max_iter=300).fit(values, labels)


def trial(settings: Settings, kind: str, strategy: str, option: Any, data: Dataset) -> dict[str, Any]:
    """When to stop: the shortest limits that lose no more than the reserve against all answers, on held-out texts."""
    learn, choose = hold_out(data.y_train, settings.validation, settings.seed)
    rows = make_rows(settings, kind, data.x_train[learn], data.y_train[learn], data.n_classes)
    asker = STRATEGIES[strategy](replace(rows, option=tuple(option)))
    values, labels = rows.queries.observe(data.x_train[choose]), data.y_train[choose]
    trace = asker.run(values)
    everything = float((asker.all_answers(values).argmax(axis=1) == labels).mean())
    tried = [{"limits": asdict(limits), **at_limits(trace, labels, limits)} for limits in settings.limits(strategy)]
    fitting = [one for one in tried if one["right"] >= everything - settings.reserve]
    best = min(fitting, key=lambda one: one["length"]) if fitting else max(tried, key=lambda one: one["right"])
    return {"chosen": best, "all": everything, "reached": bool(fitting), "after": _after(settings, trace, labels)}


def test(settings: Settings, kind: str, strategy: str, option: Any, limits: Any, data: Dataset) -> dict[str, Any]:
    """Learnt from all training texts, measured on the test texts."""
    rows = make_rows(settings, kind, data.x_train, data.y_train, data.n_classes)
    asker = STRATEGIES[strategy](replace(rows, option=tuple(option)))
    values = rows.queries.observe(data.x_test)
    trace = asker.run(values)
    right = asker.all_answers(values).argmax(axis=1) == data.y_test
    return {
        "n": len(right),
        "all": float(right.mean()),
        "after": _after(settings, trace, data.y_test),
        "stopped": at_limits(trace, data.y_test, Limits(**limits)),
        "example": _example(trace, data),
    }


def _after(settings: Settings, trace: Any, labels: IntArray) -> list[float]:
    """Accuracy after 0, 1, ... questions."""
    return [float((after(trace, k) == labels).mean()) for k in range(settings.most + 1)]


def _example(trace: Any, data: Dataset) -> dict[str, Any]:
    """The first questions about the first test text."""
    one = trace[0]
    asked = [f"{step.sentence} {step.said}" for step in one.steps[:8]]
    return {"text": str(data.x_test[0])[:200], "label": data.class_names[data.y_test[0]], "asked": asked}


# ---- HuffPost --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Headlines:
    """One fold: answers of training and test headlines, and held-out rows of the training part."""

    rows: Rows
    values_test: IntArray
    labels_test: IntArray
    learn: IntArray
    choose: IntArray

    @property
    def learnt(self) -> Rows:
        """Without the held-out rows."""
        return replace(self.rows, values=self.rows.values[self.learn], labels=self.rows.labels[self.learn])


def headlines(settings: Settings, number: int) -> Headlines:
    """As `recipes.huffpost` cuts and reads them."""
    data = datasets.load("huffpost")
    part = list(datasets.folds(data, n=settings.n_folds, seed=settings.seed))[number]
    asked = queries.words(part.x_train, settings.n_words)
    rows = Rows(
        asked, asked.observe(part.x_train), part.y_train, part.n_classes, settings.headline, settings.most, say=say
    )
    held = hold_out(part.y_train, settings.validation, settings.seed)
    return Headlines(rows, asked.observe(part.x_test), part.y_test, *held)


def fold_groups(settings: Settings, largest: int, number: int) -> dict[str, Any]:
    """Groups of words: limits on held-out headlines, as `recipes.huffpost` chooses them; then the test headlines."""
    fold = headlines(settings, number)
    few = np.sort(np.random.default_rng((settings.seed, 1)).permutation(fold.choose)[: settings.n_trial])
    asker = groups(fold.learnt, largest)
    values = fold.rows.values[few]
    chosen = choose_limits(asker.run(values), asker.all_answers(values), settings.limits(), settings.most_loss)
    asker = groups(fold.rows, largest)
    trace = asker.run(fold.values_test)
    whole = asker.all_answers(fold.values_test).argmax(axis=1)
    return {
        "n": len(whole),
        "chosen": asdict(chosen),
        "all": float((whole == fold.labels_test).mean()),
        "after": _after(settings, trace, fold.labels_test),
        "stopped": at_limits(trace, fold.labels_test, chosen.limits),
        "groups": len(asker.pursuit.queries) - len(fold.rows.queries),
    }


def group_sizes(settings: Settings, largest: int) -> dict[str, Any]:
    """How large groups may be, on held-out headlines of the first fold: questions at the chosen limits."""
    fold = headlines(settings, 0)
    few = np.sort(np.random.default_rng((settings.seed, 1)).permutation(fold.choose)[: settings.n_trial])
    asker, values = groups(fold.learnt, largest), fold.rows.values[few]
    return asdict(choose_limits(asker.run(values), asker.all_answers(values), settings.limits(), settings.most_loss))


def single_words(settings: Settings, strategy: str) -> dict[str, Any]:
    """Single words, the first fold: accuracy after k questions."""
    fold = headlines(settings, 0)
    asker = STRATEGIES[strategy](fold.rows)
    trace = asker.run(fold.values_test)
    whole = asker.all_answers(fold.values_test).argmax(axis=1) == fold.labels_test
    return {"n": len(whole), "all": float(whole.mean()), "after": _after(settings, trace, fold.labels_test)}


def limits_of_search(settings: Settings) -> dict[str, Any]:
    """What single words allow at the most, under naive Bayes, on held-out headlines of the first fold.

    found: share of the words of a headline that somebody finds who knows the class and asks for its most frequent
    words. information: at most E_y of the sum of the k largest KL(p(word | y) to p(word)), for any strategy: I(Y; S) <=
    E_y KL(p(S | y) to r(S)) for every r, here that of independent words. bits: entropy of all words, the number of
    yes/no questions of any kind that it takes on average to learn which words are there.
    """
    fold = headlines(settings, 0)
    model = fold.learnt.model()
    prior, _, tables = model.tables()
    yes = tables[:, 0, 1::2]  # (C, W)
    mean = prior @ yes
    divergence = yes * np.log(yes / mean) + (1 - yes) * np.log((1 - yes) / (1 - mean))
    values, labels = fold.rows.values[fold.choose], fold.rows.labels[fold.choose]
    log_class = all_answers(model, values)
    share, bound = {}, {}
    for k in (50, 100, 150, 200, 300, 547):
        top = np.argsort(-yes, axis=1)[labels, :k]
        share[k] = float(np.take_along_axis(values, top, axis=1).sum() / values.sum())
        bound[k] = float(prior @ np.sort(divergence, axis=1)[:, ::-1][:, :k].sum(axis=1))
    entropy = -mean * np.log2(mean) - (1 - mean) * np.log2(1 - mean)
    within = -yes * np.log2(yes) - (1 - yes) * np.log2(1 - yes)
    return {
        "words": float(values.sum(axis=1).mean()),
        "found": share,
        "bound": bound,
        "information": float(-(prior @ np.log(prior)) + log_class[np.arange(len(labels)), labels].mean()),
        "bits": float(entropy.sum()),
        "bits_given_class": float(prior @ within.sum(axis=1)),
    }


# ---- tables and figure -----------------------------------------------------------------------------------------------


def percent(share: float, n: int | None = None) -> str:
    """With its standard error."""
    return f"{100 * share:.1f}" + ("" if n is None else f" ± {100 * np.sqrt(share * (1 - share) / n):.1f}")


def _rule(limits: dict[str, float]) -> str:
    """Limits in words."""
    doubt = f", confidence {1 - limits['doubt']:g}" if limits["doubt"] else ""
    return f"gain {limits['gain']:g}{doubt}"


def tables(found: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """What the page shows."""
    made: dict[str, list[dict[str, Any]]] = {}
    for name in [each for each in RUNS if each in found]:
        told = found[name]
        rows, stops = [], []
        for kind, strategy in [run for run in RUNS[name] if f"{run[0]} {run[1]}" in told]:
            one = told[f"{kind} {strategy}"]
            result, chosen, n = one["test"], one["trial"]["chosen"], one["test"]["n"]
            label = {"queries": kind, "strategy": strategy}
            shown = {f"after {k}": percent(result["after"][k], n if k == SHOWN[-1] else None) for k in SHOWN}
            rows.append({**label, **shown, "all answers": percent(result["all"], n)})
            stopped, limits = result["stopped"], chosen["limits"]
            away = 100 * (stopped["right"] - result["all"])
            stops.append({
                **label, "stops at": _rule(limits),
                "questions": f"{stopped['length']:.1f} ± {stopped['length_error']:.1f}",
                "accuracy, %": percent(stopped["right"], n), "against all answers": f"{away:+.1f}",
                "within 1 point": "yes" if away >= -1 else "no",
            })  # fmt: skip
        made[f"{name.upper()}: accuracy in % after k questions"] = rows
        made[f"{name.upper()}: with the stopping rule"] = stops
        made[f"{name.upper()}: all answers at once, accuracy in %"] = [
            *({"what": f"{model}, {kind} ({m['n_queries']:,} queries)", "accuracy": percent(m[model])}
              for kind, m in told["models"].items() for model in ("naive Bayes", "logistic regression")),
            *({"what": f"logistic regression, {what}", "accuracy": percent(share)}
              for what, share in told["every word"].items()),
        ]  # fmt: skip
    if "huffpost" in found:
        made |= headline_tables(found["huffpost"])
    return made


def headline_tables(told: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """HuffPost."""
    made: dict[str, list[dict[str, Any]]] = {}
    made["HuffPost: groups of words, five folds"] = [
        {
            "words of a group, at most": largest,
            "headlines": sum(fold["n"] for fold in folds),
            "questions": f"{_mean(folds, lambda f: f['stopped']['length']):.1f} ± {_length_error(folds):.1f}",
            "accuracy, %": percent(_mean(folds, lambda f: f["stopped"]["right"]), sum(f["n"] for f in folds)),
            "MAP, all words": percent(_mean(folds, lambda f: f["all"])),
            "difference": f"{100 * _mean(folds, lambda f: f['stopped']['right'] - f['all']):+.2f}",
            **{f"after {k}": percent(_curve(folds)[k]) for k in SHOWN},
        }
        for largest, folds in told["groups"].items()
    ]
    made["HuffPost: size of groups, held-out headlines of the first fold"] = [
        {"words of a group, at most": size, "questions": round(one["length"], 1), "stops at": _rule(one["limits"])}
        for size, one in sorted(told["sizes"].items(), key=lambda each: int(each[0]))
    ]
    made["HuffPost: single words, test headlines of the first fold, accuracy in %"] = [
        {
            "strategy": name,
            **{f"after {k}": percent(one["after"][k], one["n"] if k == 150 else None) for k in (*SHOWN[:-1], 150, 200)},
            "all words": percent(one["all"]),
        }
        for name, one in told["single"].items()
    ]
    bound = told["bound"]
    made["HuffPost: what single words allow, held-out headlines of the first fold"] = [
        {
            "questions": int(k),
            "words found, %, by somebody who knows the class": f"{100 * bound['found'][k]:.0f}",
            "information, nats, at most": f"{bound['bound'][k]:.2f}",
        }
        for k in bound["found"]
    ]
    return made


def _mean(folds: Sequence[Any], of: Callable[[Any], float]) -> float:
    """Over all headlines of all folds."""
    return float(np.average([of(fold) for fold in folds], weights=[fold["n"] for fold in folds]))


def _length_error(folds: Sequence[Any]) -> float:
    """Standard error of the mean number of questions, over all headlines."""
    total = sum((fold["n"] * fold["stopped"]["length_error"]) ** 2 for fold in folds)
    return float(np.sqrt(total) / sum(fold["n"] for fold in folds))


def _curve(folds: Sequence[Any]) -> list[float]:
    """Accuracy after 0, 1, ... questions, over all headlines of all folds."""
    weights = [fold["n"] for fold in folds]
    return [float(share) for share in np.average([fold["after"] for fold in folds], axis=0, weights=weights)]


LABELS = {
    "words generative": "words, naive Bayes",
    "words hybrid": "words, hybrid",
    "words groups": "words and groups, naive Bayes",
    "phrases generative": "words and phrases, naive Bayes",
    "phrases hybrid": "words and phrases, hybrid",
}


def draw(found: dict[str, Any]) -> Any:
    """Accuracy against questions, a panel for each data set; dashed lines: all answers."""
    from matplotlib.figure import Figure

    from infopursuit.presentation.plots import style

    figure = Figure(figsize=(10.2, 3.7), dpi=150, facecolor="white", layout="constrained")
    panels = figure.subplots(1, 3)
    look = {name: (style.COLOURS[i], style.MARKERS[i]) for i, name in enumerate(LABELS)}
    drawn = {name: _curves(found[name]) for name in ("r8", "trec", "huffpost") if name in found}
    titles = {"r8": "R8, 8 classes", "trec": "TREC, 6 classes", "huffpost": "HuffPost, 10 classes"}
    handles: dict[str, Any] = {}
    for axes, (name, curves) in zip(panels, drawn.items(), strict=False):
        for label, (accuracy, everything) in curves.items():
            colour, marker = look[label]
            k = np.arange(1, len(accuracy))
            at = [n - 1 for n in (1, 2, 5, 10, 20, 50, 100, 200) if n < len(accuracy)]
            handles[LABELS[label]] = axes.plot(
                k, 100 * np.array(accuracy[1:]), color=colour, marker=marker, markevery=at, markersize=4, linewidth=1.4
            )[0]
            axes.axhline(100 * everything, color=colour, linewidth=0.9, linestyle="--", alpha=0.8)
        axes.set_xscale("log")
        axes.set_xticks([1, 2, 5, 10, 20, 50, 100, 200], labels=["1", "2", "5", "10", "20", "50", "100", "200"])
        axes.minorticks_off()
        style.plain(axes)
        axes.set_title(titles[name], fontsize=style.HEAD, color=style.INK, loc="left")
        axes.set_xlabel("questions asked", fontsize=style.SIZE)
    panels[0].set_ylabel("accuracy, %", fontsize=style.SIZE)
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=style.NOTE
    )
    return figure


def _curves(told: dict[str, Any]) -> dict[str, tuple[list[float], float]]:
    """Label -> accuracy after k questions, and with all answers."""
    if "groups" not in told:
        return {name: (one["test"]["after"], one["test"]["all"]) for name, one in told.items() if name in LABELS}
    curves = {f"words {name}": (one["after"], one["all"]) for name, one in told["single"].items()}
    folds = told["groups"]["30"]
    return {**curves, "words groups": (_curve(folds), _mean(folds, lambda f: f["all"]))}


# ---- the program -----------------------------------------------------------------------------------------------------


def measure(experiment: Experiment, settings: Settings, name: str, only: Sequence[str]) -> dict[str, Any]:
    """R8 or TREC, part by part."""
    data = texts(name)
    found: dict[str, Any] = {"models": {}, "n_train": len(data.x_train), "n_test": len(data.x_test)}
    for kind, strategy in RUNS[name]:
        if only and strategy not in only:
            continue
        models = experiment.part(f"{name} {kind} models", settings, partial(choose_models, settings, kind, data))
        found["models"][kind] = models
        about, option = f"{name} {kind} {strategy}", models["option"]
        key = [settings, option]
        tried = experiment.part(f"{about} trial", key, partial(trial, settings, kind, strategy, option, data))
        limits = tried["chosen"]["limits"]
        measured = experiment.part(
            f"{about} test", [*key, limits], partial(test, settings, kind, strategy, option, limits, data)
        )
        found[f"{kind} {strategy}"] = {"trial": tried, "test": measured}
        say(f"{about}: {measured['stopped']}, all {measured['all']:.4f}")
    found["every word"] = experiment.part(f"{name} every word", settings, partial(every_word, settings, data))
    return found


def measure_headlines(experiment: Experiment, settings: Settings) -> dict[str, Any]:
    """HuffPost, part by part."""

    def part(name: str, make: Any, *args: Any) -> Any:
        return experiment.part(f"huffpost {name}", settings, partial(make, settings, *args))

    bound = part("bound", limits_of_search)

    def folds(size: int) -> list[Any]:
        return [part(f"groups {size} fold {i}", fold_groups, size, i) for i in range(settings.n_folds)]

    told = {str(settings.largest[0]): folds(settings.largest[0])}
    single = {name: part(f"single {name}", single_words, name) for name in ("generative", "hybrid")}
    sizes = {str(size): part(f"size {size}", group_sizes, size) for size in settings.largest}
    return {"bound": bound, "sizes": sizes, "groups": told, "single": single}


def run(args: argparse.Namespace) -> int:
    """Measure, print, draw and write."""
    import torch

    torch.set_num_threads(1)
    settings, experiment = Settings(), Experiment(NAME, args.out, say=say)
    found = {}
    wanted = args.data or [*RUNS, "huffpost"]
    for name in wanted:
        if name not in (*RUNS, "huffpost"):
            raise ValueError(f"data {name!r} is not known; give r8, trec or huffpost")
        if name == "huffpost":
            found[name] = measure_headlines(experiment, settings)
        else:
            found[name] = measure(experiment, settings, name, args.only)
    made = tables(found)
    for title, table in made.items():
        say("", title, plain_table(table))
    if set(wanted) != {*RUNS, "huffpost"} or args.only:
        return 0
    figure = experiment.figure(draw(found), "text.png", ABOUT)
    result = {"seed": settings.seed, "seconds": round(experiment.seconds, 1), "settings": asdict(settings)}
    result |= {"found": found, "tables": made, "figures": [figure]}
    say("", f"written to {write_result(args.out, NAME, 'INFOPURSUIT_DATA=... python -m benchmarks.text', result)}")
    if args.page is not None:
        update_page(args.page, args.out)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run."""
    from pathlib import Path

    parser = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__)
    every = [*RUNS, "huffpost"]
    parser.add_argument("data", nargs="*", metavar="DATA", help=f"of {every}; all, which alone writes the JSON")
    parser.add_argument("--only", nargs="*", default=(), metavar="STRATEGY", help="of R8 and TREC, to fill parts")
    parser.add_argument("--page", type=Path, help="page whose measured section is written anew")
    add_out(parser)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
