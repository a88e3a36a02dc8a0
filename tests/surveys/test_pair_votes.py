"""Votes on pairs of a list: written once, asked several times, and kept with their pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.aggregate import prio3_survey
from masquerade.aggregate.item_blocks import Matching
from masquerade.errors import BrokenPromise, InvalidReport, ParameterError
from masquerade.exact import SimulatedCoins
from masquerade.server.participants.pair_choice import PairChoice
from masquerade.surveys import Choice, PairVote
from masquerade.surveys.pair_votes import (
    disjoint_pairs,
    drawn_pairs,
    folded,
    lists_of,
    parts_of,
    require_pairs,
    shown_questions,
    unfolded,
)
from masquerade.surveys.question import MaskRules
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

PARTIES = TwoParties.of(
    helper="https://helper.example", operator="A", fingerprint="0" * 32, rho="0.5"
)

ITEMS = tuple(f"item {number}" for number in range(7))
VOTE = PairVote("v", "Which is better?", ITEMS, votes=4, tie="Both alike")
DOT = "data:image/png;base64," + (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
AFTER = Choice("c", "Was it easy?", ("Yes", "No"))


class Named:
    """A survey by its token alone."""

    token = "t"


def survey(*questions: Any) -> Survey:
    """Return a survey of these questions, at one level."""
    return Survey.at_levels(title="T", questions=questions or (VOTE, AFTER), levels=("medium",))


def draw(items: int, votes: int) -> list[tuple[int, int]]:
    """Draw pairs as a server without a plan."""
    return PairChoice().drawing(Named())(items, votes)  # type: ignore[arg-type]


def test_a_list_is_written_once_and_asked_several_times() -> None:
    """The list stands once in the text; each vote is a question with a mask of its own."""
    made = survey()
    assert [one.id for one in made.questions] == ["v", "v-2", "v-3", "v-4", "c"]
    assert made.text().count("item 3") == 1
    assert Survey.from_text(made.text()).content_hash() == made.content_hash()
    masks = made.level("medium").mechanisms
    assert [str(mask) for mask in masks[:4]] == [str(VOTE.mask("medium", MaskRules()))] * 4
    assert lists_of(made.questions) == dict.fromkeys(range(4), ITEMS)
    # What is written out already stays as it is.
    assert parts_of(made.questions, ())[0] == made.questions


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"items": ("a",)}, "give 2 to 500 items, not 1"),
        ({"items": ("a", "a")}, "item 'a' stands twice"),
        ({"items": ("a", " ")}, "is empty"),
        ({"items": tuple(map(str, range(501)))}, "items, not 501"),
        ({"votes": 22}, "7 items have 21 pairs"),
        ({"votes": 51}, "expected 1 to 50"),
        ({"votes": True}, "expected 1 to 50"),
        ({"votes": 0}, "expected 1 to 50"),
        ({"tie": "item 1"}, "one of the items"),
    ],
)
def test_a_wrong_list_is_refused(changes: dict[str, Any], said: str) -> None:
    """The message tells the fault."""
    fields: dict[str, Any] = {"items": ITEMS, "votes": 4, "tie": "Both alike", **changes}
    with pytest.raises(ParameterError, match=said):
        PairVote("v", "Which?", **fields)


def test_pictures_of_a_list_stand_once() -> None:
    """Each item has a picture or none has; all together they are small; further votes have none."""
    vote = PairVote("v", "Which?", ("a", "b", "c"), votes=2, pictures=(DOT,) * 3)
    assert [part.pictures for part in vote.parts()] == [(DOT,) * 3, ()]
    assert vote.pictures_of_items == {"a": DOT, "b": DOT, "c": DOT}
    assert "pictures" not in VOTE.to_json()
    made = survey(vote)
    assert made.text().count(DOT) == 3
    assert Survey.from_text(made.text()).content_hash() == made.content_hash()
    for wrong in ((DOT,), (DOT, DOT, ""), (DOT, DOT, "data:image/png;base64,AAAA")):
        with pytest.raises(ParameterError, match=r"picture"):
            PairVote("v", "Which?", ("a", "b", "c"), votes=2, pictures=wrong)
    large = DOT + "A" * (30_000 - len(DOT) // 4 * 4)
    with pytest.raises(ParameterError, match=r"together|no PNG"):
        PairVote("v", "Which?", tuple("abcdef"), votes=2, pictures=(large,) * 6)


def test_votes_belong_to_their_list() -> None:
    """Further votes without a list, and too few of them, are refused."""
    first, *further = VOTE.parts()
    for wrong in ((further[0],), (first, *further[:2]), (first, AFTER, *further)):
        with pytest.raises(ParameterError, match="list"):
            lists_of(wrong)


def test_two_parties_add_up_votes_by_item() -> None:
    """One block for all votes on a list; wins and losses of the pairs that were shown."""
    vote = PairVote("v", "Which?", ITEMS, votes=3, tie="Both alike")
    questions, _ = parts_of((AFTER, vote), ())
    encoding = PARTIES.encoding(questions)
    assert encoding.blocks[1:] == (Matching(7, 3, ties=True),)
    answers = {
        AFTER.id: AFTER.options[0],
        "v": "the first",
        "v-2": "Both alike",
        "v-3": "the second",
    }
    assert encoding.measurement(answers, [(6, 0), (1, 2), (3, 4)]) == [0, [[6, 4], [0, 3]]]
    for wrong in (None, [(6, 0)]):
        with pytest.raises(ParameterError, match="pair that was shown"):
            encoding.measurement(answers, wrong)
    with pytest.raises(ParameterError, match="without an item in common"):
        prio3_survey(encoding.blocks).circuit.encode(
            encoding.measurement(answers, [(6, 0), (1, 2), (3, 6)])
        )


def test_more_pairs_than_two_parties_add_up_are_refused() -> None:
    """The message says how many can be asked, and names another way."""
    with pytest.raises(ParameterError, match="at most 3") as caught:
        PARTIES.encoding(VOTE.parts())
    assert "protect answers on the device" in str(caught.value)


def test_pairs_for_two_parties_have_no_item_in_common() -> None:
    """All items can be paired, each once; every ordered pair is as likely as any other."""
    draw_disjoint = disjoint_pairs(SimulatedCoins(np.random.default_rng(1)))
    assert sorted(item for pair in draw_disjoint(8, 4) for item in pair) == list(range(8))
    count = np.zeros((5, 5))
    for _ in range(4000):
        for first, second in draw_disjoint(5, 2):
            count[first, second] += 1
    seen = count[~np.eye(5, dtype=bool)]
    # 8,000 pairs of 20 kinds, 400 each, standard error at most 20: six are 120, alarm below 1e-7.
    assert np.abs(seen - 400).max() < 120
    assert np.diag(count).sum() == 0


@given(st.integers(0, 2**32))
def test_prop_reports_keep_their_pairs(seed: int) -> None:
    """The kept code of a person gives back each masked vote and the pair it is on."""
    rng = np.random.default_rng(seed)
    questions = survey(VOTE, AFTER).questions
    pairs = drawn_pairs(questions, draw)
    assert pairs is not None
    assert require_pairs(questions, [list(pair) for pair in pairs]) == pairs
    reports = [*rng.integers(0, 3, 4).tolist(), int(rng.integers(0, 2))]
    kept = folded(questions, pairs, reports)
    back, found = unfolded(questions, np.array([kept]))
    assert back.tolist() == [reports]
    assert found is not None
    assert found[0].tolist() == [a * 7 + b for a, b in pairs] + [-1]


def test_pairs_differ_for_a_person() -> None:
    """All pairs of a list can be asked, each once; every order and pair comes up."""
    assert len({frozenset(pair) for pair in draw(7, 21)}) == 21
    seen = {pair for _ in range(400) for pair in draw(4, 3)}
    # 1,200 draws of 12 ordered pairs: one is missing with probability below 12 (11/12)**1200.
    assert len(seen) == 12


def test_a_plan_is_followed_but_for_a_fifth() -> None:
    """Four of five pairs are of the plan; without one, all are drawn evenly."""
    choice = PairChoice(lambda _: [(0, 1)] * 3 + [(1, 2)] * 3)
    found = [choice.drawing(Named())(50, 1)[0] for _ in range(2000)]  # type: ignore[arg-type]
    share = np.mean([frozenset(pair) in ({0, 1}, {1, 2}) for pair in found])
    # n = 2,000, p = .8 + .2 * 2 / 1225: six standard errors are .054, a false alarm of 2e-9.
    assert abs(share - 0.8) < 0.054
    # A plan that is shorter than the votes is filled up.
    assert len({frozenset(pair) for pair in choice.drawing(Named())(50, 20)}) == 20  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pairs",
    [
        None,
        [],
        [[0, 1]] * 4,
        [[0, 1], [1, 0], [2, 3], [3, 4]],
        [[0, 0], [0, 1], [2, 3], [3, 4]],
        [[0, 7], [0, 1], [2, 3], [3, 4]],
        [[0, -1], [0, 1], [2, 3], [3, 4]],
        [[0, True], [0, 2], [2, 3], [3, 4]],
        [[0, 1, 2], [0, 2], [2, 3], [3, 4]],
        [[0, 1], [0, 2], [2, 3]],
        [[0, "1"], [0, 2], [2, 3], [3, 4]],
    ],
)
def test_wrong_pairs_of_a_server_are_refused(pairs: Any) -> None:
    """A device answers only pairs of the list, none of them twice."""
    with pytest.raises(BrokenPromise):
        require_pairs(survey().questions, pairs)


def test_a_report_of_no_pair_is_refused() -> None:
    """Reports in a file that name no pair of the list are an error with the row."""
    questions = survey().questions
    good = folded(questions, [(0, 1), (1, 2), (2, 3), (3, 4)], [0, 1, 2, 0, 1])
    for wrong in (0, 49 * 3, -1, (3 * 7 + 3) * 3):
        with pytest.raises(InvalidReport, match="row 2"):
            unfolded(questions, np.array([good, [wrong, *good[1:]]]))
    with pytest.raises(InvalidReport, match="no pairs were shown"):
        folded(questions, None, [0] * 5)


def test_people_are_asked_about_items() -> None:
    """With its pair, a vote names the two items in the order in which they are shown."""
    shown = shown_questions(survey().questions, [(6, 0), (1, 2), (2, 3), (3, 4)])
    assert shown[0].labels == ("item 6", "item 0", "Both alike")
    assert shown[0].code("item 0") == 1
    assert shown[4] == AFTER
