"""Questions whose reports can change together with one answer, by enumeration of all worlds.

One changed answer changes its own report, and that of each question that is shown in exactly one of
the two worlds. All combinations of the answers that conditions tell apart are gone through, so that
the largest change is exact. Where there are more combinations than `MOST_STATES`, or more different
sets of changed reports than `MOST_SETS`, everything below the question counts as changed: sound,
and marked as an upper bound.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.surveys.condition_tree import Conditions, Leaf, condition_error
from masquerade.surveys.question import Question

#: Combinations of answers that are gone through for one question, on servers and devices alike.
MOST_STATES = 65_536
#: Different sets of changed reports that are kept for one question, on servers and devices alike.
MOST_SETS = 2_048

Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Linked:
    """The groups of questions whose reports can change with one answer.

    Attributes
    ----------
    groups : tuple of tuple of int
        Places of questions: the largest sets of reports that one changed answer changes. Sets that
        cost no more than another one may be left out.
    at_most : bool
        Whether some of them are upper bounds, because there were too many combinations.
    """

    groups: tuple[tuple[int, ...], ...]
    at_most: bool = False


def linked(
    questions: Sequence[Question], conditions: Conditions, alike: Sequence[Hashable] | None = None
) -> Linked:
    """Return the groups of questions whose reports can change with one answer.

    Parameters
    ----------
    questions : sequence of Question
    conditions : tuple
        One for each question, or empty.
    alike : sequence, optional
        For each question what its report costs; of groups that cost the same, the first is kept.

    Examples
    --------
    >>> from masquerade.surveys import Choice, ShowIf
    >>> first = Choice("a", "?", ("Yes", "No"))
    >>> more = [Choice(name, "?", ("Yes", "No"), allow_skip=True) for name in "bc"]
    >>> linked((first, *more), (None, ShowIf("a", ("Yes",)), ShowIf("b", ("Yes",)))).groups
    ((0, 1, 2),)
    """
    if not any(conditions):
        return Linked(())
    costs = list(range(len(questions))) if alike is None else list(alike)
    above = _named(questions, conditions)
    found: dict[tuple[int, ...], None] = {}
    at_most = False
    for place in range(len(questions)):
        below = _below(above, place)
        known = (Counter(costs[one] for one in group) for group in found)
        # What costs no more than a change that is known already is not looked through.
        if len(below) == 1 or any(Counter(costs[one] for one in below) <= one for one in known):
            continue
        groups = _changes(questions, conditions, above, place, below)
        at_most = at_most or groups is None
        found |= dict.fromkeys([tuple(below)] if groups is None else groups)
    first: dict[tuple[Hashable, ...], tuple[int, ...]] = {}
    for group in sorted(one for one in found if len(one) > 1):
        first.setdefault(tuple(sorted((costs[place] for place in group), key=repr)), group)
    return Linked(tuple(sorted(first.values())), at_most)


def require_possible(questions: Sequence[Question], conditions: Conditions) -> None:
    """Raise, naming the question, where no answers show it.

    A condition over more combinations than `MOST_STATES` is not looked through.
    """
    above = _named(questions, conditions)
    for place, condition in enumerate(conditions):
        worlds = None if condition is None else _Worlds.before(questions, conditions, above, place)
        if worlds is not None and not worlds.visible(place).any():
            raise condition_error(
                questions[place].id,
                ": nobody can ever be shown this question: no answers meet the condition. Change "
                "it, or the conditions of the questions that it names.",
            )


def shown_share(questions: Sequence[Question], conditions: Conditions, place: int) -> float:
    """Return the share of people who are shown a question if answers are equally frequent.

    Examples
    --------
    >>> from masquerade.surveys import Choice, ShowIf
    >>> asked = (Choice("a", "?", tuple("wxyz")), Choice("b", "?", ("Yes", "No"), allow_skip=True))
    >>> shown_share(asked, (None, ShowIf("a", ("w",))), 1)
    0.25
    """
    if not conditions or conditions[place] is None:
        return 1.0
    worlds = _Worlds.before(questions, conditions, _named(questions, conditions), place)
    if worlds is None:
        return 0.5  # nothing is known of it
    return float(worlds.weights() @ worlds.visible(place).reshape(-1))


def hang_together(
    questions: Sequence[Question], conditions: Conditions, together: Sequence[Sequence[str]] = ()
) -> tuple[tuple[int, ...], ...]:
    """Return the places of questions in blocks: each with all that depend on it, however far.

    `together`: groups of ids of questions that are in one block besides.

    Examples
    --------
    >>> from masquerade.surveys import Choice, ShowIf
    >>> asked = [Choice(name, "?", ("Yes", "No"), allow_skip=True) for name in "abc"]
    >>> hang_together(asked, (None, None, ShowIf("a", ("Yes",))))
    ((0, 2), (1,))
    """
    block = list(range(len(questions)))
    places = {question.id: place for place, question in enumerate(questions)}
    joined = [
        (place, one) for place, names in enumerate(_named(questions, conditions)) for one in names
    ]
    joined += [(places[ids[0]], places[one]) for ids in together for one in ids[1:]]
    for place, other in joined:
        old, new = block[other], block[place]
        block = [new if one == old else one for one in block]
    groups: dict[int, list[int]] = {}
    for place, one in enumerate(block):
        groups.setdefault(one, []).append(place)
    return tuple(map(tuple, groups.values()))


def _named(questions: Sequence[Question], conditions: Conditions) -> list[set[int]]:
    """Return for each question the places of those that its condition names."""
    places = {question.id: place for place, question in enumerate(questions)}
    every = conditions or (None,) * len(questions)
    return [
        set() if one is None else {places[leaf.question] for leaf in one.leaves()} for one in every
    ]


def _below(above: Sequence[set[int]], place: int) -> list[int]:
    """Return a question and all whose showing its answer can decide, however far."""
    below = {place}
    for other in range(place + 1, len(above)):
        if above[other] & below:
            below.add(other)
    return sorted(below)


def _changes(
    questions: Sequence[Question],
    conditions: Conditions,
    above: Sequence[set[int]],
    place: int,
    below: list[int],
) -> set[tuple[int, ...]] | None:
    """Return the largest sets of reports that one answer changes; None above `MOST_STATES`."""
    worlds = _Worlds.of(questions, conditions, above, place, set(below))
    if worlds is None:
        return None
    shown = worlds.visible(place)
    if not shown.any():
        return set()  # nobody answers it
    further = [worlds.visible(other) for other in below if other != place]
    # Axis 0 is the answer that changes; a row says which further questions each answer shows.
    table = np.stack(further, axis=-1)[:, shown[0]]
    patterns = np.unique(table.transpose(1, 0, 2).reshape(table.shape[1], -1), axis=0)
    bits = [1 << at for at in range(1, len(below))]
    found: set[int] = set()
    for pattern in patterns.reshape(len(patterns), len(table), -1):
        rows: dict[int, set[int]] = {}
        for row, masked in zip(pattern, worlds.masked[place], strict=True):
            shows = sum(bit for bit, flag in zip(bits, row, strict=True) if flag)
            rows.setdefault(shows, set()).update(masked)
        for one, other in itertools.combinations(rows, 2):
            # Answers that the mask takes for the same one, such as dates of one range, do not
            # change their own report.
            own = len(rows[one] | rows[other]) > 1
            found.add((one ^ other) | own)
        if len(found) > MOST_SETS:
            return None
    largest = [one for one in found if not any(one & other == one != other for other in found)]
    flags = [1, *bits]
    return {
        tuple(other for bit, other in zip(flags, below, strict=True) if one & bit)
        for one in largest
    }


@dataclass(frozen=True)
class _Worlds:
    """All combinations of the answers that conditions tell apart, one axis a question."""

    questions: Sequence[Question]
    conditions: Conditions
    axes: Mapping[int, tuple[int, ...]]  # place of a question: codes that stand for its answers
    shares: Mapping[int, tuple[float, ...]]
    masked: Mapping[int, tuple[set[int], ...]]  # what masks take for the answers of each class
    cache: dict[int, Flags]

    @classmethod
    def before(
        cls,
        questions: Sequence[Question],
        conditions: Conditions,
        above: Sequence[set[int]],
        place: int,
    ) -> _Worlds | None:
        """Return the worlds that decide whether a question is shown."""
        return cls.of(questions, conditions, above, None, {place})

    @classmethod
    def of(
        cls,
        questions: Sequence[Question],
        conditions: Conditions,
        above: Sequence[set[int]],
        changed: int | None,
        decided: set[int],
    ) -> _Worlds | None:
        """Return the worlds in which questions are shown or not; None where there are too many.

        `changed`: the question whose answer changes, of which pairs of answers are counted.
        """
        relevant = set(decided)
        for place in reversed(range(len(questions))):
            if place in relevant:
                relevant |= above[place]
        leaves: dict[int, list[Leaf]] = {}
        places = {question.id: place for place, question in enumerate(questions)}
        for place in relevant:
            for leaf in getattr(conditions[place], "leaves", tuple)():
                leaves.setdefault(places[leaf.question], []).append(leaf)
        order = sorted(leaves, key=lambda one: (one != changed, one))
        classes = {}
        for one in order:
            found = _classes(questions[one], leaves[one])
            if found is None:
                return None
            classes[one] = found
        states = 1
        for place, found in classes.items():
            count = len(found)
            states *= max(1, count * (count - 1) // 2) if place == changed else count
        if states > MOST_STATES:
            return None
        axes = {place: tuple(one.code for one in found) for place, found in classes.items()}
        total = {place: sum(one.share for one in found) for place, found in classes.items()}
        shares = {
            place: tuple(one.share / total[place] for one in found)
            for place, found in classes.items()
        }
        masked = {place: tuple(one.masked for one in found) for place, found in classes.items()}
        return cls(questions, conditions, axes, shares, masked, {})

    def visible(self, place: int) -> Flags:
        """Return in which worlds a question is shown."""
        if place not in self.cache:
            condition = self.conditions[place]
            shape = [len(codes) for codes in self.axes.values()]
            everywhere = np.ones((shape[0], math.prod(shape[1:])) if shape else (1, 1), bool)
            self.cache[place] = everywhere & (
                True if condition is None else condition.holds(self._met)
            )
        return self.cache[place]

    def _met(self, leaf: Leaf) -> Flags:
        place = next(p for p in self.axes if self.questions[p].id == leaf.question)
        question = self.questions[place]
        row = [code >= 0 and question.meets(code, leaf) for code in self.axes[place]]
        return self._spread(place, np.array(row)) & self.visible(place)

    def _spread(self, place: int, row: Flags) -> Flags:
        """Return a value of each answer to one question for all worlds."""
        order = list(self.axes)
        shape = [len(codes) for codes in self.axes.values()]
        along = [1] * len(shape)
        along[order.index(place)] = -1
        return np.broadcast_to(row.reshape(along), shape).reshape(shape[0], -1)

    def weights(self) -> Floats:
        """Return the share of each world, in one row, if answers are equally frequent."""
        order = [np.array(self.shares[place]) for place in self.axes]
        weights = np.ones(())
        for one in order:
            weights = np.multiply.outer(weights, one)
        flat: Floats = weights.reshape(-1)
        return flat


@dataclass(slots=True)
class _Class:
    """The answers to a question that conditions do not tell apart.

    `code`: one of them; -1 for no answer, which meets nothing.
    `share`: how many they are.
    `masked`: what the mask takes for them.
    """

    code: int
    share: float
    masked: set[int]


def _classes(question: Question, leaves: Sequence[Leaf]) -> list[_Class] | None:
    """Return the answers by which leaves they meet; None where there are too many to go through."""
    deciding = question.deciding_codes(leaves)
    if deciding is None:
        return None
    found: dict[tuple[bool, ...], _Class] = {}
    for code, share in (*deciding, *([(-1, 0.0)] if question.allow_skip else [])):
        row = tuple(code >= 0 and question.meets(code, leaf) for leaf in leaves)
        one = found.setdefault(row, _Class(code, 0.0, set()))
        one.share += share
        one.masked.add(question.masked_code(code) if code >= 0 else -1)
    return list(found.values())
