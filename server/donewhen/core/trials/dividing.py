"""Divides what a worker changed into proof and product, file by file, and says what a room shows of each.

A file can be both: its proof of one version and its product of another are put together where sections, or a grammar
(`inline`), tell them apart.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from posixpath import normpath
from typing import Any

from donewhen.core import inline
from donewhen.core.decoding import decoded, json_object
from donewhen.core.ecosystems import TOOLS, Shared
from donewhen.core.proof_files import ProofFiles, adds_only, classify, has_role, holds_tests, lists_more, shared_of
from donewhen.core.trials.untried import LARGEST_SOURCE, is_source

_HEADING = re.compile(r"^\s*\[{1,2}\s*(?P<name>[^\]\n]+?)\s*\]{1,2}\s*(?:[#;].*)?$")
_STRING = re.compile(r"""\"(?:\\.|[^"\\])*"|'[^']*'|#.*""")
_QUOTES = str.maketrans("", "", "\"' ")


def proof_part(shared: Shared, text: str) -> str | None:
    """What is proof of such a file, in a form that is the same for what means the same; None if it can't be read."""
    if shared.format == "json":
        keys = json_object(text)
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
        ours, theirs = json_object(proof), json_object(product)
        if ours is None or theirs is None:
            return None
        kept = {key: value for key, value in ours.items() if _is_proof(shared, key)}
        return _dumped({**{k: v for k, v in theirs.items() if not _is_proof(shared, k)}, **kept}) + "\n"
    ours_parts, theirs_parts = _sections(shared, proof), _sections(shared, product)
    if ours_parts is None or theirs_parts is None:
        return None
    first = [part.text for part in theirs_parts if not _is_proof(shared, part.name)]
    texts = [*first, *(part.text for part in ours_parts if _is_proof(shared, part.name))]
    return "".join(text if not text or text.endswith("\n") else f"{text}\n" for text in texts)


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


def _dumped(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False)


@dataclass(frozen=True, slots=True)
class Same:
    """A room shows the file as it is now."""


@dataclass(frozen=True, slots=True)
class Before:
    """A room shows the file as it was, or not at all where it wasn't there."""


Shown = Same | Before | bytes
"""What a room shows of a file; bytes are a text of both versions."""


@dataclass(frozen=True, slots=True)
class Divided:
    """One changed file. `proof` and `product` say which part of it changed, `adds` that its proof only gained
    something. `original` is what a room with the original proof shows of it, `reverted` one with the product as it was.
    `doubt` says why its parts can't be told apart."""

    path: str
    proof: bool
    product: bool
    adds: bool = False
    original: Shown = Same()
    reverted: Shown = Same()
    doubt: str = ""


def divided(
    files: ProofFiles,
    path: str,
    before: bytes | None,
    now: bytes | None,
    stood: Collection[str] = (),
    present: Collection[str] = (),
) -> Divided:
    """`before` and `now` are None if the file isn't there; `stood` are the files and folders that were there at the
    start, `present` the files that are now. A source of the product that is too large to be looked into is one that
    nothing tells about."""
    if files.classify(path).role in ("config", "shared") and _follows_the_product(path, before, now, stood, present):
        return Divided(path, False, True, reverted=Before())
    one = _divided(files, path, before, now)
    if one.doubt or not one.product or now is None or len(now) <= LARGEST_SOURCE or not is_source(path, now):
        return one
    size = f"{len(now) / 1_000_000:.1f} MB"
    doubt = f"{path} is too large to be looked into ({size}): nothing here tells whether it asks if it is being tested"
    return replace(one, doubt=doubt)


def _divided(files: ProofFiles, path: str, before: bytes | None, now: bytes | None) -> Divided:
    standing = files.classify(path)
    if (
        standing.side == "product"
        or (standing.role == "vendored" and before is None)  # a dependency more
        or (standing.role == "shadow" and before is not None)  # one that always did is the product's own
        or (standing.role == "named" and before == now)  # its mode alone, without which the check couldn't run it
    ):
        return Divided(path, False, True, reverted=Before())
    if standing.side == "proof":
        added = before is None
        if standing.role == "task" and before is not None and now is not None:
            was, text = decoded(before), decoded(now)
            if was is not None and text is not None and lists_more(path, was, text):
                return Divided(path, False, True, reverted=Before())
            added = _gained(before, now)
        return Divided(path, True, False, adds=added, original=Before())
    match standing.role:
        case "shared":
            return _shared(path, before, now)
        case "manifest":
            was, text = decoded(before), decoded(now)
            if was is not None and text is not None and now is not None and adds_only(path, was, text):
                return Divided(path, False, True, reverted=Before())
            return _either(path)
        case _:
            return _inline(path, before, now, tested=path in files.tested)


def _shared(path: str, before: bytes | None, now: bytes | None) -> Divided:
    shared, was, text = shared_of(path), decoded(before), decoded(now)
    if shared is None or was is None or text is None:
        return _either(path)
    was, text = was or ("{}" if shared.format == "json" else ""), text or ("{}" if shared.format == "json" else "")
    old, new = proof_part(shared, was), proof_part(shared, text)
    original, reverted = combined(shared, proof=was, product=text), combined(shared, proof=text, product=was)
    if old is None or new is None or original is None or reverted is None:
        return _either(path)
    if old == new:
        return Divided(path, False, True, reverted=Before())
    adds = _gained(old.encode(), new.encode())
    return Divided(path, True, True, adds, original.encode(), reverted.encode())


