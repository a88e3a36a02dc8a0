"""No interleaving overspends, exactly enough is enough, and every tampering is found."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.accounting.ledgers import DAY, MUCH, clear, costing, ledger_of, noise

from masquerade.accounting import Balance, Caps, Cost, Ledger, MemoryStorage, charge_all
from masquerade.accounting.chain import total, verify_chain
from masquerade.errors import (
    ClearDisclosureRefused,
    InsufficientBudget,
    KeyConflict,
    LedgerError,
    NoGuarantee,
    NotReserved,
    ParameterError,
)
from masquerade.exact import INFINITE_LOSS, MICRO, NO_LOSS, Guarantee, Micro, epsilon_of_rho
from masquerade.exact.loss import no_loss, pure_loss, rho_loss
from masquerade.mechanisms import RandomizedResponse, TwoLayer, level_named, parse_mechanism
from masquerade.mechanisms.discrete_gaussian import DiscreteGaussian


def test_reserve_commit_release() -> None:
    """A reservation counts at once, a commit keeps it, a release gives it back."""
    ledger = ledger_of(3)
    ledger.reserve("p", "a", costing(MICRO))
    ledger.reserve("p", "b", costing(MICRO))
    ledger.reserve("p", "c", costing(MICRO))
    with pytest.raises(InsufficientBudget):
        ledger.reserve("p", "d", costing(1))
    assert ledger.commit("p", "a").charge.kind == "commit"
    assert ledger.release("p", "b").charge.kind == "release"
    balance = ledger.balance("p")
    assert (balance.spent_epsilon, balance.reserved_epsilon, balance.open) == (MICRO, MICRO, 1)
    assert balance.epsilon == Micro(2 * MICRO)
    assert balance.residual_epsilon == Micro(MICRO)
    ledger.charge("p", "d", costing(MICRO))
    assert ledger.verify() == len(ledger.entries("p")) == verify_chain(ledger.entries("p")) == 6
    assert total(ledger.entries("p")) == Micro(2 * MICRO)


@given(
    parts=st.lists(st.integers(1, 10**9), min_size=1, max_size=8),
    more=st.integers(1, 10**9),
    steps=st.sampled_from(["reserve", "charge"]),
)
def test_prop_exactly_enough_is_enough(parts: list[int], more: int, steps: str) -> None:
    """A cap that is the sum of all costs admits them all, and then not a millionth more."""
    ledger = Ledger(MemoryStorage(), clock=lambda: DAY, caps=Caps(Micro(sum(parts)), Fraction(0)))
    for place, micro in enumerate(parts):
        getattr(ledger, steps)("p", str(place), costing(micro))
    before = ledger.entries("p")
    for micro in (1, more):
        with pytest.raises(InsufficientBudget):
            ledger.reserve("p", "more", costing(micro))
    assert ledger.entries("p") == before
    assert ledger.balance("p").residual_epsilon == NO_LOSS
    ledger.reserve("p", "free", costing(0))  # nothing is left, and nothing is enough for nothing


def test_exactly_enough_by_every_condition() -> None:
    """The cap's order and its clock admit exactly themselves, by noise alone or after epsilon."""
    ledger = ledger_of(10)
    room = ledger.balance("p").caps.room
    ledger.charge("p", "a", noise(room.divergence - 5))
    with pytest.raises(InsufficientBudget, match=r"costs 0\.1 % of the cap"):
        ledger.charge("p", "b", noise(6))
    # A pure epsilon of a millionth no longer counts by itself once there is noise.
    with pytest.raises(InsufficientBudget):
        ledger.charge("p", "b", costing(1, divergence=6))
    ledger.charge("p", "b", costing(1, divergence=5))
    assert ledger.balance("p").share_left == 0
    assert ledger.balance("p").epsilon == INFINITE_LOSS
    ledger.charge("q", "a", noise(MUCH, clock=room.clock - 5))
    with pytest.raises(InsufficientBudget):
        ledger.charge("q", "b", noise(MUCH, clock=6))
    with pytest.raises(InsufficientBudget):  # no clock: the sum of clocks says nothing more
        ledger.charge("q", "b", costing(1, divergence=1))
    ledger.charge("q", "b", noise(MUCH, clock=5))


