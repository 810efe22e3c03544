"""One input whose answers come from outside, one at a time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from infopursuit.engine import IMPOSSIBLE, Pursuit, State, Step
from infopursuit.explanation import Explanation
from infopursuit.noise import AnswerNoise, read_answer
from infopursuit.trace import TraceWriter
from infopursuit.types import UNKNOWN, FloatArray, History, ImpossibleAnswer, Query


class Session:
    """A pursuit of one input that is answered from outside.

    It drains the same loop as `Pursuit.run`. States are never changed, only followed by others, so undoing is going
    back to one.
    """

    def __init__(self, pursuit: Pursuit[Any], history: Iterable[tuple[Any, Any]] = ()) -> None:
        self.pursuit = pursuit
        self._taken: list[Step[Any]] = []
        self._loop = pursuit.steps()
        self._step = next(self._loop)
        for query, value in history:
            self._take(self._index(query), value)

    @property
    def question(self) -> Query | None:
        """What to ask now, or None after the stop."""
        query = int(self._step.choice.query[0])
        return None if query == UNKNOWN else self.pursuit.queries[query]

    @property
    def state(self) -> State[Any]:
        """Where the engine stands: the one history so far, and all that follows from it."""
        return self._step.state

    @property
    def runner_up(self) -> Query | None:
        """What would be asked if the question were not there, or None where nothing else is left."""
        query = int(self._step.choice.runner_up[0])
        return None if query == UNKNOWN else self.pursuit.queries[query]

    @property
    def posterior(self) -> FloatArray:
        """(C,) what is believed now."""
        return np.asarray(self._step.state.posterior[0])

    @property
    def gains(self) -> FloatArray:
        """(Q,) the utility of each query, an information gain in nats where the acquisition function gives one; NaN for
        queries that may not be asked, or were screened out."""
        return np.asarray(self.pursuit.utilities(self._step.state).value[0])

    @property
    def history(self) -> History:
        """The queries asked so far with their answers."""
        return self._step.state.histories.steps(0)

    @property
    def stop_reason(self) -> str | None:
        """Why the pursuit stopped, or None while it goes on."""
        return self._step.reason[0] or None

    @property
    def asks_novelty(self) -> bool:
        """Whether the pursuit has stopped and the question is a novelty query."""
        return self.question is not None and int(self._step.state.stop_point.at[0]) != UNKNOWN

    @property
    def p_value(self) -> float | None:
        """How probable answers as unexpected as these are for inputs like those of the pursuit's reference; None where
        it has none, and while it goes on."""
        return self.explanation.p_value

    @property
    def prediction(self) -> Any:
        """The most probable class now."""
        return self.pursuit.classes[int(self.posterior.argmax())]

    def answer(self, value: Any, *, confidence: float | None = None, noise: AnswerNoise | None = None) -> Session:
        """Answer the question: a choice, its index, the cells of its variables, or None for "not known".

        An answer that is not certain: ``answer("yes", confidence=0.8)``, the other choices sharing the rest; or all choices,
        ``answer({"yes": 0.8, "no": 0.2})``. ``noise``: that of who answers, where it is not the noise of the pursuit.
        """
        if self.question is None:
            raise RuntimeError(
                f"the session has stopped ({self.stop_reason}); undo() goes back, pursuit.session() begins anew"
            )
        self._take(self.question.index, value, confidence, noise)
        return self

    def skip(self) -> Session:
        """Answer "not known": the question counts, and nothing is learnt."""
        return self.answer(None)

    def undo(self) -> Session:
        """Take the last answer back."""
        if not self._taken:
            raise RuntimeError("nothing was answered yet, so there is nothing to undo")
        self._step = self._taken.pop()
        self._resume()
        return self

    @property
    def explanation(self) -> Explanation:
        """The questions and answers so far, as an `Explanation`."""
        pursuit, last = self.pursuit, self._step.state.histories
        soft = dict(last.soft[0]) if last.soft else {}
        costs = pursuit.query_costs if pursuit.costs else None
        writer = TraceWriter(1, pursuit.queries, pursuit.classes, pursuit.exact_gains, costs)
        one = np.zeros(1, dtype=np.int64)
        steps = [*self._taken, self._step]
        for k, (step, following) in enumerate(pairwise(steps)):
            writer.believe(one, step.state, one)
            after, choice = following.state.histories, step.choice
            asked = after.queries[:, -1]
            own = choice.query == asked
            writer.ask(
                one,
                asked,
                after.answers[:, -1],
                np.where(own, choice.gain, np.nan),
                np.where(own, choice.error, 0.0),
                np.where(own, choice.runner_up, UNKNOWN),
                choice.tie & own,
                {0: soft[k]} if k in soft else {},
            )
        writer.believe(one, self._step.state, one)
        writer.stop(one, [self._step.reason[0] or "open"], self._step.settled, self._step.state.stop_point.at)
        trace, novelty = writer.finish(), pursuit.novelty
        return (trace if novelty is None or not self._step.reason[0] else novelty.add_pvalues(trace))[0]

    def _take(self, query: int, value: Any, confidence: float | None = None, noise: AnswerNoise | None = None) -> None:
        answer = read_answer(self.pursuit.queries, query, value, confidence, noise)
        before = self._step
        step = self._loop.send(self.pursuit.branch(query, answer))
        if step.reason[0] == IMPOSSIBLE:
            self._resume()
            said = self.pursuit.queries.say(query, answer)
            raise ImpossibleAnswer(
                f"{said!r} is impossible after the answers before it under this model; the answer was not taken. "
                f"Answer otherwise, skip() it, or undo() an earlier answer"
            )
        self._taken.append(before)
        self._step = step

    def _resume(self) -> None:
        """Begin the loop anew at the state where the session stands."""
        self._loop.close()
        self._loop = self.pursuit.steps(self._step.state)
        next(self._loop)

    def _index(self, query: Any) -> int:
        names = self.pursuit.queries.names
        if isinstance(query, str):
            if query not in names:
                raise ValueError(f"history names the query {query!r}, which this query set does not have")
            return names.index(query)
        if not 0 <= int(query) < len(names):
            raise ValueError(f"history names query {query}; there are queries 0 to {len(names) - 1}")
        return int(query)
