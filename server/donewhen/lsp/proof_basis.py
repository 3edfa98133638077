"""What a goal's proof rests on, for hovers, in the text formats that a client can show: Markdown, or plain."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lsprotocol.types import MarkupKind

from donewhen.core import markdown
from donewhen.core.errors import DoneWhenError
from donewhen.core.proof_files import FOR_ALL, Group, ProofBasis
from donewhen.core.words import listed
from donewhen.engine.api import Runs

WAIT = 0.3
"""Seconds that a hover waits for a look at a large workspace; its result is ready for the next hover."""
FRESH = 10.0
"""Seconds for which a result stays valid if nobody reports new or removed files."""
SHOWN = 3
"""How many files are named for each reason."""


@dataclass(frozen=True, slots=True)
class _Look:
    """`of` is the goal's text and the revision of the workspace, as far as that is known."""

    of: tuple[str, str]
    began: float
    task: asyncio.Task[ProofBasis | None]


class ProofBases:
    """What proofs rest on, by goal file, from the last look."""

    def __init__(self) -> None:
        self._looks: dict[Path, _Look] = {}

    async def basis_of(self, runs: Runs, file: Path, path: str, of: tuple[str, str]) -> ProofBasis | None:
        """`file` is the goal file at `path` of the workspace. None if the result isn't known yet, or can't be: the
        proof of an unusable goal rests on nothing."""
        now, look = time.monotonic(), self._looks.get(file)
        if look is None or look.of != of or (look.task.done() and now - look.began > FRESH):

            async def looked() -> ProofBasis | None:
                with contextlib.suppress(DoneWhenError, OSError):
                    return await runs.rests_on(path)
                return None

            task = asyncio.ensure_future(looked())
            look = self._looks[file] = _Look(of, now, task)
        await asyncio.wait({look.task}, timeout=WAIT)
        return look.task.result() if look.task.done() and not look.task.cancelled() else None


def proof_basis_text(basis: ProofBasis, markup: Markup, requirement_id: str = "") -> str:
    """One line: the files by the reason for which they are proof, those of the requirement's own checks apart from
    those of the whole goal; the goal file itself goes without saying."""
    whole = [group for group in basis.groups if group.role != "goal"]
    own = next((one for one in basis.own if one.requirement_id == requirement_id), None)
    if own is None:
        return _rests("Rests on", whole, markup)
    named = {one.path for group in own.groups for one in group.files}
    rest = [replace(group, files=tuple(one for one in group.files if one.path not in named)) for group in whole]
    for_all = [group for group in rest if group.files and (not own.narrowed or group.role in FOR_ALL)]
    said = [_rests("Rests on", own.groups, markup), _rests("Of the whole goal", for_all, markup)]
    return ". ".join(one for one in said if one)


def _rests(head: str, groups: Sequence[Group], markup: Markup) -> str:
    named: list[str] = []
    for group in groups:
        files = listed([markup.code(one.path) for one in group.files], SHOWN)
        named.append(f"part of {files}" if group.partly else files)
    return f"{head}: {'; '.join(named)}" if named else ""


# Text for people in the two formats that a client can show: Markdown, or unformatted.


class Markup:
    """Formats parts of a text so that their content can't break out of them; where a client shows `plain` text alone,
    by leaving them as they are."""

    def __init__(self, *, plain: bool) -> None:
        self._plain = plain
        self.kind = MarkupKind.PlainText if plain else MarkupKind.Markdown

    def strong(self, text: str) -> str:
        return text if self._plain else f"**{markdown.prose(text)}**"

    def muted(self, text: str) -> str:
        return text if self._plain else f"_{markdown.prose(text)}_"

    def prose(self, text: str) -> str:
        """Words of a judge, a check or a person."""
        return text if self._plain else markdown.prose(text)

    def link(self, text: str, uri: str) -> str:
        return text if self._plain else f"[{markdown.prose(text)}]({uri})"

    def code(self, text: str) -> str:
        return text if self._plain else markdown.code(text)

    def block(self, text: str) -> str:
        """Lines of output."""
        return text if self._plain else markdown.block(text)


MARKDOWN, PLAIN = Markup(plain=False), Markup(plain=True)
