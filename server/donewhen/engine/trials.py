"""Trials at the moment of completion: checks in rooms, with the original proof, the old product, a planted failure.

`core.trials` says which trials a check needs and what they show; here the files are divided, the rooms opened, the
checks run side by side, and everything put on record as evidence.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from posixpath import basename, normpath

from donewhen.core.commands.wrapped import segments
from donewhen.core.ecosystems.shell import SHELL
from donewhen.core.errors import OtherRevision, WorkspaceError
from donewhen.core.events import Abandoned, TrialsFinished, TrialsStarted
from donewhen.core.evidence import CheckResult, Outcome, Problem, Trial, TrialKind
from donewhen.core.feedback import MOST_LINES
from donewhen.core.globs import all_folders
from donewhen.core.goal import Check
from donewhen.core.integrity import PROOF_FINDINGS, FindingKind, IntegrityFinding, first_change
from donewhen.core.proof import tried_checks, work_to_try
from donewhen.core.proof_files import (
    ProofFiles,
    checks_files,
    classify,
    has_role,
    holds_tests,
    named_by,
    says_up_to_date,
    targets,
)
from donewhen.core.questions import MAX_DIFF, MAX_DIFFS, finding_diff
from donewhen.core.trials.disguise import Disguised, disguised
from donewhen.core.trials.dividing import Before, Divided, Shown, divided
from donewhen.core.trials.outcome import (
    AtStart,
    CheckGrade,
    Conclusion,
    Planted,
    TrialInput,
    conclude,
    controls,
    leaf,
    passing,
    plan,
    plant,
    plant_in_script,
)
from donewhen.core.trials.untried import (
    LARGEST_SOURCE,
    Special,
    heeded,
    more_suppressed,
    no_longer_checked,
    source_suffix,
    special_cases,
)
from donewhen.engine.active import ActiveRun
from donewhen.engine.judging import opinions
from donewhen.engine.proof_basis import data_of, scripts_of
from donewhen.engine.tasks import side_by_side
from donewhen.engine.turns import keep_tree
from donewhen.ports import Laid, Room, Rooms

_DOCTESTS_IN = ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "pytest.toml")
_NAMED_TEST = re.compile(r"test|spec", re.IGNORECASE)
_INSTALLED = re.compile(r"(?:^|/)(?:\.[^/]+|v?env|node_modules)/")
"""Where programs are installed, which nobody rebuilds."""
MAX_LAID = 200
"""Paths of a trial that are put on record."""
MAX_TESTS_READ = 200
MAX_TEST_READ = 200_000
"""Tests, and bytes of each, that are looked into for values that the product holds too."""
MAX_TOLD = 5
MAX_PLACES = 50
"""Failing tests of a trial that are pointed at one by one."""
_SPECIAL = {
    "asks": "asks whether a test runs",
    "names": "names a test file",
    "copied": "may contain special cases for the tests",
}


async def try_checks(run: ActiveRun) -> None:
    """All trials of the current revision. Cut off, or where files change meanwhile, they don't count."""
    rooms, base = run.parts.setup.rooms, run.state.files.first_checkpoint or await keep_tree(run)
    state = run.state
    finished: TrialsFinished | None = None
    reason = "they were cut off"
    try:
        # Cut off while this is on its way to the record, it is there all the same.
        await run.append(TrialsStarted(state.revision, base or ""))
        if rooms is None:
            finished = _held_out_untried(run, "no room can be opened here")
        elif base is None or (state.options.trials and state.turns_ended and state.files.first_checkpoint is None):
            finished = _held_out_untried(run, "the files of the start could not be kept")
        else:
            finished = await _Trials(run, rooms, base).all()
    except OtherRevision:
        reason = "files changed meanwhile"
    except WorkspaceError as error:
        finished = TrialsFinished(state.revision, (_unreadable(run, error),))
    finally:
        run.set_activity(None)
        if finished is None:
            await run.append(Abandoned("trials", reason))
    if finished is None:
        await run.look("check", everywhere=True)
        return
    await run.append(finished)


