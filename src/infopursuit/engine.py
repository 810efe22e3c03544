"""The loop: believe, look whether to stop, choose, ask, hear the answer.

Everything is computed on *histories*, never on inputs. Inputs with the same answers so far share one history, so that
the strategy cannot be anything but a function of the history, alone or in a batch.
"""

from __future__ import annotations

import copy
import hashlib
import logging
import time
from collections.abc import Generator, Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from infopursuit.calibration import Calibrator
from infopursuit.costs import Constraints, Costs
from infopursuit.costs import bind as bind_costs
from infopursuit.information.bank import BankChooser
from infopursuit.information.chooser import Chooser, Proposal
from infopursuit.information.sampled import SampledChooser
from infopursuit.information.work import Work, check_seconds, work_within
from infopursuit.models.finite import FiniteModel
from infopursuit.models.vae import VAE
from infopursuit.noise import Annotator, AnswerNoise, NoiseChannel
from infopursuit.novelty import StopPoint, choose_novelty_query
from infopursuit.posteriors import SMC, Bank, ExactPosterior, FiniteBank, Langevin
from infopursuit.posteriors.protocol import Posterior
from infopursuit.posteriors.sampled import SampledPosterior
from infopursuit.progress import Progress
from infopursuit.queries.queryset import QuerySet
from infopursuit.stopping import SLACK, Check, Confidence, Rule, Watch, look, most_cost
from infopursuit.threads import steady
from infopursuit.trace import Trace, TraceWriter
from infopursuit.types import UNKNOWN, FloatArray, History, ImpossibleAnswer, IntArray, Likely, Said

if TYPE_CHECKING:
    from infopursuit.session import Session

logger = logging.getLogger(__name__)

EXHAUSTED, IMPOSSIBLE = "exhausted", "impossible"
UNWEIGHED = (
    "this pursuit takes answers as they are, which is faster; to weigh one that is not certain, make the pursuit with "
    "noise=ip.AnswerNoise(1.0), and without posterior='bank'"
)
REMEMBERED = 20_000
"""Histories whose next query is remembered, so that batches and sessions share their first steps."""
LONGEST_KEY = 256
"""Bytes of a history's name that are remembered as they are."""


Uncertain = tuple[tuple[int, Likely], ...]
"""(step, answer) of the answers of a history that are not certain."""


class Likeness(Protocol):
    """What says how unlike other inputs those of a trace are."""

    def add_pvalues(self, trace: Trace) -> Trace:
        """The same trace with its p-values."""


@dataclass(frozen=True)
class State:
    """H histories side by side: what was asked and answered, and all that follows from it."""

    queries: IntArray  # (H, K)
    answers: IntArray  # (H, K, W)
    belief: Any  # what the posterior keeps of them
    posterior: FloatArray  # (H, C)
    posterior_error: FloatArray  # (H, C) its standard error, 0 where exact
    log_probability: FloatArray  # (H,) log p(answers), the model's own: how expected they are together
    asked: Any  # (H, Q) bool
    watch: Watch
    skipped: Any  # (H,) bool: the last question was not answered
    impossible: Any  # (H,) bool: the last answer cannot be
    ending: StopPoint  # where the pursuit stopped, if novelty queries follow
    uncertain: tuple[Uncertain, ...] = ()  # for each history the answers that are not certain; () where none has any

    def __len__(self) -> int:
        return len(self.queries)

    def keys(self) -> list[bytes]:
        """A name for each history that is the same in every process."""
        pairs = np.concatenate([self.queries[:, :, None], self.answers], axis=2).astype("<i4")
        keys = [pairs[h].tobytes() for h in range(len(self))]
        if not self.uncertain:
            return keys
        return [key + repr(some).encode() if some else key for key, some in zip(keys, self.uncertain, strict=True)]


@dataclass(frozen=True)
class Step:
    """One turn of the loop for H histories, before the answers are known.

    query: (H,) what to ask, -1 where the pursuit has stopped. gain, error: (H,) of that query. runner_up, tie: (H,)
    the second best, and whether it is as good within noise. reason: why it stopped, "" where it goes on. settled: (H,)
    how many queries had been asked when the rule that stopped it began to hold. watch: the patience after this look;
    the state still has the one before, so that a loop begun anew at the state takes the same step.
    """

    state: State
    watch: Watch
    query: IntArray
    gain: FloatArray
    error: FloatArray
    runner_up: IntArray
    tie: Any
    reason: list[str]
    settled: IntArray


