"""Shell: bats, shunit2, shellcheck, and scripts that a check names."""

from donewhen.core.ecosystems.ecosystem import Disguise, Ecosystem, Plant, Suppression, globs

SHELL = Ecosystem(
    "shell",
    tests=globs("**/*.bats **/*_test.sh **/test_*.sh **/test-*.sh **/*.t **/test.sh **/*.expected"),
    config=globs("**/.shellcheckrc **/.shellspec"),
    checkers=globs("shellcheck shfmt"),
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
    absent=(r"(?m)^Error: (?:Test file|File) .* (?:does not exist|not found)",),
    suppressions=(Suppression(r"#\s*shellcheck\s+disable\b", globs("shellcheck pre-commit")),),
    plants=(
        Plant(
            globs("**/*.bats"),
            append="""
@test "{name}" {{
  false
}}
""",
        ),
    ),
)
