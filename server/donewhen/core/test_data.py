"""Data of tests that lies where the tables don't look: a file that tests name and the product doesn't.

Names decide in doubt for the product: a file that a source or a manifest names, or that lies in a folder which one
names, may be what the work is about. One that lies beside sources is the tests' only where no source names any file of
its kind. A source that holds nothing but values is data too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from posixpath import basename, dirname, splitext

from donewhen.core.proof_files import has_role, standing
from donewhen.ecosystems import ECOSYSTEMS
from donewhen.ecosystems.shell import SHELL

_NAME = re.compile(r"[\w.@+-]*\w\.\w+")
_QUOTED = re.compile(r"""(["'`])((?:\\.|(?!\1)[^\n\\]){1,200})\1""")
_PART = re.compile(r"[\w.@+-]+")
_WORD = re.compile(r"\w+")
_PROSE = (".md", ".rst", ".adoc")
_DATA = tuple(suffix for one in ECOSYSTEMS for suffix in one.data)
_CODE = tuple(suffix for one in ECOSYSTEMS for suffix in one.sources)
_SETTINGS = (".toml", ".yaml", ".yml", ".cfg", ".ini", ".json")
_DOES_SOMETHING = re.compile(
    r"\b(?:def|class|lambda|function|fn|func|import|require|return|yield|for|while|if|raise|throw|await)\b|=>|\w\(|`"
)
_COMMENT = re.compile(r"(?m)^\s*(?:#|//).*$|\"\"\"[\s\S]*?\"\"\"")


def is_data(path: str) -> bool:
    """True for a name that ends as those of data files, or of prose."""
    return path.endswith((*_DATA, *_PROSE))


def is_prose(path: str) -> bool:
    """True for what people read: more often the work itself than data."""
    return path.endswith(_PROSE)


def may_be_data(path: str, text: str | None) -> bool:
    """True for a data file that the tables call product, or a source that did nothing but hold the values in `text`."""
    if standing(path).side == "proof":
        return False
    if is_data(path):
        return standing(path).side == "product"
    stem = splitext(basename(path))[0]
    if not path.endswith(_CODE) or path.endswith(SHELL.sources) or stem.startswith("__") or text is None:
        return False  # a shell's lines are commands
    bare = _COMMENT.sub("", text)
    return bool(_QUOTED.search(bare) or _WORD.search(bare)) and not _DOES_SOMETHING.search(_QUOTED.sub("''", bare))


def names_files(path: str) -> bool:
    """True for what may say which files the product reads: its sources, manifests, and settings at the top."""
    if standing(path).side == "proof":
        return False
    return has_role(path, "shared", "manifest") or not is_data(path) or ("/" not in path and path.endswith(_SETTINGS))


def data_of_tests(
    candidates: Collection[str], sources: Collection[str], tests: Iterable[str], product: Iterable[str]
) -> frozenset[str]:
    """Those of `candidates` that `tests` name, or whose folder they name, and `product` does not: both are texts,
    `sources` the paths of the product's code without the candidates. Sources among the candidates count only where the
    tests name a source that is not among them: else they are what is tested."""
    if not candidates:
        return frozenset()
    beside = {dirname(path) for path in sources if path.endswith(_CODE)} - {""}
    asked, folders, words = _named(tests)
    left = {
        path
        for path in candidates
        if basename(path) in asked
        or (not is_data(path) and splitext(basename(path))[0] in words)
        or (dirname(path) not in beside and not is_prose(path) and is_data(path) and _folder(path) in folders)
    }
    if not left:
        return frozenset()
    if not any(path.endswith(_CODE) and splitext(basename(path))[0] in words for path in sources):
        left = {path for path in left if is_data(path)}  # the tests are about these values
    texts = list(product)
    taken, places, words = _named(texts)
    # What the code calls a thing of its own, and says in quotes too, is that thing, not a file.
    own = {word for text in texts for word in _WORD.findall(_QUOTED.sub("''", text))}
    kinds = {splitext(name)[1] for name in taken} | {f".{word}" for word in words}
    found: set[str] = set()
    for path in left:
        stem, kind = splitext(basename(path))
        if basename(path) in taken:
            continue
        if not is_data(path):
            if stem in words:
                continue
        else:
            called = stem in places and (stem not in own or kind in kinds)
            if called or (kind in kinds if dirname(path) in beside else _folder(path) in places):
                continue
        found.add(path)
    return frozenset(found)


def _folder(path: str) -> str:
    """The name of the folder that it is in; one that no text holds at the top."""
    return basename(dirname(path)) or "\0"


def _named(texts: Iterable[str]) -> tuple[set[str], set[str], set[str]]:
    """What texts name: words with an ending, parts of what is in quotes but for the folders of a single file, and all
    words."""
    names: set[str] = set()
    parts: set[str] = set()
    words: set[str] = set()
    for text in texts:
        words.update(_WORD.findall(text))
        names.update(_NAME.findall(text))
        for match in _QUOTED.finditer(text):
            whole = _PART.findall(match[2])
            parts.update(whole if not _NAME.fullmatch(whole[-1] if whole else "") or "*" in match[2] else whole[-1:])
    return names, parts, words
