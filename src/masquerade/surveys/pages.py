"""Pages of a survey: which questions and blocks stand on one screen, and how it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from masquerade.errors import ParameterError
from masquerade.surveys.blocks import (
    MOST_IMAGES,
    MOST_TEXT,
    Block,
    ConsentBlock,
    ImageBlock,
    block_from_json,
    check_image,
)
from masquerade.surveys.condition_tree import (
    NONE,
    Combined,
    Condition,
    Conditions,
    Leaf,
    check_written,
    condition_from_json,
    together,
)
from masquerade.surveys.conditions import check_leaf
from masquerade.surveys.question import Question

MOST_PAGES = 200
MOST_ITEMS = 100
MOST_HEADING = 200
_ADDRESS = re.compile(r"https://[^\s<>\"'\\]{1,490}")
_KEYS = {"heading", "shuffle", "items"}


@dataclass(frozen=True, slots=True)
class Page:
    """One screen of a survey.

    Attributes
    ----------
    items : tuple of str or Block
        Ids of questions, and blocks, from top to bottom.
    heading : str
        Above them; may be empty.
    shuffle : bool
        Whether questions stand in an order that each device draws; those that hang together stay
        together, each with the blocks right before it.
    moves : bool
        Whether the page changes places with the other pages that do, as each device draws.
    show_if : Condition or None
        When the page is shown; its questions have the condition too.

    Examples
    --------
    >>> Page(("ill", "boss"), heading="Your work").to_json()
    {'heading': 'Your work', 'shuffle': False, 'items': ['ill', 'boss']}
    """

    items: tuple[str | Block, ...]
    heading: str = ""
    shuffle: bool = False
    moves: bool = False
    show_if: Condition | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.heading, str) or len(self.heading) > MOST_HEADING:
            raise ParameterError(
                f"a heading is longer than {MOST_HEADING} characters; shorten it.", field="heading"
            )
        if not all(type(one) is bool for one in (self.shuffle, self.moves)):
            raise ParameterError("shuffle and moves are true or false.", field="shuffle")
        if not self.items:
            raise ParameterError(
                "nothing is on this page yet; add a question or a text, or remove the page.",
                field="items",
            )
        if len(self.items) > MOST_ITEMS:
            raise ParameterError(
                f"a page has {len(self.items)} questions and blocks; give it at most {MOST_ITEMS}.",
                field="items",
            )

    @property
    def questions(self) -> tuple[str, ...]:
        """Ids of its questions."""
        return tuple(one for one in self.items if isinstance(one, str))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Its blocks."""
        return tuple(one for one in self.items if isinstance(one, Block))

    def to_json(self) -> dict[str, object]:
        """Return the page as a JSON object."""
        return {
            "heading": self.heading,
            "shuffle": self.shuffle,
            "items": [one if isinstance(one, str) else one.to_json() for one in self.items],
            **({"moves": True} if self.moves else {}),
            **({} if self.show_if is None else {"show_if": self.show_if.to_json()}),
        }

    @classmethod
    def from_json(cls, data: Any, *, place: int = 0) -> Page:
        """Return the page that a JSON object describes; `place` is for messages."""
        known = isinstance(data, dict) and set(data) >= _KEYS
        if not known or set(data) - _KEYS - {"moves", "show_if"}:
            without = sorted(_KEYS - set(data)) if isinstance(data, dict) else []
            missing = f" {' and '.join(without)} {'is' if len(without) == 1 else 'are'} missing."
            raise ParameterError(
                f"page {place + 1} cannot be read: it has heading, shuffle and items, and may have "
                f"moves and show_if.{missing if without else ''}",
                field=f"pages/{place}",
            )
        if not isinstance(data["items"], list):
            raise ParameterError("the items of a page are a list.", field=f"pages/{place}/items")
        given = data.get("show_if")
        items = tuple(
            one if isinstance(one, str) else _block(one, f"pages/{place}/items/{number}")
            for number, one in enumerate(data["items"])
        )
        condition = None if given is None else condition_from_json(given, of=f"of page {place + 1}")
        try:
            return cls(items, data["heading"], data["shuffle"], data.get("moves", False), condition)
        except ParameterError as error:
            raise ParameterError(str(error), field=f"pages/{place}/{error.field}") from None


