"""What differs from one recording to the next without meaning anything: times, ids, digests, places on this machine."""

from __future__ import annotations

import getpass
import re
import sys
from collections.abc import Iterable
from itertools import count

from donewhen import __version__ as VERSION

ID = re.compile(r"(?<![0-9a-zA-Z-])[0-9a-f]{8}(?![0-9a-zA-Z-])")
EVIDENCE = re.compile(r"\bE\d+\b")
PATTERNS = (
    (re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])"), "<digest>"),
    (re.compile(r"(?<![0-9a-f.])[0-9a-f]{16}(?![0-9a-f])"), "<fact>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| ?UTC|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"\b1[78]\d{8}(?:\.\d+)?\b"), "<time>"),
    (re.compile(r'("(?:[a-zA-Z]*[sS]econds|elapsed|seconds[A-Z]\w*|duration|took)": )-?\d[\d.e-]*'), r"\1<seconds>"),
    (re.compile(r"(?<![\w.])\d+(?:\.\d+)? ?m?s(?![a-zA-Z0-9])(?! of)"), "<duration>"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:[kMG]B|bytes)\b"), "<size>"),
    (re.compile(r'("(?:bytes|before|after|size)": )\d+'), r"\1<size>"),
    (re.compile(r"(?m)^ *the model has said nothing for .*\n"), ""),  # how long it takes is the machine's affair
    (re.compile(r'(time=")[\d.]+"'), r'\1<seconds>"'),
    (re.compile(r" {4,}"), "    "),  # columns are as wide as paths are long
    (re.compile(r"0x[0-9a-f]{6,}"), "<address>"),
    (re.compile(r'("sequence": )\d+'), r"\1<number>"),
)  # fmt: skip
"""Each with what stands in its place, in this order."""


def masked(text: str, places: Iterable[tuple[str, str]]) -> str:
    """The text with all that varies named, ids and evidence by the order in which they come. `places` are paths and
    their names."""
    own = (
        (f"{sys.executable} -m donewhen", "donewhen"),
        (sys.executable, "<python>"),
        (VERSION, "<version>"),
        (f"{getpass.getuser()} by a program", "<person>"),
    )
    for path, name in (*places, *own):
        text = text.replace(path, name)
    for pattern, instead in PATTERNS:
        text = pattern.sub(instead, text)
    # Checks run side by side: which of them gives the first evidence is chance.
    return _numbered(EVIDENCE, "E{}", _numbered(ID, "<id {}>", text))


def _numbered(pattern: re.Pattern[str], name: str, text: str) -> str:
    numbers, known = count(1), dict[str, str]()
    return pattern.sub(lambda found: known.setdefault(found.group(), name.format(next(numbers))), text)