def _held_out_untried(run: ActiveRun, why: str) -> TrialsFinished:
    names = run.state.options.hidden_checks
    findings = [_hidden(run, name, "not_tried", f"could not be tried: {why}", "") for name in names]
    return TrialsFinished(run.state.revision, tuple(findings))


def _hidden(run: ActiveRun, name: str, kind: FindingKind, what: str, command: str) -> IntegrityFinding:
    """What is said about a held-out check: its name, never its command."""
    message = _sentence(run.parts.setup.mask(f"“{name}”: a check that is held out from the worker {what}"))
    fact = hashlib.sha256(command.encode()).hexdigest()
    return IntegrityFinding(f"held_out:{name}", kind, run.state.goal.path or "", 0, message, fact)


def _without_command(trial: Trial, name: str) -> Trial:
    """The trial of a held-out check as it goes on record, which a worker outside of a room can read: its name stands
    for the command, and of what it said only whether it passed, when, and how long it took is kept."""
    key, seen, result = f"held_out:{name}", trial.result, None
    if seen is not None:
        outcome = Outcome.PASSED if trial.passed else Outcome.FAILED
        reason = "passed" if trial.passed else "failed"
        result = CheckResult(key, name, outcome, reason, started_at=seen.started_at, seconds=seen.seconds)
    return replace(trial, check_id=key, command=name, result=result, rewritten=())


Contents = Mapping[str, tuple[bytes | None, bytes | None]]
"""What changed files held at the start, or at a person's last word, and what they hold now."""


@dataclass(frozen=True)
class _Tree:
    """What changed since the start, divided. `freed` are the paths whose change the goal wants, `came` the files and
    folders that weren't there, `stood` those that were."""

    changed: tuple[str, ...]
    parts: Mapping[str, Divided]
    freed: frozenset[str]
    contents: Contents
    came: frozenset[str]
    stood: frozenset[str]
    scripts: frozenset[str] = frozenset()
    """What checks run as a proof, by name or by what their words stand for."""
    asking: tuple[Disguised, ...] = ()
    """Sources of the product in which lines that came ask something of their surroundings."""

    @property
    def proof(self) -> tuple[str, ...]:
        return tuple(path for path, one in self.parts.items() if one.proof and path not in self.freed)

    @property
    def free(self) -> tuple[str, ...]:
        return tuple(path for path, one in self.parts.items() if one.proof and path in self.freed)

    def names_what_came(self, command: str) -> bool:
        """True if a command names tests that came, and none that stood there at the start."""
        named = targets(command)
        stood = (
            path for path in named & self.stood if has_role(path, "test", "inline") or has_role(f"{path}/", "test")
        )
        return not named.isdisjoint(self.came) and not any(stood)


def _unreadable(run: ActiveRun, error: WorkspaceError) -> IntegrityFinding:
    """The tree of the start can't be read, so nothing is known about what changed, and a person is asked."""
    message = _sentence(
        run.parts.setup.mask(f"nothing could be tried, because nothing can be compared with the start: {error}")
    )
    return IntegrityFinding("not_tried:", "not_tried", run.state.goal.path or "", 0, message, run.state.revision)


@dataclass(frozen=True)
class _Outcome:
    """The outcome of the trials of a check."""

    check: Check
    found: Conclusion
    trials: Mapping[TrialKind, Trial]
    idle: bool

    @property
    def failing(self) -> list[str]:
        """The files of the tests that fail in the original proof."""
        trial = self.trials.get("original")
        tests = trial.result.tests if trial is not None and trial.result is not None else ()
        return [test.path for test in tests if test.path and test.failed]