@dataclass(frozen=True, slots=True)
class Layout:
    """How a survey's questions are laid out; empty as most are, one question a screen.

    Attributes
    ----------
    pages : tuple of Page
        In order; empty: each question is a page of its own.
    order : tuple of str
        Ids of questions whose options stand in an order that each device draws.
    images : mapping of str to str
        Images by their names, as data addresses.
    thanks : str
        A text for the last screen, with marks as in `plain`.
    return_address : str
        Where the last screen leads to.
    """

    pages: tuple[Page, ...] = ()
    order: tuple[str, ...] = ()
    images: Mapping[str, str] = field(default_factory=dict)
    thanks: str = ""
    return_address: str = ""

    def __hash__(self) -> int:
        return hash((self.pages, self.order, tuple(sorted(self.images.items())), self.thanks))

    def to_json(self) -> dict[str, object]:
        """Return the settings that differ from the defaults, as fields of a survey."""
        return {
            name: value
            for name, value in (
                ("pages", [page.to_json() for page in self.pages]),
                ("order", list(self.order)),
                ("images", dict(self.images)),
                ("thanks", self.thanks),
                ("return_address", self.return_address),
            )
            if value
        }

    @classmethod
    def written(
        cls, data: Mapping[str, Any], questions: Sequence[Question], conditions: Conditions
    ) -> tuple[Layout, Conditions]:
        """Return the layout that somebody writes, and the conditions of the questions in it.

        A page may have `ends`, a condition after which the survey ends: no later page is shown
        then. Its own condition, and that of no early end, become those of its questions.
        """
        own = dict(
            zip((one.id for one in questions), conditions or [None] * len(questions), strict=True)
        )
        for name, condition in own.items():
            if condition is not None:
                check_written(condition, of=name)
        ends: list[Condition] = []
        pages = []
        given = data.get("pages", [])
        for place, one in enumerate(given if isinstance(given, list) else []):
            fields = dict(one) if isinstance(one, dict) else one
            end = fields.pop("ends", None) if isinstance(fields, dict) else None
            page = Page.from_json(fields, place=place)
            if page.show_if is not None:
                check_written(page.show_if, of=f"of page {place + 1}")
            over = Combined(NONE, tuple(ends)) if ends else None
            page = replace(page, show_if=together(page.show_if, over))
            for name in page.questions:
                own[name] = together(page.show_if, own.get(name))
            if end is not None:
                ends.append(condition_from_json(end, of=f"of page {place + 1}"))
                check_written(ends[-1], of=f"of page {place + 1}")
            pages.append(page)
        layout = replace(cls.from_json({**data, "pages": []}), pages=tuple(pages))
        shown = tuple(own[one.id] for one in questions)
        return layout, shown if any(shown) else ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Layout:
        """Return the layout among the fields of a survey."""
        pages = data.get("pages", [])
        if not isinstance(pages, list) or len(pages) > MOST_PAGES:
            raise ParameterError(f"pages is no list of up to {MOST_PAGES} pages.", field="pages")
        return cls(
            tuple(Page.from_json(page, place=place) for place, page in enumerate(pages)),
            tuple(data.get("order", ())),
            dict(data.get("images", {})),
            data.get("thanks", ""),
            data.get("return_address", ""),
        )

    @property
    def consents(self) -> tuple[str, ...]:
        """Texts that a person has to agree to, without marks."""
        return tuple(
            block.in_words()
            for page in self.pages
            for block in page.blocks
            if isinstance(block, ConsentBlock)
        )

    def before(self, question: str) -> tuple[str | ConsentBlock, ...]:
        """Return the texts between the question before and this one.

        Headings and blocks in words, but for consents, which are asked for. The texts after the
        last question are those before the empty id.
        """
        found: list[str | ConsentBlock] = []
        for page in self.pages:
            found += [page.heading] if page.heading else []
            for item in page.items:
                if item == question:
                    return tuple(found)
                if isinstance(item, str):
                    found = []
                else:
                    found.append(item if isinstance(item, ConsentBlock) else item.in_words())
        return tuple(found) if not question else ()

    def spread(self, questions: Sequence[Question]) -> Layout:
        """Return the layout with the parts of each question in its place."""
        known = {question.id for question in questions}
        parts = {
            question.id: [one.id for one in question.parts()[1:] if one.id not in known]
            for question in questions
        }

        def items(page: Page) -> Iterator[str | Block]:
            for one in page.items:
                yield one
                if isinstance(one, str):
                    yield from parts.get(one, [])

        pages = tuple(replace(page, items=tuple(items(page))) for page in self.pages)
        return replace(self, pages=pages)

    def check(self, questions: Sequence[Question], conditions: Conditions) -> None:
        """Raise unless it fits the questions: each on one page, in their order."""
        _check_end(self)
        by_id = {question.id: question for question in questions}
        strange = [one for one in self.order if one not in by_id or not by_id[one].shuffles]
        if strange or len(set(self.order)) < len(self.order):
            raise ParameterError(
                f"order names {strange or self.order}; name questions with options, each once.",
                field="order",
            )
        if len(self.images) > MOST_IMAGES:
            raise ParameterError(
                f"the survey has {len(self.images)} images; use at most {MOST_IMAGES}.",
                field="images",
            )
        for name, data in self.images.items():
            check_image(name, data)
        if self.pages:
            self._check_pages(questions, conditions)

    def _check_pages(self, questions: Sequence[Question], conditions: Conditions) -> None:
        listed = [name for page in self.pages for name in page.questions]
        if listed != [question.id for question in questions]:
            raise ParameterError(
                "the pages do not hold each question once, in the order of the questions; put "
                "each on one page.",
                field="pages",
            )
        moved: dict[str, int] = {}
        earlier: dict[str, Question] = {}
        by_id = {question.id: question for question in questions}
        shown = dict(zip(by_id, conditions or (None,) * len(questions), strict=True))
        for place, page in enumerate(self.pages):
            where = f"pages/{place}"
            for leaf in _leaves(page.show_if):
                check_leaf(f"of page {place + 1}", leaf, earlier)
            for block in page.blocks:
                if isinstance(block, ImageBlock) and block.image not in self.images:
                    raise ParameterError(
                        f"page {place + 1} shows the image {block.image!r}, which is not there.",
                        field=where,
                    )
                if isinstance(block, ConsentBlock) and page.moves:
                    raise ParameterError(
                        f"page {place + 1} asks for consent and is in random order; keep it in "
                        "its place.",
                        field=where,
                    )
            if any(together(page.show_if, shown[one]) != shown[one] for one in page.questions):
                raise ParameterError(
                    f"page {place + 1} has a condition that its questions do not have.", field=where
                )
            named = {leaf.question for leaf in _leaves(page.show_if)}
            named |= {leaf.question for one in page.questions for leaf in _leaves(shown[one])}
            if page.moves and any(moved.get(one, place) != place for one in named):
                raise ParameterError(
                    f"page {place + 1} depends on another page, and both are in random order; "
                    "keep one of them in its place.",
                    field=where,
                )
            for name in page.questions:
                earlier[name] = by_id[name]
                if page.moves:
                    moved[name] = place
        _check_moves(self.pages, shown, moved)


