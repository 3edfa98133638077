"""The material for a judge, as blocks: check results, diagnostics, the diff, files, observed commands."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import TextWrapper
from typing import Literal, get_args

from donewhen.core.evidence import (
    CheckResult,
    EditorReport,
    Evidence,
    Observation,
    ObservedCommand,
    ObservedDiff,
    ObservedFile,
    ObservedResponse,
    TestCase,
)
from donewhen.core.globs import any_matches
from donewhen.core.goal import Requirement
from donewhen.core.words import byte_length
from donewhen.judges.excerpts import LONGEST_LINE, Lines, Normaliser
from donewhen.judges.fencing import label

_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
_NEW = re.compile(r"(diff --git [^\n]*\n)new file mode [^\n]*\n(?:[^@\n][^\n]*\n)*?\+\+\+ b/([^\n]*)\n@@ ")
_FAILURE = re.compile(r"error|fail|assert|traceback", re.IGNORECASE)
_WARNING = re.compile(r"warning", re.IGNORECASE)
MAX_OTHERS = 6
MAX_COMMANDS = 8
"""How many commands are shown in full if the judge can't ask for more; else at most FEW_COMMANDS that
earlier verdicts cited. Every other command gets one line."""
FEW_COMMANDS = 2
MAX_COMMAND_LINES, FEW_COMMAND_LINES = 24, 8
MAX_TESTS = 20
MAX_PROBLEMS = 40
LARGEST_FILE = 400_000


Kind = Literal["response", "check", "editor", "diff", "named", "changed", "command", "other"]
"""The most telling first: what doesn't fit is left out, the last first."""
_ORDER: tuple[Kind, ...] = get_args(Kind)
SMALLEST_BODY = 200
FRAME = 150
_SLACK = 32


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of evidence for a prompt: `head` is shown whole, `lines` as far as the block's share allows, with
    `highlights` among them.

    `owners` are the indexes of the requirements that it is for; `rank` is 0 for the most telling of its kind. `source`
    is recorded evidence, or an observation that is yet to be recorded. `paths` are the files that it shows.
    """

    kind: Kind
    title: str
    name: str
    owners: frozenset[int]
    head: tuple[str, ...]
    lines: Lines
    source: Evidence | Observation
    rank: int = 0
    citable: bool = True
    highlights: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def fixed(self) -> int:
        return FRAME + sum(byte_length(line) + 1 for line in self.head) + 6 * len(self.owners)

    @property
    def least(self) -> int:
        return min(self.lines.need, SMALLEST_BODY)


def allocate(blocks: Sequence[Block], room: int) -> tuple[list[tuple[Block, int]], list[Block]]:
    """The blocks that fit, each with the room for its body, and those that don't. Each requirement has the same share,
    divided evenly among its blocks; what one doesn't need is the others'."""
    telling = sorted(
        range(len(blocks)), key=lambda at: (_ORDER.index(blocks[at].kind), blocks[at].rank, blocks[at].name)
    )
    left = room - sum(one.fixed + one.least for one in blocks)
    dropped: list[Block] = []
    while left < 0 and telling:
        dropped.append(blocks[telling.pop()])
        left += dropped[-1].fixed + dropped[-1].least
    counts = Counter(owner for at in telling for owner in blocks[at].owners)
    weights = {at: sum(1 / counts[owner] for owner in sorted(blocks[at].owners)) for at in telling}
    wanted = {at: max(blocks[at].lines.need + _SLACK - blocks[at].least, 0) for at in telling}
    rooms: dict[int, int] = {}
    whole = sum(weights.values())
    for at in sorted(telling, key=lambda at: wanted[at] / weights[at]):  # who needs least first
        more = min(wanted[at], int(left * weights[at] / whole))
        left, whole = left - more, max(whole - weights[at], 1e-9)
        rooms[at] = blocks[at].least + more
    return [(blocks[at], rooms[at]) for at in sorted(rooms)], dropped


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that was read for one question, so that the prompt can be made from it alone. `contents` are the files
    that may be shown; `files` are all files of the revision. `cited` is the evidence behind earlier verdicts;
    `looks`: the judge can read in full what the prompt shows as one line."""

    requirements: tuple[Requirement, ...]
    revision: str
    evidence: tuple[Evidence, ...]
    files: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    diff: str = ""
    contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    normaliser: Normaliser = field(default_factory=Normaliser)
    cited: frozenset[str] = frozenset()
    looks: bool = False

    @property
    def fresh(self) -> tuple[Evidence, ...]:
        """The evidence that can be cited; the rest is older than the last edit, and is not shown."""
        return tuple(one for one in self.evidence if one.fresh(self.revision))


