"""One turn of a conversation: from the history that came in to what is believed, what to ask next, and why."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from infopursuit.answerers.hearing import heard
from infopursuit.conversation import entropy, look_ahead
from infopursuit.engine import Pursuit, State
from infopursuit.explanation import CHECK, REASONS, Explanation, percent
from infopursuit.information.prices import Prices
from infopursuit.posteriors import ExactPosterior
from infopursuit.queries.panels import Panels
from infopursuit.queries.patches import Patches
from infopursuit.server.limits import Problem
from infopursuit.server.shelf import Offer
from infopursuit.types import UNKNOWN, History, ImpossibleAnswer, Said

LISTED = 16
"""Questions with more answers than this have their number told, not a list of them."""
WEIGHED = 8
"""Questions with more answers than this are not tried out with each of them to say why they are asked."""
NATS_PER_BIT = math.log(2)


def read_history(offer: Offer, items: Sequence[tuple[str, str | dict[str, float] | None]]) -> History:
    """The history that names and choices describe; what does not fit is told with its place."""
    queries = offer.pursuit.queries
    history: list[tuple[int, Said]] = []
    for k, (name, choice) in enumerate(items):
        index = offer.index_of.get(name)
        if index is None:
            raise Problem(
                422,
                f"the model {offer.name} has no query of this name in its version {offer.version}",
                field=f"history[{k}].query",
                value=name,
                remedy=f"GET /v1/models/{offer.name} lists the names; where the model was replaced since it asked, "
                "leave this answer out or start again",
            )
        if isinstance(choice, dict) and not offer.pursuit.posterior.weighs:
            raise Problem(
                422,
                f"the model {offer.name} takes answers as they are only",
                field=f"history[{k}].answer",
                value=str(choice),
                remedy="answer with one of the choices, or null for not known",
            )
        try:
            history.append((index, heard(queries, index, choice)))
        except ValueError:
            choices = queries.choices(index)
            some = ", ".join(repr(c) for c in choices[:LISTED]) + (", ..." if len(choices) > LISTED else "")
            raise Problem(
                422,
                f"this is no answer to {name!r}",
                field=f"history[{k}].answer",
                value=None if choice is None else str(choice),
                remedy=f"answer with one of {some}, {{choice: probability}} that sum to 1, or null for not known",
            ) from None
    return tuple(history)


def turn(offer: Offer, history: History, top: int, explain: bool) -> dict[str, Any]:
    """What follows from a history: the same for everybody who sends it.

    The state that it leads to is remembered, since a conversation comes back with one answer more.
    """
    pursuit = offer.pursuit
    state = _state(offer, history)
    state, proposal = pursuit.gains(state, [0])
    offer.states.keep(history, state, 2 * pursuit.posterior.row_bytes + 8192)
    step = pursuit.propose(state)
    posterior = state.posterior[0]
    best = int(step.query[0])
    reason = step.reason[0] or None
    leader = int(posterior.argmax())
    return {
        "model": offer.name,
        "n_asked": len(history),
        "prediction": offer.classes[leader],
        "confidence": float(posterior[leader]),
        "posterior": dict(zip(offer.classes, posterior.tolist(), strict=True)),
        "entropy": _amount(entropy(posterior)),
        "question": None if best == UNKNOWN else question(pursuit, best),
        "stopped_because": reason,
        "stopped_in_words": None if reason is None else REASONS.get(reason, reason),
        "ranked": [] if best == UNKNOWN else _ranked(pursuit, proposal.gains[0], best, top),
        "why": None if best == UNKNOWN else _why(offer, state, best, float(step.gain[0]), proposal.gains[0]),
        "warning": None if reason is None else _warning(offer, history),
        "so_far": [pursuit.queries.say(query, answer) for query, answer in history],
        "exact_gains": pursuit.chooser.exact,
        "explanation": json.loads(explanation_of(offer, history).to_json()) if explain else None,
    }


def explanation_of(offer: Offer, history: History) -> Explanation:
    """The history as an explanation."""
    _state(offer, history)  # one that cannot be is told of in the same words
    return offer.pursuit.session(history).explanation


def _state(offer: Offer, history: History) -> State:
    """The state that a history leads to; one that cannot be is told of."""
    pursuit = offer.pursuit
    try:
        return pursuit.at(history, offer.states.find(history[:-1]) if history else None)
    except ImpossibleAnswer as error:
        place = re.match(r"history\[(\d+)\]", str(error))
        k = int(place[1]) if place else len(history) - 1
        raise Problem(
            409,
            "these answers cannot all be true under the model",
            field=f"history[{k}]",
            value=pursuit.queries.say(*history[k]),
            remedy="change or take back one of the answers, or answer null for not known",
        ) from None


def question(pursuit: Pursuit, index: int) -> dict[str, Any]:
    """A query as JSON; a patch also says which pixels it is about."""
    query = pursuit.queries[index]
    found: dict[str, Any] = {
        "name": query.name,
        "sentence": query.sentence,
        "choices": list(query.choices) if len(query.choices) <= LISTED else None,
        "n_choices": len(query.choices),
        "patch": None,
        "things": None,
        "cost": None if pursuit.costs is None else float(pursuit.costs[index]),
    }
    if isinstance(pursuit.queries, Panels) and pursuit.queries.things(index):
        told = pursuit.queries.things(index)
        found["things"] = [
            {
                "name": thing.name,
                "choices": list(thing.choices),
                "answers": [thing.phrase(cell) for cell in range(len(thing.choices))],
                "unknown": thing.phrase(UNKNOWN),
            }
            for thing in told
        ]
    if isinstance(pursuit.queries, Patches):
        (row, column), (rows, columns) = pursuit.queries.corners[index], pursuit.queries.size
        found["patch"] = {"row": row, "column": column, "rows": rows, "columns": columns}
    return found


def _ranked(pursuit: Pursuit, gains: Any, best: int, top: int) -> list[dict[str, Any]]:
    keys = np.nan_to_num(Prices.of(pursuit.bound.costs).scores(gains), nan=-1.0)
    keys[best] = np.inf  # first also among those that are as good within rounding
    order = [q for q in np.argsort(-keys, kind="stable")[:top] if not np.isnan(gains[q])]
    names, sentences = pursuit.queries.names, pursuit.queries.sentences
    return [{"name": names[q], "sentence": sentences[q], "gain": _amount(float(gains[q]))} for q in order]


def _warning(offer: Offer, history: History) -> str | None:
    """What is to be said about answers that are unlike those of training."""
    return None if offer.pursuit.reference is None else explanation_of(offer, history).warning or None


def _why(offer: Offer, state: State, query: int, gain: float, gains: Any) -> dict[str, Any]:
    """What the question is expected to tell, and where this is cheap what would be believed after each answer."""
    if np.isnan(gain):  # a check
        told = float(np.nan_to_num(gains[query]))
        return {"gain": _amount(told), "sentence": CHECK, "answers": _weigh(offer, state, query)}
    open_bits, told = entropy(state.posterior[0]) / NATS_PER_BIT, gain / NATS_PER_BIT
    share = f" ({percent(told / open_bits)})" if open_bits > 1e-9 else ""
    return {
        "gain": _amount(gain),
        "sentence": f"It is expected to settle {told:.2f} of the {open_bits:.2f} bits that are still open{share}, "
        f"more than any other question{'' if offer.pursuit.costs is None else ' for what it costs'}.",
        "answers": _weigh(offer, state, query),
    }


def _weigh(offer: Offer, state: State, query: int) -> list[dict[str, Any]] | None:
    """How probable each answer is, and what would be believed after it; None where that is not cheap."""
    pursuit = offer.pursuit
    choices = pursuit.queries.choices(query)
    if len(choices) > WEIGHED or not isinstance(pursuit.posterior, ExactPosterior):
        return None
    outcomes = {outcome.said: outcome for outcome in look_ahead(pursuit, state, query)}
    found = []
    for choice in choices:
        one = outcomes.get(choice)  # one that cannot be given is not among them
        likely = [] if one is None else [{"class": str(c), "probability": p} for c, p in one.leaders]
        found.append({"answer": choice, "probability": 0.0 if one is None else one.probability, "then": likely})
    return found


def _amount(nats: float) -> dict[str, float]:
    """An amount of information in both units."""
    return {"nats": nats, "bits": nats / NATS_PER_BIT}
