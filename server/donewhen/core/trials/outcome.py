"""Trials: experiments that say about a proof what reading it can't (docs/architecture.md, "Integrity").

At the moment of completion each check is tried in rooms: the workspace with some files of another version.

- `original`: the proof as it was at the start, or at a person's last word, over the current product. It must pass.
- `reverted`: the current proof over the product as it was at the start. Where the check was red then, it must fail.
- `planted`: a test that must fail beside the others. It must be reported as failed.
- `control`: the current tree. What fails here too says something about the room, not about the work.
- `reverted_rebuilt`: as `reverted`, without what builds left in the workspace, before its pass refuses.
- `planted_before`: the same planted test in the tree as it was at the start, for a plant that wasn't reported.
- `forced`: the current tree, with everything made again, where make ran nothing since all was up to date, or ran a
  program that lies in the workspace and that no revision covers. It must pass.
- `disguised`: the current tree, where what the work asks of its surroundings is answered as outside of a test
  (`disguise.py`). It must pass.
- `held_out`: a check that a person keeps from the worker, over the proof as it was at the start. It must pass.

`plan` says which trials a check needs, `conclude` what they say. Both are pure.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from posixpath import basename, dirname, join
from typing import Literal

from donewhen.core.commands.wrapped import segments, verbs_match
from donewhen.core.ecosystems import ECOSYSTEMS, TOOLS, Plant
from donewhen.core.evidence import CheckResult, Outcome, TestOutcome, Trial, TrialKind
from donewhen.core.globs import any_matches
from donewhen.core.proof_files import says_absent, says_up_to_date
from donewhen.core.words import quoted

TrialEnd = Literal["held", "refused", "inconclusive"]
AtStart = Literal["passed", "failed", "silent", "unknown"]
"""What a check said before the worker's first turn: `silent` where what it names wasn't there at all."""

CheckGrade = Literal["own", "worker", "untried"]
"""What a passing check proves by: the proof as it was agreed on; one that the worker wrote, and that fails without the
work; or nothing that could be tried."""

TRIED: dict[TrialKind, str] = {
    "original": "with the proof as it was at the start",
    "reverted": "without the work",
    "planted": "with a test beside it that must fail",
    "control": "in a room, as it is",
    "reverted_rebuilt": "without the work and without what builds left",
    "planted_before": "as it was at the start, with a test beside it that must fail",
    "forced": "with everything rebuilt",
    "disguised": "with nothing around it that reveals a test",
    "held_out": "held out from the worker, with the proof as it was at the start",
}
"""What was tried, for people: after the command."""

RefusalKind = Literal[
    "original_fails", "passes_without_work", "failure_unreported", "proof_rewritten", "nothing_run", "special_case"
]


@dataclass(frozen=True, slots=True)
class TrialInput:
    """Where a check stands before its trials.

    `changed` are the proof files that differ from the original, without those that the goal lets change, `free` those
    alone. `additions` says that all of `changed` only added something: new files, new targets. `plantable`: it is a
    test run, and there is a file that a failing test can be put into. `idle`: its pass says that something was up to
    date and not run, `unseen` that make ran a program of the workspace that no revision covers. `asks`: lines of the
    product that came ask something of their surroundings. `passing` are the tests that passed in the audit, `first`
    says how each test ended at the start, `green` are those that passed then.
    """

    check_id: str
    at_start: AtStart
    changed: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    additions: bool = False
    plantable: bool = False
    idle: bool = False
    unseen: bool = False
    asks: bool = False
    passing: frozenset[str] = frozenset()
    first: Mapping[str, TestOutcome] = field(default_factory=dict[str, TestOutcome])

    @property
    def green(self) -> frozenset[str]:
        return frozenset(name for name, outcome in self.first.items() if outcome == "passed")

    @property
    def red(self) -> bool:
        return self.at_start in ("failed", "silent")

    @property
    def original_says_something(self) -> bool:
        return bool(self.changed) and not (self.at_start == "silent" and self.additions)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What the trials of a check say together. `refusal` is set where `end` is `refused`; `reason` is for people."""

    end: TrialEnd
    grade: CheckGrade
    refusal: RefusalKind | None = None
    reason: str = ""


