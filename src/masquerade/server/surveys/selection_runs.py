"""Selection runs and waves: how many people of each level to ask, decided, stored and explained.

A run sees levels, prices and how many people came; never a person, and never a report. A wave is a
run that was applied to an open survey as one of several rounds.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from pydantic import Field
from sqlalchemy import Connection, Row, func, insert, select

from masquerade.accounting import Caps
from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.server.db.idempotency import earlier_token
from masquerade.server.db.tables import OPEN, SELECTION_RUN
from masquerade.server.db.transactions import Transactions, writes
from masquerade.server.http.bodies import StrictBody
from masquerade.server.surveys.document import Document
from masquerade.server.surveys.drafts import DRAFT, Drafts
from masquerade.server.surveys.forecast import Margin, expected_levels, margins, offers_of
from masquerade.server.surveys.lifecycle import Lifecycle, Progress, progress_json
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from masquerade.selection import LevelOffer

#: As many as a selection plans.
MOST_WAVES = 5


class LevelDecision(TypedDict):
    """The part of a decision for one level, and the figures behind it."""

    name: str
    responded: int
    asked: int
    seats: int
    price: float
    noise_variance: float
    privacy_share: float | None
    precision: float
    burden: float | None


class Decided(TypedDict):
    """The people that a run asks at each level, with all that it was decided by."""

    policy: str
    alpha: float
    budget: float | None
    precision_target: float | None
    wave: int | None
    response_rate: float
    inputs: str
    cost: float
    currency: str
    responses: int
    expected: int
    levels: list[LevelDecision]
    questions: list[Margin]
    why: str
    applied: bool


class Decision(Decided):
    """A decision, and the survey's state in which it was made."""

    state: str


class StoredRun(Decision):
    """A run as it is stored, the first of a survey with the number 1."""

    id: str
    day: str
    number: int


class Wave(StoredRun):
    """A run that is a wave, and its number of invited people at all levels."""

    asked: int


class AppliedWave(Wave):
    """A wave that was applied, and the answers that it brought."""

    came_before: int
    came: int
    over: bool


class SelectionRequest(StrictBody):
    """The request for a selection run; fields that are left out are as in the plan."""

    budget: Annotated[int, Field(ge=0, le=10**9)] | None = None
    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    policy: Literal["precision", "stratified-random", "random"] | None = None
    precision_target: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="Standard error to stop at, in widths of the range"
    )
    wave: Annotated[int, Field(ge=1, le=5)] | None = None
    response_rate: Annotated[float, Field(gt=0, le=1)] = 1.0
    apply: bool = Field(default=False, description="Whether an open survey takes so many people")


class SelectionRuns:
    """The selection runs of all surveys and drafts."""

    def __init__(
        self,
        transactions: Transactions,
        lifecycle: Lifecycle,
        drafts: Drafts,
        *,
        today: Callable[[], str],
    ) -> None:
        self._transactions = transactions
        self._lifecycle = lifecycle
        self._drafts = drafts
        self._today = today

    def decide(
        self, team: str, token: str, selection: SelectionRequest, *, request: tuple[str, str]
    ) -> StoredRun:
        """Decide how many people of each level to ask, store that, and return it."""
        lifecycle, drafts = self._lifecycle, self._drafts
        draft = drafts.find(token, team=team)
        if draft is not None:
            record, state, document = None, DRAFT, draft.document
            survey, _ = drafts.review(document).require()
            responded = {level.name: 0 for level in survey.levels}
        else:
            record = lifecycle.record(token, team=team)
            state, document, survey = record.state, lifecycle.document(record), record.survey
            # Only what the page shows; see `known_levels`.
            responded = known_levels(record, lifecycle.progress(record), document.plan.shares)
        if selection.apply and state != OPEN:
            raise WrongState(f"this survey is {state}; only an open one takes people.", state=state)
        decision = _decision(document, survey, responded, selection, drafts.caps)
        run: Decision = {"state": state, **decision}
        # Stored before it is applied; a repeated request returns the first run.
        stored = self._store(token, run, request=request)
        if selection.apply and record is not None:
            lifecycle.set_quotas(record, {one["name"]: one["seats"] for one in stored["levels"]})
        return stored

    def runs(self, token: str) -> list[StoredRun]:
        """Return the selection runs of a survey, the first one first."""
        return self._transactions.read(lambda c: runs_of(c, token))

    def run(self, token: str, run: str) -> StoredRun:
        """Return a selection run of a survey; `NotFound` where there is none of this name."""
        query = select(SELECTION_RUN).where(
            SELECTION_RUN.c.survey == token, SELECTION_RUN.c.id == run
        )
        # Anything else cannot be there, and a database may refuse to look for it.
        possible = run.isascii() and "\0" not in run
        row = self._transactions.read(lambda c: c.execute(query).first()) if possible else None
        if row is None:
            raise NotFound("there is no such selection run.")
        return _stored(row)

    def _store(self, token: str, run: Decision, *, request: tuple[str, str]) -> StoredRun:
        """Store a run and return it; the same request again returns the first one."""
        # Drawn outside, because the transaction may run several times.
        name = secrets.token_hex(16)
        return self.run(token, self._keep(token, run, name=name, request=request))

    @writes
    def _keep(
        self,
        connection: Connection,
        token: str,
        run: Decision,
        *,
        name: str,
        request: tuple[str, str],
    ) -> str:
        before = select(func.count()).where(SELECTION_RUN.c.survey == token)
        earlier = earlier_token(connection, request, name, today=self._today())
        if earlier is None:
            # Within the transaction; two runs at once may still share a number, so the id
            # decides between them.
            number = int(connection.execute(before).scalar_one()) + 1
            row = {"id": name, "survey": token, "day": self._today()}
            connection.execute(insert(SELECTION_RUN), {**row, "run": {"number": number, **run}})
        return earlier or name


