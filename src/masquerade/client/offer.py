"""The offer of a survey before it is begun, derived on this device from the masks themselves.

A server says numbers and sentences of its levels. None of them is shown: they are worked out here
from the mechanisms, and where the server's number is missing, is none, or promises more privacy
than the masks give, the survey is refused.

Of surveys between two parties, their agreement is checked before it begins and once it has the
text.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from masquerade.aggregate.noise import TWO_PARTIES, NoiseTerms
from masquerade.errors import BrokenPromise, MasqueradeError, MissingExtra, ParameterError
from masquerade.mechanisms.privacy_level import CLEAR, LEVEL_PATTERN
from masquerade.mechanisms.registry import parse_mask
from masquerade.surveys.drawn_blocks import Draw
from masquerade.surveys.kinds import kinds as known_kinds
from masquerade.surveys.languages import Languages
from masquerade.surveys.offered_levels import Mask, OfferedLevel, offered_level
from masquerade.surveys.question_checks import MOST_OPTIONS
from masquerade.surveys.reach import OPEN_TO_ALL, Reach
from masquerade.surveys.split_task import COLLECTOR_KEY, HELPER_KEY, LEADER_KEY, SplitTask
from masquerade.surveys.survey import DEVICE, MOST_QUESTIONS, REVEALS, Survey
from masquerade.surveys.two_parties import SplitLevel, require_origin

_FACTS = ("configuration", "terms", "public_key", "signature")
_ABOUT = ("helper", "operator", "fingerprint")
_TELL = "Nothing was sent. Tell the helper's operator and whoever invited you."


@dataclass(frozen=True, slots=True)
class Agreement:
    """The two parties of a survey, and the helper's approval, as an invitation names them."""

    helper: str
    operator: str
    fingerprint: str
    minimum: int
    approval: dict[str, str]  # `task`, `configuration`, `terms`, `public_key` and `signature`

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Agreement:
        """Return the agreement of an invitation."""
        helper, operator, fingerprint = about = [given[name] for name in _ABOUT]
        approval = {name: given["approval"][name] for name in ("task", *_FACTS)}
        texts = all(isinstance(one, str) for one in (*about, *approval.values()))
        if not texts or type(given["minimum"]) is not int:
            raise BrokenPromise("the invitation does not say who the two parties are.")
        try:
            require_origin(helper)
        except ParameterError as error:
            # Asked over a line that anybody may change, a helper could be anybody.
            raise BrokenPromise(f"the second party cannot be asked safely: {error}") from None
        return cls(helper, operator, fingerprint, given["minimum"], approval)

    def to_json(self) -> Mapping[str, object]:
        """Return the agreement as an invitation has it."""
        about = {name: getattr(self, name) for name in (*_ABOUT, "minimum")}
        return {**about, "approval": dict(self.approval)}

    @property
    def address(self) -> str:
        """The address of the helper's own word on its approval."""
        task = base64.urlsafe_b64encode(bytes.fromhex(self.approval["task"])).decode().rstrip("=")
        return f"{self.helper}/tasks/{task}/approval"

    def task(self, *, survey: str, hash_: str, at: float | None = None) -> SplitTask:
        """Return the task, once the helper's signature holds for this survey and no other.

        `survey`: its token.
        `hash_`: of its text, as the invitation names it.
        `at` (optional): seconds since 1970; default: now.

        Raises `BrokenPromise` (anything differs: key, signature, terms, survey, minimum or day).
        """
        # Needs a library that the client of other surveys does without.
        try:
            from masquerade.aggregate.dap import require_sealable
            from masquerade.aggregate.signature import check_approval
        except ModuleNotFoundError as error:
            raise MissingExtra(
                "the signature of a survey's second party is checked by cryptography", "parties"
            ) from error
        try:
            configuration, public_key, signature = (
                bytes.fromhex(self.approval[name])
                for name in ("configuration", "public_key", "signature")
            )
        except ValueError as error:
            raise BrokenPromise(f"the helper's approval cannot be read. {_TELL}") from error
        check_approval(public_key, signature, configuration, fingerprint=self.fingerprint)
        split = SplitTask.read(configuration, self.approval["terms"])
        if split.task.id.hex() != self.approval["task"]:
            raise BrokenPromise(f"the approval is of another task than it names. {_TELL}")
        if split.terms.survey != hash_ or split.token != survey:
            raise BrokenPromise(
                "the helper approved another survey than this one: its questions, noise or parties "
                f"were changed. {_TELL}"
            )
        helper = split.task.configuration.helper_aggregator_endpoint.decode("ascii", "replace")
        if (helper, split.minimum) != (self.helper, self.minimum):
            raise BrokenPromise(
                f"the helper signed that it is at {helper} and shows no sum of fewer than "
                f"{split.minimum}; the survey says {self.helper} and {self.minimum}. {_TELL}"
            )
        leader_key, helper_key = split.terms.leader, split.terms.helper
        ids = (leader_key.id, helper_key.id, split.terms.collector.id)
        # Who has one key for both halves reads the answers.
        alike = leader_key.public_key == helper_key.public_key
        if ids != (LEADER_KEY, HELPER_KEY, COLLECTOR_KEY) or alike:
            raise BrokenPromise(f"the keys of the two parties are mixed up. {_TELL}")
        try:
            # Now, and not when everything is answered and charged.
            for key in (leader_key, helper_key):
                require_sealable(key)
        except ParameterError as error:
            raise BrokenPromise(f"nothing can be sealed for a party: {error} {_TELL}") from error
        if split.terms.expires <= (time.time() if at is None else at):
            raise BrokenPromise(
                "the helper takes no more answers to this survey. Nothing was sent; ask whoever "
                "invited you for another."
            )
        return split

    def require_helper(self, answer: Mapping[str, Any]) -> None:
        """Check that the helper, asked at its own address, says the same; else `BrokenPromise`."""
        same = all(answer.get(name) == self.approval[name] for name in _FACTS)
        if not same or (answer.get("address"), answer.get("operator")) != (
            self.helper,
            self.operator,
        ):
            raise BrokenPromise(
                "the helper, asked at its own address, says something else than the survey's "
                f"server. {_TELL}"
            )

    def require_survey(self, survey: Survey, split: SplitTask) -> None:
        """Check that a survey, once it is here, is between these two and adds up as they agreed."""
        terms = survey.two_parties
        if terms is None:
            raise BrokenPromise(f"the survey is not between two parties. {_TELL}")
        own = (self.helper, self.operator, self.fingerprint, self.minimum)
        if (terms.helper, terms.operator, terms.fingerprint, terms.minimum) != own:
            raise BrokenPromise(f"the survey names other parties than its invitation. {_TELL}")
        split.check(survey)


