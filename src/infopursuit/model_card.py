"""A model card, written from the fitted object: what it is, what it learnt from, what it asks, how far to trust it.

The headings are those of Mitchell et al., *Model Cards for Model Reporting* (2019). What only the owner can know is
left open, under words that say so.
"""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from infopursuit.answer_profile import AnswerProfile
from infopursuit.engine import Pursuit
from infopursuit.estimator import InformationPursuitClassifier
from infopursuit.models.storing import contains_training_data
from infopursuit.models.vae import VAE
from infopursuit.posteriors import ExactPosterior, FiniteBank
from infopursuit.queries.atom_words import AtomWords
from infopursuit.queries.queryset import QuerySet
from infopursuit.stopping import stopping_in_words
from infopursuit.versions import in_words, versions

OWNER = "To be filled in by the owner"
MOST_CLASSES, MOST_EXAMPLES, MOST_GAPS = 20, 4, 5
LONGEST, LONGEST_MADE = 100, 1000
"""Characters of a name or a sentence, and of all that a model was made with."""


def write_card(thing: Any) -> str:
    """The card of a fitted classifier or of a pursuit, in Markdown."""
    if isinstance(thing, Pursuit):
        pursuit, profile, calibration, made = thing, None, None, None
    elif isinstance(thing, InformationPursuitClassifier) and hasattr(thing, "pursuit_"):
        pursuit, made = thing.pursuit_, getattr(thing, "made_with_", None)
        profile, calibration = getattr(thing, "profile_", None), _mapping(getattr(thing, "calibration_", None))
    else:
        raise TypeError(f"cannot describe a {type(thing).__name__}; expected a fitted classifier or a Pursuit")
    answers = f"It answers with one of {len(pursuit.classes)} classes, whatever it is asked about: {_shown(pursuit)}."
    sections = {
        "Model Details": _details(pursuit, made),
        "Intended Use": [*_owner("what it is for, who is to use it, and what it must not be used for"), answers],
        "Factors": [
            *_owner("groups of people, instruments and circumstances for which it may work better or worse"),
            *_gaps(pursuit, profile),
        ],
        "Metrics": _metrics(calibration),
        "Evaluation Data": [
            *_owner("what it was evaluated on, and how that was chosen"),
            "`infopursuit evaluate MODEL DATA` measures accuracy, lengths and calibration on labelled data.",
        ],
        "Training Data": _training(pursuit, profile),
        "Quantitative Analyses": [
            *(calibration_section(calibration) if calibration else []),
            *_owner("figures of the evaluation, also for each of the factors above"),
        ],
        "Ethical Considerations": [
            *_sharing(pursuit),
            "",
            *_owner("who may be harmed by a wrong answer, and what is done about it"),
        ],
        "Caveats and Recommendations": _caveats(pursuit, profile, calibration),
    }
    parts = [f"## {head}\n\n" + "\n".join(lines).strip() for head, lines in sections.items()]
    title = f"# Model card: {len(pursuit.classes)} classes told apart by asking"
    return "\n\n".join([title, *parts]) + "\n"


# ---- sections -------------------------------------------------------------------------------------------------------


def _details(pursuit: Pursuit, made: Mapping[str, Any] | None) -> list[str]:
    patience = f", with a patience of {pursuit.patience}" if pursuit.patience else ""
    written = ", ".join(f"{name} {number}" for name, number in versions().items())
    return [
        "An Information Pursuit classifier: it asks the question that is expected to tell most about the class, hears "
        "the answer, asks the next, and stops by a rule. The answers that it asked for are the whole of its evidence.",
        "",
        f"- **Model**: {_model(pursuit)}",
        f"- **Posterior**: {_posterior(pursuit)}",
        f"- **Choice of the next question**: {_gains(pursuit)}",
        f"- **Stops** when {stopping_in_words(pursuit.stopping.to_spec())}{patience}: `{pursuit.stopping}`",
        *(f"- **Terms**: {sentence}" for sentence in pursuit.bound.in_words()),
        *_reliability(pursuit),
        f"- **Seed** of what is drawn: {pursuit.seed}",
        *([] if made is None else [f"- **Made with**: {plain(in_words(made), LONGEST_MADE)}"]),
        f"- **Written by**: {written}",
        f"- **Name, version, date, licence, contact**: {OWNER}",
        "",
        "### Questions",
        "",
        *_questions(pursuit.queries),
    ]


