"""What the engine asks of a posterior; a belief is the posterior's own affair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from torch import Tensor

from infopursuit.types import FloatArray, IntArray


class Posterior(Protocol):
    """p(z, y | history) of H histories side by side."""

    name: ClassVar[str]
    exact: ClassVar[bool]

    @property
    def weighs(self) -> bool:
        """Whether answers may be weighed, not only taken as they are."""

    @property
    def row_bytes(self) -> int:
        """What one history may take, its parent included."""

    def start(self) -> Any:
        """The belief of the one empty history."""

    def update(
        self,
        belief: Any,
        parents: IntArray,
        queries: IntArray,
        answers: IntArray,
        keys: Sequence[bytes],
        weights: FloatArray | None = None,
    ) -> Any:
        """Histories ``parents`` (rows of ``belief``), each longer by one answer; ``keys`` name the rows.

        weights: (H, W, V) log P(answer | cell) where answers may be wrong; None where they are taken as they are.
        """

    def refresh(self, belief: Any, keys: Sequence[bytes], rows: Sequence[int] | None = None) -> Any:
        """The same belief, made good enough to choose on."""

    def log_joint(self, belief: Any) -> Tensor:
        """(H, C) log p(y, history)."""

    def log_class(self, belief: Any) -> Tensor:
        """(H, C) log p(y | history)."""

    def class_errors(self, belief: Any) -> FloatArray:
        """(H, C) standard errors of p(y | history), 0 where exact."""
