"""Large figures are neither noise nor impossible, and name a way to sharpen them."""

from __future__ import annotations

import ast
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.results.made_up_reports import compute, define, made_up, masks, rows_of

import masquerade
from masquerade.estimation import Estimate, shown_shares
from masquerade.results import Figure, SurveyResult, sentence
from masquerade.results.headline import outlook, whole_percents
from masquerade.surveys import Choice, Number, ShowIf
from masquerade.surveys.offered_levels import FEWEST_AT_LEVEL, shown_counts

HOURS = Number("n", "How long?", 0, 40, "hours")


@pytest.mark.parametrize(
    ("ends", "n", "shown"),
    [((0.4, 0.6), 19, None), ((0.4, 0.6), 20, 0.5), ((0.3, 0.6), 400, None)],
)
def test_no_point_of_few_people_or_a_wide_interval(
    ends: tuple[float, float], n: int, shown: float | None
) -> None:
    """Nothing below 20 people; an interval wider than a quarter of the range stands alone."""
    estimate = Estimate(0.5, 0.1, 0.1, 0.0, *ends, 0.5)
    assert Figure.of(estimate, n).shown == shown


@pytest.mark.parametrize(
    ("counts", "kind", "option", "options"),
    [
        ((40, 24), "interval", "A", []),
        ((40, 25), "level", None, []),
        ((300, 100, 50, 20), "estimate", "A", []),
        ((100, 90, 30, 20), "several", None, ["A", "B"]),
        ((20,) * 10, "level", None, []),
        ((12, 7), "few", None, []),
    ],
)
def test_an_option_is_named_where_it_is_ahead(
    counts: tuple[int, ...], kind: str, option: str | None, options: list[str]
) -> None:
    """The first is named if it surely beats the second; else those that may be ahead, if few."""
    labels = tuple("ABCDEFGHIJ"[: len(counts)])
    definition = define(Choice("c", "?", labels), levels=("none",))
    rows = [(code,) for code, count in enumerate(counts) for _ in range(count)]
    [found] = compute(definition, rows_of(rows, level="none"))["questions"]
    said = found["headline"]
    if counts == (40, 24):  # 3.76 is below the cut of 3.84
        assert said["kind"] == "level"
        return
    assert (said["kind"], said["option"], said["options"]) == (kind, option, options)
    if option is not None:
        first = found["options"][0]
        assert (said["low"], said["high"]) == pytest.approx(
            (first["simultaneous_low"], first["simultaneous_high"])
        )


def test_a_flat_crowd_has_no_winner() -> None:
    """Ten equal options in clear, 200 people: one is named in at most 3 of 60 surveys (seed 1).

    The rate is below .01, so more than 3 have a probability below 1e-2; once an option was named in
    each, with an interval that held in 68 of 100.
    """
    rng = np.random.default_rng(1)
    definition = define(Choice("c", "?", tuple("ABCDEFGHIJ")), levels=("none",))
    named = 0
    for _ in range(60):
        rows = [(int(code),) for code in rng.integers(10, size=200)]
        [found] = compute(definition, rows_of(rows, level="none"))["questions"]
        named += found["headline"]["option"] is not None
    assert named <= 3


def test_a_follow_up_is_of_those_who_answered() -> None:
    """A fifth is asked and three quarters of them say yes: nobody "prefers not to say" on top."""
    rng = np.random.default_rng(3)
    ill = Choice("ill", "?", ("Yes", "No"))
    why = Choice("told", "Told?", ("Yes", "No"), allow_skip=True)
    definition = define(ill, why, levels=("low",), conditions=(None, ShowIf("ill", ("Yes",))))
    answers = [(0, 0)] * 450 + [(0, 1)] * 150 + [(1, 2)] * 2400
    rows = []
    for row in answers:
        report = []
        for code, mask in zip(row, masks(definition, "low"), strict=True):
            kept = rng.random() < float(mask.keep_probability)
            other = (code + int(rng.integers(1, mask.symbols))) % mask.symbols
            report.append(code if kept else other)
        rows.append(report)
    found = compute(definition, rows_of(rows, level="low"))["questions"][1]
    yes, _, skipped = found["options"]
    assert found["headline"]["option"] == "Yes"
    assert found["headline"]["low"] <= 0.75 <= found["headline"]["high"]
    assert yes["of_answered"]["low"] <= 0.75 <= yes["of_answered"]["high"]
    assert "of_answered" not in skipped
    question = SurveyResult.of(compute(definition, rows_of(rows, level="low"))).question("told")
    assert sentence(question).startswith("Yes is ahead of those who answered (95 % sure")


def test_as_many_people_as_it_says_bring_a_quarter_of_the_range() -> None:
    """With the people that `precision` names, the interval is a quarter of the range (15 %).

    For a choice of halves and a number, at one level, and all at the level of `by_level`.
    """
    rng = np.random.default_rng(5)
    definition = define(Choice("c", "?", ("A", "B")), HOURS, levels=("low",))
    rows = [
        (name, level, [report, round(20 + rng.normal(0, 10) + rng.normal(0, 30))])
        for name, level, (report, _) in made_up(definition, 300)
    ]
    for place, width in ((0, 1.0), (1, 40.0)):
        precision = compute(definition, rows)["questions"][place]["precision"]
        assert precision["people"] == pytest.approx(precision["by_level"]["low"], rel=0.15)
        needed = precision["by_level"]["low"]
        more = [(f"{i:08}", "low", rows[i % len(rows)][2]) for i in range(needed)]
        found = compute(definition, more)["questions"][place]
        numbers = found["mean"] or found["options"][0]
        assert 2 * 1.96 * numbers["standard_error"] == pytest.approx(width / 4, rel=0.15)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30).filter(lambda parts: sum(parts) > 1e-6),
    st.integers(0, 1),
)
def test_prop_percentages_add_to_100(parts: list[float], digits: int) -> None:
    """Rounded shares add to 100, each within one unit of its own, and none of 0 gains anything."""
    shares = (np.array(parts) / sum(parts)).tolist()
    found = whole_percents(shares, digits=digits)
    assert math.isclose(sum(found), 100, abs_tol=1e-9)
    for share, percent in zip(shares, found, strict=True):
        assert abs(100 * share - percent) <= 10**-digits + 1e-6
        assert percent == 0 or share > 0


