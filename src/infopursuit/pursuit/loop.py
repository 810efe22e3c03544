"""The loop: believe, check the stopping rules, choose a query, ask it, absorb the answer.

Everything is computed on *histories*, never on inputs. Inputs with the same answers so far share one history, so that
the strategy cannot be anything but a function of the history, alone or in a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic

import numpy as np

from infopursuit.pursuit.bindings import Bindings, Cached
from infopursuit.pursuit.costs import Constraints, Costs
from infopursuit.pursuit.costs import bind as bind_costs
from infopursuit.pursuit.driver import ObservedAnswers, Turn, drive, start_with
from infopursuit.pursuit.histories import BoolArray, Histories, everything_possible, narrow, nothing_to_learn
from infopursuit.pursuit.information import MutualInformation
from infopursuit.pursuit.noise import Annotator, AnswerNoise, NoiseChannel
from infopursuit.pursuit.protocols import Acquisition, B, Belief, Budget, Calibrator, Estimate, NoveltyTest
from infopursuit.pursuit.ranking import Ranking
from infopursuit.pursuit.session import Session
from infopursuit.pursuit.state import Branches, Choice, State, Step
from infopursuit.pursuit.stopping import (
    EXHAUSTED,
    IMPOSSIBLE,
    SLACK,
    Check,
    Confidence,
    Rule,
    Watch,
    check_rules,
    max_cost,
    max_queries,
)
from infopursuit.pursuit.trace import Trace, TraceWriter
from infopursuit.queries.queryset import QuerySet
from infopursuit.support.cards import NotebookCard
from infopursuit.support.checks import instance, whole_number
from infopursuit.support.progress import Progress
from infopursuit.support.threads import single_threaded
from infopursuit.support.types import (
    UNKNOWN,
    FloatArray,
    History,
    ImpossibleAnswer,
    IntArray,
    Observed,
    Said,
    SoftAnswers,
)


@dataclass(frozen=True, eq=False)
class Pursuit(NotebookCard, Generic[B]):
    """Information Pursuit: a small loop over a belief, an acquisition function and a few parts.

    `infopursuit.generative_pursuit` makes one from a model; ``dataclasses.replace(pursuit, stopping=...)`` exchanges
    a part.

    Parameters
    ----------
    queries: what may be asked.
    belief: history -> p(y | history), see `infopursuit.pursuit.protocols.Belief`.
    acquisition: history -> utility of every query, see `infopursuit.pursuit.protocols.Acquisition`.
    stopping: when to stop.
    patience: the paper's T: a rule must hold at T + 1 checks in a row.
    classes: the labels, 0 to C - 1 where nothing is given. label_name: what they are values of, such as "diagnosis".
    noise: the answer noise, `AnswerNoise`; None takes every answer as certain.
    costs, constraints: what queries cost, prerequisites, and which are never asked.
    calibrator: corrects the posterior, such as `TemperatureScaling`; the queries do not change, only when they end.
    novelty: reference distribution for novelty p-values.
    seed: of what is drawn; a draw depends on the seed and the history alone.
    memory_limit: bytes that the histories of a batch may take.
    learnt: whether the belief was learnt from data, so that without a calibrator its posterior is not calibrated.

    >>> import infopursuit as ip
    >>> queries = ip.queries.concepts(["has wings", "is red"])
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> pursuit = ip.Pursuit(queries, ip.strategies.Exact(model, queries), stopping=ip.Confidence(0.2))
    >>> pursuit.run([[1, 0]]).queries.tolist()
    [[0]]
    """

    queries: QuerySet
    belief: Belief[B]
    acquisition: Acquisition[B] = field(default_factory=MutualInformation)
    stopping: Rule = field(default_factory=Confidence)
    patience: int = 0
    classes: Any = None
    noise: AnswerNoise | None = None
    costs: Costs | None = None
    constraints: Constraints | None = None
    calibrator: Calibrator | None = None
    novelty: NoveltyTest | None = None
    seed: int = 0
    memory_limit: int = 2**29
    learnt: bool = False
    label_name: str = ""
    bindings: Bindings = field(default_factory=Bindings, repr=False)

    def __post_init__(self) -> None:
        none = type(None)
        instance(self.queries, "queries", QuerySet, "a query set such as ip.queries.concepts(...)")
        instance(self.stopping, "stopping", Rule, "a rule such as ip.Confidence(0.01) or ip.MaxQueries(10)")
        instance(self.noise, "noise", (AnswerNoise, none), "ip.AnswerNoise(0.9), or None")
        instance(self.costs, "costs", (Costs, none), "ip.Costs({query: cost}), or None")
        instance(self.constraints, "constraints", (Constraints, none), "ip.Constraints(...), or None")
        instance(self.novelty, "novelty", (NoveltyTest, none), "what clf.fit_novelty makes, or None")
        instance(self.belief, "belief", Belief, "a subclass of ip.pursuit.Belief, such as ip.strategies.Exact(...)")
        instance(self.acquisition, "acquisition", Acquisition, "a subclass of ip.pursuit.Acquisition")
        instance(self.calibrator, "calibrator", (Calibrator, none), "ip.TemperatureScaling(2.0), or None")
        object.__setattr__(self, "patience", whole_number(self.patience, "patience"))
        if any(rule.needs_gain for rule in self.stopping.rules) and self.acquisition.unit != "nats":
            raise ValueError(
                f"stopping={self.stopping!r} needs gains in nats, and acquisition {type(self.acquisition).__name__} "
                f"gives scores; use ip.Confidence or ip.MaxQueries"
            )
        labels = np.arange(self.belief.n_classes) if self.classes is None else np.asarray(self.classes)
        if len(labels) != self.belief.n_classes:
            raise ValueError(f"classes has {len(labels)} labels, but the belief has {self.belief.n_classes} classes")
        object.__setattr__(self, "classes", labels)
        _ = self.bound_costs  # names are looked for before anything is asked
        self.bindings.bind(self)

    def __repr__(self) -> str:
        parts = f"{type(self.belief).__name__}, {type(self.acquisition).__name__}"
        asked = f"{len(self.classes)} classes, {len(self.queries)} {self.queries.kind} queries"
        return f"<Pursuit: {asked}, {parts}; stops when {self.stopping.describe()}>"

    # ---- what follows from the parts ---------------------------------------------------------------------------------

    @property
    def model(self) -> Any:
        """The model that the belief is about, None where it is about none."""
        return self.belief.model

    @property
    def bound_belief(self) -> Belief[Any]:
        """The belief for the noise of this pursuit."""
        return self.bindings.bind(self)[0]

    @property
    def bound_acquisition(self) -> Cached:
        """The acquisition function for this belief, which remembers what it returned."""
        return self.bindings.bind(self)[1]

    @property
    def calibrated(self) -> bool:
        """Whether the posterior was calibrated, or is that of a model that somebody stated."""
        sampled = self.model is not None and "smc" in self.model.beliefs
        return self.calibrator is not None or not (self.learnt or sampled)

    @cached_property
    def channel(self) -> NoiseChannel | None:
        """The noise of this query set."""
        return None if self.noise is None else self.noise.bind(self.queries)

    @cached_property
    def bound_costs(self) -> Any:
        """The costs and constraints of this query set."""
        return bind_costs(self.costs, self.constraints, self.queries)

    @property
    def query_costs(self) -> FloatArray:
        """(Q,) what each query costs, 1 where no costs are given."""
        return np.asarray(self.bound_costs[0])

    @property
    def exact_gains(self) -> bool:
        """Whether every utility is exact."""
        return self.bound_acquisition.is_exact

    @cached_property
    def _ranking(self) -> Ranking:
        costs = self.query_costs if self.acquisition.unit == "nats" else np.ones(len(self.queries))
        return Ranking.of(costs, self.bound_acquisition.tie)

    @property
    def uses_numbers(self) -> bool:
        """Whether the belief uses the numbers behind the cells; else inputs share histories by cells."""
        return self.bound_belief.capabilities.numbers

    @cached_property
    def _certain(self) -> NoiseChannel:
        """The channel of answers that are always right."""
        return AnswerNoise(1.0).bind(self.queries)

    # ---- the loop ----------------------------------------------------------------------------------------------------

    @single_threaded()
    def start(self) -> State[B]:
        """The one empty history."""
        b, one = self.bound_belief.init(), np.zeros(1, dtype=bool)
        closed = np.zeros((1, len(self.queries)), dtype=bool)
        asked = self.queries.query_variables[self.queries.query_variables >= 0]
        repeats = self.channel is not None and self.channel.max_repeats > 1
        shared = repeats or len(np.unique(asked)) < len(asked)
        possible = everything_possible(self.queries) if shared else None
        known, watch = self._believed(b, np.zeros(1, dtype=np.int64)), Watch.start(self.stopping)
        return State(Histories.empty(self.queries), b, *known, closed, possible, watch, one, one)

    def base_rates(self, known: Iterable[History]) -> FloatArray | None:
        """(C,) the share of each class of all cases, where it may differ from the first posterior of a trace.

        It is the frequency of the classes in training where the calibrator knows it: a learnt belief may be somewhat
        off before the first answer. Else it is the posterior before anything was known, None where nothing was.

        Parameters
        ----------
        known : iterable of History
            What was known of each input beforehand.
        """
        if self.calibrator is not None and len(self.calibrator.prior):
            return np.array(self.calibrator.prior)
        return np.array(self.start().posterior[0]) if any(known) else None

    @single_threaded()
    def propose(self, state: State[B]) -> Step[B]:
        """Check every rule, and choose the next query of the histories that go on."""
        n_asked = np.full(len(state), state.histories.n_asked, dtype=np.int64)
        needs_gain = any(rule.needs_gain for rule in self.stopping.rules)
        choice = self._choose(state, ~state.impossible) if needs_gain else None
        closed, unaffordable = self._closed(state)
        gains = np.zeros(len(state)) if choice is None else np.where(unaffordable, np.inf, choice.largest)
        check = Check(state.posterior, gains, n_asked, unaffordable)
        watch, reason, settled = check_rules(self.stopping, state.watch, check, self.patience, state.skipped)
        for holds, why, when in (
            (closed.all(axis=1) & (reason == ""), EXHAUSTED, n_asked),
            (state.impossible, IMPOSSIBLE, n_asked),
        ):
            reason, settled = np.where(holds, np.array(why, dtype=object), reason), np.where(holds, when, settled)
        stopped = reason != ""
        choice = self._choose(state, ~stopped) if choice is None else choice
        choice = replace(choice, query=np.where(stopped, UNKNOWN, choice.query))
        return Step(state, watch, choice, reason.tolist(), settled)

    def advance(self, step: Step[B], branches: Branches) -> Step[B]:
        """The next turn of the loop, once the answers are known."""
        return self.propose(self.absorb(step.state, branches, step.watch))

    @single_threaded()
    def absorb(self, state: State[B], branches: Branches, watch: Watch) -> State[B]:
        """Histories that are longer by one answer. An impossible answer leaves the belief as it was, and is marked."""
        parents, answers, before = branches.parents, branches.answers, state.histories
        skipped = (answers == UNKNOWN).all(axis=1)
        belief = self.bound_belief
        likelihood = self._log_likelihood(branches)
        numbers = branches.numbers if self.uses_numbers else None
        histories = before.extend(parents, branches.queries, answers, branches.soft, likelihood, numbers)
        b = belief.update(state.belief, parents, histories)
        known = self._believed(b, histories.n_answered)
        impossible = np.asarray(np.isnan(known[0]).any(axis=1))
        keep = skipped | impossible  # what taught nothing changes nothing
        for now, then in zip(known, (state.posterior, state.posterior_error, state.log_evidence), strict=True):
            now[keep] = then[parents[keep]]
        closed = state.closed[parents]
        repeats = 1 if self.channel is None else self.channel.max_repeats
        n_times = (histories.queries == branches.queries[:, None]).sum(axis=1)
        closed[np.arange(len(parents)), branches.queries] = skipped | (n_times >= repeats)
        possible = state.possible
        if possible is not None:
            certain = np.array([said is None for said in branches.soft] or [True] * len(parents), dtype=bool)
            certain &= True if self.channel is None else self.channel.certain[branches.queries]
            possible = narrow(self.queries, possible[parents], branches.queries, answers, certain)
            closed |= nothing_to_learn(self.queries, possible)
        return State(histories, b, *known, closed, possible, watch.take(parents), skipped, impossible)

    def know(self, state: State[B], branches: Branches) -> State[B]:
        """Absorb an answer that was known beforehand: it is not asked, costs nothing, and no rule is checked."""
        after = self.absorb(state, branches, state.watch)
        closed = after.closed.copy()
        closed[np.arange(len(after)), branches.queries] = True
        histories = replace(after.histories, n_known=after.histories.n_steps)
        nothing_skipped = np.zeros(len(after), dtype=bool)
        return replace(after, histories=histories, closed=closed, skipped=nothing_skipped)

    def _log_likelihood(self, branches: Branches) -> FloatArray | None:
        """(H', W, V) log P(answer | cell), or None where every answer is certain."""
        if self.channel is None and not any(branches.soft):
            return None
        if not self.bound_belief.capabilities.noise:
            raise ValueError(
                "this pursuit takes every answer as certain, which is faster; for soft answers make it with "
                "noise=ip.AnswerNoise(1.0)"
            )
        channel = self.channel if self.channel is not None else self._certain
        weights = channel.log_likelihood(branches.queries, branches.answers)
        with np.errstate(divide="ignore"):
            for row, answer in enumerate(branches.soft):
                for w, cells in enumerate(() if answer is None else answer.weights):
                    weights[row, w, : len(cells)] = np.log(cells)
        return weights

    def _believed(self, b: B, n_answers: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(H, C) p(y | history), NaN where it is impossible, (H, C) its standard error, and (H,) log p(answers)."""
        belief = self.bound_belief
        found = belief.log_posterior(b)
        posterior, error = np.exp(found.value), found.error.copy()
        evidence = np.full(len(posterior), np.nan)
        if belief.capabilities.evidence:
            evidence = belief.log_evidence(b)
        if self.calibrator is not None:
            calibrated = np.exp(self.calibrator.log_posterior(found.value, n_answers))
            error = self.calibrator.standard_error(error, posterior, calibrated, n_answers)
            posterior = calibrated
        return posterior, error, np.array(evidence, dtype=np.float64)

    def _choose(self, state: State[B], rows: BoolArray) -> Choice:
        """The best query of some histories."""
        found = self.utilities(state, rows)
        scores, index = self._ranking.scores(found.value), np.arange(len(state))
        query, runner_up = self._ranking.leaders(scores)
        none = query == UNKNOWN
        lead = np.where(runner_up == UNKNOWN, np.inf, scores[index, query] - scores[index, runner_up])
        noisy = np.zeros(len(state), dtype=bool) if found.tie is None else found.tie
        tie = (noisy | (lead <= self._ranking.near[query])) & ~none
        largest = np.where(np.isnan(found.value), 0.0, found.value).max(axis=1, initial=0.0)
        gain, error = np.where(none, 0.0, found.value[index, query]), np.where(none, 0.0, found.error[index, query])
        if self.acquisition.unit != "nats":
            gain = np.full(len(state), np.nan)
        return Choice(query, gain, error, runner_up, tie, largest)

    @single_threaded()
    def utilities(self, state: State[B], rows: Any = slice(None)) -> Estimate:
        """(H, Q) the utility of every allowed query after some histories, NaN for the others."""
        wanted = np.zeros(len(state), dtype=bool)
        wanted[rows] = True
        allowed = ~self._closed(state)[0] & wanted[:, None]
        budget = self._budget(state.histories)
        return self.bound_acquisition.utilities(state.belief, state.histories, allowed, budget)

    def _budget(self, histories: Histories) -> Budget:
        """What is left of the questions and of their cost."""
        asked = histories.queries[:, histories.n_known :]
        costs, _ = self.bound_costs
        return Budget(
            questions=max_queries(self.stopping) - histories.n_asked,
            cost=max_cost(self.stopping) - costs[asked].sum(axis=1),
        )

    def _closed(self, state: State[B]) -> tuple[BoolArray, BoolArray]:
        """(H, Q) what may not be asked, and (H,) whether queries are left, all of them too expensive."""
        costs, constraints = self.bound_costs
        queries, answers = state.histories.queries, state.histories.answers
        closed = state.closed | ~constraints.allowed(queries, answers)
        most = max_cost(self.stopping)
        if np.isinf(most):
            return closed, np.zeros(len(state), dtype=bool)
        left = most - costs[queries[:, state.histories.n_known :]].sum(axis=1, keepdims=True)
        expensive = costs > left + SLACK * most  # rounding of the sum is forgiven
        return closed | expensive, (~closed).any(axis=1) & (closed | expensive).all(axis=1)

    # ---- two ways to drive it ----------------------------------------------------------------------------------------

    def run(
        self,
        X: Any,
        *,
        annotator: Annotator | None = None,
        known: Iterable[str | int] = (),
        progress: bool | Progress | None = None,
    ) -> Trace:
        """Pursue every input of a batch; its answers are read off X, or given by an annotator who knows X.

        known: queries, or columns, whose answers are known beforehand: absorbed first in this order, read off X, at no
        cost; they are not asked and do not count. An `Observed` in the place of X is taken as it is.
        """
        if isinstance(known, (str, Mapping)):
            raise TypeError(f"known={known!r:.80}; a batch takes names of columns or queries, ['age'], read off X")
        given = list(dict.fromkeys(q for key in known for q in self.queries.find(key, "known")))
        if annotator is None and self.channel is not None and self.channel.max_repeats > 1:
            raise ValueError(
                f"noise allows each query {self.channel.max_repeats} times (max_repeats=...), but X says the same each "
                f"time, so that asking again would count an error twice; use max_repeats=1, or give an annotator"
            )
        observed = X if isinstance(X, Observed) else self.queries.read(X)
        observed = replace(observed, values=self.queries.variables.check(observed.values))
        n = len(observed)
        rows = self.rows_at_a_time()
        writer = TraceWriter(n, self)
        with Progress.of("asking", n, progress) as shown:
            for start in range(0, n, rows):
                inputs = np.arange(start, min(start + rows, n))
                for turn in self.steps(observed, given, inputs=inputs, annotator=annotator):
                    writer.write(turn)
                    shown.advance(int((~turn.continues).sum()))
        trace = writer.finish(self._known_of(observed, given))
        return trace if self.novelty is None else self.novelty.add_pvalues(trace)

    def run_values(self, values: Any, **options: Any) -> Trace:
        """Like `run`, from the values of the variables: (B, A), or an `Observed`, which has their numbers, too."""
        return self.run(Observed.of(values), **options)

    def rows_at_a_time(self) -> int:
        """How many histories fit the memory limit side by side."""
        belief = self.bound_belief
        own = belief.capabilities.bytes_per_history
        bytes_per_history = own + 8 * len(self.queries) + self.queries.variables.n_slots
        return int(np.clip(self.memory_limit // bytes_per_history, 1, 4096))

    def steps(
        self,
        observed: Observed,
        known: Sequence[int] = (),
        *,
        inputs: IntArray | None = None,
        annotator: Annotator | None = None,
        choose: Callable[[IntArray, IntArray, int], IntArray] | None = None,
    ) -> Iterator[Turn]:
        """Pursue some inputs together, turn by turn.

        Parameters
        ----------
        observed : Observed
            What the answers are read off.
        known : sequence of int
            Queries whose answers are known beforehand.
        inputs : (n,) array of int, optional
            Rows of ``observed``; by default all of them.
        annotator : Annotator, optional
            Gives the answers instead.
        choose : callable, optional
            See `infopursuit.pursuit.driver.drive`.

        Yields
        ------
        Turn
        """
        if inputs is None:
            inputs = np.arange(len(observed))
        source = ObservedAnswers(self.queries, observed, annotator)
        state, place = start_with(self, source, inputs, known)
        yield from drive(self, source, inputs, self.propose(state), place, choose)

    def _known_of(self, observed: Observed, queries: Sequence[int]) -> tuple[History, ...]:
        """The histories of B inputs that consist of what was known beforehand; none where nothing was."""
        n, found = len(observed), Histories.empty(self.queries).take(np.zeros(len(observed), dtype=np.int64))
        for query in queries:
            answers, numbers, soft = self.queries.told(observed, np.full(n, query))
            found = found.extend(np.arange(n), np.full(n, query), answers, soft, numbers=numbers)
        return tuple(map(found.steps, range(n))) if queries else ()

    def together(
        self, place: IntArray, queries: IntArray, answers: IntArray, numbers: Any = None, soft: SoftAnswers = ()
    ) -> tuple[Branches, IntArray]:
        """See `Branches.together`; numbers count only where the belief uses them."""
        return Branches.together(place, queries, answers, numbers if self.uses_numbers else None, soft)

    def clear_cache(self, max_bytes: int | None = None) -> Pursuit[B]:
        """Forget the utilities computed so far. max_bytes: how many of them may be remembered from now on, 64 MiB where
        nothing was said."""
        self.bound_acquisition.clear(max_bytes)
        return self

    def session(self, history: Iterable[tuple[Any, Any]] = (), *, known: Any = None) -> Session:
        """One input whose answers come from outside, one at a time; ``history`` are answers that were given already.

        known: {query or column: answer}, or a row of a pandas table, known beforehand: absorbed first, at no cost; they
        are not asked and do not count. What is missing (None, NaN) is left out.
        """
        return Session(self, history, known)

    def believe(self, history: History) -> FloatArray:
        """(C,) the posterior after a history, what was known beforehand first: a prediction is this function of it."""
        state = self.start()
        for query, answer in history:
            state = self.absorb(state, self.branch(query, answer), state.watch)
        return np.asarray(state.posterior[0])

    def at(self, history: History, since: State[B] | None = None, known: History = ()) -> State[B]:
        """The state of a session with this history, without choosing a query at each step on the way there.

        `propose` then says what a session would ask; gains on the way are computed only where a rule's patience needs
        them. (Of a history that goes on after its stop, `Step.settled` may come out later than a session has it.)
        ``since``: the state of a beginning of this history. ``known``: what was known beforehand.
        """
        needed = self._gains_needed(history)
        state = self._knowing(known) if since is None else since
        n, asked = state.histories.n_asked, state.histories.queries[0].tolist()
        if asked != [query for query, _ in (*known, *history[:n])]:
            raise ValueError(f"since has the queries {asked}, which is not how the history begins; leave it out")
        for k, (query, answer) in enumerate(history[n:], start=n):
            if k in needed:
                step = self.propose(state)
                state, watch = step.state, step.watch
            else:
                check = Check(state.posterior, np.full(1, np.inf), np.full(1, k, dtype=np.int64))
                watch, _, _ = check_rules(self.stopping, state.watch, check, self.patience, state.skipped)
            state = self.absorb(state, self.branch(query, answer), watch)
            if state.impossible[0]:
                raise ImpossibleAnswer(
                    f"history[{k}], {self.queries.say(query, answer)!r}, is impossible after the answers before it "
                    f"under this model; answer otherwise, or leave it open (null)"
                )
        return state

    def _knowing(self, known: History) -> State[B]:
        """The state of a session before its first question."""
        state = self.start()
        for query, answer in known:
            state = self.know(state, self.branch(query, answer))
            if state.impossible[0]:
                raise ImpossibleAnswer(
                    f"known: {self.queries.say(query, answer)!r} is impossible with what is known before it under this "
                    f"model; leave it out"
                )
        return state

    def _gains_needed(self, history: History) -> set[int]:
        """The steps of a history whose largest gain may decide whether to stop at its end."""
        wanted = [getattr(rule, "patience", None) for rule in self.stopping.rules if rule.needs_gain]
        if not wanted:
            return set()
        most = max(self.patience if patience is None else patience for patience in wanted)
        # after a skipped query no rule is checked, so that an earlier check counts instead
        checks = [0, *(k + 1 for k, (_, answer) in enumerate(history) if answer is not None)]
        return set(checks[-(most + 1) :]) - {len(history)}

    def branch(self, query: int, answer: Said) -> Branches:
        """The one history of a state, longer by one answer."""
        return Branches.of(self.queries, [(query, answer)], np.zeros(1, dtype=np.int64))
