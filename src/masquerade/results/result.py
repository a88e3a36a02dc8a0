"""The result of a survey, a function of its reports and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from masquerade.errors import ParameterError
from masquerade.estimation.plausibility import FALSE_ALARM
from masquerade.exact import Micro
from masquerade.exact.number import quantity
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.results.cross_tables import FEWEST_IN_CELL
from masquerade.results.labels import label_result
from masquerade.results.leaderboard import leaderboards, ranking_result
from masquerade.results.question_figures import (
    FEWEST_FOR_HEADLINE,
    WIDEST_HEADLINE,
    QuestionResult,
)
from masquerade.results.question_result import CONFIDENCE, masked_question, tested_together
from masquerade.results.reports import SurveyReports
from masquerade.results.typed_result import (
    LevelSummary,
    PrintedGuarantee,
    ResultLedger,
    ResultRules,
    SurveyResult,
)
from masquerade.surveys.codebook import LABEL_TEMPLATE, Codebook
from masquerade.surveys.offered_levels import FEWEST_AT_LEVEL, shown_counts


def survey_result(reports: SurveyReports) -> SurveyResult:
    """Return the result of a survey.

    The same reports and codebook give the same object to the last bit, in this version of the
    program and of the numerical libraries; `inputs` names what went in.

    Parameters
    ----------
    reports : SurveyReports

    Returns
    -------
    SurveyResult

    Raises
    ------
    ParameterError
        The pool has other levels than the survey.

    Examples
    --------
    >>> from masquerade.results import Codebook, SurveyReports
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> asked = [Choice(name, f"{name}?", ("Yes", "No")) for name in ("ill", "night")]
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("medium",))
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> people, levels = [f"p{n}" for n in range(900)], ["medium"] * 900
    >>> sent = [[int(n % 3 == 0), n % 2] for n in range(900)]
    >>> reports = SurveyReports.from_rows(book, people, levels, sent)
    >>> result = survey_result(reports)
    >>> [question.id for question in result.questions]
    ['ill', 'night']
    """
    codebook = reports.codebook
    n, counts = len(reports), reports.counts()
    shown = shown_counts(counts)
    if codebook.pool is not None:
        _check_pool(codebook.pool, counts)
    guarantees = {name: codebook.survey.level(name).guarantee() for name in codebook.levels}
    weakest = max(guarantees.values(), key=lambda promise: promise.epsilon_user)
    rho = {name: codebook.rho(name) for name in codebook.levels}
    # A level of the pool at which nobody answered still counts among the people.
    pool = codebook.pool
    names = [name for name, n in counts.items() if n or (pool is not None and pool[name])]
    return SurveyResult(
        survey=codebook.token,
        title=codebook.survey.title,
        responses=n,
        refused=None,
        trust=None,
        parties=None,
        confidence=CONFIDENCE,
        estimator=codebook.survey.estimator,
        level=codebook.survey.fixed_level,
        levels=tuple(
            _level(codebook, name, PrintedGuarantee.of(guarantees[name]), shown[name], n)
            for name in codebook.levels
        ),
        # Of the level that protects least: nobody has less.
        guarantee_per_participant=PrintedGuarantee.of(weakest),
        noise=None,
        ledger=ResultLedger(
            n,
            weakest.epsilon_user.to_json(),
            {name: _total(rho[name], shown[name]) for name in codebook.levels},
            _times(shown.get(CLEAR, 0), len(codebook.questions)),
        ),
        rules=ResultRules(
            fewest_at_level=FEWEST_AT_LEVEL,
            fewest_in_cell=FEWEST_IN_CELL,
            fewest_for_headline=FEWEST_FOR_HEADLINE,
            widest_headline=WIDEST_HEADLINE,
            false_alarm=FALSE_ALARM,
        ),
        simulated=codebook.known_shares is not None,
        hash=codebook.hash,
        inputs=reports.digest(),
        version=version("masquerade"),
        questions=_questions(reports, names) if n else (),
        cross_tables=None,
        labels=label_result(reports) if n and codebook.survey.template == LABEL_TEMPLATE else (),
        ranking=ranking_result(reports) if n else (),
        leaderboards=leaderboards(reports) or None,
    )


def _level(
    codebook: Codebook, name: str, guarantee: PrintedGuarantee, shown: int | None, people: int
) -> LevelSummary:
    rho, pool = codebook.rho(name), codebook.pool
    return LevelSummary(
        name=name,
        responses=shown,
        share=_share(shown, people),
        pool=None if pool is None else pool[name],
        guarantee=guarantee,
        rho_each=rho.to_json(),
        rho_total=_total(rho, shown),
        mechanisms=tuple(str(mechanism) for mechanism in codebook.levels[name]),
    )


def _questions(reports: SurveyReports, names: Sequence[str]) -> tuple[QuestionResult, ...]:
    """Return the results of all questions over the levels of these names."""
    codebook = reports.codebook
    pool, known = codebook.pool, codebook.known_shares or {}
    return tested_together(
        [
            masked_question(
                question,
                {name: reports.sent(name, place) for name in names},
                estimator=codebook.survey.estimator,
                pool=None if pool is None else {name: pool[name] for name in names},
                known=known.get(question.id),
                offered={name: masks[place] for name, masks in codebook.levels.items()},
            )
            for place, question in enumerate(codebook.questions)
        ]
    )


def result_bytes(result: SurveyResult) -> bytes:
    """Return a result as JSON text, always the same for the same result.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> result_bytes(result)[:1]
    b'{'
    """
    # allow_nan=False: an error rather than a text that other programs cannot read
    content = result.to_json()
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _share(count: int | None, n: int) -> float | None:
    return None if count is None or not n else count / n


def _times(count: int | None, each: int) -> int | None:
    return None if count is None else count * each


def _total(each: Micro, count: int | None) -> float | str | None:
    return None if count is None else (each * count).to_json()


def _check_pool(pool: Mapping[str, int], counts: Mapping[str, int]) -> None:
    if set(pool) != set(counts):
        raise ParameterError(
            f"the pool has the levels {sorted(pool)}, the survey {sorted(counts)}; give the number "
            "of people at each."
        )
    for name, count in counts.items():
        if count > pool[name]:
            raise ParameterError(
                f"{quantity(count, 'person', 'people')} answered at level {name!r} of whom the "
                f"pool has {pool[name]}; give the number of all who were asked."
            )