@given(st.lists(st.tuples(st.floats(-20, 20), st.floats(0, 5)), min_size=1, max_size=12))
def test_prop_shown_shares_are_possible(given: list[tuple[float, float]]) -> None:
    """They are at least 0 and sum to 1, within their intervals, which stay within 0 and 1."""
    excess = (sum(value for value, _ in given) - 1) / len(given)
    found = shown_shares(
        [
            Estimate.bounded(
                value - excess,
                below=reach,
                above=reach,
                sampling=0,
                mechanism=reach**2,
                low=0,
                high=1,
            )
            for value, reach in given
        ]
    )
    assert sum(one.shown for one in found) == pytest.approx(1)
    for one in found:
        assert 0 <= one.low <= one.shown <= one.high <= 1


@given(st.floats(-50, 50), st.floats(0, 60))
def test_prop_an_interval_covers_as_often_as_it_would_uncut(value: float, reach: float) -> None:
    """It holds every possible number that the interval around the value holds, and is not empty."""
    found = Estimate.bounded(
        value, below=reach, above=reach, sampling=1, mechanism=1, low=1, high=5
    )
    assert 1 <= found.low <= found.shown <= found.high <= 5
    for truth in np.linspace(1, 5, 41):
        if value - reach <= truth <= value + reach:
            assert found.low <= truth <= found.high


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 12), min_size=1))
def test_prop_no_small_count_follows_from_the_total(counts: dict[str, int]) -> None:
    """Levels are counted apart only where none has some, but fewer than five."""
    told = shown_counts(counts)
    hidden = [name for name, count in told.items() if count is None]
    for name, count in told.items():
        assert count in (None, counts[name])
        assert count is None or count == 0 or count >= FEWEST_AT_LEVEL or len(counts) == 1
    assert len(hidden) in (0, len(counts))


def _modules() -> list[Path]:
    return sorted(Path(masquerade.__file__).parent.rglob("*.py"))


def _reads(tree: ast.AST) -> list[ast.AST]:
    """Return where a module reads a ``shown`` estimate and computes with it."""
    arithmetic = (ast.BinOp, ast.AugAssign)
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, arithmetic) or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name | ast.Attribute)
            and getattr(node.func, "attr", getattr(node.func, "id", ""))
            in {"sum", "mean", "average", "dot", "fsum", "einsum", "median"}
        ):
            found += [part for part in ast.walk(node) if _is_shown(part)]
    return found


def _is_shown(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "shown"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value == "shown"
    return False


def test_nothing_is_computed_from_what_is_shown() -> None:
    """No arithmetic, sum or mean of the library and the server takes a `shown` estimate."""
    for path in _modules():
        text = path.read_text(encoding="utf-8")
        if "shown" not in text:
            continue
        found = _reads(ast.parse(text))
        assert not found, f"{path}: line {getattr(found[0], 'lineno', 0)} computes from `shown`"


@pytest.mark.parametrize(
    "code",
    ["sum(o['shown'] for o in x)", "a.shown * 2", "np.mean([e.shown for e in x])", "t += e.shown"],
)
def test_computing_from_what_is_shown_would_be_found(code: str) -> None:
    """The check above finds sums, means and products."""
    assert _reads(ast.parse(code))


def test_reading_what_is_shown_is_allowed() -> None:
    """Printing it is its purpose."""
    assert not _reads(ast.parse("f\"{option['shown']:.1%}\"; row(option['shown'])"))


ERRORS = st.floats(0, 1e3, allow_subnormal=False)


def numbers(people: float | None, masks: float | None) -> Figure:
    """Return an estimate with these errors."""
    return Figure(None, None, None, None, None, people, masks)


def test_golden_values() -> None:
    """Errors of 3 and 4 make an interval of 1.96 times 5; four times the people halve it."""
    found = outlook(numbers(3, 4), 1000)
    assert found is not None
    assert found.margin == pytest.approx(1.959964 * 5)
    assert found.parts == {"sampling": 0.36, "mechanism": 0.64}
    assert [people for people, _ in found.more] == [2000, 4000, 10_000]
    assert found.more[1][1] == pytest.approx(1.959964 * 2.5)
    assert found.unmasked == 360


@pytest.mark.parametrize("missing", [(None, 1), (1, None)])
def test_what_is_not_known_is_not_told(missing: tuple[float | None, ...]) -> None:
    """Without one of the parts, or without any error, there is nothing to say."""
    assert outlook(numbers(*missing), 10) is None
    assert outlook(numbers(0, 0), 10) is None


@given(ERRORS, ERRORS, st.integers(1, 10**6))
def test_prop_parts_sum_to_one_and_margins_fall(people: float, masks: float, n: int) -> None:
    """Parts are the whole, and more people never widen an interval."""
    found = outlook(numbers(people, masks), n)
    if found is None:
        return
    assert math.isclose(sum(found.parts.values()), 1)
    margins = [found.margin, *(margin for _, margin in found.more)]
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(margins))
    assert found.unmasked is None or 0 <= found.unmasked <= n
