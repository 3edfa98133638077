"""The facts of JavaScript, TypeScript, Go and Rust test files, read without a parser: names, skips, assertions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from donewhen.core.integrity import SkipFact, TestFact, TestFileFact

SEPARATOR = "\x1f"
_LITERAL = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|(?<![\w.])\d[\w.]*|\b(?:true|false|null|nil|undefined|None)\b"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)", re.DOTALL)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Language:
    """How tests look in a language. `test` has the groups `name` and, where there is one, `mark`."""

    test: re.Pattern[str]
    assertion: re.Pattern[str]
    skip: re.Pattern[str]
    comparison: re.Pattern[str]
    opens: str = "{"


_JS = Language(
    re.compile(
        r"(?<![\w.$])(?P<word>x?(?:describe|it|test|context|suite|specify)|f(?:describe|it))(?P<mark>(?:\.\w+)*)"
        r"(?P<each>\.(?:each|for)\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|`[^`]*`))?"
        r"\s*\(\s*(?P<name>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)"
    ),
    re.compile(r"(?<![\w$.])(?:expect|assert|should|t\.(?:is|deepEqual|true|false|truthy|throws))(?:\.\w+)*\s*\("),
    re.compile(r"(?<![\w$])(?:this|t|ctx|context|test)\.(?:skip|todo)\s*\("),
    re.compile(r"\.(?:not|resolves|rejects|to[A-Z]\w*|equal|strictEqual|deepEqual|notEqual|ok|throws|is|true|false)\b"),
    "(",
)
_GO = Language(
    re.compile(
        r"^func\s+(?:\(\w+\s+\*?\w+\)\s*)?(?P<name>(?:Test|Example|Fuzz)\w*)\s*\([^)]*\)[^{\n]*(?=\{)", re.MULTILINE
    ),
    re.compile(r"\b(?:t|tb|b)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\s*\(|\b(?:require|assert)\.\w+\s*\("),
    re.compile(r"\b(?:t|tb|b)\.(?:Skip|Skipf|SkipNow)\s*\("),
    re.compile(r"\.(?:Equal|NotEqual|True|False|Nil|NotNil|NoError|Error|Contains|ErrorIs)\b"),
)
_RUST = Language(
    re.compile(
        r"(?P<marks>(?:\#\[[^\]]*\]\s*)*\#\[(?:\w+::)*test(?:\([^\]]*\))?\]\s*(?:\#\[[^\]]*\]\s*)*)"
        r"(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)\s*\([^)]*\)[^{]*(?=\{)"
    ),
    re.compile(r"\b(?:debug_)?assert(?:_eq|_ne|_matches)?!\s*\(|\bpanic!\s*\("),
    re.compile(r"(?!)"),
    re.compile(r"[=!<>]=|assert(?:_eq|_ne)|#\[should_panic[^\]]*\]"),
)
_JS_OPTIONS = re.compile(r"\(\s*(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)\s*,\s*\{([^{}]*)\}\s*,")
_JS_OPTION = re.compile(r"(?<![\w$])[\"']?(skip|todo|only|expectFailure)[\"']?\s*:(?!\s*(?:false|undefined|null|0)\b)")
_GO_GUARD = re.compile(r"if\s+([^{\n]+)\{\s*$")


def script_tests(path: str, digest: str, source: str) -> TestFileFact:
    """Reads one file of a language that is told by its ending. Never fails: what isn't understood is no fact."""
    text = _without_comments(source)
    if path.endswith(".go"):
        tests, skips = _functions(text, _GO)
    elif path.endswith(".rs"):
        tests, skips = _functions(text, _RUST)
    else:
        tests, skips = _javascript(text)
    return TestFileFact(path, digest, tuple(tests), tuple(skips))


