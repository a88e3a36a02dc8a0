"""A choice: pick one of several options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from masquerade.surveys.builder_form import BuilderForm, FormField
from masquerade.surveys.question import LabelQuestion
from masquerade.surveys.question_checks import (
    MOST_OPTIONS,
    check_further,
    check_options,
    check_pictures,
)


@dataclass(frozen=True, slots=True)
class Choice(LabelQuestion):
    """Pick one of several options.

    Attributes
    ----------
    id : str
        Names the question within its survey.
    text : str
        What the person reads.
    options : tuple of str
        Two to 100 different labels.
    allow_skip : bool
        Offers "prefer not to say", which is masked like every other answer.
    other, dont_know : str
        Labels of two further answers, after all options; empty where there is none.
    pictures : tuple of str
        A small image for each option, ``data:image/...;base64,...``, of which the option is the
        text for whoever cannot see it; empty where there are none.
    truth : str or None
        The right option, where it is known (labelling tasks); used for scoring, never shown.

    Examples
    --------
    >>> question = Choice("ill", "Have you worked while ill?", ("Yes", "No"))
    >>> question.labels
    ('Yes', 'No')
    """

    id: str
    text: str
    options: tuple[str, ...]
    allow_skip: bool = False
    truth: str | None = None
    other: str = ""
    dont_know: str = ""
    pictures: tuple[str, ...] = ()
    kind: ClassVar[str] = "choice"
    called: ClassVar[str] = "a choice"
    optional: ClassVar[tuple[str, ...]] = ("other", "dont_know", "pictures")
    translatable: ClassVar[tuple[str, ...]] = ("text", "options", "other", "dont_know")
    labelling: ClassVar[bool] = True
    secret: ClassVar[tuple[str, ...]] = ("truth",)
    shuffles: ClassVar[bool] = True
    builder: ClassVar[BuilderForm] = BuilderForm(
        name="Pick one",
        glyph="○ ● ○",
        blank={"text": "", "options": ["Yes", "No"], "allow_skip": False, "truth": None},
        rows=(
            (FormField("options", "Options", "lines", hint="One on each line."),),
            (
                FormField("other", "Last answer", hint="Such as “Other”. Empty: there is none."),
                FormField("dont_know", "Answer of who cannot say", hint="Such as “Don't know”."),
            ),
            (
                FormField(
                    "pictures",
                    "Pictures",
                    "pictures",
                    hint="One for each option, which says in words what is on it. They are made "
                    "small, and data about place and camera are removed.",
                    of="options",
                ),
            ),
        ),
        place=2,
        advanced=(
            FormField(
                "truth",
                "Right answer",
                "one-of",
                hint="For labelling: used to check the crowd, never shown to it.",
                of="options",
                none="not known",
            ),
        ),
        line=("text", "=", "truth"),
    )

    def __post_init__(self) -> None:
        self._check()
        check_options(self, self.options, most=MOST_OPTIONS)
        check_further(self, "other", self.other, self.labels)
        check_further(self, "dont_know", self.dont_know, self.labels)
        check_pictures(self, self.pictures, len(self.options))
        if self.truth is not None and self.truth not in self.options:
            raise self._error(
                "truth",
                f": the truth {self.truth!r} is not one of its options {list(self.options)}.",
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The options, in order, then the further answers."""
        return (*self.options, *filter(None, (self.other, self.dont_know)))

    @property
    def right_answer(self) -> str | None:
        """The right option, where it is known."""
        return self.truth
