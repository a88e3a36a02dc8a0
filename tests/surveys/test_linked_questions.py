"""Questions that change together: exact against all answers, the same here and on devices."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from masquerade.errors import ParameterError
from masquerade.surveys import (
    Choice,
    Combined,
    DateQuestion,
    Matrix,
    Number,
    Placed,
    PromoterScore,
    Question,
    Ranking,
    Rating,
    SeveralOf,
    ShowIf,
    Within,
    visibility,
)
from masquerade.surveys import linked_questions as module
from masquerade.surveys.condition_tree import Condition, Conditions
from masquerade.surveys.conditions import check_conditions, questions_from_json
from masquerade.surveys.linked_questions import (
    hang_together,
    linked,
    require_possible,
    shown_share,
)

FILE = Path(__file__).parents[1] / "vectors" / "linked-questions.json"


def choice(name: str, options: str = "YN", *, skip: bool = True) -> Choice:
    """Return a choice between letters."""
    return Choice(name, "?", tuple(options), allow_skip=skip)


def yes(name: str) -> ShowIf:
    """Return the condition that a question was answered with yes."""
    return ShowIf(name, ("Y",))


def golden() -> list[tuple[str, tuple[Question, ...], Conditions, int]]:
    """Return surveys with the most reports that one answer changes."""
    fan = (choice("q", "wxyz", skip=False), *(choice(name) for name in "abcd"))
    three = tuple(choice(name) for name in "abcd")
    eight = tuple(choice(f"q{place}") for place in range(8))
    both = Combined("all", (yes("a"), yes("b")))
    other = Combined("all", (yes("a"), ShowIf("b", ("N",))))
    tree = Combined("all", (yes("a"), Combined("any", (yes("b"), yes("c")))))
    every = Combined("all", tuple(yes(one.id) for one in eight))
    return [
        ("fan of 4", fan, (None, *(ShowIf("q", (one,)) for one in "wxyz")), 3),
        ("chain of 3", three[:3], (None, yes("a"), yes("b")), 3),
        ("tree", three, (None, None, None, tree), 2),
        ("one or the other", three, (None, None, both, other), 3),
        ("all of 8", (*eight, choice("z")), (*[None] * 8, every), 2),
    ]


@pytest.mark.parametrize(("name", "questions", "conditions", "most"), golden())
def test_golden_losses(
    name: str, questions: tuple[Question, ...], conditions: Conditions, most: int
) -> None:
    """The largest groups are those of the specification, each mask counted once."""
    found = linked(questions, conditions)
    assert (max(map(len, found.groups)), found.at_most) == (most, False)


def random_survey(seed: int) -> tuple[tuple[Question, ...], Conditions]:
    """Return a small survey with conditions of all kinds."""
    draw = random.Random(seed)
    questions: list[Question] = []
    conditions: list[Condition | None] = []
    for place in range(draw.randint(3, 4)):
        name = f"q{place}"
        skip = place > 0 or draw.random() < 0.5
        made: Question = draw.choice(
            [
                choice(name, "YN" if draw.random() < 0.5 else "wxy", skip=skip),
                Rating(name, "?", 1, 3, allow_skip=skip),
                SeveralOf(name, "?", ("r", "s", "t"), draw.choice([None, 1, 2]), allow_skip=skip),
                *([] if place else [Number(name, "?", 0, 4, "h", 0.5)]),
            ]
        )
        if seed >= LABELS_ALONE:
            made = draw.choice(_further(draw, name, skip=skip))
        condition = _tree(draw, questions, 3) if questions and draw.random() < 0.7 else None
        questions.append(made)
        conditions.append(condition)
    return tuple(questions), tuple(conditions) if any(conditions) else ()


#: From this seed on, surveys have questions of all other kinds that decide.
LABELS_ALONE = 60


def _further(draw: random.Random, name: str, *, skip: bool) -> list[Question]:
    months = draw.choice([2, 3, 12])
    return [
        choice(name, skip=skip),
        DateQuestion(name, "?", first="2025-01", last="2025-06", bins=months, allow_skip=skip),
        DateQuestion(name, "?", ("2026-05-17", "2026-06-01", "2026-06-02"), allow_skip=skip),
        PromoterScore(name, "?", each=draw.random() < 0.3, allow_skip=skip),
        Ranking(name, "?", ("r", "s", "t"), draw.choice([None, 1, 2]), allow_skip=skip),
        Number(name, "?", 0, 4, "h", 1, allow_skip=True),
        Matrix(name, "?", 1, 3, rows=("row",), of="m", allow_skip=skip),
    ]


def _tree(draw: random.Random, questions: list[Question], depth: int) -> Condition:
    if depth > 1 and draw.random() < 0.5:
        rule = draw.choice(["all", "any", "none"])
        parts = [_tree(draw, questions, depth - 1) for _ in range(draw.randint(1, 3))]
        return Combined(rule, tuple(parts))
    before = draw.choice(questions)
    if isinstance(before, Number):
        step = 1 / before.step
        first, last = sorted(draw.sample(range(int(4 * step)), 2))
        return Within(before.id, first / step, last / step)
    if isinstance(before, PromoterScore) and draw.random() < 0.7:
        first, last = sorted(draw.sample(range(10), 2))
        return Within(before.id, first, last)
    if isinstance(before, DateQuestion) and not before.dates:
        first, last = sorted(draw.sample(range(1, 6), 2))
        return Within(before.id, f"2025-0{first}", f"2025-0{last}")
    if isinstance(before, Ranking):
        most = draw.randint(1, min(before.ranked, 2))
        items = tuple(draw.sample(before.items, draw.randint(1, 3 - most)))
        return Placed(before.id, items, most)
    count = draw.randint(1, len(before.labels) - 1)
    return ShowIf(before.id, tuple(draw.sample(before.labels, count)))


def _codes(question: Question) -> list[int | None]:
    """Return the code of every answer, None for none where there may be none."""
    if isinstance(question, SeveralOf):
        sets = itertools.product((0, 1), repeat=len(question.options))
        most = question.most or len(question.options)
        codes = [sum(b << i for i, b in enumerate(one)) for one in sets if sum(one) <= most]
    else:
        codes = list(range(question.answer_count))
    return [*codes, *([None] if question.allow_skip else [])]


def _changed(questions: tuple[Question, ...], conditions: Conditions) -> Iterator[frozenset[int]]:
    """Yield all sets of symbols that one answer changes, from all pairs of worlds."""
    every = [_codes(one) for one in questions]
    for codes in itertools.product(*every):
        shown = visibility(questions, conditions, codes)
        for place, others in enumerate(every):
            if not shown[place]:
                continue
            for other in others:
                again = (*codes[:place], other, *codes[place + 1 :])
                if again == codes:
                    continue
                flags = visibility(questions, conditions, again)
                differ = {at for at in range(len(questions)) if shown[at] != flags[at]}
                # Dates of one range, or answers of one class, are one to the mask.
                own = [
                    None if one is None else questions[place].masked_code(one)
                    for one in (codes[place], other)
                ]
                yield frozenset(differ | ({place} if own[0] != own[1] else set()))


@pytest.mark.parametrize("seed", [*range(30), *range(LABELS_ALONE, LABELS_ALONE + 40)])
def test_prop_groups_are_exactly_the_largest_changes_of_one_answer(seed: int) -> None:
    """Over all answers of all people, no change is larger than a group, and each group happens."""
    questions, conditions = random_survey(seed)
    check_conditions(questions, conditions)
    found = linked(questions, conditions)
    assert not found.at_most
    changes = {one for one in _changed(questions, conditions) if len(one) > 1}
    groups = set(map(frozenset, found.groups))
    assert groups <= changes
    assert _largest(changes) == _largest(groups)


def _largest(sets: set[frozenset[int]]) -> set[frozenset[int]]:
    return {one for one in sets if not any(one < other for other in sets)}


@pytest.mark.parametrize("seed", [*range(30), *range(LABELS_ALONE, LABELS_ALONE + 30)])
def test_prop_a_question_that_nobody_is_shown_is_refused(seed: int) -> None:
    """A survey opens if and only if some answers show each question."""
    questions, conditions = random_survey(seed)
    worlds = itertools.product(*map(_codes, questions))
    flags = [visibility(questions, conditions, codes) for codes in worlds]
    possible = all(any(row) for row in zip(*flags, strict=True))
    if possible:
        require_possible(questions, conditions)
    else:
        with pytest.raises(ParameterError, match="nobody can ever be shown"):
            require_possible(questions, conditions)


def test_the_share_of_people_who_are_shown_a_question() -> None:
    """Answers are taken as equally frequent, on each question by itself."""
    asked = (choice("a", "wxyz", skip=False), Number("n", "?", 0, 9, "h"), choice("c"))
    either = Combined("any", (ShowIf("a", ("w",)), Within("n", 0, 4)))
    assert shown_share(asked, (None, None, either), 2) == pytest.approx(1 - 0.75 * 0.5)
    assert shown_share(asked, (), 2) == 1.0


def test_dates_that_a_mask_takes_for_one_do_not_change_their_own_report() -> None:
    """Two halves of one range of dates show two questions; the report of the date stays."""
    asked = (
        DateQuestion("d", "?", first="2025-01", last="2025-12", bins=2),
        choice("a"),
        choice("b"),
    )
    parts = (Within("d", "2025-01", "2025-03"), Within("d", "2025-04", "2025-06"))
    found = linked(asked, (None, *parts))
    assert found.groups == ((0, 1), (0, 2), (1, 2))


def test_a_long_ranking_is_told_apart_by_its_named_items_alone() -> None:
    """Of 12! rankings few are gone through, and the share of each is exact."""
    items = tuple("abcdefghijkl")
    ranking = Ranking("r", "?", items)
    asked = (ranking, choice("x"), choice("y"))
    conditions = (None, Placed("r", ("a",), 1), Placed("r", ("b", "c"), 3))
    assert linked(asked, conditions).groups == ((0, 1, 2),)
    assert shown_share(asked, conditions, 1) == pytest.approx(1 / 12)
    # Neither b nor c among the first three: 10/12 9/11 8/10.
    assert shown_share(asked, conditions, 2) == pytest.approx(1 - 10 * 9 * 8 / (12 * 11 * 10))


def test_rankings_that_too_many_conditions_tell_apart_are_an_upper_bound() -> None:
    """Twelve items that are each named at each place are not gone through."""
    items = tuple("abcdefghijkl")
    names = [Placed("r", (item,), place) for item in items[:8] for place in (2, 4, 6, 8)]
    asked = (Ranking("r", "?", items), *(choice(f"f{at}") for at in range(len(names))))
    found = linked(asked, (None, *names))
    assert found.at_most
    assert found.groups == (tuple(range(len(asked))),)


def test_above_the_limit_everything_below_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many combinations are an upper bound, and said to be one."""
    _, questions, conditions, _ = golden()[0]
    monkeypatch.setattr(module, "MOST_STATES", 2)
    assert linked(questions, conditions) == module.Linked(((0, 1, 2, 3, 4),), at_most=True)
    require_possible(questions, conditions)  # which cannot be told any more
    monkeypatch.setattr(module, "MOST_STATES", 65_536)
    monkeypatch.setattr(module, "MOST_SETS", 2)
    assert linked(questions, conditions).at_most


