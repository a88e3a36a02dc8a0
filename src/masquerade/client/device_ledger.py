"""The device's own ledger: the privacy spent on each server and on all together.

A server that forgets, or counts less, could otherwise ask the same person for ever. So each
response is reserved here before it is asked for, spent here before a question is shown, and
refused here where it does not fit: by the same ledger, to the same millionth, as on a server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from masquerade.accounting import Balance, Caps, Cost, Entry, Ledger, Spent
from masquerade.accounting.account_words import spent_by, split_responses, statement
from masquerade.client.ledger_file import LedgerFile
from masquerade.errors import (
    AlreadyParticipated,
    ClearDisclosureRefused,
    ConfirmationNeeded,
    InsufficientBudget,
    NotReserved,
    ParameterError,
)
from masquerade.exact import MICRO, Guarantee, Micro

#: The account of all servers together; a server's own is named by its address.
EVERYWHERE = "everywhere"

KEPT_BY_BOTH = (
    "This account is kept by your device and by the server, each for itself: a response goes out "
    "only where both allow it."
)
# A server's own account stops nothing until its owner lowers it: the one of all servers does.
_OPEN = Caps(Micro(1_000_000_000), clear=1_000_000)


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of a response and of all responses so far, by this device's own account.

    Amounts are floats, or the text ``"inf"``. `survey_epsilon` holds at `survey_delta`,
    `total_epsilon` (all responses on the server) at `total_delta`, and `everywhere_epsilon` (on all
    servers) at `everywhere_delta`.

    `method`: by which the total was composed.
    `surveys`: number of responses on the server.
    `day`: of the response, as ISO date.
    """

    survey_epsilon: float | str
    survey_delta: float
    survey_rho: float | str
    total_epsilon: float | str
    total_delta: float
    method: str
    surveys: int
    everywhere_epsilon: float | str
    everywhere_delta: float
    day: str

    def to_json(self) -> dict[str, Any]:
        """Return the bill as a JSON object."""
        return asdict(self)