def blocks_of(material: Material) -> list[Block]:
    """Every block, in an order that doesn't depend on evidence ids: by requirement, kind, command or path."""
    found = [*_result_blocks(material), *_commands(material), *_diff(material), *_file_blocks(material)]
    found.sort(key=lambda block: (min(block.owners), _ORDER.index(block.kind), block.name))
    return [*_responses(material), *found]


def everyone(material: Material) -> frozenset[int]:
    """The indexes of all requirements of the question."""
    return frozenset(range(len(material.requirements)))


def _result_blocks(material: Material) -> Iterator[Block]:
    """Each requirement's own results, and a few results of other checks."""
    others: list[tuple[Evidence, CheckResult]] = []
    for evidence in material.fresh:
        observation = evidence.observation
        if isinstance(observation, CheckResult):
            owners = frozenset(
                at
                for at, requirement in enumerate(material.requirements)
                if any(check.id == observation.check_id for check in requirement.checks)
            )
            if owners:
                yield _check_block(material, evidence, observation, owners)
            else:
                others.append((evidence, observation))
        elif isinstance(observation, EditorReport):
            wanting = observation.requirement_id
            owners = frozenset(at for at, one in enumerate(material.requirements) if one.id == wanting)
            if owners:
                yield _editor(material, evidence, observation, owners)
    others.sort(key=lambda one: (one[1].command, one[1].check_id))
    for rank, (evidence, result) in enumerate(others[:MAX_OTHERS]):
        yield replace(_check_block(material, evidence, result, everyone(material)), kind="other", rank=rank)