def test_groups_that_cost_the_same_are_one() -> None:
    """A fan of many alike is one group, so that an invitation stays short."""
    options = tuple(map(str, range(60)))
    asked = (Choice("q", "?", options), *(choice(f"f{one}") for one in options))
    conditions = (None, *(ShowIf("q", (one,)) for one in options))
    assert linked(asked, conditions, ["own", *["same"] * 60]).groups == ((0, 1, 2),)


def test_questions_that_hang_together_are_one_block() -> None:
    """A block has a question with all that depend on it, however far."""
    _, questions, conditions, _ = golden()[3]
    assert hang_together(questions, conditions) == ((0, 1, 2, 3),)
    assert hang_together(questions, ()) == ((0,), (1,), (2,), (3,))


def _sent(question: Question) -> list[int]:
    """Return the codes of all answers, that of no answer for none."""
    return [question.no_answer_code if code is None else code for code in _codes(question)]


def vectors() -> list[dict[str, Any]]:
    """Return surveys with their groups, which devices work out too."""
    cases = [(questions, conditions) for _, questions, conditions, _ in golden()]
    cases += [random_survey(seed) for seed in range(120)]
    found = []
    for number, (questions, conditions) in enumerate(cases):
        fields = [one.to_json() for one in questions]
        for data, condition in zip(fields, conditions, strict=False):
            if condition is not None:
                data["show_if"] = condition.to_json()
        alike = ["x" if (place + number) % 3 else "y" for place in range(len(questions))]
        draw = random.Random(number)
        worlds = [[draw.choice(_sent(one)) for one in questions] for _ in range(4)]
        found.append(
            {
                "worlds": [
                    {"codes": codes, "shown": visibility(questions, conditions, codes)}
                    for codes in worlds
                ],
                "questions": fields,
                "alike": alike,
                "groups": [list(one) for one in linked(questions, conditions).groups],
                "fewer": [list(one) for one in linked(questions, conditions, alike).groups],
                "blocks": [list(one) for one in hang_together(questions, conditions)],
                "joined": [
                    list(one) for one in hang_together(questions, conditions, [["q0", "q2"]])
                ]
                if len(questions) > 2 and questions[0].id == "q0"
                else None,
            }
        )
    return found


def test_vectors_are_current() -> None:
    """The file for tests of devices agrees with this code; run it to write it anew."""
    written = json.loads(FILE.read_text())
    assert written == vectors()
    for case in written:
        questions, conditions = questions_from_json(case["questions"])
        assert linked(questions, conditions).groups == tuple(map(tuple, case["groups"]))


if __name__ == "__main__":
    FILE.write_text(json.dumps(vectors(), separators=(",", ":")) + "\n")
