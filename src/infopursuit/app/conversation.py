"""What front ends of a session share: what a person's words mean, why a question is asked, and sessions in files."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.noise import read_answer
from infopursuit.pursuit.session import Session
from infopursuit.pursuit.state import Branches, State
from infopursuit.queries.groups import NOT_KNOWN, Component, Groups
from infopursuit.queries.numbers import format_date
from infopursuit.queries.patches import MAX_DIGITS, Patches
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative.answer_tables import entropy
from infopursuit.support.files import write_atomically
from infopursuit.support.messages import Messages, load
from infopursuit.support.types import UNKNOWN, Answer, History, Number, Query, Said, SoftAnswer

MAX_NAMES = 1000
"""Answers whose names are compared; a question with more reveals several variables, which have no names."""


# ---- what is said ---------------------------------------------------------------------------------------------------


class Word(Enum):
    """What may be said besides an answer; the catalogues have the ways to say it, English always works."""

    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not_applicable"
    LATER = "later"
    BACK = "back"
    WHY = "why"
    WHY_NOT = "why_not"
    KNOWN = "known"
    MORE = "more"
    STOP = "stop"
    HELP = "help"


@dataclass(frozen=True)
class Command:
    """A word that is said about something: "why not cat", "known age=31". about: empty where nothing follows."""

    word: Word
    about: str = ""


LIT, DARK, HIDDEN = "1#x█", "0.-·", "?"
"""How the pixels of a patch may be written."""
PROBABILITIES = {"probably": 0.8, "maybe": 0.65}
"""The probability of an answer that follows such a word."""
PERCENT = re.compile(r"(?P<answer>.*[^\s,]),?\s+(?P<percent>\d{1,3}(?:[.,]\d+)?)\s*%")
MAX_SHOWN = 8
"""Choices that an error names."""


def understand(
    text: str, queries: QuerySet, query: int, words: Messages | None = None
) -> Word | Command | Said:  # fmt: skip
    """A line that somebody wrote, as a word or as an answer; else an error that says what would do.

    An answer in full comes first, then the words, then the beginning of an answer: in a question whose answers are
    "small" and "large", "s" is "stop" and "sm" is "small". "probably yes", "maybe no" and "yes 70 %" are soft answers.
    """
    words, said = words or load(), _normal(text)
    names = _names(queries, query, words)
    if said not in names:
        if (found := command(text, words)) is not None:
            return found
        rest, probability = _soft(said, words)
        if probability is not None:
            meant = _parse(rest, queries, query, words)
            if isinstance(meant, Word) or meant is None:
                raise ValueError(words("error.soft", said=_shown(text), choice=names[0]))
            return read_answer(queries, query, meant, probability)
    return _parse(said, queries, query, words)


def command(text: str, words: Messages) -> Command | None:
    """A word about something, None where it is none."""
    plain = " ".join(text.replace("’", "'").split())
    for word in (Word.WHY_NOT, Word.KNOWN):
        for way in sorted(words.ways(word.value), key=len, reverse=True):
            if plain.lower() == way or plain.lower().startswith(f"{way} "):
                return Command(word, plain[len(way) :].strip(" ?\uff1f"))
    return None


def word_of(text: str, words: Messages) -> Word | None:
    """What is said besides answers, None where it is something else."""
    return next((each for each in Word if _normal(text) in words.ways(each.value)), None)


def is_numbered(choices: Sequence[str]) -> bool:
    """Whether answers may be given by number: more than two, and none that is a number itself."""
    return 2 < len(choices) <= 99 and not any(str(choice).strip().lstrip("-").isdigit() for choice in choices)


def no_answer(words: Messages, what: str, said: str, choices: Sequence[str], hint: str = "") -> ValueError:
    """What is wrong with what was said, what may have been meant, and what may be said instead."""
    known = {_normal(each): each for each in choices[:MAX_NAMES]}
    ways = {word: words.ways(word.value) for word in Word}
    known |= {way: ways[word][0] for word in Word for way in ways[word] if len(way) > 2 and way not in known}
    near = difflib.get_close_matches(_normal(said), list(known), n=1, cutoff=0.6)
    if near:
        what = words("error.did_you_mean", what=what, name=known[near[0]])
    listed = words.texts["comma"].join(choices[:MAX_SHOWN]) + (", ..." if len(choices) > MAX_SHOWN else "")
    say = words("error.say", hint=hint) if hint else words("error.say_one", choices=listed)
    return ValueError(words("error.line", what=what, say=say, help=words.ways("help")[0]))


def _normal(text: Any) -> str:
    return " ".join(str(text).lower().replace("’", "'").split())


def _shown(text: str) -> str:
    """What somebody typed, fit to be shown."""
    return "".join(each if each.isprintable() else "?" for each in text.strip())[:80]


def _names(queries: QuerySet, query: int, words: Messages) -> list[str]:
    """The choices, each in the language and as the query set calls it."""
    asked = queries[query]
    choices = asked.choices[:MAX_NAMES]
    return [_normal(each) for choice in choices for each in (words.answer(asked, choice), choice)]


def _soft(said: str, words: Messages) -> tuple[str, float | None]:
    for word, probability in PROBABILITIES.items():
        for way in words.ways(word):
            if said.startswith(way) and len(said) > len(way):  # some languages leave no space after it
                rest = said.removeprefix(way)
                if rest[0] == " " or not rest[0].isascii():
                    return rest.strip(), probability
    found = PERCENT.fullmatch(said)
    return (said, None) if found is None else (found["answer"], float(found["percent"].replace(",", ".")) / 100)


def _parse(said: str, queries: QuerySet, query: int, words: Messages) -> Word | Answer | Number:
    """What was said, taken as certain."""
    choices = queries.choices(query)
    components = queries.components(query) if isinstance(queries, Groups) else ()
    wide = (queries.query_variables[query] >= 0).sum() > 1
    several = bool(components) or wide or int(queries.n_answers[query]) != len(choices)
    names = [] if several else _names(queries, query, words)  # two for each choice
    scale = queries.scale(query)
    at = _choice(said, names, numbered=is_numbered(choices) and scale is None)
    if at is not None:
        return queries.to_answer(query, choices[at])
    if (spoken := word_of(said, words)) is not None:
        return spoken
    if scale is not None:
        plain = re.sub(r"(?<=\d),(?=\d)", ".", said) if words.texts["decimal"] == "," else said
        with contextlib.suppress(ValueError):
            return queries.to_answer(query, plain)
    if several:
        return _cells(said, queries, query, components, words)
    starting = {i // 2 for i, name in enumerate(names) if said and name.startswith(said)}
    if len(starting) == 1:
        return queries.to_answer(query, choices[starting.pop()])
    begun = [each for each in Word if len(said) > 1 and any(way.startswith(said) for way in words.ways(each.value))]
    if begun and not starting:
        return begun[0]
    what = (
        words("error.empty")
        if not said
        else words(f"error.{'several' if starting else 'no_answer'}", said=_shown(said))
    )
    listed = [words.answer(queries[query], choice) for choice in choices[:MAX_NAMES]]
    raise no_answer(words, what, said, listed, "" if scale is None else words.hint(scale))


def _choice(said: str, names: Sequence[str], *, numbered: bool) -> int | None:
    """The choice that is meant; ``names`` has two for each."""
    if said in names:
        return names.index(said) // 2
    numbered = numbered and said.isascii() and said.isdigit()
    return int(said) - 1 if numbered and 1 <= int(said) <= len(names) // 2 else None


def _cells(
    said: str, queries: QuerySet, query: int, components: Sequence[Component], words: Messages
) -> Answer | Number:  # fmt: skip
    """An answer about several variables: pixels of a patch, the components of a group, else a joint choice."""
    if components:
        return _panel(said, components, queries, query, words)
    if not isinstance(queries, Patches):
        return queries.to_answer(query, said)
    marks = list(said.replace("/", "").replace(",", "").replace(" ", ""))
    known: dict[str, int] = {**dict.fromkeys(LIT, 1), **dict.fromkeys(DARK, 0), HIDDEN: UNKNOWN}
    if queries.n_levels > 2 or queries.channels > 1:  # levels with something between them; up to ten need nothing
        marks = marks if queries.n_levels <= MAX_DIGITS else said.replace("/", " ").replace(",", " ").split()
        known = {**{str(level): level for level in range(queries.n_levels)}, HIDDEN: UNKNOWN}
    if len(marks) != int((queries.query_variables[query] >= 0).sum()) or any(mark not in known for mark in marks):
        hint = queries.hint(query, words)
        raise no_answer(words, words("error.patch", said=_shown(said)), "", (), hint)
    return queries.to_answer(query, [known[mark] for mark in marks])


def _panel(
    said: str, components: Sequence[Component], queries: QuerySet, query: int, words: Messages
) -> Answer | Number:  # fmt: skip
    """A group component by component: "y n ?", with commas where answers have several words; or in full."""
    said = said.replace("\uff0c", ",")  # as Chinese keyboards have it
    parts = [said] if len(components) == 1 else said.split(",") if "," in said else said.split()
    if len(parts) != len(components):
        with contextlib.suppress(ValueError):
            return queries.to_answer(query, said)
        what = words("error.components", said=_shown(said), found=len(parts), n=len(components))
        raise ValueError(words("error.line", what=what, say=words("error.give_components"), help=words.ways("help")[0]))
    try:
        given = [_component(part.strip(), one, words) for part, one in zip(parts, components, strict=True)]
        return queries.to_answer(query, given)
    except _Unclear:
        return queries.to_answer(query, said)


class _Unclear(ValueError):
    """A part of an answer that could be part of a longer one."""


def _component(said: str, component: Component, words: Messages) -> str | None:
    """A choice of one component by name, number or first letters; None for not known."""
    if said in (*words.ways("unknown"), NOT_KNOWN):
        return None
    asked = Query(0, component.name, f"{component.name}?", component.choices)
    local = [words.answer(asked, choice) for choice in component.choices]
    names = [_normal(each) for both in zip(local, component.choices, strict=True) for each in both]
    at = _choice(said, names, numbered=is_numbered(component.choices) and not component.bounds)
    if at is not None:
        return component.choices[at]
    with contextlib.suppress(ValueError):
        return component.choices[component.cell_of(float(said))]
    starting = {i // 2 for i, name in enumerate(names) if said and name.startswith(said)}
    if len(starting) == 1:
        return component.choices[starting.pop()]
    if ":" in said:
        raise _Unclear(said)
    kind = {"said": _shown(said)} if starting else {"said": _shown(said), "name": component.name}
    raise no_answer(words, words("error.several" if starting else "error.no_answer_for", **kind), said, local)


# ---- why it is asked ------------------------------------------------------------------------------------------------

MAX_ANSWERS = 512
"""Answers that are enumerated: all patterns of a 3 x 3 patch."""


@dataclass(frozen=True)
class Outcome:
    """One possible answer: in words, its probability, and the posterior after it.

    candidates: exp(entropy of that posterior). leaders: the most probable classes of half a percent or more, with their
    posteriors.
    """

    said: str
    probability: float
    candidates: float
    leaders: tuple[tuple[Any, float], ...]


def look_ahead(pursuit: Pursuit[Any], state: State[Any], query: int, *, top: int = 3) -> list[Outcome]:
    """What each possible answer would mean, the most probable first; empty where there are more than `MAX_ANSWERS`.

    p(answer | history) = p(history, answer) / p(history), or what the belief predicts; empty where it predicts nothing.
    """
    n_cells = [int(n) for n in pursuit.queries.n_cells[query]]
    if np.prod(n_cells, dtype=float) > MAX_ANSWERS:
        return []
    cells = np.array(list(product(*map(range, n_cells))), dtype=np.int64)  # padding has one cell
    cells[:, pursuit.queries.query_variables[query] < 0] = -1
    n = len(cells)
    branches = Branches(np.zeros(n, dtype=np.int64), np.full(n, query), cells)
    after = pursuit.absorb(state, branches, state.watch)
    belief = pursuit.belief
    if np.isfinite(state.log_evidence[0]):
        probability = np.where(after.impossible, 0.0, np.exp(after.log_evidence - state.log_evidence[0]))
    elif belief.capabilities.answers:
        probability = np.asarray(belief.answer_distribution(state.belief, query))[0]
    else:
        return []
    probability = probability / probability.sum()
    outcomes = []
    wide = int((pursuit.queries.query_variables[query] >= 0).sum())
    for i in np.argsort(-probability, kind="stable"):
        if probability[i] <= 0:
            break
        said = pursuit.queries.say_answer(query, tuple(int(c) for c in cells[i, :wide]))
        believed = np.asarray(after.posterior[i])
        candidates = float(np.exp(entropy(believed)))
        best = [c for c in np.argsort(-believed, kind="stable")[:top] if believed[c] >= 0.005]
        leaders = tuple((pursuit.classes[c], float(believed[c])) for c in best)
        outcomes.append(Outcome(said, float(probability[i]), candidates, leaders))
    return outcomes


# ---- kept in a file -------------------------------------------------------------------------------------------------

FORMAT = "infopursuit.pursuit.session/1"
WEIGHTS = "weights"
"""The key of the weights of a soft answer about several variables."""
MAX_BYTES = 2**20
"""A larger file is refused before it is read."""


def fingerprint(pursuit: Pursuit[Any]) -> str:
    """A checksum of the classes, the queries and their answers."""
    queries, model = pursuit.queries, pursuit.belief if pursuit.model is None else pursuit.model
    kind = getattr(model, "kind", type(model).__name__)
    content = {
        "classes": [str(label) for label in pursuit.classes],
        "model": [kind, getattr(model, "n_states", None), list(queries.variables.sizes)],
        "queries": [queries.kind, list(queries.names), queries.n_answers.tolist()],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def history_of(session: Session) -> list[dict[str, Any]]:
    """The history as JSON data: the name of each query, and a choice, a number (a date as text), a list of cells,
    {choice: probability} for a soft answer, or null for not known."""
    return _steps(session.pursuit.queries, session.history)


def _steps(queries: QuerySet, history: History) -> list[dict[str, Any]]:
    return [{"query": queries.names[q], "answer": _written(queries, q, answer)} for q, answer in history]


def save_session(session: Session, file: Path) -> None:
    """Write the history to a file, atomically."""
    data = {"format": FORMAT, "model": fingerprint(session.pursuit), "history": history_of(session)}
    data |= {"known": _steps(session.pursuit.queries, session.known)} if session.known else {}
    write_atomically(file, (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode())


def resume_session(pursuit: Pursuit[Any], file: Path) -> Session:
    """A session that continues what `save_session` wrote; refused where it belongs to another model."""
    if file.exists() and not file.is_file():  # who opens a pipe waits for ever
        raise ValueError(f"{file} is no file but a folder, a pipe or a device; give a file that --save wrote")
    if file.stat().st_size > MAX_BYTES:
        raise ValueError(f"{file} has more than {MAX_BYTES} bytes; it is no saved session")
    try:
        data = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise ValueError(f"{file} is not JSON, so it is no saved session; give a file that --save wrote") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{file} is no saved session of format {FORMAT!r}; give a file that --save wrote")
    if data.get("model") != fingerprint(pursuit):
        raise ValueError(f"{file} belongs to another model: its classes or queries differ; name the one it is of")
    try:
        known, history = (
            [(s["query"], _read(s["answer"])) for s in data.get(part, ())] for part in ("known", "history")
        )
        return pursuit.session(history, known=dict(known))
    except (LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {type(error).__name__}: {str(error)[:300]}") from None


def _written(queries: QuerySet, query: int, answer: Said) -> Any:
    if answer is None:
        return None
    if isinstance(answer, SoftAnswer):
        if len(answer.weights) > 1:
            return {WEIGHTS: [list(cells) for cells in answer.weights]}
        (weights,) = answer.weights
        return {choice: weight / sum(weights) for choice, weight in zip(queries.choices(query), weights, strict=True)}
    if isinstance(answer, Number):
        scale = queries.scale(query)
        return format_date(answer.value, time_of_day=True) if scale is not None and scale.date else answer.value
    return list(answer) if len(answer) > 1 else queries.choices(query)[answer[0]]


def _read(answer: Any) -> Any:
    if isinstance(answer, dict) and set(answer) == {WEIGHTS}:
        return SoftAnswer(tuple(tuple(float(weight) for weight in cells) for cells in answer[WEIGHTS]))
    if answer is None or isinstance(answer, (str, list, dict)) or type(answer) in (int, float):
        return answer
    raise TypeError(
        f"answer is {answer!r}; expected a choice, a number, a list of cells, {{choice: probability}} or null"
    )
