"""The codebook of a survey, by which its reports are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from masquerade.errors import SchemaError
from masquerade.exact import Micro
from masquerade.surveys.offered_levels import Mask
from masquerade.surveys.question import Question
from masquerade.surveys.survey import Survey

FORMAT, FORMAT_VERSION = "masquerade-reports", 1
LABEL_TEMPLATE = "label"

COLUMNS = {
    "survey_pseudonym": "who: a random name, another one in every survey",
    "question_id": "which question",
    "level_id": "which level of protection the person chose",
    "mech": "the mechanism that masked the answer",
    "param": "its parameters",
    "report": "the masked answer: a code, see questions",
}


@dataclass(frozen=True)
class Codebook:
    """A survey with counts of its responses, by which its reports are read.

    Attributes
    ----------
    token : str
        Of the survey.
    hash : str
        Of the definition, which participants' devices saw.
    known_shares : dict of str to list of float, or None
        For made-up crowds only: question id to the share of people behind each answer.
    pool : dict of str to int, or None
        How many people there are at each level among whom the survey asked, where that is known.
    n_by_level : dict of str to int, or None
        Responses, where they were counted.

    Examples
    --------
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> asked = (Choice("ill", "Have you worked while ill?", ("Yes", "No")),)
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("medium",))
    >>> list(Codebook("0123456789abcdef", survey, survey.content_hash()).levels)
    ['medium']
    """

    token: str
    survey: Survey
    hash: str
    known_shares: Mapping[str, list[float]] | None = None
    pool: Mapping[str, int] | None = None
    n_by_level: Mapping[str, int] | None = None

    def __repr__(self) -> str:
        asked, title = len(self.survey.questions), self.survey.title
        return f"Codebook({title!r}, {asked} questions, levels {', '.join(self.levels)})"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Codebook:
        """Return the codebook that a JSON object describes."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise SchemaError(
                "this is not the codebook of a survey's reports; download it beside the reports."
            )
        if data.get("format_version") != FORMAT_VERSION:
            raise SchemaError(
                f"the codebook has version {data.get('format_version')}, this program reads "
                f"{FORMAT_VERSION}; use a newer masquerade."
            )
        try:
            return cls(
                data["survey"],
                Survey.from_json(data["definition"]),
                data["hash"],
                known_shares=data["known_shares"],
                pool=data["pool"],
                n_by_level=data["n_by_level"],
            )
        except KeyError as error:
            raise SchemaError(f"the codebook has no {error}; download it again.") from error

    def to_json(self) -> dict[str, Any]:
        """Return the codebook as a JSON object, its codes and mechanisms spelt out."""
        counts = self.n_by_level or {}
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "survey": self.token,
            "title": self.survey.title,
            "hash": self.hash,
            "estimator": self.survey.estimator,
            "columns": COLUMNS,
            "questions": [_question_json(question) for question in self.questions],
            "mechanisms": [
                _mechanism_json(question, name, mechanism, counts.get(name))
                for name, mechanisms in self.levels.items()
                for question, mechanism in zip(self.questions, mechanisms, strict=True)
            ],
            "levels": [
                {
                    "level_id": level.name,
                    "n": counts.get(level.name),
                    "guarantee": level.guarantee().to_json(),
                    "rho": self.rho(level.name).to_json(),
                }
                for level in self.survey.levels
            ],
            "n": None if self.n_by_level is None else sum(self.n_by_level.values()),
            "n_by_level": None if self.n_by_level is None else dict(self.n_by_level),
            "pool": None if self.pool is None else dict(self.pool),
            "known_shares": None if self.known_shares is None else dict(self.known_shares),
            "definition": self.survey.to_json(),
        }

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions of the survey."""
        return self.survey.questions

    @cached_property
    def levels(self) -> dict[str, tuple[Mask, ...]]:
        """The mechanisms of each level, one for each question."""
        return {level.name: level.mechanisms for level in self.survey.levels}

    def rho(self, level: str) -> Micro:
        """Return the zero-concentrated loss of one response at a level, without those in clear."""
        return self.survey.level(level).cost(self.token).rho


def labels_of(question: Question) -> list[str]:
    """Return the label of each code of a question; none for numbers."""
    return question.codes


def _question_json(question: Question) -> dict[str, Any]:
    return {
        "question_id": question.id,
        "text": question.text,
        "kind": question.kind,
        "codes": question.codes,
        **question.codebook_fields(),
    }


def _mechanism_json(
    question: Question, level: str, mechanism: Mask, n: int | None
) -> dict[str, Any]:
    guarantee = mechanism.guarantee(answers=1)
    name, _, parameters = str(mechanism).partition(":")
    variance = mechanism.variance() if mechanism.kind == "numeric" else None
    return {
        "question_id": question.id,
        "level_id": level,
        "mech": name,
        "param": parameters,
        "epsilon": guarantee.epsilon_event.to_json(),
        "delta": float(guarantee.delta),
        "noise_variance": variance,
        "n": n,
    }
