"""Regressions, correlations and classical designs, seen through known channels.

`masquerade.estimation` says how many; here stands who and why. Every variable of a regression may
have gone through a mask of its own, and its answers are never guessed: the likelihood adds up over
all answers that a report can come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.analysis.declared_tables import declared_odds, log_linear
    from masquerade.analysis.design import FitOptions
    from masquerade.analysis.design_shares import DesignShares, shares
    from masquerade.analysis.power import (
        SamplePlan,
        odds_sample,
        share_power,
        share_sample,
        two_group_power,
        two_group_sample,
    )
    from masquerade.analysis.prediction import Effects, Predictions
    from masquerade.analysis.regression import regress
    from masquerade.analysis.result import Naive, Ratio, Regression, Term
    from masquerade.analysis.second_unknown import TwoGroups, two_groups
    from masquerade.analysis.survey import (
        survey_correlation,
        survey_regression,
        survey_relation,
        survey_variable,
    )
    from masquerade.analysis.two_parties import PairTables, answer_scores, declared_pairs
    from masquerade.analysis.worth import Correlation, correlation
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "Correlation",
    "DesignShares",
    "Effects",
    "FitOptions",
    "Naive",
    "PairTables",
    "Predictions",
    "Ratio",
    "Regression",
    "SamplePlan",
    "Term",
    "TwoGroups",
    "answer_scores",
    "correlation",
    "declared_odds",
    "declared_pairs",
    "log_linear",
    "odds_sample",
    "regress",
    "share_power",
    "share_sample",
    "shares",
    "survey_correlation",
    "survey_regression",
    "survey_relation",
    "survey_variable",
    "two_group_power",
    "two_group_sample",
    "two_groups",
]
