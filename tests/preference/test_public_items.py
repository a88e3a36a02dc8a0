"""Items are public and given; choices to be protected are between two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from masquerade.accounting import Caps, Ledger, MemoryStorage
from masquerade.answers import Comparisons
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.exact import Micro
from masquerade.preference import (
    MECHANISMS,
    SocialPreference,
    VoterReport,
    preference_mechanism,
)
from masquerade.preference.mechanisms.choice_response import ChoiceResponse
from masquerade.preference.mechanisms.linear import LinearKNorm
from masquerade.preference.private_mechanism import PrivateMechanism

PRIVATE = [name for name, kind in MECHANISMS.items() if issubclass(kind, PrivateMechanism)]
UNITS = [(name, unit) for name in PRIVATE for unit in MECHANISMS[name].units]
DRUGS = ["zinc", "insulin", "aspirin", "bromine"]

ROWS = {
    "voter": ["a", "a", "b", "c"],
    "chosen": ["zinc", "aspirin", "zinc", "aspirin"],
    "rejected": ["aspirin", "bromine", "bromine", "zinc"],
}


def named(name: str, unit: str) -> PrivateMechanism:
    """Return a private mechanism, a quick one where it draws much."""
    text = f"{name}:candidates=32" if name == "direction-selection" else name
    found = preference_mechanism(text, epsilon=1, unit=unit)
    assert isinstance(found, PrivateMechanism)
    return found


def with_insulin() -> dict[str, list[str]]:
    """Return the rows with one record of one voter replaced by one that names another item."""
    return {**ROWS, "rejected": [*ROWS["rejected"][:3], "insulin"]}


#: What a result says of its own noisy numbers: it moves with the noise, as they do.
OF_THE_NOISE = frozenset({"floored", "remark"})


def shape(value: Any) -> Any:
    """Return a result without its noisy part: names, order, lengths, texts are left."""
    if isinstance(value, Mapping):
        return {key: shape(each) for key, each in value.items() if key not in OF_THE_NOISE}
    if isinstance(value, list):
        return [shape(each) for each in value]
    return "number" if isinstance(value, float) else value


@pytest.mark.parametrize(("name", "unit"), UNITS)
def test_items_read_off_the_records_are_refused(name: str, unit: str) -> None:
    """A list that one voter's one record changes is not published, and nobody is charged."""
    table = Comparisons.from_frame(ROWS)
    mechanism = named(name, unit)
    ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(90_000_000)))
    with pytest.raises(ParameterError, match="public list of all items"):
        SocialPreference.learn(table, mechanism=mechanism, ledger=ledger)
    with pytest.raises(ParameterError, match="public list"):
        mechanism.release(table.by_items())
    with pytest.raises(ParameterError, match="public list"):
        mechanism.simulate(table.by_items(), np.random.default_rng(0))
    assert ledger.balance("a").residual_epsilon == Micro(90_000_000)


@pytest.mark.parametrize(("name", "unit"), UNITS)
def test_what_one_record_names_is_not_seen_in_the_shape_of_the_result(name: str, unit: str) -> None:
    """All items of the list, in its order, also those that nobody met; all else but noise equal."""
    results = []
    for rows in (ROWS, with_insulin()):
        table = Comparisons.from_frame(rows, items=DRUGS)
        learned = SocialPreference.learn(table, mechanism=named(name, unit), public_menus=True)
        assert learned.to_arrow()["item"].to_pylist() == DRUGS
        assert learned.guarantee.status == "proven"
        assert any("items" in each for each in learned.guarantee.assumptions)
        results.append(learned.to_json())
    assert shape(results[0]) == shape(results[1])
    assert results[0]["features"] == DRUGS


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, unit in UNITS
        if unit == "voter" and name not in ("item-votes", "item-rankings")
    ],
)
def test_how_many_records_a_protected_voter_has_is_not_printed(name: str) -> None:
    """A voter with one record or with fifty: no number, text or length of the result tells."""
    shapes = []
    for many in (1, 50):
        rows = {"voter": ["a", "b", *["c"] * many], "x": [1.0, -1.0, *[2.0] * many]}
        learned = SocialPreference.learn(
            Comparisons.from_frame(rows, ranges={"x": (0, 5)}), mechanism=named(name, "voter")
        )
        shapes.append((shape(learned.to_json()), learned.release.mechanism))
        assert learned.records is None
        assert "records of" not in repr(learned)
    assert shapes[0] == shapes[1]
    seeded = SocialPreference.simulate(
        Comparisons.from_frame(rows), np.random.default_rng(0), mechanism=named(name, "voter")
    )
    assert seeded.records is None


def test_an_unlisted_item_is_an_error_that_names_it_before_any_budget_is_used() -> None:
    """The row and the name are told to the holder of the file; or the record says nothing."""
    with pytest.raises(InvalidRecord, match=r"'rejected', row 4: 'insulin' .*3 listed"):
        Comparisons.from_frame(with_insulin(), items=["zinc", "aspirin", "bromine"])
    table = Comparisons.from_frame(
        with_insulin(), items=["zinc", "aspirin", "bromine"], unlisted="ignore"
    )
    assert len(table) == 4
    assert table.by_items().difference.tolist() == [[1, -1, 0], [0, 1, -1], [1, 0, -1], [0, 0, 0]]
    again = Comparisons.from_frame(
        table.to_arrow(), items=["zinc", "aspirin", "bromine"], unlisted="ignore"
    )
    assert np.array_equal(again.by_items().difference, table.by_items().difference)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["zinc"], "at least two"),
        (["zinc", "zinc", "aspirin"], "'zinc' is listed twice"),
        (["zinc", ""], "item 2 of the list has no name"),
        (["zinc", None], "item 2"),
        ("zinc", "sequence of names"),
    ],
)
def test_a_list_of_items_that_cannot_be_used_is_refused(items: Any, message: str) -> None:
    """Fewer than two, twice the same, without a name, no list."""
    with pytest.raises(ParameterError, match=message):
        Comparisons.from_frame(ROWS, items=items)
    with pytest.raises(ParameterError, match="unlisted is 'drop'"):
        Comparisons.from_frame(ROWS, items=DRUGS, unlisted="drop")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="read by features"):
        Comparisons.from_frame({"voter": ["a"], "x": [1.0]}, items=DRUGS)


