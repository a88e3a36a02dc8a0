"""The cost of one response, the same for everybody who gives it."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from masquerade.accounting.caps import is_gaussian
from masquerade.accounting.composition import compose
from masquerade.accounting.kinds import is_clear, kinds_of, rho_of
from masquerade.accounting.rho import NO_RHO, Rho, rho_of_pure
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, NO_LOSS, Micro
from masquerade.mechanisms import Mechanism
from masquerade.mechanisms.registry import mechanism_of


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one response to a survey, in every unit that a ledger counts.

    Attributes
    ----------
    mechanisms : tuple of str
        Text form of the mechanism of each answer, in order.
    event, user : Micro
        Pure epsilon for one changed answer and for all answers together; infinite where an answer
        is sent in clear or masked without a pure epsilon.
    protected : Micro, optional
        As `user`, for the answers that are not in clear; given where there are some in clear.
    rho : Rho, optional
        Of the same answers; left out where it is to follow from `protected`.
    clear : int
        How many answers are sent in clear. They are in neither `protected` nor `rho`.
    gaussian : bool
        Whether all protected answers count as masked by Gaussian noise; see `caps.is_gaussian`.
    micro_epsilon, unbounded, micro_rho, other : int
        Derived: `protected` where it is finite, else 0; 1 where it is not; the rho that counts; 1
        where there is one that is not Gaussian.
    plain : bool
        Derived: whether only the first four are given.
    digest : str
        Derived: SHA-256 of everything given.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> masks = [RandomizedResponse(2, epsilon=1), RandomizedResponse(5, epsilon=2)]
    >>> cost = Cost.of("survey-1", masks)
    >>> str(cost.event), str(cost.user)
    ('2', '3')
    """

    survey: str
    mechanisms: tuple[str, ...]
    event: Micro
    user: Micro
    protected: Micro | None = None
    rho: Rho | None = None
    clear: int = 0
    gaussian: bool = False
    micro_epsilon: int = field(init=False, repr=False, compare=False)
    unbounded: int = field(init=False, repr=False, compare=False)
    micro_rho: int = field(init=False, repr=False, compare=False)
    other: int = field(init=False, repr=False, compare=False)
    plain: bool = field(init=False, repr=False, compare=False)
    digest: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.clear < 0 or (self.clear and self.user != INFINITE_LOSS):
            raise ParameterError(
                f"clear is {self.clear} and user is {self.user}; an answer in clear has an "
                "infinite loss and is counted as one, never as nothing."
            )
        if (self.protected is None) == bool(self.clear):
            raise ParameterError(
                f"protected is {self.protected} and clear is {self.clear}; it is given where "
                "answers are sent in clear, and only there."
            )
        protected = self.user if self.protected is None else self.protected
        infinite = math.isinf(protected.micro)
        rho = rho_of_pure(protected) if self.rho is None else self.rho
        if not infinite and math.isinf(rho.micro):
            raise ParameterError(
                f"rho is infinite and the pure epsilon is {protected}, which bounds it; leave rho "
                "out."
            )
        derived = {
            "micro_epsilon": 0 if infinite else protected.micro,
            "unbounded": int(infinite),
            # Without any bound a response fits no cap: see `Caps.admit`.
            "micro_rho": rho.micro,
            "other": int(not self.gaussian and rho != NO_RHO),
            "plain": self.rho is None and not self.clear and not self.gaussian,
            "digest": hashlib.sha256(self._line().encode(errors="surrogatepass")).hexdigest(),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def _line(self) -> str:
        # Every text has its length before it, so that no boundary between fields can be moved.
        texts = "".join(f"{len(text)}:{text}" for text in (self.survey, *self.mechanisms))
        given = [None if x is None else x.micro for x in (self.protected, self.rho)]
        clear = f"{self.clear} gaussian" if self.gaussian else f"{self.clear}"
        return f"{self.event.micro} {self.user.micro} {given[0]} {given[1]} {clear} {texts}"

    @classmethod
    def of(cls, survey: str, mechanisms: Iterable[Mechanism | str]) -> Cost:
        """Return the cost of a response whose answers are masked by `mechanisms`.

        A mechanism that bounds nothing, such as a flip probability of 0, sends answers in clear.

        Raises
        ------
        NoGuarantee
            A mechanism promises nothing that could be counted.
        ParameterError
            One is no mechanism.
        """
        asked = [mechanism_of(mechanism) for mechanism in mechanisms]
        # all answers of one mechanism together: they may share a flip probability
        kinds = {mechanism: kinds_of([mechanism] * n) for mechanism, n in Counter(asked).items()}
        in_clear = {mechanism for mechanism, found in kinds.items() if any(map(is_clear, found))}
        masked = [mechanism for mechanism in asked if mechanism not in in_clear]
        event = protected = NO_LOSS
        if masked:
            promise = compose(masked)
            event, protected = promise.epsilon_event, promise.epsilon_user
            if promise.delta:  # an epsilon at a delta, which does not add up
                event = protected = INFINITE_LOSS
        clear = len(asked) - len(masked)
        return cls(
            survey,
            tuple(str(mechanism) for mechanism in asked),
            event=INFINITE_LOSS if clear else event,
            user=INFINITE_LOSS if clear else protected,
            protected=protected if clear else None,
            rho=sum((rho_of(kind) for m in dict.fromkeys(masked) for kind in kinds[m]), NO_RHO),
            clear=clear,
            gaussian=bool(masked) and all(is_gaussian(kind) for m in masked for kind in kinds[m]),
        )
