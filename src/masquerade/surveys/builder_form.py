"""The form in which a surveyor writes a question of one kind; the builder's page draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

#: A text in another language.
Translate = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form.

    `name`: of the question's field that it sets.
    `label`: beside the field.
    `type`: ``"text"``, ``"number"``, ``"whole"``, ``"lines"`` (one text on each line),
        ``"at-most"`` (none, or up to how many of the lines of the field `of`), ``"one-of"``
        (none, or one of these lines), ``"choice"`` (one of `choices`), ``"yes-no"`` or
        ``"pictures"`` (one for each of these lines).
    `hint`: a sentence under the field.
    `of`: name of the field with the lines.
    `none`: word for no choice.
    `each`: words for a count of an ``"at-most"``.
    `choices`: values of a ``"choice"``, each with its word.
    `instead`: fields that are emptied once this one holds something.
    """

    name: str
    label: str
    type: str = "text"
    hint: str = ""
    of: str = ""
    none: str = ""
    each: str = "at most {count}"
    choices: tuple[tuple[str, str], ...] = ()
    instead: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether it holds words of the survey."""
        return self.type in ("text", "lines")

    def translated(self, translate: Translate) -> FormField:
        """Return the field with its words in another language."""

        def said(text: str) -> str:
            return translate(text) if text else ""

        return replace(
            self,
            label=said(self.label),
            hint=said(self.hint),
            none=said(self.none),
            each=said(self.each) if self.type == "at-most" else self.each,
            choices=tuple((value, said(words)) for value, words in self.choices),
        )


@dataclass(frozen=True, slots=True)
class BuilderForm:
    """A kind of question as the builder offers it.

    `name`: on the button that adds one.
    `glyph`: a drawing of its answers, in a few characters.
    `blank`: fields of a new question.
    `rows`: fields that stand side by side, from top to bottom.
    `advanced`: fields under "Advanced".
    `line`: two fields and the sign between them, where a line of a list can set both, such as
        ``("text", "=", "truth")``; None where the whole line is the text.
    `place`: order among the buttons.
    """

    name: str
    glyph: str
    blank: dict[str, object]
    rows: tuple[tuple[FormField, ...], ...]
    place: int
    advanced: tuple[FormField, ...] = ()
    line: tuple[str, str, str] | None = None

    def translated(self, translate: Translate) -> BuilderForm:
        """Return the form with its words, and those of a new question, in another language."""
        fields = (one for row in (*self.rows, self.advanced) for one in row)
        texts = {"text", *(one.name for one in fields if one.is_text)}

        def said(value: object) -> object:
            if isinstance(value, list):
                return [said(one) for one in value]
            spoken = isinstance(value, str) and any(map(str.isalpha, value))
            return translate(str(value)) if spoken else value

        return replace(
            self,
            name=translate(self.name),
            blank={key: said(one) if key in texts else one for key, one in self.blank.items()},
            rows=tuple(tuple(one.translated(translate) for one in row) for row in self.rows),
            advanced=tuple(one.translated(translate) for one in self.advanced),
        )

    def to_json(self) -> dict[str, object]:
        """Return the form as a JSON object."""
        return asdict(self)
