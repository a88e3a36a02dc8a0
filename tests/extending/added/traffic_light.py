"""A traffic light: red, amber or green; a kind of question that a test adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from masquerade.surveys.builder_form import BuilderForm, FormField
from masquerade.surveys.question import LabelQuestion
from masquerade.surveys.question_checks import check_text

COLOURS = ("Red", "Amber", "Green")


@dataclass(frozen=True, slots=True)
class TrafficLight(LabelQuestion):
    """Say how it stands with something, as a traffic light does.

    `topic`: the thing that stands well or badly, beside the colours.
    """

    id: str
    text: str
    topic: str
    allow_skip: bool = False
    kind: ClassVar[str] = "traffic_light"
    called: ClassVar[str] = "a traffic light"
    builder: ClassVar[BuilderForm] = BuilderForm(
        name="Traffic light",
        glyph="● ● ●",
        blank={"text": "", "topic": "Something", "allow_skip": False},
        rows=((FormField("topic", "Topic"),),),
        place=9,
    )

    def __post_init__(self) -> None:
        self._check()
        check_text(self.topic, "topic", question=self.id)

    @property
    def labels(self) -> tuple[str, ...]:
        """The colours."""
        return COLOURS
