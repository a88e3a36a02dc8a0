"""A matrix: several rows that are rated on one scale, each row a question of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from masquerade.surveys.builder_form import BuilderForm, FormField
from masquerade.surveys.kinds.rating import SCALE_ROWS, Rating
from masquerade.surveys.question_checks import check_options, check_text

MOST_ROWS = 30


@dataclass(frozen=True, slots=True)
class Matrix(Rating):
    """Rate each of several rows on one scale.

    Written once with its `rows`, it is asked as so many ratings: `parts` gives one for each row,
    with its own mask, and with its own answer where it is skipped.

    Attributes
    ----------
    id, text, low, high, low_label, high_label, allow_skip, words, dont_know
        As in `Rating`; the scale is that of every row.
    rows : tuple of str
        Two to 30 different texts; of a part, its own alone.
    of : str
        Id of the matrix of a part; empty in the whole.

    Examples
    --------
    >>> matrix = Matrix("m", "How good were", rows=("The talks", "The food"))
    >>> [(part.id, part.rows) for part in matrix.parts()]
    [('m', ('The talks',)), ('m-2', ('The food',))]
    """

    rows: tuple[str, ...] = ()
    of: str = ""
    kind: ClassVar[str] = "matrix"
    called: ClassVar[str] = "a matrix"
    shuffles: ClassVar[bool] = True  # its rows
    optional: ClassVar[tuple[str, ...]] = (*Rating.optional, "of")
    translatable: ClassVar[tuple[str, ...]] = (*Rating.translatable, "rows")
    builder: ClassVar[BuilderForm] = BuilderForm(
        name="Matrix",
        glyph="▤ 1 2 3",
        blank={
            "text": "",
            "rows": ["One", "Another", "A third"],
            "low": 1,
            "high": 5,
            "low_label": "",
            "high_label": "",
            "allow_skip": False,
        },
        rows=(
            (
                FormField(
                    "rows",
                    "Rows",
                    "lines",
                    hint="One on each line. Each row is a question of its own, with its own mask: "
                    "a matrix of nine costs what nine ratings cost.",
                ),
            ),
            *SCALE_ROWS,
        ),
        place=1,
    )

    def __post_init__(self) -> None:
        Rating.__post_init__(self)
        if self.of != "":
            check_text(self.of, "of", question=self.id)
        if self.of and isinstance(self.rows, tuple) and len(self.rows) == 1:
            check_text(self.rows[0], "row", question=self.id, field="rows/0")
            return
        check_options(self, self.rows, most=MOST_ROWS, field="rows")

    def parts(self) -> tuple[Matrix, ...]:
        """Return one question for each row."""
        if self.of:
            return (self,)
        return tuple(
            replace(
                self, id=f"{self.id}-{place}" if place > 1 else self.id, rows=(row,), of=self.id
            )
            for place, row in enumerate(self.rows, start=1)
        )

    @property
    def short_text(self) -> str:
        """The row."""
        return self.rows[0] if self.of else self.text

    @property
    def whole_text(self) -> str:
        """The text of the matrix, then the row."""
        return f"{self.text} – {self.rows[0]}" if self.of else self.text
