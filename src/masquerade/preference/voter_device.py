"""A voter's half of a local mechanism, built from what anybody may know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masquerade.answers import Feature
from masquerade.errors import ParameterError
from masquerade.preference.local_mechanism import LocalMechanism, VoterDevice
from masquerade.preference.private_mechanism import require_pairs
from masquerade.preference.registry import preference_mechanism


def read_voter_device(public: Mapping[str, Any], *, epsilon: Any = None) -> VoterDevice:
    """Return the device that `VoterDevice.to_json` described; nothing else is needed of a server.

    Parameters
    ----------
    public : mapping
        ``mechanism`` (its text) and ``features`` (name and public range of each).
    epsilon : number, optional
        The voter's own; default: the mechanism's.

    Raises
    ------
    ParameterError
        The mechanism does not run on a voter's device.

    Examples
    --------
    >>> device = read_voter_device({
    ...     "mechanism": "local-laplace:epsilon=1",
    ...     "features": [{"name": "price", "range": [0, 10]}]})
    >>> len(device.report([[3], [-1]]).values)
    1
    """
    mechanism = preference_mechanism(public["mechanism"])
    if not isinstance(mechanism, LocalMechanism) or getattr(mechanism, "trust", "") == "aggregator":
        raise ParameterError(
            f"{public['mechanism']} does not run on a voter's device; choose a local mechanism."
        )
    features = [
        Feature(each["name"]) if each["range"] is None else Feature(each["name"], *each["range"])
        for each in public["features"]
    ]
    if mechanism.unit == "choice":  # written by versions that masked the pairs of a choice
        require_pairs(int(public.get("records_a_choice", 1)))
    return mechanism.device(features, epsilon=epsilon)
