"""A survey that asks nearly the same as an approved one is shown to the helper's operator."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from masquerade.server.parties.helper_proposals import near_copies
from masquerade.surveys import Choice
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

TERMS = {
    "helper": "https://helper.example.org",
    "operator": "The works council",
    "fingerprint": "0" * 32,
}
LUNCH = Choice("lunch", "What for lunch?", ("soup", "salad", "bread"))
HIDDEN = "What for\u2060 lunch?"
MOOD = Choice("mood", "How are you?", ("well", "badly"))


def survey(*questions: Choice, title: str = "Canteen", **terms: object) -> Survey:
    """Return a survey between two parties."""
    return Survey(
        title,
        "",
        "pick",
        questions or (LUNCH, MOOD),
        (OfferedLevel("two-parties", ()),),
        two_parties=TwoParties.of(**{**TERMS, "rho": "0.5", "minimum": 50, **terms}),  # type: ignore[arg-type]
    )


CHANGES: dict[str, Callable[[], Survey]] = {
    "a space of no width": lambda: survey(title="Canteen\u200b"),
    "a space at the end": lambda: survey(title="Canteen "),
    "a soft hyphen": lambda: survey(title="Can\u00adteen"),
    "another minimum": lambda: survey(minimum=51),
    "another rho": lambda: survey(rho="0.500001"),
    "other bins": lambda: survey(bins=21),
    "another id": lambda: survey(dataclasses.replace(LUNCH, id="x"), MOOD),
    "an invisible letter": lambda: survey(
        dataclasses.replace(LUNCH, text="What for\u2060 lunch?"), MOOD
    ),
    "a question more": lambda: survey(LUNCH, MOOD, Choice("z", "And?", ("a", "b"))),
    "nothing": survey,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_copy_that_looks_the_same_is_told_with_its_difference(
    change: Callable[[], Survey],
) -> None:
    """Each way to make another hash of the same questions is seen, and the difference is said."""
    [copy] = near_copies(change(), [survey()])
    assert copy.title == "Canteen"
    assert bool(copy.differences) == (change() != survey())


def test_another_survey_is_no_copy() -> None:
    """Surveys with other questions are not told, and one question in three is no copy."""
    other = [Choice(name, f"{name}?", ("a", "b")) for name in ("one", "two")]
    assert near_copies(survey(*other), [survey()]) == []
    assert (
        near_copies(survey(LUNCH, *other), [survey(LUNCH, MOOD, Choice("x", "?", ("a", "b")))])
        == []
    )