class _Trials:
    """One round of trials."""

    def __init__(self, run: ActiveRun, rooms: Rooms, base: str) -> None:
        self._run = run
        self._rooms = rooms
        self._base = base
        self._revision = run.state.revision
        self._places = asyncio.Semaphore(max(1, run.state.options.parallel_checks))
        self._under_way: list[str] = []

    async def all(self) -> TrialsFinished:
        if not work_to_try(self._run.state):
            findings = await self._held_out(_Tree((), {}, frozenset(), {}, frozenset(), frozenset()))
            self._refuse_other()
            return TrialsFinished(self._revision, tuple(findings))
        checks = tried_checks(self._run.state)
        tree, standing_tree = await self._trees(checks)
        trees = [standing_tree if checks_files(check.command) else tree for check in checks]
        pairs = list(zip(checks, trees, strict=True))
        concluded = await side_by_side(self._try_check(check, of) for check, of in pairs)
        self._refuse_other()
        grades: dict[str, CheckGrade] = {one.check.id: one.found.grade for one in concluded}
        findings = [
            self._refusal_finding(one, of) for one, of in zip(concluded, trees, strict=True) if _is_reported(one, of)
        ]
        # Where no bound check runs tests, none of them is doubtful.
        doubtful = tree.parts.values() if any(of is tree for of in trees) else ()
        findings += await self._held_out(tree)
        doubts = [
            self._finding("not_tried", one.path, one.doubt, [one.path], tree, _first_changed_line(one.path, tree))
            for one in doubtful
            if one.doubt and one.path not in tree.freed
        ]
        changed = tuple(path for path, one in tree.parts.items() if one.proof)
        suppressed = await self._suppressed(checks, tree)
        specials = await self._specials(concluded, tree)
        about_proof = [one for one in (*findings, *doubts) if one.kind in PROOF_FINDINGS and tree.proof]
        said = await opinions(self._run, specials, about_proof)
        self._refuse_other()
        special = self._special(specials, said.special, tree)
        found = (*findings, *doubts, *suppressed, *special)
        return TrialsFinished(self._revision, found, grades, changed, said.advice, said.usage)

    # --------------------------------------------------------------------------------- what changed

    async def _trees(self, checks: Sequence[Check]) -> tuple[_Tree, _Tree]:
        """What changed, divided: for checks that run something, and for those that look at files as they stand."""
        workspace, state = self._run.parts.workspace, self._run.state
        changed = tuple(await workspace.changed_between(self._base, None, revision=self._revision))
        present = frozenset(workspace.files())
        commands = [check.command for check in checks]
        scripts = await scripts_of(workspace, checks, present | set(changed), self._base)
        contents: dict[str, tuple[bytes | None, bytes | None]] = {}
        for path in changed:
            before = await self._original(path, present)
            now = await asyncio.to_thread(workspace.read, path) if path in present else None
            if before != now or path not in state.trial.agreed:  # else a person's last word on it is what stands there
                contents[path] = (before, now)
        # By a command, or by the configuration as it was at the start.
        settings = [await workspace.file_at(self._base, path) for path in _DOCTESTS_IN]
        doctests = any("doctest" in one for one in commands) or any(b"doctest" in (text or b"") for text in settings)
        files = ProofFiles.of(state.goal, scripts, doctests=doctests)
        results = [self._run.state.check(check.id).result for check in checks]
        ran = (test.path for result in results if result is not None for test in result.tests)
        files = replace(files, tested=named_by(commands, changed) | {path for path in ran if path})
        was = {path: before for path, (before, _) in contents.items()}
        kept = [path for path, before in was.items() if before is not None and path not in self._run.made_at_start]
        files = replace(files, data=await data_of(workspace, state.goal, kept, present, was))
        standing_files = replace(files, as_they_stand=True)
        came = frozenset(path for path, (before, _) in contents.items() if before is None)
        old = (present | frozenset(changed)) - came
        stood = old | all_folders(old)
        there = (came | (all_folders(came) - stood), stood, present)
        return (
            await asyncio.to_thread(_divided, files, changed, contents, *there),
            await asyncio.to_thread(_divided, standing_files, changed, contents, *there),
        )

    async def _original(self, path: str, present: Collection[str]) -> bytes | None:
        """A file as it was at the start, or at a person's last word."""
        workspace, agreed = self._run.parts.workspace, self._run.state.trial.agreed
        if path in agreed and not agreed[path]:
            return await asyncio.to_thread(workspace.read, path) if path in present else None
        return await workspace.file_at(agreed.get(path) or self._base, path)

    # --------------------------------------------------------------------------------- one check

    async def _try_check(self, check: Check, tree: _Tree) -> _Outcome:
        """The trials of one check, and those that must come before anything is refused."""
        record = self._run.state.check(check.id)
        result, first = record.result, record.tests_at_start
        passed = passing(result)
        # Those that the work made pass first: a runner may have been taught about them.
        telling = sorted(passed, key=lambda name: (first.get(name) == "passed", name))
        planted = await self._plant(result, tree, telling) if result is not None else None
        proof = tree.proof
        additions = bool(proof) and all(tree.parts[path].adds for path in proof)
        stand = TrialInput(
            check.id,
            self._at_start(check, tree, additions),
            proof,
            tree.free,
            additions=additions,
            plantable=planted is not None,
            idle=result is not None and says_up_to_date(result.output),
            unseen=await self._runs_unseen(check),
            asks=bool(tree.asking) and not checks_files(check.command),
            passing=passed,
            first=first,
        )
        trials: dict[TrialKind, Trial] = {}
        wanted = plan(stand)
        for _ in range(3):  # what the controls of a trial show may need one of their own
            done = await side_by_side(self._try(check, kind, tree, planted) for kind in wanted)
            trials.update({trial.tried: trial for trial in done})
            wanted = controls(stand, trials)
            if not wanted:
                break
        return _Outcome(check, conclude(stand, trials), trials, stand.idle)

    async def _runs_unseen(self, check: Check) -> bool:
        """True where make runs a program that lies in the workspace, built or not, and that no revision covers."""
        parts = self._run.parts
        if not any(part.words and part.words[0] in ("make", "gmake") for part in segments(check.command)):
            return False
        started = await parts.setup.probes.started(self._run.state.goal, parts.workspace)
        commands = [part for line in started.get(check.id, ()) for part in segments(line)]
        programs = (part.words[0] for part in commands if part.words)
        inside = {normpath(word) for word in programs if "/" in word and not word.startswith(("/", "~", "$"))}
        hidden = [path for path in inside - set(parts.workspace.files()) if not path.startswith("..")]
        return any(not _INSTALLED.search(path) for path in hidden)

    def _at_start(self, check: Check, tree: _Tree, additions: bool) -> AtStart:
        state = self._run.state
        if check.id in state.goal.outside_checks:
            return "unknown"  # what lies outside may say another thing for reasons of its own: without the work, too
        said = state.check(check.id).at_start
        # However a runner says that what it was told to run isn't there.
        return "silent" if said == "failed" and additions and tree.names_what_came(check.command) else said

    async def _plant(self, result: CheckResult, tree: _Tree, telling: Sequence[str]) -> Planted | None:
        """A failing test beside one that ran, in a file that was there at the start where there is one."""
        if not result.is_test_run:
            return await self._plant_in_script(tree)
        workspace = self._run.parts.workspace
        present = dict.fromkeys(workspace.files())
        ran = [test.path for test in result.tests if test.path and test.outcome != "skipped"]
        others = [path for path in present if has_role(path, "test", "inline")] if not ran else []
        candidates = list(dict.fromkeys(path for path in (*ran, *others) if path in present))
        name = f"case_{self._run.parts.setup.random_hex(4)}"
        # A package's `__init__` or a helper that lies with the tests is run by no runner.
        # A file whose product changed, and whose tests did not, is as good as one that didn't change.
        wrote = frozenset(path for path, one in tree.parts.items() if one.proof or tree.contents[path][0] is None)
        for path in sorted(candidates, key=lambda path: (path in wrote, not _NAMED_TEST.search(basename(path))))[:20]:
            content = await asyncio.to_thread(workspace.read, path)
            if content is None or len(content) > LARGEST_SOURCE:
                continue
            unlikely = path in others and has_role(path, "inline") and not has_role(path, "test")
            if unlikely and not holds_tests(path, content.decode("utf-8", "replace")):
                continue
            planted = await asyncio.to_thread(plant, path, content, name, telling)
            if planted is not None:
                return planted
        return None

    async def _plant_in_script(self, tree: _Tree) -> Planted | None:
        """In a script of the check that sources files which changed: these may have gone deaf."""
        helpers = {
            path: before.decode("utf-8", "replace")
            for path, (before, now) in tree.contents.items()
            if before is not None and now is not None and tree.parts[path].product
        }
        name = f"case_{self._run.parts.setup.random_hex(4)}"
        workspace = self._run.parts.workspace
        for path in sorted(tree.scripts - tree.parts.keys()) if helpers else ():
            content = await asyncio.to_thread(workspace.read, path)
            if source_suffix(path, content) not in SHELL.sources or content is None:
                continue
            planted = plant_in_script(path, content.decode("utf-8", "replace"), name, helpers)
            if planted is not None:
                return planted
        return None

    async def _try(
        self, check: Check, kind: TrialKind, tree: _Tree, planted: Planted | None, held: str | None = None
    ) -> Trial:
        """`held` is the name of a held-out check, and all that goes on record of it besides whether it passes."""
        async with self._places:
            self._refuse_other()
            what = f"`{check.command}`" if held is None else "a held-out check"
            self._under_way.append(what)
            self._show_under_way()
            try:
                return await self._run_trial(check, kind, tree, planted, held)
            finally:
                self._under_way.remove(what)
                self._show_under_way()

    async def _run_trial(
        self, check: Check, kind: TrialKind, tree: _Tree, planted: Planted | None, held: str | None
    ) -> Trial:
        run = self._run
        laid = await self._laid(kind, tree, planted)
        planting = planted if kind in ("planted", "planted_before") else None
        paths = tuple(one.path for one in laid)
        trial = Trial(
            kind,
            check.id,
            check.command,
            None,
            laid=paths[:MAX_LAID],
            laid_total=len(paths),
            plant=planting.name if planting is not None else "",
            taken=planting.taken if planting is not None else (),
        )
        turn = run.state.turns_ended
        try:
            built, naming = kind != "reverted_rebuilt", check.command
            async with self._rooms.open(run.parts.workspace, laid, built=built, naming=naming) as room:
                trial = await self._in_room(room, check, trial, tree)
        except WorkspaceError as error:
            trial = replace(trial, reason=str(error))
        if held is not None:
            trial = _without_command(trial, held)
        await run.look("check")
        await run.record(trial, self._revision, turn=turn, durable=True)
        return trial

    async def _in_room(self, room: Room, check: Check, trial: Trial, tree: _Tree) -> Trial:
        state = self._run.state
        result = await room.checker.run(
            replace(check, command=f"export MAKEFLAGS=B; {check.command}") if trial.tried == "forced" else check,
            timeout=state.goal.limits.check_timeout,
            token=self._run.token,
            test_run=state.check(check.id).is_test_run,
        )
        proof = set(tree.proof)
        covered = set(self._run.parts.workspace.files())
        rewritten = [
            path
            for path in await room.rewritten()
            if path in proof or (path in covered and classify(path).side == "proof")
        ]
        return replace(
            trial, result=result, rewritten=tuple(rewritten)[:MAX_LAID], room=room.kind, same_place=room.same_place
        )

    async def _laid(self, kind: TrialKind, tree: _Tree, planted: Planted | None) -> list[Laid]:
        match kind:
            case "original" | "held_out":
                return [
                    self._as(path, tree.parts[path].original)
                    for path in tree.proof
                    if _differs(tree.parts[path].original)
                ]
            case "reverted" | "reverted_rebuilt":
                return [self._as(path, one.reverted) for path, one in tree.parts.items() if _differs(one.reverted)]
            case "control" | "forced":
                return []
            case "planted":
                return [Laid(planted.path, content=planted.content)] if planted is not None else []
            case "disguised":
                return [Laid(one.path, content=one.content) for one in tree.asking]
            case "planted_before":
                return await self._planted_before(tree, planted)

    async def _planted_before(self, tree: _Tree, planted: Planted | None) -> list[Laid]:
        if planted is not None and planted.helpers:
            laid = [Laid(path, self._base) for path in planted.helpers]
            return [*laid, Laid(planted.path, content=planted.content)]
        laid = {path: Laid(path, self._base) for path in tree.changed}
        if planted is not None:
            was = await self._run.parts.workspace.file_at(self._base, planted.beside)
            before = plant(planted.beside, was, planted.name, planted.taken) if was is not None else None
            if before is not None:
                laid[before.path] = Laid(before.path, content=before.content)
        return list(laid.values())

    def _as(self, path: str, shown: Shown) -> Laid:
        if isinstance(shown, bytes):
            return Laid(path, content=shown)
        return Laid(path, self._run.state.trial.agreed.get(path) or self._base)

    # --------------------------------------------------------------------------------- what is held out

    async def _held_out(self, tree: _Tree) -> list[IntegrityFinding]:
        """What the person's own checks say, which the worker doesn't see: of one that fails it hears the name alone."""
        commands = self._run.parts.setup.hidden_checks()
        names = self._run.state.options.hidden_checks
        found = await side_by_side(self._held(name, commands.get(name), tree) for name in names)
        return [one for one in found if one is not None]

    async def _held(self, name: str, command: str | None, tree: _Tree) -> IntegrityFinding | None:
        if command is None:
            return _hidden(self._run, name, "not_tried", "is no longer in the settings", "")
        check = Check.of(command)
        trial = await self._try(check, "held_out", tree, None, name)
        if not trial.passed and trial.result is not None:
            trial = await self._try(check, "held_out", tree, None, name)  # a failure counts only if it comes twice
        if trial.passed:
            return None
        if trial.result is None:
            return _hidden(self._run, name, "not_tried", f"could not be tried: {trial.reason}", command)
        return _hidden(self._run, name, "held_out_fails", "fails", command)

    # --------------------------------------------------------------------------------- what is told

    def _refusal_finding(self, outcome: _Outcome, tree: _Tree) -> IntegrityFinding:
        """What a person is asked about: the check, the reason, and how its proof changed. It stands at the changed
        file that a failing test is in, if there is one."""
        found, proof = outcome.found, tree.proof
        kind: FindingKind = found.refusal or "not_tried"
        if kind == "special_case":
            return self._told_apart(outcome, tree)
        failing = [path for path in outcome.failing if path in proof]
        path = next(iter((*failing, *proof)), "") or (self._run.state.goal.path or "")
        changed = ". The proof has changed" if proof else ""
        message = found.reason if found.refusal else f"Nothing could be tried: {found.reason}{changed}."
        if kind in ("original_fails", "passes_without_work") and not any(one.product for one in tree.parts.values()):
            message = f"{message.rstrip('.')}. Nothing but the proof was changed"  # as where tests are the work
        finding = self._finding(kind, outcome.check.id, message, proof, tree, _first_changed_line(path, tree))
        places = self._places_of(outcome, tree) if kind == "original_fails" else ()
        return replace(finding, path=path, places=places)

    def _places_of(self, outcome: _Outcome, tree: _Tree) -> tuple[Problem, ...]:
        """The failing tests of the original proof, at the lines of the present files that theirs became."""
        trial = outcome.trials.get("original")
        result = trial.result if trial is not None else None
        if result is None:
            return ()
        said = [
            (test.path, test.line, f"{leaf(test.name)} as it was at the start fails on this code", test.message)
            for test in result.tests
            if test.path and test.line is not None and test.failed
        ] or [(one.path, one.line, "as it was at the start this fails", one.message) for one in result.problems]
        covered, mask = frozenset(self._run.parts.workspace.files()), self._run.parts.setup.mask
        kept = [one for one in dict.fromkeys(said) if one[0] in covered][:MAX_PLACES]
        now = {path: _moves(path, tree) for path in {path for path, *_ in kept}}
        places: list[Problem] = []
        for path, line, what, why in kept:
            first = next((text.strip() for text in why.splitlines() if text.strip()), "")
            told = f"{what}: {first}" if first else what
            places.append(Problem(path, _moved_line(line, now[path]), mask(told), source="trial"))
        return tuple(places)

    def _told_apart(self, outcome: _Outcome, tree: _Tree) -> IntegrityFinding:
        """The product does one thing where it can tell that it is tested, and another elsewhere."""
        asking = [(one.path, line, text) for one in tree.asking for line, text in one.lines]
        paths = list(dict.fromkeys(path for path, _, _ in asking))
        paths = paths or [path for path, one in tree.parts.items() if one.product]
        lines = "; ".join(f"{path}:{line + 1}: {text}" for path, line, text in asking[:MAX_TOLD])
        message = f"{outcome.found.reason}{f'. It asks: {lines}' if lines else ''}"
        line = asking[0][1] if asking else 0
        return self._finding("special_case", outcome.check.id, message, paths, tree, line)

    async def _suppressed(self, checks: Sequence[Check], tree: _Tree) -> list[IntegrityFinding]:
        """What a tool that a check starts passes over since the start: one finding for each file."""
        parts = self._run.parts
        started = await parts.setup.probes.started(self._run.state.goal, parts.workspace)
        tools = heeded(line for check in checks for line in started.get(check.id, (check.command,)))
        came = await asyncio.to_thread(more_suppressed, {path: tree.contents[path] for path in tree.parts}, tools)
        found: list[IntegrityFinding] = []
        failed = any(record.at_start == "failed" for record in self._run.state.checks.values())
        if failed and all(checks_files(check.command) for check in checks):
            # Nothing that is bound would miss them.
            for path in no_longer_checked({path: tree.contents[path] for path in tree.parts}):
                message = f"{path}, which was checked at the start, is gone"
                found.append(self._finding("suppressed", path, message, [path], tree))
        for path in dict.fromkeys(one.path for one in came):
            lines = [one for one in came if one.path == path]
            texts = [one.text for one in lines]
            message = f"more is suppressed than at the start: {', '.join(texts)}"
            finding = self._finding("suppressed", path, message, [path], tree, lines[0].line)
            # Of what is suppressed, not of the file: what was accepted stays so when other lines change.
            found.append(replace(finding, fact=_texts_fact(texts)))
        return found

    async def _specials(self, concluded: Sequence[_Outcome], tree: _Tree) -> tuple[Special, ...]:
        """Lines of the product that came and may be special cases for the tests."""
        workspace = self._run.parts.workspace
        changes = {path: tree.contents[path] for path, one in tree.parts.items() if one.product}
        if not any(one.trials for one in concluded) or not changes:
            return ()
        proof = [path for path in workspace.files() if classify(path).side == "proof"]
        results = [self._run.state.check(one.check.id).result for one in concluded]
        ran = [test.path for run in results if run is not None for test in run.tests if test.path]
        tests = dict.fromkeys((*ran, *(path for path in proof if path in tree.parts), *proof))
        present, texts = frozenset(proof), list[str]()
        for path in [path for path in tests if path in present][:MAX_TESTS_READ]:
            content = await asyncio.to_thread(workspace.read, path)
            texts.append((content or b"")[:MAX_TEST_READ].decode("utf-8", "replace"))
        return await asyncio.to_thread(special_cases, changes, proof, texts)

    def _special(self, specials: Sequence[Special], judged: str, tree: _Tree) -> list[IntegrityFinding]:
        """One finding for what says by itself that it looks at its tests, or for what the judge takes for a special
        case: without one, or with another opinion of its, a value that a test holds too says nothing."""
        plain = [one for one in specials if one.kind != "copied"]
        told = plain or (specials if judged else [])
        if not told:
            return []
        first, lines = told[0], "; ".join(f"{one.path}:{one.line + 1}: {one.text}" for one in told[:MAX_TOLD])
        what = f"code of the product {_SPECIAL[first.kind]}: {lines}"
        message = f"{what}. The judge sees a special case: {judged}" if judged else what
        paths = list(dict.fromkeys(one.path for one in told))
        finding = self._finding("special_case", "", message, paths, tree, first.line)
        return [replace(finding, fact=_texts_fact([one.text for one in told]))]

    def _finding(
        self, kind: FindingKind, of: str, message: str, paths: Sequence[str], tree: _Tree, line: int = 0
    ) -> IntegrityFinding:
        """A finding about these files, with what happened to them; it stands at the first."""
        return IntegrityFinding(
            key=f"{kind}:{of}",
            kind=kind,
            path=next(iter(paths), "") or self._run.state.goal.path or "",
            line=line,
            message=_sentence(self._run.parts.setup.mask(message)),
            fact=_fact(paths, tree),
            diff=self._run.parts.setup.mask(_diffs(paths, tree)),
        )

    # --------------------------------------------------------------------------------- the run

    def _refuse_other(self) -> None:
        if self._run.state.revision != self._revision:
            raise OtherRevision

    def _show_under_way(self) -> None:
        """Of several trials the one that began first: it is the one being waited for."""
        if self._under_way:
            self._run.set_activity(f"trying {self._under_way[0]} in a room")


