"""Releases: summaries of objects, and synthetic claims that agree with them.

A collector who holds clear claims measures them once, with noise; counts, means, quantiles, shares
and rows are computed from that measurement, and cost nothing more. What promises nothing says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.release.comparison import Errors, errors_of
    from masquerade.release.grouped_claims import GroupedClaims
    from masquerade.release.guarantee import Neighbours, guarantee_json, guarantee_sentence
    from masquerade.release.knots import Domain
    from masquerade.release.parameters import Aim, ReleaseParameters
    from masquerade.release.published import Release
    from masquerade.release.releases import release, simulate_release, summaries, synthesize
    from masquerade.release.report import report_page
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "Aim",
    "Domain",
    "Errors",
    "GroupedClaims",
    "Neighbours",
    "Release",
    "ReleaseParameters",
    "errors_of",
    "guarantee_json",
    "guarantee_sentence",
    "release",
    "report_page",
    "simulate_release",
    "summaries",
    "synthesize",
]