_COVERED = ("title", "description", "topic", "template", "reveal", "estimator", "hash")
_HASH = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(LEVEL_PATTERN)
_LONGEST_MECHANISM = 1000  # characters
# Amounts are exact to a millionth; another version may round its last digit differently.
_SLACK = 2e-6


@dataclass(frozen=True, slots=True)
class Offer:
    """The offer of a survey before it is begun, as far as its hash will cover it."""

    # ``title``, ``description``, ``topic``, ``template``, ``reveal``, ``estimator``, ``hash``.
    covered: dict[str, str]
    questions: int
    kinds: dict[str, int]  # how many questions there are of each kind
    linked: tuple[tuple[int, ...], ...]
    levels: tuple[OfferedLevel, ...]  # the strongest first: their order is in no hash
    masks: dict[str, Mapping[str, object]]  # the device form of each mechanism, by its text form
    # Who adds up the answers, where they are split between two parties; None where masks protect.
    agreement: Agreement | None = None
    languages: Languages | None = None  # with title and description in each
    reach: Reach = OPEN_TO_ALL  # who asks, for what consent, and who may answer

    @classmethod
    def read(cls, invitation: Mapping[str, Any], *, stored: bool = False) -> Offer:
        """Return the offer of an invitation.

        `BrokenPromise` where something is missing, cannot be, or is better than the masks are. What
        was `stored`, by this version or another, has numbers that were this device's own.
        """
        try:
            return cls._read(invitation, stored=stored)
        except BrokenPromise:
            raise
        except (
            MasqueradeError,
            ValueError,
            ArithmeticError,
            LookupError,
            TypeError,
            AttributeError,
        ) as error:
            raise BrokenPromise(
                f"the invitation cannot be read ({error}); nothing was begun."
            ) from error

    @classmethod
    def _read(cls, invitation: Mapping[str, Any], *, stored: bool) -> Offer:
        covered = {name: _text(invitation[name], name) for name in _COVERED}
        if not _HASH.fullmatch(covered["hash"]) or covered["reveal"] not in REVEALS:
            raise BrokenPromise("the invitation has no hash, or says not when reports are shown.")
        count, kinds = invitation["questions"], dict(invitation["kinds"])
        if not _is_whole(count) or not 1 <= count <= MOST_QUESTIONS:
            raise BrokenPromise(f"the invitation is to {count!r} questions.")
        known = known_kinds()
        if not all(kind in known and _is_whole(n) and n > 0 for kind, n in kinds.items()):
            raise BrokenPromise("the invitation is to kinds of questions that cannot be.")
        if sum(kinds.values()) != count:
            raise BrokenPromise(f"the invitation is to {count} questions, and other kinds.")
        groups, masks = _groups(invitation["linked"], count), dict(invitation["masks"])
        given = list(invitation["levels"])
        agreement = _agreement(invitation)
        draw = Draw.of_invitation(invitation.get("draw"), count)
        if agreement is None:
            levels = [replace(_level(one, count, groups, masks), draw=draw) for one in given]
        else:
            levels = [_split_level(one) for one in given]
        names = [level.name for level in levels]
        if not names or len(set(names)) < len(names):
            raise BrokenPromise(f"the invitation has the levels {names}.")
        if invitation.get("fixed_level") != (names[0] if len(names) == 1 else None):
            raise BrokenPromise("the invitation names a level for everybody that is not the one.")
        # what was kept has this device's own numbers, perhaps of an older version
        if not stored:
            for level, one in zip(levels, given, strict=True):
                _require_said(level, one)
        levels.sort(key=_strength)
        spoken = invitation.get("languages")
        languages = None if spoken is None else Languages.from_json(spoken)
        return cls(
            covered,
            count,
            kinds,
            groups,
            tuple(levels),
            masks,
            agreement,
            languages,
            Reach.from_json(invitation),
        )

    @property
    def draw(self) -> Draw | None:
        """The blocks of which each person is asked some; None where all are asked."""
        return self.levels[0].draw

    @property
    def fixed_level(self) -> str | None:
        """Name of the level where everybody has the same."""
        return self.levels[0].name if len(self.levels) == 1 else None

    def level(self, name: str) -> OfferedLevel:
        """Return one of the levels."""
        return offered_level(self.levels, name, quoted=True)

    def to_json(self) -> Mapping[str, object]:
        """Return the offer as an invitation, with this device's own numbers and sentences."""
        return {
            **self.covered,
            "questions": self.questions,
            "kinds": self.kinds,
            "linked": [list(group) for group in self.linked],
            "draw": None if self.draw is None else self.draw.to_json(),
            "masks": self.masks,
            "levels": [{**level.to_json(), "clear": level.cost("").clear} for level in self.levels],
            "fixed_level": self.fixed_level,
            "trust": DEVICE if self.agreement is None else TWO_PARTIES,
            "two_parties": None if self.agreement is None else self.agreement.to_json(),
            "languages": None if self.languages is None else self.languages.to_json(),
            **self.reach.to_json(),
        }

    def require_opening(
        self, opening: Mapping[str, Any], *, participation: str, level: str, token: str
    ) -> Survey:
        """Return the survey that was opened, at `level`: word by word the one invited to."""
        said = tuple(opening.get(name) for name in ("id", "state", "level", "hash"))
        if said != (participation, "opened", level, self.covered["hash"]):
            raise BrokenPromise("the server opened something else than was asked for.")
        text = opening.get("survey")
        if not isinstance(text, str) or _hash_of(text) != self.covered["hash"]:
            raise BrokenPromise("the survey is another than the one you were invited to.")
        if opening.get("masks") != self.masks:
            raise BrokenPromise("the masks are others than those you were invited to.")
        survey = read_survey(text)
        for name in _COVERED[:-1]:
            if getattr(survey, name) != self.covered[name]:
                raise BrokenPromise(f"the {name} is another than in the invitation.")
        if survey.reach != self.reach:
            raise BrokenPromise("who asks, or what for, is another than in the invitation.")
        if self.agreement is not None:
            [only] = self.levels
            assert isinstance(only, SplitLevel)
            split = self.agreement.task(survey=token, hash_=self.covered["hash"])
            self.agreement.require_survey(survey, split)
            if survey.split_noise.terms != only.noise:
                raise BrokenPromise("the noise is another than the one you were invited to.")
        # Each with the questions that hang together; the order of levels is in no hash.
        elif {one.name: one for one in survey.levels} != {one.name: one for one in self.levels}:
            raise BrokenPromise("the levels are others than those you were invited to.")
        spoken = None if survey.languages is None else survey.languages.before_opening()
        if spoken != (None if self.languages is None else self.languages.to_json()):
            raise BrokenPromise("the languages are others than in the invitation.")
        if survey.kinds != self.kinds:
            raise BrokenPromise("the questions are others than those you were invited to.")
        return survey


