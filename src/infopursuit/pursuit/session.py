"""One input whose answers come from outside, one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.pursuit.driver import Answers, Turn
from infopursuit.pursuit.explanation import Explanation, count, percent
from infopursuit.pursuit.noise import AnswerNoise, read_answer
from infopursuit.pursuit.state import Choice, State, Step
from infopursuit.pursuit.stopping import IMPOSSIBLE, MaxQueries
from infopursuit.pursuit.trace import TraceWriter
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.cards import NotebookCard
from infopursuit.support.types import (
    UNKNOWN,
    FloatArray,
    History,
    ImpossibleAnswer,
    NonAnswer,
    Number,
    Query,
    Said,
    SoftAnswer,
)

if TYPE_CHECKING:
    from infopursuit.pursuit.loop import Pursuit


class Session(NotebookCard):
    """A pursuit of one input that is answered from outside.

    It takes the same steps as `Pursuit.run`. States are never changed, only followed by others, so that `undo` goes
    back to one.
    """

    def __init__(self, pursuit: Pursuit[Any], history: Iterable[tuple[Any, Any]] = (), known: Any = None) -> None:
        self.pursuit = pursuit
        self.known: History = read_known(pursuit.queries, known)
        self._taken: list[Step[Any]] = []
        self._said: list[Said] = []  # with their numbers, which the histories of most beliefs leave out
        self._not_applicable: frozenset[int] = frozenset()
        self._aside: tuple[int, ...] = ()
        self._step = pursuit.propose(pursuit.at((), known=self.known))
        for query, value in history:
            self._take(pursuit.queries.find_one(query, "history"), value)

    def __repr__(self) -> str:
        now = f"stopped ({self.stop_reason})" if self.question is None else f"asks {self.question.sentence!r}"
        found = f"{self.prediction} ({percent(float(self.posterior.max()))})"
        return f"<Session: {count(len(self.history), 'answer')}, {found}, {now}>"

    @property
    def question(self) -> Query | None:
        """What to ask now, or None after the stop."""
        query = int(self._step.choice.query[0])
        return None if query == UNKNOWN else self.pursuit.queries[query]

    @property
    def state(self) -> State[Any]:
        """The engine's state of the one history."""
        return self._step.state

    @property
    def runner_up(self) -> Query | None:
        """What would be asked if the question were not there, or None where nothing else is left."""
        query = int(self._step.choice.runner_up[0])
        return None if query == UNKNOWN else self.pursuit.queries[query]

    @property
    def posterior(self) -> FloatArray:
        """(C,) p(y | history)."""
        return np.asarray(self._step.state.posterior[0])

    @property
    def gains(self) -> FloatArray:
        """(Q,) the utility of each query, an information gain in nats where the acquisition function gives one; NaN for
        queries that may not be asked, or were screened out."""
        return np.asarray(self.pursuit.utilities(self._step.state).value[0])

    @property
    def history(self) -> History:
        """The queries asked so far with their answers, without those of ``known``."""
        asked = self._step.state.histories.queries[0, len(self.known) :]
        return tuple(zip(asked.tolist(), self._said, strict=True))

    @property
    def stop_reason(self) -> str | None:
        """Why the pursuit stopped, or None while it goes on."""
        return self._step.reason[0] or None

    @property
    def p_value(self) -> float | None:
        """The novelty p-value; None while the session goes on, and where the pursuit has no reference."""
        return self.explanation.p_value

    @property
    def prediction(self) -> Any:
        """The most probable class now."""
        return self.pursuit.classes[int(self.posterior.argmax())]

    def answer(self, value: Any, *, confidence: float | None = None, noise: AnswerNoise | None = None) -> Session:
        """Answer the question: a choice, its index, the cells of its variables, or None for "not known".

        A soft answer: ``answer("yes", confidence=0.8)``, the other choices sharing the rest, or the probabilities of
        all choices, ``answer({"yes": 0.8, "no": 0.2})``. ``noise``: that of the annotator who answers.
        ``ip.NOT_APPLICABLE``: as not known, and the explanation says so. ``ip.LATER``: see `later`.
        """
        if value is NonAnswer.LATER:
            return self.later()
        query = self._open_question()
        self._take(query, None if isinstance(value, NonAnswer) else value, confidence, noise)
        if value is NonAnswer.NOT_APPLICABLE:
            self._not_applicable |= {len(self._said) - 1}
        return self

    def later(self) -> Session:
        """Put the question aside: it is asked again only when nothing else would be asked. It does not count."""
        query = self._open_question()
        self._aside = (*(q for q in self._aside if q != query), query)
        self._step = put_aside(self.pursuit, self._step, self._aside)
        return self

    def _open_question(self) -> int:
        if self.question is None:
            raise RuntimeError(
                f"the session has stopped ({self.stop_reason}); undo() goes back, pursuit.session() begins anew"
            )
        return self.question.index

    def skip(self) -> Session:
        """Answer "not known": the question counts, and nothing is learnt."""
        return self.answer(None)

    def undo(self) -> Session:
        """Take the last answer back."""
        if not self._taken:
            raise RuntimeError("nothing was answered yet, so there is nothing to undo")
        self._step = self._taken.pop()
        self._said.pop()
        self._not_applicable -= {len(self._said)}
        return self

    def tell(self, known: Any) -> Session:
        """Add to what is known beforehand, at any time; a question about it that was answered is taken back."""
        found = {**dict(self.known), **dict(read_known(self.pursuit.queries, known))}
        return self._again(self.pursuit, found)

    def go_on(self) -> Session:
        """Ask on after the stop, until nothing is left to ask."""
        rule = MaxQueries(2**31 - 1)
        return self._again(replace(self.pursuit, stopping=rule), dict(self.known))

    def _again(self, pursuit: Pursuit[Any], known: Mapping[int, Said]) -> Session:
        """The same answers to another pursuit, or with other answers known."""
        kept = [k for k, (query, _) in enumerate(self.history) if query not in known]
        other = Session(pursuit, [self.history[k] for k in kept], known)
        other._not_applicable = frozenset(place for place, k in enumerate(kept) if k in self._not_applicable)
        vars(self).update(vars(other))
        return self

    @property
    def explanation(self) -> Explanation:
        """The questions and answers so far, as an `Explanation`."""
        pursuit = self.pursuit
        queries = self._step.state.histories.queries
        one = np.zeros(1, np.int64)

        writer = TraceWriter(1, pursuit)
        for k, step in enumerate(self._taken):
            asked = queries[:, len(self.known) + k]
            choice = step.choice
            if choice.query[0] != asked[0]:  # a query that the pursuit did not choose
                choice = Choice(asked, np.full(1, np.nan), np.zeros(1), np.full(1, UNKNOWN), one > 0, choice.largest)
            branch = pursuit.branch(int(asked[0]), self._said[k])
            answers = Answers(branch.answers, branch.numbers, branch.soft)
            writer.write(Turn(one, one, replace(step, choice=choice), asked, answers))

        writer.write(Turn(one, one, self._step, np.full(1, UNKNOWN), None))
        trace, novelty = writer.finish((self.known,)), pursuit.novelty
        found = (trace if novelty is None or not self._step.reason[0] else novelty.add_pvalues(trace))[0]
        words = NonAnswer.NOT_APPLICABLE.value
        steps = (replace(s, said=words) if k in self._not_applicable else s for k, s in enumerate(found.steps))
        return replace(found, steps=tuple(steps))

    def _take(self, query: int, value: Any, confidence: float | None = None, noise: AnswerNoise | None = None) -> None:
        answer = read_answer(self.pursuit.queries, query, value, confidence, noise)
        step = self.pursuit.advance(self._step, self.pursuit.branch(query, answer))
        if step.reason[0] == IMPOSSIBLE:
            raise ImpossibleAnswer(
                f"{self.pursuit.queries.say(query, answer)!r} is impossible after the answers before it under this "
                f"model; the answer was not taken. Answer otherwise, skip() it, or undo() an earlier answer"
            )
        self._taken.append(self._step)
        self._said.append(answer)
        self._aside = tuple(q for q in self._aside if q != query)
        self._step = put_aside(self.pursuit, step, self._aside)


