"""What is so: voting, truth discovery, Bayesian inference that knows the mask, numbers, shares."""

from masquerade.truth.accuracy import (
    accuracy,
    error_rate,
    error_rate_change,
    mean_absolute_error,
    root_mean_squared_error,
    scored,
)
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.components import Components, components
from masquerade.truth.estimator import Estimator
from masquerade.truth.majority_vote import MajorityVote
from masquerade.truth.methods import METHODS, method_named
from masquerade.truth.numeric import Mean, Median, NumericEstimator
from masquerade.truth.one_coin import OneCoin
from masquerade.truth.shares import Estimate, Shares, estimate_shares
from masquerade.truth.truth_discovery import TruthDiscovery

__all__ = [
    "METHODS",
    "CategoricalEstimator",
    "Components",
    "Estimate",
    "Estimator",
    "MajorityVote",
    "Mean",
    "Median",
    "NumericEstimator",
    "OneCoin",
    "Shares",
    "TruthDiscovery",
    "accuracy",
    "components",
    "error_rate",
    "error_rate_change",
    "estimate_shares",
    "mean_absolute_error",
    "method_named",
    "root_mean_squared_error",
    "scored",
]