def test_noise_that_was_only_reserved_leaves_no_trace() -> None:
    """Pure epsilon decides again once a reservation of noise is released."""
    ledger = ledger_of(3)
    ledger.reserve("p", "noise", noise(1))
    with pytest.raises(InsufficientBudget):
        ledger.reserve("p", "pure", costing(MICRO))
    ledger.release("p", "noise")
    ledger.reserve("p", "pure", costing(3 * MICRO))
    assert ledger.verify() == 3


def test_the_refusal_says_what_is_left() -> None:
    """The message has the cost, the rest, the amount, the surveys, and the next step."""
    ledger = ledger_of(3)
    ledger.charge("p", "1", costing(MICRO, survey="Sleep"))
    ledger.charge("p", "2", costing(1_600_000, survey="Diet"))
    ledger.reserve("p", "3", costing(100_000, survey="Mood"))
    ledger.release("p", "3")
    with pytest.raises(InsufficientBudget) as caught:
        ledger.reserve("p", "4", costing(1_200_000, survey="Work"))
    assert str(caught.value) == (
        "this survey costs epsilon 1.2 and this participant has 0.4 left of 3 (spent on "
        '"Sleep", "Diet"). Lower the survey\'s epsilon to 0.4 or choose others with masquerade '
        "select."
    )
    assert (caught.value.needed, caught.value.residual, caught.value.unit) == (1.2, 0.4, "epsilon")
    many = ledger_of(3)
    for place in range(8):
        many.charge("p", str(place), costing(1, survey=f"S{place}"))
    with pytest.raises(InsufficientBudget, match='"S4" and 3 more'):
        many.charge("p", "x", costing(10 * MICRO))
    with pytest.raises(InsufficientBudget, match=r"left of 3\. Lower"):
        many.charge("new", "x", costing(10 * MICRO))
    with pytest.raises(
        InsufficientBudget, match=r"% of the cap, epsilon 3 at delta 1e-06, and this participant"
    ) as of:
        many.charge("new", "x", noise(3_448_672))
    assert (of.value.unit, of.value.needed, of.value.residual) == ("percent", 200.0, 100.0)
    assert issubclass(InsufficientBudget, LedgerError)


def test_clear_answers_are_counted_apart() -> None:
    """Answers in clear have a cap of their own, by default 0, and are never an epsilon of 0."""
    with pytest.raises(ClearDisclosureRefused, match="asks for 1 answer in clear") as caught:
        ledger_of(3).charge("p", "a", clear(1))
    assert (caught.value.needed, caught.value.residual) == (1, 0)
    ledger = ledger_of(3, clear_answers=2)
    ledger.reserve("p", "a", clear(2, MICRO))
    assert ledger.commit("p", "a").charge.kind == "clear_disclosure"
    assert ledger.commit("p", "a").charge.kind == "clear_disclosure"  # sent twice, counted once
    with pytest.raises(ClearDisclosureRefused):
        ledger.charge("p", "b", clear(1))
    balance = ledger.balance("p")
    assert (balance.spent_clear, balance.spent_epsilon, balance.residual_clear) == (2, MICRO, 0)
    assert total(ledger.entries("p")) == INFINITE_LOSS
    found = ledger.spent("p")
    assert (found.epsilon, found.delta, found.method) == (Micro(MICRO), Fraction(0), "pure")
    assert "answers you sent in clear (2)" in ledger.explain("p")[0]
    assert ledger.statistics().clear == 2


def test_a_cost_is_what_its_mechanisms_promise() -> None:
    """A cost is the exact joint loss of its mechanisms, with rho, and clear answers set apart."""
    choice, layered = RandomizedResponse(5, epsilon=1), TwoLayer(2, low=0, high=1)
    cost = Cost.of("S", [choice, layered, choice, layered])
    assert cost.user == 2 * Micro(MICRO) + layered.guarantee(answers=2).epsilon_user
    assert cost.loss == choice.loss(answers=2) + layered.loss(answers=2)
    assert cost.event == max(
        choice.guarantee().epsilon_event, layered.guarantee(answers=2).epsilon_event
    )
    assert cost.mechanisms == tuple(map(str, [choice, layered, choice, layered]))
    assert (cost.clear, cost.unbounded) == (0, 0)
    open_question = RandomizedResponse(3, flip_probability=0)
    mixed = Cost.of("S", [choice, open_question, open_question])
    assert (mixed.clear, mixed.user, mixed.event) == (2, INFINITE_LOSS, INFINITE_LOSS)
    assert mixed.loss == choice.loss()
    alone = Cost.of("S", [open_question])
    assert (alone.clear, alone.user, alone.loss) == (1, INFINITE_LOSS, no_loss())
    rating = Cost.of("S", [DiscreteGaussian(1, 5, sigma=6), choice])
    assert (rating.user, rating.unbounded, rating.clear) == (INFINITE_LOSS, 1, 0)
    assert rating.loss.clock > 444_444


