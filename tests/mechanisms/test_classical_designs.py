"""Classical designs: their tables, promises and assumptions, and how they are drawn."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact.coins import SimulatedCoins
from masquerade.mechanisms import ClassicalDesign, parse_mechanism
from masquerade.mechanisms.registry import MECHANISMS

DESIGNS = [one.example for one in MECHANISMS.values() if issubclass(one, ClassicalDesign)]
every_design = pytest.mark.parametrize("text", DESIGNS)


def design(text: str) -> ClassicalDesign:
    """Return a design by its text form."""
    found = parse_mechanism(text)
    assert isinstance(found, ClassicalDesign)
    return found


@pytest.mark.parametrize(
    ("text", "no", "yes", "epsilon"),
    [
        ("warner:p=0.8", 0.2, 0.8, math.log(4)),
        ("crosswise:p=0.25", 0.75, 0.25, math.log(3)),
        ("disguised:p=0.75", 0.25, 0.75, math.log(3)),
        ("forced-response:no=1/6,yes=1/6", 1 / 6, 5 / 6, math.log(5)),
        ("forced-response:no=0.1,yes=0.3", 0.3, 0.9, math.log(7)),
        ("unrelated-question:p=0.7,q=0.3", 0.09, 0.79, math.log(0.79 / 0.09)),
        ("mangat:p=0.6", 0.4, 1.0, math.inf),
        ("triangular:p=0.4", 0.4, 1.0, math.inf),
    ],
)
def test_the_table_is_that_of_the_literature(
    text: str, no: float, yes: float, epsilon: float
) -> None:
    """P(report 1) by the answer, and the loss of one report to a millionth."""
    found = design(text)
    assert found.channel().matrix()[:, 1].tolist() == pytest.approx([no, yes])
    assert found.guarantee().epsilon_single.epsilon == pytest.approx(epsilon, abs=1.1e-6)


def test_kuk_counts_red_cards() -> None:
    """The report of three cards is binomial, and its loss three times that of one card."""
    found = design("kuk:p1=0.8,p2=0.2,cards=3")
    assert found.channel().matrix()[1].tolist() == pytest.approx([0.008, 0.096, 0.384, 0.512])
    assert found.guarantee().epsilon_single.epsilon == pytest.approx(3 * math.log(4), abs=1.1e-6)


def test_a_promise_is_assumed_and_not_counted() -> None:
    """The status says that nobody checks the die; a ledger cannot charge it."""
    found = design("warner:p=0.8")
    promise = found.guarantee(answers=4)
    assert promise.status == "assumed"
    assert any("nobody checks" in one for one in promise.assumptions)
    assert promise.epsilon_user.epsilon == pytest.approx(4 * math.log(4), abs=1.1e-6)
    with pytest.raises(NoGuarantee, match="guarantee: assumed"):
        found.pairs()


def test_a_report_that_proves_an_answer_is_no_promise() -> None:
    """Mangat's and the triangular design say so."""
    for text in ("mangat:p=0.6", "triangular:p=0.4"):
        promise = design(text).guarantee()
        assert promise.status == "none"
        assert "proves" in promise.assumptions[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("warner:p=0.5", "do not depend on answers"),
        ("warner:p=1.2", "expected 0 to 1"),
        ("forced-response:no=0.5,yes=0.5", "nobody says the truth"),
        ("forced-response:no=0.1", "give the chances of a forced no"),
        ("unrelated-question:p=0,q=0.3", "do not depend on answers"),
        ("kuk:p1=0.2,p2=0.2", "do not depend on answers"),
        ("custom:chances=0.5|0.4;0.1|0.9", "add to 0.9"),
        ("custom:chances=0.5|0.5", "at least 2 answers"),
    ],
)
def test_a_design_that_cannot_work_is_refused(text: str, said: str) -> None:
    """The message says which chance is wrong, and why."""
    with pytest.raises(ParameterError, match=said):
        parse_mechanism(text)


@given(
    st.fractions(0, 1, max_denominator=50).filter(lambda p: p != Fraction(1, 2)),
    st.sampled_from(["warner", "crosswise", "disguised"]),
)
def test_prop_a_symmetric_design_is_its_own_mirror(p: Fraction, name: str) -> None:
    """Swapping answers swaps reports, and the text form is read back."""
    found = design(f"{name}:p={p}")
    table = found.channel().table
    assert table[0] == tuple(reversed(table[1]))
    assert parse_mechanism(str(found)) == found


@every_design
def test_exact_the_device_form_is_the_table(text: str) -> None:
    """Whole numbers over their total are the chances, in fractions, and the loss bounds them."""
    found = design(text)
    form = found.device_form()
    total = int(form["total"])
    table = tuple(tuple(Fraction(int(one), total) for one in row) for row in form["table"])
    assert table == found.channel().table
    assert all(sum(row) == 1 for row in table)
    ratios = [
        a[report] / b[report] if b[report] else (math.inf if a[report] else 1)
        for a in table
        for b in table
        for report in range(found.reports)
    ]
    assert math.log(max(ratios)) <= float(found.guarantee().epsilon_single.epsilon)


@every_design
def test_audit_reports_are_drawn_with_the_chances_of_the_table(text: str) -> None:
    """60,000 reports of each answer, chi-square at 1e-7 each; a report of chance 0 never comes."""
    found = design(text)
    for answer, row in enumerate(found.channel().matrix()):
        coins = SimulatedCoins(np.random.default_rng(97 + answer))
        drawn = found.mask(np.full(60_000, answer), np.zeros(60_000, np.int32), coins)
        counts = np.bincount(drawn, minlength=found.reports)
        assert counts[row == 0].sum() == 0
        there = row > 0
        if there.sum() > 1:
            assert chisquare(counts[there], 60_000 * row[there]).pvalue > 1e-7


@every_design
def test_the_worth_of_reports_is_unbiased(text: str) -> None:
    """The expected worth of a report is one for the answer, and 0 for the others."""
    found = design(text)
    np.testing.assert_allclose(
        found.channel().matrix() @ found.worth(), np.eye(found.options), atol=1e-12
    )


def test_a_design_of_very_many_options_draws_by_its_table() -> None:
    """Edges are running sums: of 1,024 options the last is the truth, or forced."""
    found = design("forced-response:options=1024,each=1/2048")
    answers = np.full(4000, 1023, dtype=np.int32)
    reports = found.mask(answers, answers, SimulatedCoins(np.random.default_rng(5)))
    # 4,000 draws of chance 1/2 + 1/2048: 6 standard deviations are 190; beyond is below 1e-8.
    assert abs(int((reports == 1023).sum()) - 2002) < 190
    assert reports.min() >= 0
    assert reports.max() == 1023
