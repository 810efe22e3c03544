"""Model cards in Markdown, under the headings of Mitchell et al., *Model Cards for Model Reporting* (2019)."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from infopursuit.acquisition.mutual_information import MutualInformation
from infopursuit.answer_profile import AnswerProfile
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.queries.choices import MAX_COUNT
from infopursuit.queries.queryset import QuerySet
from infopursuit.queries.wording import VariableWords
from infopursuit.stopping import describe
from infopursuit.versions import in_words, versions

OWNER = "To be filled in by the owner"
MAX_CLASSES, MAX_EXAMPLES, MAX_GAPS = 20, 4, 5
FIGURES = {
    "threshold": ("Threshold", "of the posterior at which it stops", "{:.6g}"),
    "n_inputs": ("Inputs", "used for calibration", "{:,.0f}"),
    "stopped": ("Stopped", "before the budget, as a share", "{:.4g}"),
    "accuracy": ("Accuracy", "of these", "{:.4g}"),
    "accuracy_bound": ("Lower bound", "of that accuracy, with that probability", "{:.4g}"),
    "length": ("Questions", "on average", "{:.2f}"),
    "length_before": ("Questions", "on average before, stopping at the target", "{:.2f}"),
    "length_after": ("Questions", "on average after", "{:.2f}"),
    "ece_before": ("Expected calibration error", "before", "{:.4f}"),
    "ece_after": ("Expected calibration error", "after", "{:.4f}"),
}
"""Figures of a calibration: name, explanation, format."""


def write_model_card(thing: Any) -> str:
    """The card of a fitted classifier or of a pursuit, in Markdown."""
    if isinstance(thing, Pursuit):
        pursuit, profile, calibration, provenance, tuning = thing, None, None, None, None
    elif isinstance(thing, InformationPursuitClassifier) and hasattr(thing, "pursuit_"):
        pursuit, provenance = thing.pursuit_, getattr(thing, "provenance_", None)
        tuning = getattr(thing, "tuning_", None)
        profile, calibration = getattr(thing, "profile_", None), _mapping(getattr(thing, "calibration_", None))
    else:
        raise TypeError(f"thing is {type(thing).__name__}; expected a fitted classifier or a Pursuit")
    names = ", ".join(plain(c) for c in pursuit.classes[:MAX_CLASSES])
    more = f" and {len(pursuit.classes) - MAX_CLASSES:,} more" if len(pursuit.classes) > MAX_CLASSES else ""
    uncalibrated = ["It is **not calibrated**: its confidence was not compared with outcomes."]
    if calibration or tuning is not None or getattr(pursuit.belief, "calibrated", False):
        uncalibrated = []
    generative = pursuit.model is not None
    sections = {
        "Model Details": _details(pursuit, provenance),
        "Intended Use": [
            f"*{OWNER}*: what it is for, who is to use it, and what it must not be used for.\n",
            f"It predicts one of {len(pursuit.classes)} classes, whatever the input: {names}{more}.",
        ],
        "Factors": [
            f"*{OWNER}*: groups of people, instruments and circumstances for which it may work better or worse.\n",
            *_missing(pursuit, profile),
        ],
        "Metrics": [
            "With every prediction come the posterior of all classes and every question with its answer.",
            *uncalibrated,
        ],
        "Evaluation Data": [f"*{OWNER}*: what it was evaluated on, and how that was chosen."],
        "Training Data": _training(pursuit, profile),
        "Quantitative Analyses": [
            *([] if tuning is None else ["### Chosen on held-out training rows", "", *_tuning(tuning), ""]),
            *(calibration_section(calibration) if calibration else []),
            f"*{OWNER}*: figures of the evaluation, also for each of the factors above.",
        ],
        "Ethical Considerations": [
            f"**It contains its training data**: {training_data(pursuit)}. Share it only with those who may see them."
            if contains_training_data(pursuit)
            else "It holds model parameters, not the training examples.",
            "",
            f"*{OWNER}*: who may be harmed by a wrong prediction, and what is done about it.",
        ],
        "Caveats and Recommendations": [
            "- An input of another class gets one of these classes, possibly with a high posterior.",
            "- An answer that training never had, such as a new category, counts as missing.",
            *(["- The model takes variables to be independent given the class and its latent state."] * generative),
            *(f"- {sentence}" for sentence in uncalibrated),
            "- Where it is used, classes may have other shares than the prior above"
            + ("; `class_prior=` sets them." if generative else ", and its posterior is then off."),
            "- A profile of the training answers is saved with it: `infopursuit monitor` detects drift."
            if profile is not None
            else "- No profile of the training answers is saved with it: `infopursuit monitor` needs a reference.",
            f"- Further: {OWNER}.",
        ],
    }
    parts = [f"## {head}\n\n" + "\n".join(lines).strip() for head, lines in sections.items()]
    title = f"# Model card: Information Pursuit classifier of {len(pursuit.classes)} classes"
    return "\n\n".join([title, *parts]) + "\n"


def _details(pursuit: Pursuit[Any], provenance: Mapping[str, Any] | None) -> list[str]:
    patience = f", with a patience of {pursuit.patience}" if pursuit.patience else ""
    written = ", ".join(f"{name} {number}" for name, number in versions().items())
    return [
        "An Information Pursuit classifier asks the question with the largest expected information gain about the "
        "class, until a rule says stop. The answers that it asked for are all of its evidence.\n",
        *([] if pursuit.model is None else [f"- **Model**: {_model(pursuit.model)}"]),
        f"- **Posterior**: {_posterior(pursuit)}",
        f"- **Choice of the next question**: {_acquisition(pursuit)}",
        f"- **Stops** when {describe(pursuit.stopping)}{patience}: `{pursuit.stopping}`",
        *(f"- **Costs and constraints**: {sentence}" for bound in pursuit.bound_costs for sentence in bound.describe()),
        *_noise(pursuit.noise),
        f"- **Seed**: {pursuit.seed}",
        *([] if provenance is None else [f"- **Provenance**: {plain(in_words(provenance), 1000)}"]),
        f"- **Written by**: {written}",
        f"- **Name, version, date, licence, contact**: {OWNER}",
        "\n### Questions\n",
        *_questions(pursuit.queries),
    ]


def _model(model: Any) -> str:
    if model is None:
        return "none that is generative"
    if hasattr(model, "latent_dim"):
        about = f"{model.architecture.kind} architecture, {model.latent_dim} latent dimensions"
        return f"{model.kind}, {about}, {len(model.variables):,} variables"
    return f"{model.kind}, {model.n_states:,} latent states of {len(model.variables):,} variables"


def _posterior(pursuit: Pursuit[Any]) -> str:
    kind, settings = getattr(pursuit.belief, "kind", None), getattr(pursuit.belief, "settings", None)
    if hasattr(pursuit.belief, "describe"):
        return str(pursuit.belief.describe())
    how = {"exact": "exact", "pruned": "pruned enumeration"}.get(str(kind), "sampled, with standard errors")
    if kind is None:
        predictor = getattr(pursuit.belief, "predictor", None)
        n = getattr(predictor, "n_members", 1)
        by = "" if predictor is None else f", the mean of {n} members of a `{type(predictor).__name__}`"
        return f"that of a `{type(pursuit.belief).__name__}`{by}"
    return how if settings is None else f"{how} (`{settings}`)"


def _acquisition(pursuit: Pursuit[Any]) -> str:
    settings = pursuit.acquisition
    if not isinstance(settings, MutualInformation):
        unit = "expected information gain" if settings.unit == "nats" else "score"
        return f"{unit} of `{settings}`"
    if pursuit.exact_gains:
        return "exact information gain of every question"
    if getattr(pursuit.bindings.bind(pursuit)[1].function, "on_all_states", False):
        return "information gain of every question, estimated on all particles"
    return (
        f"information gain estimated on up to {settings.n_states:,} states or particles, with standard errors; "
        f"{settings.n_screened:,} questions about several variables are screened in"
    )


def _noise(noise: Any) -> list[str]:
    if noise is None:
        return []
    usual = f"right with probability {noise.accuracy:g}" if np.ndim(noise.accuracy) == 0 else "a confusion matrix"
    own = f"; {len(noise.queries)} queries have confusion matrices of their own" if noise.queries else ""
    again = f"; a query may be asked {noise.max_repeats} times" if noise.max_repeats > 1 else ""
    return [f"- **Answer noise**: {usual}{own}{again}"]


def _questions(queries: QuerySet) -> list[str]:
    widths, sizes = (queries.query_variables >= 0).sum(axis=1), queries.n_answers
    two, several = int(((widths == 1) & (sizes == 2)).sum()), sizes[(widths == 1) & (sizes > 2)]
    kinds = [f"{two:,} with two answers"] if two else []
    if len(several):
        span = f"{several.min()}" if several.min() == several.max() else f"{several.min()} to {several.max()}"
        kinds.append(f"{len(several):,} with {span} answers")
    if (widths > 1).any():
        kinds.append(f"{int((widths > 1).sum()):,} that reveal up to {widths.max()} variables at once")
    own = f" {len(queries.worded)} are in words of the owner." if queries.worded else ""
    variables = f"{len(queries):,} ({queries.kind}) about {len(queries.variables):,} variables"
    lines = [f"{variables}: {', '.join(kinds)}.{own} Any may stay unanswered. For example:", ""]
    for q in np.unique(np.linspace(0, len(queries) - 1, MAX_EXAMPLES).round().astype(int)).tolist():
        answers = " / ".join(map(plain, queries.choices(q))) if sizes[q] <= 6 else _many(sizes[q])
        lines.append(f"- {plain(queries.sentences[q])} ({answers})")
    return lines


def _many(n_answers: int) -> str:
    return f"{n_answers:,} answers" if n_answers < MAX_COUNT else "more answers than can be listed"


def _training(pursuit: Pursuit[Any], profile: AnswerProfile | None) -> list[str]:
    prior = pursuit.start().posterior[0]
    lines, columns = [f"Not recorded with this model. {OWNER}: what it was trained on."], ["class", "prior"]
    cells = [[plain(c), f"{100 * p:.2f} %"] for c, p in zip(pursuit.classes, prior, strict=True)]
    if profile is not None:
        whole = float(profile.n_rows).is_integer()
        n_rows = f"{profile.n_rows:,.0f}" if whole else f"{profile.n_rows:,.1f} (effective sample size)"
        lines = [f"- **Rows**: {n_rows}", f"- **Fingerprint** of answers and labels: `{profile.fingerprint}`"]
        lines.append(f"- **Source, collection, consent**: {OWNER}")
        columns, weights = ["class", "rows", "share", "prior"], profile.class_weights
        for row, weight in zip(cells, weights, strict=True):
            row[1:1] = [f"{weight:,.10g}", f"{100 * weight / weights.sum():.2f} %"]
    shown = np.sort(np.argsort(-prior, kind="stable")[:MAX_CLASSES])
    more = f" The {MAX_CLASSES} most frequent:" if len(prior) > MAX_CLASSES else ""
    rows = [columns, ["---", *["---:"] * (len(columns) - 1)], *(cells[c] for c in shown)]
    return [*lines, "", f"Classes ({len(prior):,}).{more}", "", *(f"| {' | '.join(row)} |" for row in rows)]


def _missing(pursuit: Pursuit[Any], profile: AnswerProfile | None) -> list[str]:
    if profile is None:
        return []
    words = VariableWords(profile.variables, pursuit.queries)
    share = profile.missing.sum(axis=0) / profile.class_weights.sum()
    n, of = int((share > 0).sum()), f"{len(share):,} {words.nouns[len(share) != 1]}"
    if not n:
        return [f"No answer was missing in training ({of})."]
    worst = np.argsort(-share, kind="stable")[: min(n, MAX_GAPS)]
    names = ", ".join(f"{plain(words.name(int(a)))} ({100 * share[a]:.1f} %)" for a in worst)
    more = f", and {n - MAX_GAPS:,} more" if n > MAX_GAPS else ""
    return [f"Missing in some rows of training: {names}{more}; {n:,} of {of}."]


def calibration_section(found: Mapping[str, Any]) -> list[str]:
    """The figures of a calibration, as a list of Markdown lines."""
    number = {key: float(value) for key, value in found.items() if isinstance(value, (int, float, np.number))}
    if "epsilon" in number:
        number["threshold"] = 1 - number["epsilon"]
    lines = []
    if "target" in number:
        sure = f", with a probability of {100 * (1 - number['delta']):g} %" if "delta" in number else ""
        lines.append(f"- **Target**: stopped predictions are right in {100 * number['target']:g} % or more{sure}")
    for key, (name, what, form) in FIGURES.items():
        lines += [f"- **{name}** {what}: {form.format(number[key])}"] if key in number else []
    for rule in found.get("sets") or ():
        lines.append(f"- **Prediction sets** hold the right class in {100 * rule.coverage:g} % of all cases")
    return ["### Calibration", "", *(lines or ["- present, but without figures"]), ""]


def _tuning(tuning: Any) -> list[str]:
    """What was chosen on held-out rows, as a list of Markdown lines."""
    return [f"- {plain(line[:1].upper() + line[1:], 1000)}" for line in str(tuning).splitlines()]


def contains_training_data(pursuit: Pursuit[Any]) -> bool:
    """Whether whoever has the model, or the belief without one, has the examples that it learnt from."""
    return bool(getattr(pursuit.model or pursuit.belief, "contains_training_data", False))


def training_data(pursuit: Pursuit[Any]) -> str:
    """In which form a model holds its training data, if it does."""
    if pursuit.model is None:
        return f"examples that {type(pursuit.belief).__name__} learnt from"
    return "the training examples themselves: an empirical model is its training data"


def plain(text: Any, longest: int = 100) -> str:
    """Text on one line, with the marks of Markdown escaped."""
    short = textwrap.shorten(str(text), longest, placeholder=" ...")
    return re.sub(r"([\\`*_<>\[\]|#])", r"\\\1", short)


def _mapping(found: Any) -> Mapping[str, Any] | None:
    return found if found is None or isinstance(found, Mapping) else dict(vars(found))