def said_at_start(result: CheckResult) -> AtStart:
    """What a check said, by its result from before the worker's first turn."""
    if result.passed:
        return "passed"
    return "silent" if has_nothing_to_run(result) else "failed"


def passing(result: CheckResult | None) -> frozenset[str]:
    """The names of the tests that passed."""
    tests = result.tests if result is not None else ()
    return frozenset(test.name for test in tests if test.outcome == "passed")


def has_nothing_to_run(result: CheckResult) -> bool:
    """True if a check that did not pass says nothing about the product: what it names isn't there."""
    if result.passed or (result.totals is not None and result.totals.executed):
        return False
    if result.outcome in (Outcome.NO_TESTS, Outcome.NOT_INSTALLED, Outcome.NOT_RUN):
        return True
    return not any(test.failed for test in result.tests) and says_absent(result.output)


def plan(stand: TrialInput) -> tuple[TrialKind, ...]:
    """The trials that a check needs at once. Without a changed proof, the audit was the original's trial, and what the
    check said at the start the reverted one's."""
    kinds: list[TrialKind] = []
    if stand.original_says_something:
        kinds.append("original")
    if stand.red and (stand.changed or stand.free):
        kinds.append("reverted")
        if "original" not in kinds:
            kinds.append("control")
    if stand.plantable:
        kinds.append("planted")
    if stand.idle or (stand.unseen and stand.red):
        kinds.append("forced")
    if stand.asks and stand.red:
        kinds.append("disguised")
    return tuple(kinds)


def controls(stand: TrialInput, trials: Mapping[TrialKind, Trial]) -> tuple[TrialKind, ...]:
    """What must be tried besides before anything is refused: the control, and whatever failed once more."""
    wanted: list[TrialKind] = []
    original, planted = trials.get("original"), trials.get("planted")
    if (
        original is not None
        and (not _original_passes(stand, original) or original.rewritten)
        and "control" not in trials
    ):
        wanted.append("control")
        if not _original_passes(stand, original) and original.result is not None:
            wanted.append("original")
        if _silent(stand, original) and "reverted" not in trials:
            wanted.append("reverted")
    reverted = trials.get("reverted")
    if reverted is not None and reverted.passed and reverted.same_place and "reverted_rebuilt" not in trials:
        wanted.append("reverted_rebuilt")
    if planted is not None and planted.result is not None and not (reported(planted) and not unreported(planted)):
        wanted.append("planted_before")
    if planted is not None and broken(stand, planted) and "control" not in trials:
        wanted.extend(("control", "planted_before"))
    disguised = trials.get("disguised")
    if disguised is not None and disguised.result is not None and not disguised.passed and "control" not in trials:
        wanted.extend(("control", "disguised"))
    return tuple(kind for kind in dict.fromkeys(wanted) if kind != "planted_before" or kind not in trials)


def reported(trial: Trial) -> bool:
    """True if the planted test was reported as failed, by its name."""
    result = trial.result
    if result is None or result.passed or not trial.plant:
        return False
    named = [test for test in result.tests if trial.plant in test.name.casefold()]
    if named:
        return any(test.failed for test in named)
    if any(leaf(test.name) in trial.taken for test in result.tests):
        return False  # what was printed is told of those tests
    return trial.plant in result.output.casefold()


