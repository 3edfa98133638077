"""Sources taken apart into product and tests, and put together again."""

from __future__ import annotations

import inspect
import json
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.inline import Halves, divided, joined
from tests.tools import each_row

RUST = st.sampled_from([
    "fn a() { let x = '}'; }\n", "// }\n", "/* { */\n", 'const S: &str = "}}{";\n', "struct X<'a>(&'a str);\n",
    "#[cfg(test)]\nmod tests { fn b() { } }\n", '#[test]\nfn c() { let r = r##"}"##; }\n', "use std::io;\n",
    "#[derive(Debug)]\nenum E { A }\n", "#[cfg(test)]\nuse super::*;\n",
    "/// Says.\n/// ```\n/// a();\n/// ```\nfn d() {}\n",
    "mod inner {\n    #[tokio::test]\n    async fn e() {}\n\n    pub fn f() {}\n}\n",
    "\n", "//! Docs.\n//! ```text\n//! no\n//! ```\n",
    "impl X<'_> {\n    #[cfg(all(test, unix))]\n    fn g() {}\n    fn h() {}\n}\n", "proptest! { fn i() {} }\n",
])  # fmt: skip
SCRIPT = st.sampled_from([
    "export const a = `}`;\n", "// if (import.meta.vitest) {\n", "/* { */\n", "function b() { return /[{]/; }\n",
    "if (import.meta.vitest) {\n  it('a', () => {});\n}\n", "if (import.meta.vitest !== undefined) { it('b'); }\n",
    "\n", "if (a) { b(); }\n", "export class C {}\n",
])  # fmt: skip
MODULE = st.sampled_from([
    "import os\n", "def a():\n    '''Says.\n\n    >>> a()\n    1\n\n    And more.\n    '''\n    return 1\n",
    "class B:\n    '''\n    >>> B()\n    '''\n\n    def c(self):\n        r'''>>> 1\n        1'''\n", "# note\n", "\n",
    "def test_d():\n    assert a() == 1\n", "class TestE:\n    def test_f(self):\n        pass\n", "G = '>>> 1'\n",
    "@pytest.fixture\ndef h():\n    return 1\n", "if G:\n    def i():\n        '''\n        >>> i()\n        '''\n",
])  # fmt: skip
SOURCES = st.one_of(
    st.tuples(st.just("a.rs"), st.lists(RUST, max_size=8)),
    st.tuples(st.sampled_from(["a.ts", "a.js", "a.tsx"]), st.lists(SCRIPT, max_size=8)),
    st.tuples(st.just("a.py"), st.lists(MODULE, max_size=8)),
)


def halves(path: str, text: str) -> Halves:
    found = divided(path, text, tested=True)
    assert found is not None
    return found


@given(SOURCES)
def test_a_source_is_itself_again_when_it_is_put_together(source: tuple[str, list[str]]) -> None:
    path, text = source[0], "".join(source[1])
    found = halves(path, text)
    assert joined(path, found.product, found.tests, tested=True) == text
    assert not halves(path, found.product).tests, "the product has no tests"


@given(SOURCES, SOURCES)
def test_two_versions_make_a_source_with_the_product_of_one_and_the_tests_of_the_other(
    one: tuple[str, list[str]], other: tuple[str, list[str]]
) -> None:
    path = one[0]
    if path[-2:] != other[0][-2:]:
        other = (path, one[1][::-1])
    product, tests = halves(path, "".join(one[1])), halves(path, "".join(other[1]))
    made = joined(path, product.product, tests.tests, tested=True)
    assert made is not None
    assert all(piece.text.strip() in made for piece in tests.tests)
    assert divided(path, made, tested=True) is not None


@given(st.sampled_from(["a.rs", "a.ts", "a.py"]), st.text(alphabet="#[]cfgtes(){}\"'r/*\\\n x>:", max_size=60))
def test_any_text_is_divided_or_refused(path: str, text: str) -> None:
    found = divided(path, text, tested=True)
    assert found is None or joined(path, found.product, found.tests, tested=True) is not None


