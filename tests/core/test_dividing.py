"""What a worker changed, divided into proof and product."""

from __future__ import annotations

from donewhen.core.proof_files import ProofFiles
from donewhen.core.trials.dividing import Before, Divided, Same, divided
from tests.tools import each_row

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


SETTINGS = '[project]\nname = "shop"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'
BARE = '[project]\nname = "shop"\n'
ROOT = ("pyproject.toml", "shop", "shop/__init__.py", "tests", "tests/test_a.py", "pricing.py", "conftest.py")
MOVED = ("pyproject.toml", "src/shop/__init__.py", "src/pricing.py", "tests/test_a.py", "conftest.py")


def _beside(first: str, second: str = "") -> str:
    return SETTINGS.replace("addopts", f"pythonpath = {first}\naddopts").replace("-q", second or "-q")


@each_row(
    "path, before, now, present, follows",
    [
        ("pyproject.toml", SETTINGS, _beside('["src"]'), MOVED, True),
        ("pyproject.toml", SETTINGS, _beside('[\n  "./src/",\n]'), MOVED, True),
        ("pyproject.toml", _beside('["."]'), _beside('["src"]'), MOVED, True),
        ("pyproject.toml", BARE, BARE + '[tool.pytest.ini_options]\npythonpath = ["src"]\n', MOVED, True),
        ("pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q\npythonpath =\n    src\n", MOVED, True),
        # Something else changed, too.
        ("pyproject.toml", SETTINGS, _beside('["src"]', "-k one"), MOVED, False),
        ("pyproject.toml", SETTINGS, _beside('["src"]').replace('addopts = "-q"\n', ""), MOVED, False),
        # A first section, where another file may hold settings.
        ("pytest.ini", None, "[pytest]\npythonpath = src\n", MOVED, False),
        # What could stand in for something else.
        ("pyproject.toml", SETTINGS, _beside('["src"]'), (*MOVED, "src/requests.py"), False),
        ("pyproject.toml", SETTINGS, _beside('["src"]'), (*MOVED, "src/conftest.py"), False),
        ("pyproject.toml", SETTINGS, _beside('["src"]'), (*MOVED, "shop/__init__.py"), False),
        ("pyproject.toml", SETTINGS, _beside('["src", "tests"]'), MOVED, False),
        ("pyproject.toml", SETTINGS, _beside('["src", "../x"]'), MOVED, False),
        ("pyproject.toml", SETTINGS, _beside('["src", "/tmp"]'), MOVED, False),
        ("pyproject.toml", SETTINGS, _beside('["src", "."]'), MOVED, False),
        ("pyproject.toml", SETTINGS, _beside('["lib"]'), MOVED, False),
        ("sub/pyproject.toml", SETTINGS, _beside('["src"]'), MOVED, False),
    ],
)
def test_where_a_runner_finds_the_product_goes_with_a_product_that_was_moved(
    path: str, before: str | None, now: str, present: tuple[str, ...], follows: bool
) -> None:
    was = before.encode() if before is not None else None
    found = divided(FILES, path, was, now.encode(), ROOT, present)
    assert found.proof is not follows
    if follows:
        assert found == Divided(path, False, True, reverted=Before())


def test_a_task_file_may_gain_a_task() -> None:
    assert of("Makefile", "test:\n\tpytest\n", "test:\n\tpytest\ncheck:\n\ttrue\n").adds
    assert not of("Makefile", "test:\n\tpytest\n", "test:\n\ttrue\n").adds


