"""Tests that were there at the start and are not now: deleted, or left without anything that they do.

What a test file holds is read by the rows of `ecosystems` that say how a runner's tests are named. A test that stands
in another file now, or under another name with the same body, is not lost.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from donewhen.core.ecosystems import ECOSYSTEMS
from donewhen.core.globs import any_matches
from donewhen.core.proof_files import has_role
from donewhen.core.words import counted, listed

LOST_TESTS = "lost_tests"
"""The code of the warning that says so to a person."""
MAX_NAMED = 5
MAX_READ = 1_000_000
"""Characters of a file that is read for its tests."""
_LONGEST_EMPTY = 400
_DOCSTRING = re.compile(r'"""[\s\S]*?"""|' + r"'''[\s\S]*?'''")
_COMMENT = re.compile(r"(?m)(?:#|//).*$")
_OPENS = r"""
    ['"`]?(?:\s*,\s*"[^"\n]*")?\)?                            # the end of a title, and of what stands around it
    (?:\s*,\s*(?:async\s*)?(?:function\b\s*\w*\s*)?)?        # the function that comes after a title
    (?:\([^()\n]*\)|\w+)?\s*(?:->[^:{\n]+|=>|throws\b[^{\n]+)?  # what it takes, gives and throws
    \s*(?:[:{]|\bdo\b|(?<=\n))
    (?:\s|;|\bpass\b|\.\.\.|\bassert[ ](?:True|1)\b|assert!\(true\))*"""
_DOES_NOTHING = re.compile(_OPENS + r"(?:\breturn(?:[ ]None)?\b\s*;?)?\s*(?:[})\];]|\bend\b|\s)*", re.VERBOSE)
_RETURNS_FIRST = re.compile(
    _OPENS + r"(?:\breturn(?:[ ]None)?[ \t]*(?:;|\r?\n)|(?:pytest\.skip|self\.skipTest|t\.Skip(?:f|Now)?)\()",
    re.VERBOSE,
)
"""It returns, or skips itself, before it does anything."""

Contents = Mapping[str, tuple[str | None, str | None]]
"""What files held at the start, and what they hold now; None where they aren't there."""


@dataclass(frozen=True, slots=True)
class _Test:
    name: str
    body: str


def lost_tests(files: Contents) -> dict[str, tuple[str, ...]]:
    """By path, the names of the tests that are in none of these files any more; without any name for a test file of
    which no row says how its tests are named, and which is gone or empty."""
    gone, came = list[tuple[str, _Test]](), list[_Test]()
    for path, (before, now) in files.items():
        was, has = _tests_that_act(path, before), _tests_that_act(path, now)
        gone += [(path, one) for one in _not_among(was, has)]
        came += _not_among(has, was)
    # By name first: who came under the name of one stands for no other of the same body.
    names, bodies = defaultdict[str, list[_Test]](list), Counter(one.body for one in came)
    for one in came:
        names[one.name].append(one)
    nameless = list[tuple[str, _Test]]()
    for path, one in gone:
        if names[one.name]:
            bodies[names[one.name].pop().body] -= 1
        else:
            nameless.append((path, one))
    texts = {now for _, now in files.values()}
    lost = defaultdict[str, tuple[str, ...]](tuple)
    for path, (before, now) in files.items():
        if _is_gone(path, before, now) and before not in texts:
            lost[path] = ()
    for path, one in nameless:
        bodies[one.body] -= 1
        if bodies[one.body] < 0:
            lost[path] += (one.name,)
    return dict(lost)


def lost_text(path: str, names: Sequence[str]) -> str:
    """`tests/test_slug.py lost 2 tests (test_a, test_b)`."""
    if not names:
        return f"{path} is gone or empty"
    return f"{path} lost {counted(len(names), 'test')} ({listed(names, MAX_NAMED)})"


def _tests_that_act(path: str, text: str | None) -> list[_Test]:
    """The tests of a file that do something."""
    pattern = _names(path)
    if text is None or not pattern or len(text) > MAX_READ:
        return []
    if path.endswith(".py") and not any(text.count(quotes) % 2 for quotes in ('"""', "'''")):
        text = _DOCSTRING.sub("", text)  # what stands in a text is no test
    found = [_Test(match["name"], _body(text, match)) for match in re.finditer(pattern, text)]
    return [one for one in found if one.body]


def _names(path: str) -> str:
    rows = (one for ecosystem in ECOSYSTEMS for one in ecosystem.plants)
    return next((one.names for one in rows if one.names and any_matches(one.files, path)), "")


def _body(text: str, match: re.Match[str]) -> str:
    """What follows a test's name, up to the next line that is indented as it is, in its words; empty where it does
    nothing."""
    line = text[text.rfind("\n", 0, match.start("name")) + 1 : match.start("name")]
    indent = len(line) - len(line.lstrip())
    first, *rest = text[match.end("name") :].split("\n", 400)
    inside = [first]
    for one in rest:
        if one.strip() not in ("", "{") and len(one) - len(one.lstrip()) <= indent:
            break
        inside.append(one)
    body = "\n".join(inside)
    bare = _COMMENT.sub("", _DOCSTRING.sub("", body))
    acts = _RETURNS_FIRST.match(bare[:_LONGEST_EMPTY]) is None
    acts = acts and (len(bare) >= _LONGEST_EMPTY or _DOES_NOTHING.fullmatch(bare) is None)
    return " ".join(body.split()) if acts else ""


def _not_among(tests: Sequence[_Test], others: Sequence[_Test]) -> list[_Test]:
    """Those of whose name there are more here."""
    there = Counter(one.name for one in others)
    left: list[_Test] = []
    for one in tests:
        there[one.name] -= 1
        if there[one.name] < 0:
            left.append(one)
    return left


def _is_gone(path: str, before: str | None, now: str | None) -> bool:
    if before is None or not before.strip() or (now or "").strip() or not has_role(path, "test"):
        return False
    pattern = _names(path)
    return not pattern or (_NAMED_AS_TEST.search(path) is not None and re.search(pattern, before) is None)


_NAMED_AS_TEST = re.compile(r"(?:[Tt]ests?|[Ss]pec|IT|Case)\.(?!py$)\w+$")
"""How a file of tests is named whose tests no row knows; Python's are read whole."""
