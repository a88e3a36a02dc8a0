"""The contract of a mechanism, over every one that is registered."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from masquerade.accounting import audit
from masquerade.errors import ParameterError
from masquerade.exact.coins import Coins, SimulatedCoins
from masquerade.mechanisms import Mechanism, mask_response, parse_mechanism
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.mechanisms.registry import MECHANISMS, parse_mask

EXAMPLES = {name: parse_mechanism(kind.example) for name, kind in MECHANISMS.items()}
every_mechanism = pytest.mark.parametrize("mechanism", EXAMPLES.values(), ids=EXAMPLES)
on_devices = pytest.mark.parametrize(
    "mechanism",
    [one for one in EXAMPLES.values() if isinstance(one, DeviceMechanism)],
    ids=[name for name, one in EXAMPLES.items() if isinstance(one, DeviceMechanism)],
)


@every_mechanism
def test_a_mechanism_is_its_text_form(mechanism: Mechanism) -> None:
    """The text form is read back as the same mechanism, and begins with its name."""
    assert parse_mechanism(str(mechanism)) == mechanism
    assert str(mechanism).partition(":")[0] == mechanism.name
    assert mechanism.to_json()["mechanism"] == str(mechanism)
    assert hash(parse_mechanism(str(mechanism))) == hash(mechanism)


@every_mechanism
def test_a_guarantee_grows_with_the_answers(mechanism: Mechanism) -> None:
    """Nothing is lost by no answer, and more is never lost by fewer."""
    none, one, four = (mechanism.guarantee(answers=count) for count in (0, 1, 4))
    assert none.epsilon_event.micro == none.epsilon_user.micro == 0
    assert one.epsilon_event == one.epsilon_user == one.epsilon_single
    assert one.epsilon_user <= four.epsilon_user
    assert four.epsilon_event <= four.epsilon_user
    assert mechanism.variance() > 0


@on_devices
def test_exact_the_loss_bounds_the_channel(mechanism: DeviceMechanism) -> None:
    """Rows of the channel sum to one, and no two answers differ by more than the loss."""
    numbers = mechanism.as_numbers
    if numbers is not None and numbers.report_values is None:
        with pytest.raises(ParameterError, match="no end"):
            numbers.channel()
        return
    channel = mechanism.channel()  # type: ignore[attr-defined]
    assert all(sum(row) == Fraction(1) for row in channel.table)
    ratio = channel.worst_ratio()
    assert math.log(ratio) <= float(mechanism.guarantee().epsilon_single.epsilon)
    assert float(mechanism.guarantee().epsilon_single.epsilon) <= math.log(ratio) + 2e-6


@on_devices
def test_every_answer_has_a_report_that_is_accepted(mechanism: DeviceMechanism) -> None:
    """Codes that are answers are masked, the others refused; reports stay in range."""
    low, high = mechanism.possible_reports()
    coins = Coins()
    for code in range(min(mechanism.codes, 64)):
        if mechanism.masks(code):
            assert low <= mask_response([code], [mechanism], coins=coins)[0] <= high
    assert not mechanism.masks(mechanism.codes)
    assert not mechanism.masks(-1)


@on_devices
def test_the_randomness_does_not_depend_on_the_answer(mechanism: DeviceMechanism) -> None:
    """Two answers are masked with as many words of randomness as each other."""
    answers = [code for code in range(min(mechanism.codes, 64)) if mechanism.masks(code)]
    states = []
    for answer in (answers[0], answers[-1]):
        rng = np.random.default_rng(3)
        mechanism.mask_for_one([answer] * 5, SimulatedCoins(rng))
        states.append(rng.bit_generator.state)
    assert states[0] == states[1]


@on_devices
def test_a_survey_takes_the_masks_that_say_so(mechanism: DeviceMechanism) -> None:
    """Surveys read the text form of their masks, and refuse that of any other mechanism."""
    if mechanism.in_surveys:
        assert parse_mask(str(mechanism)) == mechanism
    else:
        with pytest.raises(ValueError, match="masks no answers to surveys"):
            parse_mask(str(mechanism))


@every_mechanism
def test_audit_finds_no_more_than_is_claimed(mechanism: Mechanism) -> None:
    """Sampled 20,000 times with a fixed seed, the lower bound is at most the claim.

    What promises nothing is refuted for that alone. False alarms: at most 1e-6, by the audit's own
    confidence.
    """
    report = audit(mechanism, samples=20_000, rng=np.random.default_rng(11))
    if mechanism.guarantee().status == "none":
        assert len(report.reasons) == 1, report.reasons
        assert "no guarantee" in report.reasons[0]
    else:
        assert report.verdict != "refuted", report.reasons
