"""`Trace`: the queries, answers, gains and posteriors of a batch of inputs, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from infopursuit.explanation import Explanation, ExplanationStep
from infopursuit.files import write_atomically
from infopursuit.history import history_of
from infopursuit.queries.queryset import QuerySet
from infopursuit.types import UNKNOWN, FloatArray, History, IntArray, SoftAnswer


@dataclass(frozen=True)
class Trace:
    """Every question and answer of a batch of B inputs, padded to the longest (K steps).

    queries: (B, K) indices, -1 where nothing was asked. answers: (B, K, W) cells, -1 for unknown and padding. gains:
    (B, K) nats, 0 where nothing was asked; gain_errors their standard errors, 0 where exact. runners_up: (B, K) the
    second best query, -1 where there was none; ties: (B, K) whether it was as good within noise. posteriors: (B, K + 1,
    C), the prior first, the last one repeated after the stop; posterior_errors their standard errors, 0 where exact.
    log_evidence: (B, K + 1) log p(answers so far) under the model, repeated in the same way. length: (B,) queries
    asked. settled_at: (B,) the paper's L. stop_reason: (B,) the reason.
    exact_gains: whether every gain was computed on all states and for all queries. novelty_from: (B,)
    queries asked before the checks, whose gains are NaN; -1 where the pursuit has none. query_costs: (Q,) what each
    query costs, None where nobody has said. p_values: (B,) how probable
    answers as unexpected as these are for inputs like those of a reference, None where the pursuit has none.
    """

    queries: IntArray
    answers: IntArray
    gains: FloatArray
    gain_errors: FloatArray
    runners_up: IntArray
    ties: Any
    posteriors: FloatArray
    posterior_errors: FloatArray
    log_evidence: FloatArray
    length: IntArray
    settled_at: IntArray
    stop_reason: Any
    classes: Any
    exact_gains: bool
    novelty_from: IntArray
    query_set: QuerySet = field(repr=False)
    soft_answers: Mapping[tuple[int, int], SoftAnswer] = field(default_factory=dict, repr=False)
    """(input, step) -> an answer that was not certain; `answers` has the likeliest one there."""
    query_costs: FloatArray | None = field(default=None, repr=False)
    p_values: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.length)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        if not len(self):
            return "<Trace of 0 inputs>"
        return (
            f"<Trace of {len(self)} inputs: {self.length.mean():.1f} queries on average, {self.length.max()} at most>"
        )

    @property
    def posterior(self) -> FloatArray:
        """(B, C) the last posterior of every input."""
        return self.posteriors[:, -1]

    @property
    def predictions(self) -> Any:
        """(B,) the most probable class of every input."""
        return self.classes[self.posterior.argmax(axis=1)]

    @property
    def cost(self) -> FloatArray:
        """(B,) what the queries of every input cost together; where nobody has said, each costs 1."""
        if self.query_costs is None:
            return self.length.astype(np.float64)
        return np.asarray(np.where(self.queries >= 0, self.query_costs[self.queries], 0.0).sum(axis=1))

    @property
    def n_novelty_queries(self) -> IntArray:
        """(B,) how many of the last queries were checks."""
        return np.asarray(np.where(self.novelty_from < 0, 0, self.length - self.novelty_from))

    @property
    def surprisal(self) -> FloatArray:
        """(B,) how unexpected the answers are, nats: -log p(answers to the checks | those before), or of all answers
        where no checks were asked for; infinite for those that cannot be."""
        begin = np.maximum(self.novelty_from, 0)
        found = self.log_evidence[np.arange(len(self)), begin] - self.log_evidence[:, -1]
        return np.asarray(np.where(self.stop_reason == "impossible", np.inf, np.maximum(found, 0.0)))

    def history(self, i: int) -> History:
        """What was asked and answered about input i."""
        soft = {k: answer for (j, k), answer in self.soft_answers.items() if j == i}
        n = self.length[i]
        return history_of(self.query_set, self.queries[i, :n], self.answers[i, :n], soft)

    def __getitem__(self, i: int) -> Explanation:
        i = range(len(self))[i]
        qs = self.query_set
        steps = tuple(
            ExplanationStep(
                query=q,
                name=qs.names[q],
                sentence=qs.sentences[q],
                answer=answer.cells if isinstance(answer, SoftAnswer) else answer,
                said=qs.say_answer(q, answer),
                gain=float(self.gains[i, k]),
                gain_error=float(self.gain_errors[i, k]),
                posterior=tuple(self.posteriors[i, k + 1].tolist()),
                variables=tuple(a for a in qs.query_variables[q].tolist() if a != UNKNOWN),
                worded=q in qs.worded,
                soft=answer.weights if isinstance(answer, SoftAnswer) else None,
                cost=None if self.query_costs is None else float(self.query_costs[q]),
            )
            for k, (q, answer) in enumerate(self.history(i))
        )
        return Explanation(
            classes=tuple(c.item() if isinstance(c, np.generic) else c for c in self.classes),
            prior=tuple(self.posteriors[i, 0].tolist()),
            steps=steps,
            stop_reason=str(self.stop_reason[i]),
            settled_at=int(self.settled_at[i]),
            exact_gains=self.exact_gains,
            shape=getattr(qs, "shape", None),
            n_novelty_queries=int(self.n_novelty_queries[i]),
            p_value=None if self.p_values is None else float(self.p_values[i]),
        )

    def to_html(
        self,
        path: Any = None,
        *,
        images: Any = None,
        truth: Any = None,
        names: Sequence[Any] | None = None,
        max_inputs: int = 50,
        title: str | None = None,
    ) -> str:
        """One HTML file that needs nothing else: a summary, and the first ``max_inputs`` explanations step by step.

        Written to ``path`` if that is given; returned in any case. ``images``: what was asked about, for patch
        queries. ``truth``: the true classes. ``names``: what the inputs are called.
        """
        from infopursuit.report.page import trace_page

        page = trace_page(self, images=images, truth=truth, names=names, max_inputs=max_inputs, title=title)
        if path is not None:
            write_atomically(Path(path), page.encode())
        return page


class Believed(Protocol):
    """What a trace keeps of the state of H histories."""

    @property
    def posterior(self) -> FloatArray:
        """(H, C) p(y | history)."""

    @property
    def posterior_error(self) -> FloatArray:
        """(H, C) its standard error."""

    @property
    def log_evidence(self) -> FloatArray:
        """(H,) log p(answers so far)."""


class TraceWriter:
    """Collects a trace while a batch is being pursued; inputs may come in any order and in several parts."""

    def __init__(
        self, n_inputs: int, queries: QuerySet, classes: Any, exact: bool, costs: FloatArray | None = None
    ) -> None:
        self.costs = costs
        self.query_set, self.classes, self.exact = queries, np.asarray(classes), exact
        self.n_inputs = n_inputs
        self.length = np.zeros(n_inputs, dtype=np.int64)
        self.settled_at = np.zeros(n_inputs, dtype=np.int64)
        self.novelty_from = np.full(n_inputs, UNKNOWN, dtype=np.int64)
        self.stop_reason = np.full(n_inputs, "", dtype=object)
        self._capacity = 0
        self._queries = np.zeros((n_inputs, 0), dtype=np.int64)
        self._answers = np.zeros((n_inputs, 0, queries.width), dtype=np.int64)
        self._gains, self._errors = np.zeros((n_inputs, 0)), np.zeros((n_inputs, 0))
        self._runners_up = np.zeros((n_inputs, 0), dtype=np.int64)
        self._ties = np.zeros((n_inputs, 0), dtype=bool)
        self._posteriors = np.zeros((n_inputs, 1, len(self.classes)))
        self._posterior_errors = np.zeros((n_inputs, 1, len(self.classes)))
        self._log_evidence = np.zeros((n_inputs, 1))
        self._soft: dict[tuple[int, int], SoftAnswer] = {}

    def believe(self, inputs: IntArray, state: Believed, place: IntArray) -> None:
        """What follows from all that some inputs were asked; ``place`` says which history of the state is theirs."""
        at = self.length[inputs]
        self._posteriors[inputs, at] = state.posterior[place]
        self._posterior_errors[inputs, at] = state.posterior_error[place]
        self._log_evidence[inputs, at] = state.log_evidence[place]

    def ask(
        self,
        inputs: IntArray,
        queries: IntArray,
        answers: IntArray,
        gains: FloatArray,
        errors: FloatArray,
        runners_up: IntArray,
        ties: Any,
        soft: Mapping[int, SoftAnswer] | None = None,
    ) -> None:
        """One more question for some inputs; ``soft``: the answers of some of them that are not certain."""
        at = self.length[inputs]
        for i, answer in (soft or {}).items():
            self._soft[int(inputs[i]), int(at[i])] = answer
        if len(at) and at.max() >= self._capacity:
            self._grow(max(8, 2 * self._capacity))
        self._queries[inputs, at], self._answers[inputs, at] = queries, answers
        self._gains[inputs, at], self._errors[inputs, at] = gains, errors
        self._runners_up[inputs, at], self._ties[inputs, at] = runners_up, ties
        self.length[inputs] += 1

    def stop(self, inputs: IntArray, reasons: Sequence[str], settled: IntArray, novelty_from: IntArray) -> None:
        """Some inputs have stopped, and what they were asked from a query on was a check (-1: nothing was)."""
        self.stop_reason[inputs], self.settled_at[inputs] = reasons, settled
        self.novelty_from[inputs] = novelty_from

    def finish(self) -> Trace:
        """The trace, cut to the longest input."""
        k = int(self.length.max(initial=0))
        past = np.arange(k + 1)[None] > self.length[:, None]
        rows = np.arange(self.n_inputs)

        def repeated(array: FloatArray) -> FloatArray:
            """(B, K + 1, ...) with the last one again after the stop."""
            after = past.reshape(*past.shape, *(1,) * (array.ndim - 2))
            return np.where(after, array[rows, self.length][:, None], array[:, : k + 1])

        return Trace(
            queries=self._queries[:, :k],
            answers=self._answers[:, :k],
            gains=self._gains[:, :k],
            gain_errors=self._errors[:, :k],
            runners_up=self._runners_up[:, :k],
            ties=self._ties[:, :k],
            posteriors=repeated(self._posteriors),
            posterior_errors=repeated(self._posterior_errors),
            log_evidence=repeated(self._log_evidence),
            length=self.length,
            settled_at=self.settled_at,
            stop_reason=self.stop_reason.astype(str),
            classes=self.classes,
            exact_gains=self.exact,
            novelty_from=self.novelty_from,
            query_set=self.query_set,
            soft_answers=self._soft,
            query_costs=self.costs,
        )

    def _grow(self, capacity: int) -> None:
        more = capacity - self._capacity

        def longer(array: Any, fill: float) -> Any:
            extra = np.full((array.shape[0], more, *array.shape[2:]), fill, dtype=array.dtype)
            return np.concatenate([array, extra], axis=1)

        self._queries, self._answers = longer(self._queries, UNKNOWN), longer(self._answers, UNKNOWN)
        self._gains, self._errors = longer(self._gains, 0.0), longer(self._errors, 0.0)
        self._runners_up, self._ties = longer(self._runners_up, UNKNOWN), longer(self._ties, False)
        self._posteriors = longer(self._posteriors, 0.0)
        self._posterior_errors = longer(self._posterior_errors, 0.0)
        self._log_evidence = longer(self._log_evidence, 0.0)
        self._capacity = capacity
