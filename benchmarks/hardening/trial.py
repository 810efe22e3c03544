"""One altered model at a time, loaded in a process of its own: refused with a clear error, right, or wrong.

Run as ``python -m benchmarks.hardening.trial``: a line of JSON in for each folder, a line out with the verdict.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.hardening.limits import MAX_MESSAGE, forget_peak, limit_memory, resident
from benchmarks.hardening.models import MODELS, Small
from infopursuit.estimator.classifier import InformationPursuitClassifier
from infopursuit.estimator.storage import load, save
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.session import Session
from infopursuit.pursuit.trace import Trace
from infopursuit.support.types import ImpossibleAnswer, ModelFormatError, Query

REFUSED, SAME, ANOTHER, WRONG = "clear error", "as the original", "another valid model", "wrong"
"""What came of an altered folder. Another valid model is possible only where the checksums were computed again."""
N_STEPS = 8
"""Questions that are answered at random."""

Model = InformationPursuitClassifier | Pursuit[Any]


class Verdict(NamedTuple):
    """What came of a folder, and the error, or what is wrong."""

    outcome: str
    said: str


class Broken(Exception):
    """Something that holds for every model does not hold for this one."""


def judge(folder: Path, small: Small, expected: str, *, sealed: bool) -> Verdict:
    """Load a folder and say what came of it. ``expected``: `behaviour` of the model that it was made from."""
    try:
        thing = load(folder)
    except (ModelFormatError, FileNotFoundError) as error:
        return _clear(error)
    except ValueError as error:
        # functions are code that a folder cannot hold: that they must be given is said without calling it damaged
        wanted = "functions is missing" in str(error)
        return _clear(error) if wanted else Verdict(WRONG, f"{type(error).__name__}: {error}"[:MAX_MESSAGE])
    except BaseException as error:  # whatever it is, it is what we look for
        return Verdict(WRONG, f"load raised {type(error).__name__}: {error}"[:MAX_MESSAGE])
    try:
        if behaviour(thing, small.inputs) == expected:
            return Verdict(SAME, "")
        if not sealed:
            return Verdict(WRONG, "behaves otherwise, although the checksums should have told")
    except ValueError as error:
        if not sealed:
            return Verdict(WRONG, f"no longer takes its inputs: {error}"[:MAX_MESSAGE])
        clear = _clear(error)  # a model of other inputs, which has been told
        if clear.outcome == WRONG:
            return clear
    except BaseException as error:
        return Verdict(WRONG, f"run raised {type(error).__name__}: {error}"[:MAX_MESSAGE])
    try:
        check(thing)
    except BaseException as error:
        return Verdict(WRONG, f"loaded, then {type(error).__name__}: {error}"[:MAX_MESSAGE])
    return Verdict(ANOTHER, "")


def behaviour(thing: Model, inputs: Any) -> str:
    """A checksum of everything that comes out for some inputs; every number is checked on the way."""
    trace = thing.run(inputs) if isinstance(thing, Pursuit) else thing.explain(inputs)
    _check_trace(trace)
    parts = [trace.queries, trace.answers, trace.posteriors, trace.length, trace.settled_at]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    words = [str(trace[0]), trace[0].to_json(), [str(reason) for reason in trace.stop_reason], _classes(thing)]
    if isinstance(thing, InformationPursuitClassifier) and hasattr(thing, "calibration_"):
        words.append(thing.predict_set(inputs).tolist())
    digest.update(json.dumps(words, ensure_ascii=False).encode())
    return digest.hexdigest()


def check(thing: Model) -> None:
    """What holds for every model: it answers and is believed, says so in words, and can be saved and read again."""
    pursuit = thing if isinstance(thing, Pursuit) else thing.pursuit_
    chance = np.random.default_rng(0)
    session = pursuit.session()
    _check_posterior(session.posterior)
    for _ in range(N_STEPS):
        question = session.question
        if question is None:
            if session.stop_reason is None:
                raise Broken("nothing is asked, and nobody knows why")
            break
        if not all(isinstance(text, str) for text in (question.name, question.sentence, question.choices[0])):
            raise Broken(f"question {question.index} is not made of texts")
        _answer(session, question, chance.permutation(len(question.choices)).tolist())
        _check_posterior(session.posterior)
    explanation = session.explanation
    str(explanation).encode()  # what cannot be written cannot be read by anybody
    if Explanation.from_json(explanation.to_json()).to_json() != explanation.to_json():
        raise Broken("an explanation does not come back from JSON")
    folder = Path(tempfile.mkdtemp())
    try:
        save(thing, folder)
        if type(load(folder)) is not type(thing):
            raise Broken("saved again, it is something else")
    finally:
        shutil.rmtree(folder)


def _answer(session: Session, question: Query, choices: Sequence[int]) -> None:
    """Give the first answer that is possible; what is asked has one, else the model contradicts itself."""
    for choice in choices:
        try:
            # a question about numbers takes an index for a number
            numeric = session.pursuit.queries.scale(question.index) is not None
            session.answer(question.choices[choice] if numeric else choice)
        except ImpossibleAnswer:
            continue
        return
    raise Broken("a question is asked to which no answer is possible")


def _check_trace(trace: Trace) -> None:
    if not all(trace.stop_reason):
        raise Broken("a pursuit ended without a reason")
    if np.isinf(trace.gains).any():  # that of a question which was asked as a check is not known
        raise Broken("a gain is not finite")
    _check_posterior(trace.posteriors)


def _check_posterior(posterior: Any) -> None:
    if not np.isfinite(posterior).all() or (posterior < 0).any() or (abs(posterior.sum(axis=-1) - 1) > 1e-6).any():
        raise Broken(f"a posterior is no distribution: {posterior!r:.100}")


def _classes(thing: Model) -> list[str]:
    return [repr(label) for label in (thing.classes if isinstance(thing, Pursuit) else thing.classes_).tolist()]


def _clear(error: Exception) -> Verdict:
    """An error is clear when it is one line, says something, and is short enough to be read."""
    said = str(error)
    if "\n" in said or not 20 <= len(said) <= MAX_MESSAGE:
        return Verdict(WRONG, f"an error that is not clear ({len(said)} characters): {said[:200]!r}")
    try:
        said.encode()
    except UnicodeEncodeError:
        return Verdict(WRONG, f"an error that cannot be printed: {said[:200]!r}")
    return Verdict(REFUSED, said)


def main() -> None:
    """Judge folders as they are named on stdin, until it ends."""
    warnings.simplefilter("ignore")
    small = {name: make() for name, make in MODELS.items()}
    expected = {name: behaviour(each.thing, each.inputs) for name, each in small.items()}
    for each in small.values():
        check(each.thing)  # a warm start: what is compiled and imported later would count against a folder
    limit_memory()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        forget_peak()
        before, start = resident()[0], time.perf_counter()
        verdict = judge(Path(task["folder"]), small[task["model"]], expected[task["model"]], sealed=task["sealed"])
        took, peak = time.perf_counter() - start, resident()[1]
        told = {"outcome": verdict.outcome, "said": verdict.said, "seconds": took, "grown": max(0, peak - before)}
        print(json.dumps({**told, "peak": peak}), flush=True)


if __name__ == "__main__":
    main()
