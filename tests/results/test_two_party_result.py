"""Results of surveys between two parties, as pages and files have them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from masquerade.errors import EmptyTable, ParameterError
from masquerade.results import (
    SurveyResult,
    methods_text,
    result_table,
    split_group_comparisons,
    split_result,
)
from masquerade.results.two_party_result import split_codebook
from masquerade.server.results.view import result_view
from masquerade.surveys import Choice, PairVote, Question, Rating
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

QUESTIONS = (
    Choice("lunch", "What for lunch?", ("soup", "salad")),
    Rating("mood", "How are you?", high=3, allow_skip=True),
)
# Of 400 people 300 say how they are; the cells are those of lunch with mood.
SUMS = [[300, 100], [30, 90, 180, 100], [20, 70, 130, 80, 10, 20, 50, 20]]


def split_survey(*items: Question) -> Survey:
    """Return a survey between two parties: these items, or questions with a cross table."""
    terms = TwoParties.of(
        helper="https://helper.example",
        operator="The works council",
        fingerprint="5a" * 16,
        rho="0.5",
        cross=() if items else (("lunch", "mood"),),
    )
    level = OfferedLevel("two-parties", ())
    return Survey("Canteen", "", "pick", items or QUESTIONS, (level,), two_parties=terms)


def result_of(**more: Any) -> dict[str, Any]:
    """Return the result of these sums."""
    return split_result(split_survey(), SUMS, token="5a", count=400, refused=1, **more).to_json()


def test_shares_of_those_who_answered_stand_beside_those_of_all() -> None:
    """With some answers missing, each answer has both shares, and the missing one has one."""
    lunch, mood = result_of()["questions"]
    assert all("of_answered" not in option for option in lunch["options"])
    *answers, skipped = mood["options"]
    assert [one["value"] for one in answers] == pytest.approx([0.075, 0.225, 0.45])
    assert [one["of_answered"]["value"] for one in answers] == pytest.approx([0.1, 0.3, 0.6])
    for one in answers:
        assert one["of_answered"]["low"] < one["of_answered"]["value"] < one["of_answered"]["high"]
    assert "of_answered" not in skipped


def test_a_headline_is_of_those_who_answered() -> None:
    """Where most were not asked, that is no headline: it is the answer on top among the others."""
    asked = Choice("stay", "What would make you stay?", ("pay", "hours"), allow_skip=True)
    survey = split_survey(asked)
    result = split_result(survey, [[80, 20, 300]], token="5a", count=400, refused=0).to_json()
    [found] = result["questions"]
    pay, _, skipped = found["options"]
    assert found["headline"]["option"] == "pay"
    # An option that was chosen after looking has the interval that holds for all at once.
    assert found["headline"]["low"] < pay["of_answered"]["low"]
    assert "of_answered" not in skipped
    everybody = split_result(survey, [[240, 160, 0]], token="5a", count=400, refused=0).to_json()
    # A quarter of the people answered: four times as many have to be asked.
    wanted = everybody["questions"][0]["precision"]["people"]
    assert found["precision"]["people"] == pytest.approx(4 * wanted, rel=0.08)
    [part] = result_view(survey, SurveyResult.of(result)).questions
    assert part.headline.large == "pay is ahead"
    assert part.headline.small.startswith("95 % sure of the order; 80 % of those who answered")


def test_groups_come_from_declared_tables_either_way_round() -> None:
    """Means by lunch and shares by mood are those of the table's sums; other groups are refused."""
    survey = split_survey()
    [mean] = split_group_comparisons(survey, SUMS, by="lunch", count=400)
    assert [one.figure.value for one in mean.groups] == pytest.approx([550 / 220, 200 / 80])
    soup, salad = split_group_comparisons(survey, SUMS, by="mood", count=400)
    assert [one.figure.value for one in soup.groups] == pytest.approx([2 / 3, 7 / 9, 13 / 18])
    assert [one.figure.value for one in salad.groups] == pytest.approx([1 / 3, 2 / 9, 5 / 18])
    for one in (*soup.differences, *salad.differences):
        assert one.family == 6
        assert one.simultaneous_low <= one.low <= (one.value or 0) <= one.high
        assert not one.differ
    alone = split_survey(Choice("stay", "Stay?", ("yes", "no")))
    with pytest.raises(ParameterError, match="crossed with 'stay'"):
        split_group_comparisons(alone, [[200, 200]], by="stay", count=400)
    with pytest.raises(EmptyTable):
        split_group_comparisons(survey, SUMS, by="lunch", count=0)


