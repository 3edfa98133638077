"""What a text says about a workspace: the commands that must pass according to it, and the files that it names. Pure,
and the only reader of objectives: all code that drafts, binds or refuses goals uses it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from donewhen.core.ecosystems import TOOLS

_TICKED = r"(?<!`)(?:`[^`\n]+`|``[^\n]+?``)(?!`)"
_QUOTED = r"(?<!\w)(?:\"[^\"\n]+\"|'[^'\n]+'|“[^”\n]+”)(?!\w)"
_AND = r"(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)"
_SPAN = rf"(?:{_TICKED}|{_QUOTED})"
_SPANS = rf"{_SPAN}(?:{_AND}{_SPAN}){{0,9}}"
_CLEAN = (
    r"(?:clean(?:ly)?|green|passing|successful(?:ly)?|without\s+(?:any\s+|an?\s+)?(?:errors?|failures?|warnings?"
    r"|problems?|complaints?))"
)
_EXIT = (
    r"(?:exit(?:s|ed)?(?:\s+with)?|returns?|ends?\s+with)"
    r"(?:\s+(?:an?\s+|the\s+)?(?:exit\s+)?(?:code|status))?(?:\s+of)?"
)
_NOTHING = (
    r"(?:reports?|shows?|finds?|prints?|gives?)\s+no\s+(?:errors?|failures?|warnings?|problems?|issues?|findings?)"
)
_BEFORE_VERB = (
    r"(?:\s+(?:command|script|check|suite|run|build))?"
    r"(?:\s*,?\s+(?:until|till|so\s+that|which|that|and)\s+(?:it|they|all))?"
    r"(?:\s+(?:both|all|each|now|then|always|also|again|finally))*"
    r"(?:\s+(?:must|should|shall|will|has\s+to|have\s+to|needs?\s+to|can|to))?"
)
_VERB = (
    rf"\s+(?:pass(?:es|ed|ing)?|succeed(?:s|ed|ing)?|(?:is|are|be|comes?\s+(?:back|out)|stays?|turns?|goes?|runs?"
    rf"|finish(?:es)?|ends?|completes?|exits?)\s+{_CLEAN}|{_NOTHING}"
    rf"|{_EXIT}\s+(?P<code>\d{{1,10}}|zero)(?!\w))"
)
_AFTER = (
    r"(?=\s*(?:[.,;:!?)\]—]|-\s|\Z|(?:and|or|but|when|if|once|on|in|with|without|again|now|locally|for|under|after|before"
    r"|as|too|there|here|everywhere|at|cleanly|successfully|while|since|because|from|until)\b))"
)
_SAID = re.compile(rf"(?P<spans>{_SPANS}){_BEFORE_VERB}{_VERB}{_AFTER}", re.IGNORECASE)
_REVERSED = re.compile(
    r"(?:\b(?:tests?|suites?|checks?|build|linter|lint|types?|everything|it|they|all)"
    rf"(?:\s+(?:all|must|should|will|now))*{_VERB.replace('?P<code>', '')}\s*[,:(—-]?\s*"
    r"(?:(?:when|if|by|with|under|using|via|in|as|you|we|i|it|is|are|run|running|ran|executed|through)\s+)*"
    r"|\b(?:passing|green|clean|successful)\s+(?:runs?\s+of\s+)?"
    r"|\bno\s+(?:errors?|failures?|warnings?|problems?|issues?)\s+(?:from|in|by|reported\s+by|when\s+running)\s+"
    rf"|\bexit\s+(?:code|status)\s+(?:of|from|for)\s+)(?P<spans>{_SPANS})",
    re.IGNORECASE,
)
_STARTERS = (
    "npm pnpm yarn npx cargo go make just gradle ./gradlew mvn ./mvnw dotnet bundle rake composer cmake bazel swift "
    "mix uv poetry hatch pdm pipenv python python3 node ruby php sh bash tsx stack cabal sbt lein zig docker kubectl "
    "terraform"
)
_ALSO_WORDS = (
    "ava bats behave biome cross cucumber cypress dart flutter interrogate jasmine karma knip pest playwright prove "
    "reek revive robot standard steep tap tape trial typos vale vulture"
)
"""Tools whose names are ordinary words: they must be in backquotes."""
_PROGRAMS = (
    frozenset(name for tool in TOOLS for name in tool.names).difference(_ALSO_WORDS.split()).union(_STARTERS.split())
)
_PROSE = (
    "sure it the that all every this them a an our my its your and or so certain everything in on for of with without "
    "still should must always never is are to be ahead through if when until code tests"
)
_PROGRAM = "|".join(re.escape(one) for one in sorted(_PROGRAMS, key=len, reverse=True))
_UNQUOTED = re.compile(
    r"(?:^|(?<=[.;:!?]\s)|(?<=\b(?:when|that|once|sure)\s)|(?<=\b(?:until)\s)|(?<=\b(?:if)\s)|(?<=\b(?:and)\s)"
    r"|(?<=\bensure\s))\s*"
    rf"(?P<command>(?:[A-Z_]+=\S+\s+)*(?:{_PROGRAM})(?:\s+(?!(?:{_PROSE.replace(' ', '|')})\b)[^\s`,;\"']+){{0,8}}?)"
    rf"(?:\s+(?:command|run))?\s+(?:passes|succeeds|(?:is|runs|exits)\s+{_CLEAN}|{_NOTHING}"
    rf"|{_EXIT}\s+(?P<code>\d{{1,10}}|zero)(?!\w)){_AFTER}",
    re.MULTILINE,
)
_WONDERED = re.compile(r"(?i:\b(?:why|how|what|whether|where)\b)[^.,;:!?\n]*$")
_CALL = re.compile(r"[\w.]+\(.*\)")
_EXTENSIONS = (
    "py|pyi|js|mjs|cjs|ts|tsx|jsx|json|jsonl|toml|ya?ml|md|rst|txt|cfg|ini|html?|css|scss|sql|sh|rs|go|java|kt|c|h|cc|cpp"
    "|hpp|cs|rb|php|lock|xml|csv|ipynb|proto|swift|vue|svelte|gradle|tf|env|log|pdf|png|svg"
)
_NAMED = r"Makefile|Dockerfile|Justfile|Procfile|Gemfile|Rakefile|CMakeLists\.txt"
_FILE = re.compile(
    rf"(?<![\w@/.:#-])(?:\.{{0,2}}/)?(?:[\w.@+-]+/)*(?:[\w.+-]*[\w+-]\.(?:{_EXTENSIONS})|{_NAMED})(?![\w(/-])(?!\.\w)"
)
_FOLDER = re.compile(r"`((?:\.{1,2}/)?(?:[\w.@+-]+/)+[\w.@+*-]*)`")
_BRANDS = re.compile(
    r"(?i:(?:node|next|vue|nuxt|react|express|three|d3|moment|chart|angular|ember|p5|nest|alpine|discord)\.js)"
)
_ANSWER = re.compile(
    r"(?i:\b(?:answers?|responses?|repl(?:y|ies)|summar(?:y|i[sz]es?)|expla(?:ins?|nation)|descri(?:be|bes|ption)|essay"
    r"|poem|haiku|story|reviews?|mentions?|discuss(?:es)?|translat(?:e|ion)|outline|analysis|says?|tells?|names?|quotes?"
    r"|compares?|cites?|lists?|recommends?)\b)"
)
_ASKED = re.compile(r"(?i:\b(?:expla\w+|descri\w+|says?|tells?|answers?)\b[^,;]*\b(?:what|how|why|whether)\b[^,;]*$)")
_INTO = re.compile(r"(?i:\b(?:to|into|as)\s+[`\"']?$)")
_STATE = re.compile(
    r"[`\"']?\s+(?i:exists?|is|are|has|have|contains?|holds?|documents?|defines?|imports?|parses|compiles|builds|passes"
    r"|includes?|declares?|exports?|no\s+longer|does\s+not|doesn't|must|should|will)\b"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n")


@dataclass(frozen=True, slots=True)
class StatedCommand:
    """A command that ends with this exit code according to a text; `said` are the text's own words."""

    command: str
    exit_code: int
    said: str