def _check_block(material: Material, evidence: Evidence, result: CheckResult, owners: frozenset[int]) -> Block:
    clean = material.normaliser
    head = [*command_head(result.command, f"result: {outcome_text(result)}", clean)]
    if result.totals is not None:
        totals = result.totals
        head.append(f"tests: {totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    if not result.passed and result.reason:
        head.append(f"reason: {label(clean.printed(result.reason))}")
    tests = _test_lines(result, clean)
    output = Lines.of(bounded_output(clean.check_output(result))).raw
    body = [*tests, *([f"output, {len(output)} lines:"] if tests and output else []), *output]
    failures = [at for at, line in enumerate(body) if _FAILURE.search(line[:300])]
    warnings = [at for at, line in enumerate(body) if _WARNING.search(line[:300])]
    name = f"{result.command}\0{result.check_id}"
    return Block(
        "check", "check result", name, owners, tuple(head), Lines(body), evidence, highlights=(*failures, *warnings)
    )


def command_head(command: str, how: str, clean: Normaliser) -> tuple[str, ...]:
    return f"command: {label(clean.clean_text(command), 600)}", how


def outcome_text(result: CheckResult) -> str:
    said = "passed" if result.passed else result.outcome.value.replace("_", " ")
    return f"{said}, exit code {'none' if result.exit_code is None else result.exit_code}"


def _test_lines(result: CheckResult, clean: Normaliser) -> list[str]:
    """The first tests that failed, and the first of the others."""
    bad = [test for test in result.tests if test.failed]
    good = [test for test in result.tests if not test.failed]
    lines = [_test(test, clean) for test in bad[:MAX_TESTS]]
    if len(bad) > MAX_TESTS:
        lines.append(f"and {len(bad) - MAX_TESTS} more failed tests")
    return lines + [_test(test, clean) for test in good[:MAX_TESTS]]


def _test(test: TestCase, clean: Normaliser) -> str:
    where = f" in {clean.clean_text(test.path)}" if test.path else ""
    said = clean.printed(test.message.strip().partition("\n")[0])[:300]
    return f"test {test.outcome}: {clean.printed(test.name)}{where}{f': {said}' if said else ''}".replace("\n", " ")


def _editor(material: Material, evidence: Evidence, report: EditorReport, owners: frozenset[int]) -> Block:
    clean = material.normaliser
    problems = sorted(report.problems, key=lambda p: (p.path, p.line, p.column, p.message))
    lines = [
        f"{clean.clean_text(p.path)}:{p.line + 1}: {p.severity}: {clean.clean_text(p.message)}".replace("\n", " ")
        for p in problems[:MAX_PROBLEMS]
    ]
    if len(problems) > MAX_PROBLEMS:
        lines.append(f"and {len(problems) - MAX_PROBLEMS} more")
    said = f"nothing is known: {clean.clean_text(report.doubt)}" if report.doubt else f"{len(problems)} problems"
    head = (f"result: {said}",)
    citable = evidence.citable(material.revision)
    return Block("editor", "editor diagnostics", "", owners, head, Lines(lines), evidence, citable=citable)


def _commands(material: Material) -> Iterator[Block]:
    """The commands worth showing in full: those cited before; if the judge can't ask for others, also the latest."""
    clean = material.normaliser
    known = [(one, evidence) for one, evidence in commands_of(material) if evidence.citable(material.revision)]
    if material.looks:
        known = [one for one in known if one[1].id in material.cited]
    known.sort(key=lambda one: one[1].id not in material.cited)
    most, most_lines = (FEW_COMMANDS, FEW_COMMAND_LINES) if material.looks else (MAX_COMMANDS, MAX_COMMAND_LINES)
    for rank, (command, evidence) in enumerate(known[:most]):
        code = "none" if command.exit_code is None else command.exit_code
        head = command_head(command.command, f"exit code: {code}", clean)
        output = Lines.of(clean.command_output(command)).raw
        if len(output) > most_lines:
            first = most_lines // 4
            cut = f"[... {len(output) - most_lines} lines cut ...]"
            output = [*output[:first], cut, *output[first - most_lines :]]
        name = f"{command.command}\0{command.exit_code}"
        yield Block(
            "command", "command of the worker, as the server saw it", name, everyone(material), head, Lines(output),
            evidence, rank=rank,
        )  # fmt: skip


def commands_of(material: Material) -> list[tuple[ObservedCommand, Evidence]]:
    """The commands that the server saw the worker run since the last edit, the latest first; if commands are equal,
    only the latest one."""
    latest: dict[tuple[str, int | None], tuple[ObservedCommand, Evidence]] = {}
    for evidence in reversed(material.fresh):
        if isinstance(command := evidence.observation, ObservedCommand):
            latest.setdefault((command.command, command.exit_code), (command, evidence))
    return list(latest.values())


def _diff(material: Material) -> Iterator[Block]:
    if not material.diff.strip():
        return
    kept: list[str] = []
    for part in _FILE.split(material.diff):
        new = _NEW.match(part)
        # The lines of a new file are left out where it is shown as a file.
        kept.append(f"{new[1]}[a new file: its block shows it]\n" if new and new[2] in material.contents else part)
    text = bounded_output(material.normaliser.clean_text("".join(kept)))
    lines = Lines.of(text)
    starts = tuple(at for at, line in enumerate(lines.raw) if line.startswith(("diff --git", "@@ ")))
    yield Block(
        "diff", "changes since the run began", "", everyone(material), (f"changed files: {len(material.changed)}",),
        lines, ObservedDiff("baseline", material.changed, text), highlights=starts, paths=material.changed,
    )  # fmt: skip


def _file_blocks(material: Material) -> Iterator[Block]:
    changed_lines, failing = diff_lines(material.diff), _failing_lines(material)
    places = [files_named_by(requirement, material.contents) for requirement in material.requirements]
    for path, content in material.contents.items():
        named = frozenset(at for at, order in enumerate(places) if path in order)
        highlights = sorted(changed_lines.get(path, set[int]()) | failing.get(path, set[int]()))
        rank = min((places[at].index(path) for at in named), default=0 if highlights else 1)
        lines, said = file_lines(content, material.normaliser)
        head = (f"path: {label(material.normaliser.clean_text(path))}", f"content: {said}")
        yield Block(
            "named" if named else "changed", "file", path, named or everyone(material), head, lines,
            ObservedFile(path, hashlib.sha256(content).hexdigest(), len(content)), rank=rank,
            highlights=tuple(highlights), paths=(path,),
        )  # fmt: skip


_PATH = re.compile(r"[\w./+-]+")


def files_named_by(requirement: Requirement, paths: Iterable[str], changed: Collection[str] = ()) -> list[str]:
    """The files that a requirement names: those that its text mentions before those of its globs, and of each those
    that changed first."""
    said = _PATH.findall("\n".join((requirement.text, *requirement.details)))
    names = frozenset(one for word in said if set("./") & set(one := word.strip(".,:;!?").removeprefix("./")))
    if not names and not requirement.files:
        return []

    def mentioned(path: str) -> bool:
        return path in names or path.rpartition("/")[2] in names

    found = [path for path in paths if mentioned(path) or any_matches(requirement.files, path)]
    return sorted(found, key=lambda path: (not mentioned(path), path not in changed, path))


_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def diff_lines(diff: str) -> Mapping[str, set[int]]:
    """By path, the 0-based lines of the new files that a unified diff adds, or that are next to removed lines."""
    found: dict[str, set[int]] = {}
    path, at, old, new = "", 0, 0, 0
    for line in diff.split("\n"):
        if old > 0 or new > 0:
            if line[:1] in ("+", "-"):
                found.setdefault(path, set()).add(at)
            old -= line[:1] not in ("+", "\\")
            new -= line[:1] not in ("-", "\\")
            at += line[:1] not in ("-", "\\")
        elif line.startswith("+++ "):
            path = line[4:].removeprefix("b/")
        elif match := _HUNK.match(line):
            at, old, new = max(int(match[2]) - 1, 0), int(match[1] or 1), int(match[3] or 1)
    return found


def bounded_output(text: str) -> str:
    """The head and tail of a text that is far too long to be examined."""
    if len(text) <= LARGEST_FILE:
        return text
    half = LARGEST_FILE // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters cut ...]\n{text[-half:]}"


def file_lines(content: bytes, clean: Normaliser, largest: int = LARGEST_FILE) -> tuple[Lines, str]:
    """A file's lines, and a description of it. Beyond `largest` bytes, only head and tail, without line numbers."""
    if b"\0" in content[:8192]:
        return Lines(()), f"binary, {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}"
    if not content:
        return Lines(()), "empty"
    ends = ", CRLF line ends" if b"\r\n" in content else ""
    if len(content) > largest:
        half = largest // 2
        cut = f"\n[... {len(content) - 2 * half:,} bytes cut ...]\n"
        text = content[:half].decode("utf-8", "replace") + cut + content[-half:].decode("utf-8", "replace")
        return Lines.of(clean.clean_text(text)), f"{len(content):,} bytes, too large to be shown whole{ends}"
    lines = Lines.of(clean.clean_text(content.decode("utf-8", "replace")), numbered=True)
    return lines, f"{len(lines)} lines{ends}"


def _failing_lines(material: Material) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = {}
    for evidence in material.evidence:
        observation = evidence.observation
        if isinstance(observation, CheckResult | EditorReport):
            for problem in observation.problems:
                found.setdefault(problem.path, set()).add(problem.line)
    return found


# The response itself, if the goal is about it (glossary.md, "Response"): shown as data, head and tail, citable.


CONTINUED = "[continued] "
_WIDTH = LONGEST_LINE - len(CONTINUED) - 8


def _responses(material: Material) -> Iterator[Block]:
    """The latest response, as one block; if it is not fresh, it doesn't belong to this turn and is not shown."""
    found = [one for one in material.fresh if isinstance(one.observation, ObservedResponse)]
    for evidence in found[-1:]:
        response = evidence.observation
        assert isinstance(response, ObservedResponse)
        text = bounded_output(material.normaliser.clean_text(response.text))
        whole = Lines.of(text)
        lines = Lines([piece for line in whole.raw for piece in wrapped(line)])
        # Responses that differ only in the cut part are different questions: the digest separates their verdicts in a
        # cache.
        said = f"{response.size:,} characters, {len(whole):,} lines" if text.strip() else "empty"
        head = (f"content: {said}, sha256 {response.digest[:16]}",)
        yield Block("response", "the response itself", "", everyone(material), head, lines, evidence)


def wrapped(line: str) -> list[str]:
    """Splits a line of prose into pieces that are shown whole; all but the first are marked as a continuation."""
    width = _WIDTH + len(CONTINUED) if line.isascii() else (_WIDTH + len(CONTINUED)) // 3
    wrapper = TextWrapper(
        width, subsequent_indent=CONTINUED, expand_tabs=False, replace_whitespace=False, break_on_hyphens=False
    )
    return wrapper.wrap(line) or [""]