def _divided(
    files: ProofFiles,
    changed: tuple[str, ...],
    contents: Contents,
    came: frozenset[str],
    stood: frozenset[str],
    present: frozenset[str],
) -> _Tree:
    parts = {path: divided(files, path, before, now, stood, present) for path, (before, now) in contents.items()}
    freed = frozenset(path for path in changed if files.changeable(path))
    asking = disguised({path: contents[path] for path, one in parts.items() if one.product})
    return _Tree(changed, parts, freed, contents, came, stood, files.named, asking)


def _is_reported(outcome: _Outcome, tree: _Tree) -> bool:
    """What refuses is reported; what is inconclusive only where the proof changed, or where the audit ran nothing: else
    the check's own result stands."""
    found = outcome.found
    return found.end == "refused" or (found.end == "inconclusive" and bool(tree.proof or tree.free or outcome.idle))


def _differs(shown: Shown) -> bool:
    return isinstance(shown, bytes | Before)


def _first_changed_line(path: str, tree: _Tree) -> int:
    """Where a changed file is shown to differ."""
    before, now = (content or b"" for content in tree.contents.get(path, (None, None)))
    return first_change(before.decode("utf-8", "replace"), now.decode("utf-8", "replace"))


_Moves = Sequence[tuple[str, int, int, int, int]]


