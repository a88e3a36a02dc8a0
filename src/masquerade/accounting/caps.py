"""A person's caps, and the rule (a privacy filter) by which they admit another response.

Surveys come one after the other, and which comes next, at which level, may depend on what was
reported before. A theorem about a fixed list of mechanisms does not cover that; a filter does. It
admits a response if, counted with everything spent and reserved,

- the pure epsilons add to at most ``cap.epsilon`` (nothing without a pure epsilon among them), or
- the rhos add to at most ``cap.rho``, or
- all of it is Gaussian noise, and the rhos add to at most ``cap.gaussian``,

and the answers sent in clear are at most ``cap.clear``.

Why everything admitted together is (cap.epsilon, cap.delta)-private. Let P and Q be the
distributions of the whole transcript in two worlds that differ in all protected answers of one
person. Which of the conditions holds at the end is a function of the transcript, because admission
uses only the ledger: let A be the transcripts on which the first holds, B all others, on which the
second or the third does. Sums only grow, and what is not all Gaussian never becomes so: the first
condition, and "the second or the third", hold all along if they hold at the end.

1. Stop the interaction just before the first condition would break. The stopped process is
   epsilon-private: at each step the conditional losses add to at most the cap. On A it is the real
   process, so ``P(T and A) <= e**epsilon Q(T and A)`` for every event T.
2. Stop it just before neither the second nor the third would hold. The stopped process is (epsilon,
   delta)-private, at the one delta, by the proof in `masquerade.accounting.gaussian_room`. On B it
   is the real process, so ``P(T and B) <= e**epsilon Q(T and B) + delta``.
3. Add the two.

The sums that matter are those of the mechanisms that ran, and they only grow. A reservation that is
released belongs to a mechanism that never ran: at the last admission the rule held for everything
spent and reserved, which is no less than what has run at the end.

Caps of ``rule`` 1, as ledgers held them before, have ``gaussian`` equal to ``rho``, the largest rho
that gives ``cap.epsilon`` at ``cap.delta``: rho adds under adaptive choice of the rhos while the
total is bounded (Whitehouse, Ramdas, Rogers and Wu, 2023).

What the filter never uses are the sharper numbers of `masquerade.accounting.spent` for a fixed
list; they describe what was spent and admit nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from masquerade.accounting.concentrated import Rho, rho_of_cap
from masquerade.accounting.gaussian_room import Room, room_of
from masquerade.errors import ParameterError
from masquerade.exact import MICRO, Loss
from masquerade.exact.concentrated import DEFAULT_DELTA

DEFAULT_CAP = Loss(10 * MICRO)


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that everything together may cost a person.

    Attributes
    ----------
    epsilon : Loss
        Finite.
    delta : Fraction
        Probability with which the bound may fail, 0 or more, below 1. With 0 only pure epsilon
        counts.
    clear : int
        How many answers may be sent in clear; these are outside every guarantee.
    rule : int
        2, or 1 for caps that were kept before there was a third condition.
    rho, gaussian : Rho
        Derived: the most zero-concentrated loss within epsilon at delta, of anything, and where
        all of it is Gaussian noise.
    text : str
        Derived: what was given, as it is hashed.

    Examples
    --------
    >>> caps = Caps(Loss(10_000_000), Fraction(1, 10**6))
    >>> str(caps.rho), caps.admit(epsilon=10_000_000, rho=9_999_092, clear=0)
    ('1.501163', True)
    >>> caps.admit(epsilon=10_000_001, rho=9_999_093, clear=0)
    False
    """

    epsilon: Loss = DEFAULT_CAP
    delta: Fraction = DEFAULT_DELTA
    clear: int = 0
    rule: int = 2
    rho: Rho = field(init=False)
    gaussian: Rho = field(init=False)
    text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Loss) or not isinstance(self.epsilon.micro, int):
            raise ParameterError(
                f"the cap on epsilon is {self.epsilon}, expected a finite Loss, such as "
                "Loss(10_000_000) for 10."
            )
        if not isinstance(self.delta, Fraction) or not 0 <= self.delta < 1:
            raise ParameterError(f"delta is {self.delta!r}, expected a fraction, 0 to below 1.")
        if not isinstance(self.clear, int) or isinstance(self.clear, bool) or self.clear < 0:
            raise ParameterError(f"clear is {self.clear!r}, expected an integer of at least 0.")
        if self.rule not in (1, 2):
            raise ParameterError(f"rule is {self.rule!r}, expected 1 or 2.")
        plain = rho_of_cap(self.epsilon, self.delta)
        room = room_of(self.epsilon, self.delta) if self.rule == 2 else Room(plain, plain)
        object.__setattr__(self, "rho", room.rho)
        object.__setattr__(self, "gaussian", room.gaussian)
        text = f"{self.epsilon.micro},{self.delta},{self.clear}"
        # rule 1 is left out, so that the hashes of older entries stay as they are
        if self.rule > 1:
            text += f",{self.rule}"
        object.__setattr__(self, "text", text)

    def admit(self, *, epsilon: float, rho: float, clear: int, gaussian: bool = False) -> bool:
        """Return whether these totals are within the caps.

        Parameters
        ----------
        epsilon : int or math.inf
            Sum of pure epsilons in micro-epsilon; infinite where one of them is.
        rho : int or math.inf
            Sum in micro-rho; likewise.
        clear : int
            Number of answers in clear.
        gaussian : bool
            Whether all charges count as Gaussian.
        """
        # exact: integers, so what is exactly enough is enough
        most = self.gaussian if gaussian else self.rho
        within = epsilon <= self.epsilon.micro or rho <= most.micro
        return within and clear <= self.clear

    def within(self, other: Caps) -> bool:
        """Return whether no cap here is above the one of `other`."""
        return (
            self.epsilon <= other.epsilon
            and self.delta <= other.delta
            and self.clear <= other.clear
        )
