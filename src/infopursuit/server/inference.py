"""What a request asks of a model: from JSON to histories and inputs, and from the posterior back to JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from infopursuit.acquisition.ranking import Ranking
from infopursuit.acquisition.tables import entropy
from infopursuit.conversation import look_ahead
from infopursuit.engine import Pursuit
from infopursuit.explanation import NOVELTY_QUERY, Explanation, percent, reason_text
from infopursuit.noise import read_answer
from infopursuit.queries.columns import Columns
from infopursuit.queries.groups import Groups
from infopursuit.queries.patches import Patches
from infopursuit.queries.words import Words
from infopursuit.server.errors import Problem, invalid
from infopursuit.server.registry import ServedModel
from infopursuit.session import put_aside
from infopursuit.session import read_known as known_history
from infopursuit.state import State
from infopursuit.types import UNKNOWN, History, ImpossibleAnswer, Observed, Said

MAX_LISTED = 16  # choices of a question; of more only their number is told
MAX_LOOK_AHEAD = 8  # choices of a question for which the posterior after each is computed


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
        if isinstance(choice, dict) and not getattr(model.pursuit.belief, "accepts_noise", False):
            remedy = "answer with one of the choices, or null for unknown"
            raise invalid(f"the model {model.name} takes no soft answers", f"history[{k}].answer", said, remedy)
        try:
            if isinstance(choice, float) and scale is None and index not in queries.number_labels:
                raise ValueError("a number, which is not the index of a choice here")
            history.append((index, read_answer(queries, index, choice)))
        except ValueError:
            choices = queries.choices(index)
            some = ", ".join(map(repr, choices[:MAX_LISTED])) + (", ..." if len(choices) > MAX_LISTED else "")
            number = "" if scale is None else f"{scale.hint}, "
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
    model: ServedModel, history: History, known: History, later: tuple[int, ...], top: int, explain: bool
) -> dict[str, Any]:
    """The posterior after a history and the next question (`schemas.NextResponse`); the state is cached."""
    pursuit = model.pursuit
    step = put_aside(pursuit, pursuit.propose(_state(model, history, known)), later)
    state = model.states[known, history] = step.state
    posterior, gains = state.posterior[0], pursuit.utilities(state).value[0]
    best, leader, reason = int(step.choice.query[0]), int(posterior.argmax()), step.reason[0] or None
    asks = best != UNKNOWN
    warns = reason is not None and pursuit.novelty is not None
    return {
        "model": model.name, "n_asked": len(history),
        "prediction": model.classes[leader], "confidence": float(posterior[leader]),
        "posterior": dict(zip(model.classes, posterior.tolist(), strict=True)),
        "entropy": _amount(entropy(posterior)), "exact_gains": pursuit.exact_gains,
        "calibrated": pursuit.calibrated,
        "question": query_info(pursuit, best) if asks else None,
        "stop_reason": reason, "stopped_in_words": None if reason is None else reason_text(reason),
        "ranked": _ranked(pursuit, gains, best, top) if asks else [],
        "why": _why(pursuit, state, best, float(step.choice.gain[0]), gains) if asks else None,
        "warning": explain_history(model, history, known).warning or None if warns else None,
        "so_far": [
            *(f"known: {pursuit.queries.say(query, answer)}" for query, answer in known),
            *(pursuit.queries.say(query, answer) for query, answer in history),
        ],
        "explanation": json.loads(explain_history(model, history, known).to_json()) if explain else None,
    }  # fmt: skip


def explain_history(model: ServedModel, history: History, known: History = ()) -> Explanation:
    """The history as an explanation."""
    _state(model, history, known)  # `Problem` for one that is impossible
    return model.pursuit.session(history, known=dict(known)).explanation


def explain_inputs(model: ServedModel, values: Observed) -> list[dict[str, Any]]:
    """Explanations of inputs (`schemas.Explained`)."""
    trace = model.pursuit.run_values(values, progress=False)
    return [{"explanation": json.loads(one.to_json()), "text": one.to_text()} for one in trace]


def query_info(pursuit: Pursuit[Any], index: int) -> dict[str, Any]:
    """A query as JSON data (`schemas.Question`)."""
    query, queries = pursuit.queries[index], pursuit.queries
    found: dict[str, Any] = {
        "name": query.name, "sentence": query.sentence, "n_choices": len(query.choices),
        "patch": None, "components": None, "choices": list(query.choices) if len(query.choices) <= MAX_LISTED else None,
        "cost": None if pursuit.costs is None else float(pursuit.query_costs[index]),
        "number": None if (scale := queries.scale(index)) is None else scale.describe(),
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


def _ranked(pursuit: Pursuit[Any], gains: Any, best: int, top: int) -> list[dict[str, Any]]:
    keys = np.nan_to_num(Ranking.of(pursuit.query_costs).scores(gains), nan=-1.0)
    keys[best] = np.inf  # first also among those that are as good within rounding
    order = [q for q in np.argsort(-keys, kind="stable")[:top] if not np.isnan(gains[q])]
    names, sentences = pursuit.queries.names, pursuit.queries.sentences
    return [{"name": names[q], "sentence": sentences[q], "gain": _amount(float(gains[q]))} for q in order]


def _why(pursuit: Pursuit[Any], state: State[Any], query: int, gain: float, gains: Any) -> dict[str, Any]:
    """The expected information gain, and where this is cheap the posterior after each answer."""
    sentence = NOVELTY_QUERY
    if np.isnan(gain):  # a check
        gain = float(np.nan_to_num(gains[query]))
    else:
        entropy_bits, bits = (_amount(nats)["bits"] for nats in (entropy(state.posterior[0]), gain))
        share = f" ({percent(bits / entropy_bits)})" if entropy_bits > 1e-9 else ""
        than = "any other question" + ("" if pursuit.costs is None else " for what it costs")
        sentence = f"It is expected to settle {bits:.2f} of the {entropy_bits:.2f} bits that are still open{share}, "
        sentence += f"more than {than}."
    return {"gain": _amount(gain), "sentence": sentence, "answers": _look_ahead(pursuit, state, query)}


def _look_ahead(pursuit: Pursuit[Any], state: State[Any], query: int) -> list[dict[str, Any]] | None:
    """The probability of each answer and the posterior after it; None where that is expensive."""
    choices = pursuit.queries.choices(query)
    if len(choices) > MAX_LOOK_AHEAD or not pursuit.exact_gains:
        return None
    outcomes = {outcome.said: outcome for outcome in look_ahead(pursuit, state, query)}
    found = []
    for choice in choices:
        said = pursuit.queries.say_answer(query, pursuit.queries.to_answer(query, choice))
        one = outcomes.get(said)  # an impossible one is not among them
        then = [] if one is None else [{"class": str(c), "probability": p} for c, p in one.leaders]
        found.append({"answer": choice, "probability": 0.0 if one is None else one.probability, "then": then})
    return found


def _amount(nats: Any) -> dict[str, float]:
    nats = max(0.0, float(nats))
    return {"nats": nats, "bits": nats / math.log(2)}
