"""Reads the facts that integrity is judged by (A10): tests, configurations, definitions, programs, environment.

Facts of a file are kept by its path and digest, so that an audit of an unchanged workspace parses nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.core.evidence import CheckResult, ObservedCommand, Outcome, TestCase
from donewhen.core.goal import Goal
from donewhen.core.integrity import AddressingFact, CheckRunFact, FileFact, IntegrityFacts, TestFileFact
from donewhen.core.why import COLLECTION
from donewhen.evidence.probes_bindings import packaged
from donewhen.evidence.probes_classify import FileKind, Layout, in_tests
from donewhen.evidence.probes_configs import (
    PytestOptions,
    configs_in,
    plugin_fact,
    plugin_modules,
    pytest_options,
    unlisted_configs,
)
from donewhen.evidence.probes_definitions import Definitions
from donewhen.evidence.probes_environment import Environment
from donewhen.evidence.probes_patching import PATCHED, real_patches
from donewhen.evidence.probes_python import PythonNames, python_tests
from donewhen.evidence.probes_scripts import script_tests
from donewhen.evidence.probes_shadowing import shadowing_modules
from donewhen.evidence.probes_unchecked import Unchecked
from donewhen.ports import Workspace
from donewhen.regular import read_bytes

if TYPE_CHECKING:
    from donewhen.evidence.probes_addressing import Addressing

_LARGEST = 1_000_000  # bytes: no person writes a test file larger than this


class WorkspaceProbes:
    """Implements `ports.Probes`. `environment` gives the variables that checks run with.

    The files that the revision covers are read by their digest; virtual environments and programs, which it doesn't
    cover, are looked at on disk with bounded work. Nothing holds the event loop.
    """

    def __init__(self, environment: Callable[[], Mapping[str, str]]) -> None:
        self._environment = environment
        self._layout = Layout()
        self._tests: dict[str, tuple[tuple[object, ...], TestFileFact]] = {}
        self._configs: dict[str, tuple[str, tuple[FileFact, ...]]] = {}
        self._disk = Environment()
        self._unchecked = Unchecked()
        self._addressing: Addressing | None = None

    async def facts(self, goal: Goal, workspace: Workspace, results: Sequence[CheckResult]) -> IntegrityFacts:
        view = await self._view(goal, workspace)
        return _with_runs(await asyncio.to_thread(self._read, goal, view), results)

    async def addressing(
        self,
        goal: Goal,
        workspace: Workspace,
        results: Sequence[CheckResult],
        since: str | None = None,
        commands: Sequence[ObservedCommand] = (),
    ) -> tuple[AddressingFact, ...]:
        if self._addressing is None:
            from donewhen.evidence.probes_addressing import Addressing  # lazy: an idle server's memory

            self._addressing = Addressing()
        return await self._addressing.facts(goal, workspace, results, since, commands)

    async def _view(self, goal: Goal, workspace: Workspace) -> _View:
        """What the workspace says, copied on the loop: its own state is never read from another thread."""
        paths = tuple(workspace.files())
        await asyncio.to_thread(self._layout.learn, paths)
        digests = {path: workspace.digest(path) or "" for path in self._layout.kinds}
        protected = {p: workspace.digest(p) or "" for p in workspace.files(goal.protect)} if goal.protect else {}
        goal_digest = (workspace.digest(goal.path) or "") if goal.path else ""
        return _View(workspace.root, paths, digests, protected, goal_digest, dict(self._environment()))

    def _read(self, goal: Goal, view: _View) -> IntegrityFacts:
        definitions = Definitions(view.root, goal, view.environment)
        definitions.resolve()
        runners = definitions.runners()
        configs = self._read_configs(view)
        options = pytest_options(view.root)
        folders = definitions.folders()
        tests = self._read_tests(view, options, definitions)
        shadows = self._disk.shadows(view.root, folders, view.environment, definitions.program_names())
        known = {f.path for f in shadows}
        return IntegrityFacts(
            tests=tests,
            configs=tuple(f for f in configs if f.runner in runners),
            protected=tuple(FileFact(path, digest) for path, digest in sorted(view.protected.items())),
            definitions=(*definitions.facts, *self._disk.programs(view.root, definitions, view.environment)),
            environment=self._disk.startup_files(view.root, folders, view.environment, self._layout.startup_files()),
            goal_file=_goal_file(goal, view),
            shadows=(*shadows, *(f for f in shadowing_modules(view.root, view.paths, tests) if f.path not in known)),
            suppressions=self._unchecked.facts(view.root, view.paths, runners),
            runners=tuple(sorted(runners)),
            protect=goal.protect,
        )

    def _read_tests(self, view: _View, options: PytestOptions, definitions: Definitions) -> tuple[TestFileFact, ...]:
        names = PythonNames(functions=options.functions, classes=options.classes)
        patterns = (*options.files, *(("test*.py",) if definitions.runs_unittest() else ()))
        named = definitions.named_files()
        facts: list[TestFileFact] = []
        covered = frozenset(view.paths)
        for path, kind in self._layout.kinds.items():
            if kind not in (FileKind.PYTHON_TEST, FileKind.SCRIPT_TEST):
                continue
            collected = kind is FileKind.SCRIPT_TEST or path in named or options.collects(path, patterns)
            fact = self._test_file(view, path, kind, collected, names)
            if fact is not None and _counts(real := real_patches(fact, view.root, covered)):
                facts.append(packaged(real, covered) if definitions.runs_unittest() else real)
        return tuple(facts)

    def _test_file(
        self, view: _View, path: str, kind: FileKind, collected: bool, names: PythonNames
    ) -> TestFileFact | None:
        key = (view.digests[path], collected, names)
        known = self._tests.get(path)
        if known is None or known[0] != key:
            data = _bytes(view.root / path)
            if data is None:
                return None
            read = _parse(path, data, kind, collected, names)
            time.sleep(0)  # lets the event loop's thread in: reading a large workspace takes seconds
            if read.digest != view.digests[path]:  # it changed after the workspace looked: right now, but not kept
                return read
            known = (key, read)
            self._tests[path] = known
        return known[1]

    def _read_configs(self, view: _View) -> tuple[FileFact, ...]:
        covered = [path for path, kind in self._layout.kinds.items() if kind is FileKind.CONFIG]
        found: list[FileFact] = []
        for path in covered:
            found += self._config_file(view, path)
        for path in unlisted_configs(view.root, view.digests.keys()):
            found += configs_in(path, _text(view.root / path))
        for path in plugin_modules(found):
            if (view.root / path).is_file():
                found.append(plugin_fact(path, _text(view.root / path)))
        return tuple(found)

    def _config_file(self, view: _View, path: str) -> tuple[FileFact, ...]:
        digest = view.digests[path]
        known = self._configs.get(path)
        if known is None or known[0] != digest:
            data = _bytes(view.root / path) or b""
            known = (digest, configs_in(path, data.decode("utf-8", "replace")))
            if hashlib.sha256(data).hexdigest() == digest:
                self._configs[path] = known
        return known[1]


@dataclass(frozen=True, slots=True)
class _View:
    """The workspace at one moment, for a thread to read."""

    root: Path
    paths: Sequence[str]
    digests: Mapping[str, str]
    protected: Mapping[str, str]
    goal_digest: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


def _parse(path: str, data: bytes, kind: FileKind, collected: bool, names: PythonNames) -> TestFileFact:
    digest = hashlib.sha256(data).hexdigest()
    text = data.decode("utf-8-sig", "replace")
    if kind is FileKind.PYTHON_TEST:
        return python_tests(path, digest, text, names, collected)
    return script_tests(path, digest, text)


def _counts(fact: TestFileFact) -> bool:
    """A file that is not collected counts for the tests that it still holds, which may have been moved there; one that
    stands among tests also for its functions, which they may call; any for what it replaces in the product."""
    called = bool(fact.tests) and in_tests(fact.path)
    patches = any(what == PATCHED for _, _, what in fact.bindings)
    return fact.collected or called or patches or any(t.simple_name.lower().startswith("test") for t in fact.tests)


def _bytes(path: Path) -> bytes | None:
    try:
        if path.stat().st_size > _LARGEST:
            return None
        return read_bytes(path)
    except OSError:
        return None


def _text(path: Path) -> str:
    return (_bytes(path) or b"").decode("utf-8", "replace")


def _goal_file(goal: Goal, view: _View) -> FileFact | None:
    if goal.path is None:
        return None
    data = _bytes(view.root / goal.path)
    digest = hashlib.sha256(data).hexdigest() if data is not None else ""
    text = "" if data is None else data.decode("utf-8", "replace")[:8000]
    return FileFact(goal.path, view.goal_digest or digest, 0, text)


def _with_runs(facts: IntegrityFacts, results: Sequence[CheckResult]) -> IntegrityFacts:
    runs = tuple(
        CheckRunFact(r.check_id, r.passed, _executed(r), r.command)
        for r in results
        if r.is_test_run and r.outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.NO_TESTS)
    )
    executed = tuple((r.check_id, t.name, t.outcome) for r in results for t in r.tests if not _uncollected(t))
    return replace(facts, runs=runs, executed=executed)


def _executed(result: CheckResult) -> int:
    if result.totals is None:
        return 0
    return max(0, result.totals.executed - sum(_uncollected(test) for test in result.tests))


def _uncollected(test: TestCase) -> bool:
    """pytest reports a module that can't be imported as if it were a test: no test of that name is missed later."""
    return test.outcome == "error" and test.message.startswith(COLLECTION)
