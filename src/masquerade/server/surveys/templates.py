"""Templates of surveys, from `templates.json`: each is filled in and can be opened at once."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from masquerade.errors import NotFound
from masquerade.server.surveys.document import Document, read_document
from masquerade.surveys.languages import texts_of, translated

#: The template of the demo.
PICK: Final = "pick"
#: The name by which an empty survey is asked for, as if it were a template.
BLANK: Final = "blank"


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of survey with an example of it."""

    name: str
    title: str
    purpose: str
    glyph: str  # A drawing of its answers, in a few characters
    fields: Mapping[str, object]  # of a `Document`, those that differ from a blank one

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts of the example, by their address in a survey."""
        return texts_of({"questions": [], **self.fields})

    def document(self, say: Callable[[str], str] = str) -> Document:
        """Return a new document with the example in it, its texts as `say` translates them."""
        texts = {address: say(text) for address, text in self.texts.items()}
        example = translated({"questions": [], **copy.deepcopy(dict(self.fields))}, texts)
        return read_document({"template": self.name, **example})


def _read() -> dict[str, Template]:
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    return {one["name"]: Template(**one) for one in json.loads(text)}


TEMPLATES: Final = _read()


def template_named(name: str) -> Template:
    """Return a template."""
    if name not in TEMPLATES:
        raise NotFound(f"there is no template {name!r}; choose one of {', '.join(TEMPLATES)}.")
    return TEMPLATES[name]
