"""Shell: bats, shunit2, shellcheck, and scripts that a check names."""

import re

from donewhen.core.ecosystems.output import Counts
from donewhen.core.ecosystems.table import Disguise, Ecosystem, Form, Plant, Suppression, Tool, checkers, globs, matcher


def _prove(output: str) -> Counts | None:
    found = re.findall(r"^Files=\d+, Tests=(\d+),", output, re.MULTILINE)
    if not found:
        return None
    failed = sum(int(n) for n in re.findall(r"Failed (\d+)/\d+ subtests", output))
    return max(int(found[-1]) - failed, 0), failed, 0


_FAILED_NAMED = (r"^#\s+(?P<message>Failed test) '(?P<name>.*)'$", r"^#\s+at (?P<path>.+) line (?P<line>\d+)\.$")
_FAILED_UNNAMED = r"^#\s+(?P<message>Failed test) at (?P<path>.+) line (?P<line>\d+)\.$"
_COMPARED = (r"^#\s+got: (?P<actual>.*)$", r"^#\s+expected: (?P<expected>.*)$")

TOOLS = (
    Tool(
        "bats",
        "test",
        prints=("tap", "mix"),
        tests=globs("**/*.bats"),
        absent=(r"(?m)^Error: (?:Test file|File) .* (?:does not exist|not found)",),
        plants=(
            Plant(
                globs("**/*.bats"),
                append="""
@test "{name}" {{
  false
}}
""",
                names=r"""(?m)^\s*@test\s+['"](?P<name>[^'"\n]+)['"]""",
            ),
        ),
    ),
    Tool(
        "prove",
        "test",
        prints=(Form("prove", _prove, r"^Files=\d+, Tests=\d+,", r"^Result: NOTESTS$", instead_of=("tap",)), "tap"),
        problems=(
            #   Failed test 'sums' / #   at t/sums.t line 4. / #          got: '1' / #     expected: '2'
            matcher("prove", *_FAILED_NAMED, *_COMPARED),
            matcher("prove", *_FAILED_NAMED),
            matcher("prove", _FAILED_UNNAMED, *_COMPARED),
            matcher("prove", _FAILED_UNNAMED),
        ),
        tests=globs("**/*.t"),
    ),
    Tool(
        "shellcheck",
        "lint",
        config=globs("**/.shellcheckrc"),
        suppressions=(Suppression(r"#\s*shellcheck\s+disable\b", globs("shellcheck pre-commit")),),
    ),
    *checkers("shfmt"),
)

SHELL = Ecosystem(
    "shell",
    tools=TOOLS,
    tests=globs("**/*_test.sh **/test_*.sh **/test-*.sh **/test.sh **/*.expected"),
    config=globs("**/.shellspec"),
    sources=globs(".sh .bash .zsh .ksh .bats"),
    asks=(r"\bBATS_(?!VERSION)\w+\b|\bSHUNIT_\w+\b",),
    disguises=(
        Disguise(r"(?<![\w./-])(?:tests?|specs?)/", "none/"),
        Disguise(r"\$\{?PPID\}?", "1"),
        Disguise(r"\$PWD\b|\$\{PWD\}|\$\(pwd\)|`pwd`", "/proc/self/cwd", where=r"\[\s|\bcase\b|\btest\b|\bgrep\b"),
        # /dev/null is what nobody types into.
        Disguise(r"(?:(?<=\[ )|(?<=\btest ))-t 0\b", "-c /dev/stdin"),
        Disguise(r"\bps\b(?=\s+-)", "false"),
    ),
)
