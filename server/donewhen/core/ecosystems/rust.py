"""Rust: `cargo test`, nextest, clippy, rustfmt."""

from donewhen.core.ecosystems.ecosystem import (
    MEETS_A_TEXT,
    Disguise,
    Ecosystem,
    Inline,
    Plant,
    Shared,
    Suppression,
    globs,
)

RUST = Ecosystem(
    "rust",
    tests=globs("**/tests/**/*.rs **/tests.rs **/test.rs **/*_test.rs **/*_tests.rs **/benches/** **/*.snap"),
    config=globs("""
        **/clippy.toml **/.clippy.toml **/rustfmt.toml **/.rustfmt.toml **/nextest.toml **/.config/nextest.toml
        **/deny.toml **/rust-toolchain* **/.cargo/config* **/tarpaulin.toml
    """),
    tasks=globs("**/xtask/** **/Makefile.toml"),
    checkers=globs("rustfmt cargo:clippy cargo:fmt cargo:check cargo:deny cargo:audit"),
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
    suppressions=(
        Suppression(r"#!?\[\s*(?:allow|expect)\s*\(", globs("clippy warnings")),
        Suppression(
            r"#\[\s*(?:rustfmt::skip|cfg_attr\(\s*\w+,\s*(?:coverage\(off\)|no_coverage))",
            globs("rustfmt fmt tarpaulin llvm-cov"),
        ),
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
    settings=globs(".cargo/config.toml .cargo/config .config/nextest.toml"),
)
