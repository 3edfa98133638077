"""Rust: `cargo test`, nextest, clippy, rustfmt."""

from donewhen.core.ecosystems.output import all_lines, last_line, named
from donewhen.core.ecosystems.table import (
    ARROW,
    FEW,
    MEETS_A_TEXT,
    SECONDS,
    Affected,
    Cause,
    Disguise,
    Ecosystem,
    Form,
    Inline,
    Line,
    Plant,
    Shared,
    Sign,
    Suppression,
    Tool,
    checkers,
    globs,
    matcher,
)  # fmt: skip

TOOLS = (
    Tool(
        "cargo test",
        "test",
        ("cargo test", "cargo t", "cross test", "cargo miri test", "cargo hack test", "cargo careful test"),
        prints=(
            Form(
                "cargo",
                all_lines(r"^test result: \S+ (\d+ passed; \d+ failed; \d+ ignored)"),
                r"^test result: \S+ \d+ passed; \d+ failed",
                r"^running 0 tests$",
                tests=named(r"^test (?P<name>\S+)(?: - should panic)? \.\.\. (?P<word>ok|FAILED|ignored)\b"),
            ),
        ),
        problems=(
            # thread 'tests::adds' panicked at src/lib.rs:10:9: / assertion failed
            matcher(
                "cargo test",
                r"^thread '(?P<name>.*?)'(?: \(\d+\))? panicked at (?P<path>[^:']+):(?P<line>\d+):(?P<column>\d+):$",
                r"^(?P<message>.+)$",
            ),
            matcher(
                "cargo test",
                r"^thread '(?P<name>.*?)' panicked at '(?P<message>.*)', "
                r"(?P<path>[^:']+):(?P<line>\d+):(?P<column>\d+)$",
            ),
            # before Rust 1.73: ... 'assertion failed: `(left == right)` / left: 1, / right: 2', src/lib.rs:6:5
            matcher(
                "cargo test",
                r"^thread '(?P<name>.*?)' panicked at '(?P<message>assertion failed: .*)$",
                r"^\s*left: .*,$",
                r"^\s*right: .*', (?P<path>[^:']+):(?P<line>\d+):(?P<column>\d+)$",
            ),
        ),
        breaks_off=(r"^error: (?P<said>(?:could not compile|failed to parse manifest) .+)$",),
        durations=(
            rf"(?P<before>\bfinished in ){SECONDS}s",
            rf"(?P<before>\bFinished `[^`\n]+` profile {FEW}? in ){SECONDS}s",
        ),
        affected=Affected(
            by="package",
            sources=globs("**/*.rs"),
            values=globs("-F --features --profile --target -j --jobs --color --message-format"),
            flags=globs(
                "-q -v --quiet --verbose -r --release --lib --tests --all-targets --all-features"
                " --no-default-features --no-fail-fast --locked --offline --frozen"
            ),
            whole=("--workspace", "--all"),
            adds=("--manifest-path",),
            manifest="Cargo.toml",
        ),
        line=Line(("cargo",), verbs=("test",)),
        signs=(Sign("cargo test", files=("Cargo.toml",)),),
    ),
    Tool(
        "cargo nextest",
        "test",
        ("cargo nextest run", "cargo nextest r"),
        prints=(
            Form(
                "nextest",
                last_line(r"^\s*Summary \[[^\]]*\] .*?run: (.*)$"),
                r"^\s*Summary \[[^\]]*\] .*tests? run: ",
                r"^\s*Starting 0 tests across |^(?:error|warning): no tests to run$",
                makers=("nextest-run",),
            ),
        ),
        config=globs("**/nextest.toml **/.config/nextest.toml"),
        settings=globs(".config/nextest.toml"),
    ),
    Tool(
        "rustc",
        "other",
        (),
        problems=(
            # error[E0308]: mismatched types / --> src/main.rs:2:5
            matcher("rustc", r"^(?P<severity>error|warning)(?:\[(?P<code>[\w:-]+)\])?: (?P<message>.+)$", ARROW),
        ),
    ),
    Tool(
        "clippy",
        "lint",
        ("cargo clippy",),
        programs=("clippy-driver",),
        signs=(Sign("cargo clippy --all-targets -- -D warnings", files=("Cargo.toml",)),),
        config=globs("**/clippy.toml **/.clippy.toml"),
        suppressions=(Suppression(r"#!?\[\s*(?:allow|expect)\s*\(", globs("clippy warnings")),),
    ),
    Tool(
        "rustfmt",
        "lint",
        ("rustfmt", "cargo fmt"),
        config=globs("**/rustfmt.toml **/.rustfmt.toml"),
        suppressions=(
            Suppression(
                r"#\[\s*(?:rustfmt::skip|cfg_attr\(\s*\w+,\s*(?:coverage\(off\)|no_coverage))",
                globs("rustfmt fmt tarpaulin llvm-cov"),
            ),
        ),
    ),
    Tool("cargo deny", "lint", config=globs("**/deny.toml")),
    *checkers("cargo:check cargo:audit"),
)

