"""Rows of participations in a transaction that changes many of them at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection

from masquerade.server.db.row_sets import Changes, Journal, RowSet
from masquerade.server.db.tables import PARTICIPATION, SUBMITTED

#: Pairs of places in a list, as a row has them.
Places = Sequence[Sequence[int]]

_CHANGING = ("id", "level", "state", "attempt", "day", "idempotency", "commitment", "pairs")
_READ: Final = RowSet(PARTICIPATION, ("survey", "pseudonym", *_CHANGING))
_WRITTEN: Final = RowSet(PARTICIPATION, ("survey", "pseudonym", *_CHANGING, "reports"))
_CHANGED: Final = RowSet(PARTICIPATION, (*_CHANGING, "reports"))
_PLACE: Final = RowSet(PARTICIPATION, ("id", "survey"))
_MOST_PLACES: Final = 20_000


@dataclass(slots=True, eq=False)
class ParticipationRow:
    """A participation as the table has it, but for reports that were sent before."""

    survey: str
    pseudonym: str
    id: str
    level: str
    state: str
    attempt: int
    day: str | None = None
    idempotency: str | None = None
    commitment: str | None = None
    pairs: Places | None = None
    reports: Sequence[int] | None = None
    stored: str | None = None  # the id in the table; None before it is there

    def cells(self) -> tuple[Any, ...]:
        """Return the columns that change."""
        pairs, reports = _text(self.pairs), _text(self.reports)
        numbers = (self.id, self.level, self.state, self.attempt, self.day, self.idempotency)
        return (*numbers, self.commitment, pairs, reports)


class ParticipationRows:
    """Participations that nobody else can change until the transaction ends.

    Changes are in memory, where `journal` takes them back, until `flush` writes all of them.
    `places` are the surveys of ids that were met before: an id is of one survey for ever.
    """

    def __init__(self, connection: Connection, journal: Journal, places: dict[str, str]) -> None:
        self._connection = connection
        # PostgreSQL finds a row's partition by the survey; SQLite needs the id alone.
        self._partitioned = connection.dialect.name == "postgresql"
        self._places = places
        self._journal = journal
        self._by_id: dict[str, ParticipationRow | None] = {}
        self._by_name: dict[tuple[str, str], ParticipationRow | None] = {}
        self._by_request: dict[str, ParticipationRow | None] = {}
        self._changed: dict[int, ParticipationRow] = {}

    def surveys_of(self, ids: Iterable[str]) -> set[str]:
        """Return the surveys of participations, without locking them."""
        wanted = set(ids)
        unmet = sorted(wanted - self._places.keys())
        if len(self._places) > _MOST_PLACES:
            self._places.clear()
            unmet = sorted(wanted)
        self._places.update(_PLACE.read(self._connection, ("id",), unmet))
        return {self._places[one] for one in wanted if one in self._places}

    def load(self, ids: Iterable[str], names: Iterable[tuple[str, str, str]] = ()) -> None:
        """Read participations by id, and those begun.

        `names`: survey, pseudonym there, and the name of a request.
        """
        unread = sorted(set(ids) - self._by_id.keys())
        if self._partitioned:
            self.surveys_of(unread)
            there = sorted((self._places[one], one) for one in unread if one in self._places)
            self._read(("survey", "id"), there)
        else:
            self._read(("id",), unread)
        for one in unread:
            self._by_id.setdefault(one, None)
        names = list(names)
        pairs = sorted({name[:2] for name in names} - self._by_name.keys())
        self._read(("survey", "pseudonym"), pairs)
        requests = sorted({name[2] for name in names} - self._by_request.keys())
        self._read(("idempotency",), requests)
        for pair in pairs:
            self._by_name.setdefault(pair, None)
        for request in requests:
            self._by_request.setdefault(request, None)

    def by_id(self, id_: str) -> ParticipationRow | None:
        """Return a participation."""
        if id_ not in self._by_id:
            self.load([id_])
        return self._by_id[id_]

    def begun(self, survey: str, pseudonym: str, request: str) -> list[ParticipationRow]:
        """Return a person's participation in a survey, and the one begun by this request."""
        self.load((), [(survey, pseudonym, request)])
        found = self._by_name[survey, pseudonym], self._by_request[request]
        return list(dict.fromkeys(row for row in found if row is not None))

    def insert(self, row: ParticipationRow) -> None:
        """Add a participation; its id, name and request were looked for."""
        self._by_id.setdefault(row.id, None)
        self._journal.keep(self._by_id, row.id, row)
        self._places[row.id] = row.survey
        self._journal.keep(self._by_name, (row.survey, row.pseudonym), row)
        self._index_request(row)
        self._note(row)

    def change(self, row: ParticipationRow, **values: Any) -> None:
        """Change a participation."""
        # What was sent is not read, so it must be written anew or deleted.
        assert row.state != SUBMITTED or "reports" in values
        before = {name: getattr(row, name) for name in values}

        def back() -> None:
            for name, value in before.items():
                setattr(row, name, value)

        self._journal.note(back)
        for name, value in values.items():
            setattr(row, name, value)
        if "id" in values:
            self._by_id.setdefault(row.id, None)
            self._places[row.id] = row.survey
            self._journal.keep(self._by_id, before["id"], None)
            self._journal.keep(self._by_id, row.id, row)
            self._index_request(row)
        self._note(row)

    def flush(self, changes: Changes) -> None:
        """Add the changes to those that are sent; from here on they stay."""
        new: list[tuple[Any, ...]] = []
        changed: list[tuple[Any, ...]] = []
        for row in self._changed.values():
            if row.stored is None:
                new.append((row.survey, row.pseudonym, *row.cells()))
            else:
                found = (row.survey, row.stored) if self._partitioned else (row.stored,)
                changed.append((*row.cells(), *found))
            row.stored = row.id
        self._changed = {}
        _WRITTEN.insert(changes, new)
        keys = ("survey", "id") if self._partitioned else ("id",)
        _CHANGED.update(changes, keys, changed)

    def _read(self, keys: tuple[str, ...], values: Sequence[Any]) -> None:
        for cells in _READ.read(self._connection, keys, values, lock="FOR UPDATE"):
            found = self._by_id.get(cells[2])
            if found is None:
                found = ParticipationRow(*cells)
                found.pairs, found.stored = _value(cells[-1]), found.id
            row = found
            self._by_id[row.id] = row
            self._by_name[row.survey, row.pseudonym] = row
            if row.idempotency is not None:
                self._by_request[row.idempotency] = row

    def _index_request(self, row: ParticipationRow) -> None:
        if row.idempotency is not None:
            self._by_request.setdefault(row.idempotency, None)
            self._journal.keep(self._by_request, row.idempotency, row)

    def _note(self, row: ParticipationRow) -> None:
        if id(row) not in self._changed:
            self._changed[id(row)] = row
            self._journal.note(lambda: self._changed.pop(id(row)))


def _value(cell: Any) -> Any:
    """Return the value of a cell of JSON; one of the drivers has read it already."""
    return json.loads(cell) if isinstance(cell, str) else cell


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, separators=(",", ":"))