@dataclass(frozen=True)
class Branches:
    """Which histories go on (rows of the step), with which query and answer: (H', ), (H', ) and (H', W).

    likely: for each of them the answer where it is not certain, else None; () where all are certain.
    """

    parents: IntArray
    queries: IntArray
    answers: IntArray
    likely: tuple[Likely | None, ...] = ()


class Pursuit:
    """Information Pursuit with one model and one query set.

    Parameters
    ----------
    model: a model of the atoms that the queries reveal: finite, or a `VAE`.
    queries: what may be asked.
    posterior: "auto" is "exact" for a finite model, which may also have "bank" (many states, yes/no atoms: not exact,
        but many times faster), and "smc" for a VAE, which may also have "langevin"; or the settings of one, such as
        ``ip.posteriors.SMC(n_draws=4000)``.
    stopping: when to stop; `Confidence(0.01)` where nothing is given.
    patience: the paper's T: a rule must hold at T + 1 checks in a row.
    seed: for what is drawn where gains are not exact; the draw depends on the seed and the history alone.
    classes: the labels, 0 to C - 1 where nothing is given.
    noise: how often answers are right, `AnswerNoise`; None takes every answer as it is.
    n_novelty_queries: queries after the stop, to find out whether the input is like those the model was made of.
    exact_gains, n_states, n_screened, budget: see `Chooser`.
    costs, constraints: what queries cost, what must be known before they are asked, and which are never asked; see
        `Costs` and `Constraints`.
    seconds: how long choosing a query may take. Work is tried out when the pursuit is built, and reduced until it is
        done in time; `work` says to what. A clock that cut a choice short would make the strategy depend on the
        machine's mood; this way it stays a function of the history.

    >>> import infopursuit as ip
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> pursuit = ip.Pursuit(model, ip.queries.concepts(["has wings", "is red"]), stopping=ip.Confidence(0.2))
    >>> pursuit.run([[1, 0]]).queries.tolist()
    [[0]]
    """

    @steady()
    def __init__(
        self,
        model: FiniteModel | VAE,
        queries: QuerySet,
        posterior: Any = "auto",
        stopping: Rule | None = None,
        patience: int = 0,
        seed: int = 0,
        *,
        classes: Any = None,
        noise: AnswerNoise | None = None,
        n_novelty_queries: int = 0,
        exact_gains: bool | None = None,
        n_states: int = 1024,
        n_screened: int = 64,
        budget: int = 2**29,
        costs: Costs | None = None,
        constraints: Constraints | None = None,
        seconds: float | None = None,
    ) -> None:
        if not isinstance(model, (FiniteModel, VAE)):
            raise TypeError(f"model is {type(model).__name__}; expected a model such as ip.models.TableModel")
        if not isinstance(queries, QuerySet):
            raise TypeError(
                f"queries is {type(queries).__name__}; expected a query set such as ip.queries.concepts(...)"
            )
        if queries.atoms != model.atoms:
            raise ValueError(
                f"queries reveal {len(queries.atoms)} atoms with {queries.atoms.n_slots} values, but the model has "
                f"{len(model.atoms)} atoms with {model.atoms.n_slots}; fit the model on queries.observe(X)"
            )
        if patience < 0 or int(patience) != patience:
            raise ValueError(f"patience={patience} must be a whole number, 0 or more")
        if stopping is not None and not isinstance(stopping, Rule):
            raise TypeError(
                f"stopping is {stopping!r}; expected a rule such as ip.Confidence(0.01) or ip.MaxQueries(10)"
            )
        if costs is not None and not isinstance(costs, Costs):
            raise TypeError(f"costs is {costs!r}; expected ip.Costs(...)")
        if constraints is not None and not isinstance(constraints, Constraints):
            raise TypeError(
                f"constraints is {constraints!r}; expected ip.Constraints(prerequisites=..., forbidden=...)"
            )
        check_seconds(seconds, exact_gains)
        self.model, self.queries = model, queries
        self.costs, self.constraints = costs or Costs(), constraints or Constraints()
        self.bound_costs, self.bound_constraints = bind_costs(costs, constraints, queries)
        self.n_novelty_queries = check_count(n_novelty_queries)
        self.novelty_reference: Likeness | None = None
        self.stopping = stopping if stopping is not None else Confidence()
        self.patience, self.seed, self.budget = int(patience), int(seed), int(budget)
        self.classes = np.arange(model.n_classes) if classes is None else np.asarray(classes)
        if len(self.classes) != model.n_classes:
            raise ValueError(f"classes has {len(self.classes)} labels, but the model has {model.n_classes} classes")
        self.posterior_settings = posterior_settings(posterior, model)
        if noise is not None and not isinstance(noise, AnswerNoise):
            raise TypeError(f"noise is {noise!r:.80}; expected ip.AnswerNoise(0.9), or None")
        self.noise = noise
        self.channel = None if noise is None else noise.bind(queries)
        self.posterior: Posterior
        if isinstance(model, FiniteModel):
            self.posterior = self._finite_posterior(model, exact_gains)
            self.n_states = model.n_states
        else:
            drawn = self.posterior_settings
            sampled = (drawn if isinstance(drawn, (SMC, Langevin)) else SMC()).build(
                model, queries, self.seed, soft=noise is not None
            )
            self.posterior, self.n_states = sampled, sampled.cloud.n_states
        self.calibrator: Calibrator | None = None
        self.chooser = self._build_chooser(Work(exact_gains, n_states, n_screened))
        self.seconds = seconds
        self._remembered: dict[bytes, tuple[int, float, float, int, bool, float]] = {}
        if seconds is not None:
            self.chooser = work_within(seconds, self.work, self._build_chooser, self._time_a_choice)

    def _finite_posterior(self, model: FiniteModel, exact_gains: bool | None) -> Posterior:
        """The exact posterior of a finite model, or the fast one where it was asked for."""
        if not isinstance(self.posterior_settings, Bank):
            return ExactPosterior(model, self.queries)
        if self.noise is not None:
            raise ValueError(
                "posterior='bank' takes answers as they are and does not suit noise=...; use posterior='exact'"
            )
        if exact_gains:
            raise ValueError("exact_gains=True does not suit posterior='bank', which is not exact; use 'exact'")
        return self.posterior_settings.build(model, self.queries)

    def _build_chooser(self, work: Work) -> Chooser | SampledChooser | BankChooser:
        """What chooses, with so much work for each choice."""
        settings: dict[str, Any] = {
            "exact_gains": work.exact_gains,
            "n_states": work.n_states,
            "n_screened": work.n_screened,
            "budget": self.budget,
            "seed": self.seed,
            "costs": self.bound_costs.of_query,
            "channel": self.channel,
        }
        if isinstance(self.posterior, SampledPosterior):
            return SampledChooser(self.posterior, self.queries, **settings)
        assert isinstance(self.model, FiniteModel)
        if isinstance(self.posterior, FiniteBank):
            return BankChooser(
                self.posterior.bank, work.n_states, work.n_screened, self.seed, self.bound_costs.of_query
            )
        return Chooser(self.model, self.queries, **settings)

    @property
    def work(self) -> Work:
        """How much is computed for each choice: what `seconds` has left of what was asked for."""
        chooser = self.chooser
        exact = chooser.on_all_draws if isinstance(chooser, SampledChooser) else chooser.exact
        return Work(exact, chooser.n_states, chooser.n_screened)

    def _time_a_choice(self, chooser: Chooser | SampledChooser | BankChooser) -> float:
        """How long one choice takes, after no answer and after two: the longer of the two."""
        state, longest = self.start(), 0.0
        for _ in range(2):
            begin = time.perf_counter()
            belief = self.posterior.refresh(state.belief, state.keys(), [0])
            found = chooser.choose(belief, self._shut(state)[0], state.keys())
            longest = max(longest, time.perf_counter() - begin)
            query = int(found.query[0])
            if query == UNKNOWN:
                break
            state = replace(state, belief=belief)
            for value in (0, 1):  # the first answer that can be
                cells = [value] * int((self.queries.query_atoms[query] >= 0).sum())
                after = self.absorb(state, self.branch(query, tuple(cells)), state.watch)
                if not after.impossible[0]:
                    state = after
                    break
        return longest

    def with_stopping(self, stopping: Rule, patience: int = 0) -> Pursuit:
        """The same pursuit with another stopping rule; what was computed for this one is used by both."""
        if not isinstance(stopping, Rule):
            raise TypeError(f"stopping is {stopping!r}; expected a rule such as ip.Confidence(0.01)")
        if patience < 0 or int(patience) != patience:
            raise ValueError(f"patience={patience} must be a whole number, 0 or more")
        other = copy.copy(self)
        other.stopping, other.patience, other.novelty_reference = stopping, int(patience), None
        if most_cost(stopping) != most_cost(self.stopping):  # what cannot be paid for is not chosen
            other._remembered = {}
        return other

    def with_noise(self, noise: AnswerNoise | None) -> Pursuit:
        """The same pursuit for those who are right so often; None takes their answers as they are.

        A ``bank``, which can only do that, gives way to the exact posterior.
        """
        settings = self.posterior_settings
        weighs = noise is None or not isinstance(settings, Bank) or settings.pooled
        other = Pursuit(
            self.model,
            self.queries,
            settings if weighs and settings is not None else "auto",
            self.stopping,
            self.patience,
            self.seed,
            classes=self.classes,
            noise=noise,
            budget=self.budget,
            n_novelty_queries=self.n_novelty_queries,
            costs=self.costs,
            constraints=self.constraints,
            **asdict(self.work),
        )
        other.seconds = self.seconds
        return other

    def with_calibrator(self, calibrator: Calibrator | None) -> Pursuit:
        """The same pursuit with another calibrator of its posterior; None is the model's own posterior.

        Which question is best is still the model's to say, so that the questions do not change, only when they end.
        """
        if calibrator is not None and not hasattr(calibrator, "log_posterior"):
            raise TypeError(f"calibrator is {calibrator!r}; expected one such as that of clf.calibration_, or None")
        other = copy.copy(self)
        other.calibrator = calibrator
        return other

    def with_novelty_queries(self, n: int) -> Pursuit:
        """The same pursuit with ``n`` novelty queries after the stop."""
        other = copy.copy(self)
        other.n_novelty_queries, other.novelty_reference = check_count(n), None
        return other

    def with_novelty_reference(self, reference: Likeness | None) -> Pursuit:
        """The same pursuit that also gives the novelty p-value of each input (`novelty`)."""
        other = copy.copy(self)
        other.novelty_reference = reference
        return other

    # ---- the loop -------------------------------------------------------------------------------------------------

    @steady()
    def start(self) -> State:
        """The one empty history."""
        belief = self.posterior.start()
        posterior, error, log_probability = self._believed(belief, np.zeros(1, dtype=np.int64))
        return State(
            queries=np.zeros((1, 0), dtype=np.int64),
            answers=np.zeros((1, 0, self.queries.width), dtype=np.int64),
            belief=belief,
            posterior=posterior,
            posterior_error=error,
            log_probability=log_probability,
            asked=np.zeros((1, len(self.queries)), dtype=bool),
            watch=Watch.start(self.stopping),
            skipped=np.zeros(1, dtype=bool),
            impossible=np.zeros(1, dtype=bool),
            ending=StopPoint.none(1),
        )

    def steps(self, state: State | None = None) -> Generator[Step, Branches, None]:
        """The loop as a generator: yields what to ask, takes the answers by ``send``, ends when no history goes on."""
        state = self.start() if state is None else state
        while True:
            step = self.propose(state)
            branches = yield step
            if not len(branches.parents):
                return
            state = self.absorb(step.state, branches, step.watch)

    @steady()
    def propose(self, state: State) -> Step:
        """Look at every rule, and choose the next query of the histories that go on."""
        n_asked = np.full(len(state), state.queries.shape[1], dtype=np.int64)
        rules = self.stopping.rules
        going = np.flatnonzero(~state.impossible)
        proposal = None
        if any(rule.needs_gain for rule in rules):
            proposal, state = self._choose(state, going)
        shut, unaffordable = self._shut(state)
        gains = np.zeros(len(state)) if proposal is None else np.where(unaffordable, np.inf, proposal.largest)
        check = Check(state.posterior, gains, n_asked, unaffordable)
        watch, fired, settled = look(self.stopping, state.watch, check, self.patience, state.skipped)
        reason = ["" if r < 0 else rules[r].name for r in fired]
        spent = shut.all(axis=1)
        for h in range(len(state)):
            if state.impossible[h]:
                reason[h], settled[h] = IMPOSSIBLE, n_asked[h]
            elif state.ending.at[h] != UNKNOWN:
                reason[h], settled[h] = state.ending.reason[h], state.ending.settled[h]
            elif not reason[h] and spent[h]:
                reason[h], settled[h] = EXHAUSTED, n_asked[h]
        if proposal is None:
            proposal, state = self._choose(state, np.flatnonzero([not why for why in reason]))
        query = np.where([bool(why) for why in reason], UNKNOWN, proposal.query)
        step = Step(
            state, watch, query, proposal.gain, proposal.error, proposal.runner_up, proposal.tie, reason, settled
        )
        return self._check(step) if self.n_novelty_queries else step

    def _check(self, step: Step) -> Step:
        """The same step, with a check in the place of the stop where there are checks left to ask."""
        state, n_asked = step.state, step.state.queries.shape[1]
        stopped = np.array([bool(why) for why in step.reason]) & ~state.impossible
        ending = state.ending.mark(stopped, n_asked, step.reason, step.settled)
        shut, _ = self._shut(state)
        rows = np.flatnonzero(stopped & (n_asked < ending.at + self.n_novelty_queries) & ~shut.all(axis=1)).tolist()
        keys = state.keys()
        belief = self.posterior.refresh(state.belief, keys, rows) if rows else state.belief
        query, gain, runner_up = step.query.copy(), step.gain.copy(), step.runner_up.copy()
        each = 4 * (1 + self.queries.width)  # bytes of a key for each query
        for h in rows:
            number, key = n_asked - int(ending.at[h]), keys[h][: each * int(ending.at[h])]
            query[h] = choose_novelty_query(self.posterior, belief, h, shut[h], number, self.seed, key)
            gain[h], runner_up[h] = np.nan, UNKNOWN
        reason = ["" if query[h] != UNKNOWN else why for h, why in enumerate(step.reason)]
        state = replace(state, belief=belief, ending=ending)
        return replace(step, state=state, query=query, gain=gain, runner_up=runner_up, reason=reason)

    @steady()
    def absorb(self, state: State, branches: Branches, watch: Watch) -> State:
        """Histories that are longer by one answer. An impossible answer leaves the belief as it was, and is marked."""
        parents, answers = branches.parents, branches.answers
        skipped = (answers == UNKNOWN).all(axis=1)
        weights = self._weigh(branches)
        belief = self.posterior.update(state.belief, parents, branches.queries, answers, state.keys(), weights)
        n_answers = (state.answers[parents] != UNKNOWN).any(axis=2).sum(axis=1) + ~skipped
        posterior, error, log_probability = self._believed(belief, n_answers)
        impossible = np.isnan(posterior).any(axis=1)
        # what taught nothing changes nothing, to the last bit
        keep = skipped | impossible
        posterior[keep] = state.posterior[parents[keep]]
        log_probability[keep] = state.log_probability[parents[keep]]
        error[keep] = state.posterior_error[parents[keep]]
        asked = state.asked[parents].copy()
        asked[np.arange(len(parents)), branches.queries] = skipped | self._often_enough(state, branches)
        return State(
            queries=np.concatenate([state.queries[parents], branches.queries[:, None]], axis=1),
            answers=np.concatenate([state.answers[parents], answers[:, None]], axis=1),
            belief=belief,
            posterior=posterior,
            posterior_error=error,
            log_probability=log_probability,
            asked=asked,
            watch=watch.take(parents),
            skipped=skipped,
            impossible=impossible,
            uncertain=_uncertain(state, branches),
            ending=state.ending.take(parents),
        )

    def _weigh(self, branches: Branches) -> FloatArray | None:
        """(H', W, V) log P(answer | cell), or None where every answer is taken as it is."""
        if self.channel is None and not any(branches.likely):
            return None
        if not self.posterior.weighs:
            raise ValueError(UNWEIGHED)
        channel = self.channel if self.channel is not None else self._as_they_are
        weights = channel.log_likelihood(branches.queries, branches.answers)
        for row, likely in enumerate(branches.likely):
            if likely is not None:
                with np.errstate(divide="ignore"):
                    for w, cells in enumerate(likely.weights):
                        weights[row, w, : len(cells)] = np.log(cells)
        return weights

    @cached_property
    def _as_they_are(self) -> NoiseChannel:
        """The channel of answers that are always right."""
        return AnswerNoise(1.0).bind(self.queries)

    def _often_enough(self, state: State, branches: Branches) -> Any:
        """(H',) whether the query just answered may not be asked again: answers that may be wrong may be repeated."""
        if self.channel is None or self.channel.max_repeats == 1:
            return np.ones(len(branches.parents), dtype=bool)
        before = (state.queries[branches.parents] == branches.queries[:, None]).sum(axis=1)
        return before + 1 >= self.channel.max_repeats

    def _believed(self, belief: Any, n_answers: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(H, C) p(y | history), NaN where the history is impossible, (H, C) its standard error, and (H,) log
        p(history); ``n_answers`` (H,) is what a calibrator goes by."""
        joint = self.posterior.log_joint(belief)
        total = torch.logsumexp(joint, dim=1, keepdim=True)
        log_class = joint - total
        posterior, error, log_probability = (
            _array(log_class.exp()),
            self.posterior.class_errors(belief),
            _array(total[:, 0]),
        )
        if self.calibrator is not None:
            calibrated = np.exp(self.calibrator.log_posterior(_array(log_class), n_answers))
            error = self.calibrator.standard_error(error, posterior, calibrated, n_answers)
            posterior = calibrated
        return posterior, error, log_probability

    def _choose(self, state: State, rows: IntArray) -> tuple[Proposal, State]:
        """The best query of some histories; those remembered are not computed again. Also the state, in which the draws
        of the others have been looked after."""
        n = len(state)
        query, runner_up = np.full((2, n), UNKNOWN, dtype=np.int64)
        best, error, largest = np.zeros((3, n))
        tie = np.zeros(n, dtype=bool)
        keys = state.keys()
        new = []
        for h in rows.tolist():
            known = self._remembered.get(_short(keys[h]))
            if known is None:
                new.append(h)
            else:
                query[h], best[h], error[h], runner_up[h], tie[h], largest[h] = known
        if new:
            state, found = self.gains(state, new)
            query[new], best[new], error[new] = found.query, found.gain, found.error
            runner_up[new], tie[new], largest[new] = found.runner_up, found.tie, found.largest
        return Proposal(query, best, error, runner_up, tie, np.empty((n, 0)), largest), state

    def _shut(self, state: State) -> tuple[Any, Any]:
        """(H, Q) what may not be asked: asked already, not allowed by the terms, or too dear for what is left; (H,)
        where something is left that is too dear, and nothing else."""
        shut = state.asked | ~self.bound_constraints.allowed(state.queries, state.answers)
        most = most_cost(self.stopping)
        if np.isinf(most):
            return shut, np.zeros(len(state), dtype=bool)
        left = most - self.bound_costs.spent(state.queries)
        dear = self.bound_costs.of_query > left[:, None] + SLACK * most  # rounding of the sum is forgiven
        return shut | dear, (~shut).any(axis=1) & (shut | dear).all(axis=1)

    @steady()
    def gains(self, state: State, rows: list[int]) -> tuple[State, Proposal]:
        """The gains of all queries after some histories, and the state with their draws looked after.

        The best query of each is remembered, so that `propose` need not look for it again.
        """
        keys = state.keys()
        belief = self.posterior.refresh(state.belief, keys, rows)
        some = torch.as_tensor(rows, device=self.model.device)
        found = self.chooser.choose(belief.take(some), self._shut(state)[0][rows], [keys[h] for h in rows])
        for i, h in enumerate(rows):
            if len(self._remembered) < REMEMBERED:
                self._remembered[_short(keys[h])] = (
                    int(found.query[i]),
                    float(found.gain[i]),
                    float(found.error[i]),
                    int(found.runner_up[i]),
                    bool(found.tie[i]),
                    float(found.largest[i]),
                )
        return replace(state, belief=belief), found

    @property
    def query_costs(self) -> FloatArray | None:
        """(Q,) what each query costs, None where nobody has said."""
        return self.bound_costs.of_query if self.costs else None

    # ---- two ways to drive it ---------------------------------------------------------------------------------------

    def run(self, X: Any, *, annotator: Annotator | None = None, progress: bool | None = None) -> Trace:
        """Pursue every input of a batch; its answers are read off X, or given by an annotator (`NoisyAnnotator`)."""
        return self.run_values(self.queries.observe(X), annotator=annotator, progress=progress)

    def run_values(self, values: Any, *, annotator: Annotator | None = None, progress: bool | None = None) -> Trace:
        """Like `run`, from the values of the atoms (B, A)."""
        if annotator is None and self.channel is not None and self.channel.max_repeats > 1:
            raise ValueError(
                f"noise allows each query max_repeats={self.channel.max_repeats} times, but X says the same each time, "
                f"so that asking again would count an error twice; use max_repeats=1, or give an annotator"
            )
        values = self.queries.atoms.check(values)
        writer = TraceWriter(len(values), self.queries, self.classes, self.chooser.exact, self.query_costs)
        rows = self._rows_at_a_time()
        with Progress("asking", len(values), show=progress) as shown:
            for start in range(0, len(values), rows):
                self._run_some(np.arange(start, min(start + rows, len(values))), values, writer, shown, annotator)
        trace = writer.finish()
        return trace if self.novelty_reference is None else self.novelty_reference.add_pvalues(trace)

    def _rows_at_a_time(self) -> int:
        """How many histories fit the budget side by side, those with draws of their own included."""
        each = self.posterior.row_bytes + 16 * self.model.atoms.n_slots + 8 * len(self.queries)
        return int(np.clip(self.budget // each, 1, 4096))

    def _run_some(
        self, inputs: IntArray, values: IntArray, writer: TraceWriter, shown: Progress, annotator: Annotator | None
    ) -> None:
        """Pursue some inputs together: inputs that share a history share its row, until their answers differ."""
        loop = self.steps()
        step = next(loop)
        place = np.zeros(len(inputs), dtype=np.int64)  # the history that each input is in
        while True:
            writer.believe(inputs, step.state, place)
            query = step.query[place]
            stopped = query == UNKNOWN
            ended = place[stopped]
            writer.stop(
                inputs[stopped], [step.reason[h] for h in ended], step.settled[ended], step.state.ending.at[ended]
            )
            shown.advance(int(stopped.sum()))
            inputs, place, query = inputs[~stopped], place[~stopped], query[~stopped]
            if not len(inputs):
                loop.close()
                return
            answers = self.queries.answers_of(values[inputs], query)
            if annotator is not None:
                answers = annotator.answer(inputs, query, answers, step.state.queries.shape[1])
            writer.ask(
                inputs, query, answers, *(each[place] for each in (step.gain, step.error, step.runner_up, step.tie))
            )
            together, place = np.unique(np.concatenate([place[:, None], answers], axis=1), axis=0, return_inverse=True)
            place = place.ravel()
            parents = together[:, 0]
            step = loop.send(Branches(parents, step.query[parents], together[:, 1:]))

    def forget(self) -> Pursuit:
        """Forget the queries that were chosen so far; what follows is then the same as in a new process, to the last
        bit. (Chosen beside other histories, a gain differs in its last digits.)"""
        self._remembered.clear()
        return self

    def session(self, history: Iterable[tuple[Any, Any]] = ()) -> Session:
        """One input whose answers come from outside, one at a time; ``history`` are answers that are known already."""
        from infopursuit.session import Session

        return Session(self, history)

    def believe(self, history: History) -> FloatArray:
        """(C,) the posterior after a history: the function that the prediction is of the explanation."""
        state = self.start()
        for query, answer in history:
            state = self.absorb(state, self.branch(query, answer), state.watch)
        return np.asarray(state.posterior[0])

    def at(self, history: History, since: State | None = None) -> State:
        """Where a session with this history stands, without choosing a query at each step on the way there.

        `propose` then says what a session would ask. A gain on the way is computed only where a rule's patience
        looks at it, so that a long history costs hardly more than a short one. (Of a history that goes on after its
        stop, `Step.settled` may come out later than a session has it.) ``since``: where a beginning of this history
        stands, so that only the rest is to be taken in.
        """
        looked_at = self._gains_needed(history)
        state = self.start() if since is None else since
        known = state.queries.shape[1]
        if state.queries[0].tolist() != [query for query, _ in history[:known]]:
            raise ValueError(f"since={state.queries[0].tolist()} is not how the history begins; leave it out")
        for k, (query, answer) in enumerate(history[known:], start=known):
            if k in looked_at or self.n_novelty_queries:
                step = self.propose(state)
                state, watch = step.state, step.watch
            else:
                check = Check(state.posterior, np.full(1, np.inf), np.full(1, k, dtype=np.int64))
                watch, _, _ = look(self.stopping, state.watch, check, self.patience, state.skipped)
            state = self.absorb(state, self.branch(query, answer), watch)
            if state.impossible[0]:
                raise ImpossibleAnswer(
                    f"history[{k}], {self.queries.say(query, answer)!r}, cannot be together with the answers before it "
                    f"under this model; answer otherwise, or leave it open (null)"
                )
        return state

    def _gains_needed(self, history: History) -> set[int]:
        """The steps of a history whose largest gain may decide whether to stop at its end."""
        wanted = [getattr(rule, "patience", None) for rule in self.stopping.rules if rule.needs_gain]
        if not wanted:
            return set()
        most = max(self.patience if patience is None else patience for patience in wanted)
        # after a skipped question the rules are not looked at, so that an earlier look counts instead
        looks = [0, *(k + 1 for k, (_, answer) in enumerate(history) if answer is not None)]
        return set(looks[-(most + 1) :]) - {len(history)}

    def branch(self, query: int, answer: Said) -> Branches:
        """The one history of a state, longer by one answer."""
        cells = np.full((1, self.queries.width), UNKNOWN, dtype=np.int64)
        told = answer.cells if isinstance(answer, Likely) else answer
        if told is not None:
            cells[0, : len(told)] = told
        likely = (answer,) if isinstance(answer, Likely) else ()
        return Branches(np.zeros(1, dtype=np.int64), np.array([query], dtype=np.int64), cells, likely)


def _short(key: bytes) -> bytes:
    """The name of a history under which its next query is remembered: of thousands of answers only a digest, or the
    names of one session's histories would fill the memory."""
    return key if len(key) <= LONGEST_KEY else hashlib.blake2b(key, digest_size=32).digest()


def check_count(n: Any) -> int:
    """A number of novelty queries, refused where it is none."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError(f"n_novelty_queries={n!r} must be a whole number, 0 or more")
    return int(n)


def posterior_settings(posterior: Any, model: FiniteModel | VAE) -> SMC | Langevin | Bank | None:
    """The settings of the posterior that a model needs; None for the exact one of a finite model."""
    if isinstance(model, FiniteModel):
        if isinstance(posterior, Bank):
            return posterior
        if isinstance(posterior, str) and posterior == Bank.kind:
            return Bank()
        if posterior not in ("auto", "exact", None):
            raise ValueError(f"posterior={posterior!r} does not suit a finite model; use 'exact' or 'bank'")
        return None
    named: dict[Any, SMC | Langevin] = {"auto": SMC(), "smc": SMC(), "langevin": Langevin()}
    if isinstance(posterior, (SMC, Langevin)):
        return posterior
    if not isinstance(posterior, str) or posterior not in named:
        raise ValueError(
            f"posterior={posterior!r} does not suit a model with a continuous latent; use 'smc', 'langevin', or their "
            f"settings, ip.posteriors.SMC(...) or ip.posteriors.Langevin(...)"
        )
    return named[posterior]


def _uncertain(state: State, branches: Branches) -> tuple[Uncertain, ...]:
    """For each history the answers that are not certain, the new one among them; () where none has any."""
    if not state.uncertain and not any(branches.likely):
        return ()
    step = state.queries.shape[1]
    old = state.uncertain or ((),) * len(state)
    new = branches.likely or (None,) * len(branches.parents)
    return tuple(
        (*old[parent], *(() if likely is None else ((step, likely),)))
        for parent, likely in zip(branches.parents.tolist(), new, strict=True)
    )


def _array(tensor: torch.Tensor) -> FloatArray:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
