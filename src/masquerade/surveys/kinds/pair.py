"""Votes on pairs of a list: each person is shown pairs of their own, and a leaderboard follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from masquerade.surveys.builder_form import BuilderForm, FormField
from masquerade.surveys.kinds.comparison import Comparison
from masquerade.surveys.question import LabelQuestion
from masquerade.surveys.question_checks import (
    MOST_PICTURES,
    check_options,
    check_pictures,
    check_text,
)
from masquerade.surveys.question_encoding import Matched

MOST_ITEMS = 500
MOST_VOTES = 50
#: Labels of a vote where it is not known which two items were shown.
FIRST, SECOND = "the first", "the second"


@dataclass(frozen=True, slots=True)
class PairVote(LabelQuestion):
    """Say which of two items of a list is preferred; the pair is drawn anew for each person.

    Written once with `votes`, it is asked so many times: `parts` gives one question for each vote,
    of which only the first holds the list.

    Attributes
    ----------
    id, text
        As in `Choice`.
    items : tuple of str
        Two to 500 different texts; empty in the further votes on the list of the question before.
    votes : int
        Pairs for each person, 1 to 50; 0 in the further votes.
    tie : str
        Label of a third answer, for no preference; empty where there is none.
    pictures : tuple of str
        A small image for each item, ``data:image/...;base64,...``, of which the item is the text
        for whoever cannot see it; empty where there are none. At most 160,000 characters together.

    Examples
    --------
    >>> vote = PairVote("v", "Which is better?", ("Ada", "Bell", "Cy"), votes=2, tie="Both alike")
    >>> [part.id for part in vote.parts()], vote.labels
    (['v', 'v-2'], ('the first', 'the second', 'Both alike'))
    >>> vote.of_pair(vote.items, (2, 0)).labels
    ('Cy', 'Ada', 'Both alike')
    """

    id: str
    text: str
    items: tuple[str, ...]
    votes: int = 10
    tie: str = ""
    pictures: tuple[str, ...] = ()
    allow_skip = False  # how many votes are left would tell of answers
    kind: ClassVar[str] = "pair"
    called: ClassVar[str] = "a vote on a pair of a list"
    optional: ClassVar[tuple[str, ...]] = ("pictures",)
    translatable: ClassVar[tuple[str, ...]] = ("text", "items", "tie")
    cannot_decide: ClassVar[str] = (
        "which two are shown is drawn for each person, so that the same answer says different "
        "things; ask for a comparison of two, or for a ranking"
    )
    takes_pair: ClassVar[bool] = True
    builder: ClassVar[BuilderForm] = BuilderForm(
        name="Pairs of a list",
        glyph="A B C ⇄",
        blank={"text": "", "items": ["One", "Another", "A third"], "votes": 3, "tie": "Both alike"},
        rows=(
            (FormField("items", "The list", "lines", hint="One on each line, up to 500."),),
            (
                FormField("votes", "Pairs for each person", "whole"),
                FormField("tie", "A third answer", hint="Empty: there is none."),
            ),
            (
                FormField(
                    "pictures",
                    "Pictures",
                    "pictures",
                    hint="One for each item, which says in words what is on it. They are made so "
                    "small that every device can load all of them.",
                    of="items",
                ),
            ),
        ),
        place=7,
    )

    def __post_init__(self) -> None:
        self._check()
        whole = isinstance(self.votes, int) and not isinstance(self.votes, bool)
        if not whole or not (1 if self.items else 0) <= self.votes <= MOST_VOTES:
            raise self._error("votes", f": votes is {self.votes!r}, expected 1 to {MOST_VOTES}.")
        if self.votes:
            self._check_items()
        if self.tie != "":
            check_text(self.tie, "tie", question=self.id)
        check_pictures(self, self.pictures, len(self.items), of="item", together=MOST_PICTURES)

    def _check_items(self) -> None:
        check_options(self, self.items, most=MOST_ITEMS, field="items")
        if self.tie in self.items:
            raise self._error("tie", f": the third answer {self.tie!r} is one of the items.")
        pairs = len(self.items) * (len(self.items) - 1) // 2
        if self.votes > pairs:
            raise self._error(
                "votes",
                f": votes is {self.votes}, and {len(self.items)} items have {pairs} pairs; ask for "
                "at most so many.",
            )

    def parts(self) -> tuple[PairVote, ...]:
        """Return one question for each vote."""
        further = (
            replace(self, id=f"{self.id}-{number}", items=(), votes=0, pictures=())
            for number in range(2, self.votes + 1)
        )
        return (self, *further)

    @property
    def votes_asked(self) -> int:
        """Number of votes on the list; 0 in the further votes."""
        return self.votes

    @property
    def listed(self) -> tuple[str, ...]:
        """The list of which pairs are shown; empty in the further votes."""
        return self.items

    @property
    def pictures_of_items(self) -> dict[str, str]:
        """The picture of each item, by the item; empty where there are none."""
        return dict(zip(self.items, self.pictures, strict=False))

    @property
    def labels(self) -> tuple[str, ...]:
        """The first, the second, then the tie where there is one."""
        return (FIRST, SECOND, *([self.tie] if self.tie else []))

    def of_pair(self, items: tuple[str, ...], pair: tuple[int, int]) -> Comparison:
        """Return the question about two items of the list."""
        return Comparison(self.id, self.text, items[pair[0]], items[pair[1]], self.tie)

    def encoding(self, *, bins: int, summed: bool, without: tuple[str, ...]) -> Matched:
        """Return the wins and losses of each item; of the first vote, for all votes on the list."""
        most = len(self.items) // 2
        if self.votes > most:
            raise self._error(
                "votes",
                f": {self.votes} pairs for each person, and between two parties a list of "
                f"{len(self.items)} items allows at most {most}: each item stands in one pair of "
                "a person, so that one person moves each sum by 1 at most. Ask for at most "
                f"{most}, or protect answers on the device.",
            )
        return Matched(self.id, self.items, self.votes, self.labels)

    def codebook_fields(self) -> dict[str, str | list[str]]:
        """Return how a report is read: the pair, then the masked vote."""
        return {"report_is": "pair", "items": list(self.items)}
