"""Challenges are signed, short-lived and bound; a stranger's answers are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from masquerade.errors import NotFound, ParameterError, Unauthenticated
from masquerade.server.accounts import passkeys
from masquerade.server.accounts.passkeys import Site

if TYPE_CHECKING:
    from tests.server.accounts.casts import Cast

pytest.importorskip("webauthn")

HERE = Site("surveys.example", "https://surveys.example")
NOTHING = {"id": "AAAA", "rawId": "AAAA", "type": "public-key", "response": {}}


def test_a_challenge_asks_for_a_verified_person(sqlite_cast: Cast) -> None:
    """Options name this host, ask for user verification, and do not tell of any account."""
    services, owner = sqlite_cast.services, sqlite_cast.members["owner"]
    begun = services.passkeys.begin_sign_in(HERE)["options"]
    assert begun["rpId"] == "surveys.example"
    assert begun["userVerification"] == "required"
    assert begun.get("allowCredentials", []) == []
    made = services.passkeys.begin_registration(services.accounts.get(owner), HERE)
    options = made["options"]
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert options["attestation"] == "none"
    challenges = {services.passkeys.begin_sign_in(HERE)["options"]["challenge"] for _ in range(20)}
    assert len(challenges) == 20


def test_a_challenge_is_for_its_purpose_and_its_account(sqlite_cast: Cast) -> None:
    """A challenge for one account, or for signing in, makes no passkey for another."""
    services = sqlite_cast.services
    owner, editor = (
        services.accounts.get(sqlite_cast.members[role]) for role in ("owner", "editor")
    )
    for challenge in (
        services.passkeys.begin_registration(owner, HERE)["challenge"],
        services.passkeys.begin_sign_in(HERE)["challenge"],
        "",
        "forged",
    ):
        with pytest.raises(Unauthenticated):
            services.passkeys.finish_registration(
                editor, HERE, challenge=challenge, credential=NOTHING, name="x"
            )
    registration = services.passkeys.begin_registration(owner, HERE)["challenge"]
    with pytest.raises(Unauthenticated):
        services.passkeys.finish_sign_in(HERE, challenge=registration, credential=NOTHING)


def test_a_challenge_ends(sqlite_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """A challenge that is older than it may be is refused."""
    found = sqlite_cast.services.passkeys
    challenge = found.begin_sign_in(HERE)["challenge"]
    monkeypatch.setattr(passkeys, "CHALLENGE_SECONDS", -1)
    with pytest.raises(Unauthenticated, match="too long"):
        found.finish_sign_in(HERE, challenge=challenge, credential=NOTHING)


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
RESPONSES = st.dictionaries(
    st.sampled_from(["clientDataJSON", "attestationObject", "authenticatorData", "signature"]),
    VALUES,
)


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    credential=st.fixed_dictionaries(
        {}, optional={"id": VALUES, "rawId": VALUES, "type": VALUES, "response": RESPONSES}
    )
    | RESPONSES.map(lambda response: {**NOTHING, "response": response})
)
def test_prop_whatever_is_sent_is_refused(sqlite_cast: Cast, credential: dict[str, Any]) -> None:
    """Anything that is no passkey's answer is refused, and fails in no other way."""
    services = sqlite_cast.services
    owner = services.accounts.get(sqlite_cast.members["owner"])
    begun = services.passkeys.begin_registration(owner, HERE)
    with pytest.raises(Unauthenticated):
        services.passkeys.finish_registration(
            owner, HERE, challenge=begun["challenge"], credential=credential, name="x"
        )
    challenge = services.passkeys.begin_sign_in(HERE)["challenge"]
    with pytest.raises(Unauthenticated):
        services.passkeys.finish_sign_in(HERE, challenge=challenge, credential=credential)
    assert services.passkeys.of_account(owner.id) == []


def test_without_the_library(sqlite_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library is not installed, the refusal says which extra brings it."""
    monkeypatch.setattr(passkeys, "find_spec", lambda _name: None)
    found = sqlite_cast.services.passkeys
    with pytest.raises(ParameterError, match="extra passkeys"):
        found.begin_sign_in(HERE)
    with pytest.raises(NotFound):
        found.remove(sqlite_cast.members["owner"], "AAAA")
