"""Neighbours: the tables that a release makes hard to tell apart, as a type of its guarantee."""

from __future__ import annotations

from enum import Enum

from masquerade.exact.loss import ADD_REMOVE, REPLACE


class Neighbours(Enum):
    """Pairs of tables, with the unit, the relation and the words of a guarantee.

    What one user said of one object is one value before anything else (`duplicates`), so that every
    step before the measurement keeps a distance of 1.

    Examples
    --------
    >>> Neighbours.of(listed=True, capped=False).relation
    'add-remove'
    >>> Neighbours.USER_VALUES.words(1)
    'all values of one user, about one object, are replaced, about the same objects'
    """

    VALUE = (
        "claim",
        REPLACE,
        "all that one user said of one object is replaced by anything else",
    )
    PAIR = (
        "claim",
        ADD_REMOVE,
        "all that one user said of one listed object is added or removed",
    )
    USER_VALUES = (
        "user",
        REPLACE,
        "all values of one user, about {}, are replaced, about the same objects",
    )
    USER = (
        "user",
        ADD_REMOVE,
        "one user is added or removed, with all claims about {} of the list",
    )

    @classmethod
    def of(cls, *, listed: bool, capped: bool) -> Neighbours:
        """Return the neighbours of a release, by its list of objects and its cap of a user."""
        if capped:
            return cls.USER if listed else cls.USER_VALUES
        return cls.PAIR if listed else cls.VALUE

    @property
    def unit(self) -> str:
        """The unit that epsilon protects: a claim, or a user with all claims."""
        return self.value[0]

    @property
    def relation(self) -> str:
        """How two neighbours differ, as the accountant names it."""
        return self.value[1]

    @property
    def charges(self) -> int:
        """How many of these steps it takes to replace a user's answers, which a ledger counts."""
        return 2 if self.relation == ADD_REMOVE else 1

    def words(self, cap: int | None = None) -> str:
        """Return the difference of two neighbours in words."""
        words: str = self.value[2]
        return words.format("one object" if cap == 1 else f"at most {cap} objects")