@each_row(
    "now, product",
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


DOCUMENTED = '''def quote(text):
    """Quotes.

    >>> quote("a,b")
    '"a,b"'
    """
    return text
'''


def test_examples_of_a_module_are_proof_only_where_a_check_runs_them() -> None:
    now = DOCUMENTED.replace("'\"a,b\"'", "'a,b'").replace("return text", "return text + ''")
    assert not divided(ProofFiles(), "src/a.py", DOCUMENTED.encode(), now.encode()).proof
    found = divided(ProofFiles(doctests=True), "src/a.py", DOCUMENTED.encode(), now.encode())
    assert (found.proof, found.product, found.adds, found.doubt) == (True, True, False, "")
    assert found.original == DOCUMENTED.replace("return text", "return text + ''").encode()
    assert found.reverted == DOCUMENTED.replace("'\"a,b\"'", "'a,b'").encode()


@each_row(
    "was, now, proof, adds",
    [
        ("return text", "return text + ''", False, False),
        ("Quotes.", "Quotes a text.", False, False),
        ("Quotes.\n", "Quotes.\n\n    >>> quote('')\n    ''\n", True, True),
        ('>>> quote("a,b")', '>>> quote("a")', True, False),
    ],
)
def test_an_example_more_only_adds(was: str, now: str, proof: bool, adds: bool) -> None:
    after = DOCUMENTED.replace(was, now)
    found = divided(ProofFiles(doctests=True), "src/a.py", DOCUMENTED.encode(), after.encode())
    assert (found.proof, found.adds) == (proof, adds)


def test_examples_in_prose_are_divided_too() -> None:
    before, now = "Use it:\n\n>>> 1 + 1\n2\n\nDone.\n", "Use it:\n\n>>> 1 + 1\n2\n\nReady.\n"
    assert not divided(ProofFiles(doctests=True), "README.md", before.encode(), now.encode()).proof
    assert divided(ProofFiles(doctests=True), "README.md", before.encode(), b"Done.\n").original == (
        b">>> 1 + 1\n2\n\nDone.\n"
    )


MODULE = """def quote(text):
    return text


def test_quote():
    assert quote("a,b") == '"a,b"'
"""


def test_the_test_functions_of_a_module_are_proof_where_a_check_names_it() -> None:
    now = MODULE.replace("assert quote", "quote").replace("return text", "return 1")
    files = ProofFiles(tested=frozenset({"shop/quoting.py"}))
    found = divided(files, "shop/quoting.py", MODULE.encode(), now.encode())
    assert found.original == MODULE.replace("return text", "return 1").encode()
    assert found.reverted == now.replace("return 1", "return text").encode()
    other = divided(files, "shop/other.py", MODULE.encode(), now.encode())
    assert (other.proof, other.product) == (False, True)


IN_SOURCE = """export const quote = (text: string) => text;

if (import.meta.vitest) {
  const { expect, it } = import.meta.vitest;
  it("quotes", () => expect(quote("a,b")).toBe('"a,b"'));
}
"""


def test_a_block_of_vitest_is_divided_from_its_source() -> None:
    now = IN_SOURCE.replace(".toBe('\"a,b\"')", "").replace("=> text;", "=> `${text}`;")
    found = of("src/a.ts", IN_SOURCE, now)
    assert (found.proof, found.product, found.doubt) == (True, True, "")
    assert found.original == IN_SOURCE.replace("=> text;", "=> `${text}`;").encode()
    assert found.reverted == now.replace("=> `${text}`;", "=> text;").encode()
    product = of("src/a.ts", IN_SOURCE, IN_SOURCE.replace("=> text;", "=> `${text}`;"))
    assert (product.proof, product.reverted) == (False, Before())
    assert not of("src/b.ts", "export const b = 1;", "export const b = 2;").doubt


VITE = """import { defineConfig } from "vitest/config";
export default defineConfig({
  plugins: [],
  test: { include: ["src/**/*.test.ts"] },
  build: { target: "es2022" }
});
"""


def test_the_section_of_vitest_in_vites_configuration_is_divided() -> None:
    now = VITE.replace("src/**", "none/**").replace("es2022", "es2024")
    found = of("vite.config.ts", VITE, now)
    assert found.original == VITE.replace("es2022", "es2024").encode()
    assert found.reverted == VITE.replace("src/**", "none/**").encode()
    assert not of("vite.config.ts", VITE, VITE.replace("es2022", "es2024")).proof


@each_row(
    "path, before, now",
    [
        ("src/a.ts", IN_SOURCE, IN_SOURCE.replace("it(", "it((")),
        ("src/a.ts", IN_SOURCE, IN_SOURCE.replace("=> text;", '=> import.meta.vitest ? `"${text}"` : text;')),
        ("vite.config.ts", VITE, VITE.replace("defineConfig({", "defineConfig(() => ({").replace("});", "}));")),
        ("src/lib.rs", LIB, LIB.replace("let brace", "#[cfg(test)] return String::new(); let brace")),
        ("src/lib.rs", LIB, LIB + "macro_rules! check { ($n:ident) => { #[test] fn $n() {} } }\n"),
        ("src/lib.rs", LIB, LIB + '#[cfg_attr(test, path = "fake.rs")]\nmod real;\n'),
        ("src/lib.rs", LIB, LIB.removesuffix("}\n")),
    ],
)
def test_what_can_not_be_taken_apart_is_in_doubt(path: str, before: str, now: str) -> None:
    assert path in of(path, before, now).doubt
