"""m of M: each person is asked some blocks of a survey, drawn by their device in clear.

Which blocks are asked depends on no answer, so it is sent in clear, and no report is sent for the
others. One response costs what the costliest blocks cost together. There is no amplification: the
set is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from masquerade.accounting import Cost, compose, compose_linked
from masquerade.errors import BrokenPromise, InvalidReport, ParameterError
from masquerade.exact import Guarantee, Micro
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.exact.epsilon_at_delta import epsilon_of_orders
from masquerade.exact.loss import Loss, no_loss, tail
from masquerade.mechanisms.device_mechanism import DeviceMechanism

#: Stands where a question was not drawn: a whole number that no mask gives.
NOT_DRAWN = -(2**53 - 1)


@dataclass(frozen=True, slots=True)
class Draw:
    """How many blocks of questions each person is asked, and the places of each block's questions.

    Examples
    --------
    >>> draw = Draw(1, ((0, 2), (1,)))
    >>> draw.places([1]), draw.spread([7], [1], 3) == [NOT_DRAWN, 7, NOT_DRAWN]
    ((1,), True)
    """

    asked: int
    blocks: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if type(self.asked) is not int or not 1 <= self.asked < len(self.blocks):
            raise ParameterError(
                f"asked is {self.asked!r}; the survey has {len(self.blocks)} blocks of questions "
                f"that hang together, so that 1 to {len(self.blocks) - 1} of them can be asked.",
                field="asked",
            )

    @property
    def share(self) -> float:
        """The share of people who are asked any one block."""
        return self.asked / len(self.blocks)

    def draw(self, coins: WordSource) -> list[int]:
        """Return the places of blocks for one person, ascending; each set is as likely."""
        left = list(range(len(self.blocks)))
        for at in range(self.asked):
            other = at + int(uniform_below(coins, len(left) - at, 1)[0])
            left[at], left[other] = left[other], left[at]
        return sorted(left[: self.asked])

    def require(self, drawn: object) -> list[int]:
        """Return drawn blocks that a device kept; `BrokenPromise` where they are none."""
        places = drawn if isinstance(drawn, list) else []
        known = len(set(places)) == len(places) == self.asked
        if not known or not set(places) <= set(range(len(self.blocks))):
            raise BrokenPromise("the questions that were drawn here are not those of the survey.")
        return places

    def places(self, drawn: Sequence[int]) -> tuple[int, ...]:
        """Return the places of the questions of these blocks, ascending."""
        return tuple(sorted(place for block in drawn for place in self.blocks[block]))

    def spread(self, reports: Sequence[int], drawn: Sequence[int], questions: int) -> list[int]:
        """Return reports to drawn questions among all, `NOT_DRAWN` where there is none."""
        found = [NOT_DRAWN] * questions
        for place, report in zip(self.places(drawn), reports, strict=True):
            found[place] = report
        return found

    def check(self, reports: Sequence[int]) -> tuple[int, ...]:
        """Return the places of the questions that reports are of, in as many blocks as asked."""
        drawn = [
            number
            for number, block in enumerate(self.blocks)
            if any(reports[place] != NOT_DRAWN for place in block)
        ]
        places = self.places(drawn)
        if len(drawn) != self.asked or any(reports[place] == NOT_DRAWN for place in places):
            raise InvalidReport(
                f"these are not the reports of {self.asked} whole blocks of the survey."
            )
        return places

    def require_independent(self, masks: Sequence[DeviceMechanism]) -> None:
        """Raise unless each answer is masked by itself, so that blocks' losses add."""
        for mask in masks:
            if str(mask).startswith("two-layer:") or mask.loss(answers=1).in_clear:
                raise ParameterError(
                    f"{mask} does not mask each answer by itself, so that some questions alone "
                    "cannot be asked; choose another mask, or ask all questions.",
                    field="asked",
                )

    @classmethod
    def of_invitation(cls, data: Any, questions: int) -> Draw | None:
        """Return the draw that an invitation names; None for none.

        Raises `BrokenPromise` where it is none of so many questions.
        """
        if data is None:
            return None
        try:
            draw = cls(data["asked"], tuple(tuple(block) for block in data["blocks"]))
            places = sorted(place for block in draw.blocks for place in block)
        except (ParameterError, KeyError, TypeError) as error:
            raise BrokenPromise(f"the invitation draws no blocks ({error}).") from None
        if places != list(range(questions)) or not all(draw.blocks):
            raise BrokenPromise("the invitation draws blocks that are not all of its questions.")
        return draw

    def to_json(self) -> dict[str, int | list[list[int]]]:
        """Return the draw as a JSON object."""
        return {"asked": self.asked, "blocks": [list(block) for block in self.blocks]}

    def costliest(self, masks: Sequence[DeviceMechanism]) -> tuple[list[int], Loss]:
        """Return the costliest blocks, and a bound on the loss of every set of blocks.

        The loss is the largest sum at each order by itself; where blocks' losses cross, no one set
        may reach all of it.
        """
        losses = [
            sum((masks[place].loss(answers=1) for place in block), no_loss())
            for block in self.blocks
        ]
        order = sorted(range(len(losses)), key=lambda one: (-tail(losses[one]).micro, one))

        def most(amounts: Sequence[float]) -> Any:
            return sum(sorted(amounts, reverse=True)[: self.asked])

        pure = most([one.pure for one in losses])
        orders = tuple(most(row) for row in zip(*(one.orders for one in losses), strict=True))
        worst = replace(
            losses[0], pure=pure, orders=orders, clock=most([one.clock for one in losses])
        )
        return sorted(order[: self.asked]), worst

    def guarantee(
        self, masks: Sequence[DeviceMechanism], linked: Sequence[Sequence[int]]
    ) -> Guarantee:
        """Return the guarantee of one response, for every draw."""
        whole = compose_linked(masks, linked)
        if whole.status != "proven":
            return whole
        blocks, worst = self.costliest(masks)
        answers = max(len(block) for block in self.blocks) * self.asked
        some = compose([masks[place] for place in self.places(blocks)])
        user, rho = some.epsilon_user, some.rho_user
        if some.loss_user is None or not _covers(some.loss_user, worst):
            user = epsilon_of_orders(worst, whole.delta) if whole.delta else Micro(worst.pure)
            rho = whole.rho_user
        return replace(
            whole,
            epsilon_user=user,
            rho_user=rho,
            loss_user=worst,
            answers=min(answers, whole.answers),
        )

    def cost(self, masks: Sequence[DeviceMechanism]) -> Cost:
        """Return the cost of one response, for every draw."""
        blocks, worst = self.costliest(masks)
        some = Cost.of("", [masks[place] for place in self.places(blocks)])
        event = max(some.event, Cost.of("", masks).event)
        return Cost("", some.mechanisms, event=event, loss=worst)


def _covers(loss: Loss, other: Loss) -> bool:
    amounts = zip(
        (loss.pure, *loss.orders, loss.clock), (other.pure, *other.orders, other.clock), strict=True
    )
    return all(one >= two for one, two in amounts)