#: The layout of a survey that says nothing of it: each question is a page of its own.
AS_THEY_STAND = Layout()


def _check_moves(
    pages: Sequence[Page], shown: Mapping[str, Condition | None], moved: Mapping[str, int]
) -> None:
    """Raise where a page that stays depends on a page that may come after it."""
    last = max(moved.values(), default=-1)
    for place, page in enumerate(pages):
        named = {leaf.question for one in page.questions for leaf in _leaves(shown[one])}
        named |= {leaf.question for leaf in _leaves(page.show_if)}
        if not page.moves and place < last and named & set(moved):
            raise ParameterError(
                f"page {place + 1} depends on a page in random order that may come after it; put "
                "it after all of these.",
                field=f"pages/{place}",
            )
        if page.moves and any(
            name not in moved and _page_of(pages, name) > min(moved.values()) for name in named
        ):
            raise ParameterError(
                f"page {place + 1} is in random order and may come before a page that it depends "
                "on; put that page before all of these.",
                field=f"pages/{place}",
            )


def _page_of(pages: Sequence[Page], name: str) -> int:
    return next(place for place, page in enumerate(pages) if name in page.questions)


def _leaves(condition: Condition | None) -> tuple[Leaf, ...]:
    return () if condition is None else condition.leaves()


def _block(data: Any, where: str) -> Block:
    try:
        return block_from_json(data)
    except ParameterError as error:
        below = f"/{error.field}" if error.field else ""
        raise ParameterError(str(error), field=f"{where}{below}") from None


def _check_end(layout: Layout) -> None:
    if not isinstance(layout.thanks, str) or len(layout.thanks) > MOST_TEXT:
        raise ParameterError(
            f"the text of thanks is longer than {MOST_TEXT:,} characters; shorten it.",
            field="thanks",
        )
    address = layout.return_address
    if not isinstance(address, str) or (address and not _ADDRESS.fullmatch(address)):
        raise ParameterError(
            f"the return address is {address!r:.100}, expected one such as "
            "https://example.org/thanks, of at most 500 characters.",
            field="return_address",
        )
