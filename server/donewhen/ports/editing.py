"""What a client's editor shows. See `donewhen.ports`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from donewhen.core.evidence import Problem


@dataclass(frozen=True, slots=True)
class EditorView:
    """One workspace folder as the editor shows it now; paths are relative to it, with forward slashes.

    `problems` has every file that the editor's tools ever said something about, `opened` those that are open. Of them
    `unsaved` hold text that isn't on the disk, and `outdated` were last reported on at an older text.
    """

    problems: Mapping[str, Sequence[Problem]]
    opened: Collection[str] = ()
    unsaved: Collection[str] = ()
    outdated: Collection[str] = ()