def _reliability(pursuit: Pursuit) -> list[str]:
    """How far answers are relied on, where they are not taken as they are."""
    reliability = pursuit.reliability
    if reliability is None:
        return []
    usual = f"right with a probability of {reliability.right:g}" if np.ndim(reliability.right) == 0 else "a given table"
    own = f"; {len(reliability.queries)} queries have tables of their own" if reliability.queries else ""
    again = f"; a query may be asked {reliability.again} times" if reliability.again > 1 else ""
    return [f"- **Answers are weighed**, not taken as they are: {usual}{own}{again}"]


def _questions(queries: QuerySet) -> list[str]:
    wide = (queries.query_atoms >= 0).sum(axis=1)
    single = wide == 1
    kinds = []
    yes_no, several = int((single & (queries.n_answers == 2)).sum()), single & (queries.n_answers > 2)
    if yes_no:
        kinds.append(f"{yes_no:,} with two answers")
    if several.any():
        least, most = queries.n_answers[several].min(), queries.n_answers[several].max()
        kinds.append(f"{int(several.sum()):,} with {least if least == most else f'{least} to {most}'} answers")
    if not single.all():
        kinds.append(f"{int((~single).sum()):,} that reveal up to {wide.max()} atoms at once")
    places = np.unique(np.linspace(0, len(queries) - 1, MOST_EXAMPLES).round().astype(int)).tolist()
    own = f" {len(queries.worded)} are in words of somebody's own." if queries.worded else ""
    return [
        f"{len(queries):,} ({queries.kind}) about {len(queries.atoms):,} atoms: {', '.join(kinds)}.{own} Any of them "
        f"may stay unanswered. For example:",
        "",
        *(f"- {plain(queries.sentences[q])} ({_answers(queries, q)})" for q in places),
    ]


def _answers(queries: QuerySet, query: int) -> str:
    n = int(queries.n_answers[query])
    if n > 6:
        return f"{n:,} answers"
    return " / ".join(plain(queries.choices(query)[i]) for i in range(n))


def _metrics(calibration: Mapping[str, Any] | None) -> list[str]:
    lines = [
        "With every prediction come the posterior of all classes, and every question with its answer. The posterior is "
        "the model's: it is as good as the model."
    ]
    if not calibration:
        lines.append("It is **not calibrated**: whether a stated 99 % is right 99 times in 100 was not checked.")
    return lines


def _training(pursuit: Pursuit, profile: AnswerProfile | None) -> list[str]:
    lines = []
    if profile is None:
        lines.append("Not recorded with this model. " + OWNER + ": what it learnt from.")
    else:
        whole = float(profile.n_rows).is_integer()
        rows = f"{profile.n_rows:,.0f}" if whole else f"{profile.n_rows:,.1f} (of equal weight, as informative)"
        lines += [
            f"- **Rows**: {rows}",
            f"- **Fingerprint** of answers and labels: `{profile.fingerprint}`",
            f"- **Source, collection, consent**: {OWNER}",
        ]
    lines += ["", *_classes(pursuit, profile)]
    return lines


