"""What is the same in every language."""

from donewhen.core.ecosystems.table import PATH, Cause, Disguise, Ecosystem, Sign, Tool, checkers, globs, matcher, pip

TOOLS = (
    Tool(
        "pre-commit",
        "lint",
        starts=True,
        signs=(Sign("pre-commit run --all-files", files=(".pre-commit-config.yaml",), group="runner"),),
        install=pip("pre-commit"),
        programs=("pre-commit", "pre_commit"),
        config=globs("**/.pre-commit-config.yaml"),
        absent=(r"\.pre-commit-config\.yaml is not a file",),
    ),
    Tool("prek", "lint", starts=True),
    Tool(
        "compilers and linters",
        "other",
        (),
        problems=(
            # app.py:3: error: message  [code]   and   app.c:3:5: fatal error: message
            matcher(
                "compiler",
                rf"^{PATH}:(?P<line>\d+):(?:(?P<column>\d+):)?(?:\d+:\d+:)? "
                r"(?P<severity>fatal error|error|warning|note|info|hint|remark): "
                r"(?P<message>.+?)(?:  \[(?P<code>[\w-]+)\])?$",
                reach="shared",
            ),
            # app.py:1:8: F401 [*] message
            matcher(
                "linter",
                rf"^{PATH}:(?P<line>\d+):(?:(?P<column>\d+):)? "
                r"(?P<code>[A-Z]{1,7}\d+)(?: \[\*\]|:)? (?P<message>.+)$",
                reach="shared",
            ),
            # app.py:3:5: message
            matcher("", rf"^{PATH}:(?P<line>\d+):(?P<column>\d+): (?P<message>\S.*)$", reach="loose"),
        ),
    ),
    Tool(
        "markdownlint",
        "lint",
        ("markdownlint", "markdownlint-cli2"),
        nothing_checked=(r"Linting: 0 file",),
        config=globs("**/.markdownlint*"),
    ),
    Tool("yamllint", "lint", config=globs("**/.yamllint*")),
    Tool("vale", "lint", config=globs("**/.vale.ini")),
    *checkers("actionlint hadolint typos editorconfig-checker taplo"),
)

COMMON = Ecosystem(
    "common",
    tools=TOOLS,
    tests=globs("""
        **/test/** **/tests/** **/Tests/** **/e2e/** **/integration_tests/** **/testdata/**
        **/test_data/** **/test-data/** **/test-fixtures/** **/fixtures/** **/snapshots/** **/golden/**
        **/goldens/** **/cassettes/** **/expected/** **/test-cases/** **/test_cases/** **/testcases/**
        **/expected.* **/expected_*.* **/expected-*.* **/*_expected.* **/*-expected.* **/*.expected **/*.expected.*
        **/*.golden **/*.golden.* **/golden.* **/*.approved.* **/*.snap
    """),
    data=globs("""
        .json .jsonl .ndjson .csv .tsv .txt .xml .dat .bin .in .out .npy .npz .pkl .parquet .zip .gz
        .yaml .yml .toml .ini .cfg .sql .html .htm .svg .png .db .sqlite .tmpl .graphql .proto .log
    """),
    disguises=(
        Disguise(r"/proc/(?:self|thread-self|\$\$|\$\{?PPID\}?)(?=/)", "/none"),
        # Where its tests lie.
        Disguise(r"""(?<=/ ["'])(tests?|specs?)(?=["'])|(?<=["'/])(tests?|specs?)(?=/)""", "none"),
        Disguise(r"""(?<=["'/])conftest(?=\.py["'])""", "none"),
    ),
    config=globs("**/.editorconfig **/codecov.yml **/.codecov.yml"),
    tasks=globs("""
        **/Makefile **/makefile **/GNUmakefile **/*.mk **/justfile **/Justfile **/.justfile **/Taskfile.y*ml
        **/mise.toml **/.mise.toml **/Earthfile **/BUILD.bazel
    """),
    choosing=globs("**/.gitignore **/.ignore"),
    lists=globs("**/Makefile **/makefile **/GNUmakefile **/*.mk"),
    # Of make: recipes, targets, and variables that say how things are run.
    redirects=(
        r"^\t|^[^=#]*:(?!=)|^\s*\.|^\s*(?:-|s)?include\b|^\s*(?:un)?export\b|^\s*(?:define|ifeq|ifneq|ifdef|else)\b",
        r"(?i)^\s*\w*(?:shell|flags|test|check|lint|cov|py|cmd|run|opts|args)\w*\s*[:+?!]*=|[`;|&]|\$\(shell",
    ),
    outputs=globs("**/build/** **/dist/** **/out/** **/coverage/**"),
    asks=(
        r"/proc/(?:self|thread-self|\$\$|\$\{?PPID\}?|\{\w*ppid\w*\})/(?:cmdline|comm|status|exe|stat)\b",
        r"\b(?i:getppid)\b|\$\{?PPID\b|\bprocess\.ppid\b|\bparent_process\(|\bps\s+-o\s*(?:comm|args|ppid)",
    ),
    absent=(
        r"No targets specified and no makefile found",
        r"(?m)^make(?:\[\d+\])?: \*\*\* No rule to make target",
        r"(?m)^make(?:\[\d+\])?: \*\*\* No targets",
        r"(?i)justfile does not contain recipe|no justfile found",
        r"(?m)^task: Task \"[^\"]*\" does not exist",
        r"(?m)^(?:\S*/)?(?:ba|da|z|k|a)?sh: (?:line )?(?:\d+: )?\S+: (?:command )?not found$",
        r"(?m)^(?:\S*/)?(?:ba|da|z|k|a)?sh: (?:line )?(?:\d+: )?\S+: No such file or directory$",
        r"(?m)^(?:\S*/)?(?:ba|da|z|k|a)?sh: (?:\d+: )?(?:can't|cannot) open '?[^\n]*$",
    ),
    idle=(r"(?m)^g?make(?:\[\d+\])?: (?:Nothing to be done for .*|.* is up to date\.)$",),
    toolchains=globs(".asdf .local/share/mise .nix-profile .local/bin .local/lib .proto"),
    caches=globs(".svn .hg .terraform"),
    causes=(
        Cause(
            r"^(?:\S*sh: )?(?:line )?(?:\d+: )?(?P<name>\.{0,2}/?[\w./-]+): Permission denied$",
            r"`chmod +x \g<name>`, if it is to be run",
        ),
    ),
    installs=(
        ("make", "install make with your system's package manager"),
        ("just", "see https://just.systems"),
    ),
    settings=globs(".gitconfig .config/git/config .config/git/ignore .config/git/attributes .editorconfig"),
)
