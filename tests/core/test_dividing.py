"""What a worker changed, divided into proof and product."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.dividing import Before, Divided, Same, divided
from donewhen.core.inline_tests import divided as inline_divided
from donewhen.core.inline_tests import joined
from donewhen.core.proof_files import ProofFiles

FILES = ProofFiles(proof=("gold/**",), named=frozenset({"verify.py"}), goal_path="GOAL.md")


def of(path: str, before: str | None, now: str | None) -> Divided:
    return divided(FILES, path, before and before.encode(), now and now.encode())


def test_a_test_is_shown_as_it_was_and_a_product_file_without_the_work() -> None:
    assert of("tests/test_a.py", "a", "b") == Divided("tests/test_a.py", True, False, original=Before())
    assert of("src/a.py", "a", "b") == Divided("src/a.py", False, True, reverted=Before())
    assert of("gold/a.json", "a", "b").proof
    assert of("verify.py", "a", "b").proof


def test_the_mode_of_a_script_that_a_check_runs_is_product() -> None:
    assert of("verify.py", "a", "a") == Divided("verify.py", False, True, reverted=Before())
    assert of("tests/hook", "a", "a").proof


def test_a_new_proof_file_adds() -> None:
    assert of("tests/test_new.py", None, "x").adds
    assert not of("tests/test_new.py", "x", None).adds
    assert not of("tests/test_a.py", "x\n", "x\ny\n").adds, "a test that gained lines may have lost its meaning"


def test_a_task_file_may_gain_a_task() -> None:
    assert of("Makefile", "test:\n\tpytest\n", "test:\n\tpytest\ncheck:\n\ttrue\n").adds
    assert not of("Makefile", "test:\n\tpytest\n", "test:\n\ttrue\n").adds


@pytest.mark.parametrize(
    ("now", "product"),
    [
        ("OBJS = a.o b.o\ncheck: $(OBJS)\n\t./run\n", True),
        ("OBJS = a.o\ncheck: $(OBJS)\n\t./run\nOBJS += b.o\n", True),
        ("OBJS = a.o\ncheck: $(OBJS)\n\t./run || true\n", False),
        ("OBJS = a.o\ncheck: $(OBJS)\n\t./run\nSHELL = /bin/true\n", False),
        ("OBJS = a.o\ncheck: $(OBJS)\n\t./run\n.IGNORE:\n", False),
        ("OBJS = a.o\ncheck: $(OBJS)\n\t./run\ncheck:\n\ttrue\n", False),
        ("OBJS = a.o\ncheck: $(OBJS)\n\t./run\nexport PYTEST_ADDOPTS = -k x\n", False),
        ("OBJS = a.o\ncheck: $(OBJS) more\n\t./run\n", False),
    ],
)
def test_a_list_of_what_is_built_may_grow(now: str, product: bool) -> None:
    found = of("Makefile", "OBJS = a.o\ncheck: $(OBJS)\n\t./run\n", now)
    assert (found.product, found.proof) == (product, not product)


def test_a_configuration_is_taken_out_of_a_shared_file() -> None:
    before = '[project]\nname = "a"\n[tool.pytest.ini_options]\naddopts = "-q"\n'
    now = '[project]\nname = "b"\n[tool.pytest.ini_options]\naddopts = "-k none"\n'
    found = of("pyproject.toml", before, now)
    assert (found.proof, found.product) == (True, True)
    assert found.original == b'[project]\nname = "b"\n[tool.pytest.ini_options]\naddopts = "-q"\n'
    assert found.reverted == b'[project]\nname = "a"\n[tool.pytest.ini_options]\naddopts = "-k none"\n'
    product = of("pyproject.toml", before, before.replace('"a"', '"b"'))
    assert (product.proof, product.original, product.reverted) == (False, Same(), Before())


def test_a_shared_file_that_can_not_be_read_is_both() -> None:
    found = of("package.json", "{}", "{")
    assert (found.proof, found.product, found.original, found.reverted) == (True, True, Before(), Before())


def test_a_dependency_more_is_product() -> None:
    assert not of("vendor/x/a.go", None, "package x").proof
    assert of("vendor/x/a.go", "package x", "package y").proof
    assert not of("requirements.txt", "a==1\n", "a==1\nb==2\n").proof
    assert of("requirements.txt", "a==1\n", "a==2\n").proof


DOCUMENTED = '''def quote(text):
    """Quotes.

    >>> quote("a,b")
    '"a,b"'
    """
'''


@pytest.mark.parametrize(
    ("now", "doubted"),
    [
        (DOCUMENTED + "    return text\n", False),
        (DOCUMENTED.replace('    """\n', '\n    >>> quote("")\n    \'\'\n    """\n', 1), False),
        (DOCUMENTED.replace("'\"a,b\"'", "'a,b'"), True),
        (DOCUMENTED.replace('>>> quote("a,b")', '>>> quote("a")'), True),
    ],
)
def test_examples_that_a_check_runs_may_not_be_lost(now: str, doubted: bool) -> None:
    found = divided(ProofFiles(doctests=True), "src/a.py", DOCUMENTED.encode(), now.encode())
    assert bool(found.doubt) is doubted
    assert not divided(ProofFiles(), "src/a.py", DOCUMENTED.encode(), now.encode()).doubt


