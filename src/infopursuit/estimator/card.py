"""Model cards in Markdown, under the headings of Mitchell et al., *Model Cards for Model Reporting* (2019)."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from infopursuit.estimator.assessment import Assessment
from infopursuit.pursuit.costs import describe
from infopursuit.pursuit.loop import Pursuit
from infopursuit.queries.choices import MAX_COUNT
from infopursuit.queries.queryset import QuerySet
from infopursuit.saving.provenance import in_words, versions
from infopursuit.support.checks import pursuit_of
from infopursuit.support.types import FloatArray

OWNER = "To be filled in by the owner"
MAX_CLASSES, MAX_EXAMPLES = 20, 4
MAX_CONFUSED = 10
"""Classes up to which the card has a confusion matrix."""
CARD = """# Model card: Information Pursuit classifier of {n_classes} classes

## Model Details

An Information Pursuit classifier asks the question with the largest expected information gain about the class, until \
a rule says stop. The answers that it asked for are all of its evidence.

{details}

### Questions

{questions}

## Intended Use

*{owner}*: what it is for, who is to use it, and what it must not be used for.

It predicts one of {n_classes} classes, whatever the input: {classes}.

## Factors

*{owner}*: groups of people, instruments and circumstances for which it may work better or worse.

## Metrics

With every prediction come the posterior of all classes and every question with its answer.{uncalibrated}

## Evaluation Data

*{owner}*: what it was evaluated on, and how that was chosen.

## Training Data

{training}

## Quantitative Analyses

{figures}*{owner}*: figures of the evaluation, also for each of the factors above.

## Ethical Considerations

{holds}

*{owner}*: who may be harmed by a wrong prediction, and what is done about it.

## Caveats and Recommendations