def _moves(path: str, tree: _Tree) -> _Moves:
    """How the lines of a test's original became those of the present file."""
    shown = tree.parts[path].original if path in tree.parts else None
    if shown is None or not _differs(shown):
        return []
    before, now = tree.contents[path]
    old = (shown if isinstance(shown, bytes) else before or b"")[:MAX_TEST_READ].splitlines()
    new = (now or b"")[:MAX_TEST_READ].splitlines()
    return SequenceMatcher(None, old, new).get_opcodes() if max(len(old), len(new)) <= MOST_LINES else []


def _moved_line(line: int, moves: _Moves) -> int:
    """Where a line, 0-based, is now; one that is gone, where it stood."""
    last = max(0, moves[-1][4] - 1) if moves else line
    for _, start, end, there, there_end in moves:
        if start <= line < end:
            return min(there + line - start, max(there, there_end - 1), last)
    return min(line, last)


def _fact(paths: Sequence[str], tree: _Tree) -> str:
    """Identity of the proof as it is now: who accepts it accepts this."""
    whole = hashlib.sha256()
    for path in paths:
        now = tree.contents[path][1]
        whole.update(f"{path}\0{'gone' if now is None else hashlib.sha256(now).hexdigest()}\0".encode())
    return whole.hexdigest()


def _texts_fact(texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _diffs(paths: Sequence[str], tree: _Tree) -> str:
    made: list[str] = []
    left = MAX_DIFFS
    for path in paths:
        before, now = tree.contents[path]
        diff = finding_diff(path, before, now, min(MAX_DIFF, left))
        left -= len(diff)
        made += [diff] if diff else []
    return "\n".join(made)


def _sentence(text: str) -> str:
    """With a capital letter, unless it begins with a path, and a full stop."""
    bare = text.strip()
    begun = bare[:1].upper() + bare[1:] if re.match(r"[a-z]+[ ,:]", bare) else bare
    return begun if begun.endswith((".", "?", "!")) else f"{begun}."