def known_levels(
    survey: SurveyRecord, progress: Progress, shares: Mapping[str, float]
) -> dict[str, int]:
    """Return how many answered at each level, as far as the page of a survey shows it.

    Levels that are not counted apart get their sum in the proportions that were expected, so that
    a run tells no more than the page. The total is exact.
    """
    page = progress_json(survey, progress)
    known = {level["name"]: level["responses"] for level in page["levels"]}
    hidden = [name for name, count in known.items() if count is None]
    rest = page["responses"] - sum(count or 0 for count in known.values())
    planned = {name: shares[name] for name in hidden if shares.get(name)}
    shown = {name: count for name, count in known.items() if count is not None}
    every = {**shown, **expected_levels(hidden, planned, rest)}
    return {name: every[name] for name in known}


def _decision(
    document: Document,
    survey: Survey,
    responded: dict[str, int],
    selection: SelectionRequest,
    caps: Caps,
) -> Decided:
    """Return the decision of a run, with the figures behind it."""
    from masquerade.selection import worth_by_level

    plan = document.plan
    names = [level.name for level in survey.levels]
    prices = {name: plan.prices.get(name, 0) for name in names}
    # More may have come than were planned, and none of them can be left out.
    people = max(plan.people, sum(responded.values()))
    expected = expected_levels(names, plan.shares, people)
    # At no level can there be fewer people than have answered there.
    expected = {name: max(expected[name], responded[name]) for name in names}
    paid = any(prices.values())
    # Where nobody is paid, a wave divides people: each costs one.
    costs = prices if paid or selection.wave is None else dict.fromkeys(names, 1)
    offers = offers_of(survey, expected, costs, caps)
    budget = plan.budget if selection.budget is None else selection.budget
    alpha = float(plan.alpha if selection.alpha is None else selection.alpha)
    policy = selection.policy or plan.policy
    if selection.wave is not None and budget is None:
        budget = sum(expected[name] * costs[name] for name in names)
    quotas, total = _quotas(offers, selection, policy, budget, alpha, responded)
    worth = worth_by_level(offers, budget=budget, alpha=alpha)
    return {
        "policy": policy,
        "alpha": alpha,
        "budget": budget,
        "precision_target": selection.precision_target,
        "wave": selection.wave,
        "response_rate": selection.response_rate,
        "inputs": _inputs(offers, responded),
        "cost": sum(total[name] * prices[name] for name in names),
        "currency": plan.currency,
        "responses": sum(responded.values()),
        "expected": round(sum(quotas.values()) * selection.response_rate),
        "levels": [
            {
                "name": offer.name,
                "responded": responded[offer.name],
                "asked": quotas[offer.name],
                "seats": total[offer.name],
                "price": prices[offer.name],
                "noise_variance": offer.noise_variance,
                # JSON has no infinity.
                "privacy_share": offer.privacy_share if offer.privacy_share < math.inf else None,
                "precision": worth[offer.name][0],
                "burden": worth[offer.name][1] if worth[offer.name][1] < math.inf else None,
            }
            for offer in offers
        ],
        "questions": margins(survey, total),
        "why": _why(policy, alpha, selection, paid=paid),
        "applied": selection.apply,
    }


