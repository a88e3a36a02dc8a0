"""What a device does to an answer before it leaves: exact local randomizers."""

from masquerade.mechanisms.categorical import CategoricalMechanism, FlipMixture
from masquerade.mechanisms.channel import Channel
from masquerade.mechanisms.coins import Coins, SimulatedCoins
from masquerade.mechanisms.level import LEVELS, Level, level_named
from masquerade.mechanisms.loss import INFINITE_LOSS, MICRO, NO_LOSS, Guarantee, Loss
from masquerade.mechanisms.mechanism import Mechanism, Presence
from masquerade.mechanisms.randomized_response import RandomizedResponse
from masquerade.mechanisms.response import mask_response
from masquerade.mechanisms.text import parse_mechanism
from masquerade.mechanisms.two_layer import TwoLayer

__all__ = [
    "INFINITE_LOSS",
    "LEVELS",
    "MICRO",
    "NO_LOSS",
    "CategoricalMechanism",
    "Channel",
    "Coins",
    "FlipMixture",
    "Guarantee",
    "Level",
    "Loss",
    "Mechanism",
    "Presence",
    "RandomizedResponse",
    "SimulatedCoins",
    "TwoLayer",
    "level_named",
    "mask_response",
    "parse_mechanism",
]