def read_survey(text: str) -> Survey:
    """Return the survey of a text from a server, or from a stored record of one."""
    try:
        return Survey.from_text(text)
    except ParameterError as error:
        raise BrokenPromise(
            f"the survey cannot be read ({error}); nothing was answered."
        ) from error


def _hash_of(text: str) -> str:
    # Half a surrogate pair is no character, and two texts that differ there differ in hash too.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _agreement(invitation: Mapping[str, Any]) -> Agreement | None:
    """Return the agreement of two parties; None where masks protect the answers."""
    trust, parties = invitation.get("trust", DEVICE), invitation.get("two_parties")
    if trust == DEVICE and parties is None:
        return None
    if trust != TWO_PARTIES or not isinstance(parties, Mapping):
        raise BrokenPromise(f"the invitation asks to trust {trust!r}, which is not known here.")
    return Agreement.read(parties)


def _split_level(given: Mapping[str, Any]) -> SplitLevel:
    """Return the level of a survey between two parties: its noise, block by block."""
    [text] = given["mechanisms"]
    if given["name"] != TWO_PARTIES:
        raise BrokenPromise("the invitation does not say what the sums of two parties cost.")
    try:
        return SplitLevel.of(NoiseTerms.of_text(_text(text, "noise")))
    except ParameterError as error:
        raise BrokenPromise(
            f"the invitation does not say what the sums of two parties cost: {error}"
        ) from None