class DeviceLedger:
    """The account of all participants of one home folder.

    Parameters
    ----------
    home : Path
        Where the ledger is kept, in one file.
    clock : callable, optional
        Gives the ISO date of an entry; nothing finer is kept.

    Privacy
    -------
    Everything that leaves through this folder, to whatever servers and under whatever identities,
    is together (``caps.epsilon``, ``caps.delta``)-private but for answers in clear, of which there
    are at most ``caps.clear``; see `masquerade.accounting.Caps`. Another folder, another device or
    the web app has a ledger of its own: what they sent adds up. Whoever deletes the folder deletes
    what it remembers.
    """

    def __init__(self, home: Path, *, clock: Callable[[], str] | None = None) -> None:
        self._file = LedgerFile(home / "ledger.json")
        clock = clock or _today
        self._everywhere = Ledger(self._file, clock=clock)
        self._servers = Ledger(self._file, clock=clock, caps=_OPEN)

    def reserve(self, server: str, key: str, cost: Cost) -> None:
        """Reserve the cost of a response; the same key again changes nothing.

        Raises
        ------
        InsufficientBudget, ClearDisclosureRefused
            It does not fit the caps of this device.
        """
        try:
            self._everywhere.reserve(EVERYWHERE, key, cost)
            self._servers.reserve(server, key, cost)
        except InsufficientBudget as error:
            # the other account may have it already: both or neither
            self.release(server, key)
            raise InsufficientBudget(
                f"this survey costs {error.unit} {error.needed:g} and your device allows "
                f"{error.residual:g} more. Its account counts all servers; masquerade caps shows "
                "and changes it.",
                needed=error.needed,
                residual=error.residual,
                unit=error.unit,
            ) from error
        except ClearDisclosureRefused as error:
            self.release(server, key)
            raise ClearDisclosureRefused(
                f"this survey asks for {error.needed} answers in clear and your device allows "
                f"{error.residual} more; masquerade caps --clear changes that.",
                needed=error.needed,
                residual=error.residual,
            ) from error

    def commit(self, server: str, key: str) -> None:
        """Commit the reserved cost, before a question is shown; it never comes back."""
        self._everywhere.commit(EVERYWHERE, key)
        self._servers.commit(server, key)

    def release(self, server: str, key: str) -> None:
        """Release the reserved cost, where nothing was opened; else nothing changes."""
        for ledger, account in ((self._everywhere, EVERYWHERE), (self._servers, server)):
            try:
                ledger.release(account, key)
            except NotReserved:
                continue

    def keep_only(self, server: str, survey: str, key: str, *, identity: str) -> None:
        """Release reservations for a survey that a crash left under other keys."""
        for account in (EVERYWHERE, server):
            for charge in _latest(self._file.read(account)[1]).values():
                # others who use this computer may be answering the same survey
                mine = charge.survey == survey and charge.key.startswith(identity)
                if mine and charge.kind == "reserve" and charge.key != key:
                    self.release(server, charge.key)

    def answered(self, survey: str, *, identity: str) -> bool:
        """Return whether the questions of a survey were ever opened here under an identity."""
        paid = [entry.charge for entry in self._paid()]
        return any(c.survey == survey and c.key.startswith(identity) for c in paid)

    def require_one_address(self, survey: str) -> None:
        """Refuse a survey between two parties that was opened here at another address, by anybody.

        A person who is in a sum twice is protected at four times its rho, and this ledger would
        count two. The same task has the same token wherever it is offered.

        Raises
        ------
        AlreadyParticipated
        """
        _, _, token = survey.rpartition("/")
        for entry in self._paid():
            other = entry.charge.survey
            if other != survey and other.endswith(f"/s/{token}"):
                raise AlreadyParticipated(
                    f"this survey was opened on this device before, at {other}. Whoever is counted "
                    "twice in one sum is protected less than twice as well; go on there."
                )

    def caps(self, server: str | None = None) -> Caps:
        """Return the caps of all servers, or of one server where they are lower."""
        caps = self._everywhere.balance(EVERYWHERE).caps
        return caps if server is None else _lower(caps, self._servers.balance(server).caps)

    def set_caps(
        self,
        *,
        server: str | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        clear: int | None = None,
        confirm: bool = False,
    ) -> Caps:
        """Change the caps of this device at once and return them; None leaves one as it is.

        Parameters
        ----------
        server : str, optional
            Only on this one; there it can be lower than in all, never higher.
        epsilon, delta, clear
            What all answers together may cost, the probability with which that may fail, and how
            many answers may be sent in clear.
        confirm : bool
            Needed to raise one, which weakens what was promised, for the past too.

        Raises
        ------
        ConfirmationNeeded
            A cap would rise, and `confirm` is false.
        ParameterError
            An amount is none.
        """
        now = self.caps(server)
        if epsilon is not None and not 0 <= epsilon < math.inf:
            raise ParameterError(f"epsilon is {epsilon}, expected a number of at least 0.")
        if delta is not None and not 0 <= delta < 1:
            raise ParameterError(f"delta is {delta}, expected 0 to below 1.")
        new = Caps(
            # Down to whole millionths: never more than what was written.
            now.epsilon if epsilon is None else Micro(int(Decimal(str(epsilon)) * MICRO)),
            now.delta if delta is None else Fraction(str(delta)),
            now.clear if clear is None else clear,
        )
        if new == now:
            return now
        if not new.within(now) and not confirm:
            raise ConfirmationNeeded(
                "a cap of this device would rise, which weakens what it promised for all that was "
                "ever sent from here; confirm that, or lower it only."
            )
        if server is None:
            self._everywhere.raise_caps(EVERYWHERE, new)
        else:
            self._servers.raise_caps(server, new)
        return self.caps(server)

    def balance(self, server: str | None = None) -> Balance:
        """Return where an account stands, under the caps that hold for it."""
        if server is None:
            return self._everywhere.balance(EVERYWHERE)
        # a server's own caps are wide open at first, so that the lower of both is shown
        return self._servers.balance(server)._replace(caps=self.caps(server))

    def entries(self, server: str | None = None) -> list[Entry]:
        """Return all steps on an account, oldest first."""
        return list(self._file.read(server or EVERYWHERE)[1])

    def _paid(self, server: str | None = None) -> Sequence[Entry]:
        return self._file.read_paid(server or EVERYWHERE)[1]

    def spent(self, server: str | None = None) -> Spent:
        """Return the smallest sound bound on the privacy spent; see `Ledger.spent`."""
        return spent_by(self.balance(server), self._paid(server))

    def account(self, server: str | None = None) -> dict[str, Any]:
        """Return where an account stands as a JSON object, in numbers and sentences.

        ``battery`` is what is left of all, whatever server it was spent on; ``here`` and
        ``everywhere`` what was spent on the server and on all. ``split_responses`` counts those on
        the server that two parties could read if both put their halves together.
        """
        here, everywhere = self.spent(server), self.spent()
        caps, balance = self.caps(server), self.balance()
        sentences = list(statement(balance, self._paid()))
        if server is not None:
            sentences.append(
                f"On {server}: epsilon = {here.epsilon}, delta = {float(here.delta):g}."
            )
        return {
            "battery": {
                "percent_left": min(balance.percent_left, self.balance(server).percent_left),
                "epsilon_spent": here.epsilon.to_json(),
                "delta": float(here.delta),
                "epsilon_cap": caps.epsilon.to_json(),
                "clear": self.balance(server).spent_clear,
                "method": here.method,
            },
            "everywhere": {
                "epsilon_spent": everywhere.epsilon.to_json(),
                "delta": float(everywhere.delta),
                "clear": balance.spent_clear,
                "servers": sum(name != EVERYWHERE for name in self._file.persons()),
            },
            "caps": _caps_json(caps),
            "open_reservations": self.balance(server).open,
            "split_responses": split_responses(self._paid(server)),
            "statement": [*sentences, KEPT_BY_BOTH],
        }

    def bill(self, server: str, key: str, promise: Guarantee) -> Bill:
        """Return the bill of the response under a key."""
        paid = self._paid(server)
        mine = next(entry.charge for entry in paid if entry.charge.key == key)
        spent, everywhere = self.spent(server), self.spent()
        return Bill(
            survey_epsilon=promise.epsilon_user.to_json(),
            survey_delta=float(promise.delta),
            survey_rho=mine.cost.rho.to_json(),
            total_epsilon=spent.epsilon.to_json(),
            total_delta=float(spent.delta),
            method=spent.method,
            surveys=len(paid),
            everywhere_epsilon=everywhere.epsilon.to_json(),
            everywhere_delta=float(everywhere.delta),
            day=mine.day,
        )


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return a step on an account as a JSON object."""
    charge = entry.charge
    return {
        "sequence": entry.sequence,
        "kind": charge.kind,
        "survey": charge.survey.rpartition("/")[2] or None,
        "mechanisms": list(charge.mechanisms),
        "epsilon_event": charge.event.to_json(),
        "epsilon_user": charge.user.to_json(),
        "rho": charge.cost.rho.to_json(),
        "clear": charge.cost.clear,
        "caps": None if charge.caps is None else _caps_json(charge.caps),
        "day": charge.day,
        "hash": entry.hash,
    }


def _caps_json(caps: Caps) -> dict[str, Any]:
    return {"epsilon": caps.epsilon.to_json(), "delta": float(caps.delta), "clear": caps.clear}


def _latest(entries: Sequence[Entry]) -> dict[str, Any]:
    return {entry.charge.key: entry.charge for entry in entries}


def _lower(one: Caps, other: Caps) -> Caps:
    return Caps(
        min(one.epsilon, other.epsilon), min(one.delta, other.delta), min(one.clear, other.clear)
    )


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
