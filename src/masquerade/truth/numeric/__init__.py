"""Inference of numbers: plain statistics, worker models, and decoders that know the mask."""

from masquerade.truth.numeric.auto import NumericAuto
from masquerade.truth.numeric.catd import CATD
from masquerade.truth.numeric.channel_em import ChannelEM
from masquerade.truth.numeric.estimator import NumericEstimator
from masquerade.truth.numeric.location import Mean, Median
from masquerade.truth.numeric.moments import Moments
from masquerade.truth.numeric.reliability import GaussianTruth, HeavyTail, Reliability

__all__ = [
    "CATD",
    "ChannelEM",
    "GaussianTruth",
    "HeavyTail",
    "Mean",
    "Median",
    "Moments",
    "NumericAuto",
    "NumericEstimator",
    "Reliability",
]
