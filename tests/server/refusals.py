"""Requests that are refused, and surveys of every kind, for tests."""

from __future__ import annotations

from typing import Any

import httpx

PROBLEM = "application/problem+json"

LEVELS = ("high", "medium", "low")


def problem_of(response: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """Return the problem details of a response, after checking their form."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM
    found: dict[str, Any] = response.json()
    assert (found["type"], found["status"]) == (f"/problems/{slug}", status)
    assert found["title"]
    assert found["detail"]
    return found