- An input of another class gets one of these classes, possibly with a high posterior.
- An answer that training never had, such as a new category, counts as missing.{independent}
- Where it is used, classes may have other shares than the prior above, and its posterior is then off (`class_prior=`).
- Further: {owner}.{uncalibrated}
"""
INDEPENDENT = "\n- The model takes variables to be independent given the class and its latent state."


def write_model_card(thing: Any) -> str:
    """The card of a fitted classifier or of a pursuit, in Markdown."""
    pursuit = pursuit_of(thing, "thing")
    names = ("class_count", "calibration", "tuning", "provenance", "assessment")
    fitted = {name: getattr(thing, f"{name}_", None) for name in names}
    chosen = {name: fitted[name] for name in ("tuning", "calibration") if fitted[name]}
    listed = ", ".join(plain(c) for c in pursuit.classes[:MAX_CLASSES])
    more = f" and {len(pursuit.classes) - MAX_CLASSES:,} more" if len(pursuit.classes) > MAX_CLASSES else ""
    calibrated = chosen or pursuit.belief.capabilities.calibrated
    holds = "It holds model parameters, not the training examples."
    if held := training_data(pursuit):
        holds = f"**It contains its training data**: {held}. Share it only with those who may see them."
    return CARD.format(
        owner=OWNER,
        n_classes=len(pursuit.classes),
        classes=listed + more,
        details="\n".join(_details(pursuit, fitted["provenance"])),
        questions="\n".join(_questions(pursuit.queries)),
        uncalibrated=""
        if calibrated
        else "\n\nIt is **not calibrated**: its confidence was not compared with outcomes.",
        training="\n".join(_training(pursuit, fitted["class_count"])),
        figures="".join(f"### {name.capitalize()}\n\n{_listed(found)}\n\n" for name, found in chosen.items())
        + _assessed(fitted["assessment"], pursuit.classes),
        holds=holds,
        independent="" if pursuit.model is None else INDEPENDENT,
    )


def _details(pursuit: Pursuit[Any], provenance: Mapping[str, Any] | None) -> list[str]:
    patience = f", with a patience of {pursuit.patience}" if pursuit.patience else ""
    gains = "exact information gain of every question" if pursuit.exact_gains else f"`{pursuit.acquisition}`"
    facts: list[tuple[str, Any]] = [
        ("Model", _model(pursuit.model)),
        ("Posterior", pursuit.belief.describe()),
        ("Choice of the next question", gains),
        ("Stops", f"when {pursuit.stopping.describe()}{patience}: `{pursuit.stopping}`"),
        ("Costs and constraints", " ".join(describe(*pursuit.bound_costs))),
        ("Answer noise", "" if pursuit.noise is None else f"`{plain(pursuit.noise, 300)}`"),
        ("Seed", pursuit.seed),
        ("Provenance", "" if provenance is None else plain(in_words(provenance), 1000)),
        ("Written by", in_words(versions())),
        ("Name, version, date, licence, contact", OWNER),
    ]
    return [f"- **{name}**: {fact}" for name, fact in facts if fact != ""]


def _model(model: Any) -> str:
    if model is None:
        return ""
    if "smc" in model.beliefs:
        about = f"{model.architecture.kind} architecture, {model.latent_dim} latent dimensions"
        return f"{model.kind}, {about}, {len(model.variables):,} variables"
    return f"{model.kind}, {model.n_states:,} latent states of {len(model.variables):,} variables"


def _questions(queries: QuerySet) -> list[str]:
    own = f" {len(queries.worded)} are in words of the owner." if queries.worded else ""
    lines = [f"{len(queries):,} ({queries.kind}) about {len(queries.variables):,} variables.{own} For example:", ""]
    for q in np.unique(np.linspace(0, len(queries) - 1, MAX_EXAMPLES).round().astype(int)).tolist():
        n = int(queries.n_answers[q])
        many = f"{n:,} answers" if n < MAX_COUNT else "more answers than can be listed"
        lines.append(
            f"- {plain(queries.sentences[q])} ({many if n > 6 else ' / '.join(map(plain, queries.choices(q)))})"
        )
    return lines


def _training(pursuit: Pursuit[Any], class_count: FloatArray | None) -> list[str]:
    prior = pursuit.start().posterior[0]
    lines, columns = [f"Not recorded with this model. {OWNER}: what it was trained on."], ["class", "prior"]
    cells = [[plain(c), f"{100 * p:.2f} %"] for c, p in zip(pursuit.classes, prior, strict=True)]

    if class_count is not None:
        total = class_count.sum()
        lines = [f"- **Rows**, by their weight: {total:,.10g}", f"- **Source, collection, consent**: {OWNER}"]
        columns = ["class", "rows", "share", "prior"]
        for row, count in zip(cells, class_count, strict=True):
            row[1:1] = [f"{count:,.10g}", f"{100 * count / total:.2f} %"]

    shown = np.sort(np.argsort(-prior, kind="stable")[:MAX_CLASSES])
    more = f" The {MAX_CLASSES} most frequent:" if len(prior) > MAX_CLASSES else ""
    rows = [columns, ["---", *["---:"] * (len(columns) - 1)], *(cells[c] for c in shown)]
    return [*lines, "", f"Classes ({len(prior):,}).{more}", "", *(f"| {' | '.join(row)} |" for row in rows)]


def _listed(found: Any) -> str:
    """What was chosen on held-out rows, and the sets that hold the right class, as a list."""
    lines = [line[:1].upper() + line[1:] for line in str(found).splitlines()]
    if getattr(found, "assessment", None) is not None:
        lines = lines[:-1]  # the last one is about the figures that have a section of their own
    sets = getattr(found, "sets", ())
    lines += [f"Prediction sets hold the right class in {100 * each.coverage:g} % of all cases." for each in sets]
    return "\n".join(f"- {plain(line, 1000)}" for line in lines)


def _assessed(assessment: Assessment | None, classes: Any) -> str:
    """Recall and precision of each class on held-out rows, and the confusion matrix, as tables."""
    if assessment is None:
        return ""
    figures = assessment.by_class
    shown = len(classes) if len(classes) <= MAX_CLASSES else MAX_CLASSES
    tables = [figures.table(classes)[: shown + 1]]
    if len(classes) <= MAX_CONFUSED:
        tables.append(figures.confusion_table(classes))
    figures_in_words = str(assessment)
    head = f"### Held-out rows\n\n{figures_in_words[:1].upper()}{figures_in_words[1:]}."
    return "\n\n".join([head, *map(_markdown_table, tables)]) + "\n\n"


def _markdown_table(rows: list[list[str]]) -> str:
    """Rows below a header as a table of Markdown."""
    marks = ["---", *["---:"] * (len(rows[0]) - 1)]
    lines = [[plain(cell) for cell in rows[0]], marks, *([plain(cell) for cell in row] for row in rows[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def training_data(pursuit: Pursuit[Any]) -> str:
    """In which form whoever has the model, or the belief without one, has the examples that it learnt from; empty where
    it does not hold them."""
    if not pursuit.belief.capabilities.contains_training_data:
        return ""
    if pursuit.model is None:
        return f"examples that {type(pursuit.belief).__name__} learnt from"
    return "the training examples themselves: an empirical model is its training data"


def plain(text: Any, longest: int = 100) -> str:
    """Text on one line, with the marks of Markdown escaped."""
    short = textwrap.shorten(str(text), longest, placeholder=" ...")
    return re.sub(r"([\\`*_<>\[\]|#])", r"\\\1", short)
