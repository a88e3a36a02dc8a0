"""Circuits as bytes, for the configuration of a task.

Prio3 does not bind the parameters of its circuit, so that parties who take different ones would add
up different things: they stand in the configuration from which the task has its identifier. DAP
draft 18 has forms of the standard's circuits (appendix "VDAF Configuration Encodings"); that of
`SurveyCircuit` is our own.
"""

from __future__ import annotations

from typing import Any

from masquerade.aggregate.dap_messages import Number, Reader
from masquerade.aggregate.item_blocks import Matching, Order
from masquerade.aggregate.prio3 import Prio3
from masquerade.aggregate.survey_circuit import (
    SURVEY,
    Block,
    One,
    Some,
    SurveyCircuit,
    Vector,
    Whole,
    prio3_survey,
)
from masquerade.errors import InvalidReport, ParameterError

_U8, _U32, _U64 = Number(1), Number(4), Number(8)
#: A code for each kind of block, and the sizes of the numbers that describe it.
_BLOCKS: dict[int, tuple[type[Block], tuple[Number, ...]]] = {
    1: (One, (_U32,)),
    2: (Some, (_U32, _U32)),
    3: (Whole, (_U64,)),
    4: (Vector, (_U32, _U64, _U8)),
    5: (Order, (_U32, _U32, _U8)),
    6: (Matching, (_U32, _U32, _U8)),
}


def configuration_of(vdaf: Prio3[Any, Any]) -> tuple[int, bytes]:
    """Return the identifier of an algorithm for two parties and its parameters as bytes.

    Examples
    --------
    >>> algorithm, parameters = configuration_of(prio3_survey([One(5)]))
    >>> hex(algorithm), parameters.hex()
    ('0xffff4d51', '000000020100000005')
    >>> str(prio3_of(algorithm, parameters).circuit.blocks)
    '(One(options=5),)'
    """
    circuit, kind = vdaf.circuit, vdaf.algorithm
    one_proof_of_two = vdaf.shares == 2 and vdaf.proofs == 1
    if not (one_proof_of_two and kind == SURVEY and isinstance(circuit, SurveyCircuit)):
        raise ParameterError(
            f"algorithm {kind:#x} with {vdaf.shares} parties and {vdaf.proofs} proofs has no form "
            "in a task; expected a survey, of two parties with one proof."
        )
    return kind, _U32.write(circuit.chunk) + b"".join(map(_block_bytes, circuit.blocks))


def prio3_of(algorithm: int, parameters: bytes) -> Prio3[Any, Any]:
    """Return the algorithm that an identifier and bytes stand for."""
    if algorithm != SURVEY:
        raise ParameterError(f"algorithm {algorithm:#x} is not known; expected {SURVEY:#x}.")
    reader = Reader(parameters)
    chunk = reader.number(4)
    blocks: list[Block] = []
    while reader.left:
        code = reader.number(1)
        if code not in _BLOCKS:
            raise InvalidReport(f"a block has code {code}, expected 1 to {len(_BLOCKS)}.")
        kind, numbers = _BLOCKS[code]
        values = [number.read(reader) for number in numbers]
        if kind is Some:
            blocks.append(Some(values[0], values[1] or None))
        elif kind is Vector:
            blocks.append(Vector(values[0], values[1], bool(values[2])))
        else:
            blocks.append(kind(*values))
    return prio3_survey(blocks, chunk=chunk)


def _block_bytes(block: Block) -> bytes:
    for code, (kind, numbers) in _BLOCKS.items():
        if type(block) is kind:
            names: tuple[str, ...] = kind.__slots__
            values = [int(getattr(block, name) or 0) for name in names]
            return _U8.write(code) + b"".join(
                number.write(value) for number, value in zip(numbers, values, strict=True)
            )
    raise ParameterError(f"a block {block!r} has no form in a task; expected one of this library.")