def _follows_the_product(
    path: str, before: bytes | None, now: bytes | None, stood: Collection[str], present: Collection[str]
) -> bool:
    """True if all that changed of the proof is where its runner finds the product, and each folder that came to be
    named holds nothing but what was moved there from the root: without that setting the original proof can't find it.
    What still is at the root, or is new, could stand in for something else; so could a first section for settings that
    another file holds."""
    was, text, shared = decoded(before), decoded(now), shared_of(path)
    if was is None or text is None or "/" in path or (shared is not None and shared.format == "json"):
        return False
    (old, known), (new, named) = (_without_folders(shared, each) for each in (was, text))
    if old is None or old != new or not named - known:
        return False
    elsewhere = any("/" not in one and one != path and classify(one).role in ("config", "shared") for one in stood)
    if elsewhere and not _CONFIGURES.search(was):
        return False
    return all(_was_moved(folder, stood, present) for folder in named - known)


_CONFIGURES = re.compile(r"(?m)^\s*\[(?:tool[.:])?pytest\b")


def _without_folders(shared: Shared | None, text: str) -> tuple[list[str] | None, frozenset[str]]:
    """The lines of the proof without the settings that say where the product is, and without sections that are empty
    then; and the folders that these name."""
    words = re.findall(r"[^\s,\[\]\"']+", " ".join(match[1] for match in _folder_settings().finditer(text)))
    folders = frozenset(normpath(word) for word in words)
    rest = _folder_settings().sub("", text)
    part = rest if shared is None else proof_part(shared, rest)
    if part is None:
        return None, folders
    kept: list[str] = []
    for line in reversed([each.strip() for each in part.splitlines()]):
        empty = not kept or _HEADING.match(kept[-1]) is not None
        if line and not line.startswith(("#", ";")) and not (empty and _HEADING.match(line)):
            kept.append(line)
    return kept[::-1], folders


@cache
def _folder_settings() -> re.Pattern[str]:
    keys = "|".join(tool.locates for tool in TOOLS if tool.locates)
    return re.compile(rf"(?m)^[ \t]*(?:{keys})[ \t]*=[ \t]*(\[[^\]]*\]|[^\n\[]*(?:\n[ \t]+[^\n]+)*)")


def _was_moved(folder: str, stood: Collection[str], present: Collection[str]) -> bool:
    if folder.startswith((".", "/", "~", "$")):
        return False
    names = {path[len(folder) + 1 :].split("/")[0] for path in present if path.startswith(f"{folder}/")}
    left = {path.split("/")[0] for path in present}
    proof = ("runner", "config", "task", "test", "shadow", "vendored")
    return bool(names) and all(
        name in stood and name not in left and not has_role(name, *proof) and not has_role(f"{name}/", *proof)
        for name in names
    )


def _inline(path: str, before: bytes | None, now: bytes | None, *, tested: bool) -> Divided:
    was, text = decoded(before), decoded(now)
    if was is None or text is None:
        return Divided(path, False, True, reverted=Before())
    if max(len(was), len(text)) > LARGEST_SOURCE:
        return _doubtful(path)
    if not holds_tests(path, was) and not holds_tests(path, text):
        return Divided(path, False, True, reverted=Before())
    old, new = inline.divided(path, was, tested=tested), inline.divided(path, text, tested=tested)
    if old is None or new is None or sorted(old.fixed) != sorted(new.fixed):
        return _doubtful(path)
    original = _rejoined(path, new, old, gone=now is None, tested=tested)
    reverted = _rejoined(path, old, new, gone=before is None, tested=tested)
    if original is None or reverted is None:
        return _doubtful(path)
    if old.said == new.said:
        # Without the work there are still the tests that came with it.
        return Divided(path, False, True, reverted=Before() if before is not None else reverted)
    return Divided(path, True, True, _is_within(old.said, new.said), original, reverted)


def _rejoined(
    path: str, product: inline.Halves, tests: inline.Halves, *, gone: bool, tested: bool
) -> Before | bytes | None:
    """None if there is no place for the tests, unless the version of the product does not have the file at all."""
    text = inline.joined(path, product.product, tests.tests, tested=tested)
    if text is None:
        return Before() if gone else None
    return text.encode()


def _doubtful(path: str) -> Divided:
    doubt = f"{path} can't be divided into tests and product code, so nothing here tells which of the two changed"
    return Divided(path, True, True, original=Same(), reverted=Before(), doubt=doubt)


def _is_within(few: Sequence[object], many: Sequence[object]) -> bool:
    """All of the few are among the many, in the same order."""
    left = iter(many)
    return all(any(one == other for other in left) for one in few)


def _either(path: str) -> Divided:
    """What can't be taken apart is proof to the one, and product to the other."""
    return Divided(path, True, True, original=Before(), reverted=Before())


def _gained(before: bytes, now: bytes) -> bool:
    """Every line that was there is there still."""
    was, left = (Counter(line.strip().rstrip(b",;") for line in text.splitlines()) for text in (before, now))
    return all(not line or count <= left[line] for line, count in was.items())
