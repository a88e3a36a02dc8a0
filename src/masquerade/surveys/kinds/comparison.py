"""A comparison of two items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from masquerade.surveys.builder_form import BuilderForm, FormField
from masquerade.surveys.question import LabelQuestion
from masquerade.surveys.question_checks import check_text


@dataclass(frozen=True, slots=True)
class Comparison(LabelQuestion):
    """Say which of two is preferred.

    Attributes
    ----------
    id, text, allow_skip
        As in `Choice`.
    item_a, item_b : str
        The two.
    tie : str
        Label of a third answer, for no preference; empty where there is none.

    Examples
    --------
    >>> Comparison("pair", "Which do you prefer?", "Tea", "Coffee", tie="Both alike").labels
    ('Tea', 'Coffee', 'Both alike')
    """

    id: str
    text: str
    item_a: str
    item_b: str
    tie: str = ""
    allow_skip: bool = False
    kind: ClassVar[str] = "comparison"
    called: ClassVar[str] = "a comparison"
    shuffles: ClassVar[bool] = True
    translatable: ClassVar[tuple[str, ...]] = ("text", "item_a", "item_b", "tie")
    builder: ClassVar[BuilderForm] = BuilderForm(
        name="Which of two",
        glyph="A ⇄ B",
        blank={"text": "", "item_a": "One", "item_b": "The other", "tie": "", "allow_skip": False},
        rows=(
            (FormField("item_a", "First"), FormField("item_b", "Second")),
            (
                FormField(
                    "tie", "A third answer, such as “no difference”", hint="Empty: there is none."
                ),
            ),
        ),
        place=5,
        line=("item_a", " / ", "item_b"),
    )

    def __post_init__(self) -> None:
        self._check()
        for name, item in (("item_a", self.item_a), ("item_b", self.item_b)):
            check_text(item, name, question=self.id)
        if self.tie != "":
            check_text(self.tie, "tie", question=self.id)
        if len(set(self.labels)) < len(self.labels):
            field = "tie" if self.item_a != self.item_b else "item_b"
            raise self._error(
                field, f": the answers are not all different: {', '.join(self.labels)}."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels to choose from: the two, then the tie where there is one."""
        return (self.item_a, self.item_b, *([self.tie] if self.tie else []))

    @property
    def compared(self) -> tuple[str, str]:
        """The two that are compared."""
        return self.item_a, self.item_b

    @property
    def short_text(self) -> str:
        """The text with the two: many pairs have the same text."""
        return f"{self.text} {self.item_a} / {self.item_b}"
