"""The standard's official test vectors."""

from __future__ import annotations

import json

import pytest
from tests.aggregate.official import FOLDER, NAMES, instance, read, replay
from tests.aggregate.standard_circuits import MultihotCountVec

from masquerade.aggregate import FIELD_128, One, Prio3, Some, SurveyCircuit
from masquerade.aggregate.xof import derive_seed, expand


@pytest.mark.parametrize("name", NAMES)
def test_every_official_vector_comes_out_byte_by_byte(name: str) -> None:
    """Every step of a vector gives its bytes, and a bad one is refused at the step it names."""
    vector = read(name)
    wanted = [(step["operation"], step["success"]) for step in vector["operations"]]
    assert replay(instance(name, vector), vector) == wanted
    assert ("_bad_" in name) == (False in dict(wanted).values())


def test_the_official_vector_of_the_xof_comes_out() -> None:
    """A seed and a vector of 40 elements have the bytes of the standard."""
    vector = json.loads((FOLDER / "XofTurboShake128.json").read_text(encoding="utf-8"))
    seed, dst, binder = (bytes.fromhex(vector[name]) for name in ("seed", "dst", "binder"))
    assert derive_seed(seed, dst, binder).hex() == vector["derived_seed"]
    drawn = expand(FIELD_128, seed, dst, binder, vector["length"])
    assert FIELD_128.encode(drawn).hex() == vector["expanded_vec_field128"]


@pytest.mark.parametrize("name", ["Prio3Histogram_0", "Prio3Histogram_2"])
def test_a_survey_of_one_choice_is_a_histogram(name: str) -> None:
    """The survey's circuit with one choice has the bytes of Prio3Histogram."""
    vector = read(name)
    circuit = SurveyCircuit([One(vector["length"])], chunk=vector["chunk_length"])
    for report in vector["reports"]:
        report["measurement"] = [report["measurement"]]
    vector["agg_result"] = [vector["agg_result"]]
    assert all(success for _, success in replay(Prio3(4, circuit), vector))


@pytest.mark.parametrize("name", ["Prio3MultihotCountVec_0", "Prio3MultihotCountVec_2"])
def test_a_survey_of_several_options_is_a_multihot_vector(name: str) -> None:
    """The survey's circuit with one question of several options has the standard's bytes."""
    vector = read(name)
    circuit = SurveyCircuit(
        [Some(vector["length"], vector["max_weight"])], chunk=vector["chunk_length"]
    )
    for report in vector["reports"]:
        report["measurement"] = [report["measurement"]]
    vector["agg_result"] = [vector["agg_result"]]
    assert all(success for _, success in replay(Prio3(5, circuit), vector))
    standard = instance(name, vector).circuit
    assert isinstance(standard, MultihotCountVec)
    assert circuit.proof_length == standard.proof_length
