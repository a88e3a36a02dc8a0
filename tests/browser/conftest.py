"""A browser page that remembers everything it sent and everything it complained of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request

PHONE = {"width": 390, "height": 844}


@dataclass
class Visitor:
    """One device: its own storage and cookies.

    Attributes
    ----------
    context : BrowserContext
    page : Page
    requests : list of Request
        All requests of all pages of this device.
    complaints : list of str
        Errors of scripts and of the content security policy.
    """

    context: BrowserContext
    page: Page
    requests: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> Page:
        """Remember what `page` sends and complains of."""
        page.on("request", lambda request: self.requests.append(request))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)
        return page

    def another_page(self) -> Page:
        """Open one more tab on the same device."""
        return self.watch(self.context.new_page())

    def _hear(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)


NewVisitor = Callable[..., Visitor]


@pytest.fixture
def new_visitor(chromium: Browser) -> Iterator[NewVisitor]:
    """Return a function that makes a device; each is forgotten after the test."""
    contexts = []

    def make(**options: Any) -> Visitor:
        context = chromium.new_context(**{"viewport": PHONE, **options})
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        visitor = Visitor(context, page)
        visitor.watch(page)
        return visitor

    yield make
    for context in contexts:
        context.close()
