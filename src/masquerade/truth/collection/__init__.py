"""Collection of labels: the next task, the next worker, stopping, advice on workers."""

from masquerade.truth.collection.fitted_crowd import FittedCrowd
from masquerade.truth.collection.label_collection import Collection
from masquerade.truth.collection.task_rules import GainStop, PosteriorStop, StoppingRule, TotalStop
from masquerade.truth.collection.worker_advice import worker_advice

__all__ = [
    "Collection",
    "FittedCrowd",
    "GainStop",
    "PosteriorStop",
    "StoppingRule",
    "TotalStop",
    "worker_advice",
]
