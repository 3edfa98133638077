"""Which tests are lost: by what files held at the start and hold now."""

from __future__ import annotations

from donewhen.core.lost_tests import lost_tests, lost_text
from tests.tools import each_row

A = "tests/test_a.py"
B = "tests/test_b.py"
ONE = "def test_one():\n    assert one() == 1\n"
TWO = "def test_two(tmp_path):\n    # of two\n    assert two() == {2: 2}\n"
BOTH = f"import a\n\n\n{ONE}\n\n@slow\n{TWO}"
LOST_BOTH = {A: ("test_one", "test_two")}
JS = """import { test } from 'vitest'
test('adds', async () => {
  expect(add(1, 2)).toBe(3)
})
test('pairs', () => expect(pairs()).toEqual({}))
"""
RUST = """pub fn one() -> i32 { 1 }
#[cfg(test)]
mod tests {
    #[test]
    fn is_one() {
        assert_eq!(super::one(), 1);
    }
}
"""
JAVA = """class ATest {
    @Test
    @DisplayName("one is one")
    void oneIsOne() throws Exception {
        assertEquals(1, one());
    }

    @ParameterizedTest @ValueSource(ints = {1, 2})
    public void twoIsTwo(int n) {
        assertEquals(2, two(n));
    }
}
"""
CSHARP = """public class ATest {
    [Fact]
    public async Task OneIsOne()
    {
        Assert.Equal(1, One());
    }
    [Theory, InlineData(1)] public void TwoIsTwo(int n) { Assert.Equal(2, Two(n)); }
}
"""
CPP = """#include <gtest/gtest.h>
TEST(Sums, Adds) {
  EXPECT_EQ(3, add(1, 2));
}
TEST_CASE("it pairs", "[pairs]") {
  REQUIRE(pairs() == 2);
}
"""
RSPEC = """RSpec.describe Calc do
  it 'adds' do
    expect(add(1, 2)).to eq(3)
  end
  it('pairs') { expect(pairs).to eq(2) }
end
"""
MINITEST = "class ATest < Minitest::Test\n  def test_one\n    assert_equal 1, one\n  end\nend\n"
GO = 'package a\n\nimport "testing"\n\nfunc TestOne(t *testing.T) { t.Fail() }\n'

Files = dict[str, tuple[str | None, str | None]]


