"""The participants' app as files: its modules, its worker and its manifest.

They stand in one folder whose name is the hash of all of them, so that a page never mixes two
versions and modules import each other by relative addresses; the page names the hash of each, so
that a browser runs no other.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import posixpath
import re
from dataclasses import dataclass
from functools import lru_cache

from masquerade.server.http.pages import STATIC

ENTRY, WORKER = "app/main.js", "app/service_worker.js"
#: Those of the kinds' folder that are no kind: the registry, and the list for surveyors' pages.
_NO_KIND = ("kinds", "every")
#: Modules that only some pages load, by the group under which the page names their hashes.
ON_DEMAND = {
    "home": "app/home_page.js",
    "tickets": "app/blind_rsa.js",
    "two-parties": "app/agreement.js",
    "party-views": "app/two_party_views.js",
    "mask-demo": "app/mask_demo.js",
    "ledger": "app/ledger_page.js",
    "settings": "app/settings_page.js",
    "about": "app/about_page.js",
    # A survey loads the kinds of its questions.
    **{
        f"kind-{path.stem}": f"app/kinds/{path.name}"
        for path in sorted((STATIC / "app/kinds").glob("*.js"))
        if path.stem not in _NO_KIND
    },
    # What the app says in each language but English.
    **{f"words-{code}": f"words/{code}.js" for code in ("de", "fr", "es", "ar")},
}
STYLES = ("tokens.css", "base.css", "participant.css")
_ICONS = ("icon.svg", "icon-192.png", "icon-512.png")
_IMPORT = re.compile(r'^(?:import|export)\b[^;]*?\bfrom "(\.[^"]+)";', re.MULTILINE)
MEDIA_TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}


@dataclass(frozen=True, slots=True)
class AppFile:
    """A file of the app, and the hash by which a page names it (``sha384-...``)."""

    content: bytes
    compressed: bytes
    integrity: str

    @classmethod
    def of(cls, content: bytes) -> AppFile:
        """Return a file with its content compressed and hashed."""
        digest = base64.b64encode(hashlib.sha384(content).digest()).decode()
        # Without a time, so that all processes send the same bytes.
        return cls(content, gzip.compress(content, mtime=0), f"sha384-{digest}")


@dataclass(frozen=True, slots=True)
class AppBuild:
    """All files of the app, and the hash that names them together."""

    hash: str  # SHA-256 of what ``sha256sum`` prints for the files, sorted by their paths
    files: dict[str, AppFile]  # path within the folder to `AppFile`
    # Paths of those that the page loads, the entry last: each stands after what it imports.
    modules: tuple[str, ...]
    # Paths of those that it loads when it needs them, by group of `ON_DEMAND`, in the same order.
    on_demand: dict[str, tuple[str, ...]]

    @property
    def later(self) -> tuple[str, ...]:
        """Paths of all modules that are loaded on demand."""
        return tuple(dict.fromkeys(name for group in self.on_demand.values() for name in group))


@lru_cache(maxsize=1)
def app_build() -> AppBuild:
    """Return the app as it is on this computer's disk; read once."""
    modules = _modules(ENTRY)
    on_demand = {
        group: tuple(name for name in _modules(entry) if name not in modules)
        for group, entry in ON_DEMAND.items()
    }
    later = {name for group in on_demand.values() for name in group}
    names = sorted((*modules, *later, *STYLES, WORKER, *_ICONS))
    files = {name: AppFile.of((STATIC / name).read_bytes()) for name in names}
    lines = "".join(
        f"{hashlib.sha256(file.content).hexdigest()}  {name}\n" for name, file in files.items()
    )
    return AppBuild(hashlib.sha256(lines.encode()).hexdigest(), files, modules, on_demand)


def offline_files(build: AppBuild) -> list[str]:
    """Return the names of the files that a device keeps, to open the app without a network."""
    return [*build.modules, *build.later, *STYLES, *_ICONS]


def _modules(entry: str) -> tuple[str, ...]:
    """Return a module and all its imports, each after its own."""
    ordered: list[str] = []
    entered: set[str] = set()

    def visit(name: str) -> None:
        if name in entered:
            return
        entered.add(name)
        for address in _IMPORT.findall((STATIC / name).read_text(encoding="utf-8")):
            visit(posixpath.normpath(posixpath.join(posixpath.dirname(name), address)))
        # After its imports, so that the page can load the modules in this order.
        ordered.append(name)

    visit(entry)
    return tuple(ordered)
