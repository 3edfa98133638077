"""Tests in JavaScript, TypeScript, Go and Rust."""

from __future__ import annotations

from .integrity_case import Case

SUM_JS = """describe('sum', () => {
  it('adds', () => {
    expect(sum(1, 2)).toBe(3);
  });
  it('has zero', () => {
    expect(sum(0, 0)).toBe(0);
  });
});
"""
J = "src/sum.test.ts"
SUM_GO = 'package sum\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal("no")\n\t}\n}\n'
G = "sum_test.go"
SUM_RUST = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n}\n"
R = "src/lib.rs"


def in_file(name: str, path: str, before: str, after: str, *found: str) -> Case:
    return Case(name, {path: before}, {path: after}, found, ("npm test",))


SCRIPTS = (
    in_file(
        "js: a test added",
        J,
        SUM_JS,
        SUM_JS.replace("  it('has", "  it('adds more', () => { expect(sum(1, 1)).toBe(2); });\n  it('has"),
    ),
    in_file("js: a comment", J, SUM_JS, "// sums\n" + SUM_JS),
    in_file("js: formatting", J, SUM_JS, SUM_JS.replace("  ", "    ")),
    in_file("js: renamed", J, SUM_JS, SUM_JS.replace("has zero", "knows zero")),
    in_file("js: skipped", J, SUM_JS, SUM_JS.replace("it('has", "it.skip('has"), f"test_skipped {J}:4"),
    in_file("js: todo", J, SUM_JS, SUM_JS.replace("zero', ", "zero', {todo: true}, "), f"test_skipped {J}:4"),
    in_file(
        "js: skip in options",
        J,
        SUM_JS,
        SUM_JS.replace("zero', ", "zero', { timeout: 5, skip: 'later' }, "),
        f"test_skipped {J}:4",
    ),
    in_file("js: other options", J, SUM_JS, SUM_JS.replace("zero', ", "zero', { timeout: 5, skip: false }, ")),
    in_file("js: xit", J, SUM_JS, SUM_JS.replace("it('has", "xit('has"), f"test_skipped {J}:4"),
    in_file("js: a suite skipped", J, SUM_JS, SUM_JS.replace("describe(", "describe.skip("), f"test_skipped {J}:0"),
    in_file("js: only", J, SUM_JS, SUM_JS.replace("it('adds", "it.only('adds"), f"test_skipped {J}:1"),
    in_file("js: deleted", J, SUM_JS, SUM_JS[: SUM_JS.index("  it('has")] + "});\n", f"test_deleted {J}:4"),
    in_file("js: emptied", J, SUM_JS, SUM_JS.replace("expect(sum(0, 0)).toBe(0);", ""), f"test_weakened {J}:4"),
    in_file(
        "js: trivial",
        J,
        SUM_JS,
        SUM_JS.replace("expect(sum(0, 0)).toBe(0);", "expect(true).toBe(true);"),
        f"test_weakened {J}:4",
    ),
    in_file("js: another result", J, SUM_JS, SUM_JS.replace("toBe(3)", "toBe(4)"), f"test_modified {J}:2"),
    Case("js: a file moved", {J: SUM_JS}, {J: None, "test/sum.test.ts": SUM_JS}, (), ("npm test",)),
    in_file("go: a test added", G, SUM_GO, SUM_GO + "\nfunc TestZero(t *testing.T) {\n\tt.Log(1)\n}\n"),
    in_file("go: skipped", G, SUM_GO, SUM_GO.replace("\tif Add", "\tt.Skip()\n\tif Add"), f"test_skipped {G}:3"),
    in_file("go: another result", G, SUM_GO, SUM_GO.replace("!= 3", "!= 4"), f"test_modified {G}:4"),
    in_file("go: emptied", G, SUM_GO, SUM_GO[: SUM_GO.index("\tif Add")] + "}\n", f"test_weakened {G}:2"),
    in_file("rust: code beside tests", R, SUM_RUST, "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n" + SUM_RUST),
    in_file(
        "rust: ignored",
        R,
        SUM_RUST,
        SUM_RUST.replace("    #[test]", "    #[test]\n    #[ignore]"),
        f"test_skipped {R}:3",
    ),
    in_file("rust: no test any more", R, SUM_RUST, SUM_RUST.replace("    #[test]\n", ""), f"test_deleted {R}:3"),
    in_file("rust: another result", R, SUM_RUST, SUM_RUST.replace(", 3)", ", 4)"), f"test_modified {R}:4"),
    in_file(
        "rust: trivial",
        R,
        SUM_RUST,
        SUM_RUST.replace("assert_eq!(add(1, 2), 3)", "assert!(true)"),
        f"test_weakened {R}:3",
    ),
    in_file("js: quotes and semicolons", J, SUM_JS, SUM_JS.replace("'", '"').replace(";", "")),
    in_file(
        "js: a suite around a test",
        J,
        "it('adds', () => {\n  expect(sum(1, 2)).toBe(3);\n});\n",
        "describe('sum', () => {\n  it('adds', () => {\n    expect(sum(1, 2)).toBe(3);\n  });\n});\n",
    ),
    in_file("js: asynchronous", J, SUM_JS, SUM_JS.replace("'adds', () =>", "'adds', async () =>")),
    in_file(
        "js: an assertion added", J, SUM_JS, SUM_JS.replace("toBe(3);", "toBe(3);\n    expect(sum(2, 2)).toBe(4);")
    ),
    in_file("js: a skip taken away", J, SUM_JS.replace("it('has", "it.skip('has"), SUM_JS),
    in_file(
        "js: a variable renamed",
        J,
        "it('a', () => {\n  const a = f();\n  expect(a).toBe(1);\n});\n",
        "it('a', () => {\n  const b = f();\n  expect(b).toBe(1);\n});\n",
    ),
    Case("js: a new test file", {J: SUM_JS}, {"src/new.spec.js": SUM_JS.replace("sum", "new")}, (), ("npm test",)),
    Case(
        "js: the code",
        {J: SUM_JS, "src/sum.ts": "export const a = 1;\n"},
        {"src/sum.ts": "export const a = 2;\n"},
        (),
        ("npm test",),
    ),
    in_file("go: a comment", G, SUM_GO, SUM_GO.replace("\tif Add", "\t// sums\n\tif Add")),
    in_file("go: renamed", G, SUM_GO, SUM_GO.replace("TestAdd", "TestAddition")),
    in_file("go: a message", G, SUM_GO, SUM_GO.replace("package sum", 'package sum\n\nimport "testing"')),
    in_file(
        "rust: a test added",
        R,
        SUM_RUST,
        SUM_RUST.replace("    }\n}", "    }\n\n    #[test]\n    fn zero() {\n        assert!(f());\n    }\n}"),
    ),
    in_file("rust: renamed", R, SUM_RUST, SUM_RUST.replace("fn adds", "fn sums_up")),
    in_file(
        "js: each, skipped",
        J,
        "test.each([[1, 2], [f(2), 3]])('adds %i', (a, b) => {\n  expect(add(a)).toBe(b);\n});\n",
        "test.skip.each([[1, 2], [f(2), 3]])('adds %i', (a, b) => {\n  expect(add(a)).toBe(b);\n});\n",
        f"test_skipped {J}:0",
    ),
    in_file(
        "js: each, a case added",
        J,
        "test.each([[1, 2], [2, 3]])('adds %i', (a, b) => {\n  expect(add(a)).toBe(b);\n});\n",
        "test.each([[1, 2], [2, 3], [3, 4]])('adds %i', (a, b) => {\n  expect(add(a)).toBe(b);\n});\n",
    ),
    in_file(
        "js: an inner suite skipped",
        J,
        "describe('a', () => {\n  describe('b', () => {\n    it('c', () => { expect(f()).toBe(1) })\n  });\n});\n",
        "describe('a', () => {\n  describe.skip('b', () => {\n    it('c', () => { expect(f()).toBe(1) })\n  });\n});\n",
        f"test_skipped {J}:1",
    ),
)
