"""Who and why: regressions, correlations and classical designs, seen through known channels.

`masquerade.estimation` says how many; here stands who and why. Every variable of a regression may
have gone through a mask of its own, and its answers are never guessed: the likelihood adds up over
all answers that a report can come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.analysis.design import FitOptions
    from masquerade.analysis.prediction import Effects, Predictions
    from masquerade.analysis.regression import regress
    from masquerade.analysis.result import Naive, Ratio, Regression, Term
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "Effects",
    "FitOptions",
    "Naive",
    "Predictions",
    "Ratio",
    "Regression",
    "Term",
    "regress",
]
