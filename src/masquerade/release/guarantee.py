"""The guarantee of a release: its neighbours, how it is put into words and written as JSON."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

from masquerade.errors import ParameterError
from masquerade.exact import Guarantee
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

    VALUE = ("claim", REPLACE, "all that one user said of one object is replaced by anything else")
    PAIR = ("claim", ADD_REMOVE, "all that one user said of one listed object is added or removed")
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


def no_guarantee(*reasons: str) -> Guarantee:
    """Return the guarantee of a release that promises nothing, and why it does not."""
    return replace(Guarantee.none(*reasons, unit="claim"), trust="collector")


def guarantee_sentence(guarantee: Guarantee) -> str:
    """Return a release's guarantee in words: the unit, epsilon, and all that is public.

    Examples
    --------
    >>> from masquerade.release import ReleaseParameters
    >>> promise = ReleaseParameters(epsilon=1, domain=(0, 10)).guarantee()
    >>> guarantee_sentence(promise)[:54]
    'Protected is a single claim, with epsilon = 1 (proven)'

    Raises
    ------
    ParameterError
        The guarantee is that of a mask, and says no neighbours.
    """
    if guarantee.status == "proven" and not guarantee.neighbours:
        raise ParameterError(
            "this guarantee is of a mask and not of a release; its sentences are those of "
            "masquerade.accounting.words.explain(guarantee), and of masquerade privacy SPEC."
        )
    listed = "; ".join(guarantee.assumptions)
    if guarantee.status != "proven":
        return (
            "This release carries no privacy guarantee: it may be used to study the method and "
            f"must not be published as protected. Why: {listed}."
        )
    delta = f" and delta = {float(guarantee.delta):.6g}" if guarantee.delta else ""
    but = f", but for a probability of {float(guarantee.delta):.6g}" if guarantee.delta else ""
    adds_up = (
        " What one user said of several objects adds up: it is the single claim that is protected, "
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
    >>> from masquerade.release import ReleaseParameters
    >>> guarantee_json(ReleaseParameters(epsilon=1, domain=(0, 10)).guarantee())["unit"]
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
