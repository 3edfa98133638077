"""Divides what a worker changed into proof and product, file by file, and says what a room shows of each.

A file can be both: its proof of one version and its product of another are put together where sections tell them apart
(`proof_sections`, `inline_tests`).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from donewhen.core.inline_tests import divided as inline_divided
from donewhen.core.inline_tests import joined
from donewhen.core.proof_files import ProofFiles, adds_only, holds_tests, lists_more, shared_of
from donewhen.core.proof_sections import combined, proof_part


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


def divided(files: ProofFiles, path: str, before: bytes | None, now: bytes | None) -> Divided:
    """`before` and `now` are None where the file isn't there."""
    standing = files.standing(path)
    if standing.role == "vendored" and before is None:
        return Divided(path, False, True, reverted=Before())  # a dependency more
    if standing.role == "named" and before == now:
        return Divided(path, False, True, reverted=Before())  # its mode alone, without which the check couldn't run it
    if standing.side == "proof":
        added = before is None
        if standing.role == "task" and before is not None and now is not None:
            was, text = _text(before), _text(now)
            if was is not None and text is not None and lists_more(path, was, text):
                return Divided(path, False, True, reverted=Before())
            added = _gained(before, now)
        return Divided(path, True, False, adds=added, original=Before())
    if standing.side == "product":
        lost = files.doctests and path.endswith((".py", *_TEXTS)) and _examples_lost(before, now)
        if lost and path.endswith(_TEXTS):
            return Divided(path, True, False, original=Before())  # no code: its examples are tried as they were
        doubt = f"examples in {path}, which a check runs, are gone or are others now" if lost else ""
        return Divided(path, lost, True, reverted=Before(), doubt=doubt)
    match standing.role:
        case "shared":
            return _shared(path, before, now)
        case "manifest":
            return _manifest(path, before, now)
        case _:
            return _inline(path, before, now)


def _shared(path: str, before: bytes | None, now: bytes | None) -> Divided:
    shared, was, text = shared_of(path), _text(before), _text(now)
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


def _manifest(path: str, before: bytes | None, now: bytes | None) -> Divided:
    was, text = _text(before), _text(now)
    if was is not None and text is not None and now is not None and adds_only(path, was, text):
        return Divided(path, False, True, reverted=Before())
    return _either(path)


def _inline(path: str, before: bytes | None, now: bytes | None) -> Divided:
    was, text = _text(before), _text(now)
    if was is None or text is None:
        return Divided(path, False, True, reverted=Before())
    if not holds_tests(path, was) and not holds_tests(path, text):
        return Divided(path, False, True, reverted=Before())
    old, new = inline_divided(path, was), inline_divided(path, text)
    if old is None or new is None:
        doubt = f"{path} holds tests among its code, and nothing here tells which of the two changed"
        return Divided(path, True, True, original=Same(), reverted=Before(), doubt=doubt)
    if old.tests == new.tests:
        # Without the work there are still the tests that came with it.
        return Divided(path, False, True, reverted=Before() if before is not None else joined("", new.tests).encode())
    original, reverted = joined(new.product, old.tests), joined(old.product, new.tests)
    return Divided(path, True, True, new.tests.startswith(old.tests), original.encode(), reverted.encode())


def _examples_lost(before: bytes | None, now: bytes | None) -> bool:
    """Whether a doctest example, with what it should print, is not there any more."""
    was, text = _text(before), _text(now)
    if was is None or text is None:
        return False
    return bool(Counter(_EXAMPLE.findall(was)) - Counter(_EXAMPLE.findall(text)))


_TEXTS = (".md", ".rst", ".txt")
_EXAMPLE = re.compile(r"""(?m)^[ \t]*>>> .*(?:\n[ \t]*(?!>>>|\"{3}|'{3})\S.*)*""")


def _either(path: str) -> Divided:
    """What can't be taken apart is proof to the one, and product to the other."""
    return Divided(path, True, True, original=Before(), reverted=Before())


def _gained(before: bytes, now: bytes) -> bool:
    """Every line that was there is there still."""
    left = [line.strip().rstrip(b",;") for line in now.splitlines()]
    for line in (line.strip().rstrip(b",;") for line in before.splitlines()):
        if line and line not in left:
            return False
        if line:
            left.remove(line)
    return True


def _text(content: bytes | None) -> str | None:
    """Empty for a file that isn't there, None for one that is no text."""
    try:
        return "" if content is None else content.decode()
    except UnicodeDecodeError:
        return None
