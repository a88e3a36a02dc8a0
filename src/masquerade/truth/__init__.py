"""Inference of truths: voting, truth discovery, Bayesian inference, numbers.

Claims come in, masked or not. Methods that are given the mechanism of the reports make it part of
their model, and so learn how good people's answers are instead of how good their reports are. Out
come truths with posteriors, reliabilities and remarks. Shares of people are figures of
`masquerade.estimation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.truth.agreement import (
        cohen_kappa,
        fleiss_kappa,
        krippendorff,
        krippendorff_alpha,
        pairwise_agreement,
    )
    from masquerade.truth.auto import Auto
    from masquerade.truth.bayesian_combination import BayesianCombination
    from masquerade.truth.binary_relevance import BinaryRelevance
    from masquerade.truth.categorical import CategoricalEstimator
    from masquerade.truth.collection.fitted_crowd import FittedCrowd
    from masquerade.truth.collection.label_collection import Collection
    from masquerade.truth.collection.task_rules import PosteriorStop, TotalStop
    from masquerade.truth.collection.worker_advice import worker_advice
    from masquerade.truth.dawid_skene import MACE, DawidSkene, OneCoinDawidSkene
    from masquerade.truth.estimator import Estimator, Inference
    from masquerade.truth.glad import GLAD
    from masquerade.truth.intervals import reliability_intervals, truth_share_intervals
    from masquerade.truth.methods import METHODS, method_named
    from masquerade.truth.numeric import NumericAuto, NumericEstimator
    from masquerade.truth.one_coin import OneCoin
    from masquerade.truth.report_mechanisms import ReportMechanisms
    from masquerade.truth.scores import (
        accuracy,
        calibration_table,
        error_rate,
        expected_calibration_error,
        mean_absolute_error,
        root_mean_squared_error,
    )
    from masquerade.truth.subtypes import Subtypes
    from masquerade.truth.truth_discovery import TruthDiscovery
    from masquerade.truth.two_coin import TwoCoin
    from masquerade.truth.voting import GoldMajorityVote, MajorityVote, WeightedVote
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "GLAD",
    "MACE",
    "METHODS",
    "Auto",
    "BayesianCombination",
    "BinaryRelevance",
    "CategoricalEstimator",
    "Collection",
    "DawidSkene",
    "Estimator",
    "FittedCrowd",
    "GoldMajorityVote",
    "Inference",
    "MajorityVote",
    "NumericAuto",
    "NumericEstimator",
    "OneCoin",
    "OneCoinDawidSkene",
    "PosteriorStop",
    "ReportMechanisms",
    "Subtypes",
    "TotalStop",
    "TruthDiscovery",
    "TwoCoin",
    "WeightedVote",
    "accuracy",
    "calibration_table",
    "cohen_kappa",
    "error_rate",
    "expected_calibration_error",
    "fleiss_kappa",
    "krippendorff",
    "krippendorff_alpha",
    "mean_absolute_error",
    "method_named",
    "pairwise_agreement",
    "reliability_intervals",
    "root_mean_squared_error",
    "truth_share_intervals",
    "worker_advice",
]