def unreported(trial: Trial) -> list[str]:
    """The tests that had to fail under their own names, ran, and were reported as anything but failed. A runner that
    names no test that passed says by its silence that one did."""
    if trial.result is None:
        return []
    outcomes: dict[str, set[str]] = {}
    for test in trial.result.tests:
        outcomes.setdefault(leaf(test.name), set()).add(test.outcome)
    silent = all("passed" not in each for each in outcomes.values())
    said = trial.result.output if silent else ""
    return [
        name
        for name in trial.taken
        if outcomes.get(name) == {"passed"}
        or (silent and name not in outcomes and not re.search(rf"\b{re.escape(name)}\b", said))
    ]


def broken(stand: TrialInput, trial: Trial) -> list[str]:
    """The tests that passed in the audit, and fail in this room for reasons of their own."""
    if trial.result is None:
        return []
    failed = {
        test.name
        for test in trial.result.tests
        if test.failed
        and not (trial.plant and (trial.plant in test.message or (not test.message and leaf(test.name) in trial.taken)))
    }
    return sorted((failed - passing(trial.result)) & stand.passing)


def conclude(stand: TrialInput, trials: Mapping[TrialKind, Trial]) -> Conclusion:
    """What the trials say. A refusal needs a control that passed in the same kind of room."""
    if (forced := _forced(stand, trials)) is not None:
        return forced
    planted, proof = _planted(stand, trials), _proof(stand, trials)
    if planted is not None and proof.end != "refused":
        return planted
    if proof.end != "refused" and (special := _disguised(trials)) is not None:
        return special
    return proof


def _proof(stand: TrialInput, trials: Mapping[TrialKind, Trial]) -> Conclusion:
    if not stand.changed and not (stand.free and stand.red):
        return Conclusion("held", "own")
    first = _original(stand, trials)
    if first is not None and first.end != "held":
        return first
    if first is not None and not stand.red:
        return first
    second = _reverted(trials, sound=first is not None)
    if second.end == "refused" or first is None:
        return second
    return first


def _original(stand: TrialInput, trials: Mapping[TrialKind, Trial]) -> Conclusion | None:
    """None if the original proof says nothing about the work: it has nothing that the check names."""
    if not stand.original_says_something:
        return None
    trial, control = trials.get("original"), trials.get("control")
    if trial is None or trial.result is None:
        return _untried(trial)
    if _original_passes(stand, trial) and not trial.rewritten:
        return Conclusion("held", "own")
    if _silent(stand, trial):
        return None
    if control is None or not control.passed:
        return Conclusion("inconclusive", "untried", reason=_room_at_fault(trial, control))
    if trial.rewritten:
        if set(trial.rewritten) <= set(control.rewritten):
            reason = f"the check itself writes {quoted(trial.rewritten)} when it runs"
            return Conclusion("inconclusive", "untried", reason=reason)
        reason = f"{quoted(trial.rewritten)} was written by the code under test while `{trial.command}` ran"
        return Conclusion("refused", "untried", "proof_rewritten", reason)
    what = quoted(_failed(trial.result)) or f"`{trial.command}`"
    verb = "fails" if len(_failed(trial.result)) < 2 else "fail"
    reason = f"{what} as it was at the start {verb} on this code: {trial.result.reason}"
    return Conclusion("refused", "untried", "original_fails", reason)


def _original_passes(stand: TrialInput, trial: Trial) -> bool:
    """Also where all that fails are tests that the original proof expected to fail, and that pass now.

    The message alone says nothing, since the product may write it: such a test was skipped or failed as expected at the
    start, so that the original proof held without its pass. All tests of the start must be named again, or one that
    ended the run at its first failure hides the rest; and the command must be the runner alone, since what follows it
    did not run.
    """
    result = trial.result
    if trial.passed or result is None or result.outcome is not Outcome.FAILED or _UNCOVERED.search(result.output):
        return trial.passed
    parts = segments(result.command)
    said = [
        tool.unexpected
        for tool in TOOLS
        if tool.unexpected and len(parts) == 1 and any(verbs_match(parts[0].tool, (one,)) for one in tool.commands)
    ]
    failed = [test for test in result.tests if test.failed]
    return (
        bool(said and failed and result.totals is not None and result.totals.failed == len(failed))
        and stand.first.keys() <= {test.name for test in result.tests}
        and all(stand.first.get(test.name) == "skipped" and re.match(said[0], test.message) for test in failed)
    )


