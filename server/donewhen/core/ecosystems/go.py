"""Go: `go test`, gotestsum, golangci-lint, staticcheck."""

from donewhen.core.ecosystems.ecosystem import MEETS_A_TEXT, Disguise, Ecosystem, Plant, Suppression, globs

GO = Ecosystem(
    "go",
    tests=globs("**/*_test.go **/testdata/** **/*.golden **/*.txtar"),
    config=globs("**/.golangci.y*ml **/.golangci.toml **/.golangci.json **/staticcheck.conf **/.testcoverage.yml"),
    tasks=globs("**/magefile.go **/magefiles/**"),
    checkers=globs("gofmt gofumpt goimports golangci-lint staticcheck revive go:vet go:fmt govulncheck"),
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
    suppressions=(
        Suppression(r"//\s*nolint\b", globs("golangci-lint")),
        Suppression(r"//\s*lint:(?:file-)?ignore\b", globs("staticcheck golangci-lint")),
    ),
    plants=(
        Plant(
            globs("**/*_test.go"),
            marks=(r"(?m)^\s*(?:import )?\"testing\"",),
            append="""
func Test{Name}(t *testing.T) {{ t.Fatal("{name}") }}
""",
        ),
    ),
    toolchains=globs("go .cache/go-build .cache/golangci-lint sdk"),
    settings=globs(".config/go/env .golangci.yml .golangci.yaml .golangci.toml"),
)
