"""A ledger in one file, which survives a crash at any moment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from masquerade.accounting import Balance, Caps, Charge, Cost, Entry
from masquerade.accounting.balance import by_today, rebuilt
from masquerade.accounting.chain import PAID
from masquerade.accounting.cost import amounts_of, cost_of
from masquerade.accounting.storage import Decision
from masquerade.client.atomic_files import locked, make_folder, replace_file
from masquerade.errors import BrokenChain, UnreadableFile
from masquerade.exact import Micro

_FORM = 1


class LedgerFile:
    """Chains of entries, as `masquerade.accounting.Storage` asks for them.

    The file holds no balances: they are worked out at each change, and a chain that was cut or
    changed by hand is refused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

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
        except (OSError, ValueError) as error:
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
        for entries in chains.values():
            # an account of an earlier rule goes on under that of today; written with its next step
            step = by_today(entries)
            if step is not None:
                entries.append(step)
        return chains

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
