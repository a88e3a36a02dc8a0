"""The published preference: weights that decide, rank and say how far to trust them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from masquerade.answers import Comparisons, Feature
from masquerade.errors import MechanismSyntaxError, ParameterError, SchemaError
from masquerade.exact import Guarantee, Micro
from masquerade.preference import (
    MECHANISMS,
    PreferenceMechanism,
    Release,
    SocialPreference,
    made_up_voters,
    preference_mechanism,
)
from masquerade.preference.mechanism import NEIGHBOURS
from masquerade.preference.mechanisms.no_mechanism import NoMechanism
from masquerade.preference.pooled_fit import fit_pooled

FEATURES = (Feature("price", 0, 100), Feature("comfort", 0, 2))


def published(noise: float = 0.0, sampling: float | None = None) -> SocialPreference:
    """Return weights of -0.01 a unit of price and 0.5 a unit of comfort."""
    guarantee = Guarantee(
        Micro(1_000_000),
        Micro(1_000_000),
        Micro(7_000_000),
        answers=7,
        assumptions=("records of a voter are at most 7",),
        unit="record",
        neighbours=NEIGHBOURS["record"],
    )
    released = Release(
        np.array([-1.0, 1.0]),
        np.eye(2) * noise**2,
        guarantee,
        "test",
        None if sampling is None else np.eye(2) * sampling**2,
    )
    return SocialPreference(released, FEATURES, voters=3, records=9)


def test_weights_are_per_unit_of_the_feature() -> None:
    """Scaled weights are divided by the public widths."""
    np.testing.assert_allclose(published().weights, [-0.01, 0.5])


def test_a_decision_says_how_firm_it_is() -> None:
    """The margin is compared with the noise in exactly this margin."""
    firm = published(noise=0.1).decide({"price": 20, "comfort": 2}, {"comfort": 0, "price": 60})
    assert firm.preferred == "first"
    assert firm.margin == pytest.approx(1.4)
    assert firm.noise_sd == pytest.approx(0.1 * math.hypot(0.4, 1))
    assert firm.margin_in_sd == pytest.approx(1.4 / firm.noise_sd)
    assert not firm.unstable
    shaky = published(noise=1).decide([60, 0], [50, 0])
    assert shaky.preferred == "second"
    assert shaky.unstable


def test_equal_alternatives_tie() -> None:
    """A tie is reported as a tie, and as unstable."""
    tie = published(noise=1).decide([10, 1], [10, 1])
    assert (tie.preferred, tie.margin, tie.noise_sd) == ("tie", 0, 0)
    assert tie.unstable


def test_without_noise_a_margin_is_never_unstable() -> None:
    """There is no privacy noise to decide anything."""
    firm = published().decide([10, 1], [10.01, 1])
    assert firm.margin_in_sd == math.inf
    assert not firm.unstable


def test_alternatives_are_ranked_by_utility() -> None:
    """The most preferred comes first; equal ones stay in their order."""
    ranked = published().rank({"a": [50, 0], "b": [0, 0], "c": [50, 1], "d": [0, 0]})
    assert ranked == ["b", "d", "c", "a"]
    with pytest.raises(ParameterError, match="nothing to rank; give alternatives by name"):
        published().rank({})
    with pytest.raises(ParameterError, match="nothing to rank; give alternatives by name"):
        published().rank()


def test_named_items_rank_themselves_and_auto_is_the_default() -> None:
    """Without alternatives the items stand by weight; without a mechanism epsilon is asked for."""
    rows = {"voter": [1, 2, 3], "chosen": [*"aab"], "rejected": [*"bcc"]}
    learned = SocialPreference.learn(Comparisons.from_frame(rows), mechanism="none")
    assert learned.rank() == ["a", "b", "c"]
    assert learned.to_arrow().column_names[0] == "item"
    with pytest.raises(ParameterError, match="epsilon"):
        SocialPreference.learn(rows)


def test_standard_errors_hold_sampling_and_noise() -> None:
    """Both variances add; without the sampling error there is no standard error."""
    assert published(noise=3).standard_errors is None
    errors = published(noise=3, sampling=4).standard_errors
    assert errors is not None
    np.testing.assert_allclose(errors, [0.05, 2.5])
    np.testing.assert_allclose(published(noise=3).noise_sd, [0.03, 1.5])
    assert published(noise=3).to_arrow().column_names[-1] == "range_high"
    table = published(noise=3, sampling=4).to_arrow().to_pydict()
    assert table["low"][1] == pytest.approx(0.5 - 1.96 * 2.5)


@pytest.mark.parametrize(
    "alternative",
    [{"price": 1}, {"price": 1, "comfort": 1, "speed": 1}, [1], [1, float("nan")], [[1, 2]]],
)
def test_an_alternative_has_every_feature(alternative: object) -> None:
    """Missing, unknown and non-finite features are errors."""
    with pytest.raises(ParameterError):
        published().decide(alternative, [0, 0])  # type: ignore[arg-type]


def test_everything_published_names_unit_trust_and_both_epsilons() -> None:
    """JSON, text and repr name the protected person, per unit and per voter."""
    result = json.loads(json.dumps(published(noise=1).to_json(), allow_nan=False))
    assert (result["voters"], result["records"]) == (3, 9)
    assert result["features"] == ["price", "comfort"]
    guarantee = result["guarantee"]
    assert (guarantee["unit"], guarantee["trust"], guarantee["paradigm"]) == (
        "record",
        "local",
        "RLDP",
    )
    assert (guarantee["epsilon"], guarantee["voter_level_epsilon"]) == (1.0, 7.0)
    assert guarantee["neighbours"] == "one record of one voter is replaced by another"
    for words in ("each record", "epsilon 1", "a whole voter: epsilon 7", "the server included"):
        assert words in repr(published())


def test_learning_without_privacy_is_labelled_so() -> None:
    """The mechanism none has infinite epsilon, no status, and says it in words."""
    rng = np.random.default_rng(1)
    comparisons = made_up_voters(rng, voters=20, features=3).choose(rng, 10)
    learned = SocialPreference.learn(comparisons, mechanism="none")
    assert learned.guarantee.status == "none"
    assert learned.to_json()["guarantee"]["epsilon"] == "inf"
    assert "protects nobody" in repr(learned)
    np.testing.assert_allclose(learned.weights, fit_pooled(comparisons).weights)
    assert (learned.voters, learned.records) == (20, 200)


@pytest.mark.parametrize("fit", ["pooled", "average", "linear"])
def test_each_fit_finds_the_direction(fit: str) -> None:
    """Without privacy the three fits agree with the true mean in over 90 % of decisions."""
    rng = np.random.default_rng(2)
    crowd = made_up_voters(rng, voters=100, features=4)
    learned = SocialPreference.learn(crowd.choose(rng, 40), mechanism=f"none:fit={fit}")
    angle = learned.weights @ crowd.mean_weights
    angle /= np.linalg.norm(learned.weights) * np.linalg.norm(crowd.mean_weights)
    assert np.arccos(angle) / np.pi < 0.1
    assert learned.release.direction_only == (fit == "linear")
    assert learned.standard_errors is not None
    same = SocialPreference.simulate(crowd.choose(rng, 40), rng, mechanism=NoMechanism())
    assert same.guarantee.status == "none"


def test_named_items_become_features() -> None:
    """Items without features get one weight each, which rank them."""
    rows = {
        "voter": list("vwvwv"),
        "chosen": ["tea", "tea", "milk", "tea", "cola"],
        "rejected": ["milk", "cola", "cola", "milk", "milk"],
    }
    learned = SocialPreference.learn(Comparisons.from_frame(rows), mechanism="none:bound=3")
    assert [feature.name for feature in learned.features] == ["cola", "milk", "tea"]
    assert int(np.argmax(learned.weights)) == 2


def test_a_mechanism_can_be_given_whole() -> None:
    """A mechanism object has its epsilon and unit; giving them twice is an error."""
    comparisons = Comparisons.from_frame({"voter": ["a", "b"], "f": [1.0, -1.0]})
    assert isinstance(NoMechanism(), PreferenceMechanism)
    SocialPreference.learn(comparisons, mechanism=NoMechanism(fit="average"))
    with pytest.raises(ParameterError, match="already"):
        SocialPreference.learn(comparisons, mechanism=NoMechanism(), unit="voter")


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("nonsense", MechanismSyntaxError, "unknown; expected one of"),
        ("none:fit", MechanismSyntaxError, "not key=value"),
        ("none:speed=1", MechanismSyntaxError, "no parameter 'speed'"),
        ("none:fit=linear,fit=linear", MechanismSyntaxError, "stands twice"),
        ("none:fit=best", ParameterError, "fit is 'best'"),
        ("none:bound=much", ParameterError, "expected float"),
        ("none:voters_count_equally=yes", ParameterError, "expected bool"),
    ],
)
def test_a_text_that_names_no_mechanism_is_refused(
    text: str, error: type[Exception], match: str
) -> None:
    """Unknown names, keys and values are told with the expected ones."""
    with pytest.raises(error, match=match):
        preference_mechanism(text)


def test_none_takes_no_epsilon() -> None:
    """Asking for an epsilon without noise is an error, not a silent promise."""
    with pytest.raises(ParameterError, match="adds no noise"):
        preference_mechanism("none", epsilon=1)


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"none"}))
@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "much"])
def test_an_epsilon_that_is_no_amount_is_refused(name: str, epsilon: object) -> None:
    """Zero, negative, NaN and infinite epsilon are refused by every mechanism."""
    with pytest.raises(ParameterError):
        preference_mechanism(name, epsilon=epsilon)


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"none"}))
def test_every_private_mechanism_needs_an_epsilon_and_knows_its_units(name: str) -> None:
    """There is no default epsilon, and a unit that is not protected is refused."""
    with pytest.raises(ParameterError, match="epsilon"):
        preference_mechanism(name)
    with pytest.raises(ParameterError, match="unit"):
        preference_mechanism(name, epsilon=1, unit="household")
    for unit in MECHANISMS[name].units:
        assert isinstance(preference_mechanism(name, epsilon=1, unit=unit), PreferenceMechanism)


def test_large_epsilons_are_warned_of() -> None:
    """Above 20 there is a warning, and the mechanism still works."""
    with pytest.warns(UserWarning, match="hardly anything"):
        preference_mechanism("central-laplace", epsilon=21)


def test_private_and_simulated_results_differ_in_status() -> None:
    """Noise from a seed protects nobody, with every mechanism."""
    rng = np.random.default_rng(3)
    comparisons = made_up_voters(rng, voters=10, features=2).choose(rng, 5)
    # Those of named items take other records; they have the same test of their own.
    for name in sorted(n for n in set(MECHANISMS) - {"none"} if not n.startswith("item-")):
        real = SocialPreference.learn(comparisons, mechanism=name, epsilon=1, public_menus=True)
        assert real.guarantee.status == "proven", name
        made_up = SocialPreference.simulate(comparisons, rng, mechanism=name, epsilon=1)
        assert made_up.guarantee.status == "none", name
        again = SocialPreference.simulate(
            comparisons, np.random.default_rng(9), mechanism=name, epsilon=1
        )
        same = SocialPreference.simulate(
            comparisons, np.random.default_rng(9), mechanism=name, epsilon=1
        )
        np.testing.assert_array_equal(again.weights, same.weights)
        assert np.isfinite(real.noise_sd).all(), name
        json.dumps(real.to_json(), allow_nan=False)


def test_items_of_a_table_are_listed_before_they_are_learnt_from() -> None:
    """A table of unlisted items is refused, and so is a value that is no table."""
    rows = {"voter": ["a"], "chosen": ["tea"], "rejected": ["milk"]}
    with pytest.raises(ParameterError, match="items were read off the records"):
        SocialPreference.learn(rows, mechanism="linear-knorm", epsilon=1)
    with pytest.raises(SchemaError, match="is not a table"):
        SocialPreference.learn([1], mechanism="linear-knorm", epsilon=1)


@pytest.mark.parametrize("alternative", ["ab", None, ["x", "y"]])
def test_an_alternative_is_numbers(alternative: Any) -> None:
    """Texts in place of features are refused with the expected type."""
    with pytest.raises(ParameterError, match=r"expected 2 finite numbers, one for each of"):
        published().decide(alternative, [1, 2])
