"""Write the registry of the device's kinds of question, from the modules of its folder.

``python -m tools.kinds`` writes ``static/app/kinds/kinds.js``; with ``--check`` it fails where the
file is not what it would write.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import masquerade

FOLDER = Path(masquerade.__file__).parent / "server/web/static/app/kinds"
REGISTRY = "kinds.js"
TEXT = """\
// Every kind of question, by its name. Written by tools/kinds.py from the modules of this folder.

{imports}

export const KINDS = new Map(
  [{names}].map((kind) => [kind.name, kind]),
);

/** Return the kind of a question. */
export const kindOf = ({{ kind }}) => KINDS.get(kind);
"""


def registry(folder: Path = FOLDER) -> str:
    """Return the text of the registry of a folder."""
    names = sorted(path.stem for path in folder.glob("*.js") if path.name != REGISTRY)
    imports = "\n".join(f'import {{ kind as {name} }} from "./{name}.js";' for name in names)
    return TEXT.format(imports=imports, names=", ".join(names))


def main() -> int:
    """Write the registry, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where the file is another")
    arguments = parser.parse_args()
    path, text = FOLDER / REGISTRY, registry()
    if not arguments.check:
        path.write_text(text, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != text:
        sys.stderr.write(f"{path} is not current; run python -m tools.kinds.\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
