"""``python -m benchmarks.cub_answers``: birds told by what people answered about 1,198 images (CUB-200-2011).

The published percentages of a species are made of the answers about its images, those that are to be classified among
them. They are means weighted by certainty (guessing 1, probably 2, definitely 3, not visible 0), so that the counts
behind them can be recovered, and an image be left out of its species. Images are in five folds: the counts behind a
belief are without the images of the fold that it classifies, and its weights are learnt on the other four.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from benchmarks.bird_beliefs import (
    IDEAS,
    Idea,
    Percentages,
    Questions,
    Scores,
    group_terms,
    learn,
    own_histories,
    pursuit_of,
    values_of,
)
from benchmarks.datasets.bird_answers import N_FOLDS, SEED, WEIGHT, Answers, read
from benchmarks.experiment import Experiment
from benchmarks.machine import write_result
from benchmarks.pages import plain_table
from benchmarks.program import add_out, run_program, say
from infopursuit.evaluation.measures import calibration
from infopursuit.support.types import FloatArray, IntArray

NAME = "cub_answers"
SHOWN = (1, 2, 3, 5, 8, 10, 15, 20, 28, 40, 60, 80, 100, 150)
BUDGET, LONGEST = 60, 150
"""Questions of the target, and of the longest pursuits; with all 312 their order plays no part."""
TARGET = 0.60
N_NEW = 30
"""Images of each class of the made-up world that are in no percentage."""


def ranks(score: FloatArray, labels: IntArray) -> IntArray:
    """(B,) how many classes have a larger score than the right one."""
    return np.asarray((score > np.take_along_axis(score, labels[:, None], 1)).sum(axis=1))


def shares(rank: IntArray) -> dict[str, str]:
    """Top-1 and top-5 accuracy with standard errors."""
    told = {}
    for name, right in (("top-1", rank < 1), ("top-5", rank < 5)):
        error = np.sqrt(right.mean() * (1 - right.mean()) / len(right))
        told[name] = f"{100 * right.mean():.1f} ± {100 * error:.1f} %"
    return told


def left_in_and_out(answers: Answers) -> list[dict[str, str]]:
    """Naive Bayes with all answers: the image in the percentages of its class, and left out in two ways."""
    y, nobody, rows = answers.labels, np.zeros(len(answers.labels), dtype=bool), []
    p = np.clip(answers.percentages / 100, 0.01, 0.99)
    everywhere = np.ones_like(answers.yes)  # not visible is no
    clipped = group_terms(answers.yes, everywhere, p, answers.group).sum(axis=2)
    rows.append({"percentages": "published, 1 to 99 %, not visible is no", **shares(ranks(clipped, y))})
    percent = Percentages.of(answers, IDEAS[1], nobody)
    score = group_terms(answers.yes, answers.known, percent.all, answers.group).sum(axis=2)
    rows.append({"percentages": "the image is in them, smoothed", **shares(ranks(score, y))})
    own = answers.known * (answers.yes * np.log(percent.own) + (1 - answers.yes) * np.log1p(-percent.own))
    score[np.arange(len(y)), y] = own.sum(axis=1)
    rows.append({"percentages": "without the image, smoothed", **shares(ranks(score, y))})
    rows.append(
        {"percentages": "without the images of its fold, smoothed", **shares(all_answers(answers, IDEAS[1])[0])}
    )
    return rows


def made_up_world(answers: Answers, n_groups: int = 8, n_images: int = 60) -> list[dict[str, str]]:
    """A control of leaving out, where the truth is known: answers are drawn, the percentages are made of them as the
    published ones are, and images that are not in them are drawn, too. Few groups: it shall not be easier than real."""
    rng, some = np.random.default_rng(SEED), answers.group < n_groups
    group, n_classes, rank = answers.group[some], len(answers.classes), {}
    truth = np.clip(answers.percentages[:, some] / 100, 0.01, 0.99)
    labels = np.repeat(np.arange(n_classes), n_images + N_NEW)  # the last ones are in no percentage
    certainty = answers.certainty[rng.integers(len(answers.labels), size=len(labels))][:, :n_groups]
    yes = (rng.random((len(labels), len(group))) < truth[labels]).astype(np.float64)
    weight = WEIGHT[certainty][:, group]
    number = np.tile(np.arange(n_images + N_NEW), n_classes)
    inside = number < n_images
    counts, totals = np.zeros((n_classes, len(group))), np.zeros((n_classes, len(group)))
    np.add.at(counts, labels[inside], (weight * yes)[inside])
    np.add.at(totals, labels[inside], weight[inside])
    mean, a = counts.sum(axis=0) / totals.sum(axis=0), 3.0
    for name, rows, out in (
        ("in the percentages", number < N_NEW, False),
        ("in the percentages, left out", number < N_NEW, True),
        ("not in the percentages", ~inside, False),
    ):
        x, w, y = yes[rows], weight[rows], labels[rows]
        known = (w > 0).astype(np.float64)
        p = (counts + a * mean) / (totals + a)
        score = (known * x) @ np.log(p).T + (known * (1 - x)) @ np.log1p(-p).T
        if out:
            own = (counts[y] - w * x + a * mean) / (totals[y] - w + a)
            score[np.arange(len(y)), y] = (known * (x * np.log(own) + (1 - x) * np.log1p(-own))).sum(axis=1)
        rank[name] = ranks(score, y)
    return [{"drawn images": name, "images": f"{len(r):,}", **shares(r)} for name, r in rank.items()]


def all_answers(answers: Answers, idea: Idea) -> tuple[IntArray, FloatArray]:
    """(B,) ranks and losses in nats, each image by the belief of the other folds."""
    rank, loss = np.empty(len(answers.labels), dtype=np.int64), np.empty(len(answers.labels))
    for f in range(N_FOLDS):
        held = answers.fold == f
        score = learn(answers, idea, held)(answers.yes[held], answers.known[held], answers.certainty[held])
        y = answers.labels[held]
        rank[held] = ranks(score, y)
        loss[held] = logsumexp(score, axis=1) - score[np.arange(len(y)), y]
    return rank, loss


def strengths(answers: Answers, idea: Idea) -> list[dict[str, str]]:
    """Weights of answers by certainty, with all answers: mean over groups, and mean and spread over folds."""
    n, found = len(answers.groups), []
    for f in range(N_FOLDS):
        w = learn(answers, idea, answers.fold == f).weights
        whole = w[:n].mean() + w[n]
        found.append([whole + w[n + 1], whole + w[n + 2], whole])
    return [
        {"certainty": name, "weight": f"{np.mean(each):.2f} ± {np.std(each, ddof=1):.2f}"}
        for name, each in zip(("guessing", "probably", "definitely"), np.transpose(found), strict=True)
    ]


Steps = dict[str, list[Any]]


def follow(
    answers: Answers, questions: Questions, scores: Callable[[int], Scores], values: IntArray, most: int, name: str
) -> Steps:
    """Pursuits of all images, each by the belief of its fold: ranks of the right class after each question, the
    posterior after the budget, and how many attributes had been asked about."""
    n, most = len(values), min(most, len(questions))
    rank, attributes = np.zeros((n, most + 1), dtype=np.int64), np.zeros((n, most + 1))
    at_budget, at_end = np.zeros((n, len(answers.classes))), np.zeros(n, dtype=np.int64)
    width = (questions.query_variables >= 0).sum(axis=1) - 1
    for f in range(N_FOLDS):
        held = answers.fold == f
        belief = scores(f)
        pursuit = pursuit_of(answers, belief, questions, np.flatnonzero(~held), most)
        trace = pursuit.run_values(values[held], progress=False)
        for k in range(most + 1):
            rank[held, k] = ranks(trace.posteriors[:, min(k, trace.posteriors.shape[1] - 1)], answers.labels[held])
        at_budget[held] = trace.posteriors[:, min(BUDGET, trace.posteriors.shape[1] - 1)]
        attributes[held, 1:] = np.cumsum(width[trace.queries], axis=1)
        yes, seen = values[held][:, : len(answers.group)], values[held][:, len(answers.group) :] + 2
        whole = belief(np.maximum(yes, 0).astype(float), (yes >= 0).astype(float), seen)
        at_end[held] = ranks(whole, answers.labels[held])
        say(f"{name}: fold {f + 1} of {N_FOLDS}")
    found = calibration(at_budget, answers.labels)
    return {
        "top-1": (rank < 1).mean(axis=0).tolist(), "top-5": (rank < 5).mean(axis=0).tolist(),
        "attributes": attributes.mean(axis=0).tolist(),
        "all": [float((at_end < 1).mean()), float((at_end < 5).mean())],
        "calibration": [found.expected_calibration_error, found.confidence, found.accuracy],
    }  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Measure."""
    answers = read()
    experiment = Experiment(NAME, args.out, seed=SEED, say=say)
    say(f"{len(answers.labels):,} images; denominators with several solutions: {answers.ambiguous}")
    leaving = experiment.part("leaving out", N_NEW, lambda: [left_in_and_out(answers), made_up_world(answers)])
    say(plain_table(leaving[0]), plain_table(leaving[1]))
    found = {}
    for k, idea in enumerate(IDEAS):
        found[idea.name] = experiment.part(f"idea {k}", idea, partial(all_answers, answers, idea))
        say(f"{idea.name}: {shares(np.array(found[idea.name][0]))}")
    losses = {idea: np.array(found[idea.name][1]) for idea in IDEAS}
    chosen = [min(IDEAS, key=lambda idea: losses[idea][answers.fold != f].mean()) for f in range(N_FOLDS)]
    rank = np.array([found[chosen[f].name][0][i] for i, f in enumerate(answers.fold)])
    ideas = [
        {"belief": i.name, **shares(np.array(found[i.name][0])), "log loss": f"{losses[i].mean():.3f}"} for i in IDEAS
    ]
    loss = np.mean([losses[chosen[f]][i] for i, f in enumerate(answers.fold)])
    ideas.append({"belief": "**chosen on the other folds**", **shares(rank), "log loss": f"{loss:.3f}"})
    say(plain_table(ideas), f"chosen: {sorted({idea.name for idea in chosen})}")
    by_certainty = next(idea for idea in IDEAS if idea.certainty)
    strength = experiment.part("strengths", by_certainty, partial(strengths, answers, by_certainty))
    say(plain_table(strength))
    steps = pursue(experiment, answers, chosen)
    result = summarise(answers, steps)
    figure = draw(experiment, steps)
    whole = {
        "seed": SEED, "seconds": round(experiment.seconds, 1), "images": len(answers.labels), "folds": N_FOLDS,
        "denominators": {"all": answers.totals.size, "with several solutions": answers.ambiguous},
        "chosen": [idea.name for idea in chosen],
        "tables": {"all answers, naive Bayes": leaving[0], "a made-up world": leaving[1], "beliefs, all answers": ideas,
                   "weights by certainty": strength,
                   **result},
        "curves, from the first question on": {
            name: {**{k: each[k][1:] for k in ("top-1", "top-5", "attributes")}, "all": each["all"]}
            for name, each in steps.items()
        },
        "figures": [figure],
    }  # fmt: skip
    for title, table in result.items():
        say("", title, plain_table(table))
    say(f"written to {write_result(args.out, NAME, 'python -m benchmarks.cub_answers', whole)}")
    return 0


