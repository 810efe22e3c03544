"""What a request asks of a model: from JSON to histories and inputs, and from the posterior back to JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from infopursuit.app.conversation import look_ahead
from infopursuit.app.server.errors import Problem, invalid
from infopursuit.app.server.registry import ServedModel
from infopursuit.presentation import case
from infopursuit.presentation.performance import performance_of
from infopursuit.presentation.report import write as write_report
from infopursuit.pursuit.explanation import Explanation, ExplanationStep
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.noise import read_answer
from infopursuit.pursuit.ranking import Ranking
from infopursuit.pursuit.session import put_aside
from infopursuit.pursuit.session import read_known as known_history
from infopursuit.pursuit.state import State, Step
from infopursuit.queries.columns import Columns
from infopursuit.queries.groups import Groups
from infopursuit.queries.numbers import NumberScale
from infopursuit.queries.patches import Patches
from infopursuit.queries.queryset import QuerySet
from infopursuit.queries.words import Words
from infopursuit.strategies.generative.answer_tables import entropy
from infopursuit.support.messages import Messages
from infopursuit.support.types import UNKNOWN, History, ImpossibleAnswer, Number, Observed, Said, cells_of

MAX_LISTED = 16  # choices of a question about several variables; of more only their number is told
MAX_CATEGORIES = 100  # and of one about one variable
MAX_LOOK_AHEAD = 12  # choices of a question for which the posterior after each is computed
MAX_WHY_NOT = 64  # answers whose changes are searched


def read_history(model: ServedModel, items: Sequence[tuple[str, str | float | dict[str, float] | None]]) -> History:
    """The history from names and choices; `Problem` with the place of an invalid one."""
    queries, history = model.pursuit.queries, list[tuple[int, Said]]()
    for k, (name, choice) in enumerate(items):
        index = model.index_of.get(name)
        if index is None:
            title = f"the model {model.name} has no query of this name in its version {model.version}"
            remedy = f"GET /v1/models/{model.name} lists the names; if the model was replaced, drop this or start again"
            raise invalid(title, f"history[{k}].query", name, remedy)
        said, scale = None if choice is None else str(choice), queries.scale(index)
        if isinstance(choice, dict) and not model.pursuit.belief.capabilities.noise:
            remedy = "answer with one of the choices, or null for unknown"
            raise invalid(f"the model {model.name} takes no soft answers", f"history[{k}].answer", said, remedy)
        try:
            if isinstance(choice, float) and scale is None and index not in queries.number_labels:
                raise ValueError("a number, which is not the index of a choice here")
            history.append((index, read_answer(queries, index, choice)))
        except ValueError:
            choices = queries.choices(index)
            some = ", ".join(map(repr, choices[:MAX_LISTED])) + (", ..." if len(choices) > MAX_LISTED else "")
            number = "" if scale is None else f"{queries.hint(index)}, "
            remedy = f"answer with {number}one of {some}, {{choice: probability}} that sum to 1, or null for unknown"
            raise invalid(f"this is no answer to {name!r}", f"history[{k}].answer", said, remedy) from None
    return tuple(history)


def read_later(model: ServedModel, names: Sequence[str]) -> tuple[int, ...]:
    """The queries that are put aside; `Problem` where the model has no such query."""
    for name in names:
        if name not in model.index_of:
            remedy = f"GET /v1/models/{model.name} lists the names"
            raise invalid(f"the model {model.name} has no query of this name", "later", name, remedy)
    return tuple(dict.fromkeys(model.index_of[name] for name in names))


def read_known(model: ServedModel, known: Mapping[str, Any]) -> History:
    """What was known beforehand; `Problem` where it is not about the model."""
    try:
        return known_history(model.pursuit.queries, known)
    except ValueError as error:
        remedy = f"GET /v1/models/{model.name} lists the queries and their choices"
        raise invalid(" ".join(str(error).split()), "known", f"{len(known)} entries", remedy) from None


def read_inputs(model: ServedModel, inputs: Sequence[Any]) -> Observed:
    """The values and numbers of the variables of some inputs: images, texts, or rows as lists or as objects."""
    queries = model.pursuit.queries
    try:
        if isinstance(queries, Patches):
            return queries.read(np.stack([_read_image(queries, k, item) for k, item in enumerate(inputs)]))
        if isinstance(queries, Words):
            for k, item in enumerate(inputs):
                if not isinstance(item, str):
                    raise invalid("not a text", f"inputs[{k}]", item, "give each input as a string")
            return queries.read(list(inputs))
        names = list(queries.columns if isinstance(queries, Columns) else queries.names)
        rows = [_read_row(names, k, item) for k, item in enumerate(inputs)]
        if isinstance(queries, Columns):
            return queries.read(rows)
        return queries.read(np.array([[_read_yes_no(value) for value in row] for row in rows]))
    except (TypeError, ValueError, OverflowError) as error:  # the last: a whole number of hundreds of digits
        remedy = f"GET /v1/models/{model.name} describes the inputs of this model"
        raise invalid(" ".join(str(error).split()), "inputs", f"{len(inputs)} inputs", remedy) from None


def _read_image(queries: Patches, k: int, item: Any) -> Any:
    rows, columns = queries.shape
    try:
        image = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        image = np.empty(0)
    wanted = (rows, columns) if queries.channels == 1 else (rows, columns, queries.channels)
    if image.shape not in (wanted, (len(queries.variables),)):
        each = "numbers" if queries.channels == 1 else "lists of 3 numbers (red, green, blue)"
        remedy = f"give {rows} lists of {columns} {each} each; null for an unknown pixel"
        raise invalid("not an image of the size of the model", f"inputs[{k}]", item, remedy)
    return image.reshape(wanted)


def _read_row(names: list[str], k: int, item: Any) -> list[Any]:
    """A row in the order of the columns; what an object leaves out is unknown."""
    if isinstance(item, dict):
        for name in item:
            if name not in names:
                remedy = f"columns are {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
                raise invalid("the model has no such column", f"inputs[{k}]", name, remedy)
        item = [item.get(name) for name in names]
    if not isinstance(item, list) or len(item) != len(names):
        remedy = f"give an object with names of columns, or a list of {len(names)} values; null is unknown"
        raise invalid("not a row of the table of the model", f"inputs[{k}]", item, remedy)
    for name, value in zip(names, item, strict=True):
        if value is not None and not isinstance(value, (str, int, float, bool)):
            remedy = "give a number, a text, true, false, or null"
            raise invalid("not a value of a table", f"inputs[{k}].{name}", value, remedy)
    return item


def _read_yes_no(value: Any) -> float:
    if isinstance(value, str):
        if value.lower() not in ("yes", "no"):
            raise ValueError(f"{value[:40]!r} is neither 'yes' nor 'no'; give one of these, 1, 0, or null")
        return float(value.lower() == "yes")
    return math.nan if value is None else float(value)


def next_step(
    model: ServedModel, history: History, known: History, later: tuple[int, ...], top: int, explain: bool, more: bool,
    words: Messages,
) -> dict[str, Any]:  # fmt: skip
    """The posterior after a history and the next question (`schemas.NextResponse`); the state is cached."""
    pursuit = model.pursuit
    step = put_aside(pursuit, pursuit.propose(_state(model, history, known)), later)
    state = model.states[known, history] = step.state
    posterior, gains = state.posterior[0], pursuit.utilities(state).value[0]
    reason = step.reason[0] or None
    if more and reason is not None:
        step = _ask_on(pursuit, step, later)
    best, leader = int(step.choice.query[0]), int(posterior.argmax())
    asks = best != UNKNOWN
    warns = reason is not None and pursuit.novelty is not None
    return {
        "model": model.name, "n_asked": len(history), "title": case.title(pursuit, words),
        "summary": case.summary(_summarized(model, history, known), pursuit.queries, words),
        "prediction": model.classes[leader], "confidence": float(posterior[leader]),
        "posterior": dict(zip(model.classes, posterior.tolist(), strict=True)),
        "entropy": _amount(entropy(posterior)), "exact_gains": pursuit.exact_gains,
        "calibrated": pursuit.calibrated,
        "question": query_info(model, best, words) if asks else None,
        "stop_reason": reason, "stopped_in_words": None if reason is None else words.reason(reason),
        "ranked": _ranked(model, gains, best, top, words) if asks else [],
        "why": _why(model, state, best, float(step.choice.gain[0]), gains, words) if asks else None,
        "warning": explain_history(model, history, known).warning or None if warns else None,
        "so_far": [
            *(words("known", phrase=pursuit.queries.say(query, answer)) for query, answer in known),
            *(pursuit.queries.say(query, answer) for query, answer in history),
        ],
        "explanation": json.loads(explain_history(model, history, known).to_json()) if explain else None,
    }  # fmt: skip


def why_not(model: ServedModel, history: History, known: History, label: str, words: Messages) -> dict[str, Any]:
    """Why a class is not predicted (`schemas.WhyNotResponse`)."""
    if label not in model.classes:
        remedy = f"the classes are {', '.join(model.classes[:MAX_LISTED])}"
        raise invalid(f"the model {model.name} has no such class", "label", label, remedy)
    n = len(history) + len(known)
    if n > MAX_WHY_NOT:
        remedy = "leave out some of the answers"
        raise invalid(f"why-not takes at most {MAX_WHY_NOT} answers", "history", f"{n} answers", remedy)
    _state(model, history, known)
    session, queries = model.pursuit.session(history, known=dict(known)), model.pursuit.queries
    found, everything = case.why_not(session, label), (*known, *history)
    return {
        "label": label, "probability": found.probability, "prediction": str(found.prediction),
        "sentences": case.say_why_not(found, session, words),
        "against": [
            {"place": place, "query": queries.names[everything[place][0]], "weight": _amount(weight)}
            for place, weight in found.against
        ],
        "changes": [
            {"place": each.place, "query": each.name, "said": words.number(each.said),
             "answer": _written(queries, each.query, each.other), "in_words": words.number(each.other_said)}
            for each in found.changes
        ],
        "then": dict(zip(model.classes, found.then, strict=True)) if found.changes else None,
    }  # fmt: skip


def remaining(model: ServedModel, history: History, known: History, words: Messages) -> dict[str, Any]:
    """How many more questions to expect (`schemas.RemainingResponse`); null where that is expensive."""
    found, pursuit = None, model.pursuit
    state = _state(model, history, known)
    if pursuit.queries.n_answers.max() <= MAX_LISTED**2:  # else patches of images, whose steps cost too much
        found = case.remaining_after(pursuit, pursuit.propose(state))
    if found is None:
        return {"median": None, "low": None, "high": None, "sentence": None}
    return {**asdict(found), "sentence": case.say_remaining(found, words)}


def _ask_on(pursuit: Pursuit[Any], step: Step[Any], later: tuple[int, ...]) -> Step[Any]:
    """The step with the best question although a rule has fired; those to be asked later come last."""
    for aside in (later, ()):
        closed = step.state.closed.copy()
        closed[0, list(aside)] = True
        choice = pursuit._choose(replace(step.state, closed=closed), np.ones(1, dtype=bool))
        if int(choice.query[0]) != UNKNOWN:
            return replace(step, choice=choice)
    return step


def _summarized(model: ServedModel, history: History, known: History) -> Explanation:
    """The history as far as a summary needs it: without the gains, which would have to be computed at each step."""
    pursuit, queries, state = model.pursuit, model.pursuit.queries, None
    posteriors: list[tuple[float, ...]] = []
    for k in range(len(history) + 1):
        state = model.states.get((known, history[:k])) or pursuit.at(history[:k], state, known)
        posteriors.append(tuple(state.posterior[0].tolist()))

    def told(query: int, said: Said, posterior: tuple[float, ...]) -> ExplanationStep:
        number = said.value if isinstance(said, Number) else None
        name, sentence, answer = queries.names[query], queries.sentences[query], queries.say_answer(query, said)
        worded = query in queries.worded
        return ExplanationStep(
            query, name, sentence, cells_of(said), answer, 0.0, 0.0, posterior, (), worded=worded, number=number
        )

    shares = pursuit.base_rates((known,))
    return Explanation(
        tuple(pursuit.classes.tolist()), posteriors[0],
        tuple(told(*each, posterior) for each, posterior in zip(history, posteriors[1:], strict=True)), "", 0, True,
        known=tuple(told(*each, posteriors[0]) for each in known), calibrated=pursuit.calibrated,
        base_rates=() if shares is None else tuple(shares.tolist()),
    )  # fmt: skip


def _written(queries: QuerySet, query: int, said: Said) -> str | float | None:
    """An answer as a request has it: a number (a date as text) or a choice."""
    if isinstance(said, Number):
        scale = queries.scale(query)
        return scale.write(said.value) if scale is not None and scale.date else said.value
    return queries.say_answer(query, said)


def explain_history(model: ServedModel, history: History, known: History = ()) -> Explanation:
    """The history as an explanation."""
    _state(model, history, known)  # `Problem` for one that is impossible
    return model.pursuit.session(history, known=dict(known)).explanation


def report(
    model: ServedModel, history: History, known: History, inapplicable: frozenset[int], name: str, words: Messages
) -> str:  # fmt: skip
    """The history as an HTML file; of a case also what it is about. inapplicable: steps that did not apply. name: of
    the case."""
    _state(model, history, known)
    session = model.pursuit.session(history, known=dict(known))
    session._not_applicable = inapplicable
    short = model.mode == "case" and len(history) + len(known) <= MAX_WHY_NOT
    told = {"name": name, "model": model.name, "version": model.version}
    about = case.about(session, words, classifier=model.classifier, **told) if short else None
    return write_report(session.explanation, language=words.language, about=about)


def explain_inputs(model: ServedModel, values: Observed) -> list[dict[str, Any]]:
    """Explanations of inputs (`schemas.Explained`)."""
    trace = model.pursuit.run_values(values, progress=False)
    return [{"explanation": json.loads(one.to_json()), "text": one.to_text()} for one in trace]


def performance(model: ServedModel, words: Messages) -> dict[str, Any] | None:
    """How often a model is right (`schemas.Performance`)."""
    found = performance_of(model.classifier)
    if found is None:
        return None

    figures = None
    if found.assessment is not None:
        names = ("n_rows", "accuracy", "low", "high", "n_questions", "log_loss", "confidence")
        figures = {name: getattr(found.assessment, name) for name in names} | {
            "calibration_error": found.assessment.ece,
            "auc": found.assessment.by_class.auc,
            "classes": [
                {"class": row.label, "rows": row.rows, "recall": row.recall, "precision": row.precision}
                for row in found.class_rows
            ],
            "confusion": found.confusion or None,
        }
    return {"sentence": found.say(words), "figures": figures}


def query_info(model: ServedModel, index: int, words: Messages) -> dict[str, Any]:
    """A query as JSON data (`schemas.Question`)."""
    pursuit, queries = model.pursuit, model.pursuit.queries
    choices, scale = queries.choices(index), queries.scale(index)
    few = MAX_LISTED if (queries.query_variables[index] >= 0).sum() > 1 else MAX_CATEGORIES
    listed = list(choices) if len(choices) <= few else None
    found: dict[str, Any] = {
        "name": queries.names[index], "sentence": words.question(queries[index]),
        "column": model.topics[index][0], "n_choices": len(choices), "choices": listed,
        "patch": None, "components": None, "labels": listed and list(case.choices(queries, index, words)),
        "cost": None if pursuit.costs is None else float(pursuit.query_costs[index]),
        "number": None if scale is None else scale.describe() | {"thresholds": _thresholds(scale)},
    }  # fmt: skip
    if isinstance(queries, Groups) and queries.components(index):
        found["components"] = [
            {"name": component.name, "choices": list(component.choices), "unknown": component.phrase(UNKNOWN),
             "answers": [component.phrase(cell) for cell in range(len(component.choices))]}
            for component in queries.components(index)
        ]  # fmt: skip
    if isinstance(queries, Patches):
        (row, column), (rows, columns) = queries.corners[index], queries.size
        pixel = {"levels": queries.n_levels, "channels": queries.channels}
        found["patch"] = {"row": row, "column": column, "rows": rows, "columns": columns, **pixel}
    return found


def _thresholds(scale: NumberScale) -> list[Any]:
    """The numbers between the cells of finite models; dates as text."""
    return [scale.write(each) if scale.date else each for each in scale.thresholds]


def _state(model: ServedModel, history: History, known: History) -> State[Any]:
    """The state after a history; `Problem` for one that is impossible."""
    try:
        return model.pursuit.at(history, model.states.get((known, history[:-1])) if history else None, known)
    except ImpossibleAnswer as error:
        place = re.match(r"history\[(\d+)\]", str(error))
        if place is None:
            remedy = "leave out what is not so"
            raise Problem(409, str(error), field="known", value=f"{len(known)} entries", remedy=remedy) from None
        k = int(place[1])
        said = model.pursuit.queries.say(*history[k])
        title = "these answers are impossible together under the model"
        remedy = "change or take back one of the answers, or answer null for unknown"
        raise Problem(409, title, field=f"history[{k}]", value=said, remedy=remedy) from None


def _ranked(model: ServedModel, gains: Any, best: int, top: int, words: Messages) -> list[dict[str, Any]]:
    queries = model.pursuit.queries
    keys = np.nan_to_num(Ranking.of(model.pursuit.query_costs).scores(gains), nan=-1.0)
    keys[best] = np.inf  # first also among those that are as good within rounding
    order = [int(q) for q in np.argsort(-keys, kind="stable")[:top] if not np.isnan(gains[q])]
    return [
        {"name": queries.names[q], "sentence": words.question(queries[q]),
         "gain": _amount(float(gains[q]))}
        for q in order
    ]  # fmt: skip


def _why(model: ServedModel, state: State[Any], query: int, gain: float, gains: Any, words: Messages) -> dict[str, Any]:
    """The expected information gain, and where this is cheap the posterior after each answer."""
    pursuit = model.pursuit
    if np.isnan(gain):  # the strategy has scores, which are not information
        gain, sentence = float(np.nan_to_num(gains[query])), words("why.score")
    else:
        entropy_bits, bits = (_amount(nats)["bits"] for nats in (entropy(state.posterior[0]), gain))
        share = f" ({words.percent(bits / entropy_bits)})" if entropy_bits > 1e-9 else ""
        shown = {"gain": words.number(f"{bits:.2f}"), "open": words.number(f"{entropy_bits:.2f}"), "share": share}
        sentence = words("page.why.bits" if pursuit.costs is None else "page.why.bits_cost", **shown)
    return {"gain": _amount(gain), "sentence": sentence, "answers": _look_ahead(pursuit, state, query, words)}


def _look_ahead(pursuit: Pursuit[Any], state: State[Any], query: int, words: Messages) -> list[dict[str, Any]] | None:
    """The probability of each answer and the posterior after it; None where that is expensive."""
    choices = pursuit.queries.choices(query)
    predicts = pursuit.belief.capabilities.answers
    if len(choices) > MAX_LOOK_AHEAD or not (pursuit.exact_gains or predicts):
        return None
    outcomes = {outcome.said: outcome for outcome in look_ahead(pursuit, state, query)}
    found = []
    for choice, label in zip(choices, case.choices(pursuit.queries, query, words), strict=True):
        said = pursuit.queries.say_answer(query, pursuit.queries.to_answer(query, choice))
        one = outcomes.get(said)  # an impossible one is not among them
        then = [] if one is None else [{"class": str(c), "probability": p} for c, p in one.leaders]
        probability = 0.0 if one is None else one.probability
        found.append({"answer": choice, "label": label, "probability": probability, "then": then})
    return found


def _amount(nats: Any) -> dict[str, float]:
    nats = max(0.0, float(nats))
    return {"nats": nats, "bits": nats / math.log(2)}
