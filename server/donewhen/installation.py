"""How this installation gets an extra: from where it came itself, never by a name that an index doesn't have yet."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import url2pathname

from donewhen.version import PUBLISHED

ModelExtra = Literal["models", "litellm"]
"""What calls models: the official clients, or litellm, which calls the others."""
Extra = ModelExtra | Literal["fleet", "mcp", "rooms", "tracing"]
HERE = Path(__file__).parents[1]


def how_to_get(extra: Extra) -> str:
    """What a person does to have it here: a command line, or a sentence where no command would do."""
    try:
        origin: Any = json.loads(distribution("donewhen").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    return way(extra, origin, HERE, Path(sys.prefix), published=PUBLISHED)


def way(extra: Extra, origin: Mapping[str, Any], here: Path, prefix: Path, *, published: bool) -> str:
    """`origin` is what the installer recorded (PEP 610), `here` the folder that holds the package, `prefix` that of the
    environment."""
    # The extension marks the environments that it makes, and starts the folder that it brings as it is.
    if (prefix / "ready").is_file() or (here / "__main__.py").is_file():
        if extra in ("models", "litellm"):
            return "in VS Code, run the command `Done When: Install Model Support`"
        return "set `donewhen.interpreter` in VS Code to a Python whose donewhen has it: the extension's own has not"
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else ["uv", "pip"]
    install = [*pip, "install", *([] if find_spec("pip") else ["--python", sys.executable])]
    # The folder or the wheel that it was installed from, if that is still there.
    address = str(origin.get("url", ""))
    place = Path(url2pathname(urlsplit(address).path))
    source = str(place) if address.startswith("file:") and place.exists() else None
    if source is None and published:
        source = "donewhen"
    if source is None:
        return f"in a clone of Done When, run `{shlex.join([*install, f'.[{extra}]'])}`"
    editable = ["-e"] if origin.get("dir_info", {}).get("editable") else []
    return shlex.join([*install, *editable, f"{source}[{extra}]"])
