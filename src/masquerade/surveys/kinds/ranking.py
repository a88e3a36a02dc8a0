"""A ranking of two to twelve items, whole or of the first few."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from masquerade.errors import UnknownLabel
from masquerade.mechanisms import MaskedOrder, level_named
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Domain, Orders
from masquerade.mechanisms.masked_order import MOST_ITEMS, ranking_code, ranking_of
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.surveys.builder_form import BuilderForm, FormField
from masquerade.surveys.condition_tree import Leaf, Placed
from masquerade.surveys.question import NOT_SAID, Answer, Canonical, MaskRules, Question
from masquerade.surveys.question_checks import check_options
from masquerade.surveys.question_encoding import QuestionEncoding, Ranked

#: Beginnings of rankings that conditions tell apart, on servers and devices alike.
MOST_ROWS = 8_192


@dataclass(frozen=True, slots=True)
class Ranking(Question):
    """Rank items, the best first.

    Masked on the device, two or three items are drawn for each person, and the order in which the
    person ranks them is sent; which items were drawn is public.

    Attributes
    ----------
    id, text, allow_skip
        As in `Choice`.
    items : tuple of str
        Two to 12 different texts.
    top : int or None
        How many are ranked; None for all. The others share the middle of the ranks that are left.

    Examples
    --------
    >>> question = Ranking("r", "Which topics?", ("Ada", "Bell", "Cy"))
    >>> question.answer(question.code(["Cy", "Ada", "Bell"]))
    ('Cy', 'Ada', 'Bell')
    """

    id: str
    text: str
    items: tuple[str, ...]
    top: int | None = None
    allow_skip: bool = False
    kind: ClassVar[str] = "ranking"
    called: ClassVar[str] = "a ranking"
    parts_of_whole: ClassVar[bool] = False
    mean_name: ClassVar[str] = "mean rank"
    translatable: ClassVar[tuple[str, ...]] = ("text", "items")
    builder: ClassVar[BuilderForm] = BuilderForm(
        name="Ranking",
        glyph="1. 2. 3.",
        blank={
            "text": "",
            "items": ["One", "Another", "A third"],
            "top": None,
            "allow_skip": False,
        },
        rows=(
            (FormField("items", "Items", "lines", hint="One on each line, up to 12."),),
            (
                FormField(
                    "top",
                    "How many are ranked",
                    "at-most",
                    hint="Of each person the order of two or three items is sent, so that ten "
                    "items need thousands of people.",
                    of="items",
                    none="all",
                    each="the first {count}",
                ),
            ),
        ),
        place=9,
    )

    def __post_init__(self) -> None:
        self._check()
        check_options(self, self.items, most=MOST_ITEMS, field="items")
        whole = isinstance(self.top, int) and not isinstance(self.top, bool)
        if self.top is not None and not (whole and 1 <= self.top <= len(self.items)):
            raise self._error(
                "top", f": top is {self.top!r}, expected 1 to {len(self.items)}, or all."
            )

    @property
    def ranked(self) -> int:
        """Number of items that are ranked."""
        return len(self.items) if self.top is None else self.top

    @property
    def labels(self) -> tuple[str, ...]:
        """The items."""
        return self.items

    @property
    def span(self) -> tuple[float, float]:
        """The best and the worst rank."""
        return 1.0, float(len(self.items))

    def margin_words(self, low: float, high: float) -> str:
        """Return the unit of a margin of a mean rank."""
        return f"places, of {low:g} to {high:g}"

    @property
    def answer_count(self) -> int:
        """Number of rankings."""
        return math.perm(len(self.items), self.ranked)

    @property
    def no_answer_code(self) -> int:
        """The code after the last ranking."""
        return self.answer_count

    @property
    def codes(self) -> list[str]:
        """Empty: a report is an order of some items, and has no label."""
        return []

    def code_of(self, answer: Answer) -> int | None:
        """Return the number of a list of items, the best first."""
        if not isinstance(answer, list | tuple) or len(answer) != self.ranked:
            return None
        if len(set(map(str, answer))) < len(answer) or not all(one in self.items for one in answer):
            return None
        return ranking_code([self.items.index(str(one)) for one in answer], len(self.items))

    def answer(self, code: int) -> Canonical:
        """Return the items of a code, the best first; None for "no answer"."""
        if code == self.no_answer_code:
            return None
        return tuple(self.items[at] for at in ranking_of(code, len(self.items), self.ranked))

    def fault_of(self, leaf: Leaf) -> str | None:
        """Return why a condition names no items and places, or is met by every ranking."""
        if not isinstance(leaf, Placed):
            return f"answers of {self.id!r}, {self.called}; say too among how many first places."
        unknown = next((one for one in leaf.answers if one not in self.items), None)
        if unknown is not None:
            return f"the item {unknown!r}, and {self.id!r} has {list(self.items)}."
        if not 1 <= leaf.first <= self.ranked:
            return f"the first {leaf.first} of {self.id!r}, which ranks {self.ranked}."
        named = len(set(leaf.answers))
        if not named:
            return f"no item of {self.id!r}; name at least one."
        if named + leaf.first > len(self.items) and not self.allow_skip:
            return (
                f"{named} items among the first {leaf.first} of {self.id!r}, which every ranking "
                "has; name fewer."
            )
        return None

    def meets(self, code: int, leaf: Leaf) -> bool:
        """Return whether one of the items named is among the first."""
        if not isinstance(leaf, Placed) or not 0 <= code < self.answer_count:
            return False
        order = ranking_of(code, len(self.items), self.ranked)
        return any(self.items[item] in leaf.answers for item in order[: leaf.first])

    def deciding_codes(self, leaves: Sequence[Leaf]) -> Iterable[tuple[int, float]] | None:
        """Return a ranking for each combination of conditions that can be met at once.

        Items that the same conditions name stand for each other. Rankings grow by a place at a
        time, and of those that hold the same items and meet the same conditions one is kept.
        """
        named = [
            (set(leaf.answers), leaf.first) if isinstance(leaf, Placed) else (set(), 0)
            for leaf in leaves
        ]
        alike = [tuple(item in names for names, _ in named) for item in self.items]
        found: dict[tuple[tuple[int, ...], tuple[bool, ...]], tuple[list[int], float]]
        found = {((), (False,) * len(named)): ([], 1.0)}
        for place in range(self.ranked):
            further: dict[tuple[tuple[int, ...], tuple[bool, ...]], tuple[list[int], float]] = {}
            for (_, met), (order, weight) in found.items():
                left = [item for item in range(len(self.items)) if item not in order]
                for row in dict.fromkeys(alike[item] for item in left):
                    same = [item for item in left if alike[item] == row]
                    flags = tuple(
                        flag or (is_named and place < first)
                        for flag, is_named, (_, first) in zip(met, row, named, strict=True)
                    )
                    longer = [*order, same[0]]
                    key = (tuple(sorted(longer)), flags)
                    kept, count = further.get(key, (longer, 0.0))
                    further[key] = (kept, count + weight * len(same))
            if len(further) > MOST_ROWS:
                return None
            found = further
        rows: dict[tuple[bool, ...], tuple[int, float]] = {}
        for (_, met), (order, weight) in found.items():
            code, count = rows.get(met, (ranking_code(order, len(self.items)), 0.0))
            rows[met] = (code, count + weight)
        return rows.values()

    def domains(self, *, clear: bool) -> tuple[Domain, ...]:
        """Return the rankings."""
        return (Orders(len(self.items), self.ranked, self.allow_skip),)

    def mask(self, level: str, rules: MaskRules) -> DeviceMechanism:
        """Return the mask of the order of a few items; in clear, that of three as it is."""
        items, skip = len(self.items), self.allow_skip
        if level == CLEAR:
            size = min(3, items)
            return MaskedOrder(items, self.top, size=size, epsilon=math.inf, null=skip)
        return level_named(level).masked_order(items, self.top, null=skip)

    def encoding(self, *, bins: int, summed: bool, without: tuple[str, ...]) -> QuestionEncoding:
        """Return first choices and sums of ranks."""
        return Ranked(self.id, self.items, self.ranked, without)

    @property
    def choices(self) -> str:
        """Possible answers, in words."""
        how_many = "all" if self.ranked == len(self.items) else f"the first {self.ranked}"
        return f"{how_many} of {', '.join(self.items)}, the best first"

    def report_in_words(self, report: int, mechanism: DeviceMechanism | None) -> str:
        """Return the order of a report."""
        orders = None if mechanism is None else mechanism.as_orders
        if orders is None:
            return self.answer_in_words(report)
        place, symbol = divmod(report, orders.symbols)
        if symbol == orders.orders:
            return NOT_SAID
        places = orders.places[symbol].tolist()
        members = orders.members[place].tolist()
        order = sorted(range(orders.size), key=places.__getitem__)
        return " before ".join(self.items[members[at]] for at in order)

    def answer_in_words(self, code: int) -> str:
        """Return a ranking as people read it."""
        given = self.answer(code)
        return NOT_SAID if given is None else ", ".join(map(str, tuple(given)))  # type: ignore[arg-type]

    @property
    def prompt(self) -> tuple[str, ...]:
        """The items with their numbers, and how to type a ranking."""
        return (
            *(f"{place}  {item}" for place, item in enumerate(self.items, start=1)),
            f"Type {self.ranked} numbers, the best first, such as "
            f"{' '.join(str(n) for n in range(1, self.ranked + 1))}.",
            *([f"-  {NOT_SAID}"] if self.allow_skip else []),
        )

    def typed(self, text: str) -> Answer:
        """Return the items of the numbers that were typed."""
        if self.allow_skip and text == "-":
            return None
        numbers = text.replace(",", " ").split()
        places = [int(one) if one.isascii() and one.isdigit() else 0 for one in numbers]
        if not places or not all(1 <= place <= len(self.items) for place in places):
            raise UnknownLabel(self.typing_hint)
        return [self.items[place - 1] for place in places]

    @property
    def typing_hint(self) -> str:
        """The sentence after something was typed that is no answer."""
        return f"Type {self.ranked} different numbers from 1 to {len(self.items)}."

    def codebook_fields(self) -> dict[str, str | int | list[str] | None]:
        """Return how a report is read: the set of items that was drawn, then the masked order."""
        return {"report_is": "order", "items": list(self.items), "top": self.top}
