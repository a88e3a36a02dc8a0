"""Guarantees of the shelf's engines, by unit."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from masquerade.exact import Guarantee, Micro

Unit = Literal["claim", "user"]
UNITS = ("claim", "user")

#: Taken for public by every engine that promises anything.
PARTICIPATION = (
    "who claimed a number about which object, and so the list of objects and the number of claims "
    "about each"
)


def release_guarantee(
    unit: Unit,
    epsilon: Fraction,
    *,
    cap: int,
    public: tuple[str, ...],
    delta: Fraction,
    participation: bool = False,
) -> Guarantee:
    """Return the promise of a release to all its readers; the collector is trusted.

    Without `participation` neither unit hides that a user made a claim about an object: a claim
    cannot be moved, added or taken away unseen. With it that is what is hidden, and a value that is
    replaced, or moved to another object, costs twice.

    `unit`: what two neighbouring data sets differ in: one claim, or all claims of one user, about
    at most `cap` objects. `epsilon`, `delta`: for the unit. `cap`: most objects of one user, for
    the unit ``"user"``. `public`: what is taken for public, and so not protected: the guarantee's
    assumptions.
    """
    objects = "one object" if cap == 1 else f"at most {cap} objects"
    neighbours = {
        "claim": "one value is replaced by any other value about the same object by the same user",
        "user": f"all values of one user, about {objects}, are replaced, about the same objects",
    }
    if participation:
        neighbours = {
            "claim": "one claim about a listed object is added or removed",
            "user": f"one user is added or removed, with all claims about {objects} of the list",
        }
    loss = Micro.of_amount(epsilon)
    return Guarantee(
        loss,
        loss,
        loss,
        cap if unit == "user" else 1,
        public,
        delta=delta,
        unit=unit,
        trust="collector",
        neighbours=neighbours[unit],
    )
