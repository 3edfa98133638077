"""Splits a file in which some sections are proof and the others product, and combines two of its versions. Sections are
recognised by their headings, line by line, so that comments and layout stay: `[tool.pytest.ini_options]` of TOML and
INI files. Of JSON it is the top-level keys. A text that can't be split is None: then nobody may guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, cast

from donewhen.ecosystems import Shared

_HEADING = re.compile(r"^\s*\[{1,2}\s*(?P<name>[^\]\n]+?)\s*\]{1,2}\s*(?:[#;].*)?$")
_STRING = re.compile(r"""\"(?:\\.|[^"\\])*"|'[^']*'|#.*""")
_QUOTES = str.maketrans("", "", "\"' ")


def proof_part(shared: Shared, text: str) -> str | None:
    """What is proof of such a file, in a form that is the same for what means the same; None if it can't be read."""
    if shared.format == "json":
        keys = _object(text)
        return None if keys is None else _dumped({k: v for k, v in keys.items() if _is_proof(shared, k)})
    sections = _sections(shared, text)
    if sections is None:
        return None
    kept = [section.text for section in sections if _is_proof(shared, section.name)]
    lines = [line.strip() for part in kept for line in part.splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith(("#", ";")))


def combined(shared: Shared, proof: str, product: str) -> str | None:
    """The file with the proof of one version and the product of another; None if either can't be taken apart."""
    if shared.format == "json":
        ours, theirs = _object(proof), _object(product)
        if ours is None or theirs is None:
            return None
        kept = {key: value for key, value in ours.items() if _is_proof(shared, key)}
        return _dumped({**{k: v for k, v in theirs.items() if not _is_proof(shared, k)}, **kept}) + "\n"
    ours_parts, theirs_parts = _sections(shared, proof), _sections(shared, product)
    if ours_parts is None or theirs_parts is None:
        return None
    first = [part.text for part in theirs_parts if not _is_proof(shared, part.name)]
    return "".join(_ended(text) for text in (*first, *(p.text for p in ours_parts if _is_proof(shared, p.name))))


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    text: str


def _is_proof(shared: Shared, name: str) -> bool:
    return any(fnmatchcase(name, glob) for glob in shared.proof)


def _sections(shared: Shared, text: str) -> list[_Section] | None:
    """The sections in their order; what comes before the first heading has an empty name. None if a heading may
    stand inside a text of several lines."""
    found: list[_Section] = []
    name, lines = "", list[str]()
    open_text, depth = "", 0
    for line in text.splitlines(keepends=True):
        # A row of an array of arrays looks like a heading.
        heading = None if open_text or depth else _HEADING.match(line)
        if heading is not None and not line.rstrip().endswith(","):
            found.append(_Section(name, "".join(lines)))
            name, lines = heading["name"].translate(_QUOTES), []
        elif shared.format == "toml" and not open_text:
            bare = _STRING.sub("", line)
            depth = max(depth + bare.count("[") - bare.count("]"), 0)
        lines.append(line)
        for quotes in ('"""', "'''"):
            if open_text in ("", quotes) and line.count(quotes) % 2:
                open_text = "" if open_text else quotes
                break
    if open_text:
        return None
    found.append(_Section(name, "".join(lines)))
    return found


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _object(text: str) -> dict[str, Any] | None:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _dumped(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False)


def same_part(shared: Shared, versions: Sequence[str | None]) -> bool:
    """True if the proof of all versions is the same. A version that isn't there has none."""
    parts = {proof_part(shared, text) if text is not None else proof_part(shared, _empty(shared)) for text in versions}
    return len(parts) == 1 and None not in parts


def _empty(shared: Shared) -> str:
    return "{}" if shared.format == "json" else ""
