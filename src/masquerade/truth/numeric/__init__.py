"""What is so, in numbers: plain statistics, worker models, and decoders that know the mask."""

from masquerade.truth.numeric.auto import NumericAuto
from masquerade.truth.numeric.channel_em import ChannelEM
from masquerade.truth.numeric.confidence_aware import ConfidenceAware
from masquerade.truth.numeric.estimator import NumericEstimator
from masquerade.truth.numeric.gaussian_truth import GaussianTruth
from masquerade.truth.numeric.mean import Mean
from masquerade.truth.numeric.median import Median
from masquerade.truth.numeric.moments import Moments
from masquerade.truth.numeric.quality_weighted import QualityWeighted
from masquerade.truth.numeric.reliability import HeavyTail, Reliability
from masquerade.truth.numeric.remarks import Remark

__all__ = [
    "ChannelEM",
    "ConfidenceAware",
    "GaussianTruth",
    "HeavyTail",
    "Mean",
    "Median",
    "Moments",
    "NumericAuto",
    "NumericEstimator",
    "QualityWeighted",
    "Reliability",
    "Remark",
]
