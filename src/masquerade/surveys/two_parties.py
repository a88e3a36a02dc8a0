"""Terms of surveys between two parties: the helper, the noise and the cost of a response."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from masquerade.accounting import Cost, explain
from masquerade.accounting.words import board_in_words
from masquerade.aggregate.noise import TWO_PARTIES, NoiseTerms, SumNoise
from masquerade.aggregate.survey_circuit import Block, SurveyCircuit
from masquerade.errors import InvalidReport, ParameterError
from masquerade.exact import INFINITE_LOSS, Guarantee
from masquerade.exact.number import NumberLike, finite, text_of
from masquerade.surveys.condition_tree import Conditions
from masquerade.surveys.offered_levels import BoardWords, OfferedLevel
from masquerade.surveys.question import Question
from masquerade.surveys.two_party_encoding import Encoding

#: Responses below which neither party shows a sum, where a survey does not say more.
DEFAULT_MINIMUM = 20
#: What an observer sees, in the words of `explain`.
SPLIT_ODDS = "What is answered is split in two parts; each alone is pure chance."
AFTER_SUMS = "after seeing the result and everything that one of the two parties sees"
_FINGERPRINT = re.compile(r"[0-9a-f]{32}")
# What the app takes too: no path, user or capital letter, in which readers of addresses differ.
_ORIGIN = re.compile(r"(https?)://([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?")
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]")
_MOST_RHO = 8


@dataclass(frozen=True, slots=True)
class TwoParties:
    """The terms on which two parties add up the answers to a survey.

    `helper`: address of the second party.
    `operator`: who runs it, in words for participants.
    `fingerprint`: of the helper's key, 32 hexadecimal digits; the helper's operator makes it known.
    `rho`: zero-concentrated loss of a whole response, whole millionths above 0 and at most 8.
    `minimum`: responses below which neither party shows a sum, at least 2.
    `bins`: as in `Encoding`.
    `cross`: as in `Encoding`.
    `sums`: as in `Encoding`.
    """

    helper: str
    operator: str
    fingerprint: str
    rho: Fraction
    minimum: int = DEFAULT_MINIMUM
    bins: int = 20
    cross: tuple[tuple[str, ...], ...] = ()
    sums: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_origin(self.helper)
        if not isinstance(self.operator, str) or not 1 <= len(self.operator.strip()) <= 200:
            raise _wrong("operator", self.operator, "who runs the helper, in 1 to 200 letters")
        if not isinstance(self.fingerprint, str) or not _FINGERPRINT.fullmatch(self.fingerprint):
            raise _wrong("fingerprint", self.fingerprint, "the 32 digits that the helper shows")
        if not 0 < self.rho <= _MOST_RHO or (self.rho * 10**6).denominator != 1:
            raise _wrong("rho", str(self.rho), f"whole millionths above 0 and up to {_MOST_RHO}")
        if type(self.minimum) is not int or not 2 <= self.minimum <= 10**6:
            raise _wrong("minimum", self.minimum, "a whole number from 2 to 1,000,000")

    @classmethod
    def of(cls, *, rho: NumberLike, **terms: Any) -> TwoParties:
        """Return terms with `rho` as a number or text, and the fingerprint as people write it."""
        if isinstance(terms.get("fingerprint"), str):
            terms["fingerprint"] = read_fingerprint(terms["fingerprint"])
        return cls(rho=finite(rho, "rho"), **terms)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TwoParties:
        """Return the terms that a JSON object describes."""
        return cls(
            rho=finite(data["rho"], "rho"),
            **{name: data[name] for name in ("helper", "operator", "fingerprint", "minimum")},
            bins=data["bins"],
            cross=tuple(tuple(table) for table in data["cross"]),
            sums=tuple(data["sums"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the terms as a JSON object; rho is a text, so that it is exact everywhere."""
        return {
            "helper": self.helper,
            "operator": self.operator,
            "fingerprint": self.fingerprint,
            "rho": text_of(self.rho),
            "minimum": self.minimum,
            "bins": self.bins,
            "cross": [list(table) for table in self.cross],
            "sums": list(self.sums),
        }

    def encoding(self, questions: tuple[Question, ...], conditions: Conditions = ()) -> Encoding:
        """Return how answers become a vector.

        Raises `ParameterError` (a cross table, a sum, the number of bins or of pairs of a list does
        not fit the questions, or there are more of them than one proof holds).
        """
        encoding = Encoding(questions, conditions, self.cross, self.bins, self.sums)
        # Built once to be refused here, and not on a device, where the checks would be too weak.
        SurveyCircuit(encoding.blocks)
        return encoding

    def noise(self, blocks: Sequence[Block]) -> SumNoise:
        """Return the noise that each party adds."""
        return SumNoise.of_rho(blocks, self.rho)