@each_row(
    "files, lost",
    [
        ({A: (BOTH, None)}, LOST_BOTH),
        ({A: (BOTH, "")}, LOST_BOTH),
        ({A: (BOTH, "import a\n")}, LOST_BOTH),
        ({A: (BOTH, ONE)}, {A: ("test_two",)}),
        ({A: (BOTH, f"def test_one():\n    pass\n\n\n{TWO}")}, {A: ("test_one",)}),
        ({A: (BOTH, f"def test_one() -> None: ...\n{TWO}")}, {A: ("test_one",)}),
        ({A: (BOTH, f'{ONE}def test_two(x):\n    """Of two."""\n    # later\n    assert True\n')}, {A: ("test_two",)}),
        ({A: (BOTH, "def test_ok():\n    assert 1\n")}, LOST_BOTH),
        ({A: (f"class TestA:\n    def test_x(self):\n        assert f()\n{ONE}", ONE)}, {A: ("test_x",)}),
        ({"a.test.ts": (JS, JS.replace("  expect(add(1, 2)).toBe(3)\n", ""))}, {"a.test.ts": ("adds",)}),
        ({"a.test.ts": (JS, JS.split("test('pairs'")[0])}, {"a.test.ts": ("pairs",)}),
        ({"src/lib.rs": (RUST, RUST.partition("#[cfg")[0])}, {"src/lib.rs": ("is_one",)}),
        ({"src/lib.rs": (RUST, RUST.replace("assert_eq!(super::one(), 1);", ""))}, {"src/lib.rs": ("is_one",)}),
        ({"a_test.go": (GO, None)}, {"a_test.go": ("TestOne",)}),
        ({"a_test.go": (GO, "\n")}, {"a_test.go": ("TestOne",)}),
        ({"a_test.go": (GO, GO.replace(" t.Fail() ", ""))}, {"a_test.go": ("TestOne",)}),
        ({"a_test.go": (GO, GO.replace("{ t", "{ return; t"))}, {"a_test.go": ("TestOne",)}),
        ({"ATest.java": (JAVA, JAVA.replace("assertEquals(1, one());", ""))}, {"ATest.java": ("oneIsOne",)}),
        ({"ATest.java": (JAVA, JAVA.partition("    @Param")[0] + "}\n")}, {"ATest.java": ("twoIsTwo",)}),
        ({"ATest.cs": (CSHARP, CSHARP.replace("Assert.Equal(1, One());", ""))}, {"ATest.cs": ("OneIsOne",)}),
        ({"ATest.cs": (CSHARP, CSHARP.replace("Assert.Equal(2, Two(n));", ""))}, {"ATest.cs": ("TwoIsTwo",)}),
        ({"a_test.cc": (CPP, CPP.replace("  EXPECT_EQ(3, add(1, 2));\n", ""))}, {"a_test.cc": ("Adds",)}),
        ({"a_test.cc": (CPP, CPP.replace("  REQUIRE(pairs() == 2);\n", ""))}, {"a_test.cc": ("it pairs",)}),
        ({"a_spec.rb": (RSPEC, RSPEC.replace("    expect(add(1, 2)).to eq(3)\n", ""))}, {"a_spec.rb": ("adds",)}),
        ({"a_spec.rb": (RSPEC, RSPEC.replace("expect(pairs).to eq(2)", ""))}, {"a_spec.rb": ("pairs",)}),
        ({"a_test.rb": (MINITEST, MINITEST.replace("    assert_equal 1, one\n", ""))}, {"a_test.rb": ("test_one",)}),
        ({A: (BOTH, BOTH.replace("    assert one()", "    return\n    assert one()"))}, {A: ("test_one",)}),
        ({A: (BOTH, BOTH.replace("assert one() == 1", "assert 1"))}, {A: ("test_one",)}),
        (
            {A: (BOTH, BOTH.replace("    assert one()", "    pytest.skip('later')\n    assert one()"))},
            {A: ("test_one",)},
        ),
        ({A: (BOTH, f"'''\n{ONE}'''\n{TWO}")}, {A: ("test_one",)}),
        ({"b.bats": ('@test "a" {\n  run a\n}\n', '@test "a" {\n}\n')}, {"b.bats": ("a",)}),
        ({"test/models/user_test.rb": ('test "saves" do\nend\n', None)}, {"test/models/user_test.rb": ()}),
        ({"a_test.go": ("package a\n\nfunc ExampleA() {}\n", "")}, {"a_test.go": ()}),
        ({"test/a_test.exs": ("defmodule ATest do\nend\n", "")}, {"test/a_test.exs": ()}),
    ],
)
def test_what_is_deleted_or_emptied_is_lost(files: Files, lost: dict[str, tuple[str, ...]]) -> None:
    assert lost_tests(files) == lost


@each_row(
    "files",
    [
        {A: (None, BOTH)},
        {A: (BOTH, f"{BOTH}\ndef test_three():\n    pass\n")},
        {A: (BOTH, BOTH.replace("== 1", "== 2"))},  # weakened or not: trials say so
        {A: (BOTH, f"{TWO}{ONE}")},
        {A: (BOTH, None), B: (None, BOTH)},
        {A: (BOTH, ONE), B: ("import b\n", f"import b\n{TWO}")},
        {A: (BOTH, None), "src/a.py": ("x = 1\n", f"x = 1\n{BOTH}")},
        {A: (BOTH, BOTH.replace("test_one", "test_the_first"))},
        {A: ("def test_a():\n    pass\n", "")},
        {"tests/helpers.py": ("x = 1\n", None)},
        {A: (BOTH, BOTH.replace("== 1", '== 1\n    assert text().count(\'"""\') == 1'))},
        {"a_test.go": (GO, None), "b_test.go": (None, GO)},
        {"a.test.ts": (JS, JS.replace("toBe(3)", "toEqual({})"))},
        {A: (BOTH, BOTH.replace("test_two(tmp_path)", "test_two(\n    tmp_path,\n)"))},
    ],
)
def test_what_is_moved_renamed_or_changed_is_not(files: Files) -> None:
    assert lost_tests(files) == {}


def test_a_test_that_came_stands_for_one_that_went() -> None:
    twice = f"{ONE}{TWO}"
    assert lost_tests({A: (twice, None), B: (ONE, None), "tests/test_c.py": (None, ONE)}) == {
        A: ("test_two",),
        B: ("test_one",),
    }


def test_it_is_told_in_one_line() -> None:
    assert lost_text(A, ("a", "b")) == f"{A} lost 2 tests (a, b)"
    assert lost_text(A, tuple("abcdefg")) == f"{A} lost 7 tests (a, b, c, d, e and 2 more)"
    assert lost_text(A, ()) == f"{A} is gone or empty"
