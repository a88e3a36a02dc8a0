"""Exact local randomizers: they mask an answer on the device, before it leaves.

An answer comes in, a report goes out. Each mechanism is a table of probabilities (`Channel`), draws
from it in whole numbers with the operating system's randomness (`Coins`), and states what that
costs whom (`Guarantee`). `masquerade.accounting` charges that cost; inference further on takes the
same object to know how each report came about. What browsers draw is the same, from the same
tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.mechanisms.bitwise_response import BitwiseResponse
    from masquerade.mechanisms.categorical import CategoricalMechanism, Channel, FlipMixture
    from masquerade.mechanisms.classical_designs import ClassicalDesign
    from masquerade.mechanisms.device_mechanism import mask_response
    from masquerade.mechanisms.discrete_gaussian import DiscreteGaussian
    from masquerade.mechanisms.discrete_laplace import DiscreteLaplace
    from masquerade.mechanisms.lattice import Lattice, LatticeMechanism
    from masquerade.mechanisms.masked_order import MaskedOrder
    from masquerade.mechanisms.mechanism import Mechanism, Presence
    from masquerade.mechanisms.privacy_level import LEVELS, Level, level_named
    from masquerade.mechanisms.quantised_response import QuantisedResponse, choose_levels
    from masquerade.mechanisms.randomized_response import RandomizedResponse
    from masquerade.mechanisms.registry import parse_mechanism
    from masquerade.mechanisms.subset_selection import SubsetSelection
    from masquerade.mechanisms.two_layer import TwoLayer
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "LEVELS",
    "BitwiseResponse",
    "CategoricalMechanism",
    "Channel",
    "ClassicalDesign",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "FlipMixture",
    "Lattice",
    "LatticeMechanism",
    "Level",
    "MaskedOrder",
    "Mechanism",
    "Presence",
    "QuantisedResponse",
    "RandomizedResponse",
    "SubsetSelection",
    "TwoLayer",
    "choose_levels",
    "level_named",
    "mask_response",
    "parse_mechanism",
]
