"""What pursuits with the same parts share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infopursuit.acquisition.cached import Cached

if TYPE_CHECKING:
    from infopursuit.engine import Pursuit


class Bindings:
    """What pursuits with the same parts share: the belief for noisy answers, and the bound acquisition function with
    its cache. ``dataclasses.replace(pursuit, stopping=...)`` passes it on, so that nothing is computed twice."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[Any, ...]] = {}

    def __reduce__(self) -> Any:
        return Bindings, ()  # a copy in another process computes its own

    def bind(self, pursuit: Pursuit[Any]) -> tuple[Any, Cached]:
        """The belief to use, and the acquisition function."""
        parts = (pursuit.queries, pursuit.belief, pursuit.acquisition, pursuit.costs, pursuit.noise)
        key = tuple(map(id, parts))
        if key not in self._known:
            belief: Any = pursuit.belief
            if pursuit.channel is not None and hasattr(belief, "for_noise"):
                belief = belief.for_noise(pursuit.channel)
            if pursuit.channel is not None and not getattr(belief, "accepts_noise", False):
                raise ValueError(
                    f"noise={pursuit.noise!r:.60} does not suit belief {type(belief).__name__}, which takes every "
                    f"answer as certain; use strategy='table', another belief with accepts_noise, or noise=None"
                )
            function: Any = pursuit.acquisition
            if hasattr(function, "bind"):
                costs = pursuit.query_costs if pursuit.costs else None
                function = function.bind(belief, pursuit.queries, costs, pursuit.channel)
            self._known[key] = (belief, Cached(function), parts)  # the parts too, so that no id is used again
        return self._known[key][0], self._known[key][1]
