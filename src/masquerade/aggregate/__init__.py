"""Answers split between two parties that see only sums.

On the device a response becomes one vector of small whole numbers (`Encoding`), which `Prio3`
splits into two shares with a proof that it is well-formed. Each party checks every share with the
other's help, adds up the shares that hold, and adds noise (`SumNoise`) before it shows its sum. Put
together the noisy sums give shares and means (`results.estimate_sums`). Nobody sees a response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.aggregate.bit_circuits import best_chunk
    from masquerade.aggregate.circuit import Circuit, Gadget, Mul, ParallelSum
    from masquerade.aggregate.dap import BatchTally, verification_key
    from masquerade.aggregate.field import FIELD_64, FIELD_128, Field
    from masquerade.aggregate.noise import SumNoise
    from masquerade.aggregate.prio3 import (
        Prio3,
        SimulatedSplitReport,
        SplitReport,
        VerifyState,
    )
    from masquerade.aggregate.survey_circuit import (
        Block,
        One,
        Some,
        SurveyCircuit,
        Vector,
        Whole,
        prio3_survey,
    )
    from masquerade.aggregate.xof import GivenSeeds
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "FIELD_64",
    "FIELD_128",
    "BatchTally",
    "Block",
    "Circuit",
    "Field",
    "Gadget",
    "GivenSeeds",
    "Mul",
    "One",
    "ParallelSum",
    "Prio3",
    "SimulatedSplitReport",
    "Some",
    "SplitReport",
    "SumNoise",
    "SurveyCircuit",
    "Vector",
    "VerifyState",
    "Whole",
    "best_chunk",
    "prio3_survey",
    "verification_key",
]
