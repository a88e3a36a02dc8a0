"""What one has to know of a survey to make sense of its reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from masquerade.accounting import Cost, Rho, compose
from masquerade.errors import SchemaError
from masquerade.exact import Guarantee
from masquerade.mechanisms import CategoricalMechanism, Lattice, Mechanism, parse_mechanism
from masquerade.surveys.conditions import Conditions, linked, questions_from_json
from masquerade.surveys.questions import Choice, Comparison, Number, Question

FORMAT, FORMAT_VERSION = "masquerade-reports", 1
NO_ANSWER = "Prefer not to say"
DEFAULT_ESTIMATOR = "eb"
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
    """A survey as its reports need it: questions, mechanisms, and how results are to be computed.

    Attributes
    ----------
    survey : str
        Its token.
    hash : str
        Of the definition, which participants' devices saw.
    definition : dict
        As JSON.
    questions : tuple of Question
    conditions : tuple of ShowIf or None
        When each question was shown; empty where all always were.
    levels : dict of str to tuple of Mechanism
        One mechanism for each question.
    known_shares : dict of str to list of float, or None
        For made-up crowds only: question id to the share of people behind each answer.
    pool : dict of str to int, or None
        How many people there are at each level among whom the survey asked, where that is known.
    n_by_level : dict of str to int, or None
        Responses, where they were counted.
    """

    survey: str
    hash: str
    definition: Mapping[str, Any]
    questions: tuple[Question, ...]
    conditions: Conditions
    levels: Mapping[str, tuple[Mechanism, ...]]
    known_shares: Mapping[str, list[float]] | None = None
    pool: Mapping[str, int] | None = None
    n_by_level: Mapping[str, int] | None = None

    @classmethod
    def of(
        cls,
        survey: str,
        definition: Mapping[str, Any],
        *,
        hash: str,
        known_shares: Mapping[str, list[float]] | None = None,
        pool: Mapping[str, int] | None = None,
        n_by_level: Mapping[str, int] | None = None,
    ) -> Codebook:
        """Return the codebook of a survey's definition, read as JSON.

        Raises
        ------
        ParameterError
            A question or mechanism cannot be read.
        """
        levels = definition.get("levels") or {definition["level"]: definition["mechanisms"]}
        questions, conditions = questions_from_json(definition["questions"])
        return cls(
            survey,
            hash,
            definition,
            questions,
            conditions,
            {name: tuple(map(parse_mechanism, level)) for name, level in levels.items()},
            known_shares,
            pool,
            n_by_level,
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Codebook:
        """Return the codebook that a JSON object describes.

        Raises
        ------
        SchemaError
            It is none, or of a newer version.
        """
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
            return cls.of(
                data["survey"],
                data["definition"],
                hash=data["hash"],
                known_shares=data["known_shares"],
                pool=data["pool"],
                n_by_level=data["n_by_level"],
            )
        except KeyError as error:
            raise SchemaError(f"the codebook has no {error}; download it again.") from error

    def to_json(self) -> dict[str, Any]:
        """Return the codebook as a JSON object, with what people want to look up spelt out."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "survey": self.survey,
            "title": self.title,
            "hash": self.hash,
            "estimator": self.estimator,
            "columns": COLUMNS,
            "questions": [_question_json(question) for question in self.questions],
            "mechanisms": [
                _mechanism_json(question, name, mechanism, (self.n_by_level or {}).get(name))
                for name, mechanisms in self.levels.items()
                for question, mechanism in zip(self.questions, mechanisms, strict=True)
            ],
            "levels": [
                {
                    "level_id": name,
                    "n": (self.n_by_level or {}).get(name),
                    "guarantee": self.guarantee(name).to_json(),
                    "rho": self.rho(name).to_json(),
                }
                for name in self.levels
            ],
            "n": None if self.n_by_level is None else sum(self.n_by_level.values()),
            "n_by_level": None if self.n_by_level is None else dict(self.n_by_level),
            "pool": None if self.pool is None else dict(self.pool),
            "known_shares": None if self.known_shares is None else dict(self.known_shares),
            "definition": dict(self.definition),
        }

    @property
    def title(self) -> str:
        """Title of the survey."""
        return str(self.definition["title"])

    @property
    def template(self) -> str:
        """Template that the survey came from."""
        return str(self.definition.get("template", ""))

    @property
    def estimator(self) -> str:
        """The estimator whose figures are the headline, decided before anybody answered."""
        return str(self.definition.get("estimator", DEFAULT_ESTIMATOR))

    @property
    def fixed_level(self) -> str | None:
        """Name of the level where everybody has the same."""
        return next(iter(self.levels)) if len(self.levels) == 1 else None

    def guarantee(self, level: str) -> Guarantee:
        """Return what one response at a level promises."""
        mechanisms = self.levels[level]
        promise = compose(mechanisms)
        # An answer that decides what else is asked is seen through those reports too.
        groups = linked(self.questions, self.conditions) if self.conditions else ()
        events = [compose([mechanisms[i] for i in group]).epsilon_user for group in groups]
        return replace(promise, epsilon_event=max([promise.epsilon_event, *events]))

    def rho(self, level: str) -> Rho:
        """Return what one response at a level costs in the ledger; answers in clear not counted."""
        return Rho(Cost.of(self.survey, self.levels[level]).micro_rho)


def labels_of(question: Question) -> list[str]:
    """Return what each code of a question stands for; none for numbers."""
    if isinstance(question, Number):
        return []
    return [*question.labels, *([NO_ANSWER] if question.allow_skip else [])]


def lattice_of(question: Question) -> Lattice:
    """Return the numbers that can be answered to a number or rating."""
    if isinstance(question, Number):
        return Lattice(question.low, question.high, question.step)
    assert not isinstance(question, Choice | Comparison)
    return Lattice(question.low, question.high)


def _question_json(question: Question) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "question_id": question.id,
        "text": question.text,
        "kind": question.kind,
        "codes": labels_of(question),
    }
    if isinstance(question, Number):
        shown |= {
            "report_0_is": question.low,
            "report_step_is": question.step,
            "unit": question.unit,
        }
    return shown


def _mechanism_json(
    question: Question, level: str, mechanism: Mechanism, n: int | None
) -> dict[str, Any]:
    promise = mechanism.guarantee(answers=1)
    name, _, parameters = str(mechanism).partition(":")
    variance = mechanism.variance() if not isinstance(mechanism, CategoricalMechanism) else None
    return {
        "question_id": question.id,
        "level_id": level,
        "mech": name,
        "param": parameters,
        "epsilon": promise.epsilon_event.to_json(),
        "delta": float(promise.delta),
        "noise_variance": variance,
        "n": n,
    }
