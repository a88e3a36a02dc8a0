"""The promise of a mechanism or of a result: protected people, observers, and amounts."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from masquerade.errors import ParameterError
from masquerade.exact.loss import Loss
from masquerade.exact.micro import INFINITE_LOSS, Micro

#: The units that are whole persons; the others are one of the things that a person gives.
PERSONS = ("worker", "voter", "user")
#: Epsilon above which a loss is asked back.
HARDLY_PRIVATE = 20
UNITS = (*PERSONS, "answer", "record", "choice", "claim")
TRUST = ("local", "two-parties", "aggregator", "collector", "secure-sum", "everyone")
STATUSES = ("proven", "assumed", "none")


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A differential-privacy promise: protected people, observers, and amounts.

    Attributes
    ----------
    epsilon_single : Micro
        For a person who gives one thing (an answer, a record, a claim) in a lifetime.
    epsilon_event : Micro
        Two worlds differ in one of the things that a person gives; all that is sent is seen.
    epsilon_user : Micro
        Two worlds differ in all that a person gives. This is the figure that protects a person.
    answers : int
        How many things a person gives.
    assumptions : tuple of str
        What has to be true for the promise to hold, what is taken for public included; where there
        is no promise, why.
    delta : Fraction
        The epsilons hold up to this additive probability (approximate differential privacy); 0
        where they hold outright.
    unit : str
        Whom `epsilon` protects: a person with all answers (``"worker"``, ``"voter"``, ``"user"``),
        or one thing that a person gives (``"answer"``, ``"record"``, ``"choice"``, ``"claim"``).
    trust : str
        Who need not be trusted: ``"local"`` protects from everyone but the person's own device,
        ``"two-parties"`` from everyone while one of two parties is honest, ``"aggregator"``,
        ``"collector"`` and ``"secure-sum"`` from everyone who sees the result alone;
        ``"everyone"`` protects from nobody.
    status : str
        ``"proven"``; ``"assumed"`` where it holds if people keep to a design that nobody checks, or
        if what another package states is true; or ``"none"``.
    rho_event, rho_user : Micro, optional
        Zero-concentrated loss of one changed answer and of all, where the mechanism is accounted
        for in rho; such amounts add over answers, and no delta goes with them.
    neighbours : str
        In words, what two neighbouring data sets of the unit differ in; may be empty.
    loss_event, loss_user : masquerade.exact.loss.Loss, optional
        The whole losses behind the amounts, where they were worked out: sentences about what
        somebody can come to believe follow from these.

    Raises
    ------
    ParameterError
        The unit, the trust or the status is not one of those above.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> promise = RandomizedResponse(3, epsilon=1).guarantee(answers=5)
    >>> str(promise.epsilon_event), str(promise.epsilon_user), promise.unit, promise.status
    ('1', '5', 'worker', 'proven')
    """

    epsilon_single: Micro
    epsilon_event: Micro
    epsilon_user: Micro
    answers: int
    assumptions: tuple[str, ...]
    delta: Fraction = Fraction(0)
    unit: str = "worker"
    trust: str = "local"
    status: Literal["proven", "assumed", "none"] = "proven"
    rho_event: Micro | None = None
    rho_user: Micro | None = None
    neighbours: str = ""
    loss_event: Loss | None = field(default=None, compare=False, repr=False)
    loss_user: Loss | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        # A unit that is misspelt would give the smaller figure, that of one thing of many.
        for name, known in (("unit", UNITS), ("trust", TRUST), ("status", STATUSES)):
            value = getattr(self, name)
            if value not in known:
                raise ParameterError(f"{name} is {value!r}; expected one of {', '.join(known)}.")

    @classmethod
    def none(cls, *reasons: str, unit: str = "worker") -> Guarantee:
        """Return a guarantee that promises nothing, with the reasons."""
        nothing = (INFINITE_LOSS, INFINITE_LOSS, INFINITE_LOSS)
        return cls(*nothing, 1, reasons, delta=Fraction(1), unit=unit, status="none")

    @property
    def epsilon(self) -> Micro:
        """The loss of one unit."""
        return self.epsilon_user if self.unit in PERSONS else self.epsilon_event

    def to_json(self) -> dict[str, Any]:
        """Return the guarantee of a local randomizer as a JSON object, rounded up to 1e-6."""
        return {
            "epsilon_single": self.epsilon_single.to_json(),
            "epsilon_event": self.epsilon_event.to_json(),
            "epsilon_user": self.epsilon_user.to_json(),
            "delta": float(self.delta),
            "rho_event": None if self.rho_event is None else self.rho_event.to_json(),
            "rho_user": None if self.rho_user is None else self.rho_user.to_json(),
            "answers": self.answers,
            "unit": self.unit,
            "trust": self.trust,
            "status": self.status,
            "assumptions": list(self.assumptions),
        }


def question_of_loss(epsilon: float, *, name: str = "epsilon", of: str = "") -> str | None:
    """Return a question back on an epsilon that is 0 or protects hardly anything; else None.

    `of`: what the loss is of, such as " for one answer".

    Examples
    --------
    >>> question_of_loss(50, of=" for one answer")[:38]
    'epsilon is 50 for one answer. Did you '
    >>> question_of_loss(1) is None
    True
    """
    if epsilon == 0:
        return f"{name} is 0{of}: what comes out is noise alone and says nothing of the answers."
    if epsilon > HARDLY_PRIVATE:
        return (
            f"{name} is {epsilon:g}{of}. Did you mean a smaller one? Above {HARDLY_PRIVATE} hardly "
            "anything is protected; 0.1 to 3 is usual."
        )
    return None
