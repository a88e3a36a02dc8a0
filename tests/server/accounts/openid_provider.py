"""An OpenID provider on this computer, which tests sign in at."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwk, jwt

CLIENT, SECRET = "surveys", "a secret: of two parts"


class FakeProvider:
    """A provider with people named by the test, and claims that the test can change."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.key = jwk.RSAKey.generate_key(2048, {"kid": "1"})
        self.changes: dict[str, Any] = {}  # of the ID token; None takes a claim out
        self.signing: tuple[str, Any] = ("RS256", self.key)
        self.document: dict[str, Any] = {}
        self.requests: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    def come(self, address: str, subject: str) -> dict[str, str]:
        """Sign in at the address a browser was led to; return the answer it comes back with."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert asked["response_type"] == "code"
        assert asked["scope"] == "openid"
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self._codes)}"
        self._codes[code] = {**asked, "sub": subject}
        return {"code": code, "state": asked["state"], "iss": self.issuer}

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """Return the ID token of a code; the code works once, for the sign-in that it began."""
        asked = self._codes.pop(form["code"], None)
        basic = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if (
            asked is None
            or basic != f"{CLIENT}:a%20secret%3A%20of%20two%20parts"
            or base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]
            or form["redirect_uri"] != asked["redirect_uri"]
        ):
            return None
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": asked["sub"],
            "aud": CLIENT,
            "nonce": asked["nonce"],
            "iat": now,
            "exp": now + 300,
            **self.changes,
        }
        known = {name: value for name, value in claims.items() if value is not None}
        algorithm, key = self.signing
        return {"id_token": jwt.encode({"alg": algorithm, "kid": "1"}, known, key)}

    def answer(self, method: str, path: str, body: str, authorization: str) -> Any:
        """Return the response to a request; None where it is refused."""
        self.requests.append(path)
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize?tenant=1",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                **self.document,
            }
        if path == "/keys":
            return {"keys": [self.key.as_dict(private=False)]}
        form = {name: values[0] for name, values in parse_qs(body).items()}
        return self.token(form, authorization) if method == "POST" else None


@contextmanager
def provider_here() -> Iterator[FakeProvider]:
    """Run a provider on a free port until the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET", "")

        def do_POST(self) -> None:
            self._answer("POST", self.rfile.read(int(self.headers["Content-Length"])).decode())

        def _answer(self, method: str, body: str) -> None:
            known = self.headers.get("Authorization", "")
            found = provider.answer(method, self.path, body, known)
            content = json.dumps(found or {"error": "invalid_grant"}).encode()
            self.send_response(200 if found else 400)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = FakeProvider(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
