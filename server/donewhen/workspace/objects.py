"""Where checkpoints keep content: a git object store outside of the workspace, which borrows what git has already.

It is in git's own format, so that `git --git-dir=... ls-tree` reads it; git itself is needed only to read what is
borrowed from the user's object store. Nothing is ever written there, nor to the user's index.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Collection, Generator, Iterable, Mapping
from pathlib import Path

from donewhen.core.errors import WorkspaceError
from donewhen.workspace.packs import Packs, PackWriter
from donewhen.workspace.repository import run_git

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n"


class ObjectStore:
    """Content by git's object ids. `borrowed` is the object store of the user's repository, where there is one."""

    def __init__(self, place: Path, borrowed: Path | None) -> None:
        self._place = place
        self._borrowed = borrowed if shutil.which("git") else None
        self._borrowable: set[bytes] = set()
        self._packs = Packs(place / "objects" / "pack")
        self._ready = False

    @contextlib.contextmanager
    def writing(self) -> Generator[PackWriter]:
        """A writer to keep objects with, all or none of them. Blocks: for a worker thread."""
        self._prepare()
        with self._packs.writing() as writer:
            yield writer

    async def missing(self, names: Collection[bytes]) -> set[bytes]:
        """Those of these ids that are neither kept nor to be borrowed."""
        unknown = set(names) - self._borrowable
        unknown -= await asyncio.to_thread(self._kept, unknown)
        if unknown and self._borrowed is not None:
            found = await self._found_by_git(unknown)
            self._borrowable |= found
            unknown -= found
        return unknown

    async def read(self, names: Iterable[bytes]) -> Mapping[bytes, bytes]:
        """The contents of these ids. Raises WorkspaceError for one that is lost."""
        wanted = set(names)
        contents = await asyncio.to_thread(self._read_kept, wanted)
        rest = wanted - contents.keys()
        if rest and self._borrowed is not None:
            contents |= await self._read_borrowed(rest)
        if lost := wanted - contents.keys():
            raise WorkspaceError(
                f"the checkpoint has lost the content {min(lost).hex()}: git's garbage collection may have removed it"
            )
        return contents

    def read_tree(self, name: bytes) -> bytes:
        """The content of a tree. Blocks. Raises WorkspaceError if there is none."""
        content = self._packs.read(name)
        if content is None:
            raise WorkspaceError(f"there is no checkpoint {name.hex()} here")
        return content

    def _prepare(self) -> None:
        if self._ready:
            return
        try:
            for folder in ("objects/info", "objects/pack", "refs"):
                (self._place / folder).mkdir(parents=True, exist_ok=True)
            (self._place / "HEAD").write_text("ref: refs/heads/none\n")
            (self._place / "config").write_text(_CONFIG)
            alternates = self._place / "objects" / "info" / "alternates"
            borrowed = b"" if self._borrowed is None else os.fsencode(self._borrowed.resolve()) + b"\n"
            alternates.write_bytes(borrowed)
            self._packs.clean()
        except OSError as error:
            raise WorkspaceError(f"checkpoints can't be kept in {self._place} ({error.strerror})") from error
        self._ready = True

    def _kept(self, names: Collection[bytes]) -> set[bytes]:
        self._prepare()
        self._packs.refresh()
        return {name for name in names if name in self._packs}

    def _read_kept(self, names: Collection[bytes]) -> dict[bytes, bytes]:
        found = ((name, self._packs.read(name)) for name in names)
        return {name: content for name, content in found if content is not None}

    async def _found_by_git(self, names: Collection[bytes]) -> set[bytes]:
        lines = "".join(f"{name.hex()}\n" for name in names).encode()
        said = await self._ask("--batch-check=%(objectname) %(objecttype)", lines)
        rows = (line.split(" ") for line in said.decode(errors="replace").splitlines())
        return {bytes.fromhex(row[0]) for row in rows if row[1] in ("blob", "tree")}

    async def _read_borrowed(self, names: Collection[bytes]) -> dict[bytes, bytes]:
        said = await self._ask("--batch", "".join(f"{name.hex()}\n" for name in names).encode())
        contents: dict[bytes, bytes] = {}
        at = 0
        while at < len(said):
            end = said.index(b"\n", at)
            row = said[at:end].split(b" ")
            at = end + 1
            if len(row) == 3:
                size = int(row[2])
                contents[bytes.fromhex(row[0].decode())] = said[at : at + size]
                at += size + 1
        return contents

    async def _ask(self, mode: str, stdin: bytes) -> bytes:
        nothing = os.devnull
        environment = {
            "GIT_DIR": os.fspath(self._place),
            "GIT_CONFIG_GLOBAL": nothing,
            "GIT_CONFIG_SYSTEM": nothing,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_NO_LAZY_FETCH": "1",
        }
        arguments = ["cat-file", mode]
        # An object store that git can't read lends nothing: what it holds is kept once more, or said to be lost.
        code, said = await run_git(arguments, cwd=self._place, environment=environment, stdin=stdin, check=False)
        return said if code == 0 else b""