def _level(
    given: Mapping[str, Any],
    count: int,
    groups: tuple[tuple[int, ...], ...],
    masks: Mapping[str, object],
) -> OfferedLevel:
    name, texts = _text(given["name"], "level"), given["mechanisms"]
    if not _NAME.fullmatch(name) or not isinstance(texts, list) or len(texts) != count:
        raise BrokenPromise(f"level {name!r} has not one mask for each question.")
    known = {text: _mask(_text(text, "mask"), masks[text]) for text in dict.fromkeys(texts)}
    level = OfferedLevel(name, tuple(known[text] for text in texts), groups)
    if level.clear and name != CLEAR:
        raise BrokenPromise(f"level {name!r} sends some answers as they are.")
    large = [m for m in known.values() if m.domain.labels > MOST_OPTIONS + 1]
    if large and not level.clear:
        raise BrokenPromise(f"level {name!r} has the mask {large[0]}, for which no question is.")
    return level


def _mask(text: str, form: Any) -> Mask:
    """Return a mechanism where its text and its whole numbers say the same."""
    if len(text) > _LONGEST_MECHANISM:
        raise BrokenPromise("the text of a mask is too long.")
    mechanism = parse_mask(text)
    # prices follow from the text, draws from the numbers: one must not stand for the other
    if str(mechanism) != text or form != mechanism.device_form():
        raise BrokenPromise(f"the mask {mechanism} comes with the numbers of another.")
    return mechanism


def _require_said(level: OfferedLevel, given: Mapping[str, Any]) -> None:
    """Raise where the server says less of a loss than there is, or nothing that can be read."""
    for name, own in level.price().items():
        there = math.inf if own == "inf" else own
        said = given.get(name)
        if said == "inf" and math.isinf(there):
            continue
        least = there - _SLACK * (name != "delta")
        number = said if isinstance(said, int | float) and not isinstance(said, bool) else math.nan
        if not least <= number < math.inf:
            raise BrokenPromise(
                f"level {level.name!r} costs {name} {there:g} by its masks, and the server says "
                f"{said!r}; nothing was begun."
            )


def _groups(given: Sequence[Sequence[int]], count: int) -> tuple[tuple[int, ...], ...]:
    if not isinstance(given, list) or not all(isinstance(group, list) for group in given):
        raise BrokenPromise("the invitation does not say which questions hang together.")
    for group in given:
        places = all(_is_whole(place) and 0 <= place < count for place in group)
        if not places or len(set(group)) < len(group) or len(group) < 2:
            raise BrokenPromise(f"the invitation says that questions {group} hang together.")
    return tuple(sorted(tuple(sorted(group)) for group in given))


def _strength(level: OfferedLevel) -> tuple[float, float, str]:
    cost = level.cost("")
    most = math.inf if cost.clear else cost.loss.of_order(2)
    return most, level.guarantee().epsilon_user.micro, level.name


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise BrokenPromise(f"the invitation's {what} is no text.")
    return value


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