def _inputs(offers: Sequence[LevelOffer], responded: dict[str, int]) -> str:
    """Return the digest of the figures behind a decision, so that it can be computed again."""
    inputs = [
        [o.name, o.people, o.price, o.noise_variance, o.privacy_share, responded[o.name]]
        for o in offers
    ]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def _quotas(
    offers: Sequence[LevelOffer],
    selection: SelectionRequest,
    policy: str,
    budget: float | None,
    alpha: float,
    responded: dict[str, int],
) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many more people each level may ask, and the quota of each level."""
    from masquerade.selection import quotas_by_level, quotas_of_wave

    if selection.wave is None:
        target = selection.precision_target
        quotas = quotas_by_level(
            offers, budget=budget, policy=policy, alpha=alpha, precision_target=target
        )
        # Those who answered are among them; fewer would count people as too many afterwards.
        return quotas, {name: max(quotas[name], came) for name, came in responded.items()}
    if policy != "precision":
        raise ParameterError(f"policy is {policy!r}; a wave needs the policy 'precision'.")
    assert budget is not None
    quotas = quotas_of_wave(
        offers,
        budget=float(budget),
        wave=selection.wave,
        response_rate=selection.response_rate,
        responded=responded,
        alpha=alpha,
    )
    return quotas, {name: came + quotas[name] for name, came in responded.items()}


def _why(policy: str, alpha: float, selection: SelectionRequest, *, paid: bool) -> str:
    how = {
        "precision": "whoever adds most precision for money and privacy comes first, with some "
        "people at every level",
        "stratified-random": "each level by its share of the people, at random",
        "random": "anybody, at random",
    }[policy]
    parts = [f"People are asked by level alone: {how}."]
    if alpha:
        parts.append(f"Privacy that is used up counts {alpha:g}, money {1 - alpha:g}.")
    if selection.precision_target is not None and policy == "precision":
        parts.append(f"It stops at a standard error of {selection.precision_target:g} widths.")
    if selection.wave is not None:
        parts.append(f"Wave {selection.wave}: who came counts, what they reported does not.")
        if not paid:
            parts.append("Nobody is paid, so the budget counts people.")
    return " ".join(parts)


def runs_of(connection: Connection, token: str) -> list[StoredRun]:
    """Return the selection runs of a survey, the first one first."""
    rows = connection.execute(select(SELECTION_RUN).where(SELECTION_RUN.c.survey == token))
    return sorted(map(_stored, rows), key=lambda run: (run["number"], run["id"]))


def _stored(row: Row[Any]) -> StoredRun:
    run: StoredRun = row.run
    return {**run, "id": row.id, "day": row.day}


def timeline(runs: Sequence[StoredRun], *, responses: int) -> list[AppliedWave]:
    """Return the applied waves in their order, each with the answers that it brought.

    Besides the run: ``asked`` people; ``came_before``, how many answered before it; ``came``, how
    many until the next wave; ``over``, whether there is one.
    """
    waves = _applied_waves(runs)
    starts = [run["responses"] for run in waves]
    ends = [*starts, responses][1:]
    return [
        {
            **_wave(run),
            "came_before": start,
            # Responses can be withdrawn after a wave began.
            "came": max(0, end - start),
            "over": index + 1 < len(waves),
        }
        for index, (run, start, end) in enumerate(zip(waves, starts, ends, strict=True))
    ]


def finished_wave(runs: Sequence[StoredRun], *, responses: int) -> int | None:
    """Return the last wave that was applied, once as many have come as it expected; else None."""
    waves = timeline(runs, responses=responses)
    if not waves or waves[-1]["came"] < waves[-1]["expected"]:
        return None
    return waves[-1]["wave"]


def planned_wave(runs: Sequence[StoredRun]) -> Wave | None:
    """Return the last wave that was worked out, unless it, or one after it, was applied."""
    waves = [run for run in runs if run["wave"] is not None]
    if not waves or waves[-1]["applied"]:
        return None
    return _wave(waves[-1])


def _wave(run: StoredRun) -> Wave:
    return {**run, "asked": sum(level["asked"] for level in run["levels"])}


def next_wave(runs: Sequence[StoredRun]) -> int:
    """Return the number of the next wave; above `MOST_WAVES` there is none."""
    return 1 + len(_applied_waves(runs))


def _applied_waves(runs: Sequence[StoredRun]) -> list[StoredRun]:
    return [run for run in runs if run["applied"] and run["wave"] is not None]