def test_the_page_speaks_of_noise_and_not_of_masks() -> None:
    """It has one estimate, both kinds of shares, the declared table, and no part for masks."""
    view = result_view(split_survey(), SurveyResult.of(result_of()))
    assert view.split
    assert view.level_words == ""
    _, mood = view.questions
    assert [row.text for row in mood.answered] == ["10 %", "30 %", "60 %"]
    assert mood.sure is not None
    names = [part.name for part in mood.sure.errors]
    assert names == ["People", "Noise"]
    [table] = view.cross
    assert table.columns == ("1", "2", "3", "prefer not to say")
    assert [name for name, _ in table.rows] == ["soup", "salad"]
    assert [cell.text for cell in table.rows[0][1]] == ["5 %", "18 %", "32 %", "20 %"]


def test_what_is_known_of_made_up_people_is_compared() -> None:
    """A known share outside an interval is marked as missed, and inside it is not."""
    known = {"lunch": [0.75, 0.25], "mood": [0.5, 0.2, 0.2, 0.1]}
    result = result_of(known=known)
    assert result["simulated"]
    view = result_view(split_survey(), SurveyResult.of(result))
    missed = [[row.missed for row in question.bars] for question in view.questions]
    assert missed == [[False, False], [True, False, True, True]]


def test_nobody_who_seems_to_have_answered_has_no_share() -> None:
    """Where noise leaves no answers, the page has the shares of all people alone."""
    sums = [[1, 1], [-3, -2, 1, 4], [0] * 8]
    result = split_result(split_survey(), sums, token="5a", count=2, refused=0).to_json()
    _, mood = result_view(split_survey(), SurveyResult.of(result)).questions
    assert mood.answered == []
    assert len(mood.bars) == 4


def test_labels_are_what_most_people_say() -> None:
    """A labelling task has one label an item, by its counts alone and as sure as these are."""
    items = tuple(
        Choice(name, f"What is on {name}?", ("cat", "dog"), allow_skip=True, truth=truth)
        for name, truth in (("a", "cat"), ("b", "dog"), ("c", None))
    )
    survey = replace(split_survey(*items), template="label")
    sums = [[300, 80, 20], [120, 75, 205], [180, 181, 39]]
    result = split_result(survey, sums, token="5a", count=400, refused=0).to_json()
    found = {row["id"]: row for row in result["labels"]}
    assert [found[name]["label"] for name in "abc"] == [
        "cat",
        "cat",
        "",
    ]  # 180 against 181 is no order
    assert [found[name]["known_label"] for name in "abc"] == ["cat", "dog", None]
    assert all(row["probability"] is None for row in found.values())
    assert result_view(survey, SurveyResult.of(result)).result.labels
    assert "surely ahead of the others" in methods_text(SurveyResult.of(result))


def test_only_a_labelling_task_has_labels() -> None:
    """Choices among the same options are items where the survey asks for labels, as under masks."""
    assert result_of()["labels"] == []
    poll = split_survey(Choice("a", "Where shall we meet?", ("here", "there"), allow_skip=True))
    assert split_result(poll, [[3, 2, 1]], token="5a", count=6, refused=0).to_json()["labels"] == []


def test_methods_name_the_second_party() -> None:
    """The second party's name and address are in the paragraph for a paper."""
    text = methods_text(SurveyResult.of(result_of()))
    assert "the other was The works council (https://helper.example)." in text


def test_a_table_of_sums_has_no_row_of_masked_reports() -> None:
    """Nobody reported through a mask: no share is called reported or likeliest."""
    rows = [line.split(",") for line in result_table(SurveyResult.of(result_of())).splitlines()]
    place = rows[0].index("estimator")
    assert {row[place] for row in rows[1:]} == {"own", "answered", "quartile", "cell"}


def test_votes_on_a_list_are_a_leaderboard() -> None:
    """Wins and losses become strengths and ranks, on the page, in files and in the methods."""
    names = ("soup", "salad", "bread", "cake")
    votes = PairVote("v", "Which is better?", names, votes=2, tie="Both alike")
    survey = split_survey(QUESTIONS[0], *votes.parts())
    won, lost = [300, 200, 100, 50], [50, 100, 200, 300]
    result = split_result(survey, [[300, 100], [*won, *lost]], token="5a", count=400, refused=0)
    assert result.leaderboards is not None
    [board] = result.leaderboards
    assert [one.item for one in board.items] == list(names)
    assert (board.votes, board.ties) == (800, 150.0)
    assert [one.shown for one in board.items] == [400] * 4
    assert [one.id for one in result.questions] == ["lunch"]
    assert SurveyResult.of(result.to_json()).to_json() == result.to_json()
    view = result_view(survey, result)
    assert "two parties added them up" in view.leaderboards[0][1].about
    assert "pairs without an item in common" in methods_text(result)
    assert split_result(survey, [[], []], token="5a", count=0, refused=0).leaderboards is None
    book = split_codebook(survey, token="5a", count=400)
    assert book["sums"][1]["symbols"][:2] == ["soup: won", "salad: won"]
