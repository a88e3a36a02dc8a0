"""Worst neighbours for each private engine: worlds that differ in what one user says or did."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from masquerade.errors import ParameterError
from masquerade.release import (
    ENGINES,
    Cells,
    Engine,
    GroupedClaims,
    PosteriorHistogram,
    PrivateEngine,
    Release,
    TwoPassHistogram,
)
from masquerade.release.guarantee import UNITS

MODES = {"plain": None, "weighted": "reliability", "listed": "objects"}
"""What is public: participation; also weights of users; or a list of objects in its place."""

Claim = tuple[int, int, float]  # object, user, value
World = list[Claim]
U = 0  # the user whose values are replaced, or who is removed
FEW, MANY = 4, 17  # claims of others about an object; weights are used from 70 / epsilon


@dataclass(frozen=True)
class Path:
    """A private engine at one unit in one mode."""

    kind: type[PrivateEngine]
    unit: str
    mode: str

    def __str__(self) -> str:
        return f"{self.kind.name} {self.unit} {self.mode}"

    @property
    def epsilon(self) -> int:
        """Epsilon of an object, with the unit "claim" of the release."""
        return 4 if self.mode == "weighted" else 2

    @property
    def cap(self) -> int:
        """Most objects of a user that are used."""
        # one where noise is spread over many counts, so that a fault still shows
        return 1 if self.mode == "weighted" or self.kind is TwoPassHistogram else 2

    @property
    def objects(self) -> int:
        """Objects of one copy: with the unit "user" one more than the cap uses."""
        return 1 if self.unit == "claim" else self.cap + 1

    @property
    def copies(self) -> int:
        """Copies of each neighbour that are drawn at once."""
        # two passes share epsilon
        if self.kind is TwoPassHistogram:
            return 16_000
        return 4000 if self.unit == "claim" and self.mode != "weighted" else 8000

    @property
    def high(self) -> float:
        """High end of the domain, of which the low one is 0."""
        return 3.0

    def world(self, ours: float | None) -> World:
        """Return the claims of one copy; `ours`: all values of user `U`, who is not there at None.

        The other users stand at the low end, each with one claim.
        """
        others = MANY if self.mode == "weighted" else FEW
        if self.kind is TwoPassHistogram:
            others = 0  # who stands alone has the largest weight
        cells: World = []
        for at in range(self.objects):
            if ours is not None:
                cells.append((at, U, ours))
            cells += [(at, 1 + at * others + i, 0.0) for i in range(others)]
        return cells

    def worlds(self) -> tuple[World, World]:
        """Return the worst neighbours: from one end to the other, or gone."""
        if self.mode == "listed":
            return self.world(0.0), self.world(None)
        return self.world(self.high), self.world(0.0)

    @property
    def times(self) -> int:
        """How many times epsilon the two worlds may be told apart by."""
        return 1

    def shown(self, release: Release) -> Release:
        """Return what is published of a release."""
        return release

    def claims(self, world: World, copies: int) -> GroupedClaims:
        """Return so many copies of a world, each with objects and users of its own."""
        at, user, value = (np.array(each) for each in zip(*world, strict=True))
        copy = np.arange(copies)[:, None]
        return GroupedClaims.of(
            {
                "task": (copy * self.objects + at).ravel(),
                "worker": (copy * 1000 + user).ravel(),
                "value": np.tile(value, copies),
            }
        )

    def engine(self, copies: int = 1) -> Engine:
        """Return the engine for so many copies of a world."""
        words: dict[str, Any] = {
            "epsilon": self.epsilon,
            "domain": (0, self.high),
            "unit": self.unit,
            "cap": self.cap,
        }
        known = {field.name for field in dataclasses.fields(self.kind)}
        if "bins" in known:
            words["bins"] = 3
        if self.mode == "weighted":
            others = {user for _, user, _ in self.world(None)}
            words["reliability"] = {
                copy * 1000 + user: 0.05 for copy in range(copies) for user in others
            }
        if self.mode == "listed":
            words |= {"objects": range(copies * self.objects), "expected": FEW}
        return self.kind(**words)


ATTRIBUTES = {"shift": ("day", "night"), "site": ("north", "south")}
CHANGES = ("gone", "value", "categories")


@dataclass(frozen=True)
class CellsPath(Path):
    """Listed objects in the cells of several attributes at once; what user `U` does differs.

    `change`: the claims of `U` are gone, have other values, or stand in other categories. Cells of
    a copy are numbered object by object, by day before those by night.
    """

    change: str

    def __str__(self) -> str:
        return f"attributes {self.unit} {self.change}"

    @property
    def times(self) -> int:
        """How many times epsilon: what is replaced is removed and added."""
        return 1 if self.change == "gone" else 2

    @property
    def epsilon(self) -> int:
        """Epsilon of a claim, or of a user."""
        return 2 // self.times

    @property
    def copies(self) -> int:
        """Copies of each neighbour that are drawn at once."""
        return 3000 if self.unit == "claim" else 8000

    @property
    def cap(self) -> int:
        """Most cells of a user that are used."""
        return 3 - self.times  # one where something is replaced, so that a fault shows

    @property
    def objects(self) -> int:
        """Cells of one copy: of one object, or of two."""
        return 4 if self.unit == "claim" else 4 * self.cap

    def worlds(self) -> tuple[World, World]:
        """Return the worst neighbours; a user who is gone had one claim more than the cap uses."""
        day = [0, 1, 4] if self.unit == "user" and self.change == "gone" else [0]
        others: World = [(at, 1 + at, 0.0) for at in range(self.objects)]
        one: World = [(at, U, self.high) for at in day]
        far, value = (2, self.high) if self.change == "categories" else (0, 0.0)
        other = [] if self.change == "gone" else [(at + far, U, value) for at in day]
        return others + one, others + other

    def cells(self, copies: int) -> Cells:
        """Return the cells of so many copies, whose names are in the order of their numbers."""
        return Cells([f"{i:06}" for i in range(copies * self.objects // 4)], ATTRIBUTES)

    def claims(self, world: World, copies: int) -> GroupedClaims:
        """Return so many copies of a world, with a column for each attribute."""
        at, user, value = (np.array(each) for each in zip(*world, strict=True))
        copy = np.arange(copies)[:, None]
        cell = (copy * self.objects + at).ravel()
        table = {
            "task": [f"{i:06}" for i in cell // 4],
            "worker": (copy * 1000 + user).ravel(),
            "value": np.tile(value, copies),
            "shift": [ATTRIBUTES["shift"][i] for i in cell // 2 % 2],
            "site": [ATTRIBUTES["site"][i] for i in cell % 2],
        }
        return GroupedClaims.of(self.cells(copies).claims(table))

    def engine(self, copies: int = 1) -> Engine:
        """Return the engine for so many copies of a world."""
        return self.cells(copies).engine(
            expected=4,
            epsilon=self.epsilon,
            domain=(0, self.high),
            unit=self.unit,
            cap=self.cap,
            bins=3,
        )

    def shown(self, release: Release) -> Release:
        """Return the release with the points that each cell gets."""
        return self.cells(len(release.objects) // self.objects).shared_out(release, 1)


def is_offered(path: Path) -> bool:
    """Return whether the engine can be made so; a combination that is refused promises nothing."""
    parameter = MODES[path.mode]
    if parameter and parameter not in {field.name for field in dataclasses.fields(path.kind)}:
        return False
    try:
        path.engine()
    except ParameterError:
        return False
    return True


PRIVATE = [kind for kind in ENGINES if issubclass(kind, PrivateEngine)]
PATHS = [
    path
    for kind in PRIVATE
    for unit in UNITS
    for mode in MODES
    if is_offered(path := Path(kind, unit, mode))
]

CELLS = [
    CellsPath(PosteriorHistogram, unit, "listed", change) for unit in UNITS for change in CHANGES
]
