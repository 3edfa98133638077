"""A process that waits until the one that started it is dead, and then ends what that left running.

Its arguments are the process that it waits for, and the state folders of the workspaces that are pursued. The end of
its standard input says that the process was killed; where everything ends in order, it is ended before that. A run that
another one has taken over since is left alone.

While it waits, which is all that it ever does but for a kill, it has loaded little more than Python itself.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def command(folders: Sequence[Path]) -> list[str]:
    """What starts it, to wait for this process. It imports from where this process does, which may be a folder that an
    extension brings and no interpreter knows of, and never from the current one."""
    start = f"import sys; sys.path[:] = {[one for one in sys.path if one]!r}; from {__name__} import main; main()"
    return [sys.executable, "-I", "-S", "-c", start, str(os.getpid()), *map(str, folders)]


async def reap(folders: Sequence[Path], dead: int) -> None:
    """Ends the processes of the runs in these folders whose owner was the process `dead`."""
    from contextlib import suppress

    from donewhen.core.errors import DoneWhenError
    from donewhen.workspace.locks import FileRunLock

    for folder in folders:
        lock = FileRunLock(folder)
        last, now = lock.last_owner(), lock.owner()
        # A process that was killed may still be listed until its own parent has taken note.
        if last is not None and last.pid == dead and (now is None or now.pid == dead):
            with suppress(DoneWhenError):  # who resumes or drops the run tries again, and says what it can't end
                await lock.end_leftovers(last.token)


def main() -> None:
    waited_for, *folders = sys.argv[1:]
    sys.stdin.buffer.read()

    import asyncio
    from pathlib import Path

    asyncio.run(reap([Path(folder) for folder in folders], int(waited_for)))
