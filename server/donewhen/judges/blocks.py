"""The material for a judge, as blocks: check results, diagnostics, the diff, files, observed commands."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from donewhen.core.evidence import (
    CheckResult,
    EditorReport,
    Evidence,
    ObservedCommand,
    ObservedDiff,
    ObservedFile,
    ObservedResponse,
    TestCase,
)
from donewhen.core.globs import any_matches
from donewhen.core.goal import Requirement
from donewhen.judges.excerpts import (
    LONGEST_LINE,
    Block,
    Lines,
    Normaliser,
    Rankings,
    diff_lines,
    mentioned,
    mentions,
    path_score,
    ranked,
    requirement_words,
    words,
)
from donewhen.judges.fencing import label

_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
_NEW = re.compile(r"(diff --git [^\n]*\n)new file mode [^\n]*\n(?:[^@\n][^\n]*\n)*?\+\+\+ b/([^\n]*)\n@@ ")
_FAILURE = re.compile(r"error|fail|assert|traceback|warning", re.IGNORECASE)
MAX_OTHERS = 6
MAX_COMMANDS = 8
"""How many commands are shown in full if the judge can't ask for more; else FEW_COMMANDS that are related to the
question. Every other command gets one line."""
FEW_COMMANDS = 2
MAX_COMMAND_LINES, FEW_COMMAND_LINES = 24, 8
MAX_FAILED = 20
MAX_TESTS = 3_000
MAX_PROBLEMS = 40
LARGEST_FILE = 400_000


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
    wanted = [requirement_words(requirement) for requirement in material.requirements]
    found = [*_result_blocks(material, wanted), *_commands(material, wanted), *_diff(material, wanted)]
    found += _file_blocks(material, wanted)
    return sorted(found, key=lambda block: (min(block.owners), _ORDER.index(block.kind), block.name))


_ORDER = ("check", "editor", "diff", "named", "changed", "command", "other")


def everyone(material: Material) -> frozenset[int]:
    """The indexes of all requirements of the question."""
    return frozenset(range(len(material.requirements)))


def _result_blocks(material: Material, wanted: Sequence[frozenset[str]]) -> Iterator[Block]:
    """Each requirement's own results, and a few results of other checks that are related to these requirements."""
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
                yield _check_block(material, evidence, observation, owners, wanted)
            else:
                others.append((evidence, observation))
        elif isinstance(observation, EditorReport):
            wanting = observation.requirement_id
            owners = frozenset(at for at, one in enumerate(material.requirements) if one.id == wanting)
            if owners:
                yield _editor(material, evidence, observation, owners)
    every = frozenset[str]().union(*wanted)
    others.sort(key=lambda one: (-len(words(one[1].command) & every), one[1].command, one[1].check_id))
    for rank, (evidence, result) in enumerate(others[:MAX_OTHERS]):
        yield replace(_check_block(material, evidence, result, everyone(material), wanted), kind="other", rank=rank)


