"""Typical code of users, which must type-check under ``mypy --strict``; it is never run."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

import masquerade as mq
from masquerade.answers import Claims, Truths
from masquerade.errors import InputError, MasqueradeError, ParameterError
from masquerade.exact import NO_LOSS, Coins, Guarantee, Micro, SimulatedCoins
from masquerade.mechanisms import (
    LEVELS,
    CategoricalMechanism,
    Channel,
    FlipMixture,
    Mechanism,
    RandomizedResponse,
    TwoLayer,
    level_named,
    parse_mechanism,
)
from masquerade.surveys import Choice, Question, Rating, question_from_json


def read_claims_of_every_kind(folder: Path) -> list[Claims]:
    """Files and frames."""
    rows = {"task": ["a"], "worker": ["x"], "label": ["yes"]}
    claims: list[Claims] = [
        mq.Claims.read(folder / "claims.csv.gz"),
        Claims.read("claims.parquet", kind="numeric"),
        Claims.from_frame(rows, options=["yes", "no"], null=True, duplicates="last"),
        Claims.from_frame(pd.DataFrame(rows)),
        Claims.from_frame(pl.DataFrame(rows), kind="categorical"),
        Claims.from_frame(pa.table(rows)),
        Claims.from_frame({"task": np.arange(3), "worker": np.arange(3), "value": np.ones(3)}),
    ]
    claims[0].write(folder / "again.csv")
    return claims


def look_at_claims(claims: Claims) -> dict[str, int]:
    """Columns, counts and tables."""
    codes: NDArray[np.int32] = claims.task
    answered: Claims = claims.answered()
    table = answered.to_arrow()
    assert claims.kind in ("categorical", "numeric")
    return {"rows": len(claims), "first": int(codes[0]), "columns": int(table.num_columns)}


def score(claims: Claims) -> NDArray[np.int32]:
    """Truths lined up with claims."""
    truths: Truths = mq.Truths.read("truths.csv")
    return truths.codes(claims)


def mask_for_people(claims: Claims) -> Claims:
    """Operating-system entropy."""
    mechanism: Mechanism = mq.parse_mechanism("two-layer:options=2,low=0,high=0.5379")
    return mechanism.randomize(claims, coins=Coins())


def mask_for_studies(claims: Claims, rng: np.random.Generator) -> list[Claims]:
    """Seeds, and every way to write a parameter."""
    mechanisms: list[Mechanism] = [
        RandomizedResponse(4, epsilon=1),
        RandomizedResponse(options=4, epsilon=0.5, null=True),
        RandomizedResponse(4, flip_probability=Fraction(1, 3)),
        RandomizedResponse(4, flip_probability="0.3"),
        TwoLayer(options=4, low=0, high="1/2"),
        TwoLayer.from_epsilon_single(1, 4, low_min=0.1),
        *(level.randomized_response(4) for level in LEVELS),
        level_named("high").randomized_response(4, null=True),
    ]
    return [mechanism.simulate(claims, rng) for mechanism in mechanisms]


def price(mechanism: CategoricalMechanism) -> tuple[float, str]:
    """The cost of a mechanism."""
    promise: Guarantee = mechanism.guarantee(answers=20)
    spent: Micro = sum((promise.epsilon_user, promise.epsilon_event * 2), NO_LOSS)
    as_json: dict[str, Any] = promise.to_json()
    assert as_json["unit"] == promise.unit
    channel: Channel = mechanism.channel()
    worst: Fraction | float = channel.worst_ratio()
    mixture: FlipMixture = mechanism.flip_mixture(nodes=12)
    return float(worst) + spent.epsilon + float(mixture.weight.sum()), str(mechanism)


def ask() -> list[Question]:
    """Questions and their JSON."""
    questions: list[Question] = [
        Choice("q1", "Which?", ("a", "b"), allow_skip=True),
        Rating("q2", "How much?", low=1, high=7),
    ]
    return [question_from_json(question.to_json()) for question in questions]


def catch(text: str) -> str:
    """Errors by kind."""
    try:
        return str(parse_mechanism(text))
    except (ParameterError, InputError) as error:
        return str(error)
    except MasqueradeError:
        raise


def wrong_on_purpose(claims: Claims, rng: np.random.Generator) -> None:
    """Errors that the type checker must find: each ignore is needed, which strict mode checks."""
    mechanism = RandomizedResponse(2, epsilon=1)
    mechanism.randomize(claims, coins=rng)  # type: ignore[arg-type]
    mechanism.randomize(claims, coins=SimulatedCoins(rng))  # type: ignore[arg-type]
    mechanism.simulate(claims, Coins())  # type: ignore[arg-type]
    Coins(5)  # type: ignore[call-arg]
    Claims.from_frame({}, kind="ordinal")  # type: ignore[arg-type]
