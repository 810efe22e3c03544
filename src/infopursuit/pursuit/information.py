"""`MutualInformation`: the acquisition function of the paper, as settings that a belief turns into gains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from infopursuit.pursuit.histories import BoolArray, Histories
from infopursuit.pursuit.noise import NoiseChannel
from infopursuit.pursuit.protocols import Acquisition, Belief, Budget, Estimate
from infopursuit.queries.queryset import QuerySet, check_joint_answers
from infopursuit.support.checks import one_of, whole_number
from infopursuit.support.types import FloatArray

SMALLER = ((1024, 64), (512, 32), (256, 16), (128, 8), (64, 4))
"""States that gains are computed on, and queries about several variables that get their full gain, in falling order."""


@dataclass(frozen=True)
class MutualInformation(Acquisition[Any]):
    """The acquisition function of the paper: the expected information gain of a query, in nats (eq. 6).

    Parameters
    ----------
    exact: True computes every gain on every latent state; False on ``n_states`` states, and for queries about several
        variables on the ``n_screened`` with the largest sum of one-variable gains; None is exact while the gains of one
        history take no more than 5e7 multiplications.
    n_states: how many states stand for all of them where gains are not exact.
    n_screened: how many queries about several variables get their full gain.
    seed: of the draw of these states, which depends on it and on the history alone.
    memory_limit: bytes that the tables of one step may take.
    """

    exact: bool | None = None
    n_states: int = 1024
    n_screened: int = 64
    seed: int = 0
    memory_limit: int = 2**29
    unit: ClassVar[Literal["nats"]] = "nats"
    kind: ClassVar[str] = "mutual_information"

    def __post_init__(self) -> None:
        one_of(self.exact, "exact_gains", (True, False, None))
        for name, least in (("n_states", 1), ("n_screened", 0), ("seed", 0), ("memory_limit", 1)):
            whole_number(getattr(self, name), name, least)

    def bind(
        self,
        belief: Belief[Any],
        queries: QuerySet,
        costs: FloatArray | None,
        noise: NoiseChannel | None,
    ) -> Acquisition[Any]:
        """Return the function for one belief: how the gains are computed depends on it."""
        if not belief.capabilities.gains:
            raise TypeError(
                f"belief is {type(belief).__name__}, which has no mutual information of its own; use "
                f"acquisition=ip.strategies.LookAhead(), which needs a belief that predicts answers"
            )
        check_joint_answers(queries, "its mutual information is a sum over all of them")
        return belief.gains(self, costs, noise)

    def utilities(self, b: Any, histories: Histories, allowed: BoolArray, budget: Budget) -> Estimate:
        """Not computed by the settings themselves: `bind` returns the function that does."""
        raise TypeError("MutualInformation must be bound to a belief first: MutualInformation().bind(belief, ...)")

    def smaller(self) -> list[MutualInformation]:
        """Settings with less and less work, none of it exact."""
        sizes = [
            (min(n, self.n_states), min(m, self.n_screened)) for n, m in ((self.n_states, self.n_screened), *SMALLER)
        ]
        found = dict.fromkeys(replace(self, exact=False, n_states=n, n_screened=m) for n, m in sizes)
        return [settings for settings in found if settings != self]