def stated_commands(text: str) -> tuple[StatedCommand, ...]:
    """The commands that pass according to the text, each once, in order: "`pytest` and `ruff check` pass", "run `make`
    until it exits with 0", "all tests pass with `npm test`", "cargo test succeeds"."""
    found = sorted(_stated_commands(text), key=lambda one: one[0])
    return tuple({one.command: one for _, one in reversed(found)}.values())[::-1]


def _stated_commands(text: str) -> Iterator[tuple[int, StatedCommand]]:
    for pattern in (_SAID, _REVERSED):
        for said in pattern.finditer(text):
            if _WONDERED.search(text, 0, said.start()):
                continue
            code = _exit_code(said.groupdict().get("code"))
            for span in re.finditer(_SPAN, said["spans"]):
                ticked = span[0].startswith("`")
                command = " ".join((span[0].strip("`") if ticked else span[0][1:-1]).split())
                known = _runs(command) if pattern is _REVERSED or not ticked else not _CALL.fullmatch(command)
                if command and known:
                    yield said.start("spans") + span.start(), StatedCommand(command, code, said[0].strip())
    for said in _UNQUOTED.finditer(text):
        if _WONDERED.search(text, 0, said.start()):
            continue
        yield said.start("command"), StatedCommand(said["command"], _exit_code(said["code"]), said[0].strip())


def _exit_code(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0


def _runs(command: str) -> bool:
    """Whether quoted words are a command: a known program, a script, or a program with options."""
    words = command.split()
    return bool(words) and (
        words[0] in _PROGRAMS or words[0].startswith("./") or any(w.startswith("-") for w in words[1:])
    )


def stated_files(text: str) -> tuple[str, ...]:
    """The files and folders that the text names as such, each once, in order. A name that only an answer must mention
    (“the answer mentions `setup.py`”) doesn't count."""
    found: list[str] = []
    for sentence in _SENTENCE.split(text):
        paths = [(one.start(), one.end(), one[0]) for one in _FILE.finditer(sentence) if not _BRANDS.fullmatch(one[0])]
        paths += [(one.start(1), one.end(1), one[1]) for one in _FOLDER.finditer(sentence)]
        found += [name for start, end, name in paths if not _spoken_of(sentence, start, end)]
    return tuple(dict.fromkeys(found))


def _spoken_of(sentence: str, start: int, end: int) -> bool:
    before = sentence[:start]
    if _ASKED.search(before):
        return True
    return bool(_ANSWER.search(before)) and not _INTO.search(before) and not _STATE.match(sentence, end)
