"""Claims for the tests of PrisCrowd's engines."""

from __future__ import annotations

from tests.release.conftest import grouped

__all__ = ["grouped"]
