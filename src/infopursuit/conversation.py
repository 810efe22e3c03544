"""A conversation without its terminal: what a person's words mean, and a session that is kept in a file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from infopursuit.engine import Pursuit
from infopursuit.files import write_atomically
from infopursuit.noise import read_answer
from infopursuit.queries.groups import NOT_KNOWN, Groups, Thing
from infopursuit.queries.patches import Patches
from infopursuit.queries.queryset import QuerySet
from infopursuit.session import Session
from infopursuit.types import UNKNOWN, Answer, Likely, Said

FORMAT = "infopursuit.session/1"
WEIGHTS = "weights"
"""Under this name stand the weights of an answer about several atoms that is not certain."""
MOST_NAMES = 1000
"""Answers whose names are gone through; a question with more is about several things, which have no names."""
MOST_BYTES = 2**20
"""A file of answers larger than this is refused before it is read."""


class Word(Enum):
    """What may be said besides an answer."""

    UNKNOWN = "don't know"
    BACK = "back"
    WHY = "why"
    STOP = "stop"
    HELP = "help"


WORDS = {
    Word.UNKNOWN: ("don't know", "dont know", "d", "?", "unknown", "skip", "not sure"),
    Word.BACK: ("back", "b", "undo"),
    Word.WHY: ("why", "w", "why?"),
    Word.STOP: ("stop", "s", "quit", "q", "exit"),
    Word.HELP: ("help", "h"),
}
LIT, DARK, HIDDEN = "1#x█", "0.-·", "?"
"""How the pixels of a patch may be written."""


SURE = {"probably": 0.8, "likely": 0.8, "i think": 0.8, "maybe": 0.65, "perhaps": 0.65}
"""How sure somebody is who says this before an answer."""
SHARE = re.compile(r"(?P<answer>.*[^\s,]),?\s+(?P<percent>\d{1,3}(?:\.\d+)?)\s*%")


def understand(text: str, queries: QuerySet, query: int) -> Word | Said:
    """A line that somebody wrote, as a word or as an answer; else an error that says what would do.

    An answer in full comes first, then the words, then the beginning of an answer: in a question whose answers are
    "small" and "large", "s" is "stop" and "sm" is "small". "probably yes", "maybe no" and "yes 70 %" are answers that
    are not certain.
    """
    said = " ".join(text.strip().lower().replace("’", "'").split())
    names = [" ".join(str(choice).lower().split()) for choice in queries.choices(query)[:MOST_NAMES]]
    if said not in names:
        rest, sure = _how_sure(said)
        if sure is not None:
            meant = _plainly(rest, rest, queries, query)
            if isinstance(meant, Word) or meant is None:
                raise ValueError(f"{text.strip()!r} does not say what is likely; say an answer too, such as {names[0]}")
            return read_answer(queries, query, meant, sure)
    return _plainly(said, text, queries, query)


def _how_sure(said: str) -> tuple[str, float | None]:
    """What was said without how sure somebody is of it, and that."""
    for word, sure in SURE.items():
        if said.startswith(f"{word} "):
            return said.removeprefix(word).strip(), sure
    share = SHARE.fullmatch(said)
    return (said, None) if share is None else (share["answer"], float(share["percent"]) / 100)


def _plainly(said: str, text: str, queries: QuerySet, query: int) -> Word | Answer:
    """What was said, taken as it is; ``text`` is how it was written."""
    choices = queries.choices(query)
    together = isinstance(queries, Groups) and bool(queries.things(query))
    several = together or int(queries.n_answers[query]) != len(choices) or (queries.query_atoms[query] >= 0).sum() > 1
    if not several:
        names = [" ".join(str(choice).lower().split()) for choice in choices]
        if said in names:
            return queries.to_answer(query, names.index(said))
        if is_numbered(choices) and said.isascii() and said.isdigit() and 1 <= int(said) <= len(choices):
            return queries.to_answer(query, int(said) - 1)
    for word, ways in WORDS.items():
        if said in ways:
            return word
    if several:
        return _cells(said, queries, query)
    starting = [i for i, name in enumerate(names) if said and name.startswith(said)]
    if len(starting) == 1:
        return queries.to_answer(query, starting[0])
    if said and not starting:
        words = [word for word in Word if len(said) > 1 and word.value.startswith(said)]
        if words:
            return words[0]
    shown = ", ".join(str(choice) for choice in list(choices)[:8]) + (", ..." if len(choices) > 8 else "")
    what = "could mean several answers" if starting else "is no answer here" if said else "An empty line is no answer"
    raise ValueError((f"{text.strip()!r} {what}" if said else what) + f"; say one of: {shown}; or help")


def is_numbered(choices: Sequence[str]) -> bool:
    """Whether answers may be given by number: more than two, and none that is a number itself."""
    return 2 < len(choices) <= 99 and not any(str(choice).strip().lstrip("-").isdigit() for choice in choices)


def _cells(said: str, queries: QuerySet, query: int) -> Answer:
    """The cells of a query about several atoms: of a patch as rows of pixels, of a panel thing by thing, else as one of
    its joint choices."""
    if isinstance(queries, Groups) and queries.things(query):
        return _panel(said, queries.things(query), queries, query)
    if not isinstance(queries, Patches):
        return queries.to_answer(query, said)
    high, wide = queries.size
    marks = said.replace("/", "").replace(",", "").replace(" ", "")
    known = {**dict.fromkeys(LIT, 1), **dict.fromkeys(DARK, 0), HIDDEN: UNKNOWN}
    if len(marks) != high * wide or any(mark not in known for mark in marks):
        example = "/".join("".join("1" if r == high // 2 else "0" for _ in range(wide)) for r in range(high))
        raise ValueError(
            f"{said!r} is no patch; give {high} rows of {wide} pixels, 1 for lit, 0 for dark and ? for not known, such "
            f"as {example}; or help"
        )
    return queries.to_answer(query, [known[mark] for mark in marks])


def _panel(said: str, things: Sequence[Thing], queries: QuerySet, query: int) -> Answer:
    """What a panel tells, thing by thing: "y n ?", with commas where answers have several words; or in full."""
    parts = [said] if len(things) == 1 else said.split(",") if "," in said else said.split()
    parts = [part.strip() for part in parts]
    if len(parts) != len(things):
        try:
            return queries.to_answer(query, said)
        except ValueError:
            raise ValueError(
                f"{said!r} has {len(parts)} answers for {len(things)} things; give one for each, in order, with commas "
                f"between them, and ? for not known; or help"
            ) from None
    try:
        return queries.to_answer(query, [_one_of(part, thing) for part, thing in zip(parts, things, strict=True)])
    except _Unclear:
        return queries.to_answer(query, said)


class _Unclear(ValueError):
    """A part of an answer that could be part of a longer one."""


def _one_of(said: str, thing: Thing) -> str | None:
    """A choice of one thing by name, number or as many letters as tell it from the others; None for not known."""
    if said in (*WORDS[Word.UNKNOWN], NOT_KNOWN):
        return None
    names = [" ".join(choice.lower().split()) for choice in thing.choices]
    if said in names:
        return thing.choices[names.index(said)]
    if (
        is_numbered(thing.choices)
        and not thing.bounds
        and said.isascii()
        and said.isdigit()
        and 1 <= int(said) <= len(names)
    ):
        return thing.choices[int(said) - 1]
    with contextlib.suppress(ValueError):
        return thing.choices[thing.cell_of(float(said))]
    starting = [i for i, name in enumerate(names) if said and name.startswith(said)]
    if len(starting) == 1:
        return thing.choices[starting[0]]
    if ":" in said:
        raise _Unclear(said)
    what = "could mean several answers" if starting else "is no answer"
    shown = ", ".join(thing.choices[:8])
    raise ValueError(f"{said!r} {what} for {thing.name}; say one of: {shown}; or help")


# ---- kept in a file -------------------------------------------------------------------------------------------------


def fingerprint(pursuit: Pursuit) -> str:
    """What tells models apart: their classes, their questions and their answers."""
    queries = pursuit.queries
    content = {
        "classes": [str(label) for label in pursuit.classes],
        "model": [pursuit.model.kind, pursuit.n_states, list(pursuit.model.atoms.sizes)],
        "queries": [queries.kind, list(queries.names), queries.n_answers.tolist()],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def history_of(session: Session) -> list[dict[str, Any]]:
    """The answers so far as JSON data: the name of each query, and a choice, a list of cells, {choice: probability}
    where it is not certain, or null for not known."""
    queries = session.pursuit.queries
    return [{"query": queries.names[q], "answer": _written(queries, q, answer)} for q, answer in session.history]


def save_session(session: Session, file: Path) -> None:
    """Write the answers so far to a file; an old one stays until the new one is whole."""
    data = {"format": FORMAT, "model": fingerprint(session.pursuit), "history": history_of(session)}
    write_atomically(file, (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode())


def resume_session(pursuit: Pursuit, file: Path) -> Session:
    """A session that goes on where `save_session` left it; refused where it belongs to another model."""
    if file.exists() and not file.is_file():  # who opens a pipe waits for ever
        raise ValueError(f"{file} is no file but a folder, a pipe or a device; give a file that --save wrote")
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file} has more than {MOST_BYTES} bytes; it is no saved session")
    try:
        data = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise ValueError(f"{file} is not JSON, so it is no saved session; give a file that --save wrote") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{file} is no saved session of format {FORMAT!r}; give a file that --save wrote")
    if data.get("model") != fingerprint(pursuit):
        raise ValueError(f"{file} belongs to another model: its classes or questions differ; name the one it is of")
    try:
        return pursuit.session([(step["query"], _read(step["answer"])) for step in data["history"]])
    except (LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {type(error).__name__}: {str(error)[:300]}") from None


def _written(queries: QuerySet, query: int, answer: Said) -> Any:
    if answer is None:
        return None
    if isinstance(answer, Likely):
        if len(answer.weights) > 1:
            return {WEIGHTS: [list(cells) for cells in answer.weights]}
        total = sum(answer.weights[0])
        return {
            choice: weight / total for choice, weight in zip(queries.choices(query), answer.weights[0], strict=True)
        }
    return list(answer) if len(answer) > 1 else queries.choices(query)[answer[0]]


def _read(answer: Any) -> Any:
    if isinstance(answer, dict) and set(answer) == {WEIGHTS}:
        return Likely(tuple(tuple(float(weight) for weight in cells) for cells in answer[WEIGHTS]))
    if answer is None or isinstance(answer, (str, list, dict)):
        return answer
    raise TypeError(f"answer is {answer!r}; expected a choice, a list of cells, {{choice: probability}} or null")
