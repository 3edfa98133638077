"""What is the same in every language."""

from donewhen.core.ecosystems.ecosystem import Disguise, Ecosystem, globs

COMMON = Ecosystem(
    "common",
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
    config=globs("""
        **/.editorconfig **/.pre-commit-config.yaml **/.codespellrc **/.yamllint* **/.markdownlint* **/.vale.ini
        **/codecov.yml **/.codecov.yml
    """),
    tasks=globs("""
        **/Makefile **/makefile **/GNUmakefile **/*.mk **/justfile **/Justfile **/.justfile **/Taskfile.y*ml
        **/mise.toml **/.mise.toml **/Earthfile **/BUILD.bazel
    """),
    checkers=globs("yamllint actionlint hadolint markdownlint-cli2 typos editorconfig-checker taplo vale"),
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
    settings=globs(".gitconfig .config/git/config .config/git/ignore .config/git/attributes .editorconfig"),
)
