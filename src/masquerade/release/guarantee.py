"""The guarantee of a release: how it is made, put into words, and written as JSON."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

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
    """Return the promise of a release against everybody who sees it; the collector is trusted.

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


def no_guarantee(*reasons: str) -> Guarantee:
    """Return the guarantee of a release that promises nothing, and why it does not."""
    return replace(Guarantee.none(*reasons, unit="claim"), trust="collector")


def guarantee_sentence(guarantee: Guarantee) -> str:
    """Return a release's guarantee in words: the unit, epsilon, and what is taken for public.

    Examples
    --------
    >>> from masquerade.release import synthesize
    >>> claims = {"task": ["a"] * 30, "worker": [f"u{n}" for n in range(30)], "value": [5.0] * 30}
    >>> release = synthesize(claims, epsilon=1, domain=(0, 10), samples=5)
    >>> guarantee_sentence(release.guarantee)[:54]
    'Protected is a single claim, with epsilon = 1 (proven)'
    """
    listed = "; ".join(guarantee.assumptions)
    if guarantee.status != "proven":
        return (
            "This release carries no privacy guarantee: it may be used to study the method and "
            f"must not be published as protected. Why: {listed}."
        )
    delta = f" and delta = {float(guarantee.delta):.6g}" if guarantee.delta else ""
    but = f", but for a probability of {float(guarantee.delta):.6g}" if guarantee.delta else ""
    adds_up = (
        " A user's claims about several objects add up: it is the single claim that is protected, "
        "not the user."
    )
    trust = {
        "collector": "The collector, who holds the claims, is trusted.",
        "local": "Nobody needs to be trusted where each user adds the noise.",
    }
    return (
        f"Protected is {'a single claim' if guarantee.unit == 'claim' else 'a user'}, with epsilon "
        f"= {guarantee.epsilon}{delta} (proven): if "
        f"{guarantee.neighbours}, the probability of every possible release changes at most by the "
        f"factor e to the {guarantee.epsilon}{but}."
        f"{adds_up if guarantee.unit == 'claim' else ''} Taken for public, and so not protected: "
        f"{listed}. {trust[guarantee.trust]}"
    )


def guarantee_json(guarantee: Guarantee) -> dict[str, Any]:
    """Return a release's guarantee as a JSON object.

    Examples
    --------
    >>> from masquerade.release import synthesize
    >>> claims = {"task": ["a"] * 30, "worker": [f"u{n}" for n in range(30)], "value": [5.0] * 30}
    >>> release = synthesize(claims, epsilon=1, domain=(0, 10), samples=5)
    >>> guarantee_json(release.guarantee)["unit"]
    'claim'
    """
    proven = guarantee.status == "proven"
    return {
        "status": guarantee.status,
        "unit": guarantee.unit,
        "epsilon": guarantee.epsilon.to_json(),
        "delta": float(guarantee.delta),
        "cap": guarantee.answers if proven and guarantee.unit == "user" else None,
        "neighbours": guarantee.neighbours if proven else None,
        # assumptions hold what is public where something is proven, else why nothing is
        "public": list(guarantee.assumptions) if proven else [],
        "reasons": [] if proven else list(guarantee.assumptions),
        "trust": guarantee.trust,
        "sentence": guarantee_sentence(guarantee),
    }
