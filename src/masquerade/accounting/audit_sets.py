"""Exact tables of masks with reports that name a drawn set, from the draws of a device."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from masquerade.accounting.audit_table import (
    Form,
    Row,
    TableLoss,
    divergences,
    each_time,
    ratio_of,
)
from masquerade.exact import Micro

_LARGEST_ROW = 1 << 12


class SubsetForm(Form):
    """A set of symbols with the answer inside with chance inside / total, the rest drawn evenly."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.codes, self.size = int(form["choices"]), int(form["size"])
        self.inside, self.total = int(form["inside"]), int(form["total"])

    def allows(self, code: int) -> bool:
        """Return whether a whole number is an answer."""
        return 0 <= code < self.codes

    def loss(self, answers: int, *, claimed: Micro, delta: Fraction) -> TableLoss:
        """Return the loss: of two answers a set holds one, the other, or both or neither.

        By an answer that is inside, each set with it has the same chance, and each without it too;
        sets with both, or without either, have the same chance by both.
        """
        kept = self.inside * (self.codes - self.size)
        moved = (self.total - self.inside) * self.size
        rest = self.total * (self.codes - 1) - kept - moved
        ratio = ratio_of(kept, moved)
        orders = divergences([(kept, moved, 1), (moved, kept, 1), (1, 1, rest)])
        worst = each_time("with the first alone", 0, 1, answers)
        return TableLoss(
            "fractions of sets with one of two answers",
            Micro.of_ratio(ratio),
            Micro.of_ratio(ratio, times=answers),
            worst if ratio > 1 else None,
            orders=tuple(answers * one for one in orders),
        )

    def row(self, code: int) -> Row | None:
        """Return the probabilities of one report of an answer; None where they are too many."""
        count = math.comb(self.codes, self.size)
        if count > _LARGEST_ROW:
            return None
        inside = self.inside / self.total / math.comb(self.codes - 1, self.size - 1)
        outside = (1 - self.inside / self.total) / math.comb(self.codes - 1, self.size)
        law = np.zeros(count)
        for members in itertools.combinations(range(self.codes), self.size):
            number = sum(math.comb(place, i + 1) for i, place in enumerate(members))
            law[number] = inside if code in members else outside
        return range(count), law


class OrderForm(Form):
    """The order of a few items that are drawn, masked by randomized response on the orders."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.items, self.ranked = int(form["items"]), int(form["ranked"])
        self.size, self.null = int(form["size"]), bool(form["null"])
        self.other, self.total = int(form["other"]), int(form["total"])
        self.orders = math.factorial(self.size)
        self.symbols = self.orders + self.null
        self.rankings = math.perm(self.items, self.ranked)
        self.codes = self.rankings + self.null

    def allows(self, code: int) -> bool:
        """Return whether a whole number is an answer."""
        return 0 <= code < self.codes

    def loss(self, answers: int, *, claimed: Micro, delta: Fraction) -> TableLoss:
        """Return the loss of randomized response on the orders.

        The set is drawn of nothing that was answered; given it, coins for items that are not ranked
        only mix rows, and a ranking and its reversal have rows that are not mixed and differ.
        """
        kept, moved = self.total - (self.symbols - 1) * self.other, self.other
        ratio = ratio_of(kept, moved)
        orders = divergences([(kept, moved, 1), (moved, kept, 1), (moved, moved, self.symbols - 2)])
        worst = each_time("of one set", 0, self.rankings - 1, answers)
        return TableLoss(
            "fractions of the orders of a set",
            Micro.of_ratio(ratio),
            Micro.of_ratio(ratio, times=answers),
            worst if ratio > 1 else None,
            orders=tuple(answers * one for one in orders),
        )

    def row(self, code: int) -> Row | None:
        """Return the probabilities of one report of an answer; None where they are too many."""
        sets = list(itertools.combinations(range(self.items), self.size))
        if len(sets) * self.symbols > _LARGEST_ROW:
            return None
        sets.sort(key=lambda one: sum(math.comb(place, i + 1) for i, place in enumerate(one)))
        permuted = list(itertools.permutations(range(self.size)))
        law = np.full((len(sets), self.symbols), self.other / self.total)
        gain = 1 - self.symbols * self.other / self.total
        ranking = None if code == self.rankings else self._ranking(code)
        for row, members in zip(law, sets, strict=True):
            if ranking is None:
                row[-1] += gain
                continue
            for tie in permuted:
                # the drawn order of those without a rank: the tie-th of them stands tie places on
                rank = [
                    ranking.index(item) if item in ranking else self.ranked + tie.index(at)
                    for at, item in enumerate(members)
                ]
                order = tuple(sorted(range(self.size), key=rank.__getitem__))
                row[permuted.index(order)] += gain / len(permuted)
        return range(law.size), law.ravel() / len(sets)

    def _ranking(self, code: int) -> list[int]:
        places = []
        for size in range(self.items - self.ranked + 1, self.items + 1):
            code, place = divmod(code, size)
            places.append(place)
        left = list(range(self.items))
        return [left.pop(place) for place in reversed(places)]
