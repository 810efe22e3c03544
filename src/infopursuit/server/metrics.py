"""What the server counts, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the latency histogram, seconds."""
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})


class Metrics:
    """Requests by route and status, how long they took, how many are under way. Used from the event loop only."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.remembered = 0
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request that was answered; ``route`` is a template, so that there are as many as the server has."""
        self._requests[method if method in METHODS else "other", route, status] += 1
        self._buckets[route][bisect_left(BOUNDS, seconds)] += 1
        self._seconds[route] += seconds

    def text(self, waiting: Iterable[tuple[str, int]] = ()) -> str:
        """All of it; ``waiting``: for each model how many requests are in its queue.

        >>> metrics = Metrics()
        >>> metrics.count("GET", "/healthz", 200, 0.004)
        >>> print(metrics.text().splitlines()[2])
        infopursuit_requests_total{method="GET",route="/healthz",status="200"} 1
        """
        name = "infopursuit_requests_total"
        lines = [f"# HELP {name} Requests that were answered.", f"# TYPE {name} counter"]
        for (method, route, status), n in sorted(self._requests.items()):
            lines.append(f'{name}{{method="{method}",route="{route}",status="{status}"}} {n}')
        name = "infopursuit_request_seconds"
        lines += [f"# HELP {name} From the first byte to the last.", f"# TYPE {name} histogram"]
        for route, buckets in sorted(self._buckets.items()):
            below = 0
            for bound, n in zip((*(f"{bound:g}" for bound in BOUNDS), "+Inf"), buckets, strict=True):
                below += n
                lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {below}')
            lines.append(f'{name}_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'{name}_count{{route="{route}"}} {below}')
        name = "infopursuit_requests_in_flight"
        lines += [f"# HELP {name} Requests under way.", f"# TYPE {name} gauge", f"{name} {self.in_flight}"]
        name = "infopursuit_remembered_total"
        lines += [f"# HELP {name} Questions found again, not computed.", f"# TYPE {name} counter"]
        lines.append(f"{name} {self.remembered}")
        name = "infopursuit_waiting"
        lines += [f"# HELP {name} Requests that wait for a model or are worked on.", f"# TYPE {name} gauge"]
        lines += [f'{name}{{model="{model}"}} {n}' for model, n in waiting]
        return "\n".join(lines) + "\n"