_UNCOVERED = re.compile(r"(?im)^.*\bcoverage\b.*(?:fail|not reached|less than).*$")
"""A failure that no test stands for."""


def _silent(stand: TrialInput, original: Trial) -> bool:
    """The original has nothing of what the check names, and nothing of it was changed: only the new proof can tell."""
    return stand.additions and original.result is not None and has_nothing_to_run(original.result)


def _reverted(trials: Mapping[TrialKind, Trial], *, sound: bool) -> Conclusion:
    """`sound`: the original passed in a room, so a failure here is not the room's fault."""
    trial, control = trials.get("reverted"), trials.get("control")
    if trial is None or trial.result is None:
        return _untried(trial)
    if trial.passed:
        if not trial.same_place:
            reason = (
                f"`{trial.command}` passes in a copy without the work, which may have used what is installed from here"
            )
            return Conclusion("inconclusive", "untried", reason=reason)
        rebuilt = trials.get("reverted_rebuilt")
        if rebuilt is None or not rebuilt.passed:
            reason = f"`{trial.command}` passes without the work, but not without what builds left in the workspace"
            return Conclusion("inconclusive", "untried", reason=reason)
        reason = f"`{trial.command}` passes without the work: with the product as it was at the start"
        return Conclusion("refused", "untried", "passes_without_work", reason)
    if not sound and (control is None or not control.passed):
        return Conclusion("inconclusive", "untried", reason=_room_at_fault(trial, control))
    return Conclusion("held", "worker")


def _planted(stand: TrialInput, trials: Mapping[TrialKind, Trial]) -> Conclusion | None:
    """The refusal; None if nothing was planted, it was reported, or nothing follows from it (`unplanted`)."""
    trial, before = trials.get("planted"), trials.get("planted_before")
    if trial is None or unplanted(trials):
        return None
    if reported(trial) and (unheard := unreported(trial)):
        if before is None or set(unheard) & set(unreported(before)):
            return None
        what = f"{quoted(unheard)} passed where it had to fail"
        return Conclusion("refused", "untried", "failure_unreported", f"{what}, while other failures were reported")
    if reported(trial):
        return _elsewhere(stand, trial, trials)
    reason = f"a test that must fail was put beside those of `{trial.command}`, and was not reported as failed"
    return Conclusion("refused", "untried", "failure_unreported", f"{reason}; at the start it was")


def unplanted(trials: Mapping[TrialKind, Trial]) -> str:
    """Why nothing follows from the planted test of a check, for people; empty if something does, or there was none."""
    trial, before = trials.get("planted"), trials.get("planted_before")
    if trial is None or reported(trial):
        return ""
    if trial.result is None:
        return trial.reason or "it was not tried"
    if before is None or before.result is None:
        why = f": {before.reason}" if before is not None and before.reason else ""
        return f"the same could not be tried with the tree as it was at the start{why}"
    if not reported(before):
        return f"`{trial.command}` does not run a test that is put beside its own"
    return ""


def _elsewhere(stand: TrialInput, trial: Trial, trials: Mapping[TrialKind, Trial]) -> Conclusion | None:
    """Where tests that the work made pass do so here alone, and rooms are not at fault: tests that passed at the start
    pass in rooms, too."""
    control = trials.get("control")
    failing = broken(stand, trial)
    if not failing or not stand.red or control is None or control.result is None or control.passed:
        return None
    before = trials.get("planted_before")
    if set(failing) & stand.green or (before is not None and set(broken(stand, before)) & stand.green):
        return None
    verb = "passes" if len(failing) == 1 else "pass"
    reason = f"{quoted(failing)} {verb} in the workspace, but not in a room with the same files"
    return Conclusion("refused", "untried", "special_case", f"{reason}: {control.result.reason}")


