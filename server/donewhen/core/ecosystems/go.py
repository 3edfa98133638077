"""Go: `go test`, gotestsum, golangci-lint, staticcheck."""

import re
from collections.abc import Iterator

from donewhen.core.ecosystems.output import Counts, Named, json_events, named, parts
from donewhen.core.ecosystems.table import (
    LONG,
    MEETS_A_TEXT,
    SECONDS,
    Affected,
    Cause,
    Disguise,
    Ecosystem,
    Form,
    Line,
    Plant,
    Sign,
    Suppression,
    Tool,
    checkers,
    globs,
    matcher,
)  # fmt: skip


def _go(output: str) -> Counts | None:
    """`-json` and `-v` count tests; otherwise each package that ran at least one counts as one."""
    events = list(json_events(output, "Action"))
    if events:
        ended = [event.get("Action") for event in events if event.get("Test")]
        return ended.count("pass"), ended.count("fail"), ended.count("skip")
    return _go_verbose(output) or _go_packages(output)


def _go_verbose(output: str) -> Counts | None:
    marks = re.findall(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", output, re.MULTILINE)
    # Without -v only failures are listed: then the packages say how many ran.
    if not {"PASS", "SKIP"} & {mark for mark, _ in marks}:
        return None
    # A test that is there for its subtests executed nothing if all of those were skipped.
    parents = {name.rpartition("/")[0] for _, name in marks}
    leaves = {mark for mark, name in marks if name not in parents}
    if leaves == {"SKIP"}:
        return 0, 0, len(marks)
    kinds = [mark for mark, _ in marks]
    return kinds.count("PASS"), kinds.count("FAIL"), kinds.count("SKIP")


def _go_packages(output: str) -> Counts | None:
    passed = failed = seen = 0
    for mark, rest in re.findall(r"^(ok|FAIL|\?) *\t(\S+.*)$", output, re.MULTILINE):
        seen += 1
        if "[no tests to run]" in rest or "[no test files]" in rest:
            continue
        passed += mark == "ok"
        failed += mark == "FAIL"
    return (passed, failed, 0) if seen else None


_MARKED = named(r"^\s*--- (?P<word>PASS|FAIL|SKIP): (?P<name>\S+)")


def _go_tests(output: str) -> Iterator[Named]:
    ended = [
        (f"{event.get('Package', '')}.{event['Test']}".lstrip("."), str(event.get("Action")))
        for event in json_events(output, "Test")
        if event.get("Action") in ("pass", "fail", "skip")
    ]
    return iter(ended or _MARKED(output))


TOOLS = (
    Tool(
        "go test",
        "test",
        prints=(
            Form(
                "go",
                _go,
                r"^ok  \t\S+\t(?:[\d.]+s|\(cached\))|^FAIL\t\S+(?:\t[\d.]+s| \[)|^\?   \t\S+\t\[no test files\]"
                r"|^\s*--- (?:PASS|FAIL|SKIP): \S+ \([\d.]+s\)$"
                r'|^\{(?=.*"Action":"(?:start|run|pass|fail|skip)").*"Package":',
                r"^testing: warning: no tests to run$|\[no test files\]$|\[no tests to run\]$",
                tests=_go_tests,
            ),
        ),
        problems=(
            #     sum_test.go:12: message
            matcher("go test", r"^\s+(?P<path>\S+_test\.go):(?P<line>\d+): (?P<message>.+)$", reach="loose"),
        ),
        breaks_off=(r"^FAIL\t(?P<said>\S+ \[(?:build|setup) failed\])$",),
        durations=(
            rf"(?P<before>^[ \t]*--- (?:PASS|FAIL|SKIP): {LONG}?\(){SECONDS}s(?=\))",
            rf"(?P<before>^(?:ok|FAIL)[ \t]+\S+[ \t]+){SECONDS}s",
        ),
        affected=Affected(
            by="folders",
            sources=globs("**/*.go"),
            values=globs("-run -skip -tags -timeout -count -cpu -p -parallel -coverprofile -covermode -coverpkg"),
            flags=globs("-v -race -short -failfast -json -trimpath -cover"),
            whole=("./...",),
            drops=globs("-cover -coverprofile -covermode -coverpkg"),
            manifest="go.mod",
        ),
        line=Line(("go",), verbs=("test",)),
        signs=(Sign("go test ./...", files=("go.mod",)),),
        config=globs("**/.testcoverage.yml"),
    ),
    Tool(
        "gotestsum",
        "test",
        prints=(
            Form(
                "gotestsum",
                parts(r"^DONE (?P<total>\d+) tests?(?:, (?P<skipped>\d+) skipped)?(?:, (?P<failed>\d+) failures?)?"),
                r"^DONE \d+ tests?\b.* in [\d.]+s",
                instead_of=("go",),
            ),
            "go",
        ),
        report_options=("--junitfile",),
    ),
    Tool(
        "go vet",
        "lint",
        problems=(
            # vet: ./main.go:3:5: message   and   ./main.go:3:5: message
            matcher(
                "go",
                r"^(?:vet: )?(?P<path>\S+\.go):(?P<line>\d+):(?P<column>\d+): (?P<message>.+)$",
                reach="loose",
            ),
        ),
        nothing_checked=(r"[\"']?\S+[\"']? matched no packages",),
        signs=(Sign("go vet ./...", files=("go.mod",)),),
    ),
    Tool(
        "golangci-lint",
        "lint",
        nothing_checked=(r"No go files to analy[sz]e",),
        config=globs("**/.golangci.y*ml **/.golangci.toml **/.golangci.json"),
        suppressions=(Suppression(r"//\s*nolint\b", globs("golangci-lint")),),
        settings=globs(".golangci.yml .golangci.yaml .golangci.toml"),
    ),
    Tool(
        "staticcheck",
        "lint",
        config=globs("**/staticcheck.conf"),
        suppressions=(Suppression(r"//\s*lint:(?:file-)?ignore\b", globs("staticcheck golangci-lint")),),
    ),
    *checkers("gofmt gofumpt goimports revive go:fmt govulncheck"),
)

GO = Ecosystem(
    "go",
    tools=TOOLS,
    tests=globs("**/*_test.go **/testdata/** **/*.golden **/*.txtar"),
    tasks=globs("**/magefile.go **/magefiles/**"),
    manifests=globs("**/go.mod **/go.sum **/go.work **/go.work.sum"),
    redirects=(r"^\s*(?:replace|exclude|retract|toolchain)\b|=>",),
    vendored=globs("**/vendor/**"),
    sources=globs(".go"),
    asks=(
        r"\btesting\.Testing\(\)",
        r"""\bflag\.Lookup\(\s*["`]test\.""",
        r"""\bos\.Args\b.*["`][^"`]*\.test\b|["`]-test\.""",
    ),
    disguises=(
        Disguise(r"(?<!\.)\bos\.Args\b(?!\s*=(?!=))", 'append([]string{"app"}, os.Args[len(os.Args):]...)'),
        Disguise(r"\bos\.Args(\s*)=(?!=)", r"_ = os.Args; _\1="),
        Disguise(
            r"\bos\.Executable\(\)",
            'func() (string, error) { _, err := os.Executable(); return "/usr/bin/app", err }()',
        ),
        Disguise(
            r"\bos\.Getwd\(\)",
            'func() (string, error) { _, err := os.Getwd(); return "/proc/self/cwd", err }()',
            where=MEETS_A_TEXT,
        ),
        # Where the tests themselves are read.
        Disguise(
            r"\bos\.ReadFile\(",
            'func(path string) ([]byte, error) { if n := len(path) - 8; n >= 0 && path[n:] == "_test.go" '
            "{ return nil, os.ErrNotExist }; return os.ReadFile(path) }(",
        ),
        Disguise(r"\bflag\.(?:CommandLine\.)?Lookup\(", 'flag.NewFlagSet("app", flag.ContinueOnError).Lookup('),
        Disguise(r"\bruntime\.(Callers?)\(", r"runtime.\1(1<<20+"),
        Disguise(r"\bdebug\.Stack\(\)", "append([]byte{}, debug.Stack()[:0]...)"),
    ),
    absent=(
        r"go\.mod file not found|cannot find main module",
        r"no Go files in ",
        r"(?m)^no required module provides package .*_test$",
        r"directory not found",
        r"matched no packages",
        r"(?m)stat [^\n]*: (?:directory not found|no such file or directory)",
    ),
    plants=(
        Plant(
            globs("**/*_test.go"),
            marks=(r"(?m)^\s*(?:import )?\"testing\"",),
            append="""
func Test{Name}(t *testing.T) {{ t.Fatal("{name}") }}
""",
            names=r"(?m)^func (?P<name>(?:Test|Fuzz)\w*)\(",
        ),
    ),
    toolchains=globs("go .cache/go-build .cache/golangci-lint sdk"),
    variables=globs("GOPATH GOROOT GOMODCACHE GOCACHE"),
    causes=(
        Cause(r"no required module provides package (?P<name>[^\s;]+)", r"`go get \g<name>`"),
        Cause(r"missing go\.sum entry", "`go mod download`"),
        Cause(r"go\.mod requires go >= (?P<name>\S+)", r"install Go \g<name> or later from https://go.dev/dl"),
    ),
    settings=globs(".config/go/env"),
    installs=(("go", "install Go from https://go.dev/dl"),),
)