GROUPS, LEARNT, PLAIN = "real, learnt, by group", "real, learnt, by attribute", "real, naive Bayes"
MAJORITY, SIMULATED = "majority of the species", "simulated from the percentages"


def pursue(experiment: Experiment, answers: Answers, chosen: Sequence[Idea]) -> dict[str, Steps]:
    """The pursuits: answers of people by three beliefs, and answers that are made up, by naive Bayes."""
    by_group, by_attribute = Questions(answers, True), Questions(answers, False)
    real = values_of(answers, answers.yes, answers.certainty)
    certain = np.full_like(answers.certainty, 4)
    drawn = np.random.default_rng(SEED).random(answers.yes.shape) < answers.percentages[answers.labels] / 100
    majority = (answers.percentages >= 50)[answers.labels].astype(float)
    naive = Idea("naive Bayes", 3.0, weighted=False)
    fast = [Idea(idea.name, idea.smoothing, idea.prior, idea.weighted, idea.certainty) for idea in chosen]

    def learnt(f: int, ideas: Sequence[Idea], questions: Questions, most: int) -> Scores:
        return learn(answers, ideas[f], answers.fold == f, partial(own_histories, answers, questions, most))

    def plain(f: int) -> Scores:
        return learn(answers, naive, answers.fold == f)

    def published(_: int) -> Scores:
        return learn(answers, naive, np.zeros(len(answers.labels), dtype=bool))

    runs: dict[str, Callable[[], Steps]] = {
        GROUPS: lambda: follow(
            answers, by_group, lambda f: learnt(f, chosen, by_group, 28), real, len(by_group), GROUPS
        ),
        PLAIN: lambda: follow(answers, by_attribute, plain, real, LONGEST, PLAIN),
        LEARNT: lambda: follow(
            answers, by_attribute, lambda f: learnt(f, fast, by_attribute, BUDGET), real, LONGEST, LEARNT
        ),
        MAJORITY: lambda: follow(
            answers, by_attribute, published, values_of(answers, majority, certain), LONGEST, MAJORITY
        ),
        SIMULATED: lambda: follow(
            answers, by_attribute, published, values_of(answers, drawn.astype(float), certain), LONGEST, SIMULATED
        ),
    }
    settings = [list(chosen), N_FOLDS]
    return {name: experiment.part(name.replace(",", ""), settings, make) for name, make in runs.items()}


