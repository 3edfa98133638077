"""Looks for text that addresses the judge wherever the judge may come across it: in the files that requirements
name and those that changed, in their names, in tests' names and messages, and in what checks and commands printed.

Nothing here decides a verdict, nor protects one: what is found is shown, and blocks until it is gone or a person
accepts it. What a judge is shown is fenced whether or not anything was found (`judges/fencing.py`). So a few general
rules will do (docs/explanation/evidence.md has what each of them catches).

What is read is bounded, and kept by its content: an unchanged workspace is read once.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from donewhen.core.confusables import looks_like, visible
from donewhen.core.evidence import CheckResult, ObservedCommand
from donewhen.core.goal import Goal
from donewhen.core.integrity import STOOD_THERE, AddressingFact
from donewhen.core.words import shortened
from donewhen.ports import Workspace
from donewhen.regular import read_bytes


def _phrases(*ways: str) -> re.Pattern[str]:
    """Ways to say something, in lower-case ASCII; a space is whatever may stand between two words of a sentence, such
    as the mark of a comment that goes on in the next line. It holds nothing of a word in any script: what can be read
    in many ways takes forever."""
    return re.compile("|".join(ways).replace(" ", r"[^\w.!?\"{}\[\]=]{1,12}"))


_JUDGE = (
    r"(?:(?:ai|llm|automated|independent|strict|code) ){0,2}(?:judges?|graders?|reviewers?|evaluators?|auditors?"
    r"|assessors?|verifiers?|examiners?|llms?|ai|gpt|claude|(?:language|ai) models?)\b"
)
_IGNORE = (
    r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass"
    r"|(?:do not|don.?t|never|stop|no longer) (?:follow|obey|heed)(?:ing)?)"
)
_EARLIER = r"(?:previous|prior|above|earlier|preceding|system|original|initial|your|existing)"
_ALL = r"(?: (?:all|any|every|everything|each|of|in|from|the|these|those|and|other|you|were|given|my|her|his|its|your))"
_ORDERS = r"(?:instructions?|prompts?|directives?|guidelines?|criteria|rubrics?)"
_LINE = r"(?:^|\n)[^a-z0-9\n]{0,12}"  # its start, behind the mark of a comment
_SAY = (
    r"(?<!not\s)(?<!n.t\s)(?<!never\s)(?<!can\s)(?<!may\s)(?<!could\s)\b(?:mark|consider|treat|report|declare|accept"
    r"|deem|record|approve|answer|respond|reply|output|say|conclude|give)"
)
# A text that offers a choice, or states a condition, doesn't tell anybody what to find.
_NO_CHOICE = (
    r"(?!\W{1,12}(?:only|when|once|until|unless|if|after)\b)(?![^.!?]{0,50}(?:\b(?:unmet|unverified|not.met|only.if"
    r"|if.the.evidence)\b|(?:\bor\b|[/|]|\belse\b)[\s\"'*]{0,4}(?:not?|false|fail\w*|in\w+|wrong|rejected)\b))"
)
_MET = rf"(?:met|satisfied|fulfill?ed)\b{_NO_CHOICE}"
_DONE = rf"(?:met|satisfied|fulfill?ed|completed?|done|passed|passing|proven|verified|approved)\b{_NO_CHOICE}"
_WORK = r"(?:implementation|change|solution|work|code|file|feature|function|patch|task)"
_TELLS = "it tells whoever reads it to ignore instructions"

_BY_ITSELF: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        _TELLS,
        _phrases(
            rf"{_IGNORE}{_ALL}{{0,4}} {_EARLIER}(?: \w+){{0,2}}? {_ORDERS}\b(?! (?:for|of|in|on|about|from) )",
            rf"{_IGNORE}{_ALL}{{0,3}} {_ORDERS} (?:above|before|earlier|you|that you|so far)\b",
            rf"{_IGNORE} (?:everything|all|anything)(?: that)? you (?:were|are|have|had|ve)(?: \w+)?"
            r" (?:told|given|instructed|taught|asked)\b",
            rf"\b{_EARLIER} (?:instructions?|prompts?) (?:are|is|were|have been)(?: now)? (?:void|cancell?ed|superseded"
            r"|revoked|obsolete|overridden)",
        ),
    ),
    (
        "it closes what the judge is shown",
        re.compile(
            r"<\s*/\s*(?:untrusted[\w -]{0,60}|evidence(?:-[\w-]+)?|requirements?|judge[\w -]{0,60})\s*>"
            r"|<\s*evidence-\w|(?:[-=#*<]{2}|\[)\s*/?end\s+(?:of\s+)?(?:the\s+)?(?:evidence|untrusted)\b"
        ),
    ),
    (
        "it imitates a verdict",
        re.compile(
            r"[\"'](?:status|result|verdict|finding|judge?ment)\\?[\"']\s*:\s*\\?[\"'](?:met|satisfied)\\?[\"']"
            r"(?!\s*(?:\||if\b))|[\"']score\\?[\"']\s*:\s*1(?:\.0+)?\s*,\s*\\?[\"']complete\\?[\"']\s*:\s*true"
            r"|[\"']complete\\?[\"']\s*:\s*true\s*,\s*\\?[\"']score\\?[\"']\s*:\s*1(?:\.0+)?\s*[,}]"
            r"|\b(?:verdict|judge?ment|final (?:answer|decision|assessment))s?\b[^\n:=\"']{0,40}[:=][\s*]{0,8}"
            r"(?:(?:requirement )?r?\d{1,3}\W{1,3}(?:(?:is|are) )?)?(?:met|completed?|satisfied|fulfill?ed)\b"
            r"(?!\s*(?:[|/]|or\b|,\s*(?:un|not)))"
        ),
    ),
)
_BESIDE: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "it speaks to the judge",
        _phrases(
            rf"\b(?:dear|attention|attn|psst|hey|hello|hi|listen|please|as the|you|you are|(?:notes?|messages?|hints?"
            rf"|instructions?|reminder) (?:to|for))(?: (?:the|any|all|every|our|an?)){{0,2}} {_JUDGE}",
            rf"\b{_JUDGE} (?:must|should|shall|can safely|(?:is|are|has|have|need)"
            r"(?: (?:instructed|required|told|asked))? to|notes?|notice|hints?|instructions?)\b",
            rf"@{_JUDGE}|,\s{_JUDGE}(?=[.!;]|\s*$)",
            rf"{_LINE}(?:(?:to|for)\s)?(?:the\s)?{_JUDGE}\s?[:,!][\s\"'(*]{{1,8}}(?:please|you|this|these|that|mark|ignore|disregard"
            r"|the|i|it|all|accept|approve|no|every|each|do|treat|consider|answer|say|report|give|rate|score|requirements?|r\d|we|skip)\b",
            r"\b(?:whoever|who|anyone|you|when|while)(?: (?:are|is))? (?:judg|grad|review|evaluat|audit|assess|verif)"
            r"(?:ing|es|ies|s) (?:this|it|the|my|our)\b",
        ),
    ),
    (
        "it gives whoever reads it another role",
        _phrases(
            r"\byou are (?:now|no longer)\b|\bfrom now on you\b|\bas an (?:ai|llm|language model)\b"
            r"|\byou are (?:an?|the) (?:very )?(?:lenient|generous|helpful|unrestricted|permissive)\b",
            r"\b(?:new|updated|revised)(?: system)? (?:instructions?|prompts?|directives?)\s?:",
            r"\byour (?:(?:new|real|true|actual) (?:task|job|role|goal|instructions?)|(?:task|job|role|goal"
            r"|instructions?) (?:is|are|has|have) (?:now|changed|been changed))\b",
            r"\b(?:system|admin|administrator|developer|operator) (?:override|message|notice|update|directive|note"
            rf"|instruction)s?\s?[:\]>]|{_LINE}(?:system|developer|assistant)\s?[\]:]\s",
        ),
    ),
    (
        "it imitates the delimiters of a prompt",
        re.compile(
            r"<\|\s*/?(?:im.start|im.end|system|user|assistant|end|eot.id|start.header.id|start|message)\s*\|>"
            r"|\[/?inst\]|<</?sys>>|</?(?:system|assistant|user|human)>"
            r"|</(?:data|input|context|documents?|instructions|prompt|tool.result|diff|output)>"
        ),
    ),
)
"""What is common in honest work, and tells only together with what should be found (`_OUTCOME`)."""
_OUTCOME = _phrases(
    rf"\b(?:requirements?|criteri(?:a|on)|goals?|r\d{{1,2}}|everything|it|this|(?:this|the|my) {_WORK})"
    rf"(?: (?!not\b)\w+){{0,5}}? (?:=\s)?{_DONE}",
    rf"\br\d{{1,2}}\s?[=:]\s?{_MET}",
    r"\b(?:satisf(?:y|ies)|fulfill?s?|meets?|proves?) (?:the|this|all|every|each) requirements?\b",
    rf"{_SAY}(?: (?!not\b)\w+){{0,10}}? (?:{_DONE}|(?:correct|success|successful|true|full marks)\b{_NO_CHOICE})",
)
_ORDER = _phrases(rf"{_SAY}(?: (?!not\b)\w+){{0,6}}?[\s,:;\"'*=]{{1,4}}{_MET}")
_REQUIREMENT = re.compile(r"\b(?:requirements?|criteri(?:a|on)|r\d{1,2})\b")
_SOONER = (
    r"(?:vorherig|bisherig|obig|früher|vorangegang|pr[ée]c[ée]dent|ant[ée]rieur|ci-dessus|anterior|pr[ée]vi[ao]s?\b"
    r"|acima)"
)
_RULES = r"(?:anweisung|instruktion|instruc|instruç|consigne|istruzion)"
_FOREIGN = re.compile(
    r"\b(?:ignor|missacht|vergiss|vergesst|oubli|olvid|esque[cç]|dimentic)[^\n.!?]{0,30}?"
    rf"(?:\b{_SOONER}\w{{0,9}}\s{_RULES}|\b{_RULES}\w{{0,9}}\s{_SOONER})"
    r"|\b(?:игнорируй|забудь)(?:те)?\s(?:\w{1,20}\s){0,2}(?:предыдущ|прежн|вышеуказанн)\w{1,9}\s"
    r"(?:инструкци|указани|команд)"
    r"|(?:忽略|无视|無視|忽视|忽視)[^\n。]{0,8}(?:之前|以上|先前|前面|上述)[^\n。]{0,8}(?:指令|指示|说明|提示|规则|規則)"
    r"|(?:以前|これまで|上記|前)の(?:すべての|全ての)?(?:指示|命令|プロンプト)を(?:無視|忘れ)"
)
"""To ignore earlier instructions, in other languages: these alone are in the texts of many programs."""
_STEMS = (
    "ignor", "disregard", "forget", "overrid", "bypass", "follow", "obey", "heed", "instruction", "prompt", "evidence",
    "untrusted", "requirement", "criteri", "judg", "verdict", "finding", "final", '"met', "'met", '"satisf', "score",
    "grader", "grading", "review", "evaluat", "audit", "assess", "verif", "examiner", "llm", "gpt", "claude", "model",
    "you", "system", "admin", "developer", "operator",
    "assistant", "<|", "[inst", "[/inst", "sys>", "<user", "<human", "</", *(f"r{digit}" for digit in range(10)),
)  # fmt: skip
_AI = re.compile(r"\bai\b")
"""Each pattern in ASCII holds one of the stems, or the word: a part of a text without any is not looked into."""

MOST = 10
"""Findings of one text: more say nothing new."""
_PART, _LONGEST = 2_000, 500  # characters that one expression reads at once, and those that one phrase may take
_NEAR = 240  # characters that one thought spans
_BEYOND = re.compile(r"[^\x00-\x7f]+")
_TAGS = {
    **{0xE0000 + code: chr(code) for code in range(0x20, 0x7F)},  # invisible doubles of every ASCII character
    **dict.fromkeys((0x85, 0x2028, 0x2029, 0x2800), " "),  # what separates words, though it prints nothing
}


class Addressed(NamedTuple):
    """A place that addresses the judge: `line` is 0-based, `quote` the line as it may be shown, `why` half a
    sentence."""

    line: int
    quote: str
    why: str


def addressed(text: str) -> tuple[Addressed, ...]:
    """Where the text addresses the judge, closes or imitates delimiters, or imitates a verdict, by line.

    At most one for each line, and MOST in all. Look-alike letters, hidden characters and comment marks between the
    lines make no difference.
    """
    read = _BEYOND.sub(_ascii, text).lower().replace("_", " ")
    found: dict[int, str] = {}
    for start in range(0, len(read), _PART):
        end = start + _PART + _LONGEST
        if any(read.find(stem, start, end) >= 0 for stem in _STEMS) or _AI.search(read, start, end):
            for place, why in _signs(read, start, end):
                found.setdefault(read.count("\n", 0, place), why)
        if len(found) >= MOST:
            break
    lower = text.lower()
    for match in _FOREIGN.finditer(lower):
        found.setdefault(lower.count("\n", 0, match.start()), _TELLS)
    if not found:
        return ()
    lines = text.split("\n")
    return tuple(Addressed(n, neutral(lines[n].strip()), found[n]) for n in sorted(found)[:MOST])


def _ascii(beyond: re.Match[str]) -> str:
    return "".join(map(looks_like, beyond[0].translate(_TAGS)))


def _signs(read: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Where a sign begins that counts, and why it does."""

    def matches(pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        # What begins behind the part is seen whole in the next one, here perhaps without its end.
        return (match for match in pattern.finditer(read, start, end) if match.start() < start + _PART)

    for why, pattern in _BY_ITSELF:
        for match in matches(pattern):
            yield match.start(), why
    for match in matches(_ORDER):
        if _near(_REQUIREMENT, read, match):
            yield match.start(), "it orders a verdict"
    for why, pattern in _BESIDE:
        for match in matches(pattern):
            if _near(_OUTCOME, read, match):
                blank = len(match[0]) - len(match[0].lstrip("\n \t#/*"))
                yield match.start() + blank, f"{why} and says what it should find"


def _near(pattern: re.Pattern[str], read: str, match: re.Match[str]) -> bool:
    return pattern.search(read, max(match.start() - _NEAR, 0), match.end() + _NEAR) is not None


def addressed_name(name: str) -> str | None:
    """Why a name (of a file, of a test) addresses the judge; None if it doesn't. Its words may be joined."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    found = addressed(" ".join(re.split(r"[\s_]+", words))) or addressed(" ".join(re.split(r"[\s_.\-/+]+", words)))
    return found[0].why if found else None


def neutral(text: str, limit: int = 160) -> str:
    """A quote for people that can't act on whoever reads it: one line, hidden characters shown, no delimiters."""
    shown = "".join(map(visible, " ".join(text[: limit * 4].split())))
    shown = shown.replace("<", "‹").replace(">", "›").replace("`", "'").replace("[", "(").replace("]", ")")
    return shortened(shown, limit)


MOST_PLACES = 60
"""Facts in all."""
_FILES, _BYTES = 2_000, 8_000_000  # that one audit reads again
_HALF = 200_000  # bytes: of what is larger than twice that, the head and the tail
_SEARCHED_FILES, _SEARCHED_BYTES = 2_000, 20_000_000
_KEPT = 500
_NUMBERED = re.compile(r"^(?:[^\s:][^:\n]{0,200}:\d+[:-]|\s*\d+[\s|:→]\s?|[+>|]\s?)")  # grep -n, cat -n, a diff


class Addressing:
    """The facts of one workspace folder. `since` is the checkpoint before the worker's first turn: what stood there is
    told apart from what came since. One audit reads at most `files` files of `size` characters in all afresh; the next
    one goes on there."""

    def __init__(self, files: int = _FILES, size: int = _BYTES) -> None:
        self._limits = files, size
        self._files: dict[str, tuple[str, tuple[Addressed, ...]]] = {}
        self._names: dict[str, str | None] = {}
        self._texts: dict[bytes, tuple[Addressed, ...]] = {}
        self._standing: set[str] = set()

    async def facts(
        self,
        goal: Goal,
        workspace: Workspace,
        results: Sequence[CheckResult],
        since: str | None,
        commands: Sequence[ObservedCommand],
    ) -> tuple[AddressingFact, ...]:
        """At most MOST. A text in a file is not reported again for each output that shows it."""
        changed = frozenset(await workspace.changed_between(since, None)) if since is not None else frozenset[str]()
        # What requirements name comes first, because the judge is shown it.
        globs = [glob for requirement in goal.requirements for glob in requirement.files]
        named = workspace.files(globs) if globs else ()
        present = (path for path in sorted(changed) if workspace.digest(path) is not None)
        digests = {path: workspace.digest(path) or "" for path in (*named, *present) if path != goal.path}
        read = await asyncio.to_thread(self._addressing_facts, workspace.root, digests)
        found = [await _dated(fact, workspace, since, changed) for fact in read]
        printed = await asyncio.to_thread(lambda: list(self._printed_facts(results, commands)))
        quotes = {fact.quote for fact in found}
        for fact, raw in printed:
            if fact.quote not in quotes and len(found) < MOST_PLACES:
                quotes.add(fact.quote)
                stood = since is not None and await self._stood_there(raw, workspace, since, changed)
                found.append(replace(fact, standing=STOOD_THERE) if stood else fact)
        return tuple(found[:MOST_PLACES])

    def _addressing_facts(self, root: Path, digests: dict[str, str]) -> list[AddressingFact]:
        left, size = self._limits
        facts: list[AddressingFact] = []
        for path, digest in digests.items():
            why = self._why_name_addresses(path)
            if why is not None:
                facts.append(AddressingFact(path, 0, neutral(path), why, "name"))
            known = self._files.get(path)
            if known is None or known[0] != digest:
                if left <= 0 or size <= 0:
                    continue
                text = _file_text(root, path)
                left, size = left - 1, size - len(text)
                known = self._files[path] = (digest, addressed(text))
                time.sleep(0)  # lets the event loop's thread run
            facts += [AddressingFact(path, *one) for one in known[1]]
        return facts

    def _why_name_addresses(self, name: str) -> str | None:
        if name not in self._names:
            self._names[name] = addressed_name(name)
        return self._names[name]

    # ---------------------------------------------------------------------------------------- what was printed

    def _printed_facts(
        self, results: Sequence[CheckResult], commands: Sequence[ObservedCommand]
    ) -> Iterator[tuple[AddressingFact, str]]:
        """The facts, each with the line as it was printed."""
        for result in results:
            for test in result.tests:
                why = self._why_name_addresses(test.name)
                if why is not None:
                    fact = AddressingFact(test.path or "", test.line or 0, neutral(test.name), why, "test")
                    yield fact, test.name.rpartition("::")[2]
        for source, text, path, line in _texts(results, commands):
            lines = text.split("\n")
            for hit in self._addressed_in(text):
                yield AddressingFact(path, line, hit.quote, hit.why, source), lines[hit.line].strip()

    def _addressed_in(self, text: str) -> tuple[Addressed, ...]:
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if key not in self._texts:
            while len(self._texts) >= _KEPT:
                del self._texts[next(iter(self._texts))]
            self._texts[key] = addressed(text)
            time.sleep(0)
        return self._texts[key]

    async def _stood_there(self, raw: str, workspace: Workspace, since: str, changed: frozenset[str]) -> bool:
        """Whether a file had that line before the run began: then nobody in this run is responsible for printing it."""
        line = _NUMBERED.sub("", raw).strip()
        if line in self._standing:
            return True
        unchanged = [path for path in workspace.files() if path not in changed]
        stood = await asyncio.to_thread(_holds, workspace.root, unchanged, line)
        for path in sorted(changed)[:_SEARCHED_FILES] if not stood else ():
            before = await workspace.file_at(since, path)
            stood = stood or (before is not None and line in before.decode("utf-8", "replace"))
        if stood:
            self._standing.add(line)
        return stood


async def _dated(
    fact: AddressingFact, workspace: Workspace, since: str | None, changed: frozenset[str]
) -> AddressingFact:
    """With the reason why nobody in this run is responsible for it, if that is so."""
    if since is None:
        return fact
    if fact.path not in changed:
        return replace(fact, standing=STOOD_THERE)
    before = await workspace.file_at(since, fact.path)
    if before is None:
        return fact
    stood = fact.source == "name" or fact.quote in {one.quote for one in addressed(_decoded(before))}
    return replace(fact, standing=STOOD_THERE) if stood else fact


def _texts(results: Sequence[CheckResult], commands: Sequence[ObservedCommand]) -> Iterator[tuple[str, str, str, int]]:
    """By what something was printed, and what; and the path and line that it is about, if they are known."""
    for result in results:
        yield f"The output of `{result.command}`", result.output, "", 0
        for test in result.tests:
            if test.message:
                yield f"What a test of `{result.command}` says", test.message, test.path or "", test.line or 0
    for command in commands:
        yield f"The output of the worker's `{neutral(command.command, 80)}`", command.output, "", 0


def _holds(root: Path, paths: Sequence[str], line: str) -> bool:
    left = _SEARCHED_BYTES
    for path in paths[:_SEARCHED_FILES]:
        text = _file_text(root, path)
        left -= len(text)
        if line and line in text:
            return True
        if left <= 0:
            break
        time.sleep(0)
    return False


def _file_text(root: Path, path: str) -> str:
    """Of what a link leads to nothing: that is read under its own name."""
    try:
        return "" if (root / path).is_symlink() else _decoded(read_bytes(path, within=root))
    except OSError:
        return ""


def _decoded(content: bytes) -> str:
    """Empty for what is not text. What is left out of the middle of a long one counts its lines."""
    if b"\0" in content[:8192]:
        return ""
    if len(content) > 2 * _HALF:
        lines = content.count(b"\n", _HALF, len(content) - _HALF)
        content = content[:_HALF] + b"\n" * lines + content[-_HALF:]
    return content.decode("utf-8-sig", "replace")