def _classes(pursuit: Pursuit, profile: AnswerProfile | None) -> list[str]:
    prior = np.asarray(pursuit.model.class_prior)
    order = np.sort(np.argsort(-prior, kind="stable")[:MOST_CLASSES])
    more = f" The {MOST_CLASSES} most frequent:" if len(prior) > MOST_CLASSES else ""
    if profile is None:
        head, rows = (
            ["| class | prior of the model |", "| --- | ---: |"],
            [f"| {plain(pursuit.classes[c])} | {100 * prior[c]:.2f} % |" for c in order],
        )
        return [f"Classes ({len(prior):,}).{more}", "", *head, *rows]
    weights = profile.class_weights
    head = ["| class | rows | share | prior of the model |", "| --- | ---: | ---: | ---: |"]
    rows = [
        f"| {plain(pursuit.classes[c])} | {weights[c]:,.10g} | {100 * weights[c] / weights.sum():.2f} % "
        f"| {100 * prior[c]:.2f} % |"
        for c in order
    ]
    return [f"Classes ({len(prior):,}).{more}", "", *head, *rows]


def _gaps(pursuit: Pursuit, profile: AnswerProfile | None) -> list[str]:
    """Which answers were missing in training."""
    if profile is None:
        return []
    one, several = (words := AtomWords(profile.atoms, pursuit.queries)).nouns
    share = profile.missing.sum(axis=0) / profile.class_weights.sum()
    gappy = np.argsort(-share, kind="stable")[: int((share > 0).sum())]
    if not len(gappy):
        return [f"No answer was missing in training ({len(share):,} {one if len(share) == 1 else several})."]
    shown = ", ".join(f"{plain(words.name(int(a)))} ({100 * share[a]:.1f} %)" for a in gappy[:MOST_GAPS])
    more = f", and {len(gappy) - MOST_GAPS:,} more" if len(gappy) > MOST_GAPS else ""
    return [f"Missing in training for some rows: {shown}{more}; {len(gappy):,} of {len(share):,} {several}."]


def calibration_section(found: Mapping[str, Any]) -> list[str]:
    """What was found when the stopping rule was calibrated; what is not told is left out.

    >>> calibration_section({"n_inputs": 500, "length": 7.25})[2:4]
    ['- **Inputs** that it was calibrated on: 500', '- **Questions** on average: 7.25']
    """
    number = {key: float(value) for key, value in found.items() if isinstance(value, (int, float, np.number))}
    lines = ["### Calibration", ""]
    if "target" in number:
        sure = f", with a probability of {100 * (1 - number['delta']):g} %" if "delta" in number else ""
        lines.append(
            f"- **Target**: predictions that are stopped are right in {100 * number['target']:g} % or more{sure}"
        )
    if "epsilon" in number:
        number["threshold"] = 1 - number["epsilon"]
    told = {
        "threshold": ("Threshold", "of the posterior at which it stops", "{:.6g}"),
        "n_inputs": ("Inputs", "that it was calibrated on", "{:,.0f}"),
        "stopped": ("Stopped", "before the budget, as a share", "{:.4g}"),
        "accuracy": ("Right", "among those, as a share", "{:.4g}"),
        "accuracy_bound": ("Right", "among those at the least, with that probability", "{:.4g}"),
        "length": ("Questions", "on average", "{:.2f}"),
        "length_before": ("Questions", "on average before, stopping at the target", "{:.2f}"),
        "length_after": ("Questions", "on average after", "{:.2f}"),
        "expected_error_before": ("Expected calibration error", "before", "{:.4f}"),
        "expected_error_after": ("Expected calibration error", "after", "{:.4f}"),
    }
    for key, (name, what, form) in told.items():
        if key in number:
            lines.append(f"- **{name}** {what}: {form.format(number[key])}")
    for rule in found.get("sets") or ():
        lines.append(f"- **Prediction sets** hold the right class in {100 * rule.coverage:g} % of all cases")
    return [*lines, ""] if len(lines) > 2 else [*lines, "- present, but it tells no figures", ""]


