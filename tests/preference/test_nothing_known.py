"""Nothing that is not known is printed as known, by any fit of named items."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.answers import Comparisons
from masquerade.preference import SocialPreference, rank_alternatives
from masquerade.preference.mechanisms.automatic import Automatic


def separated(*, voters: int) -> Comparisons:
    """Return comparisons in which top won everything, low lost everything, nobody saw unseen."""
    rng = np.random.default_rng(1)
    rows = [(f"v{i % voters}", *pair) for i in range(60) for pair in [("a", "b"), ("b", "a")]]
    rows += [(f"v{rng.integers(voters)}", "top", other) for other in "ab" for _ in range(5)]
    rows += [(f"v{rng.integers(voters)}", other, "low") for other in "ab" for _ in range(5)]
    voter, chosen, rejected = zip(*rows, strict=True)
    return Comparisons.from_frame(
        {"voter": voter, "chosen": chosen, "rejected": rejected},
        items=["a", "b", "low", "top", "unseen"],
    )


@pytest.mark.parametrize("voters", [3, 30])
def test_without_privacy_separated_and_unseen_items_are_uncertain(voters: int) -> None:
    """No error below .05; an unseen item has the prior's width (sd 2), and any rank."""
    learned = SocialPreference.learn(separated(voters=voters), mechanism="none")
    errors = learned.standard_errors
    assert errors is not None
    assert errors.min() > 0.05
    unseen = [feature.name for feature in learned.features].index("unseen")
    assert learned.weights[unseen] == pytest.approx(0, abs=1e-6)
    assert errors[unseen] == pytest.approx(2 * np.sqrt(1 - 1 / 5), rel=0.05)
    ranking = rank_alternatives(learned)
    place = ranking.names.index("unseen")
    assert (ranking.best_rank[place], ranking.worst_rank[place]) == (1, 5)
    assert "one way only" in learned.release.details["remark"]


def test_the_automatic_choice_reads_named_items() -> None:
    """`choose` takes comparisons of items as they were read, under each unit."""
    table = separated(voters=30)
    for unit, name in (("choice", "item-wins"), ("record", "item-net-wins")):
        chosen = Automatic(1, unit=unit).choose(table)  # type: ignore[arg-type]
        assert chosen.name == name
        assert chosen == Automatic(1, unit=unit).choose(table.by_items())  # type: ignore[arg-type]
