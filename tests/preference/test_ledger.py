"""The cost of a published preference for each voter, in a ledger."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from masquerade.accounting import Caps, Ledger, MemoryStorage
from masquerade.answers import Battles, Comparisons
from masquerade.errors import InsecureRandomness, InsufficientBudget, NoGuarantee, ParameterError
from masquerade.exact import Micro
from masquerade.preference import MECHANISMS, SocialPreference
from masquerade.preference.private_leaderboard import PrivateLeaderboard

PURE = [
    name
    for name in MECHANISMS
    if name not in ("none", "auto") and not name.endswith("-gaussian") and "item-" not in name
]
TABLE = Comparisons.from_frame(
    {"voter": ["ann", "ann", "ann", "bob", "cem"], "f": [1, -1, 2, 1, -3], "g": [0, 1, 1, -2, 1]}
)


def ledger(epsilon: int = 3, delta: str = "0") -> Ledger:
    """Return an empty ledger with a cap on everybody's epsilon."""
    caps = Caps(Micro(epsilon * 10**6), delta=Fraction(delta))
    return Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=caps)


def spent(book: Ledger, person: str) -> float:
    """Return the amount that a person has spent, or reserved."""
    balance = book.balance(person)
    return balance.caps.epsilon.epsilon - balance.residual_epsilon.epsilon


def learn(mechanism: str, book: Ledger, *, epsilon: Any = 1, **options: Any) -> SocialPreference:
    """Learn from the table of three voters."""
    text = f"{mechanism}:candidates=32" if mechanism == "direction-selection" else mechanism
    return SocialPreference.learn(
        TABLE, mechanism=text, epsilon=epsilon, ledger=book, public_menus=True, **options
    )


@pytest.mark.parametrize("name", PURE)
def test_every_voter_pays_the_voter_level_loss(name: str) -> None:
    """The voter with the most records pays the guarantee's amount; each call is charged anew."""
    for unit in MECHANISMS[name].units:
        book = ledger(7)
        learned = learn(name, book, unit=unit)
        paid = {person: spent(book, person) for person in ("ann", "bob", "cem")}
        assert max(paid.values()) == learned.guarantee.epsilon_user.epsilon
        many = learned.guarantee.epsilon_user > learned.guarantee.epsilon
        assert paid["ann"] == pytest.approx(3 * paid["bob"] if many else paid["bob"])
        learn(name, book, unit=unit)
        assert spent(book, "ann") == pytest.approx(2 * paid["ann"])
        assert book.balance("ann").open == 0


def test_voters_pay_their_own_epsilon() -> None:
    """Times their own number of records."""
    book = ledger(10)
    learn("linear-knorm", book, epsilon=[2, "0.5", 1])
    assert [spent(book, who) for who in ("ann", "bob", "cem")] == [6, 0.5, 1]


def test_all_are_charged_or_nobody() -> None:
    """One voter without enough stops the result, and all reservations are given back."""
    book = ledger(3)
    learn("central-laplace", book, epsilon="2.5")
    SocialPreference.learn(
        TABLE.of_voters([1]), mechanism="local-laplace", epsilon="0.4", ledger=book
    )
    with pytest.raises(InsufficientBudget, match="preference"):
        learn("local-laplace", book, epsilon="0.2")
    assert [spent(book, who) for who in ("ann", "bob", "cem")] == pytest.approx([2.5, 2.9, 2.5])
    assert [book.balance(who).open for who in ("ann", "bob", "cem")] == [0, 0, 0]
    learn("local-laplace", book, epsilon="0.1")  # exactly enough is enough
    assert spent(book, "bob") == 3
    book.verify()