@pytest.mark.parametrize("module", [textwrap, inspect, json])
def test_real_modules_are_themselves_again(module: object) -> None:
    text = inspect.getsource(module)  # type: ignore[arg-type]
    found = halves("a.py", text)
    assert joined("a.py", found.product, found.tests, tested=True) == text


@each_row(
    "path, text",
    [
        ("a.rs", "#[cfg(test)] mod t {"),
        ("a.rs", 'fn a() { "'),
        ("a.rs", "/* /* */"),
        ("a.rs", "#[test] )"),
        ("a.ts", "if (import.meta.vitest) {"),
        ("a.py", "def a(:\n    '''>>> 1'''\n"),
        ("a.zig", 'test "a" {}'),
    ],
)
def test_what_is_not_whole_or_of_no_known_language_is_not_divided(path: str, text: str) -> None:
    assert divided(path, text) is None


LIB = """//! A writer. { "
pub fn quote(text: &str) -> String {
    let raw = r#"#[cfg(test)] mod no { "#;
    format!("\\"{}\\" }}", text) /* { /* nested */ */
}

/// Its tests.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes<'a>() { assert_eq!(quote("a"), "{\\"a\\""); }
}

pub fn after() {}
"""


def test_the_tests_of_a_rust_source_are_taken_out() -> None:
    found = halves("src/lib.rs", LIB)
    (tests,) = found.tests
    assert tests.text.startswith("/// Its tests.\n#[cfg(test)]")
    assert "fn quotes" in tests.text
    assert "mod tests" not in found.product
    assert "pub fn after" in found.product
    assert "#[cfg(test)] mod no" in found.product, "what stands in a string is not code"


@each_row(
    "text, tests",
    [
        ("#[cfg(any(test, feature = 'x'))]\nfn a() {}\n".replace("'", '"'), 0),
        ("#[cfg(not(test))]\nfn a() {}\n", 0),
        ("#[cfg_attr(test, derive(Debug))]\nstruct A;\n", 0),
        ("#[cfg(any(test, doctest))]\nfn a() {}\n", 1),
        ("#[ cfg ( all ( unix , test ) ) ]\nfn a() {}\n", 1),
        ("#![cfg(test)]\nfn a() {}\n", 1),
        ("mod a {\n    #![cfg(test)]\n    fn b() {}\n}\n", 1),
        ("///     let a = 1;\n///     let b = 2;\n/// Says.\nfn a() {}\n", 1),
        ("/// ```toml\n/// a = 1\n/// ```\nfn a() {}\n", 0),
        ("/// ```should_panic,edition2021\n/// a();\n/// ```\nfn a() {}\n", 1),
        ("struct A {\n    /// ~~~\n    /// a();\n    /// ~~~\n    b: u8,\n}\n", 1),
    ],
)
def test_what_is_compiled_for_tests_alone_is_a_test(text: str, tests: int) -> None:
    assert len(halves("a.rs", text).tests) == tests


def test_a_test_of_what_is_gone_gets_a_place_of_its_own() -> None:
    rust = halves("a.rs", "impl<T> A<T> {\n    #[cfg(test)]\n    fn a() {}\n}\n")
    made = joined("a.rs", "struct A;\n", rust.tests)
    assert made is not None
    assert "impl<T> A<T> {\n    #[cfg(test)]\n    fn a() {}\n}" in made
    example = halves("a.rs", "/// ```\n/// a();\n/// ```\nfn a() {}\n")
    made = joined("a.rs", "fn b() {}\n", example.tests)
    assert made is not None
    assert len(halves("a.rs", made).tests) == 1
    python = halves("a.py", "class A:\n    '''\n    >>> A()\n    '''\n")
    made = joined("a.py", "B = 1\n", python.tests)
    assert made is not None
    names: dict[str, dict[str, str]] = {}
    exec(made, names)  # type: ignore[arg-type]
    assert ">>> A()" in names["__test__"]["A"]