def summarise(answers: Answers, steps: dict[str, Steps]) -> dict[str, list[dict[str, Any]]]:
    """Tables for the page."""
    n = len(answers.labels)
    curve, cal = [], []
    for k in (*SHOWN, None):
        row: dict[str, Any] = {"questions": "all" if k is None else k}
        for name, each in steps.items():
            one, five = each["top-1"], each["top-5"]
            pair = each["all"] if k is None else (one[k], five[k]) if k < len(one) else None
            row[name] = "" if pair is None else f"{100 * pair[0]:.1f} / {100 * pair[1]:.1f}"
        curve.append(row)
    for name, each in steps.items():
        error, confidence, right = each["calibration"]
        spread = 100 * np.sqrt(right * (1 - right) / n)
        cal.append({
            "answers and belief": name, "questions": min(BUDGET, len(each["top-1"]) - 1),
            "top-1": f"{100 * right:.1f} ± {spread:.1f} %", "mean confidence": f"{100 * confidence:.1f} %",
            "calibration error": f"{100 * error:.1f} points",
        })  # fmt: skip
    groups = [
        {
            "groups asked": k,
            "attributes in them": f"{steps[GROUPS]['attributes'][k]:.0f}",
            "top-1 / top-5": f"{100 * steps[GROUPS]['top-1'][k]:.1f} / {100 * steps[GROUPS]['top-5'][k]:.1f}",
        }
        for k in (1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 28)
    ]
    return {
        "top-1 / top-5 after so many questions, %": curve,
        "asked by group": groups,
        f"calibration after {BUDGET} questions": cal,
    }


