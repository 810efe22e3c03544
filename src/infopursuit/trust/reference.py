"""Which inputs are unlike those the model was made of: a p-value from how unexpected the answers are together.

An input's surprise is -log p(answers), the model's own, of its checks where it was asked any and of all its answers
where not (`Trace.surprise`). The p-value is the probability of a surprise at least as large for inputs of a reference,
estimated by rank: with n reference inputs, (1 + those with a surprise at least as large) / (n + 1). If the input is
exchangeable with them, P(p <= alpha) <= alpha, whatever the model (Vovk et al. 2005; Barber et al. 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infopursuit.engine import Pursuit
from infopursuit.trace import Trace
from infopursuit.trust.drawing import draw_values
from infopursuit.types import FloatArray

N_DRAWS = 1000
"""Inputs that are drawn from the model where no others are given."""
LEAST, MOST = 19, 1_000_000
"""Reference inputs: with fewer no p-value is as small as 0.05."""
MODEL, INPUTS = "model", "inputs"
ROUNDING = 1e-9
"""Relative difference of surprises that counts as none: the same history may be summed in another order."""


@dataclass(frozen=True)
class Reference:
    """How unexpected the answers of inputs are that are as they should be.

    surprises: (n,) sorted. source: "model" where the inputs were drawn from the model, "inputs" where they were given.
    """

    surprises: FloatArray
    source: str

    def __len__(self) -> int:
        return len(self.surprises)

    def p_values(self, surprise: Any) -> FloatArray:
        """(B,) surprises -> (B,) p-values.

        >>> Reference(np.arange(19.0), "inputs").p_values([18.0, 30.0]).tolist()
        [0.1, 0.05]
        """
        surprise = np.asarray(surprise, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            least = np.where(np.isinf(surprise), surprise, surprise - ROUNDING * np.maximum(np.abs(surprise), 1.0))
        n_below = np.searchsorted(self.surprises, least, side="left")
        return np.asarray((1.0 + len(self) - n_below) / (1.0 + len(self)))

    def judge(self, trace: Trace) -> Trace:
        """The same trace with its p-values."""
        return replace(trace, p_values=self.p_values(trace.surprise))

    def to_spec(self) -> dict[str, Any]:
        """JSON data from which `from_spec` makes it again; JSON has no infinity."""
        finite = self.surprises[np.isfinite(self.surprises)]
        n_infinite = len(self) - len(finite)
        return {"source": self.source, "surprises": finite.tolist(), "n_impossible": n_infinite}

    @classmethod
    def from_spec(cls, spec: Any) -> Reference:
        """The reference that `to_spec` wrote, refused where it cannot be one."""
        if not isinstance(spec, Mapping) or spec.get("source") not in (MODEL, INPUTS):
            raise ValueError(f"reference has source {spec.get('source') if isinstance(spec, Mapping) else spec!r}")
        listed, n_impossible = spec.get("surprises"), spec.get("n_impossible")
        if not isinstance(listed, list) or not all(type(s) in (int, float) for s in listed):
            raise ValueError("reference: surprises is not a list of numbers")
        if type(n_impossible) is not int or not 0 <= n_impossible <= MOST:
            raise ValueError(f"reference: n_impossible is {n_impossible!r}; expected a whole number")
        surprises = np.array([*listed, *[np.inf] * n_impossible], dtype=np.float64)
        if not LEAST <= len(surprises) <= MOST or np.isnan(surprises).any() or (np.diff(surprises) < 0).any():
            raise ValueError(f"reference: surprises must be {LEAST} to {MOST} sorted numbers")
        return cls(surprises, spec["source"])


def from_model(pursuit: Pursuit, n: int = N_DRAWS, *, seed: int = 0, progress: bool | None = None) -> Reference:
    """A reference of ``n`` inputs that are drawn from the pursuit's own model: no data are needed. What is
    unlike it is unlike what the model believes in, real inputs that it describes badly among them."""
    if int(n) != n or not LEAST <= n <= MOST:
        raise ValueError(f"n={n!r}; expected a whole number of inputs from {LEAST} to {MOST}")
    return _of(pursuit, draw_values(pursuit.model, int(n), seed), MODEL, progress)


def from_values(pursuit: Pursuit, values: Any, *, progress: bool | None = None) -> Reference:
    """A reference of real inputs, as values of atoms (n, A), that the model was not fitted on: of inputs like these a
    share alpha at the most is called unlike them at level alpha."""
    if not LEAST <= len(values) <= MOST:
        raise ValueError(
            f"there are {len(values)} reference inputs; give {LEAST} or more, for with n of them no p-value is below "
            f"1 / (n + 1), and at most {MOST}"
        )
    return _of(pursuit, values, INPUTS, progress)


def _of(pursuit: Pursuit, values: Any, source: str, progress: bool | None) -> Reference:
    trace = pursuit.with_reference(None).run_values(values, progress=progress)
    return Reference(np.sort(trace.surprise), source)
