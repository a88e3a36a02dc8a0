"""The audit's exact look: losses from probabilities alone."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import audit
from masquerade.accounting.audit_custom import Randomizer
from masquerade.accounting.audit_forms import Bits, Response
from masquerade.accounting.audit_sampled import Claim
from masquerade.accounting.audit_table import (
    TableLoss,
    delta_at,
    divergences,
    epsilon_at,
    log_ratio,
    of_table,
    of_table_at,
    pattern_counts,
)
from masquerade.accounting.audits import OfMechanism
from masquerade.errors import ParameterError
from masquerade.exact import Micro
from masquerade.exact.loss import ORDERS, Loss
from masquerade.mechanisms import (
    BitwiseResponse,
    Channel,
    DiscreteGaussian,
    Mechanism,
    QuantisedResponse,
    RandomizedResponse,
    TwoLayer,
    parse_mechanism,
)
from masquerade.mechanisms.device_mechanism import DeviceMechanism

EXACT = (
    "randomized-response:options=2,epsilon=1",
    "randomized-response:options=4,epsilon=0.1",
    "randomized-response:options=3,epsilon=0",
    "randomized-response:options=5,flip_probability=0.3,null=true",
    "randomized-response:options=3,flip_probability=0.9",
    "randomized-response:options=1000,epsilon=2",
    "two-layer:options=2,low=0,high=0.5379",
    "two-layer:options=2,low=0,high=1",
    "two-layer:options=3,low=1/3,high=1",
    "two-layer:options=4,low=0.2,high=0.2",
    "discrete-laplace:low=1,high=5,epsilon=1",
    "discrete-laplace:low=1,high=5,epsilon=1/3,null=true",
    "discrete-laplace:low=0,high=1,step=0.1,epsilon=2,null=true,fill=uniform",
    "discrete-laplace:low=0,high=100,step=10,epsilon=0.7,null=true,fill=0",
    "discrete-laplace:low=1,high=5,epsilon=1,scale_rule=paper",
    "discrete-laplace:low=0,high=4,epsilon=900",
    "quantised-response:low=-100,high=100,epsilon=2,null=true",
    "quantised-response:low=0,high=1,step=0.1,epsilon=1,levels=3",
    "quantised-response:low=0,high=1000000,epsilon=1,levels=5",
)


def subject_of(mechanism: Mechanism, answers: int) -> OfMechanism:
    """Return a mechanism as the subject of an audit."""
    assert isinstance(mechanism, DeviceMechanism)
    return OfMechanism(mechanism, answers, np.random.default_rng(1))


def exact_of(text: str, answers: int) -> tuple[Claim, TableLoss]:
    """Return the claim of a mechanism, and the claim of its device form."""
    subject = subject_of(parse_mechanism(text), answers)
    found = subject.table()
    assert found is not None
    return subject.claim, found


@pytest.mark.parametrize("answers", [1, 2, 3, 20])
@pytest.mark.parametrize("text", EXACT)
def test_exact_the_claim_is_what_the_probabilities_say(text: str, answers: int) -> None:
    """Every claim without a delta is the exact worst-case loss, to the last millionth."""
    claim, found = exact_of(text, answers)
    assert (found.event, found.user) == (claim.event, claim.user)
    assert claim.status == "proven"


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "3", "10"])
@pytest.mark.parametrize("options", [2, 3, 10, 100])
def test_exact_randomized_response_loses_what_was_asked_for(options: int, epsilon: str) -> None:
    """Before any rounding to millionths, the loss is within 1e-9 of epsilon and not above it."""
    ratio = RandomizedResponse(options, epsilon=epsilon).channel().worst_ratio()
    assert isinstance(ratio, Fraction)
    loss = math.log(ratio.numerator) - math.log(ratio.denominator)
    assert abs(loss - float(epsilon)) <= 1e-9
    assert Micro.of_ratio(ratio) <= Micro.of_amount(Fraction(epsilon))


@pytest.mark.parametrize(
    ("text", "answers", "event", "user"),
    [
        ("two-layer:options=2,low=0,high=1", 2, 0.693148, 0.693148),
        ("two-layer:options=2,low=0,high=1", 20, 2.995733, 12.126792),
        ("two-layer:options=2,low=0,high=1", 100, 4.605171, 66.783842),
        ("two-layer:options=3,low=1/3,high=1", 3, 0.693148, 0.98083),
        ("discrete-laplace:low=1,high=5,epsilon=1,scale_rule=paper", 1, 0.8, 0.8),
    ],
)
def test_exact_golden_values(text: str, answers: int, event: float, user: float) -> None:
    """Reference values of one changed answer, and of all."""
    _, found = exact_of(text, answers)
    assert (found.event.epsilon, found.user.epsilon) == (event, user)


def test_exact_the_worst_report_and_answers_are_named() -> None:
    """The pair of answers and the report that attain the loss are given, for all answers."""
    _, one = exact_of("randomized-response:options=4,epsilon=1", 1)
    assert one.worst is not None
    assert (one.worst.report, one.worst.answers) == ("0", ("0", "1"))
    _, many = exact_of("two-layer:options=2,low=0,high=1", 20)
    assert str(many.worst) == (
        "report 0 (20 times): answer 0 (20 times) against 0 (10 times), 1 (10 times)"
    )
    assert exact_of("randomized-response:options=3,epsilon=0", 5)[1].worst is None


small_forms = st.tuples(
    st.integers(0, 5), st.integers(0, 5), st.integers(2, 4), st.integers(1, 4)
).map(lambda drawn: (min(drawn[:2]), max(drawn[:2]), 5 * drawn[2], drawn[2], drawn[3]))


@given(form=small_forms)
def test_prop_joint_loss_is_that_of_the_whole_enumerated_channel(
    form: tuple[int, int, int, int, int],
) -> None:
    """Over every pair of answer vectors and every vector of reports, nothing loses more or less."""
    first, last, total, symbols, n = form

    def probability(answers: tuple[int, ...], reports: tuple[int, ...]) -> Fraction:
        changed = sum(a != r for a, r in zip(answers, reports, strict=True))
        draws = range(first, last + 1)
        terms = (i**changed * (total - (symbols - 1) * i) ** (n - changed) for i in draws)
        return Fraction(sum(terms), len(draws) * total**n)

    vectors = list(itertools.product(range(symbols), repeat=n))
    start = vectors[0]  # all else follows by renaming symbols place by place
    one_changed = [v for v in vectors if sum(a != b for a, b in zip(v, start, strict=True)) == 1]
    rows = {v: [probability(v, reports) for reports in vectors] for v in vectors}
    user = Channel(tuple(map(tuple, rows.values()))).epsilon()
    event = max(Channel((tuple(rows[start]), tuple(rows[v]))).epsilon() for v in one_changed)
    numbers = {"first": first, "last": last, "total": total, "symbols": symbols}
    found = Response(numbers).loss(n, claimed=Micro(0), delta=Fraction(0))
    assert found is not None
    assert (found.event, found.user) == (event, user)
    counts = pattern_counts(first, last, total, symbols, n)
    assert Fraction(counts[0], (last - first + 1) * total**n) == rows[start][0]


@given(form=small_forms)
def test_prop_pattern_counts_are_the_plain_sum(form: tuple[int, int, int, int, int]) -> None:
    """The recurrence gives the sum over all flip probabilities, one by one."""
    first, last, total, symbols, n = form
    draws = range(first, last + 1)
    plain = [
        sum(i**m * (total - (symbols - 1) * i) ** (n - m) for i in draws) for m in range(n + 1)
    ]
    counts = pattern_counts(first, last, total, symbols, n)
    scale = Fraction(plain[0], counts[0]) if counts[0] else Fraction(1)
    assert [scale * count for count in counts] == plain


@given(
    counts=st.integers(2, 4).flatmap(
        lambda reports: st.lists(
            st.lists(st.integers(1, 9), min_size=reports, max_size=reports), min_size=2, max_size=5
        )
    )
)
def test_prop_a_table_loses_its_largest_ratio_at_its_witness(counts: list[list[int]]) -> None:
    """The loss of any table is the largest ratio in a column, and the named cells attain it."""
    rows = [[Fraction(c, sum(row)) for c in row] for row in counts]
    found = of_table(rows, inputs=range(len(rows)), reports=range(len(rows[0])))
    largest = max(a / b for column in zip(*rows, strict=True) for a in column for b in column)
    assert found.event == found.user == Micro.of_ratio(largest)
    if found.worst is None:
        assert largest == 1
    else:
        report, a, b = (
            int(word.partition(" ")[0]) for word in (found.worst.report, *found.worst.answers)
        )
        assert rows[a][report] / rows[b][report] == largest


def test_exact_a_report_that_only_one_answer_gives_loses_everything() -> None:
    """A probability of 0 against one above 0 is an infinite loss."""
    rows = [[Fraction(1, 2), Fraction(1, 2)], [Fraction(1), Fraction(0)]]
    found = of_table(rows, inputs="ab", reports="xy")
    assert found.user.epsilon == math.inf
    assert str(found.worst) == "report y: answer a against b"


class Understated(BitwiseResponse):
    """Says that fewer bits change than do: its promise is half of its loss."""

    @property
    def changes(self) -> int:
        """Half of the bits that one changed answer can change."""
        return super().changes // 2


def test_audit_a_bitwise_response_is_not_believed_how_many_bits_change() -> None:
    """A class with the loss 8 that claims 4 is refuted by its form, however large it is."""
    mechanism = Understated(20, 4, epsilon=8)
    assert mechanism.guarantee().epsilon_user.epsilon == 4
    found = audit(mechanism, samples=2_000, rng=np.random.default_rng(1))
    assert found.verdict == "refuted"
    assert found.exact_epsilon is not None
    assert found.exact_epsilon.epsilon == 8


@pytest.mark.parametrize(
    ("options", "most", "null"),
    [(2, 2, False), (5, 2, False), (5, 2, True), (3, 1, True), (5, 4, False), (6, 6, True)],
)
def test_exact_bits_that_change_are_those_of_all_pairs_of_answers(
    options: int, most: int, null: bool
) -> None:
    """The largest number over all pairs of sizes is that over all pairs of allowed rows."""
    form = Bits({"options": options, "most": most, "null": null, "other": "1", "total": "4"})
    rows = [code for code in range(form.codes) if form.allows(code)]
    assert form.changes() == max((a ^ b).bit_count() for a in rows for b in rows)


@given(counts=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=4))
def test_prop_divergences_of_cells_are_those_of_probabilities(
    counts: list[tuple[int, int]],
) -> None:
    """Counts in any measure give the Renyi divergences of the probabilities, to 1e-9."""
    p, q = (np.array(row) / sum(row) for row in zip(*counts, strict=True))
    found = divergences([(a, b, 1) for a, b in counts])
    for a, one in zip(ORDERS[:6], found[:6], strict=True):
        plain = math.log(float((p**a * q ** (1 - a)).sum())) / (a - 1)
        assert one == pytest.approx(max(plain, 0), abs=1e-9)


@pytest.mark.parametrize("text", EXACT[:-1])
def test_exact_divergences_are_never_above_what_accounts_are_charged(text: str) -> None:
    """Of every order, and of one answer within 2e-6 of it where the table is enumerated."""
    claim, found = exact_of(text, 1)
    assert claim.loss is not None
    assert found.orders is not None
    for one, charged in zip(found.orders, claim.loss.orders, strict=True):
        assert one <= charged / 1_000_000 + 1e-9


class CheapOrders(RandomizedResponse):
    """Charges accounts half of its divergences, its pure epsilon being right."""

    def loss(self, *, answers: int = 1, changed: int | None = None) -> Loss:
        """Return a loss with divergences that are too small."""
        loss = super().loss(answers=answers, changed=changed)
        return replace(loss, orders=tuple(one // 2 for one in loss.orders))


def test_audit_divergences_that_an_account_is_charged_are_compared() -> None:
    """A right epsilon with divergences that are too small is refuted."""
    found = audit(CheapOrders(3, epsilon=2), samples=2_000, rng=np.random.default_rng(1))
    assert found.verdict == "refuted"
    assert "Renyi divergence of order 2" in found.reasons[0]


def test_exact_quantised_response_on_a_fine_lattice_loses_no_more_than_on_its_levels() -> None:
    """For more answers than a table holds, the loss is still exact, and the ends attain it."""
    fine = QuantisedResponse(0, 1_000_000, epsilon=2, levels=5, null=True)
    found = subject_of(fine, 3).table()
    assert found is not None
    assert found.user.epsilon == 6
    assert str(found.worst) == "report 0 (3 times): answer 0 (3 times) against 1000000 (3 times)"


@pytest.mark.parametrize("sigma", ["0.5", "3", "6", "12", "400"])
def test_exact_gaussian_noise_keeps_epsilon_delta_and_rho(sigma: str) -> None:
    """Of one report epsilon is tight to 2e-6, delta is kept, and rho is exact to 1e-9."""
    mechanism = DiscreteGaussian(1, 5, sigma=sigma)
    claim, found = exact_of(str(mechanism), 1)
    assert claim.event.micro - 2 <= found.event.micro <= claim.event.micro
    assert found.delta is not None
    assert 0.99e-6 < found.delta <= 1e-6 + 1e-12
    assert found.orders is not None
    assert found.orders[0] / 2 == pytest.approx(float(mechanism.rho), rel=1e-9)


@pytest.mark.parametrize("answers", [2, 5, 100])
def test_exact_gaussian_noise_of_several_answers_is_below_its_claim(answers: int) -> None:
    """The conversion from rho that is claimed bounds the exact epsilon of all reports."""
    claim, found = exact_of("discrete-gaussian:low=1,high=5,sigma=6", answers)
    assert 0.7 * claim.user.epsilon < found.user.epsilon <= claim.user.epsilon
    assert found.delta is not None
    assert found.delta < 1e-6
    assert found.orders is not None
    assert found.orders[0] / 2 == pytest.approx(answers * 2 / 9, rel=1e-9)


def test_exact_two_gaussian_answers_by_enumerating_every_pair_of_reports() -> None:
    """The law of the summed losses gives the delta that all pairs of reports give."""
    mechanism = DiscreteGaussian(0, 4, sigma=3)
    subject = subject_of(mechanism, 2)
    found = subject.table()
    assert found is not None
    reports = np.arange(-60.0, 65.0)
    one, other = (mechanism.probability(answer, reports) for answer in (0.0, 4.0))
    both, both_other = (np.outer(law, law) for law in (one, other))
    gain = both - math.exp(subject.claim.user.epsilon) * both_other
    assert found.delta == pytest.approx(np.maximum(gain, 0).sum(), rel=1e-6)


def test_exact_what_is_too_large_is_left_to_the_sampler() -> None:
    """Where reports are too many to enumerate, no exact figure is made up."""
    assert subject_of(DiscreteGaussian(0, 1_000_000, sigma=1_000_000), 1).table() is None
    assert subject_of(TwoLayer(2, low=0, high=1), 501).table() is None


def test_exact_a_table_at_a_delta() -> None:
    """A table that leaks with probability delta has the epsilon of the rest, at that delta."""
    leak = Fraction(1, 1000)
    rows: list[list[Fraction | float]] = [
        [leak, 0, (1 - leak) * Fraction(3, 4), (1 - leak) * Fraction(1, 4)],
        [0, leak, (1 - leak) * Fraction(1, 4), (1 - leak) * Fraction(3, 4)],
    ]
    found = of_table_at(rows, inputs="ab", delta=leak, claimed=Micro(2_000_000))
    assert found.event.epsilon == pytest.approx(math.log(3), abs=2e-6)
    assert found.delta == pytest.approx(float(leak))
    half = of_table_at(rows, inputs="ab", delta=leak / 2, claimed=Micro(2_000_000))
    assert half.event.epsilon == math.inf


@given(
    one=st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
    other=st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
    delta=st.floats(1e-9, 0.5),
)
def test_prop_epsilon_and_delta_undo_each_other(
    one: list[float], other: list[float], delta: float
) -> None:
    """Delta at the epsilon found is at most delta, and just below that epsilon it is above."""
    p, q = (np.array(law) / sum(law) for law in (one, other))
    loss = log_ratio(p, q)
    epsilon = epsilon_at(delta, p, loss)
    assert delta_at(epsilon, p, loss) <= delta
    if epsilon > 1e-6:
        assert delta_at(epsilon - 1e-6, p, loss) > delta


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"samples": 1e5}, "samples is 100000.0, expected a whole number"),
        ({"samples": 1999}, "samples is 1999, expected at least 2000"),
        ({"answers": 2.5}, "answers is 2.5, expected a whole number"),
    ],
)
def test_sizes_of_an_audit_are_whole_numbers(given: dict[str, Any], message: str) -> None:
    """Numbers of answers and samples that are none are named."""
    with pytest.raises(ParameterError, match=message):
        audit(RandomizedResponse(2, epsilon=1), rng=np.random.default_rng(0), **given)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"claimed_epsilon": math.nan}, "claimed_epsilon is nan, expected a number"),
        ({"claimed_epsilon": -1}, "claimed_epsilon is -1, expected at least 0"),
        ({"claimed_epsilon": 1, "claimed_delta": math.nan}, "claimed_delta is nan"),
        ({"claimed_epsilon": 1, "claimed_delta": "some"}, "claimed_delta is 'some'"),
    ],
)
def test_a_claim_is_a_number(claim: dict[str, Any], message: str) -> None:
    """A claim that is no number is named before anything is drawn."""
    own: Any = Randomizer(
        lambda answer, size, rng: rng.integers(0, 2, size), inputs=(0, 1), **claim
    )
    with pytest.raises(ParameterError, match=message):
        audit(own, rng=np.random.default_rng(0))


def test_a_text_is_read_before_it_is_audited() -> None:
    """The text form of a mechanism is audited as the mechanism; another text is refused."""
    found = audit("randomized-response:options=2,epsilon=1", rng=np.random.default_rng(0))
    assert found.verdict == "holds"
    with pytest.raises(ParameterError, match="'loud' is unknown"):
        audit("loud:options=2", rng=np.random.default_rng(0))
