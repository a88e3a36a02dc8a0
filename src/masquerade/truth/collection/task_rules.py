"""Rules by which tasks are ranked for the next answer."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.special import betainc

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats

#: ``"lmu"``: sqrt(LU (1 - max posterior)), with LU the doubt of the votes alone. ``"entropy"``: of
#: the posterior. ``"information-gain"``: of an answer of the crowd's. ``"thompson"``: 1 - max
#: posterior, drawn. ``"votes"``: LU alone.
TaskRule = Literal["lmu", "entropy", "information-gain", "thompson", "votes"]


def check_rule(rule: str) -> None:
    """Raise `ParameterError` unless this is the name of a rule."""
    if rule not in get_args(TaskRule):
        raise ParameterError(f"rule is {rule!r}, expected one of {', '.join(get_args(TaskRule))}.")


def task_scores(
    rule: TaskRule, posterior: Floats, votes: Floats, crowd: Floats, rng: np.random.Generator
) -> Floats:
    """Return how much an answer is wanted on each task; the highest score is asked first.

    `posterior`, `votes` (float array, shape (n_tasks, n_options)): how probable each truth is; how
    many reports each option has.
    `crowd` (float array, shape (n_options, n_options)): ``crowd[truth, label]``: probability of the
    next report.
    `rng`: for ``"thompson"``.

    References
    ----------
    LU and LMU: Sheng, Provost and Ipeirotis, "Get another label?", KDD 2008.
    """
    doubt = 1 - posterior.max(axis=1)
    if rule == "entropy":
        return entropies(posterior)
    if rule == "information-gain":
        return information_gain(posterior, crowd)
    if rule == "thompson":
        # Gumbel noise on log posteriors is a draw from them: the doubt of a draw.
        noisy = np.log(np.maximum(posterior, 1e-300)) + rng.gumbel(size=posterior.shape)
        drawn = np.exp(noisy - noisy.max(axis=1, keepdims=True))
        return np.asarray(1 - drawn.max(axis=1) / drawn.sum(axis=1))
    top = np.sort(votes, axis=1)
    second = top[:, -2] if top.shape[1] > 1 else np.zeros(len(top))
    # LU = I_1/2(n1 + 1, n2 + 1): how probable it is that the leading label is the rarer one
    label_doubt = betainc(top[:, -1] + 1, second + 1, 0.5)
    return np.asarray(label_doubt if rule == "votes" else np.sqrt(label_doubt * doubt))


def entropies(posterior: Floats) -> Floats:
    """Return the entropy of each row, in nats."""
    return np.asarray(-(posterior * np.log(np.maximum(posterior, 1e-300))).sum(axis=-1))


def information_gain(posterior: Floats, confusion: Floats) -> Floats:
    """Return what a report tells of each truth, in nats.

    ``confusion[..., truth, label]`` is of one reporter, or of several, with axes before that are
    those of the result, before its axis of tasks.
    """
    reported = posterior @ confusion
    # I(truth; report) = H(q P) - q . H(P)
    return np.asarray(entropies(reported) - entropies(confusion) @ posterior.T)


def accuracy_gain(posterior: Floats, crowd: Floats) -> Floats:
    """Return by how much one more report raises the probability that the label is right."""
    joint = posterior[:, :, None] * crowd[None, :, :]  # P(truth, report)
    # With each report the likeliest truth is taken: sum over reports of max over truths.
    return np.asarray(joint.max(axis=1).sum(axis=1) - posterior.max(axis=1))
