"""Public data sets by name, and simulated ones of the papers' sizes.

A data set is read from the folder that the environment variable ``MASQUERADE_DATA`` names, or
downloaded once where it has a lasting address and a published checksum. Nothing is bundled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.datasets.dataset import DATA_VARIABLE, DATASETS, Dataset, dataset_named
    from masquerade.datasets.simulated import (
        SimulatedClaims,
        SimulatedRatings,
        TruthShape,
        duchenne_smile,
        indoor_floorplan,
        lecturer_ratings,
        movie_ratings,
        peer_grading,
        population,
        stock,
        web_ratings,
    )
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "DATASETS",
    "DATA_VARIABLE",
    "Dataset",
    "SimulatedClaims",
    "SimulatedRatings",
    "TruthShape",
    "dataset_named",
    "duchenne_smile",
    "indoor_floorplan",
    "lecturer_ratings",
    "movie_ratings",
    "peer_grading",
    "population",
    "stock",
    "web_ratings",
]
