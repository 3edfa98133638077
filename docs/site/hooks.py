"""Lets the site read the pages of docs/ as GitHub reads them. mkdocs calls `on_page_markdown` for every page.

Python-Markdown wants an empty line before a list, four spaces for what belongs to an item, and bare bars in code that
stands in a table; and a link that leaves docs/ leads to the repository.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPOSITORY = "https://github.com/donewhen/donewhen/blob/main/"
_ITEM = re.compile(r"([-*]|\d+\.) ")
_FENCE = re.compile(r"\s*(```|~~~)")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_LINK = re.compile(r"(?<=\]\()(\.\./[^)\s#]*)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The text of a page as Python-Markdown is to have it."""
    return "\n".join(_lines(markdown, page.file.src_uri)) + "\n"


def _lines(markdown: str, path: str) -> Iterator[str]:
    fenced = in_list = False
    before = ""
    for line in markdown.splitlines():
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        if not fenced and bare and not indent:
            starts = bool(_ITEM.match(line))
            if starts and not in_list and before:
                yield ""
            # A line without an indent goes on with the item above it, unless an empty line or a block stands between.
            in_list = starts or (in_list and bool(before) and not re.match(r"[#|<`]", line))
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            bare = _LINK.sub(lambda link: _outside(link[1], path), bare)
            if bare.startswith("|"):
                bare = _CODE.sub(lambda code: code[0].replace("\\|", "|"), bare)
        # Two or three spaces to GitHub are one level, which is four here.
        yield " " * (indent // 2 * 4 if in_list else indent) + bare
        before = bare


def _outside(link: str, path: str) -> str:
    target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(path), link))
    if target.startswith("docs/"):
        return link
    if not (Path(__file__).parents[2] / target).exists():
        raise FileNotFoundError(f"{path} links to {target}, which is not there")
    return REPOSITORY + target