def _check_block(
    material: Material,
    evidence: Evidence,
    result: CheckResult,
    owners: frozenset[int],
    wanted: Sequence[frozenset[str]],
) -> Block:
    clean = material.normaliser
    head = [f"command: {label(clean.clean_text(result.command), 600)}", f"result: {outcome_text(result)}"]
    if result.totals is not None:
        totals = result.totals
        head.append(f"tests: {totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    if not result.passed and result.reason:
        head.append(f"reason: {label(clean.printed(result.reason))}")
    tests = _test_lines(result, frozenset[str]().union(*(wanted[at] for at in sorted(owners))), clean)
    output = Lines.of(bounded_output(clean.check_output(result))).raw
    body = [*tests, *([f"output, {len(output)} lines:"] if tests and output else []), *output]
    lines = Lines(body)

    def failures() -> list[int]:
        return [at for at, line in enumerate(body) if _FAILURE.search(line[:300])]

    return Block(
        "check", "check result", f"{result.command}\0{result.check_id}", owners, tuple(head), lines, evidence,
        rankings=rankings_of(lines, owners, wanted, failures), head_share=0.2, tail_share=0.4,
    )  # fmt: skip


def outcome_text(result: CheckResult) -> str:
    said = "passed" if result.passed else result.outcome.value.replace("_", " ")
    return f"{said}, exit code {'none' if result.exit_code is None else result.exit_code}"


def _test_lines(result: CheckResult, wanted: frozenset[str], clean: Normaliser) -> list[str]:
    """The tests that failed, and of the others those whose names are related to the requirements."""
    bad = [test for test in result.tests if test.failed]
    good = [test for test in result.tests[:MAX_TESTS] if not test.failed and words(test.name) & wanted]
    good.sort(key=lambda test: (-len(words(test.name) & wanted), test.path or "", test.name))
    lines = [_test(test, clean) for test in bad[:MAX_FAILED]]
    if len(bad) > MAX_FAILED:
        lines.append(f"and {len(bad) - MAX_FAILED} more failed tests")
    return lines + [_test(test, clean) for test in good[:MAX_FAILED]]


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


def _commands(material: Material, wanted: Sequence[frozenset[str]]) -> Iterator[Block]:
    """The commands worth showing in full: those cited before, then the most relevant ones, then the latest."""
    every = frozenset[str]().union(*wanted)
    known = [(one, evidence) for one, evidence in commands_of(material) if evidence.citable(material.revision)]
    scores = {
        evidence.id: (evidence.id not in material.cited, -len(words(one.command) & every)) for one, evidence in known
    }
    ordered = sorted(known, key=lambda one: scores[one[1].id])
    if material.looks:
        ordered = [one for one in ordered if scores[one[1].id] < (True, 0)][:FEW_COMMANDS]
    for rank, (command, evidence) in enumerate(ordered[:MAX_COMMANDS]):
        clean = material.normaliser
        head = [
            f"command: {label(clean.clean_text(command.command), 300)}",
            f"exit code: {'none' if command.exit_code is None else command.exit_code}",
        ]
        output = Lines.of(clean.command_output(command)).raw
        most = FEW_COMMAND_LINES if material.looks else MAX_COMMAND_LINES
        if len(output) > most:
            first = most // 4 if material.looks else most // 2
            last = most - first
            output = [*output[:first], f"[... {len(output) - most} lines cut ...]", *output[-last:]]
        name = f"{command.command}\0{command.exit_code}"
        yield Block(
            "command", "command of the worker, as the server saw it", name, everyone(material),
            tuple(head), Lines(output), evidence, rank=rank, head_share=0.3, tail_share=0.6,
        )  # fmt: skip


def commands_of(material: Material) -> list[tuple[ObservedCommand, Evidence]]:
    """The commands that the server saw the worker run since the last edit, the latest first; if commands are equal,
    only the latest one."""
    latest: dict[tuple[str, int | None], tuple[ObservedCommand, Evidence]] = {}
    for evidence in reversed(material.fresh):
        if isinstance(command := evidence.observation, ObservedCommand):
            latest.setdefault((command.command, command.exit_code), (command, evidence))
    return list(latest.values())


def _diff(material: Material, wanted: Sequence[frozenset[str]]) -> Iterator[Block]:
    if not material.diff.strip():
        return
    kept: list[str] = []
    for part in _FILE.split(material.diff):
        new = _NEW.match(part)
        # The lines of a new file are left out where it is shown as a file.
        kept.append(f"{new[1]}[a new file: its block shows it]\n" if new and new[2] in material.contents else part)
    text = bounded_output(material.normaliser.clean_text("".join(kept)))
    lines = Lines.of(text)
    owners = everyone(material)

    def starts() -> list[int]:
        return [at for at, line in enumerate(lines.raw) if line.startswith(("diff --git", "@@ "))]

    yield Block(
        "diff", "changes since the run began", "", owners, (f"changed files: {len(material.changed)}",), lines,
        ObservedDiff("baseline", material.changed, text),
        rankings=rankings_of(lines, owners, wanted, starts), paths=material.changed,
    )  # fmt: skip


def _file_blocks(material: Material, wanted: Sequence[frozenset[str]]) -> Iterator[Block]:
    changed_lines = diff_lines(material.diff)
    failing = _failing_lines(material)
    places = [_files_of_requirement(material, at, words_of) for at, words_of in enumerate(wanted)]
    for path in sorted(material.contents):
        named = frozenset(at for at, order in enumerate(places) if path in order)
        hot = changed_lines.get(path, frozenset[int]()) | failing.get(path, frozenset[int]())
        if named:
            rank = min(places[at].index(path) for at in named)
        else:
            rank = -max((path_score(path, words_of) for words_of in wanted), default=0) - (2 if hot else 0)
        yield _file(material, path, named, hot, rank, wanted)


def _files_of_requirement(material: Material, at: int, wanted: frozenset[str]) -> list[str]:
    """The files that one requirement names, the most relevant first."""
    requirement = material.requirements[at]
    said = mentioned(requirement)
    found = [path for path in material.contents if any_matches(requirement.files, path) or mentions(said, path)]
    return sorted(found, key=lambda path: (not mentions(said, path), -path_score(path, wanted), path))


def _file(
    material: Material,
    path: str,
    named: frozenset[int],
    hot: frozenset[int],
    rank: int,
    wanted: Sequence[frozenset[str]],
) -> Block:
    content = material.contents[path]
    owners = named or everyone(material)
    digest = hashlib.sha256(content).hexdigest()
    lines, said = file_lines(content, material.normaliser)
    return Block(
        "named" if named else "changed", "file", path, owners,
        (f"path: {label(material.normaliser.clean_text(path))}", f"content: {said}"),
        lines, ObservedFile(path, digest, len(content)), rank=rank,
        rankings=rankings_of(lines, owners, wanted, lambda: sorted(hot)), paths=(path,),
    )  # fmt: skip


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


def _failing_lines(material: Material) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for evidence in material.evidence:
        observation = evidence.observation
        if isinstance(observation, CheckResult | EditorReport):
            for problem in observation.problems:
                found.setdefault(problem.path, set()).add(problem.line)
    return {path: frozenset(lines) for path, lines in found.items()}


def rankings_of(
    lines: Lines, owners: frozenset[int], wanted: Sequence[frozenset[str]], hot: Callable[[], Iterable[int]] = tuple
) -> Callable[[], Rankings]:
    """One ranking for each requirement that the text is for, so that each gets its own windows; made when needed."""
    return lambda: ranked(lines.raw, [wanted[at] for at in sorted(owners)], hot())


# The response itself, if the goal is about it (glossary.md, "Response"): shown as data, head and tail, citable.


CONTINUED = "[continued] "
_WIDTH = LONGEST_LINE - len(CONTINUED) - 8


def response_blocks(material: Material) -> Iterator[Block]:
    """The latest response, as one block; if it is not fresh, it doesn't belong to this turn and is not shown."""
    found = [
        (evidence, evidence.observation)
        for evidence in material.evidence
        if isinstance(evidence.observation, ObservedResponse) and evidence.fresh(material.revision)
    ]
    wanted = [requirement_words(requirement) for requirement in material.requirements]
    for evidence, response in found[-1:]:
        text = bounded_output(material.normaliser.clean_text(response.text))
        whole = Lines.of(text)
        lines = Lines([piece for line in whole.raw for piece in wrapped(line)])
        owners = everyone(material)
        # Responses that differ only in the cut part are different questions: the digest separates their verdicts in a
        # cache.
        said = f"{response.size:,} characters, {len(whole):,} lines" if text.strip() else "empty"
        yield Block(
            "response", "the response itself", "", owners, (f"content: {said}, sha256 {response.digest[:16]}",), lines,
            evidence, rankings=rankings_of(lines, owners, wanted), head_share=0.35, tail_share=0.5,
        )  # fmt: skip


def wrapped(line: str) -> Iterator[str]:
    """Splits a line of prose into pieces that are shown whole; all but the first are marked as a continuation."""
    width = _WIDTH if line.isascii() else _WIDTH // 3
    piece, line = _piece(line, width)
    yield piece
    while line:
        piece, line = _piece(line, width)
        yield f"{CONTINUED}{piece}"


def _piece(line: str, width: int) -> tuple[str, str]:
    """The piece that fits, cut at a space if there is one, and the rest."""
    if len(line) <= width:
        return line, ""
    at = line.rfind(" ", width // 2, width)
    return (line[:at], line[at + 1 :]) if at > 0 else (line[:width], line[width:])