def _without_comments(source: str) -> str:
    """Comments become spaces of the same shape, so that every place stays where it is."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[1] is not None else re.sub(r"[^\n]", " ", match[0])

    return _COMMENT.sub(blank, source)


# ----------------------------------------------------------------------------------------- Go and Rust


def _functions(text: str, language: Language) -> tuple[list[TestFact], list[SkipFact]]:
    tests: list[TestFact] = []
    skips: list[SkipFact] = []
    for match in language.test.finditer(text):
        name = match["name"]
        body = _block(text, match.end(), "{")
        start = match.start("name")
        found = [*_skip_calls(text, match.end(), body, name, language.skip), *_attributes(match, text, name)]
        skips += found
        tests.append(_test(text, name, start, match.end(), body, bool(found), language))
    return tests, skips


def _attributes(match: re.Match[str], text: str, name: str) -> Iterator[SkipFact]:
    """Rust: `#[ignore]`, and `#[cfg(...)]` on the test itself."""
    marks = match.groupdict().get("marks") or ""
    for mark in re.finditer(r"#\[(?:ignore\b|cfg\()[^\]]*\]", marks):
        yield SkipFact(name, _line(text, match.start("marks") + mark.start()), mark[0].partition("=")[0].strip())


def _skip_calls(text: str, at: int, body: str, name: str, pattern: re.Pattern[str]) -> Iterator[SkipFact]:
    for call in pattern.finditer(body):
        yield SkipFact(name, _line(text, at + call.start()), call[0].strip("( \t"))


# ------------------------------------------------------------------------------------------ JavaScript


def _javascript(text: str) -> tuple[list[TestFact], list[SkipFact]]:
    tests: list[TestFact] = []
    skips: list[SkipFact] = []
    suites: list[tuple[int, str]] = []
    for match in _JS.test.finditer(text):
        suites = [suite for suite in suites if suite[0] > match.start()]
        opening = text.index("(", match.end("each") if match["each"] else match.end("mark"))
        body = _block(text, opening, "(")
        name = " > ".join([*(n for _, n in suites), match["name"][1:-1]])
        mark = _js_mark(match) or _js_option(body)
        if mark:
            scope = "" if mark == "only" else name
            option = "" if _js_mark(match) else f" with {{{_js_option(body)}: true}}"
            skips.append(SkipFact(scope, _line(text, match.start()), f"{match['word']}{match['mark']}{option}"))
        if match["word"].lstrip("xf") in ("describe", "context", "suite"):
            suites.append((opening + len(body), match["name"][1:-1]))
            continue
        skips += _skip_calls(text, opening, body, name, _JS.skip)
        tests.append(_test(text, name, match.start(), opening, _without_options(body), bool(mark), _JS))
    return tests, skips


def _js_mark(match: re.Match[str]) -> str:
    if re.search(r"\.(?:skip|todo|failing|fails|skipIf|runIf)\b", match["mark"]) or match["word"].startswith("x"):
        return "skip"
    return "only" if ".only" in match["mark"] or match["word"].startswith("f") else ""


def _js_option(body: str) -> str:
    """Node's options after a test's name: `test('adds', {todo: true}, () => ...)`."""
    options = _JS_OPTIONS.match(body)
    option = _JS_OPTION.search(options[1]) if options is not None else None
    return option[1] if option is not None else ""


def _without_options(body: str) -> str:
    """They are no part of what a test does; spaces stand in for them, so that every place stays where it is."""
    options = _JS_OPTIONS.match(body)
    if options is None:
        return body
    start, end = options.start(1) - 1, options.end()
    return body[:start] + re.sub(r"[^\n]", " ", body[start:end]) + body[end:]


# -------------------------------------------------------------------------------------------- one test


def _test(text: str, name: str, start: int, at: int, body: str, skipped: bool, language: Language) -> TestFact:
    line = _line(text, start)
    statements = [(m.start(), _statement(body, m, language)) for m in language.assertion.finditer(body)]
    live = [(where, s) for where, s in statements if not _trivial(s)]
    normal = _SPACE.sub("", body)
    return TestFact(
        name=name,
        line=line,
        body=hashlib.sha256(normal[normal.find("{") :].encode()).hexdigest()[:16],
        asserts=len(live),
        skipped=skipped,
        empty=re.search(r"[\w)]\s*[;(]|=", body[body.find("{") + 1 :].strip("{}() ;\n\t")) is None,
        expected=tuple(SEPARATOR.join(sorted(_tokens(s, language))) for _, s in live),
        lines=tuple(_line(text, at + where) - line for where, _ in live),
        tokens=hashlib.sha256(SEPARATOR.join(sorted(_tokens(body, language))).encode()).hexdigest()[:12],
    )


def _statement(body: str, match: re.Match[str], language: Language) -> str:
    """From an assertion's word to the end of its statement; for Go, its condition belongs to it."""
    before = body[: match.start()].rstrip()
    guard = _GO_GUARD.search(before[-400:]) if language is _GO else None
    end = match.end()
    depth = 1
    while end < len(body) and not (depth <= 0 and body[end] in ";\n}" and not _continues(body, end)):
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(body[end], 0)
        end += 1
    return (guard[1] if guard else "") + body[match.start() : end]


def _continues(body: str, end: int) -> bool:
    """A chained call may go on in the next line."""
    return body[end] == "\n" and body[end:].lstrip().startswith(".")


def _trivial(statement: str) -> bool:
    flat = _SPACE.sub("", statement).rstrip(";")
    if re.fullmatch(
        r"assert!\(true\)|assert(?:\.ok)?\((?:true|1)\)|(?:assert|require)\.True\(t,true\)|t\.true\(true\)", flat
    ):
        return True
    same = re.match(r"expect\((.*?)\)\.to(?:Be|Equal|StrictEqual)\((.*)\)$|assert_eq!\((.*),(.*)\)$", flat)
    if same is not None:
        left, right = (same[1], same[2]) if same[1] is not None else (same[3], same[4])
        return left == right
    return re.fullmatch(r"expect\((?:true|1)\)\.toBeTruthy\(\)", flat) is not None


def _tokens(statement: str, language: Language) -> Iterator[str]:
    for match in _LITERAL.finditer(statement):
        yield "'" + match[0][1:-1] + "'" if match[0][0] in "\"'`" else match[0]
    for match in language.comparison.finditer(statement):
        yield match[0]


def _block(text: str, at: int, opens: str) -> str:
    """The text from the first `opens` at or after `at` to its counterpart, strings passed over."""
    start = text.find(opens, at)
    if start < 0:
        return ""
    closes = {"{": "}", "(": ")"}[opens]
    depth = 0
    for match in re.finditer(
        rf"[{re.escape(opens + closes)}]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`", text[start:]
    ):
        depth += 1 if match[0] == opens else -1 if match[0] == closes else 0
        if depth == 0:
            return text[start : start + match.end()]
    return text[start:]


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at)