def put_aside(pursuit: Pursuit[Any], step: Step[Any], later: Sequence[int]) -> Step[Any]:
    """The step with the best question that is not to be asked later, where one of those would be asked otherwise; where
    nothing else would be asked, what was put aside first comes first."""
    for first in range(len(later) if int(step.choice.query[0]) in later else 0):
        closed = step.state.closed.copy()
        closed[0, list(later[first:])] = True
        other = pursuit.propose(replace(step.state, closed=closed))
        if int(other.choice.query[0]) != UNKNOWN:
            return replace(step, choice=other.choice)
    return step


def read_known(queries: QuerySet, known: Any) -> History:
    """What is known beforehand: {query or column: answer}, a row of a pandas table, or pairs; missing answers are left
    out, and names that are not asked about are refused."""
    if known is not None and not hasattr(known, "items"):
        raise TypeError(f"known={known!r:.80}; expected {{query or column: answer}}, or a row of a pandas table")
    found: dict[int, Said] = {}
    for key, value in () if known is None else known.items():
        if isinstance(value, (SoftAnswer, Number, tuple, Mapping)):  # as a history has it, not a table
            query = queries.find(key, "known")[0]
            found[query] = read_answer(queries, query, value)
        elif not (isinstance(value, str) and not value.strip()):
            found |= dict(queries.known_answers(key, value))
    return tuple((query, said) for query, said in found.items() if said is not None)
