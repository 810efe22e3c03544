"""Prometheus metrics of the server."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Request counts, latencies and queue lengths, in a registry of their own: one for each app."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "infopursuit_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self.latency = Histogram(
            "infopursuit_request_seconds", "Request latency.", ["route"], buckets=BUCKETS, registry=self.registry
        )
        self.in_flight = Gauge("infopursuit_requests_in_flight", "Requests being processed.", registry=self.registry)
        self.cache_hits = Counter("infopursuit_cache_hits", "Responses taken from the cache.", registry=self.registry)
        self.queue_length = Gauge(
            "infopursuit_queue_length", "Requests queued or running, by model.", ["model"], registry=self.registry
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Record one answered request; ``route`` is a template, which bounds the number of labels."""
        self.requests.labels(method, route, str(status)).inc()
        self.latency.labels(route).observe(seconds)