def test_without_privacy_items_may_be_read_off_the_data() -> None:
    """`none` promises nothing and says so; with a list it has the list's rows and order."""
    plain = SocialPreference.learn(Comparisons.from_frame(ROWS), mechanism="none:bound=3")
    assert plain.guarantee.status == "none"
    assert [feature.name for feature in plain.features] == ["aspirin", "bromine", "zinc"]
    table = Comparisons.from_frame(ROWS, items=DRUGS)
    listed = SocialPreference.learn(table, mechanism="none:bound=3")
    assert [feature.name for feature in listed.features] == DRUGS


def worst_neighbours() -> list[tuple[list[float], list[float]]]:
    """Return pairs of one record: turned round, disjoint, sharing an item, and nothing said."""
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    rows = []
    for a, b in pairs:
        row = [0.0] * 4
        row[a], row[b] = 1.0, -1.0
        rows.append(row)
    rows.append([0.0] * 4)
    return [(first, second) for first in rows for second in rows if first != second]


def test_exact_no_record_on_items_moves_the_sum_further_than_its_noise_allows() -> None:
    """Over all pairs of records on four items: absolute and Euclidean moves are within bounds.

    On items the L1 move is at most 4 / sqrt(2) lengths, whatever their number; the noise is sized
    for 2 sqrt(items).
    """
    from masquerade.preference.directions import UNIT, direction_sensitivity, whole_directions

    allowed = direction_sensitivity(4)
    worst = 0
    for first, second in worst_neighbours():
        move = np.diff(whole_directions(np.array([first, second])), axis=0)[0]
        absolute = int(np.abs(move).sum())
        assert absolute <= allowed.absolute
        assert int(move @ move) <= allowed.euclidean**2
        worst = max(worst, absolute)
    assert worst == pytest.approx(4 / math.sqrt(2) * UNIT, rel=1e-3)


MENU = {"A": (0.0, 0.0), "B": (1.0, 0.0), "C": (0.0, 1.0)}


def one_of_three(chosen: str) -> Comparisons:
    """Return 40 choices among the same three alternatives, the last of them `chosen`."""
    voter, choice, x, y = [], [], [], []
    for number, taken in enumerate([*"C" * 39, chosen]):
        for other in MENU:
            if other != taken:
                voter.append(f"v{number}")
                choice.append(0)
                x.append(MENU[taken][0] - MENU[other][0])
                y.append(MENU[taken][1] - MENU[other][1])
    return Comparisons.from_frame({"voter": voter, "choice": choice, "x": x, "y": y})


@pytest.mark.parametrize("name", [name for name, unit in UNITS if unit == "choice"])
def test_a_choice_among_three_is_not_protected_by_public_pairs(name: str) -> None:
    """Which pairs exist tells the choice, so the unit choice is refused; the unit record is not."""
    moments = []
    for chosen in MENU:
        table = one_of_three(chosen)
        directions = table.difference / np.linalg.norm(table.difference, axis=1, keepdims=True)
        moments.append(float((directions.T @ directions / len(directions))[0, 0]))
        with pytest.raises(ParameterError, match="among 3 alternatives"):
            named(name, "choice").release(table)
        with pytest.raises(ParameterError, match="among 3 alternatives"):
            SocialPreference.learn(table, mechanism=named(name, "choice"))
    # What was published without noise told all three apart; the specified numbers.
    assert moments == pytest.approx([0.2562, 0.2624, 0.2499], abs=1.5e-4)


def test_choices_among_three_are_refused_where_reports_are_collected() -> None:
    """The server's half takes no pairs of such choices."""
    table = one_of_three("B")
    mechanism = ChoiceResponse(epsilon=1)
    reports = [VoterReport(mechanism.epsilons(), 2, (1, -1))] * table.n_voters  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="among 3 alternatives"):
        mechanism.collect(reports, pairs=table, public_menus=True)
    assert LinearKNorm(epsilon=1).release(table).guarantee.unit == "record"


@pytest.mark.parametrize("estimator", ["likelihood", "linear"])
def test_turning_one_choice_round_changes_nothing_but_its_masked_sign(estimator: str) -> None:
    """With the same reports the whole result is the same to the last bit, zeros' signs included."""
    voters, differences = ["a", "a", "b"], [-1.0, 2.0, -3.0]
    results = []
    for sign in (1.0, -1.0):
        given = {"voter": voters, "x": [sign * each for each in differences], "y": [0.0] * 3}
        table = Comparisons.from_frame(given, ranges={"x": (0, 5), "y": (0, 1)})
        mechanism = ChoiceResponse(epsilon=1, estimator=estimator)  # type: ignore[arg-type]
        epsilon = mechanism.epsilons()
        reports = [VoterReport(epsilon, 2, (1, 1)), VoterReport(epsilon, 1, (-1,))]  # type: ignore[arg-type]
        made = mechanism.collect(reports, pairs=table, public_menus=True)
        results.append((made.weights.tobytes(), made.noise_covariance.tobytes()))
    assert results[0] == results[1]
