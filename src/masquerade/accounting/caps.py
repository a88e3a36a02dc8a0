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
   delta)-private, at the one delta, by the proof below. On B it
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

**The third condition.** The rule on rho cannot tell Gaussian noise from the worst mechanism of the
same rho, and admits a tenth less of it than fits (27 numbers at level high under epsilon 10, where
30 fit). So a person whose answers all have Gaussian noise may go on up to a larger sum,
`Room.gaussian`; everybody else stops at `Room.rho`. That both hold at one delta, whatever is chosen
on the way, is shown here.

A charge counts as Gaussian if its reports are a function of Gaussian noise on the real line of a
strength mu with ``mu**2 <= 2 (1 + s) rho``, where s is `INFLATION`, but for a chance of `RARELY`;
see `is_gaussian`. Let L be the log ratio of the probabilities of all reports so far in the two
worlds, under the first. By Gaussian noise it moves like Brownian motion with drift 1/2 whose clock
m is the sum of mu**2 (what is less informative is a function of it). Fix an order a > 1 and let

    c(l) = (1/a) (1 - 1/a)**(a-1) e**((a-1)(l - epsilon))          at least (1 - e**(epsilon - l))+
    h(l) = delta at epsilon - l of Gaussian noise with mu**2 = B - M

with ``M = 2 (1 + s) rho`` and ``B = 2 (1 + s) gaussian``. While all charges are Gaussian let

    V(l, m) = E max(c(l + X), h(l + X)),  X normal with mean half its variance M - m, for m <= M,
    V(l, m) = delta at epsilon - l of Gaussian noise with mu**2 = B - m, for m >= M,

and once another charge came, with r the sum of rho, ``W(l, r) = c(l) e**((a-1) a (rho - r))``. In
the mean none of them grows along the way:

- Gaussian noise: variances of X and of the step add up; passing M, ``E h <= E max``.
- Another charge, after others: ``E e**((a-1) step) <= e**((a-1) a r')`` for a charge of r', by the
  definition of rho.
- The first other charge: the sum so far is r with ``m <= 2 (1 + s) r <= M``, and ``W(l, r) <=
  E c(l + X) <= V(l, m)``, because ``E e**((a-1) X) = e**((a-1) a (M - m) / 2)`` and ``(M - m) / 2
  >= rho - r``.

Each is at least ``(1 - e**(epsilon - l))+`` (Jensen), whose mean at the end is the delta of
everything. So that delta is at most ``V(0, 0) = E max(c, h)`` at time M, which is summed here over
cells, each by its upper end: both grow with l. One order proves it; which one is taken costs only
precision. The chance that some report is no function of Gaussian noise is at most `RARELY` times
the number of charges, of which each costs a millionth of rho or more; a millionth of delta pays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from masquerade.accounting.gaussian import ROUNDED, Mu, gaussian_sigma
from masquerade.accounting.kinds import Kind, MaskedNumber
from masquerade.accounting.rho import Rho, rho_of_cap
from masquerade.errors import ParameterError
from masquerade.exact import MICRO, Micro
from masquerade.exact.arrays import Floats
from masquerade.exact.epsilon_at_delta import DEFAULT_DELTA
from masquerade.exact.number import largest_whole, one_of

#: s: how much more mu**2 / 2 than rho a charge may have that counts as Gaussian.
INFLATION = Fraction(7, 10_000)

#: Chance that a report of a charge that counts as Gaussian is no function of Gaussian noise.
RARELY = 1e-33

_SHARE = 0.7  # of delta for all-Gaussian lists; the mean of the larger is far below the sum of both
_FOR_RARE = 1e-6
_LARGEST_EPSILON = 50
_LEAST_VARIANCE = 120  # in squared steps; below this, lattice noise grows too fast at any rate
_REACH = 16  # standard deviations
_CELLS = 16384
_MARGIN = 1e-9


@dataclass(frozen=True, slots=True)
class Room:
    """The largest sums of rho within a cap."""

    rho: Rho  # of all charges
    gaussian: Rho  # of all charges, where each counts as Gaussian; at least `rho`


# What `_room` finds for the caps that servers and devices have unless somebody sets others: to work
# it out takes half a second, which would be a third of a server's start. A test works it out.
_DEFAULT_ROOM = Room(Rho(1_501_163), Rho(1_668_610))


def is_gaussian(kind: Kind) -> bool:
    """Return whether a charge counts as Gaussian; see the module's docstring.

    For noise on a lattice with parameter v (in squared steps) let F be its distribution function
    and ``R(t)`` the normal quantile of F(t). A shift of d steps is a function of a shift by mu of
    normal noise if and only if ``R(t) - R(t - d) <= mu`` for all t, so it is enough that R never
    grows by more than ``mu / d`` in a step. That is looked at within 16 standard deviations; the
    law may be taken for one that goes on so beyond, which differs with a chance below `RARELY`.
    Where v is large, the noise is rounded noise of variance v - 4, see `accounting.gaussian`.
    """
    if isinstance(kind, Mu):
        return True
    return isinstance(kind, MaskedNumber) and _like_normal(kind.variance)


@lru_cache(maxsize=1024)
def room_of(epsilon: Micro, delta: Fraction) -> Room:
    """Return how far sums of rho may go under a cap with a finite epsilon."""
    # Between thousandths the lower one is taken, so that a lower cap never gives more room.
    whole = int(epsilon.micro) // 1000
    plain = rho_of_cap(epsilon, delta)
    if not delta or not 0 < whole <= 1000 * _LARGEST_EPSILON:
        return Room(plain, plain)
    if (epsilon, delta) == (DEFAULT_CAP, DEFAULT_DELTA):
        return _DEFAULT_ROOM
    return _room(whole, delta, plain)


def _room(thousandths: int, delta: Fraction, plain: Rho) -> Room:
    size = thousandths / 1000
    left = float(delta) * (1 - 2 * _FOR_RARE)
    if left <= 0:
        return Room(plain, plain)
    together = 1 / gaussian_sigma(size, _SHARE * left) ** 2 * (1 - _MARGIN)  # B
    # B = 2 (1 + s) gaussian, solved for the rho of lists that are all Gaussian.
    gaussian = math.floor(together / 2 / (1 + float(INFLATION)) * MICRO)
    # Each charge may fail to be Gaussian with so small a chance; all chances add.
    rare = gaussian * RARELY * (1 + math.exp(size))
    if gaussian <= plain.micro or rare > _FOR_RARE * float(delta):
        return Room(plain, plain)
    order = _order(size, left, plain.rho, together)
    micro = largest_whole(
        lambda m: _largest_delta(size, order, m / MICRO, together) <= left,
        high=int(plain.micro) + 1,
    )
    return Room(Rho(micro), Rho(gaussian)) if micro else Room(plain, plain)


def _order(epsilon: float, delta: float, rho: float, together: float) -> float:
    """Return nearly the best order."""
    middle = math.sqrt(-math.log(delta) / rho)
    orders = 1 + middle * np.linspace(0.6, 1.3, 15)
    return float(min(orders, key=lambda a: _largest_delta(epsilon, a, 0.97 * rho, together)))


def _largest_delta(epsilon: float, order: float, rho: float, together: float) -> float:
    """Return V(0, 0), rounded up."""
    from scipy.special import ndtr  # dear to load, as `gaussian` says

    clock = 2 * (1 + float(INFLATION)) * rho
    rest = together - clock
    if rest <= 0 or clock <= 0:
        return 1.0
    # The loss of Gaussian charges: normal with mean clock / 2 and variance clock.
    spread, grows = math.sqrt(clock), order - 1
    log_factor = grows * math.log1p(-1 / order) - math.log(order) - grows * epsilon
    top = clock / 2 + grows * clock + 10 * spread
    ends = np.linspace(clock / 2 - 12 * spread, top, _CELLS + 1)
    place = (ends - clock / 2) / spread
    mass = np.where(place[1:] > 0, -np.diff(ndtr(-place)), np.diff(ndtr(place)))
    # c may not be cut at 1: its mean, not c itself, is what a charge of rho leaves as it is.
    value = np.maximum(np.exp(log_factor + grows * ends), _delta(epsilon - ends, rest))
    below = float(ndtr(place[0])) * float(value[0])
    beyond = math.exp(log_factor + grows * order * clock / 2) * float(ndtr(-10.0))
    beyond += float(ndtr(-place[-1]))
    # `value` grows along the cells, so that its upper end bounds it in each
    return (float(mass @ value[1:]) + below + beyond) * (1 + _MARGIN)


def _delta(epsilon: Floats, squared: float) -> Floats:
    """Return delta of Gaussian noise at epsilons of any sign, rounded up."""
    from scipy.special import log_ndtr, ndtr

    mu = math.sqrt(squared)
    first = ndtr((squared / 2 - epsilon) / mu)
    # Balle and Wang (2018); the product is formed in logs, for e**epsilon alone may overflow
    second = np.exp(np.minimum(epsilon + log_ndtr((-squared / 2 - epsilon) / mu), 0.0))
    return np.asarray(np.maximum(first - second, 0.0) + 1e-13 * first)


@lru_cache(maxsize=4096)
def _like_normal(variance: Fraction) -> bool:
    if variance < _LEAST_VARIANCE:
        return False
    if ROUNDED / (variance - ROUNDED) <= INFLATION:
        return True

    from scipy.special import ndtri

    v = float(variance)
    # Normal quantiles of the noise: how much they grow from a step to the next bounds mu.
    steps = np.arange(-math.ceil((_REACH + 2) * math.sqrt(v)), 1, dtype=np.float64)
    weight = np.exp(-(steps**2) / (2 * v))
    # The law is symmetric, so that its lower half, and as much above, is all of it.
    below = np.cumsum(weight) / (2 * float(weight.sum()) - 1)
    looked_at = steps >= -_REACH * math.sqrt(v)
    growth = np.diff(ndtri(below[looked_at]))
    return bool(growth.max() <= math.sqrt((1 + float(INFLATION)) / v) * (1 - _MARGIN))


DEFAULT_CAP = Micro(10 * MICRO)


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that everything together may cost a person.

    Attributes
    ----------
    epsilon : Micro
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
    >>> caps = Caps(Micro(10_000_000), Fraction(1, 10**6))
    >>> str(caps.rho), caps.admit(epsilon=10_000_000, rho=9_999_092, clear=0)
    ('1.501163', True)
    >>> caps.admit(epsilon=10_000_001, rho=9_999_093, clear=0)
    False
    """

    epsilon: Micro = DEFAULT_CAP
    delta: Fraction = DEFAULT_DELTA
    clear: int = 0
    rule: int = 2
    rho: Rho = field(init=False)
    gaussian: Rho = field(init=False)
    text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Micro) or not isinstance(self.epsilon.micro, int):
            raise ParameterError(
                f"the cap on epsilon is {self.epsilon}, expected a finite Micro, such as "
                "Micro(10_000_000) for 10."
            )
        if not isinstance(self.delta, Fraction) or not 0 <= self.delta < 1:
            raise ParameterError(f"delta is {self.delta!r}, expected a fraction, 0 to below 1.")
        if not isinstance(self.clear, int) or isinstance(self.clear, bool) or self.clear < 0:
            raise ParameterError(f"clear is {self.clear!r}, expected an integer of at least 0.")
        one_of(self.rule, "rule", (1, 2))
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