RUST = Ecosystem(
    "rust",
    tools=TOOLS,
    tests=globs("**/tests/**/*.rs **/tests.rs **/test.rs **/*_test.rs **/*_tests.rs **/benches/** **/*.snap"),
    config=globs("""
        **/rust-toolchain* **/.cargo/config* **/tarpaulin.toml
    """),
    tasks=globs("**/xtask/** **/Makefile.toml"),
    shared=(
        Shared(
            globs("**/Cargo.toml"),
            "toml",
            globs("""
            test* bench* profile* lints* workspace.lints* dev-dependencies* patch* replace*
            target.*.dev-dependencies* workspace.metadata* package.metadata*
        """),
        ),
    ),
    inline=(
        Inline(
            globs("**/*.rs"),
            (
                r"#!?\s*\[[^\]]*\b(?:test|doctest|bench|rstest|test_case|test_matrix|\w+_test)\b",
                r"(?m)//[/!]\s*(?:```|~~~)|//[/!] {5}|/\*[*!]",
                r"\b(?:proptest|quickcheck)\s*!",
                r"\bdoc\s*=",
            ),
        ),
    ),
    manifests=globs("**/Cargo.lock"),
    redirects=(
        r"^\s*(?:path|git|branch|rev)\s*=",
        r"source = \"(?!registry)",
    ),
    vendored=globs("**/vendor/**"),
    outputs=globs("**/target/**"),
    sources=globs(".rs"),
    asks=(
        r"\bcfg!\s*\(\s*(?:not\s*\(\s*)?test\b|\bcfg\s*\(\s*not\s*\(\s*test\b",
        r"\b(?:NEXTEST(?:_\w+)?|RUST_TEST_\w+)\b",
        r"""\bthread::current\(\)\.name\(\)""",
    ),
    disguises=(
        Disguise(
            r"(?<![\w:])(?:(?:std::)?env::)?current_exe\(\)",
            'std::env::current_exe().map(|_| std::path::PathBuf::from("/usr/bin/app"))',
        ),
        Disguise(
            r"(?<![\w:])(?:(?:std::)?env::)?current_dir\(\)",
            'std::env::current_dir().map(|_| std::path::PathBuf::from("/proc/self/cwd"))',
            where=MEETS_A_TEXT,
        ),
        Disguise(r"\bcfg!\(\s*debug_assertions\s*\)", "false"),
        Disguise(r"\bcfg\(\s*debug_assertions\s*\)", "cfg(any())"),
        Disguise(r"\bcfg\(\s*not\(\s*debug_assertions\s*\)\s*\)", "cfg(all())"),
        Disguise(r"""\benv::var(_os)?\(\s*\"(CARGO|RUST|NEXTEST)""", r'env::var\1("APP_\2', but=("**/build.rs",)),
        Disguise(
            r"""\b(?:std::)?env::var\(\s*\"PROFILE\"\s*\)""", 'Ok::<String, std::env::VarError>("release".into())'
        ),
    ),
    absent=(
        r"(?m)^error: no (?:test|bin|example|bench) target named",
        r"(?m)^error: could not find `Cargo\.toml`",
        r"(?m)^error: no such (?:command|subcommand)",
        r"package ID specification `[^`]*` did not match",
    ),
    plants=(
        Plant(
            globs("**/*.rs"),
            append="""
#[cfg(test)]
mod {name} {{
    #[test]
    fn {name}() {{ panic!("{name}") }}
}}
""",
            names=r"(?m)^\s*#\[(?:\w+::)?test\]\s*(?:async )?fn (?P<name>\w+)\(",
            expects=r'(\bassert_eq!\((?:[^;"]|"(?:\\.|[^"\\\n])*")*?,\s*)(")(?:\\.|[^"\\\n])*(?="\s*\);)',
        ),
    ),
    toolchains=globs(".cargo .rustup"),
    variables=globs("CARGO_HOME RUSTUP_HOME"),
    keys=globs(".cargo/credentials .cargo/credentials.toml"),
    causes=(
        Cause(r"toolchain '(?P<name>[^']+)' is not installed", r"`rustup toolchain install \g<name>`"),
        Cause(r"^error: no such command: `(?P<name>[\w-]+)`", r"`cargo install cargo-\g<name>`"),
    ),
    settings=globs(".cargo/config.toml .cargo/config"),
    installs=(("cargo", "install Rust from https://rustup.rs"),),
)
