"""The plugins of one workspace folder's runs: the gate, those of the user's settings, those from packages."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from donewhen.core.approval import ApprovalRule, Decision, permit_for, remembered
from donewhen.core.commands.simple import simple
from donewhen.core.errors import DoneWhenError, UsageError
from donewhen.core.events import RunOptions
from donewhen.core.plugging import ToolUse
from donewhen.plugins.approval import ApprovalGate
from donewhen.plugins.calling import PluggyPlugins
from donewhen.plugins.checks import PluginChecker
from donewhen.plugins.opening import open_plugins
from donewhen.ports import Checker, Judge, Worker
from donewhen.settings.loading import Settings
from donewhen.store.allowances import Allowances
from donewhen.workers.callables.judges import judge_of
from donewhen.workers.callables.workers import worker_of
from donewhen.workers.tools import TOOLS
from donewhen.workspace.repository import run_git

GATE = "approval"
GIT_TIMEOUT = 5.0
MOST_PATHS = 500


class FolderPlugins:
    """What is opened for a run belongs to that run alone: its worker, its judge and its hooks come from the same plugin
    objects. `folder` is the workspace's own folder in the state folder."""

    def __init__(self, root: Path, folder: Path, settings: Callable[[], Settings]) -> None:
        self._root = root
        self._folder = folder
        self._settings = settings
        self._opened: tuple[RunOptions, PluggyPlugins] | None = None
        self._checks: PluggyPlugins | None = None

    def survey(self) -> PluggyPlugins:
        """The plugins that a run would have if it started now. Raises UsageError, PluginConflict."""
        self._checks = self._open_plugins(())
        return self._checks

    def forget(self) -> None:
        """The next check from a plugin is looked up again."""
        self._checks = None

    @property
    def allowances(self) -> Allowances:
        """The calls that a person allowed permanently in this workspace."""
        return Allowances(self._folder)

    def worker(self, options: RunOptions) -> Worker | None:
        """The run's worker if a plugin provides it."""
        found = self._plugins_of(options).workers.get(options.worker or "")
        return worker_of(found.record.make(options)) if found is not None else None

    def judge(self, options: RunOptions) -> Judge | None:
        """The run's judge if a plugin provides it."""
        if options.judge is None or options.judging is not None:
            return None
        found = self._plugins_of(options).judges.get(options.judge)
        if found is None:
            raise UsageError(
                f"no plugin here provides the judge {options.judge}: install it, or, if a program started the run, "
                "resume it from there (donewhen.resume_goal)"
            )
        made = found.record.make(options)
        judge = judge_of(made)
        if judge is None:
            raise UsageError(f"the judge {options.judge} of the plugin {found.plugin} is not a judge: {made!r}")
        return judge

    def of_run(self, options: RunOptions) -> PluggyPlugins:
        """Hands over the run's plugins: the next run gets others."""
        found = self._plugins_of(options)
        self._opened = None
        return found

    def checker(self, commands: Checker) -> PluginChecker:
        """For the checks that plugins bring; they are opened when the first such check is met."""
        if self._checks is None:
            self._checks = self._open_plugins(())
        return PluginChecker(self._checks.checks, commands, self._root)

    def _plugins_of(self, options: RunOptions) -> PluggyPlugins:
        if self._opened is None or self._opened[0] is not options:
            self._opened = (options, self._open_plugins(options.plugins))
        return self._opened[1]

    def _open_plugins(self, frozen: Sequence[str]) -> PluggyPlugins:
        """`frozen` are the names that the run started with: no other plugin joins it later, and none may be missing."""
        off = set(self._settings().approvals.plugins_off)
        found = self._opened_without(off)
        if frozen:
            missing = [name for name in frozen if name not in found.names and name not in off]
            if missing:
                raise UsageError(
                    f"this run began with the plugin {', '.join(missing)}, which is no longer available: install it "
                    "again, or name it in `plugins_off` of your settings"
                )
            new = set(found.names) - set(frozen)
            found = self._opened_without(off | new) if new else found
        return found

    def _opened_without(self, off: Collection[str]) -> PluggyPlugins:
        return open_plugins(
            self._settings().approvals.plugins,
            installed=True,
            # After all of them: nobody changes a call that was approved.
            last=[approval_gate(self._root, self._folder)],
            off={*off} - {GATE},
            known_tools=TOOLS,
            workspace=self._root,
        )


def approval_gate(root: Path, folder: Path | None) -> ApprovalGate:
    """The gate for one run in the workspace `root`. `folder` is where the permanent approvals of the workspace are
    kept; None: there are none, and none are kept."""
    return ApprovalGate(FolderPolicy(root, Allowances(folder) if folder is not None else None))


@dataclass(slots=True)
class FolderPolicy:
    """`plugins.approval.Policy` for a workspace folder: it uses the folder's git and permanent approvals. `windows`:
    commands are run by `cmd`."""

    root: Path
    allowances: Allowances | None = None
    windows: bool = field(default_factory=lambda: os.name == "nt")

    async def decide(self, use: ToolUse, options: RunOptions, allowed: Sequence[ApprovalRule]) -> Decision:
        kept = self.allowances.rules() if self.allowances is not None else ()
        rules = (*options.rules, *kept, *allowed)
        asked: set[str] = set()

        def unknown(path: str) -> bool:
            asked.add(path)
            return False

        how = {"windows": self.windows, "contained": options.contained}
        decision = permit_for(use, options.approve, rules, unknown, **how)
        if not asked:
            return decision
        # `unknown` ends the question at the first path, so `asked` may lack others: git is asked about all words at
        # once.
        words = (simple(str(use.input.get("command", ""))) or ())[1:]
        normal = {"/".join(part for part in word.split("/") if part not in ("", ".")) for word in words}
        known = await tracked_among(self.root, asked | normal)
        return permit_for(use, options.approve, rules, known.__contains__, **how)

    def remembered(self, use: ToolUse) -> ApprovalRule | None:
        return remembered(use, windows=self.windows)

    async def keep(self, rule: ApprovalRule) -> bool:
        if self.allowances is None:
            return False
        try:
            await asyncio.to_thread(self.allowances.allow, rule)
        except OSError:
            return False
        return True


async def tracked_among(root: Path, paths: Collection[str]) -> frozenset[str]:
    """The paths, relative to `root`, that git tracks as files; none if git can't answer soon."""
    asked = [path for path in paths if path and "\0" not in path and not path.startswith("-")]
    if not asked or len(asked) > MOST_PATHS:
        return frozenset()
    try:
        async with asyncio.timeout(GIT_TIMEOUT):
            code, said = await run_git(
                ["--literal-pathspecs", "ls-files", "-z", "--cached", "--", *asked], cwd=root, check=False
            )
    except (TimeoutError, DoneWhenError, OSError, ValueError):
        return frozenset()
    return frozenset(os.fsdecode(said).split("\0")) & frozenset(asked) if code == 0 else frozenset()
