"""What a release promises, whom it protects, and what it takes for public."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from masquerade.exact import INFINITE_LOSS, Loss

Unit = Literal["claim", "user"]
UNITS = ("claim", "user")

PARTICIPATION = (
    "who claimed a number about which object, and so the list of objects and the number of claims "
    "about each"
)
"""Taken for public by every engine that promises anything."""


@dataclass(frozen=True, slots=True)
class ReleaseGuarantee:
    """What a release promises against everybody who sees it.

    Attributes
    ----------
    status : str
        ``"proven"``, or ``"none"``: nothing is promised, for the `reasons` given.
    unit : str
        What two neighbouring data sets differ in: ``"claim"``, the value of one claim; ``"user"``,
        the values of all claims of one user, about at most `cap` objects. Neither hides that a user
        made a claim about an object: a claim cannot be moved, added or taken away unseen.
    epsilon : Loss
        For the unit; infinite where nothing is promised.
    delta : Fraction
    cap : int or None
        Most objects of one user, for the unit ``"user"``.
    public : tuple of str
        What is taken for public, and so not protected.
    reasons : tuple of str
        Why there is no promise; empty where there is one.
    trust : str
        ``"collector"``: whoever holds the claims is trusted. ``"local"``: nobody needs to be, where
        the noise is added on each user's device.
    """

    status: str
    unit: Unit
    epsilon: Loss
    delta: Fraction = Fraction(0)
    cap: int | None = None
    public: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    trust: str = "collector"

    @classmethod
    def none(cls, *reasons: str) -> ReleaseGuarantee:
        """Return the guarantee of what promises nothing."""
        return cls("none", "claim", INFINITE_LOSS, Fraction(1), reasons=reasons)

    @property
    def neighbours(self) -> str:
        """Which two data sets cannot be told apart."""
        if self.unit == "claim":
            return "one value is replaced by any other, about the same object by the same user"
        objects = "one object" if self.cap == 1 else f"at most {self.cap} objects"
        return f"all values of one user, about {objects}, are replaced, about the same objects"

    def sentence(self) -> str:
        """Return the guarantee in words: the unit, epsilon, and what is taken for public."""
        if self.status != "proven":
            return (
                "This release carries no privacy guarantee: it may be used to study the method and "
                f"must not be published as protected. Why: {'; '.join(self.reasons)}."
            )
        but = f" and delta = {float(self.delta):.6g}" if self.delta else ""
        not_more = (
            " A user's claims about several objects add up: it is the single claim that is "
            "protected, not the user."
            if self.unit == "claim"
            else ""
        )
        trusted = (
            "The collector, who holds the claims, is trusted."
            if self.trust == "collector"
            else "Nobody needs to be trusted where each user adds the noise."
        )
        return (
            f"Protected is {'a single claim' if self.unit == 'claim' else 'a user'}, with epsilon ="
            f" {self.epsilon}{but} (proven): if {self.neighbours}, the probability of every "
            f"possible release changes at most by the factor e to the {self.epsilon}"
            f"{f', but for a probability of {float(self.delta):.6g}' if self.delta else ''}."
            f"{not_more} Taken for public, and so not protected: {'; '.join(self.public)}. "
            f"{trusted}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the guarantee as a JSON object."""
        proven = self.status == "proven"
        return {
            "status": self.status,
            "unit": self.unit,
            "epsilon": self.epsilon.to_json(),
            "delta": float(self.delta),
            "cap": self.cap,
            "neighbours": self.neighbours if proven else None,
            "public": list(self.public),
            "reasons": list(self.reasons),
            "trust": self.trust,
            "sentence": self.sentence(),
        }