def draw(experiment: Experiment, steps: dict[str, Steps]) -> dict[str, str]:
    """Top-1 and top-5 against questions."""
    from matplotlib import pyplot as plt

    from infopursuit.presentation.plots.style import plain

    colours = {SIMULATED: "#b07aa1", MAJORITY: "#9c9c9c", LEARNT: "#1f5fa8", PLAIN: "#6fa8dc", GROUPS: "#d1662c"}
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.7), sharey=True, constrained_layout=True)
    for at, (axis, score) in enumerate(zip(axes, ("top-1", "top-5"), strict=True)):
        for name, colour in colours.items():
            values = 100 * np.array(steps[name][score])
            questions = np.arange(len(values))
            axis.plot(questions[1:], values[1:], color=colour, label=name, lw=1.8)
            if name == GROUPS:
                axis.plot(questions[-1], values[-1], "o", color=colour, ms=4)
            else:
                axis.plot(
                    [questions[-1], 312], [values[-1], 100 * steps[name]["all"][at]], color=colour, lw=1.8, ls="--"
                )
        axis.axvline(BUDGET, color="#bbbbbb", lw=0.8, ls=":")
        axis.set(xscale="log", xlabel="questions", title=f"{score} accuracy", ylim=(0, 101), xlim=(1, 330))
        axis.set_xticks([1, 3, 10, 30, 60, 150, 312], labels=["1", "3", "10", "30", "60", "150", "312"])
        axis.minorticks_off()
        plain(axis)
    axes[0].axhline(100 * TARGET, color="#bbbbbb", lw=0.8, ls=":")
    axes[0].set_ylabel("%")
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    about = (
        "Top-1 and top-5 accuracy against the number of questions: answers of people, majority and simulated answers"
    )
    return experiment.figure(figure, f"{NAME}.png", about)


def main(argv: Sequence[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cub_answers", description=__doc__)
    add_out(parser)
    return run_program(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