def test_mechanisms_without_a_guarantee_are_refused() -> None:
    """A mechanism that promises nothing has no cost, so that it can't be charged."""
    mechanism = RandomizedResponse(2, epsilon=1)
    layered = TwoLayer(2, low=0, high=1)
    nothing = Guarantee(Micro(1), Micro(1), Micro(1), 1, (), status="none")
    object.__setattr__(layered, "guarantee", lambda *, answers=1: nothing)
    with pytest.raises(NoGuarantee, match="promises nothing"):
        Cost.of("S", [mechanism, layered])


def test_the_same_request_again_changes_nothing() -> None:
    """Reserving, committing and releasing again returns the entry that is there."""
    ledger = ledger_of(3)
    first = ledger.reserve("p", "a", costing(2 * MICRO))
    assert ledger.reserve("p", "a", costing(2 * MICRO)) == first
    done = ledger.commit("p", "a")
    assert ledger.commit("p", "a") == ledger.reserve("p", "a", costing(2 * MICRO)) == done
    assert ledger.charge("p", "a", costing(2 * MICRO)) == done
    ledger.reserve("p", "b", costing(1))
    gone = ledger.release("p", "b")
    assert ledger.release("p", "b") == gone
    assert ledger.balance("p").spent_epsilon == 2 * MICRO
    assert ledger.balance("p").reserved_epsilon == 0


def test_a_charge_commits_what_is_reserved() -> None:
    """Charging a reservation under the same key makes it final, once; it can't expire."""
    ledger = ledger_of(3)
    ledger.reserve("p", "a", costing(2 * MICRO))
    done = ledger.charge("p", "a", costing(2 * MICRO))
    assert done.charge.kind == "commit"
    assert ledger.charge("p", "a", costing(2 * MICRO)) == done
    assert ledger.expire("2026-12-31") == 0
    balance = ledger.balance("p")
    assert (balance.spent_epsilon, balance.reserved_epsilon, balance.open) == (2 * MICRO, 0, 0)
    assert ledger.verify() == 2


def test_a_key_names_one_response() -> None:
    """A key cannot be used for another cost, or again after its release, or without reserving."""
    ledger = ledger_of(3)
    ledger.reserve("p", "a", costing(5))
    with pytest.raises(KeyConflict, match="another cost"):
        ledger.reserve("p", "a", costing(6))
    with pytest.raises(KeyConflict, match="another cost"):
        ledger.charge("p", "a", costing(5, survey="Diet"))
    ledger.release("p", "a")
    with pytest.raises(KeyConflict, match="released"):
        ledger.reserve("p", "a", costing(5))
    with pytest.raises(NotReserved, match="release is there"):
        ledger.commit("p", "a")
    with pytest.raises(NotReserved, match="nothing is there"):
        ledger.release("p", "b")
    ledger.charge("p", "c", costing(5))
    with pytest.raises(NotReserved, match="commit is there"):
        ledger.release("p", "c")
    assert ledger.reserve("q", "a", costing(6)).charge.person == "q"  # another person's key


def test_reservations_expire_and_commits_do_not() -> None:
    """Sweeping releases reservations from before a day that are still open."""
    days = iter(["2026-03-01", "2026-03-01", "2026-03-02", "2026-03-03", *["2026-03-09"] * 9])
    ledger = Ledger(MemoryStorage(), clock=lambda: next(days))
    ledger.reserve("p", "old", costing(1))
    ledger.reserve("p", "kept", costing(2))
    ledger.commit("p", "kept")
    ledger.reserve("q", "new", costing(4))
    assert ledger.expire("2026-03-03") == 1
    assert ledger.expire("2026-03-03") == 0
    assert [e.charge.kind for e in ledger.entries("p")] == [
        "reserve",
        "reserve",
        "commit",
        "release",
    ]
    assert ledger.balance("q").open == 1
    assert ledger.entries("p")[-1].charge.day == "2026-03-09"
    with pytest.raises(ParameterError, match="ISO date"):
        ledger.expire("yesterday")


