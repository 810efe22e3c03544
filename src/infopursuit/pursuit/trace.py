"""`Trace`: the queries, answers, gains and posteriors of a batch of inputs, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from infopursuit.pursuit.driver import Answers, Turn
from infopursuit.pursuit.explanation import Explanation, ExplanationStep
from infopursuit.pursuit.histories import history_of
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.cards import NotebookCard
from infopursuit.support.types import (
    UNKNOWN,
    FloatArray,
    History,
    IntArray,
    Number,
    Said,
    SoftAnswer,
    cells_of,
)


@dataclass(frozen=True)
class Trace(NotebookCard):
    """Every query and answer of a batch of B inputs, padded to the longest (K steps).

    queries: (B, K) indices, -1 where nothing was asked. answers: (B, K, W) cells, -1 for unknown and padding. gains:
    (B, K) nats, 0 where nothing was asked, NaN where there is none; gain_errors their standard errors, 0 where exact.
    runners_up: (B, K) the second best query, -1 where there was none; ties: (B, K) whether it was as good within two
    standard errors. posteriors: (B, K + 1, C), the prior first, the last one repeated after the stop; posterior_errors
    their standard errors. log_evidence: (B, K + 1) log p(answers so far), repeated in the same way. length: (B,)
    queries asked. settled_at: (B,) the paper's L. stop_reason: (B,). exact_gains: whether every gain is exact.
    soft_answers:
    {(input, step): answer} of those that are not certain; `answers` has the most probable cells there. query_costs:
    (Q,) what each query costs, None without costs. p_values: (B,) novelty p-values, None without a reference. numbers:
    (B, K) the number that was answered, NaN where it was none; None where no query is numeric. known: B histories of
    what was known beforehand, none where nothing was; queries, length and costs do not have it, and what was believed
    first, ``posteriors[:, 0]``, rests on it. calibrated: whether posteriors are, or a stated model's; see `Pursuit`.
    label_name: what the classes are values of. base_rates: (C,) the share of each class of all cases, None where that
    is ``posteriors[:, 0]``.
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
    query_set: QuerySet = field(repr=False)
    soft_answers: Mapping[tuple[int, int], SoftAnswer] = field(default_factory=dict, repr=False)
    query_costs: FloatArray | None = field(default=None, repr=False)
    p_values: FloatArray | None = None
    numbers: FloatArray | None = None
    known: tuple[History, ...] = field(default=(), repr=False)
    calibrated: bool = True
    label_name: str = ""
    base_rates: FloatArray | None = field(default=None, repr=False)

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
        """(B,) what the queries of every input cost together; without costs each costs 1."""
        if self.query_costs is None:
            return self.length.astype(np.float64)
        return np.asarray(np.where(self.queries >= 0, self.query_costs[self.queries], 0.0).sum(axis=1))

    @property
    def surprisal(self) -> FloatArray:
        """(B,) -log p(answers) in nats; infinite for answers that are impossible."""
        found = self.log_evidence[:, 0] - self.log_evidence[:, -1]
        return np.asarray(np.where(self.stop_reason == "impossible", np.inf, np.maximum(found, 0.0)))

    def known_history(self, i: int) -> History:
        """What was known about input i beforehand."""
        return self.known[i] if self.known else ()

    def history(self, i: int) -> History:
        """What was asked and answered about input i."""
        n = self.length[i]
        soft = [self.soft_answers.get((i, k)) for k in range(n)] if self.soft_answers else None
        numbers = None if self.numbers is None else self.numbers[i, :n]
        return history_of(self.query_set, self.queries[i, :n], self.answers[i, :n], soft, numbers)

    def columns(self, per: Literal["step", "input"] = "step") -> dict[str, Any]:
        """{column: values} of a table with a row for each step, or for each input: what `to_frame` and `to_arrow` hold.

        A step has its input and number, the query and how it was asked, the answer in words (None where it is not
        known) and as a number, gain and cost; an input its length, cost, stop reason and novelty p-value. Both have the
        prediction, its confidence and the posterior of each class, ``p_<class>``: after the step, or in the end.
        """
        if per not in ("step", "input"):
            raise ValueError(f"per={per!r}; expected 'step' or 'input'")
        told: dict[str, Any]
        if per == "step":
            rows, steps = np.nonzero(self.queries != UNKNOWN)
            queries, posterior, qs = self.queries[rows, steps], self.posteriors[rows, steps + 1], self.query_set
            said = [step for i in range(len(self)) for step in self.history(i)]
            words = [None if answer is None else qs.say_answer(q, answer) for q, answer in said]
            numbers = np.full(len(rows), np.nan) if self.numbers is None else self.numbers[rows, steps]
            costs = np.ones(len(rows)) if self.query_costs is None else self.query_costs[queries]
            names, sentences = ([each[q] for q in queries.tolist()] for each in (qs.names, qs.sentences))
            told = {"input": rows, "step": steps + 1, "query": names, "question": sentences, "answer": words}
            told |= {"number": numbers, "gain": self.gains[rows, steps], "cost": costs}
        else:
            posterior, nothing = self.posterior, np.full(len(self), np.nan)
            told = {"input": np.arange(len(self)), "length": self.length, "cost": self.cost}
            told |= {
                "stop_reason": self.stop_reason,
                "novelty_p_value": nothing if self.p_values is None else self.p_values,
            }
        told |= {"prediction": self.classes[posterior.argmax(axis=1)], "confidence": posterior.max(axis=1)}
        return told | {f"p_{label}": posterior[:, c] for c, label in enumerate(self.classes)}

    def to_frame(self, per: Literal["step", "input"] = "step") -> Any:
        """The trace as a pandas table with a row for each step, or for each input; see `columns`."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas; pip install 'infopursuit[notebook]', or use to_arrow") from None
        return pd.DataFrame(self.columns(per))

    def to_arrow(self, per: Literal["step", "input"] = "step") -> Any:
        """The table of `to_frame` as a pyarrow table, with nulls where there is nothing."""
        try:
            import pyarrow as pa
        except ImportError:
            raise ImportError("to_arrow needs pyarrow; pip install 'infopursuit[tables]'") from None
        return pa.table({name: pa.array(values, from_pandas=True) for name, values in self.columns(per).items()})

    def __getitem__(self, i: int) -> Explanation:
        i = range(len(self))[i]
        qs = self.query_set
        first = tuple(self.posteriors[i, 0].tolist())
        known = tuple(self._step(q, said, posterior=first, known=True) for q, said in self.known_history(i))
        steps = tuple(
            self._step(
                q,
                said,
                gain=float(self.gains[i, k]),
                gain_error=float(self.gain_errors[i, k]),
                posterior=tuple(self.posteriors[i, k + 1].tolist()),
                cost=None if self.query_costs is None else float(self.query_costs[q]),
            )
            for k, (q, said) in enumerate(self.history(i))
        )
        return Explanation(
            classes=tuple(c.item() if isinstance(c, np.generic) else c for c in self.classes),
            prior=first,
            steps=steps,
            known=known,
            stop_reason=str(self.stop_reason[i]),
            settled_at=int(self.settled_at[i]),
            exact_gains=self.exact_gains,
            calibrated=self.calibrated,
            label_name=self.label_name,
            base_rates=() if self.base_rates is None else tuple(self.base_rates.tolist()),
            shape=qs.shape,
            levels=qs.n_levels,
            channels=qs.channels,
            p_value=None if self.p_values is None else float(self.p_values[i]),
        )

    def _step(self, q: int, said: Said, **told: Any) -> ExplanationStep:
        """A query with its answer."""
        qs = self.query_set
        return ExplanationStep(
            query=q,
            name=qs.names[q],
            sentence=qs.sentences[q],
            answer=cells_of(said),
            said=qs.say_answer(q, said),
            variables=tuple(a for a in qs.query_variables[q].tolist() if a != UNKNOWN),
            worded=q in qs.worded,
            soft=said.weights if isinstance(said, SoftAnswer) else None,
            number=said.value if isinstance(said, Number) else None,
            **{"gain": 0.0, "gain_error": 0.0, **told},
        )


class TraceWriter:
    """Collects the trace of a pursuit; inputs may come in any order and in several parts."""

    def __init__(self, n_inputs: int, pursuit: Any) -> None:
        self.pursuit = pursuit
        self.length, self.settled_at = np.zeros((2, n_inputs), dtype=np.int64)
        self.stop_reason = np.full(n_inputs, "", dtype=object)
        self.soft_answers: dict[tuple[int, int], SoftAnswer] = {}
        # (inputs, step, what belongs to the query, or what was believed before and after)
        self._asked: list[tuple[IntArray, IntArray, tuple[Any, ...]]] = []
        self._believed: list[tuple[IntArray, IntArray, tuple[Any, ...]]] = []

    def write(self, turn: Turn) -> None:
        """Note one turn: what is believed of its inputs, which of them stop, and what the others answer."""
        state = turn.step.state
        place = turn.place
        at = self.length[turn.inputs]
        believed = (state.posterior[place], state.posterior_error[place], state.log_evidence[place])
        self._believed.append((turn.inputs, at, believed))

        stops = ~turn.continues
        stopped = turn.inputs[stops]
        self.stop_reason[stopped] = [turn.step.reason[history] or "open" for history in place[stops]]
        self.settled_at[stopped] = turn.step.settled[place[stops]]

        if turn.answers is not None:
            self._write_answers(turn, turn.answers)

    def _write_answers(self, turn: Turn, answers: Answers) -> None:
        """Note the queries and answers of the inputs that continue."""
        inputs = turn.inputs[turn.continues]
        place = turn.place[turn.continues]
        at = self.length[inputs]
        for i, k, answer in zip(inputs.tolist(), at.tolist(), answers.soft, strict=False):
            if answer is not None:
                self.soft_answers[i, k] = answer

        choice = turn.step.choice
        chosen = (choice.gain[place], choice.error[place], choice.runner_up[place], choice.tie[place])
        numbers = np.nan if answers.numbers is None else answers.numbers
        self._asked.append((inputs, at, (turn.query[turn.continues], answers.cells, *chosen, numbers)))
        self.length[inputs] += 1

    def finish(self, known: tuple[History, ...]) -> Trace:
        """The trace, as long as the longest input; what was believed last is repeated after the stop."""
        pursuit, n, k = self.pursuit, len(self.length), int(self.length.max(initial=0))
        queries, n_classes = pursuit.queries, len(pursuit.classes)
        asked: dict[str, Any] = {
            "queries": np.full((n, k), UNKNOWN),
            "answers": np.full((n, k, queries.width), UNKNOWN),
            "gains": np.zeros((n, k)),
            "gain_errors": np.zeros((n, k)),
            "runners_up": np.full((n, k), UNKNOWN),
            "ties": np.zeros((n, k), dtype=bool),
        }
        if queries.representatives is not None:
            asked["numbers"] = np.full((n, k), np.nan)
        posteriors, errors = np.zeros((2, n, k + 1, n_classes))
        believed: dict[str, Any] = {
            "posteriors": posteriors,
            "posterior_errors": errors,
            "log_evidence": np.zeros((n, k + 1)),
        }
        for arrays, records in ((asked, self._asked), (believed, self._believed)):
            for inputs, at, told in records:
                for array, each in zip(arrays.values(), told, strict=False):  # numbers, where some query is numeric
                    array[inputs, at] = each
        last = np.minimum(np.arange(k + 1), self.length[:, None])  # (B, K + 1)
        return Trace(
            **asked,
            **{name: array[np.arange(n)[:, None], last] for name, array in believed.items()},
            length=self.length,
            settled_at=self.settled_at,
            stop_reason=self.stop_reason.astype(str),
            classes=np.asarray(pursuit.classes),
            exact_gains=pursuit.exact_gains,
            query_set=queries,
            soft_answers=self.soft_answers,
            query_costs=pursuit.query_costs if pursuit.costs else None,
            known=known,
            calibrated=pursuit.calibrated,
            label_name=pursuit.label_name,
            base_rates=pursuit.base_rates(known),
        )
