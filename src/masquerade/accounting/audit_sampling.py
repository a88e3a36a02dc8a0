"""Comparison of drawn reports of two answers, by every view that could tell them apart.

The false-alarm rate is shared among all that is tested (Bonferroni), and every test is exact, so
that the rate holds for any sound mechanism and any number of reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from masquerade.accounting.audit_dependence import (
    Question,
    longest_period,
    p_values,
    tests_of_calls,
    tests_of_columns,
    tests_of_time,
)
from masquerade.accounting.audit_rare_events import hunt
from masquerade.accounting.audit_report import Witness
from masquerade.accounting.audit_subject import Law, Subject, Vector, differences
from masquerade.accounting.audit_views import Drawn, View, views_of
from masquerade.accounting.sampled_loss import (
    MOST_TESTED,
    Pair,
    SampledLoss,
    fit_p_value,
    lower_bound,
    of_view,
)

FEWEST_PERSONS = 2_000
_TOTAL = 20  # times `samples`: reports that are drawn for all answers together, at most
_RARE = 15  # times `samples`: reports of each answer in which rare events are looked for
_RARE_TOTAL = 30
_RARE_MOST = 96
_BATCH = 20_000
_ANSWERS_CALLED = 8
_FEWEST_CALLS = 128
_FEWEST_BATCH = 500
_COMPANIONS = 12
_FORMS = 1_000
_FEWEST_FORMS = 100
_TOTAL_FORMS = 10_000
_ATTEMPTS = 24
_CLEARLY = 20
_COARSE = 20
_LEAN = 4
_LOOKS = 7  # one changed answer, all, form, fit, dependence, rare events, answers of one person
_NEARLY_NOTHING = 1e-12
_NOTHING = SampledLoss(0.0, None)


class _Calls(NamedTuple):
    """Numbers of calls before those that show whether something has changed."""

    all: int
    in_a_row: int


@dataclass(slots=True)
class Look:
    """Findings from drawn reports."""

    # event, user: of one changed answer, and of more.
    event: SampledLoss = _NOTHING
    user: SampledLoss = _NOTHING
    # fit, dependence: how likely reports this far from their probabilities, or this dependent, are
    # at most.
    fit: float | None = None
    dependence: float | None = None
    complete: bool = True  # whether every answer that can be given was drawn for
    reasons: list[str] = field(default_factory=list)
    not_looked_at: list[str] = field(default_factory=list)
    tried: dict[str, Any] = field(default_factory=dict)  # in numbers


def look_at_reports(
    subject: Subject,
    companion: Subject | None = None,
    *,
    samples: int,
    rng: np.random.Generator,
    false_alarm: float,
    refuted: bool = False,
) -> Look:
    """Return the evidence of drawn reports on a claim.

    `companion`: the same mechanism with more answers of a person, whose reports must follow its own
    probabilities too. `samples`: reports of each answer, fewer where there are many answers.
    `false_alarm`: at most the probability with which a true claim is refuted. `refuted`: whether
    the claim is refuted already, so that no rare event needs to be searched for.
    """
    return _Looking(subject, companion, samples, rng, false_alarm).look(refuted)


class _Looking:
    def __init__(
        self,
        subject: Subject,
        companion: Subject | None,
        samples: int,
        rng: np.random.Generator,
        false_alarm: float,
    ) -> None:
        self._subject, self._companion = subject, companion
        self._samples, self._rng = samples, rng
        self._share, self._false_alarm = false_alarm / _LOOKS, false_alarm
        self._found = Look()
        self._reports = self._pairs = self._events = self._calls = 0
        self._compared_calls = _Calls(0, 0)
        self._fits: list[float] = []
        self._mixed = self._hunted = False
        self._answers = subject.vectors()
        self._length = len(self._answers[0].vector)

    def look(self, refuted: bool) -> Look:
        """Return the findings of all tests on drawn reports."""
        found, subject, samples = self._found, self._subject, self._samples
        many = len(self._answers)
        # A limit on all reports together: many answers have fewer each.
        persons = max(FEWEST_PERSONS, min(samples, _TOTAL * samples // many) // self._length)
        drawn = self._drawn(persons)
        if len(drawn) > 1:
            self._compare_losses(drawn)
            self._compare_forms()
            for one, reports in zip(self._answers, drawn, strict=True):
                self._fit(subject, one.vector, reports)
            self._compare_calls(drawn)
            if not (refuted or found.reasons or self._misfit()):
                self._hunt(drawn)
        if self._fits:
            # Bonferroni: the smallest of several p-values, times their number.
            found.fit = min(1.0, min(self._fits) * len(self._fits))
            if self._misfit():
                found.reasons.append(
                    "reports do not follow the mechanism's own probabilities "
                    f"(p-value {found.fit:.2g})"
                )
        found.complete = found.complete and subject.compared == subject.inputs
        found.tried = {
            "inputs": subject.inputs,
            "inputs_drawn": subject.compared,
            "answers_compared": len(self._answers),
            "pairs": self._pairs,
            "events": self._events,
            "reports": self._reports,
            "calls": self._calls,
            "independence_tests": 0,
            "rare_events": 0,
            "smallest_probability_seen": None,
            **found.tried,
            "false_alarm": self._false_alarm,
        }
        found.not_looked_at = [*self._gaps(), *found.not_looked_at]
        return found

    def _misfit(self) -> bool:
        return bool(self._fits) and min(self._fits) * len(self._fits) < self._share

    def _draw(self, place: int, persons: int) -> Drawn:
        drawn = self._subject.draw(self._answers[place].vector, persons, self._rng)
        self._reports += persons * self._length
        self._calls += 1
        return drawn

    def _drawn(self, persons: int) -> list[Drawn]:
        """Return reports for each vector of answers; those that cannot be drawn are left out."""
        drawn: dict[int, Drawn] = {}
        errors: dict[int, Exception] = {}
        for place in range(len(self._answers)):
            try:
                drawn[place] = self._draw(place, persons)
            except Exception as error:  # of whatever kind: it is part of what is seen
                errors[place] = error
        if not drawn:
            raise next(iter(errors.values()))
        for place, raised in errors.items():
            self._refused(place, raised, next(iter(drawn)), persons)
        columns = drawn[min(drawn)].reports.shape[1]
        for place in sorted(drawn)[1:]:
            shape = drawn[place].reports.shape[1]
            if shape != columns:
                self._found.reasons.append(
                    f"the length of a report tells answers apart: {columns} for answer "
                    f"{self._answers[min(drawn)].words}, {shape} for {self._answers[place].words}"
                )
                return []
        self._mixed = len({one.reports.dtype.kind for one in drawn.values()}) > 1
        if self._mixed:
            # Kinds of reports differ by answer: as texts all can be compared.
            drawn = {place: _as_texts(one) for place, one in drawn.items()}
        self._answers = [self._answers[place] for place in sorted(drawn)]
        return [drawn[place] for place in sorted(drawn)]

    def _refused(self, place: int, error: Exception, other: int, persons: int) -> None:
        """Look whether an error, or a wrong number of reports, comes with one answer alone."""
        failed = []
        for tried in (place, other):
            failed.append(0)
            # Errors can be chance; what counts is whether one answer has clearly more of them.
            for _ in range(_ATTEMPTS):
                try:
                    self._draw(tried, persons)
                except Exception:
                    failed[-1] += 1
        name, other_name = self._answers[place].words, self._answers[other].words
        what = f"{type(error).__name__}: {error}"
        self._found.complete = False
        if failed[0] - failed[1] >= _CLEARLY:
            self._found.reasons.append(
                f"an error tells answers apart: {failed[0]} of {_ATTEMPTS} calls for answer {name} "
                f"fail, {failed[1]} for {other_name} ({what})"
            )
        self._found.not_looked_at.append(f"reports of answer {name}: drawing them fails ({what})")

    def _compare_losses(self, drawn: Sequence[Drawn]) -> None:
        """Compare all pairs of answers, in all views of their reports, with the claim."""
        found, claim = self._found, self._subject.claim
        # apart[a, b]: in how many places two vectors of answers differ
        apart = differences(self._answers)
        views = views_of(drawn, whole=self._subject.whole)
        lean = self._lean(drawn) if self._length > 1 else []
        single = np.argwhere(apart == 1)
        several = np.argwhere(apart > 1)
        for pairs, user in ((single, False), (several, True)):
            if not len(pairs):
                continue
            delta, half = float(claim.delta), self._share / 2
            best = _NOTHING
            for number, view in enumerate(views):
                # The first view is that of the reports themselves; it has half of the rate.
                rate = half if number == 0 else half / max(len(views) - 1, 1)
                if lean and user:
                    rate /= 2
                now = of_view(view, pairs, delta=delta, false_alarm=rate)
                best = max(best, now, key=lambda loss: loss.epsilon)
                self._events += min(len(pairs), MOST_TESTED)
            if lean and user:
                now = lower_bound(lean, delta=delta, false_alarm=self._share / 2)
                best = max(best, now, key=lambda loss: loss.epsilon)
                self._events += 2 * len(lean)
            self._pairs += len(pairs)
            best = self._named(best)
            if user:
                found.user = best
            else:
                found.event = best
            claimed = claim.user if user else claim.event
            if best.epsilon > claimed.epsilon and not found.reasons:
                changed = f"{self._length} changed answers" if user else "one changed answer"
                found.reasons.append(
                    f"reports alone show a loss of at least {best.epsilon:.6g} for {changed}, "
                    f"above the claimed {claimed}: {best.worst}"
                )
        if not len(several):
            found.user = found.event

    def _named(self, best: SampledLoss) -> SampledLoss:
        """Return a loss with the answers of its witness in words."""
        worst = best.worst
        if worst is None or not all(isinstance(place, int) for place in worst.answers):
            return best
        one, other = (self._answers[int(place)].words for place in worst.answers)
        return SampledLoss(best.epsilon, Witness(worst.report, (one, other)))

    def _lean(self, drawn: Sequence[Drawn]) -> list[Pair]:
        """Return the first vectors compared by how many of their reports lean to either."""
        pairs = []
        for i in range(min(_LEAN, len(drawn))):
            for j in range(i):
                a, b = self._answers[j], self._answers[i]
                if (a.places != b.places).sum() > 1:
                    one, other = (
                        _key(drawn[place].reports, a.vector, b.vector) for place in (j, i)
                    )
                    pairs.append(Pair((a.words, b.words), one, other, named=False))
        return pairs

    def _compare_forms(self) -> None:
        """Compare type, shape and errors of calls for one report."""
        calls = max(_FEWEST_FORMS, min(_FORMS, _TOTAL_FORMS // len(self._answers)))
        forms: list[list[str]] = []
        for one in self._answers:
            seen = [self._subject.form(one.vector, self._rng) for _ in range(calls)]
            if seen[0] is None:
                return
            forms.append([str(form) for form in seen])
        self._calls += calls * len(forms)
        views = _views_of_forms(forms)
        if not views:
            return
        view = views[0]
        apart = np.argwhere(differences(self._answers) == 1)
        delta, claimed = float(self._subject.claim.delta), self._subject.claim.event
        best = self._named(of_view(view, apart, delta=delta, false_alarm=self._share))
        self._events += min(len(apart), MOST_TESTED)
        if best.epsilon > claimed.epsilon:
            self._found.reasons.append(
                f"type, shape or errors of reports show a loss of at least {best.epsilon:.6g}, "
                f"above the claimed {claimed}: {best.worst}"
            )

    def _fit(self, subject: Subject, vector: Vector, drawn: Drawn) -> None:
        """Compare reports with the mechanism's own probabilities."""
        self._fits += [
            fit_p_value(*_counted(law, seen)) for law, seen in subject.laws(vector, drawn)
        ]

    def _compare_calls(self, drawn: Sequence[Drawn]) -> None:
        """Look for reports that depend on others, on earlier calls, or on earlier answers."""
        answers, subject, samples = self._answers, self._subject, self._samples
        places = _spread(len(answers), _ANSWERS_CALLED)
        calls = max(_FEWEST_CALLS, min(subject.most_calls, samples // 100))
        tests = tests_of_calls(
            self._draw,
            places,
            [one.words for one in answers],
            batch=max(_FEWEST_BATCH, min(_BATCH, samples // 4) // self._length),
            calls=calls,
            whole=subject.whole,
        )
        if subject.independent and self._length > 1:
            some = [drawn[place] for place in places]
            tests += tests_of_columns(
                some, [answers[place].words for place in places], subject.whole
            )
        if self._companion is not None:
            tests += self._accompany(self._companion)
        self._compared_calls = _Calls(self._calls, calls)
        # After all other calls, so that state which builds up is seen.
        late = {place: self._draw(place, len(drawn[place])) for place in places}
        tests += tests_of_time(
            [drawn[place] for place in places], list(late.values()), subject.whole
        )
        found = self._found
        likely = p_values(tests)
        found.dependence = float(min(1.0, likely.min() * len(tests)))
        found.tried["independence_tests"] = len(tests)
        if found.dependence < self._share:
            found.reasons.append(
                f"reports depend on what they must not: {tests[likely.argmin()].words} "
                f"(p-value {found.dependence:.2g})"
            )

    def _accompany(self, companion: Subject) -> list[Question]:
        """Look at several answers of one person: do reports follow their joint probabilities."""
        answers = companion.vectors()
        answers = [answers[place] for place in _spread(len(answers), _COMPANIONS)]
        persons = max(FEWEST_PERSONS, self._samples // 8)
        drawn = [companion.draw(one.vector, persons, self._rng) for one in answers]
        self._reports += persons * len(answers) * len(answers[0].vector)
        for one, reports in zip(answers, drawn, strict=True):
            self._fit(companion, one.vector, reports)
        if not companion.independent:
            return []
        return tests_of_columns(drawn, [one.words for one in answers], companion.whole)

    def _hunt(self, drawn: Sequence[Drawn]) -> None:
        """Look for rare events that only one answer brings about."""
        claim, answers, samples = self._subject.claim, self._answers, self._samples
        reports = min(_RARE, _RARE_TOTAL // len(answers) + 1) * samples // self._length

        def draw(place: int, persons: int) -> Drawn:
            more = self._draw(place, persons)
            return _as_texts(more) if self._mixed else more

        self._hunted = True
        caught = hunt(
            draw,
            lambda place, more: self._fit(self._subject, answers[place].vector, more),
            drawn,
            epsilon=claim.user.epsilon,
            delta=float(claim.delta),
            reports=reports,
            most=_RARE_MOST * samples // self._length,
            false_alarm=self._share,
        )
        self._found.tried["rare_events"] = len(caught.canaries)
        self._events += len(caught.canaries)
        smallest = caught.smallest
        self._found.tried["smallest_probability_seen"] = smallest if smallest <= 1 else None
        for canary in caught.canaries:
            if canary.p_value < caught.rate:
                one, other = (answers[place].words for place in canary.pair)
                self._found.reasons.append(
                    f"a rare event tells answers apart: {canary.counts[0]} of {canary.size} "
                    f"reports of answer {one} against {canary.counts[1]} of {other}, which the "
                    f"claimed {claim.user} allows with probability {canary.p_value:.2g} at most"
                )
                break

    def _gaps(self) -> list[str]:
        """Return the cases that this number of reports cannot show."""
        subject, found = self._subject, self._found
        gaps = []
        left = subject.inputs - subject.compared
        if left:
            # a fault in this share of all inputs is missed by so many random ones with P = 1e-6
            share = 1 - (1e-6) ** (1 / subject.compared)
            gaps.append(
                f"{left} of {subject.inputs} inputs: {subject.compared} were drawn at random; but "
                f"for a chance of 1e-6, a fault that shows is in fewer than {100 * share:.3g} % of "
                "all inputs"
            )
        elif self._length > 1:
            gaps.append(
                f"all vectors of {self._length} answers: {len(self._answers)} were drawn, in which "
                "every input stands in every place"
            )
        smallest = found.tried["smallest_probability_seen"]
        if not self._hunted:
            gaps.append("rare events: the claim is refuted without a search for them")
        elif smallest is None:
            gaps.append("rare events: so many reports as the claimed epsilon needs cannot be drawn")
        else:
            gaps.append(f"events whose probability is below about {smallest:.2g}: too few reports")
        if self._length == 1:
            gaps.append("what several answers of one person lose together: say how many (answers)")
        calls = self._compared_calls
        gaps.append(
            f"state that shows after more than {calls.all} calls for all answers together, or "
            f"after more than {calls.in_a_row} in a row for one answer, or with a period above "
            f"{longest_period(calls.in_a_row)} calls; time, memory, and whatever else leaves "
            "beside reports"
        )
        return gaps


def _views_of_forms(forms: Sequence[Sequence[str]]) -> list[View]:
    drawn = [Drawn.of(np.array(seen, dtype=np.str_)[:, None]) for seen in forms]
    views = views_of(drawn)
    return [view for view in views if len(view.kinds) > 2 or view.second[:, -1].any()][:1]


def _as_texts(drawn: Drawn) -> Drawn:
    """Return reports as texts that tell their type, where answers have reports of several types."""
    kind = {"i": "int", "u": "int", "f": "float", "U": "str"}.get(drawn.reports.dtype.kind, "")
    values, place = np.unique(drawn.reports, return_inverse=True)
    texts = np.array([f"{kind} {item!r}" for item in values.tolist()])
    return Drawn(texts[place.reshape(drawn.reports.shape)], drawn.sent)


def _spread(many: int, at_most: int) -> list[int]:
    places = np.linspace(0, many - 1, min(many, at_most)).round().astype(np.int64)
    return sorted(set(places.tolist()))


def _key(reports: NDArray[Any], a: Vector, b: Vector) -> NDArray[Any]:
    """Return one value a person that tells reports of a from reports of b."""
    changed = a != b
    if np.issubdtype(reports.dtype, np.floating):
        total: NDArray[Any] = np.nan_to_num(reports[:, changed]).sum(axis=1)
        return total
    near_a, near_b = (reports[:, changed] == vector[changed] for vector in (a, b))
    # places nearer to a less those nearer to b, moved to start at 0
    lean = near_a.sum(axis=1) - near_b.sum(axis=1) + int(changed.sum())
    kept = (reports[:, ~changed] == a[~changed]).sum(axis=1)
    step = max(1, len(a) // _COARSE)
    kinds: NDArray[Any] = (lean // step) * (len(a) + 1) + kept // step
    return kinds


def _counted(law: Law, seen: NDArray[Any]) -> Law:
    """Return how often each report of a law was seen, and its probability; all others last."""
    kinds, probability = law
    order = np.argsort(kinds, kind="stable")
    place = np.minimum(np.searchsorted(kinds[order], seen), len(kinds) - 1)
    same = kinds[order][place] == seen
    if kinds.dtype.kind == "f":
        same |= np.isnan(kinds[order][place]) & np.isnan(seen)
    counts = np.bincount(np.where(same, order[place], len(kinds)), minlength=len(kinds) + 1)
    rest = max(0.0, 1 - float(probability.sum()))
    # above 0: the probabilities' own rounding must make no seen report impossible
    return counts, np.append(probability, rest + _NEARLY_NOTHING)
