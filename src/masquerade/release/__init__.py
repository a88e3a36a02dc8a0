"""Releases: densities weighted by reliability, and synthetic claims that may be published.

A collector who holds clear claims makes synthetic ones from a private density and publishes those,
with the guarantee and what it takes for public. What promises nothing says so, and the ledger
refuses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.release.attributes import Cells, synthesize_with_attributes
    from masquerade.release.bandwidth import bandwidths
    from masquerade.release.density import DensityModel, fit_density
    from masquerade.release.domain import Domain
    from masquerade.release.engine import Engine, PrivateEngine
    from masquerade.release.grouped_claims import GroupedClaims
    from masquerade.release.guarantee import guarantee_json, guarantee_sentence
    from masquerade.release.histogram import Histogram, TwoPassHistogram
    from masquerade.release.metrics import Errors, expected_ise, ise
    from masquerade.release.mixtures import Mixtures
    from masquerade.release.pooled import PooledHistogram
    from masquerade.release.posterior import PosteriorHistogram, SourceHistogram, WienerHistogram
    from masquerade.release.release import STATUSES, Release
    from masquerade.release.report import report_page
    from masquerade.release.synthesis import ENGINES, charge, parse_engine, simulate, synthesize
    from masquerade.release.weights import (
        Reliability,
        combined_weights,
        global_weights,
        local_weights,
    )
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "ENGINES",
    "STATUSES",
    "Cells",
    "DensityModel",
    "Domain",
    "Engine",
    "Errors",
    "GroupedClaims",
    "Histogram",
    "Mixtures",
    "PooledHistogram",
    "PosteriorHistogram",
    "PrivateEngine",
    "Release",
    "Reliability",
    "SourceHistogram",
    "TwoPassHistogram",
    "WienerHistogram",
    "bandwidths",
    "charge",
    "combined_weights",
    "expected_ise",
    "fit_density",
    "global_weights",
    "guarantee_json",
    "guarantee_sentence",
    "ise",
    "local_weights",
    "parse_engine",
    "report_page",
    "simulate",
    "synthesize",
    "synthesize_with_attributes",
]
