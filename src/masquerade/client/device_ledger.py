"""The device's own ledger, in one file: the privacy spent on each server and on all together.

A server that forgets, or counts less, could otherwise ask the same person for ever. So each
response is reserved here before it is asked for, spent here before a question is shown, and
refused here where it does not fit: by the same ledger, to the same millionth, as on a server.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from masquerade.accounting import Balance, Caps, Charge, Cost, Entry, Ledger, Spent
from masquerade.accounting.account_words import spent_by, split_responses, statement
from masquerade.accounting.balance import by_today, rebuilt
from masquerade.accounting.chain import PAID
from masquerade.accounting.cost import amounts_of, cost_of
from masquerade.accounting.storage import Decision
from masquerade.client.atomic_files import locked, make_folder, replace_file
from masquerade.errors import (
    AlreadyParticipated,
    BrokenChain,
    ClearDisclosureRefused,
    ConfirmationNeeded,
    InsufficientBudget,
    NotReserved,
    ParameterError,
    UnreadableFile,
)
from masquerade.exact import MICRO, Guarantee, Micro
from masquerade.exact.number import quantity

_FORM = 1


class LedgerFile:
    """Chains of entries, as `masquerade.accounting.Storage` asks for them.

    The file holds no balances: they are worked out at each change, and a chain that was changed by
    hand, or cut anywhere but at its end, is refused. So is one that was cut at its end where it is
    the account of all: what another account has paid has to stand there too.

    `whole`: the person whose account has what all others pay; None where each stands alone.
    """

    def __init__(self, path: Path, *, whole: str | None = None) -> None:
        self.path = path
        self._whole = whole

    def change(self, person: str, key: str, decide: Decision) -> Entry:
        """Store the decision of `decide`; see `Storage.change`."""
        make_folder(self.path.parent)
        # a file of its own: the ledger's is replaced, and a lock on the old one would stop nobody
        with locked(self.path.with_name(f".{self.path.name}.lock")):
            chains = self._read()
            entries = chains.setdefault(person, [])
            of_key = [entry for entry in entries if entry.charge.key == key]
            latest = of_key[-1] if of_key else None
            change = decide(rebuilt(entries) if entries else None, latest)
            if change is None:
                assert latest is not None
                return latest
            entry, _ = change
            entries.append(entry)
            self._write(chains)
            return entry

    def balance(self, person: str) -> Balance | None:
        """Return a person's balance; None where there are no entries."""
        return self.read(person)[0]

    def read(self, person: str) -> tuple[Balance | None, Sequence[Entry]]:
        """Return a person's balance and all entries, oldest first."""
        entries = self._read().get(person, [])
        return (rebuilt(entries) if entries else None), tuple(entries)

    def read_paid(self, person: str) -> tuple[Balance | None, Sequence[Entry]]:
        """Return a person's balance and committed charges, oldest first."""
        balance, entries = self.read(person)
        return balance, tuple(entry for entry in entries if entry.charge.kind in PAID)

    def persons(self) -> list[str]:
        """Return all persons with entries."""
        return [person for person, entries in self._read().items() if entries]

    def reservations(self, before: str) -> list[tuple[str, str]]:
        """Return person and key of each open reservation from before an ISO date."""
        reservations = []
        for person, entries in self._read().items():
            latest = {entry.charge.key: entry.charge for entry in entries}
            reservations += [
                (person, key)
                for key, charge in latest.items()
                if charge.kind == "reserve" and charge.day < before
            ]
        return reservations

    def _read(self) -> dict[str, list[Entry]]:
        try:
            # without the lock: the file is replaced in one step, so that what is read is whole
            held = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise UnreadableFile(
                f"{self.path} cannot be read ({type(error).__name__}); it is what this computer "
                "has spent, so nothing is answered without it. Restore it from a backup."
            ) from error
        try:
            costs = {digest: _cost(one) for digest, one in held["costs"].items()}
            chains = {
                person: [_entry(person, one, costs) for one in entries]
                for person, entries in held["chains"].items()
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UnreadableFile(
                f"{self.path} is no ledger of this version ({error!r}); restore it from a backup."
            ) from error
        if self._whole is not None:
            self._require_whole(chains, self._whole)
        for entries in chains.values():
            # an account of an earlier rule goes on under that of today; written with its next step
            step = by_today(entries)
            if step is not None:
                entries.append(step)
        return chains

    def _require_whole(self, chains: dict[str, list[Entry]], whole: str) -> None:
        # Whatever is paid is paid there first, so that a crash leaves nothing that is missing.
        paid = {
            person: {(e.charge.key, e.charge.cost) for e in some if e.charge.kind in PAID}
            for person, some in chains.items()
        }
        missing = set().union(*paid.values()) - paid.get(whole, set())
        if missing:
            raise BrokenChain(
                f"{self.path} lacks {quantity(len(missing), 'response')} in the account of all "
                "servers, which a server's own account has: entries were removed. Restore it from "
                "a backup."
            )

    def _write(self, chains: dict[str, list[Entry]]) -> None:
        costs = {e.charge.cost.digest: e.charge.cost for some in chains.values() for e in some}
        held = {
            "form": _FORM,
            "costs": {digest: _cost_json(cost) for digest, cost in costs.items()},
            "chains": {person: list(map(_entry_json, some)) for person, some in chains.items()},
        }
        replace_file(self.path, json.dumps(held, allow_nan=False))


def _entry_json(entry: Entry) -> list[Any]:
    _, cost, day, kind, key, caps = entry.charge
    held = None if caps is None else [caps.epsilon.micro, str(caps.delta), caps.clear, caps.rule]
    return [cost.digest, day, kind, key, held, entry.previous_hash, entry.hash, entry.sequence]


def _entry(person: str, held: list[Any], costs: dict[str, Cost]) -> Entry:
    digest, day, kind, key, caps, previous_hash, hash_, sequence = held
    cost = costs[digest]
    if cost.digest != digest:
        raise BrokenChain("an amount in this computer's ledger was changed; restore a backup.")
    known = None
    if caps is not None:
        # caps that were kept before there were two rules hold by the first
        rule = caps[3] if len(caps) > 3 else 1
        known = Caps(Micro(caps[0]), Fraction(caps[1]), caps[2], rule)
    return Entry(Charge(person, cost, day, kind, key, known), sequence, previous_hash, hash_)


def _cost_json(cost: Cost) -> dict[str, Any]:
    return {"survey": cost.survey, "mechanisms": list(cost.mechanisms), **amounts_of(cost)}


def _cost(held: dict[str, Any]) -> Cost:
    return cost_of(held["survey"], tuple(held["mechanisms"]), held)


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
        self._file = LedgerFile(home / "ledger.json", whole=EVERYWHERE)
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
                f"this survey asks for {quantity(error.needed, 'answer')} in clear and your device "
                f"allows {error.residual} more; masquerade caps --clear changes that.",
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
