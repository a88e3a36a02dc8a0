"""Reports of made-up people: their answers, conditions, pages and draws, through the masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.errors import ParameterError
from masquerade.results import SurveyResult, simulate_reports
from masquerade.surveys import (
    Choice,
    DateQuestion,
    Layout,
    PairVote,
    Question,
    Ranking,
    ShowIf,
    Within,
)
from masquerade.surveys.drawn_blocks import NOT_DRAWN
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

ASKED: tuple[Question, ...] = (
    Choice("ill", "Ill?", ("Yes", "No")),
    Choice("bad", "Badly?", ("Yes", "No"), allow_skip=True),
    DateQuestion("since", "Since?", first="2025-01", last="2025-12", bins=4),
    Choice("spring", "In spring?", ("Yes", "No"), allow_skip=True),
    Ranking("topics", "Which?", ("Ada", "Bell", "Cy")),
)
CONDITIONS = (None, ShowIf("ill", ("Yes",)), None, Within("since", "2025-03", "2025-05"), None)
N = 600


def answers() -> dict[str, list[Any]]:
    """Return the answers of people: every other one is ill, each third has a date in spring."""
    return {
        "ill": ["Yes", "No"] * (N // 2),
        "bad": ["Yes"] * N,
        "since": ["2025-04", "2025-07", "2025-12"] * (N // 3),
        "spring": ["No"] * N,
        "topics": [["Ada", "Bell", "Cy"]] * N,
    }


def survey(**fields: Any) -> Survey:
    """Return the survey at three levels."""
    return Survey.at_levels(title="T", questions=ASKED, conditions=CONDITIONS, **fields)


def test_in_clear_the_result_is_that_of_the_answers() -> None:
    """A person without a question has no answer to it, for all given values."""
    found = SurveyResult.of(
        simulate_reports(survey(levels=("none",)), answers(), np.random.default_rng(1))
    )
    shares = {one.id: [option.share.value for option in one.options] for one in found.questions}
    assert shares["ill"] == [0.5, 0.5]
    assert shares["bad"] == pytest.approx([0.5, 0, 0.5])
    assert shares["spring"] == pytest.approx([0, 1 / 3, 2 / 3])
    ranks = found.questions[4].ranks
    assert ranks is not None
    assert [one.mean.value for one in ranks] == pytest.approx([1, 2, 3])


def test_each_person_is_asked_as_many_blocks_as_drawn_at_their_level() -> None:
    """Blocks hang together, levels are those given, and every report is one of its mask."""
    made = survey(levels=("medium", "low"), asked=2)
    levels = ["medium"] * 200 + ["low"] * (N - 200)
    found = simulate_reports(made, answers(), np.random.default_rng(2), levels=levels)
    assert found.counts() == {"medium": 200, "low": N - 200}
    drawn = found.report != NOT_DRAWN
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert (drawn[:, 2] == drawn[:, 3]).all()
    assert set((drawn[:, 0] + 0 + drawn[:, 2] + drawn[:, 4]).tolist()) == {2}
    # 600 people at 2 of 3: 400 of each block, within 6 standard errors.
    assert abs(float(found.people @ drawn[:, 4]) - 400) < 6 * 11.6


def test_an_early_end_of_a_page_ends_it_for_made_up_people_too() -> None:
    """A survey that ends after a page asks nothing of the later ones."""
    plain = (ASKED[0], Choice("b", "?", ("Yes", "No"), allow_skip=True))
    ends = {"question": "ill", "answers": ["No"]}
    page = {"heading": "", "shuffle": False}
    pages = [{**page, "items": ["ill"], "ends": ends}, {**page, "items": ["b"]}]
    layout, conditions = Layout.written({"pages": pages}, plain, ())
    made = Survey.at_levels(
        title="T", questions=plain, levels=("none",), conditions=conditions, layout=layout
    )
    given = {"ill": ["Yes", "No"] * 30, "b": ["Yes"] * 60}
    found = SurveyResult.of(simulate_reports(made, given, np.random.default_rng(1)))
    assert found.questions[1].options[0].share.value == pytest.approx(0.5)


def test_what_cannot_be_simulated_is_said() -> None:
    """Missing answers, uneven ones, unknown levels, lists and two parties."""
    rng, made, given = np.random.default_rng(1), survey(levels=("low",)), answers()
    with pytest.raises(ParameterError, match="the survey asks"):
        simulate_reports(made, {"ill": ["Yes"]}, rng)
    with pytest.raises(ParameterError, match=r"\[1, 600\] answers"):
        simulate_reports(made, given | {"bad": ["Yes"]}, rng)
    with pytest.raises(ParameterError, match="names for 600 people"):
        simulate_reports(made, given, rng, levels=["high"] * N)
    votes = Survey.at_levels(
        title="T", questions=(PairVote("v", "?", ("a", "b"), votes=1),), levels=("low",)
    )
    with pytest.raises(ParameterError, match="pairs of a list"):
        simulate_reports(votes, {"v": []}, rng)
    terms = TwoParties.of(
        helper="https://helper.example", operator="-", fingerprint="0" * 32, rho="0.5"
    )
    split = Survey("T", "", "pick", ASKED[:1], (OfferedLevel(TWO_PARTIES, ()),), two_parties=terms)
    with pytest.raises(ParameterError, match="SumNoise"):
        simulate_reports(split, {"ill": ["Yes"]}, rng)
