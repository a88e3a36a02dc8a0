"""The kinds of loss that the accounting knows, and what each is worth in epsilon and in rho.

A kind says what happened; `masquerade.accounting.spent` says what it costs. Besides amounts
(`Micro`, `Rho`, `Mu`) there are mechanisms whose worst pair of report distributions is known
exactly and composes to less than their amounts do: `MaskedChoice`, `MaskedNumber` and
`LaplaceNumber`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from masquerade.accounting.gaussian import Mu
from masquerade.accounting.rho import (
    Rho,
    rho_of_laplace,
    rho_of_pure,
    rho_of_response,
)
from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import INFINITE_LOSS, NO_LOSS, Micro
from masquerade.exact.number import in_range
from masquerade.mechanisms import (
    BitwiseResponse,
    DiscreteGaussian,
    DiscreteLaplace,
    Mechanism,
    QuantisedResponse,
    RandomizedResponse,
)


@dataclass(frozen=True, slots=True)
class MaskedChoice:
    """One answer masked by randomized response.

    Attributes
    ----------
    symbols : int
        Number of different reports, at least 2.
    epsilon : Micro
        Of one report.

    Examples
    --------
    >>> from masquerade.accounting import pure_of
    >>> str(pure_of(MaskedChoice(3, Micro(1_000_000))))
    '1'
    """

    symbols: int
    epsilon: Micro

    def __post_init__(self) -> None:
        in_range(self.symbols, "symbols", low=2)


@dataclass(frozen=True, slots=True)
class MaskedNumber:
    """One answer masked by discrete Gaussian noise on a lattice.

    Attributes
    ----------
    change : int
        Largest change of the answer, in steps of the lattice, at least 0.
    variance : Fraction
        Parameter of the noise in squared steps, above 0.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from masquerade.accounting import rho_of
    >>> str(rho_of(MaskedNumber(4, Fraction(36))))
    '0.222223'
    """

    change: int
    variance: Fraction

    def __post_init__(self) -> None:
        in_range(self.change, "change", low=0)
        in_range(self.variance, "variance", above=0)


@dataclass(frozen=True, slots=True)
class LaplaceNumber:
    """One answer masked by discrete Laplace noise on a lattice.

    Attributes
    ----------
    change : int
        Largest change of the answer, in steps of the lattice, at least 0.
    scale : Fraction
        Of the noise in steps, above 0.

    Examples
    --------
    >>> from fractions import Fraction
    >>> str(LaplaceNumber(4, Fraction(4)).epsilon)
    '1'
    """

    change: int
    scale: Fraction

    def __post_init__(self) -> None:
        in_range(self.change, "change", low=0)
        in_range(self.scale, "scale", above=0)

    @property
    def epsilon(self) -> Micro:
        """Pure epsilon of one answer."""
        return Micro.of_amount(self.change / self.scale)


#: Everything that a cost can be stated as.
Kind = Micro | Rho | Mu | MaskedChoice | MaskedNumber | LaplaceNumber


def pure_of(kind: Kind) -> Micro:
    """Return the pure epsilon of a kind; infinite where it has none.

    Examples
    --------
    >>> from masquerade.exact import Micro
    >>> str(pure_of(Micro(1_000_000)))
    '1'
    """
    match kind:
        case Micro():
            return kind
        case MaskedChoice() | LaplaceNumber():
            return kind.epsilon
        case _:
            # Gaussian noise has no pure epsilon, but for answers that cannot differ
            return NO_LOSS if rho_of(kind).micro == 0 else INFINITE_LOSS


def rho_of(kind: Kind) -> Rho:
    """Return the zero-concentrated loss of a kind, rounded up.

    The discrete Gaussian costs exactly what the continuous one does (Canonne, Kamath and Steinke,
    2020, Theorem 4): ``change**2 / (2 variance)``.

    Examples
    --------
    >>> from masquerade.exact import Micro
    >>> str(rho_of(Micro(1_000_000)))
    '0.462118'
    """
    match kind:
        case Micro():
            return rho_of_pure(kind)
        case Rho():
            return kind
        case Mu():
            return kind.rho
        case MaskedChoice():
            return rho_of_response(kind.symbols, kind.epsilon)
        case MaskedNumber():
            return Rho.of(Fraction(kind.change**2) / (2 * kind.variance))
        case LaplaceNumber():
            return rho_of_laplace(kind.change, kind.scale)
        case _:
            raise ParameterError(
                f"{kind!r} is no loss; kinds_of([...]) returns the losses of mechanisms."
            )


def is_clear(kind: Kind) -> bool:
    """Return whether nothing bounds what a report says: the answer leaves in clear.

    Examples
    --------
    >>> from masquerade.exact import INFINITE_LOSS, Micro
    >>> is_clear(INFINITE_LOSS), is_clear(Micro(1_000_000))
    (True, False)
    """
    return math.isinf(rho_of(kind).micro) and math.isinf(pure_of(kind).micro)


def kinds_of(mechanisms: Iterable[Mechanism]) -> list[Kind]:
    """Return the losses of a response whose answers are masked by `mechanisms`.

    Parameters
    ----------
    mechanisms : iterable of Mechanism
        One for each answer. Those of the same text form are one draw where the mechanism shares
        one, such as a two-layer flip probability, and are then one loss.

    Raises
    ------
    NoGuarantee
        A mechanism promises nothing, or only an epsilon at a delta, which does not add up.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> kinds_of([RandomizedResponse(2, epsilon=1)])
    [MaskedChoice(symbols=2, epsilon=Micro(micro=1000000))]
    """
    kinds: list[Kind] = []
    for mechanism, count in Counter(mechanisms).items():
        match mechanism:
            case RandomizedResponse():
                kind = MaskedChoice(mechanism.symbols, mechanism.guarantee().epsilon_single)
                kinds += [kind] * count
            case QuantisedResponse():
                # Answers on a level lose what randomized response does; all others are mixtures.
                epsilon = mechanism.guarantee().epsilon_single
                kinds += [MaskedChoice(mechanism.symbols, epsilon)] * count
            case BitwiseResponse():
                # As many bits as can change; answers that differ in fewer lose less.
                epsilon = mechanism.bit.guarantee().epsilon_single
                kinds += [MaskedChoice(2, epsilon)] * (mechanism.changes * count)
            case DiscreteLaplace():
                change = mechanism.lattice.points - 1
                kinds += [LaplaceNumber(change, mechanism.scale)] * count
            case DiscreteGaussian():
                number = MaskedNumber(mechanism.lattice.points - 1, mechanism.noise_variance)
                kinds += [number] * count
            case _:
                kinds.append(_loss_together(mechanism, count))
    return kinds


def _loss_together(mechanism: Mechanism, count: int) -> Kind:
    guarantee = mechanism.guarantee(answers=count)
    if guarantee.status != "proven":
        raise NoGuarantee(
            f"{mechanism} promises nothing (guarantee: {guarantee.status}), so that its loss "
            "cannot be counted. Use it with simulate in studies, and a mechanism with a proven "
            "guarantee for people."
        )
    if guarantee.rho_user is not None:
        return Rho(guarantee.rho_user.micro)
    if guarantee.delta:
        raise NoGuarantee(
            f"{mechanism} promises an epsilon at a delta only, and such promises do not add up "
            "over a lifetime. Use a mechanism that states rho or pure epsilon."
        )
    return guarantee.epsilon_user