@dataclass(frozen=True)
class SplitLevel(OfferedLevel):
    """The one level of a survey between two parties: everybody pays the same, and sends no mask.

    `noise`: of one party.
    """

    noise: NoiseTerms = None  # type: ignore[assignment]

    @classmethod
    def of(cls, noise: NoiseTerms) -> SplitLevel:
        """Return the level of this noise."""
        return cls(TWO_PARTIES, (), noise=noise)

    def to_json(self) -> dict[str, Any]:
        """Return the level in numbers and sentences."""
        words = explain(self.guarantee(), after=AFTER_SUMS)
        return {
            "name": self.name,
            "mechanisms": list(self._cost.mechanisms),
            **self.price(),
            "odds": SPLIT_ODDS,
            "words": words.one_answer,
            "words_all": words.all_answers,
            "blur": "Nothing is changed in your answers; each party adds noise to the sums.",
        }

    def for_board(self) -> BoardWords:
        """Return the level in odds, for a surveyor and an ethics board."""
        board = board_in_words(self.guarantee(), after=AFTER_SUMS)
        return {"odds": SPLIT_ODDS, "board": list(board)}

    def check_reports(self, reports: Sequence[int]) -> None:
        """Refuse reports: nothing but two sealed shares is taken."""
        raise InvalidReport(
            "this survey takes answers split between two parties, and no reports; send a sealed "
            "report."
        )

    @cached_property
    def _guarantee(self) -> Guarantee:
        return self.noise.guarantee()

    @cached_property
    def _cost(self) -> Cost:
        # Gaussian noise has no pure epsilon.
        return Cost("", (str(self.noise),), event=INFINITE_LOSS, loss=self.noise.loss())


def read_fingerprint(text: str) -> str:
    """Return the digits of a fingerprint as people write them: with spaces, hyphens or colons.

    Examples
    --------
    >>> read_fingerprint("95AC e600-036e")
    '95ace600036e'
    """
    return re.sub(r"[\s:-]", "", text.lower())


def require_origin(address: str) -> None:
    """Refuse the address of a helper that devices do not ask.

    It is an origin of https, or of http on this computer itself: what a helper approved is worth
    nothing where somebody on the way could change it.

    Raises `ParameterError`.

    Examples
    --------
    >>> require_origin("https://helper.example.org")
    >>> require_origin("http://127.0.0.1:8081")
    """
    origin = _ORIGIN.fullmatch(address) if isinstance(address, str) else None
    if origin is None or not (origin[1] == "https" or _LOOPBACK.fullmatch(origin[2])):
        raise _wrong(
            "helper",
            address[:200] if isinstance(address, str) else address,
            "an address such as https://helper.example.org, without a path; http is for this "
            "computer itself",
        )
    if origin[3] is not None and not 0 < int(origin[3]) < 2**16:
        raise _wrong("helper", address, "a port from 1 to 65535")


def _wrong(field: str, value: object, expected: str) -> ParameterError:
    return ParameterError(f"{field} is {value!r}, expected {expected}.", field="two_parties")
