"""A release: synthetic claims, densities, and their guarantee."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers.frames import csv_bytes, write_table
from masquerade.answers.result import UNPUBLISHED, Result
from masquerade.exact import Guarantee
from masquerade.exact.arrays import Floats, Integers
from masquerade.release.guarantee import guarantee_json
from masquerade_papers.priscrowd.density import index_of
from masquerade_papers.priscrowd.mixtures import Mixtures

#: Outcomes for an object, and what each means.
STATUSES = {
    "ok": "as many points as were asked for, or all that the engine makes",
    "short": "fewer points than were asked for passed the test",
    "too_few": "fewer claims than the test needs; nothing was tried",
    "empty": "no claims; nothing is released",
    "not_tried": "no setting within the budget can release anything",
}


@dataclass(frozen=True, slots=True, eq=False)
class Release(Result):
    """Synthetic claims about each object.

    Attributes
    ----------
    objects : pyarrow.Array
        Names, sorted.
    offset : int array, shape (n_objects + 1,)
        The points of object i are those from ``offset[i]`` to ``offset[i + 1]``.
    points : float array, shape (n_points,)
    status : tuple of str, one an object
        See `STATUSES`.
    densities : Mixtures
        A density of each object, computed from what is released alone.
    guarantee : Guarantee
        See `guarantee_sentence`.
    parameters : mapping
        Public settings, as they go into the codebook.
    collector : mapping
        Counts for whoever holds the claims. They are computed from the claims, are not covered by
        the guarantee, and are in none of the files.
    noisy_claims : int array, shape (n_objects,), at least 1, or None
        Noisy number of claims about each object, where it is private who took part.
    columns : mapping of str to pyarrow.Array
        What stands in the table in place of the objects' names; see `synthesize_with_attributes`.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade_papers.priscrowd.histogram import Histogram
    >>> from masquerade_papers.priscrowd.simulation import simulate
    >>> claims = {"task": ["a"] * 30, "worker": [f"u{n}" for n in range(30)], "value": [5.0] * 30}
    >>> engine = Histogram(epsilon=1, domain=(0, 10))
    >>> simulate(claims, np.random.default_rng(1), engine=engine, samples=5).status
    ('ok',)
    """

    engine: str
    objects: pa.Array
    offset: Integers
    points: Floats
    status: tuple[str, ...]
    densities: Mixtures
    guarantee: Guarantee
    parameters: Mapping[str, Any]
    collector: Mapping[str, int] = field(default_factory=dict, metadata=UNPUBLISHED)
    noisy_claims: Integers | None = None
    columns: Mapping[str, pa.Array] = field(default_factory=dict)

    @property
    def statuses(self) -> dict[str, int]:
        """Number of objects with each status."""
        return dict(sorted(Counter(self.status).items()))

    def points_of(self, name: Any) -> Floats:
        """Return the points of one object."""
        index = index_of(self.objects, name)
        return self.points[self.offset[index] : self.offset[index + 1]]

    def to_arrow(self) -> pa.Table:
        """Return the points as a table of claims: ``task``, ``worker``, ``value``, and attributes.

        The workers are made up, ``s1``, ``s2``, ...: they stand for nobody.
        """
        count = np.diff(self.offset)
        of = np.repeat(np.arange(len(count)), count)
        # Numbered within each object: a number over all would tell how many came before.
        number = np.arange(len(of)) - self.offset[of] + 1
        names = pa.array([f"s{i + 1}" for i in range(int(count.max(initial=0)))], pa.string())
        return pa.table(
            {
                **self._named(of),
                "worker": names.take(pa.array(number - 1)),
                "value": self.points,
            }
        )

    def _named(self, of: Integers) -> dict[str, pa.Array]:
        """Return the columns that name the object of each row."""
        columns = self.columns or {"task": self.objects}
        return {name: column.take(pa.array(of)) for name, column in columns.items()}

    def csv(self) -> bytes:
        """Return the points as the content of a CSV file."""
        return csv_bytes(self.to_arrow())

    def density_table(self) -> pa.Table:
        """Return the bumps of the densities: ``task``, ``location``, ``weight``, ``width``."""
        of = np.repeat(np.arange(len(self.objects)), np.diff(self.densities.offset))
        return pa.table(
            {
                **self._named(of),
                "location": self.densities.location,
                "weight": self.densities.weight,
                "width": self.densities.width,
            }
        )

    def codebook(self) -> dict[str, Any]:
        """Return the facts for readers of the released files, as a JSON object."""
        return {
            "engine": self.engine,
            "columns": {
                "task": "the object the value is about",
                **{name: "an attribute" for name in self.columns if name != "task"},
                "worker": "a made-up name: values are drawn from a density and stand for nobody",
                "value": "a synthetic claim",
            },
            "rows": len(self.points),
            "objects": len(self.objects),
            "statuses": self.statuses,
            "status_meanings": {s: STATUSES[s] for s in self.statuses},
            "parameters": dict(self.parameters),
            "guarantee": guarantee_json(self.guarantee),
        }

    def write(self, path: str | Path) -> None:
        """Write the points as CSV (also .gz) or Parquet, by the ending of `path`."""
        write_table(self.to_arrow(), path)