def test_a_sweep_leaves_what_is_committed_in_the_meantime() -> None:
    """A reservation that is committed while the sweeper looks is not released."""

    class Late(MemoryStorage):
        def reservations(self, before: str) -> list[tuple[str, str]]:
            found = super().reservations(before)
            ledger.commit("p", "a")
            return found

    ledger = Ledger(Late(), clock=lambda: DAY)
    ledger.reserve("p", "a", costing(1))
    assert ledger.expire("2026-04-01") == 0
    assert ledger.balance("p").spent_epsilon == 1


def test_caps_go_down_at_any_time() -> None:
    """A lower cap holds at once, for later reservations; raising it is another matter."""
    ledger = ledger_of(3)
    ledger.reserve("p", "a", costing(2 * MICRO))
    entry = ledger.lower_caps("p", Caps(Micro(MICRO)))
    assert entry.charge.kind == "adjust"
    with pytest.raises(InsufficientBudget, match="has 0 left of 1"):
        ledger.reserve("p", "b", costing(1))
    ledger.commit("p", "a")
    for higher in (
        Caps(Micro(2 * MICRO)),
        Caps(Micro(1), clear=1),
        Caps(Micro(1), Fraction(1, 10)),
    ):
        with pytest.raises(ParameterError, match="only lowers"):
            ledger.lower_caps("p", higher)
    ledger.raise_caps("p", Caps(Micro(4 * MICRO)))
    ledger.reserve("p", "b", costing(2 * MICRO))
    assert ledger.lower_caps("new", Caps(Micro(1))).sequence == 0
    assert ledger.verify() == 6
    assert ledger.balance("somebody else").caps == Caps(Micro(3 * MICRO))


def test_what_was_spent_in_numbers_and_words() -> None:
    """The sharpest sound bound is stated, with its method, and it never exceeds the plain sum."""
    ledger = ledger_of(10)
    assert ledger.spent("p").epsilon == NO_LOSS
    weak = Cost.of("Weak", [RandomizedResponse(5, epsilon="0.1")] * 20)
    for place in range(5):
        ledger.charge("p", str(place), weak)
    spent = ledger.spent("p")
    assert spent.method == "distribution"
    assert spent.epsilon < spent.bounds["renyi"] < spent.bounds["pure"] == Micro(10 * MICRO)
    words = ledger.explain("p")
    assert f"epsilon = {spent.epsilon} at delta = 1e-06" in words[0]
    assert "is right about at most" in words[1]
    assert "1 in 1,000,000" in words[2]
    assert "exact sum" in words[3]
    assert "your cap holds: epsilon = 10 at delta = 1e-06." in words[4]
    assert "0 reserved responses" in words[5]
    strong = ledger_of(10)
    strong.charge("p", "a", Cost.of("Strong", [level_named("low").randomized_response(5)] * 3))
    assert strong.spent("p").method == "pure"
    assert strong.spent("p").epsilon == strong.balance("p").epsilon
    assert "holds outright" in strong.explain("p")[3]
    unknown = ledger_of(10)
    unknown.charge("p", "a", costing(MICRO))
    unknown.charge("p", "b", Cost("S", (), Micro(1), pure_loss(Micro(1))))
    assert unknown.spent("p").bounds["pure"] == Micro(MICRO + 1)
    noisy = ledger_of(10)
    noisy.charge("p", "a", noise(100))
    assert noisy.spent("p").method == "renyi"
    assert "Renyi divergences" in noisy.explain("p")[3]


def test_what_was_spent_is_never_less_than_what_was_charged() -> None:
    """An entry that charges more than its mechanisms promise counts with its charge."""
    ledger = ledger_of(10)
    coin = "randomized-response:options=2,epsilon=1"
    ledger.charge("p", "a", Cost("S", (coin,), Micro(5 * MICRO), pure_loss(Micro(5 * MICRO))))
    assert ledger.spent("p").epsilon == Micro(5 * MICRO)
    ledger.charge("q", "a", Cost("S", (coin,), INFINITE_LOSS, rho_loss(Fraction(1))))
    assert ledger.spent("q").epsilon >= epsilon_of_rho(Micro(MICRO))


