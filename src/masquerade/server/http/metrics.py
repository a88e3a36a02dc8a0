"""Counts for operators, in the form that Prometheus reads.

No label names a person, a survey or an address: requests are counted by the template of their
route, by method and by status.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, Literal

from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Where the processes of one server put their counts, so that each can tell those of all.
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

#: Gauges by name, with their meaning and how those of several processes are put together.
GAUGES: dict[str, tuple[str, Literal["livesum", "livemax"]]] = {
    "masquerade_writes_waiting": ("Requests that wait for their turn to write.", "livesum"),
    "masquerade_write_wait_seconds": ("Seconds that the oldest of them has waited.", "livemax"),
    "masquerade_database_bytes": ("Size of the database.", "livemax"),
    "masquerade_database_log_bytes": ("Size of SQLite's write-ahead log.", "livemax"),
    "masquerade_rewriting_seconds": ("Seconds that the last rewriting took.", "livemax"),
    "masquerade_unordered_seconds": (
        "Seconds for which a rewriting that is due could not be done; 0 where none is late.",
        "livemax",
    ),
    "masquerade_last_sweep_timestamp_seconds": ("When the last sweep was done.", "livemax"),
    "masquerade_helper_tasks_waiting": ("Closed surveys that wait for a helper.", "livemax"),
    "masquerade_webhooks_waiting": ("Messages of webhooks that are not delivered.", "livemax"),
}

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_RESPONSE = ("PUT", "/api/v1/participations/{participation}/response", 201)
NO_ROUTE = "none"


class Metrics:
    """The counts of one server, over all of its processes."""

    def __init__(self) -> None:
        from prometheus_client import (
            CollectorRegistry,
            Counter,
            Gauge,
            Histogram,
            disable_created_metrics,
        )

        disable_created_metrics()  # type: ignore[no-untyped-call]
        # Counts of several processes are collected from files, when somebody asks.
        self._registry = CollectorRegistry()
        of: dict[str, Any] = {"registry": self._registry}
        self._requests = Counter(
            "masquerade_requests", "Requests answered.", ("method", "route", "status"), **of
        )
        self._seconds = Histogram(
            "masquerade_request_seconds",
            "Seconds from a request to the end of its answer.",
            ("route",),
            buckets=_SECONDS,
            **of,
        )
        self._accepted = Counter("masquerade_responses_accepted", "Responses accepted.", **of)
        self._sweeps = Counter("masquerade_sweeps", "Daily sweeps.", ("outcome",), **of)
        self._released = Counter(
            "masquerade_reservations_released", "Reservations that a sweep gave back.", **of
        )
        self._raised = Counter("masquerade_caps_raised", "Caps that a sweep let begin.", **of)
        self._gauges = {
            name: Gauge(name, says, multiprocess_mode=mode, **of)
            for name, (says, mode) in GAUGES.items()
        }
        # Those of processes that died stay, so what is above the number of workers was a restart.
        Counter("masquerade_processes_begun", "Processes that have begun to serve.", **of).inc()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        # A method is any text that a client sends, and each new label would stay in memory.
        known = method if method in _METHODS else "other"
        self._requests.labels(known, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        if (method, route, status) == _RESPONSE:
            self._accepted.inc()

    def sweep(self, *, released: int, raised: int) -> None:
        """Count the daily jobs, with the reservations they gave back and the caps they raised."""
        self._sweeps.labels("done").inc()
        self.read({"masquerade_last_sweep_timestamp_seconds": time.time()})
        self._released.inc(released)
        self._raised.inc(raised)

    def sweep_failed(self) -> None:
        """Count daily jobs that failed."""
        self._sweeps.labels("failed").inc()

    def read(self, readings: Mapping[str, float]) -> None:
        """Set gauges."""
        for name, value in readings.items():
            self._gauges[name].set(value)

    def text(self) -> bytes:
        """Return all counts, those of the other processes of this server too."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        if not os.environ.get(FOLDER_VARIABLE):
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def forget_process(number: int) -> None:
    """Forget the gauges of a process that died; its counts stay."""
    if os.environ.get(FOLDER_VARIABLE):
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(number)  # type: ignore[no-untyped-call]


class RequestMetrics:
    """Middleware that counts every request."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and count it when it is answered."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # What raises before an answer begins is answered with this one.
        status = 500
        begin = time.perf_counter()

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            seconds = time.perf_counter() - begin
            self._metrics.request(scope["method"], route_of(scope), status, seconds)


def route_of(scope: Scope) -> str:
    """Return the template of the route that a request took, such as ``/s/{token}``."""
    path = getattr(scope.get("route"), "path", None)
    if path is None and "endpoint" in scope:  # a folder of files
        path = scope.get("root_path") or None
    return path if isinstance(path, str) else NO_ROUTE
