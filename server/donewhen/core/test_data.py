"""Data of tests that lies where the tables don't look: a file that tests name and the product doesn't.

Names decide in doubt for the product: a file that a source names, or that lies in a folder with sources or in one that
a source names, may be what the work is about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from posixpath import basename, dirname, splitext

from donewhen.core.ecosystems import ECOSYSTEMS
from donewhen.core.proof_files import standing

_NAME = re.compile(r"[\w.@+-]*\w\.\w+")
_QUOTED = re.compile(r"""(["'`])((?:\\.|(?!\1)[^\n\\]){1,200})\1""")
_PART = re.compile(r"[\w.@+-]+")
_PROSE = (".md", ".rst", ".adoc")
_DATA = tuple(suffix for one in ECOSYSTEMS for suffix in one.data)


def is_data(path: str) -> bool:
    """True for a name that ends as those of data files."""
    return path.endswith(_DATA)


def may_be_data(path: str) -> bool:
    """True for a data file that the tables call product."""
    return is_data(path) and standing(path).side == "product"


def is_source(path: str) -> bool:
    """True for what is neither data nor prose, and product, or may be in part."""
    return not path.endswith((*_DATA, *_PROSE)) and standing(path).side != "proof"


def data_of_tests(
    candidates: Collection[str], sources: Collection[str], tests: Iterable[str], product: Iterable[str]
) -> frozenset[str]:
    """Those of `candidates` that `tests` name, or whose folder they name, and `product` does not: both are texts,
    `sources` the paths of the product's code."""
    beside = {dirname(path) for path in sources} - {""}
    left = {path for path in candidates if dirname(path) not in beside}
    if not left:
        return frozenset()
    asked, folders = _named(tests)
    left = {path for path in left if basename(path) in asked or _folder(path) in folders}
    if not left:
        return frozenset()
    taken, places = _named(product)
    return frozenset(
        path
        for path in left
        if basename(path) not in taken and not {splitext(basename(path))[0], _folder(path)} & places
    )


def _folder(path: str) -> str:
    """The name of the folder that it is in; one that no text holds at the top."""
    return basename(dirname(path)) or "\0"


def _named(texts: Iterable[str]) -> tuple[set[str], set[str]]:
    """What texts name: words with an ending, and parts of what is in quotes, but for the folders of a single file."""
    names: set[str] = set()
    parts: set[str] = set()
    for text in texts:
        names.update(_NAME.findall(text))
        for match in _QUOTED.finditer(text):
            whole = _PART.findall(match[2])
            parts.update(whole if not _NAME.fullmatch(whole[-1] if whole else "") or "*" in match[2] else whole[-1:])
    return names, parts
