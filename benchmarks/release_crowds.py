"""The eleven sets of claims that releases are measured on: six made-up crowds and five real ones.

Real sets need ``MASQUERADE_DATA``; without it they are left out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from masquerade.answers import Claims
from masquerade.release import GroupedClaims

#: Objects of a made-up crowd.
OBJECTS = 60


@dataclass(frozen=True, slots=True)
class Case:
    """Claims with their public range."""

    name: str
    claims: GroupedClaims
    low: str
    high: str
    step: str | None = None

    @property
    def width(self) -> float:
        """The width of the range."""
        return float(self.high) - float(self.low)


def made_up(name: str, users: int, *, objects: int = OBJECTS, seed: int = 0) -> Case:
    """Return claims of a made-up crowd."""
    rng = np.random.default_rng([seed, objects, users])
    size = (objects, users)
    centre = rng.uniform(2, 8, (objects, 1))
    ends: tuple[str, str, str | None] = ("0", "10", None)
    if name == "ratings":
        ends = ("1", "5", "1")
        middle = rng.uniform(2, 4.5, (objects, 1))
        values = np.clip(np.rint(rng.normal(middle, 1, size)), 1, 5)
    elif name == "yes or no":
        ends = ("0", "1", "1")
        values = (rng.random(size) < rng.beta(2, 2, (objects, 1))).astype(float)
    elif name == "heavy tails":
        values = np.clip(centre + 0.6 * rng.standard_t(1.5, size), 0, 10)
    elif name == "both ends":
        high = rng.random(size) < rng.beta(1, 1, (objects, 1))
        values = np.clip(np.where(high, 10, 0) + rng.normal(0, 0.7, size), 0, 10)
    else:
        values = np.clip(rng.lognormal(np.log(centre / 2), 0.4, size), 0, 10)
    table = {
        "task": np.repeat(np.arange(objects), users),
        "worker": np.tile(np.arange(users), objects),
        "value": values.ravel(),
    }
    return Case(f"{name}, {objects} x {users}", GroupedClaims.of(table), *ends)


def crowds() -> list[Case]:
    """Return the made-up crowds."""
    twenty = [made_up(name, 20) for name in ("ratings", "yes or no", "heavy tails", "both ends")]
    return [*twenty, made_up("lognormal", 20), made_up("lognormal", 200)]


def real() -> list[Case]:
    """Return the real sets that are there."""
    folder = os.environ.get("MASQUERADE_DATA")
    if not folder:
        return []
    found = []
    films = _read(Path(folder) / "movielens_small")
    if films is not None:
        order = np.argsort(-films.count, kind="stable")
        found.append(_films("MovieLens, 300 films, n 65-341", films, order[:300]))
        few = order[(films.count[order] <= 24) & (films.count[order] >= 18)]
        found.append(_films("MovieLens, 150 films, n 18-24", films, few[:150]))
    emotion = _read(Path(folder) / "emotion")
    if emotion is not None:
        names = [name for name in emotion.objects.to_pylist() if not name.startswith("valence")]
        some = emotion.about(names[:: len(names) // 150][:150])
        found.append(Case("emotion, 150 x 10", some, "0", "100", "1"))
    for name, high in (("count_people", "100"), ("count_vehicles", "200")):
        claims = _read(Path(folder) / name)
        if claims is not None:
            found.append(Case(f"{name}, 200 x 20", _clipped(claims, float(high)), "0", high))
    return found


def _read(folder: Path) -> GroupedClaims | None:
    path = folder / "claims.csv.gz"
    if not path.is_file():
        return None
    return GroupedClaims.of(Claims.read(path, kind="numeric", duplicates="last"))


def _films(title: str, films: GroupedClaims, chosen: np.ndarray) -> Case:
    names = [films.objects[int(i)].as_py() for i in chosen]
    return Case(title, films.about(names), "0.5", "5", "0.5")


def _clipped(claims: GroupedClaims, high: float) -> GroupedClaims:
    """Return claims within the range, so that errors are of the release and not of the range."""
    inside = np.minimum(claims.value, high)
    return GroupedClaims(claims.objects, claims.users, inside, claims.user, claims.offset)
