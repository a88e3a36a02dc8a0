"""Public data sets by name.

A data set is read from the folder that the environment variable ``MASQUERADE_DATA`` names, or
downloaded once where it has a lasting address and a published checksum. Nothing is bundled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.datasets.dataset import DATA_VARIABLE, DATASETS, Dataset, dataset_named
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = ["DATASETS", "DATA_VARIABLE", "Dataset", "dataset_named"]
