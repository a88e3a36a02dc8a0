"""Rewards for taking part: a completion code, and the amount that it is worth.

The amount follows from the level alone, which is chosen before a question is shown. A code is given
because reports have arrived, whatever they are.

A completion code is made of the participant's secret and stored with its amount, without a name or
a day. So whoever holds the database cannot tell whose response belongs to a code, and sending again
gives the same one. Where levels have different amounts, an amount tells the level. The list of a
survey's codes is shown once the survey is over: while it is open, a new code in the list would tell
whose response has just come.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select, update

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.server.db.account_tables import CODE
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.db.row_sets import RowSet
from masquerade.server.db.transactions import Transactions, writes

#: How many codes can be checked at once.
MOST_AT_ONCE = 2000
VALID, USED, UNKNOWN = "valid", "checked-before", "unknown"

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: nothing looks like something else
_LENGTH, _GROUP = 16, 4
_MISREAD = str.maketrans("ILO", "110")


@dataclass(frozen=True, slots=True)
class Reward:
    """The reward of a survey, a completion code; it cannot change once the survey is open."""

    currency: str = ""
    prices: Mapping[str, int] = field(default_factory=dict)  # what a code is worth, by level

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Reward | None:
        """Return the reward that `to_json` described."""
        return None if data is None else cls(data["currency"], data["prices"])

    def to_json(self) -> Mapping[str, object]:
        """Return it as a JSON object."""
        return {"currency": self.currency, "prices": dict(self.prices)}

    def offer(self) -> Mapping[str, object]:
        """Return the reward as an invitation shows it."""
        amounts = dict(self.prices) if any(self.prices.values()) else {}
        return {"kind": "codes", "currency": self.currency, "amounts": amounts}

    def amount(self, level: str) -> int:
        """Return the amount of the code of a person at a level."""
        return self.prices.get(level, 0)


@dataclass(frozen=True, slots=True)
class CompletionCode:
    """A completion code, its amount, and whether it was checked off."""

    code: str
    amount: int
    checked: bool
    panel: Mapping[str, str]  # what a panel sent along with its holder, once that is known


@dataclass(frozen=True, slots=True)
class Codes:
    """The completion codes of a survey."""

    # given, checked: how many people have one; how many were checked off.
    given: int
    checked: int
    # In an order that says nothing; None while the survey takes responses.
    codes: list[CompletionCode] | None


def code_of(who: Pseudonyms, survey: str) -> str:
    """Return the code of a participant for a survey: 80 bits, in four groups."""
    # 20 hexadecimal digits are 80 bits, which are 16 letters of 5 bits exactly.
    number = int(who.completion(survey)[:20], 16)
    letters = ""
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[digit]
    return "-".join(letters[i : i + _GROUP] for i in range(0, _LENGTH, _GROUP))


#: The row that makes a code valid: written in the transaction that accepts a response first.
CODES = RowSet(CODE, ("survey", "code", "amount", "checked"))


def written(typed: str) -> str:
    """Return a code as it is kept, however it was typed.

    Examples
    --------
    >>> written(" 0o1i abcd-efgh-jkmn")
    '0011-ABCD-EFGH-JKMN'
    """
    letters = re.sub(r"[\s-]+", "", typed).upper().translate(_MISREAD)
    return "-".join(letters[i : i + _GROUP] for i in range(0, len(letters), _GROUP))


class CompletionCodes:
    """The codes of all surveys."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def of_survey(self, survey: str, *, over: bool) -> Codes:
        """Return counts of a survey's codes for its surveyor; with the codes once it is over."""
        query = select(CODE).where(CODE.c.survey == survey)
        # By the code itself, which is random: the order says nothing about who came when.
        rows = self._transactions.read(lambda c: c.execute(query.order_by(CODE.c.code)).all())
        codes = [
            CompletionCode(row.code, row.amount, bool(row.checked), row.panel or {}) for row in rows
        ]
        return Codes(len(codes), sum(one.checked for one in codes), codes if over else None)

    @writes
    def bind(
        self, connection: Connection, survey: str, typed: str, person: str, panel: Mapping[str, str]
    ) -> None:
        """Bind a code to the name by which a panel knows its holder, and its other parameters.

        Raises `NotFound` (no such code), `WrongState` (this person has another code, or this code
        another holder): a person of a panel gets one code.
        """
        code = written(typed)
        if not _possible(code) or not _possible(person, longest=200):
            raise NotFound("there is no such completion code of this survey.")
        # The code first: else anybody could ask, without one, who of a panel took part.
        mine = (CODE.c.survey == survey) & (CODE.c.code == code)
        row = connection.execute(select(CODE.c.person).where(mine)).first()
        if row is None:
            raise NotFound("there is no such completion code of this survey.")
        taken = WrongState("this completion code is bound to somebody else.")
        if row.person not in (None, person):
            raise taken
        named = (CODE.c.survey == survey) & (CODE.c.person == person) & (CODE.c.code != code)
        if connection.execute(select(CODE.c.code).where(named)).first() is not None:
            raise WrongState("this person of the panel has a completion code of this survey.")
        free = CODE.c.person.is_(None) | (CODE.c.person == person)
        change = update(CODE).where(mine, free).values(person=person, panel=dict(panel))
        # The key of the table decides where two codes are bound to one person at once.
        if connection.execute(change).rowcount != 1:
            raise taken

    @writes
    def check(
        self, connection: Connection, survey: str, reward: Reward | None, typed: Sequence[str]
    ) -> list[tuple[str, str]]:
        """Check codes off; return each with whether it is valid, was checked before, or unknown.

        A code that comes twice in one list is valid the first time.
        """
        codes = [written(one) for one in typed if one.strip()]
        if not 0 < len(codes) <= MOST_AT_ONCE:
            raise ParameterError(f"{len(codes)} codes were given; give 1 to {MOST_AT_ONCE}.")
        if reward is None:
            raise WrongState("this survey gives no completion codes.")
        return [(code, _check(connection, survey, code)) for code in codes]


def _possible(text: str, *, longest: int = 32) -> bool:
    # Anything else cannot be there, and a database may refuse to look for it.
    return len(text) <= longest and text.isprintable() and (longest > 32 or text.isascii())


def _check(connection: Connection, survey: str, code: str) -> str:
    if not _possible(code):
        return UNKNOWN
    mine = (CODE.c.survey == survey) & (CODE.c.code == code)
    # One conditional update: of two who check the same code at once, one is told that it is valid.
    first = update(CODE).where(mine, CODE.c.checked.is_(False)).values(checked=True)
    if connection.execute(first).rowcount == 1:
        return VALID
    return USED if connection.execute(select(CODE.c.code).where(mine)).first() else UNKNOWN