def test_a_text_of_examples_is_tried_as_it_was_where_some_of_them_are_gone() -> None:
    found = divided(ProofFiles(doctests=True), "README.rst", b">>> f(1)\n2\n", b">>> f(2)\n3\n")
    assert (found.proof, found.product, found.original, found.doubt) == (True, False, Before(), "")


def test_a_row_of_an_array_of_arrays_is_no_heading() -> None:
    was = '[project]\nname = "a"\n'
    tox = '[tool.tox.env.a]\ncommands = [\n  ["pytest", "-q", { replace = "posargs" }]\n]\n'
    found = divided(ProofFiles(), "pyproject.toml", was.encode(), f"{was}{tox}".encode())
    assert found.original == was.encode()


LIB = """//! A writer. { "
pub fn quote(text: &str) -> String {
    let brace = '{'; // }
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
    halves = inline_divided("src/lib.rs", LIB)
    assert halves is not None
    assert "mod tests" in halves.tests
    assert "fn quotes" in halves.tests
    assert "Its tests" in halves.tests
    assert "mod tests" not in halves.product
    assert "pub fn after" in halves.product
    assert "#[cfg(test)] mod no" in halves.product, "what stands in a string is no code"


def test_a_rust_source_is_divided() -> None:
    weakened = LIB.replace('assert_eq!(quote("a"), "{\\"a\\"");', "").replace("after() {}", "after() { todo() }")
    found = of("src/lib.rs", LIB, weakened)
    assert (found.proof, found.product, found.doubt) == (True, True, "")
    assert isinstance(found.original, bytes)
    assert isinstance(found.reverted, bytes)
    assert b"assert_eq!" in found.original
    assert b"todo()" in found.original
    assert b"assert_eq!" not in found.reverted
    assert b"todo()" not in found.reverted
    only_product = of("src/lib.rs", LIB, LIB.replace("after() {}", "after() { todo() }"))
    assert (only_product.proof, only_product.reverted) == (False, Before())


def test_what_no_grammar_here_tells_apart_is_in_doubt() -> None:
    source = "export const a = 1;\nif (import.meta.vitest) { it('a', () => {}); }\n"
    assert "src/a.ts" in of("src/a.ts", source, source.replace("1", "2")).doubt
    assert not of("src/b.ts", "export const b = 1;", "export const b = 2;").doubt


PIECES = st.lists(
    st.sampled_from([
        "fn a() { let x = '}'; }\n", "// }\n", "/* { */\n", 'const S: &str = "}}{";\n', "struct X<'a>(&'a str);\n",
        "#[cfg(test)]\nmod tests { fn b() { } }\n", '#[test]\nfn c() { let r = r##"}"##; }\n', "use std::io;\n",
        "#[derive(Debug)]\nenum E { A }\n", "#[cfg(test)]\nuse super::*;\n",
    ]),
    max_size=8,
)  # fmt: skip


@given(PIECES)
def test_every_piece_of_a_rust_source_is_on_one_side(pieces: list[str]) -> None:
    halves = inline_divided("src/a.rs", "".join(pieces))
    assert halves is not None
    is_test = [piece.startswith(("#[cfg(test)", "#[test]")) for piece in pieces]
    assert halves.product == "".join(piece for piece, test in zip(pieces, is_test, strict=True) if not test)
    assert halves.tests.replace("\n\n", "\n") == "".join(
        p for p, test in zip(pieces, is_test, strict=True) if test
    ).replace("\n\n", "\n")
    again = inline_divided("src/a.rs", joined(halves.product, halves.tests))
    assert again is not None
    assert again.product.strip() == halves.product.strip()


@given(st.text(alphabet="#[]cfgtes(){}\"'r/*\\\n x", max_size=60))
def test_any_text_is_divided_or_refused(text: str) -> None:
    inline_divided("src/a.rs", text)


@pytest.mark.parametrize("text", ["#[cfg(test)] mod t {", 'fn a() { "', "/* /* */", "#[test] )"])
def test_what_is_not_whole_is_not_divided(text: str) -> None:
    assert inline_divided("src/a.rs", text) is None
