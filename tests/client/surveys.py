"""Surveys of every kind of question, and a line that keeps all traffic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.serving import CERTIFICATES

from masquerade.surveys import Choice, Comparison, Number, Question, Rating
from masquerade.surveys.offered_levels import ALL_LEVELS
from masquerade.surveys.survey import Survey

EVERY_KIND: tuple[Question, ...] = (
    Choice("ill", "Have you worked while ill?", ("Yes", "No", "Cannot say"), allow_skip=True),
    Rating("stress", "How stressful is your work?", 1, 5, "not at all", "very"),
    Number("hours", "How many hours do you sleep?", 0, 12, "hours", 0.5),
    Comparison("pay", "Which would you rather have?", "More pay", "More time", "No preference"),
)
ANSWERS: dict[str, Any] = {"ill": "No", "stress": 4, "hours": 7.5, "pay": "More time"}


def define(*questions: Question, **asked: Any) -> Survey:
    """Return a survey of every kind of question at every level, or of `questions`."""
    return Survey.at_levels(
        title="Work", questions=questions or EVERY_KIND, **{"levels": ALL_LEVELS, **asked}
    )


@dataclass
class Wire(httpx.BaseTransport):
    """Carries requests on and keeps every byte of them.

    Attributes
    ----------
    sent : list of bytes
        Method, address, headers and body of each request.
    sizes : list of (str, int, int)
        Last part of each address, and lengths of the body sent and of the one received.
    """

    carrier: httpx.BaseTransport = field(
        default_factory=lambda: httpx.HTTPTransport(verify=CERTIFICATES, trust_env=False)
    )
    sent: list[bytes] = field(default_factory=list)
    sizes: list[tuple[str, int, int]] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Carry one request."""
        body = request.read()
        head = f"{request.method} {request.url}\n".encode()
        fields = b"".join(name + b": " + value + b"\n" for name, value in request.headers.raw)
        self.sent.append(head + fields + body)
        answer = self.carrier.handle_request(request)
        length = len(answer.read())
        self.sizes.append((request.url.path.rpartition("/")[2], len(body), length))
        return answer

    def close(self) -> None:
        """Close all connections."""
        self.carrier.close()
