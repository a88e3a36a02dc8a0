"""A program of a method for numbers on one partition, taken up at every visit where it was left."""

from __future__ import annotations

import operator
import os
import pickle
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from masquerade.truth.numeric.programs import (
    Loop,
    MedianOf,
    Program,
    Request,
    Section,
    Together,
    exact_median,
)

_RECORD = "record-"  # and the number of visits made
_SMALL = 1 << 14  # bytes of a result that is kept in the record itself


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """The result of a program that has come to its end on a partition."""

    result: Any

    def __add__(self, other: Finished) -> Finished:
        return self  # all partitions come to the same of the crowd


@dataclass(frozen=True, slots=True, eq=False)
class Lost:
    """The answer where a program was begun in scratch files that are gone."""


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """What several programs of a partition ask for; parts of blocks add up one by one."""

    parts: tuple[Request | Joint, ...]

    def __add__(self, other: Joint) -> Joint:
        pairs = zip(self.parts, other.parts, strict=True)
        return Joint(tuple(operator.add(one, another) for one, another in pairs))

    def __reduce__(self) -> tuple[Any, ...]:
        return Joint, (self.parts,)  # see `Request`

    @property
    def figures(self) -> tuple[Any, ...]:
        """The figures of each of the programs."""
        return tuple(part.figures for part in self.parts)


class _Entry(NamedTuple):
    """What a program was sent, or what a part of it came to.

    A tuple: a record has many, and a dataclass with slots takes ten times as long to be pickled.
    """

    # {"figures", "result", "state", "open", "branches"}: "open" is a section that goes on, and
    # "branches" are programs that go on together.
    kind: str
    # The figures, or the branches; of a result or a state its bytes, or the name of its file.
    value: Any = None


@dataclass(eq=False)
class _Trail:
    """What one program was sent so far, in its order, and how far it has read that again."""

    entries: list[_Entry] = field(default_factory=list)
    place: int = 0
    over: bool = False

    def next(self) -> _Entry | None:
        """Return the next entry; None at the end."""
        if self.place == len(self.entries):
            return None
        self.place += 1
        return self.entries[self.place - 1]

    def put(self, here: int, entry: _Entry) -> None:
        """Put an entry in place of all those from `here` on."""
        self.entries[here:] = [entry]
        self.place = here + 1

    def send(self, figures: tuple[Any, ...]) -> None:
        """Add what the program asked for, of branches each that goes on its own."""
        if self.entries and self.entries[-1].kind == "branches":
            going = [branch for branch in self.entries[-1].value if not branch.over]
            for branch, own in zip(going, figures, strict=True):
                branch.send(own)
        else:
            self.entries.append(_Entry("figures", figures))

    def files(self) -> Iterator[str]:
        """Yield the names of the files that entries are in."""
        for entry in self.entries:
            if entry.kind == "branches":
                for branch in entry.value:
                    yield from branch.files()
            elif isinstance(entry.value, str):
                yield entry.value