def _disguised(trials: Mapping[TrialKind, Trial]) -> Conclusion | None:
    """None unless the check passes in a room, and not where nothing tells of a test."""
    trial, control = trials.get("disguised"), trials.get("control")
    if trial is None or trial.result is None or trial.passed or control is None or not control.passed:
        return None
    reason = f"`{trial.command}` passes only while the code can tell that it is being tested: {trial.result.reason}"
    return Conclusion("refused", "untried", "special_case", reason)


def _forced(stand: TrialInput, trials: Mapping[TrialKind, Trial]) -> Conclusion | None:
    """None if it passes when nothing counts as up to date. One that runs nothing even then, and ran nothing at the
    start either, is as the person wrote it."""
    trial = trials.get("forced")
    if not stand.idle:
        if not stand.unseen or trial is None or trial.result is None or trial.passed:
            return None
        reason = f"`{trial.command}` runs a program as it lies in the workspace, and fails when it is rebuilt"
        return Conclusion("refused", "untried", "nothing_run", f"{reason}: {trial.result.reason}")
    if trial is None or trial.result is None:
        return _untried(trial)
    if trial.passed and (stand.at_start == "passed" or not says_up_to_date(trial.result.output)):
        return None
    what = (
        "runs nothing when everything is rebuilt, either"
        if trial.passed
        else (f"fails when it is: {trial.result.reason}")
    )
    reason = f"`{trial.command}` ran nothing, because what it makes is up to date, and {what}"
    return Conclusion("refused", "untried", "nothing_run", reason)


def _untried(trial: Trial | None) -> Conclusion:
    reason = trial.reason if trial is not None and trial.reason else "it was not tried"
    return Conclusion("inconclusive", "untried", reason=reason)


def _room_at_fault(trial: Trial, control: Trial | None) -> str:
    why = control.result.reason if control is not None and control.result is not None else "there is no control run"
    return f"`{trial.command}` does not pass in a room even with the current files ({why})"


def _failed(result: CheckResult) -> list[str]:
    return [test.name for test in result.tests if test.failed]


# Plants a test that must fail beside others (`ecosystem.Plant`).


@dataclass(frozen=True, slots=True)
class Planted:
    """A file with a failing test called `name` (its case may differ): the file `beside` with the test at its end, or a
    new one in the same folder. `taken` are names of its own tests that fail there too. Where it is a script that
    sources some `helpers`, these alone are as they were when it is said whether it failed at the start."""

    path: str
    content: bytes
    name: str
    beside: str
    taken: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()


MAX_TAKEN = 20


