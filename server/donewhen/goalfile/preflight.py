"""What can be said about a goal without a model: requirements that nothing can judge, checks that can't fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from donewhen.goalfile.source import FileProblem, ParsedGoalFile, RequirementSource

_CODE = re.compile(r"`[^`]+`")
_NUMBER = re.compile(r"\d")
_WORD = re.compile(r"\w+")

_VAGUE = (
    (r"\b(?:works?|behaves?|runs?|functions?)\s+(?:well|fine|properly|correctly|nicely|smoothly|reliably|great|"
     r"as\s+(?:expected|intended|it\s+should))\b", "say what it does for which input"),
    (r"\b(?:is|are|be|runs?|loads?|feels?)\s+(?:very\s+|really\s+)?(?:fast|faster|quick|performant|efficient|slow|"
     r"responsive|snappy|scalable)\b", "give a number and how it is measured, such as `p95 below 50 ms`"),
    (r"\b(?:clean|good|nice|beautiful|elegant|readable|maintainable|high[\s-]quality|production[\s-]ready)\s+"
     r"(?:code|quality|design|architecture|tests?|ui|ux)\b|\bcode\s+is\s+(?:clean|good|nice|readable|maintainable)\b",
     "name the linter, the type checker or the rule that decides"),
    (r"\b(?:user[\s-]friendly|intuitive|easy\s+to\s+(?:use|read|understand)|looks?\s+(?:good|nice|great)|"
     r"seamless(?:ly)?|modern)\b", "say what a person can do or see"),
    (r"\b(?:robust(?:ly)?|gracefully|properly|appropriate(?:ly)?|adequate(?:ly)?|reasonabl[ey]|sufficient(?:ly)?|"
     r"correctly\s+handled|handles?\s+errors)\b", "name the cases and what happens in each"),
    (r"\b(?:best\s+practices?|state[\s-]of[\s-]the[\s-]art|industry\s+standards?)\b", "name the rule that is meant"),
    (r"\b(?:etc|and\s+so\s+on|and\s+more|as\s+needed|if\s+necessary|where\s+appropriate|various|tbd|todo)\b|\.\.\.$|…$",
     "list all that is meant"),
    (r"\b(?:improved?|better|enhanced?|optimi[sz]ed?|cleaned\s+up|refactored|polished)\b",
     "say what will be true afterwards"),
)  # fmt: skip
_VAGUE_RULES = tuple((re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in _VAGUE)

_MASKS = (
    (re.compile(r"(?:\|\||;)\s*(?:true|:|exit\s+0)\s*$"), "its end hides the exit code, so that it can't fail"),
    (
        re.compile(r"(?<!\|)\|(?!\|)\s*(?:tee|cat|head|tail|less)\b"),
        "the pipe hides the exit code before it",
    ),
    (
        re.compile(r"\s--(?:exit-zero|passWithNoTests|pass-with-no-tests)\b"),
        "the option lets it pass where it shouldn't",
    ),
    (re.compile(r"\s--(?:collect-only|co)\b"), "it only lists the tests and runs none"),
    (re.compile(r"^\s*#"), "it is only a comment, which runs nothing"),
    (re.compile(r"\s--(?:version|help)\s*$"), "it proves nothing but that the program is installed"),
)
_ALMOST_SOLE = re.compile(
    r"(?:check\s*:\s*)?`[^`]+`\s+(?:(?:should|must|shall|will|to|still|always)\s+)?"
    r"(?:pass(?:es)?|succeeds?|works?|runs?|(?:is|be)\s+(?:clean|green)|exits?|returns?\s+0)\b|check\s*:\s*`",
    re.IGNORECASE,
)
_ALMOST_EDITOR = re.compile(
    r"\bproblems\s+(?:panel|view|pane|tab)\b|\bno\s+(?:problems?|errors?|warnings?)\b.*\bin\s+(?:problems\b|`?\S*\*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class GoalHint:
    """A possible improvement of a requirement, or of the goal if none is named. `line` is 0-based."""

    requirement_id: str | None
    number: int | None
    message: str
    line: int


def hints_of(parsed: ParsedGoalFile) -> tuple[GoalHint, ...]:
    """Hints, before a run, on a goal file that can be used; errors are reported elsewhere."""
    found: list[GoalHint] = []
    for problem in parsed.problems:
        if problem.severity != "error":
            line = problem.span.start_line
            source = parsed.requirement_at(line)
            named = (source.id, source.number) if source is not None else (None, None)
            found.append(GoalHint(*named, problem.message, line))
    return tuple(found)


def preflight(requirements: Sequence[RequirementSource]) -> tuple[FileProblem, ...]:
    """Hints for requirements that are vague or unjudgeable, warnings for checks that can't fail."""
    return tuple(problem for source in requirements for problem in _about(source, requirements))


def _about(source: RequirementSource, all_of_them: Sequence[RequirementSource]) -> Iterator[FileProblem]:
    for command in source.commands:
        why = next((why for mask, why in _MASKS if mask.search(command.text)), None)
        if why is not None:
            yield FileProblem(command.span, "warning", "exit-masked", f"this check proves little: {why}")
    # Ids of repeated texts end with a number: r-DIGEST-2.
    if source.id.count("-") > 1:
        plain = source.id.rsplit("-", 1)[0]
        first = next(other for other in all_of_them if other.id == plain)
        message = f"the same as {first.requirement.label}: remove one, or say how they differ"
        yield FileProblem(source.text_span, "hint", "duplicate-requirement", message)
    if source.requirement.checks:
        return  # a check decides: words are only its label
    for rule, code in _RULES.items():
        if message := rule(source):
            severity = "warning" if rule is _almost_sole else "hint"
            yield FileProblem(source.text_span, severity, code, message)
            return  # one hint per requirement: the first one helps most


def _almost_sole(source: RequirementSource) -> str | None:
    if _ALMOST_SOLE.match(source.requirement.text):
        return "no command decides this: write just `COMMAND` passes, or bind it with a nested `check:` line"
    return None


def _almost_editor(source: RequirementSource) -> str | None:
    if not source.requirement.problems and _ALMOST_EDITOR.search(source.requirement.text):
        return "the editor's diagnostics don't decide this: write just No errors in Problems, or name the files with a nested `problems:` line; errors count, warnings don't"  # noqa: E501  # one sentence for people
    return None


def _vague(source: RequirementSource) -> str | None:
    plain = _CODE.sub("", source.requirement.text)
    for pattern, advice in _VAGUE_RULES:
        found = pattern.search(plain)
        if found and not _NUMBER.search(plain):
            return f"“{found[0]}” is hard to prove: {advice}, or bind a `check:`"
    return None


def _too_short(source: RequirementSource) -> str | None:
    text = source.requirement.text
    # Words can be counted only if spaces separate them.
    if text.isascii() and len(_WORD.findall(text)) < 3 and not _CODE.search(text):
        return "too short to be proven: write a sentence that is either true or false"
    return None


def _without_evidence(source: RequirementSource) -> str | None:
    requirement = source.requirement
    if requirement.files or requirement.problems or _CODE.search(requirement.text):
        return None
    if source.checkbox is None:
        return "without a task list the objective itself is the one requirement: `- [ ] …` lines make it provable"
    return "names neither a check nor a file: a nested `check:` or `file:` line makes it provable"


_RULES: dict[Callable[[RequirementSource], str | None], str] = {
    _almost_sole: "almost-check", _almost_editor: "almost-problems", _vague: "vague", _too_short: "too-short",
    _without_evidence: "no-evidence",
}  # fmt: skip
"""What is said of words that nothing may prove, each with its code, the most helpful first."""