@dataclass(eq=False)
class Replay:
    """A program on one partition: what it was sent so far, in a folder of scratch files.

    A visit runs the program from its start. Where a section is over its result is read instead, in
    a loop only the state of the last round, so what is done again is less than a round. Nothing of
    a partition stays in memory between visits.
    """

    folder: Path
    trail: _Trail = field(default_factory=_Trail)
    outcome: Any = None  # of the last visit
    _files: int = 0

    @classmethod
    def visit(
        cls,
        folder: Path,
        number: int,
        figures: tuple[Any, ...] | None,
        program: Callable[[], Program[Any]],
        kept: Callable[[Any], Any],
    ) -> Request | Joint | Finished | Lost:
        """Go on with a program until it needs figures of all partitions, or ends.

        Parameters
        ----------
        folder : Path
        number : int
            Of the visit, from 0. One that was made before has its outcome already.
        figures : tuple or None
            What the program asked for in the visit before.
        program : callable
            Returns the program, at its start.
        kept : callable
            Returns what of the result goes to everyone; the result itself stays in the folder.
        """
        before, after = folder / f"{_RECORD}{number}", folder / f"{_RECORD}{number + 1}"
        if after.exists():
            made: Replay = pickle.loads(after.read_bytes())
            return made.outcome  # type: ignore[no-any-return]
        if before.exists():
            replay: Replay = pickle.loads(before.read_bytes())
            assert figures is not None
            replay.trail.send(figures)
        elif number:
            return Lost()
        else:
            folder.mkdir(parents=True, exist_ok=True)
            replay = cls(folder)
        done, found = replay._run(program, replay.trail)
        if done:
            found = Finished(kept(replay._read(replay.trail.entries[0])))
        replay.outcome = found
        draft = folder / secrets.token_hex(8)
        draft.write_bytes(pickle.dumps(replay))
        # At once: a visit is made whole or not at all. Not over the record before, which some file
        # systems would wait for.
        os.replace(draft, after)
        named = {after.name, *replay.trail.files()}
        for name in os.listdir(folder):
            if name not in named:
                (folder / name).unlink()
        return found  # type: ignore[no-any-return]

    @classmethod
    def result(cls, folder: Path) -> Any:
        """Return the result of a program that is over; `Lost` where the files are gone."""
        record = next(folder.glob(f"{_RECORD}*"), None)
        if record is None:
            return Lost()
        replay: Replay = pickle.loads(record.read_bytes())
        return replay._read(replay.trail.entries[0])

    def _run(self, start: Callable[[], Program[Any]], trail: _Trail) -> tuple[bool, Any]:
        """Run a program along its own trail; leave its result there, if it ends.

        Return whether it ended, else what it asks for.
        """
        trail.place = 0
        done, found = self._through(start(), trail)
        if done:
            trail.over = True
            trail.put(0, _Entry("result", self._saved(found)))
        return done, None if done else found

    def _through(self, program: Program[Any], trail: _Trail) -> tuple[bool, Any]:
        """Return whether the program came to its end, and its result or what it asks for."""
        answer: Any = None
        while True:
            try:
                request = program.send(answer)
            except StopIteration as end:
                return True, end.value
            if isinstance(request, Request):
                entry = trail.next()
                done, answer = (False, request) if entry is None else (True, entry.value)
            elif isinstance(request, Loop):
                done, answer = self._loop(request, trail)
            elif isinstance(request, Together):
                done, answer = self._together(request, trail)
            else:
                if isinstance(request, MedianOf):
                    request = Section(partial(exact_median, request.values))
                done, answer = self._section(request, trail)
            if not done:
                program.close()
                return False, answer

    def _section(self, section: Section, trail: _Trail) -> tuple[bool, Any]:
        here, entry = trail.place, trail.next()
        if entry is None:
            trail.put(here, _Entry("open"))
        elif entry.kind == "result":
            return True, self._read(entry)
        done, value = self._through(section.program(), trail)
        if done:
            trail.put(here, _Entry("result", self._saved(value)))
        return done, value

    def _loop(self, loop: Loop, trail: _Trail) -> tuple[bool, Any]:
        here, entry = trail.place, trail.next()
        if entry is None:
            state = loop.start
            trail.put(here, _Entry("state", self._saved(state)))
        else:
            state = self._read(entry)
            if entry.kind == "result":
                return True, state
        while True:
            done, value = self._through(loop.body(state), trail)
            if not done:
                return False, value
            state, over = value
            trail.put(here, _Entry("result" if over else "state", self._saved(state)))
            if over:
                return True, state

    def _together(self, request: Together, trail: _Trail) -> tuple[bool, Any]:
        here, entry = trail.place, trail.next()
        if entry is None:
            entry = _Entry("branches", [_Trail() for _ in request.programs])
            trail.put(here, entry)
        elif entry.kind == "result":
            return True, self._read(entry)
        asked: list[Any] = []
        for start, branch in zip(request.programs, entry.value, strict=True):
            # One after the other: only one branch's arrays are in memory.
            done, found = (True, None) if branch.over else self._run(start, branch)
            if not done:
                asked.append(found)
        if asked:
            return False, Joint(tuple(asked))
        results = [self._read(branch.entries[0]) for branch in entry.value]
        trail.put(here, _Entry("result", self._saved(results)))
        return True, results

    def _saved(self, value: Any) -> bytes | str:
        data = pickle.dumps(value, protocol=5)
        if len(data) <= _SMALL:
            return data
        # On its own: a record is written at every visit, and what is large should not be.
        self._files += 1
        name = f"{self._files}.pickle"
        (self.folder / name).write_bytes(data)
        return name

    def _read(self, entry: _Entry) -> Any:
        held = entry.value
        # Bytes that this process, or the worker before it, wrote itself.
        return pickle.loads(held if isinstance(held, bytes) else (self.folder / held).read_bytes())