def plant(path: str, content: bytes, name: str, passing: Collection[str] = ()) -> Planted | None:
    """A failing test beside those of a file; None if no table says how. `name` is an identifier in small letters,
    `passing` the names of tests that pass now, as their runner tells them, the most telling ones first."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    for ecosystem in ECOSYSTEMS:
        for one in ecosystem.plants:
            if any_matches(one.files, path) and all(re.search(mark, text) for mark in one.marks):
                if one.expects:
                    text, taken = _falsified(one, text, name, passing)
                else:
                    taken = _test_names_in_file(one.names, text, passing) if "{taken}" in one.append else []
                names = {"name": name, "Name": name.capitalize(), "taken": json.dumps(taken)}
                added = one.append.format(**names)
                if one.beside:
                    package = re.match(r"\s*package\s+[\w.]+;", text)
                    head = f"{package[0].strip()}\n" if package else ""
                    beside = join(dirname(path), one.beside.format(**names))
                    return Planted(beside, f"{head}{added}".encode(), name, path)
                whole = f"{text}{'' if text.endswith(chr(10)) else chr(10)}{added}"
                return Planted(path, whole.encode(), name, path, tuple(taken))
    return None


def plant_in_script(path: str, text: str, name: str, helpers: Mapping[str, str]) -> Planted | None:
    """A script of a shell in which whatever it hands to functions of the files that it sources, to be compared with
    what a program prints, is something else: it must fail, and says its name then. `helpers` are those files as they
    were. None where it sources none of them, or hands them nothing that stands in the script."""
    sourced = {one: was for one, was in helpers.items() if basename(one) in " ".join(_SOURCED.findall(text))}
    functions = "|".join({re.escape(found) for was in sourced.values() for found in _FUNCTION.findall(was)})
    if not functions:
        return None
    calls = re.compile(rf"(?:^|[;&|]|\b(?:do|then|if|!))\s*(?:{functions})\s")
    lines = [_with_another_value(line, name) if calls.search(line) else line for line in text.splitlines(keepends=True)]
    if "".join(lines) == text:
        return None
    first = 1 if text.startswith("#!") else 0
    lines.insert(first, f"trap '[ $? = 0 ] || echo {name}' EXIT\n")
    return Planted(path, "".join(lines).encode(), name, path, helpers=tuple(sourced))


_SOURCED = re.compile(r"(?m)^\s*(?:\.|source)\s+(\S.*)$")
_FUNCTION = re.compile(r"(?m)^\s*(?:function\s+)?(\w+)\s*\(\)")
_PRINTED = re.compile(r"\"?\$\((?:[^()]|\([^()]*\))*\)\"?")
_VALUE = re.compile(r"""(?<=\s)(?:'[^'\n]+'|"[^"$`\n]+"|[A-Za-z0-9][^\s"'$`;&|()\[\]]*)(?=[\s;)]|$)""")


def _with_another_value(line: str, name: str) -> str:
    """Another value in the place of the one beside what a program prints: the first after it, or the last before it."""
    printed = _PRINTED.search(line)
    if printed is None:
        return line
    command = re.match(r"\s*\S+\s", line)
    before = [*_VALUE.finditer(line, command.end() - 1 if command is not None else 0, printed.start())][-1:]
    value = _VALUE.search(line, printed.end()) or next(iter(before), None)
    return line if value is None else f"{line[: value.start()]}{name}{line[value.end() :]}"


def _test_names_in_file(pattern: str, text: str, passing: Collection[str]) -> list[str]:
    """Names that stand once in the file, and each for one test that passes."""
    if not pattern:
        return []
    there = Counter(match["name"] for match in re.finditer(pattern, text))
    alone: dict[str, set[str]] = {}
    for whole in passing:
        alone.setdefault(leaf(whole), set()).add(_BRACKETS.sub("", whole))
    return [name for name, owners in alone.items() if there[name] == 1 and len(owners) == 1][:MAX_TAKEN]


def _falsified(one: Plant, text: str, name: str, passing: Collection[str]) -> tuple[str, list[str]]:
    """The text with another value in the first expectation of each test, and the names of these tests. Not every runner
    names the tests that pass: then all of the file are meant."""
    known = set(_test_names_in_file(one.names, text, passing))
    starts = list(re.finditer(one.names, text))
    made, taken = [text[: starts[0].start()] if starts else text], list[str]()
    for at, match in enumerate(starts):
        body = text[match.start() : starts[at + 1].start() if at + 1 < len(starts) else len(text)]
        other = re.sub(one.expects, rf"\g<1>\g<2>{name}", body, count=1)
        if other != body and len(taken) < MAX_TAKEN and (match["name"] in known or not passing):
            taken.append(match["name"])
            body = other
        made.append(body)
    return "".join(made), taken


def leaf(name: str) -> str:
    """The own name of a test, without its file, class, suites and parameters."""
    return re.split(r"::|\.(?=\w+$)|\s[>›]\s", _BRACKETS.sub("", name))[-1]


_BRACKETS = re.compile(r"\[.*\]$", re.DOTALL)
