"""Novelty (out-of-distribution) detection: p-values of the surprisal of the answers.

The surprisal of an input is -log p(answers) under the model (`Trace.surprisal`). With the surprisals of n reference
inputs, the conformal p-value is p = (1 + #{reference surprisals at least as large}) / (n + 1). If the input is
exchangeable with the reference, P(p <= alpha) <= alpha, whatever the model (Vovk et al. 2005).

The pursuit asks where classes differ, which says little about inputs of no class: many of them are not detected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from infopursuit.models.finite import softmax
from infopursuit.pursuit.stopping import SLACK, Confidence, Rule
from infopursuit.support.checks import number, whole_number
from infopursuit.support.display import Brief
from infopursuit.support.types import FloatArray, IntArray, Variables

if TYPE_CHECKING:
    from infopursuit.pursuit.loop import Pursuit
    from infopursuit.pursuit.trace import Trace

N_SAMPLES, BATCH = 1000, 512
"""Inputs that are sampled from the model where no others are given; and of those how many at a time."""
MIN_INPUTS, MAX_INPUTS = 19, 1_000_000
"""Reference inputs: with fewer no p-value is as small as 0.05."""
MODEL, INPUTS = "model", "inputs"
ROUNDING = 1e-9
"""Relative difference of surprisals that counts as none: the same history may be summed in another order."""


@dataclass(frozen=True, repr=False)
class NoveltyReference(Brief):
    """The surprisals (n,) of reference inputs, sorted, in nats, from which p-values are computed; ``source`` is "model"
    where they were sampled from the model, "inputs" where they were given.

    >>> NoveltyReference(np.arange(19.0), "inputs").pvalues([18.0, 30.0]).tolist()
    [0.1, 0.05]
    """

    surprisals: FloatArray
    source: str

    @classmethod
    def from_model(
        cls, pursuit: Pursuit[Any], n: int = N_SAMPLES, *, seed: int = 0, progress: bool | None = None
    ) -> NoveltyReference:
        """A reference of ``n`` inputs sampled from the own model; no data are needed, but real inputs that the
        model describes badly are novel to it."""
        _check_evidence(pursuit)
        values = sample_values(pursuit.model, whole_number(n, "n", MIN_INPUTS, MAX_INPUTS), seed)
        return replace(cls.from_values(pursuit, values, progress=progress), source=MODEL)

    @classmethod
    def from_values(cls, pursuit: Pursuit[Any], values: Any, *, progress: bool | None = None) -> NoveltyReference:
        """A reference of real inputs, as values of variables (n, A), on which the model was not fitted."""
        _check_evidence(pursuit)
        if not MIN_INPUTS <= len(values) <= MAX_INPUTS:
            raise ValueError(
                f"values has {len(values)} reference inputs; give {MIN_INPUTS} or more, for with n of them no p-value "
                f"is below 1 / (n + 1), and at most {MAX_INPUTS}"
            )
        trace = replace(pursuit, novelty=None).run_values(values, progress=progress)
        return cls(np.sort(trace.surprisal), INPUTS)

    def __len__(self) -> int:
        return len(self.surprisals)

    def pvalues(self, surprisal: Any) -> FloatArray:
        """(B,) surprisals -> (B,) p-values."""
        surprisal = np.asarray(surprisal, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            least = np.where(np.isinf(surprisal), surprisal, surprisal - ROUNDING * np.maximum(np.abs(surprisal), 1.0))
        n_below = np.searchsorted(self.surprisals, least, side="left")
        return np.asarray((1.0 + len(self) - n_below) / (1.0 + len(self)))

    def add_pvalues(self, trace: Trace) -> Trace:
        """The same trace with its p-values."""
        return replace(trace, p_values=self.pvalues(trace.surprisal))

    def to_spec(self) -> dict[str, Any]:
        """JSON data from which `from_spec` makes it again; JSON has no infinity."""
        finite = self.surprisals[np.isfinite(self.surprisals)]
        return {"source": self.source, "surprises": finite.tolist(), "n_impossible": len(self) - len(finite)}

    @classmethod
    def from_spec(cls, spec: Any) -> NoveltyReference:
        """The reference that `to_spec` described; refused where it cannot be one."""
        known = spec if isinstance(spec, Mapping) else {}
        source, listed, n_impossible = (known.get(name) for name in ("source", "surprises", "n_impossible"))
        if source not in (MODEL, INPUTS) or type(n_impossible) is not int or not 0 <= n_impossible <= MAX_INPUTS:
            raise ValueError(f"reference has source {source!r} and n_impossible {n_impossible!r}")
        if not isinstance(listed, list) or not all(type(s) in (int, float) for s in listed):
            raise ValueError("reference: surprises is not a list of numbers")
        found = np.array([*listed, *[np.inf] * n_impossible], dtype=np.float64)
        if not MIN_INPUTS <= len(found) <= MAX_INPUTS or np.isnan(found).any() or (np.diff(found) < 0).any():
            raise ValueError(f"reference: surprises must be {MIN_INPUTS} to {MAX_INPUTS} sorted numbers")
        return cls(found, source)


def _check_evidence(pursuit: Pursuit[Any]) -> None:
    """Refuse a belief that does not know how probable the answers are."""
    if not pursuit.belief.capabilities.evidence:
        raise ValueError(
            f"novelty detection needs p(answers) of a generative model, and belief is {type(pursuit.belief).__name__}; "
            f"use strategy='table' or 'empirical'"
        )


def predict_or_abstain(trace: Trace, stopping: Rule, abstain: Any, alpha: float) -> Any:
    """(B,) the predictions, and ``abstain`` in the place of those of `abstention_mask`."""
    labels = np.asarray(trace.predictions)
    same = np.asarray(abstain).dtype.kind == labels.dtype.kind
    found = labels.astype(np.result_type(labels, np.asarray(abstain))) if same else labels.astype(object)
    found[abstention_mask(trace, stopping, alpha)] = abstain
    return found


def abstention_mask(trace: Trace, stopping: Rule, alpha: float) -> Any:
    """(B,) which labels not to trust: of inputs with p-values up to alpha, of impossible answers, and of pursuits that
    ended before the confidence of the stopping rule was reached."""
    number(alpha, "alpha", least=0, below=1)
    wanted = [1 - rule.epsilon for rule in stopping.rules if isinstance(rule, Confidence)]
    unsure = trace.posterior.max(axis=1) < min(wanted, default=0.0) - SLACK
    novel = np.zeros(len(trace), dtype=bool) if trace.p_values is None else trace.p_values <= alpha
    return unsure | novel | (trace.stop_reason == "impossible")


# ---- inputs sampled from a model ------------------------------------------------------------------------------------


def sample_values(model: Any, n: int, seed: int = 0) -> IntArray:
    """(n, A) values of the variables of inputs that are sampled from a finite model or a VAE.

    >>> from infopursuit.models import TableModel
    >>> sample_values(TableModel([0.5, 0.5], None, [[1.0, 0.0], [1.0, 0.0]]), 2).tolist()
    [[1, 0], [1, 0]]
    """
    rng = np.random.default_rng(seed)
    parts = [np.empty((0, len(model.variables)), dtype=np.int64)]
    for start in range(0, n, BATCH):
        size = min(BATCH, n - start)
        if hasattr(model, "state_probs"):
            states = rng.choice(model.n_states, size=size, p=softmax(model.log_prior))
            probs = model.state_probs(states).T.astype(np.float64)
        else:
            probs = _decoded(model, size, seed=int(rng.integers(2**62)))
        parts.append(_values(model.variables, probs, rng.random((size, len(model.variables)))))
    return np.concatenate(parts)


def _decoded(model: Any, n: int, seed: int) -> FloatArray:
    """(n, L) the probability of all variable values at latents that are drawn from the prior of a VAE."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    labels = torch.multinomial(torch.as_tensor(model.class_prior), n, replacement=True, generator=generator)
    labels = labels.to(model.device)
    with torch.no_grad():
        log_probs = model.log_probs(model.draw_prior(labels, generator), labels)
        return np.asarray(np.exp(log_probs.to(torch.float64).cpu().numpy()))


def _values(variables: Variables, probs: FloatArray, uniform: FloatArray) -> IntArray:
    """(n, L) probabilities and (n, A) uniform numbers -> (n, A) values: how many cumulative sums lie below."""
    values = np.empty(uniform.shape, dtype=np.int64)
    sizes = np.array(variables.sizes)
    for size in np.unique(sizes).tolist():
        mine = np.flatnonzero(sizes == size)
        cumulative = probs[:, variables.offsets[mine][:, None] + np.arange(size)].cumsum(axis=2)  # (n, variables, size)
        points = uniform[:, mine, None] * cumulative[:, :, -1:]
        values[:, mine] = np.minimum((cumulative <= points).sum(axis=2), size - 1)
    return values