def _sharing(pursuit: Pursuit) -> list[str]:
    if contains_training_data(pursuit.model):
        return [
            f"**It contains its training data**: {training_data(pursuit)}. Share it only with those who may see the "
            f"data."
        ]
    held = "the weights of networks" if isinstance(pursuit.model, VAE) else "probability tables"
    return [f"It holds {held}, not the training examples."]


def _caveats(pursuit: Pursuit, profile: AnswerProfile | None, calibration: Mapping[str, Any] | None) -> list[str]:
    exact = isinstance(pursuit.posterior, ExactPosterior)
    return [
        "- Only these classes are known to it. An input of another kind is given one of them, possibly with a high "
        "posterior.",
        "- An answer that training never had, such as a new category, counts as not known. A wrong answer is believed "
        "as far as the model has seen such answers in that class.",
        "- The posterior is "
        + ("exactly the model's" if exact else "computed from draws or nearly exactly")
        + ", and the model is not the world: atoms are taken to be independent given the class and its latent state.",
        *([] if calibration else ["- Not calibrated: compare its confidence with outcomes before relying on it."]),
        "- Where it is used, classes may be more or less frequent than the prior above says; `class_prior=` takes "
        "other shares.",
        (
            "- A profile of the training answers is kept with it: `infopursuit drift NEW --model MODEL` tells whether "
            "answers have changed since."
            if profile is not None
            else "- No profile of the training answers is kept with it; drift can be told against a reference only."
        ),
        f"- Further: {OWNER}.",
    ]


# ---- words ----------------------------------------------------------------------------------------------------------


def _model(pursuit: Pursuit) -> str:
    model = pursuit.model
    if isinstance(model, VAE):
        body = getattr(model, "base", model).body
        return f"{model.kind}, {body.kind} body, {model.latent_dim} latent dimensions, {len(model.atoms):,} atoms"
    return f"{model.kind}, {model.n_states:,} latent states of {len(model.atoms):,} atoms"


def _posterior(pursuit: Pursuit) -> str:
    if isinstance(pursuit.posterior, ExactPosterior):
        return "exact"
    if isinstance(pursuit.posterior, FiniteBank):
        return f"nearly exact: states of next to no weight are let go (`{pursuit.posterior_settings}`)"
    return f"estimated from draws, with standard errors (`{pursuit.posterior_settings}`)"


def _gains(pursuit: Pursuit) -> str:
    chooser = pursuit.chooser
    if chooser.exact:
        return "exact: the gain of every question is computed on all states"
    if getattr(chooser, "on_all_draws", False):
        return "estimated on all draws, for every question"
    return (
        f"estimated on up to {chooser.n_states:,} states or draws; questions about several atoms are screened to "
        f"{chooser.n_screened:,}; standard errors are in the trace"
    )


def training_data(pursuit: Pursuit) -> str:
    """In which way a model holds its training data, if it does."""
    if isinstance(pursuit.model, VAE):
        return "the latents of the training examples, from which they can be drawn again"
    return "the training examples themselves: an empirical model is its training data"


def plain(text: Any, longest: int = LONGEST) -> str:
    """Words of a model in Markdown that does not take them for marks, on one line.

    >>> plain("a_b | *c*")
    'a\\\\_b \\\\| \\\\*c\\\\*'
    """
    short = textwrap.shorten(str(text), longest, placeholder=" ...")
    return re.sub(r"([\\`*_<>\[\]|#])", r"\\\1", short)


def _shown(pursuit: Pursuit) -> str:
    names = [plain(c) for c in pursuit.classes[:MOST_CLASSES]]
    left = len(pursuit.classes) - MOST_CLASSES
    return ", ".join(names) + (f" and {left:,} more" if left > 0 else "")


def _owner(what: str) -> list[str]:
    return [f"*{OWNER}*: {what}.", ""]


def _mapping(found: Any) -> Mapping[str, Any] | None:
    """A calibration as a mapping, whatever kind of object it is; None where there is none."""
    if found is None or isinstance(found, Mapping):
        return found
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        return {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    return dict(vars(found))