def test_what_is_left_in_words() -> None:
    """The share that is left is rounded down, and a cap below the amount spent is called so."""
    ledger = ledger_of(3)
    assert ledger.explain("p")[5].startswith("At least 100 % of it is left")
    ledger.charge("p", "a", costing(1))
    assert ledger.explain("p")[5].startswith("At least 99 % of it is left")
    ledger.reserve("p", "b", costing(2 * MICRO))
    assert "At least 33 % of it is left, 1 reserved" in ledger.explain("p")[5]
    ledger.lower_caps("p", Caps(Micro(MICRO)))
    words = ledger.explain("p")
    assert words[4].startswith("What is reserved goes beyond your cap: epsilon = 1 at")
    assert words[5].startswith("At least 0 % of it is left")
    ledger.lower_caps("p", Caps(Micro(0)))
    assert ledger.explain("p")[5].startswith("At least 0 % of it is left")


def test_statistics() -> None:
    """Numbers of persons, entries, open reservations, and of persons without anything left."""
    ledger = ledger_of(3)
    ledger.charge("a", "1", costing(3 * MICRO))
    ledger.charge("b", "1", costing(MICRO))
    ledger.reserve("b", "2", costing(MICRO))
    with pytest.raises(InsufficientBudget):
        ledger.reserve("c", "1", costing(9 * MICRO))
    found = ledger.statistics()
    assert (found.persons, found.entries, found.reservations) == (2, 3, 1)
    assert (found.clear, found.exhausted) == (0, 1)
    assert ledger.entries("c") == []
    assert ledger.balance("b").to_json()["residual_epsilon"] == 1.0


def test_impossible_requests_are_refused() -> None:
    """A person and a key have names, and a clock tells dates."""
    ledger = ledger_of(3)
    for person, key in (("", "a"), ("p", "")):
        with pytest.raises(ParameterError, match="empty"):
            ledger.reserve(person, key, costing(1))
    with pytest.raises(ParameterError, match="empty"):
        ledger.lower_caps("", Caps(Micro(1)))
    late = Ledger(MemoryStorage(), clock=lambda: "2026-03-14T10:00")
    with pytest.raises(ParameterError, match="ISO date"):
        late.reserve("p", "a", costing(1))
    assert late.rebuild("p") == Balance(Caps())
    assert late.verify() == 0


def test_a_cost_is_of_mechanisms() -> None:
    """The text form of a mechanism has the mechanism's cost; a number is no mechanism."""
    text = "randomized-response:options=2,epsilon=1"
    assert Cost.of("Sleep", [text]) == Cost.of("Sleep", [parse_mechanism(text)])
    with pytest.raises(ParameterError, match="is no Mechanism"):
        Cost.of("Sleep", [5])  # type: ignore[list-item]


def test_charging_together_gives_back_whatever_stops_it() -> None:
    """An interruption while drawing leaves nothing reserved and nothing spent."""
    book = Ledger(MemoryStorage(), clock=lambda: "2026-03-14")
    costs = [(who, Cost("Map", (), Micro(1), pure_loss(Micro(1)))) for who in ("ann", "bob")]

    def interrupted() -> None:
        with charge_all(book, costs, result="release", name="Map"):
            assert book.balance("ann").open == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [book.balance(who).open for who in ("ann", "bob")] == [0, 0]
    assert [book.balance(who).spent_epsilon for who in ("ann", "bob")] == [0, 0]
    for _ in range(2):  # the same name again is charged again
        with charge_all(book, costs, result="release", name="Map"):
            pass
    assert book.balance("ann").spent_epsilon == 2


def test_charging_together_needs_a_name_and_each_person_once() -> None:
    """A person in the list twice would pay once only."""
    book = Ledger(MemoryStorage(), clock=lambda: "2026-03-14")
    cost = Cost("Map", (), Micro(1), pure_loss(Micro(1)))
    for costs, name, message in (
        ([("ann", cost)], "", "the name of the release is empty"),
        ([("ann", cost), ("ann", cost)], "Map", "two people have the same name"),
    ):
        with (
            pytest.raises(ParameterError, match=message),
            charge_all(book, costs, result="release", name=name),
        ):
            pass