def test_nothing_is_drawn_before_everybody_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal comes before the mechanism runs."""
    drawn: list[int] = []
    kind = MECHANISMS["central-laplace"]
    monkeypatch.setattr(kind, "release", lambda *_, **__: drawn.append(1))
    with pytest.raises(InsufficientBudget):
        learn("central-laplace", ledger(3), epsilon=4)
    assert not drawn


def test_a_draw_that_fails_costs_nothing() -> None:
    """Noise by length takes at most 32 features; the amount set aside is given back."""
    wide = Comparisons.from_frame(
        {"voter": ["a", "b"], **{f"f{k}": [1.0, -1.0] for k in range(33)}}
    )
    book = ledger()
    with pytest.raises(ParameterError, match="33 features"):
        SocialPreference.learn(wide, mechanism="linear-knorm", epsilon=1, ledger=book)
    assert [spent(book, who) for who in "ab"] == [0, 0]


def test_gaussian_noise_is_charged_as_concentrated_loss() -> None:
    """It needs a cap with a delta; a voter with three records pays nine times as much."""
    with pytest.raises(InsufficientBudget):
        learn("linear-gaussian", ledger(7))
    book = ledger(20, "1e-6")
    learn("linear-gaussian", book)
    ann, bob = (book.entries(who)[-1].charge.cost.rho.micro for who in ("ann", "bob"))
    assert 0 <= 9 * bob - ann <= 9
    assert bob > 0
    assert book.spent("ann").epsilon.epsilon < 7


def test_what_cannot_be_counted_is_refused() -> None:
    """No mechanism, no name, no coins of the operating system; nobody is charged."""
    book = ledger()
    with pytest.raises(NoGuarantee, match="protects nobody"):
        SocialPreference.learn(TABLE, mechanism="none", ledger=book)
    with pytest.raises(ParameterError, match="name"):
        learn("local-laplace", book, name="")
    with pytest.raises(InsecureRandomness):
        learn("local-laplace", book, coins=np.random.default_rng(0))
    assert book.statistics().entries == 0


def test_voters_without_records_pay_where_their_number_is_hidden() -> None:
    """Under the unit voter they are protected like all; else that they said nothing is public."""
    table = Comparisons.from_frame({"voter": ["a", "b"], "f": [1.0, -1.0]}, voters=["a", "b", "c"])
    for name, paid in (("local-laplace", 1), ("linear-knorm", 0), ("choice-response", 0)):
        book = ledger()
        SocialPreference.learn(table, mechanism=name, epsilon=1, ledger=book, public_menus=True)
        assert spent(book, "c") == paid


VOTES = {
    "model_a": ["x", "x", "y", "z"],
    "model_b": ["y", "z", "z", "x"],
    "winner": ["model_a", "tie", "model_b", "model_b"],
    "voter": ["ann", "ann", "ann", "bob"],
}


@pytest.mark.parametrize("unit", ["choice", "record", "voter"])
def test_a_private_leaderboard_charges_each_voter(unit: Any) -> None:
    """Each voter pays for all of their votes, before a draw; all or nobody, and each time anew."""
    battles = Battles.from_frame(VOTES, items=["x", "y", "z"])
    private = PrivateLeaderboard(1, unit=unit, votes_each=2)
    book = ledger(7)
    board = private.release(battles, public_menus=True, ledger=book, name="board")
    assert (
        spent(book, "ann") == board.guarantee.epsilon_user.epsilon == (1 if unit == "voter" else 3)
    )
    assert spent(book, "bob") == 1
    private.release(battles, public_menus=True, ledger=book, name="board")
    assert spent(book, "ann") == (2 if unit == "voter" else 6)
    with pytest.raises(InsufficientBudget):
        PrivateLeaderboard(9, unit=unit, votes_each=2).release(
            battles, public_menus=True, ledger=book
        )
    assert spent(book, "bob") == 2


def test_a_refused_leaderboard_costs_nothing() -> None:
    """A refusal before the draw charges nobody; votes without names charge nobody."""
    book, private = ledger(7), PrivateLeaderboard(1)
    with pytest.raises(ParameterError, match="public"):
        private.release(Battles.from_frame(VOTES, items=["x", "y", "z"]), ledger=book)
    nameless = replace(Battles.from_frame(VOTES, items=["x", "y", "z"]), voter_names=None)
    with pytest.raises(ParameterError, match="do not name their voters"):
        private.release(nameless, public_menus=True, ledger=book)
    assert spent(book, "ann") == 0


def test_a_leaderboard_whose_fit_fails_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was drawn stays paid, though the fit that follows does not end."""

    def broken(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("masquerade.preference.private_leaderboard.fit_sums", broken)
    book = ledger(7)
    battles = Battles.from_frame(VOTES, items=["x", "y", "z"])
    with pytest.raises(KeyboardInterrupt):
        PrivateLeaderboard(1).release(battles, public_menus=True, ledger=book)
    assert (spent(book, "ann"), book.balance("ann").open) == (3, 0)
