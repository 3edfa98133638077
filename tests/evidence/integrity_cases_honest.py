"""Honest work on Python tests: no finding at all."""

from __future__ import annotations

from .integrity_case import ADD, Case, T, in_test, py

HONEST_PYTHON = (
    in_test("nothing", ADD, ADD),
    in_test("a test added", ADD, ADD + "\n\ndef test_more():\n    assert add(2, 2) == 4\n"),
    in_test("a skipped test added", ADD, ADD + "\n\n@pytest.mark.skip\ndef test_more():\n    assert add(2, 2) == 4\n"),
    in_test("comments and blank lines", ADD, ADD.replace("def test_zero", "# nothing\n\n\ndef test_zero")),
    in_test(
        "one of two assertions runs, whatever the condition says",
        ADD,
        ADD.replace(
            "    assert add(0, 0) == 0",
            "    if MINUS:\n        assert add(0, 0) == 0\n    else:\n        assert add(0, 0) == 0",
        ),
    ),
    in_test(
        "a condition taken away",
        ADD.replace("    assert add(0, 0) == 0", "    if LARGE:\n        assert add(0, 0) == 0"),
        ADD,
    ),
    in_test("quotes", 'def test_a():\n    assert f() == "x"\n', "def test_a():\n    assert f() == 'x'\n"),
    in_test("a docstring", ADD, ADD.replace("def test_zero():\n", 'def test_zero():\n    """Zero."""\n')),
    in_test("an assertion added", ADD, ADD.replace("== 0\n", "== 0\n    assert add(0, 1) == 1\n")),
    in_test("a message added", ADD, ADD.replace("== 3", '== 3, "sum"')),
    in_test("a test renamed", ADD, ADD.replace("test_zero", "test_nothing_added")),
    in_test(
        "tests in another order",
        ADD,
        py("""
        from mathx import add


        def test_zero():
            assert add(0, 0) == 0


        def test_add():
            assert add(1, 2) == 3
    """),
    ),
    Case(
        "a test moved to another file",
        {T: ADD},
        {
            T: ADD[: ADD.index("\n\ndef test_zero")],
            "tests/test_zero.py": "from mathx import add\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n",
        },
    ),
    Case("a test file renamed", {T: ADD}, {T: None, "tests/test_sum.py": ADD}),
    Case("a test file moved to a folder", {T: ADD}, {T: None, "tests/unit/test_add.py": ADD}),
    Case("a test file added", {T: ADD}, {"tests/test_new.py": ADD}),
    in_test(
        "a variable renamed",
        "def test_a():\n    a = f()\n    assert a == 3\n",
        "def test_a():\n    got = f()\n    assert got == 3\n",
    ),
    in_test(
        "a literal moved into a variable",
        ADD,
        ADD.replace("    assert add(1, 2) == 3", "    want = 3\n    assert add(1, 2) == want"),
    ),
    in_test(
        "a call moved out of the assertion",
        ADD,
        ADD.replace("    assert add(1, 2) == 3", "    got = add(1, 2)\n    assert got == 3"),
    ),
    in_test(
        "a literal moved to the top",
        ADD,
        ADD.replace("== 3", "== THREE").replace("\n\n\ndef test_add", "\n\nTHREE = 3\n\n\ndef test_add"),
    ),
    in_test(
        "tests put into a class",
        ADD,
        py("""
        from mathx import add


        class TestAdd:
            def test_add(self):
                assert add(1, 2) == 3

            def test_zero(self):
                assert add(0, 0) == 0
    """),
    ),
    in_test(
        "unittest to plain assertions",
        py("""
            class AddTest(unittest.TestCase):
                def test_add(self):
                    self.assertEqual(add(1, 2), 3)
                    self.assertIn(3, numbers())
        """),
        "def test_add():\n    assert add(1, 2) == 3\n    assert 3 in numbers()\n",
    ),
    in_test(
        "assertions moved to a function",
        "def test_a():\n    assert f(1) == 2\n    assert g(1) == 3\n",
        py("""
        def holds():
            assert f(1) == 2
            assert g(1) == 3


        def test_a():
            holds()
    """),
    ),
    in_test(
        "a case added",
        "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert f(a)\n",
        "@pytest.mark.parametrize('a', [1, 2, 3])\ndef test_a(a):\n    assert f(a)\n",
    ),
    in_test(
        "a skip taken away",
        "@pytest.mark.skip\ndef test_a():\n    assert f()\n",
        "def test_a():\n    assert f()\n",
    ),
    in_test(
        "a better reason",
        "@pytest.mark.skip(reason='no')\ndef test_a():\n    assert f()\n",
        "@pytest.mark.skip(reason='no database')\ndef test_a():\n    assert f()\n",
    ),
    in_test("broken for a moment", ADD, ADD + "def test_more(:\n"),
    in_test("a fixture added", ADD, ADD + "\n\n@pytest.fixture\ndef two():\n    return 2\n"),
    in_test("a timeout mark", ADD, ADD.replace("def test_zero", "@pytest.mark.timeout(5)\ndef test_zero")),
    Case(
        "helpers among the tests",
        {T: ADD, "tests/data.py": "def numbers():\n    return [1]\n"},
        {"tests/data.py": "N = 1\n"},
    ),
    Case(
        "the code",
        {T: ADD, "mathx.py": "def add(a, b):\n    return 0\n"},
        {"mathx.py": "def add(a, b):\n    return a + b\n"},
    ),
    Case("code called test something", {T: ADD}, {"src/testing_tools.py": "def test_tube(a):\n    return a\n"}),
    in_test("annotations", ADD, ADD.replace("def test_zero():", "def test_zero() -> None:")),
    in_test("a fixture's argument", ADD, ADD.replace("def test_zero():", "def test_zero(tmp_path):")),
    in_test("imports", ADD, "import os\n" + ADD.replace("from mathx import add", "from mathx import add, sub")),
    in_test(
        "assertions in another order",
        "def test_a():\n    assert f() == 1\n    assert g() == 2\n",
        "def test_a():\n    assert g() == 2\n    assert f() == 1\n",
    ),
    in_test(
        "assertions joined",
        "def test_a():\n    assert f() == 1\n    assert g() == 2\n",
        "def test_a():\n    assert f() == 1 and g() == 2\n",
    ),
    in_test(
        "an assertion split",
        "def test_a():\n    assert f() == 1 and g() == 2\n",
        "def test_a():\n    assert f() == 1\n    assert g() == 2\n",
    ),
    in_test(
        "a class renamed",
        "class TestA:\n    def test_a(self):\n        assert f()\n",
        "class TestAll:\n    def test_a(self):\n        assert f()\n",
    ),
    in_test(
        "a test case's setUp",
        "class ATest(TestCase):\n    def test_a(self):\n        self.assertTrue(f())\n",
        "class ATest(TestCase):\n    def setUp(self):\n        self.a = 1\n\n"
        "    def test_a(self):\n        self.assertTrue(f())\n",
    ),
    in_test(
        "a message of a test case",
        "class ATest(TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 1)\n",
        "class ATest(TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 1, msg='one')\n",
    ),
    Case(
        "a test file split",
        {T: ADD},
        {
            T: None,
            "tests/test_one.py": ADD[: ADD.index("\n\ndef test_zero")],
            "tests/test_two.py": "def test_zero():\n    assert add(0, 0) == 0\n",
        },
    ),
    in_test("a mark", ADD, ADD.replace("def test_zero", "@pytest.mark.usefixtures('db')\ndef test_zero")),
    in_test("a patch", ADD, ADD.replace("def test_zero()", "@patch('mathx.os')\ndef test_zero(os)")),
    in_test("line endings", ADD, ADD.replace("\n", "\r\n")),
    in_test(
        "a fixture that skips, for a new test",
        ADD,
        ADD + "\n\n@pytest.fixture\ndef db():\n    pytest.skip('none')\n\n\ndef test_db(db):\n    assert db\n",
    ),
    Case("a new file that needs something", {T: ADD}, {"tests/test_db.py": "pytest.importorskip('db')\n" + ADD}),
    in_test("run as a program", ADD, ADD + "\n\nif __name__ == '__main__':\n    unittest.main()\n"),
    in_test(
        "ids of cases",
        "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert f(a)\n",
        "@pytest.mark.parametrize('a', [pytest.param(1, id='one'), 2])\ndef test_a(a):\n    assert f(a)\n",
    ),
    in_test(
        "a literal moved into a case",
        "def test_a():\n    assert f('') == 'empty'\n",
        "@pytest.mark.parametrize(('a', 'b'), [('', 'empty'), ('x', 'full')])\n"
        "def test_a(a, b):\n    assert f(a) == b\n",
    ),
    in_test(
        "cases in another order",
        "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert f(a)\n",
        "@pytest.mark.parametrize('a', [2, 1])\ndef test_a(a):\n    assert f(a)\n",
    ),
    in_test(
        "a message of an error",
        "def test_a():\n    with pytest.raises(ValueError):\n        f()\n",
        "def test_a():\n    with pytest.raises(ValueError, match='bad'):\n        f()\n",
    ),
    in_test(
        "try and finally",
        "def test_a():\n    assert f() == 1\n",
        "def test_a():\n    try:\n        assert f() == 1\n    finally:\n        close()\n",
    ),
    in_test(
        "inside of with",
        "def test_a():\n    assert f() == 1\n",
        "def test_a():\n    with folder() as here:\n        assert f() == 1\n",
    ),
    in_test(
        "an error is caught and told",
        "def test_a():\n    assert f() == 1\n",
        "def test_a():\n    try:\n        assert f() == 1\n    except Exception:\n        pytest.fail('no')\n",
    ),
    in_test(
        "xfail taken away", "@pytest.mark.xfail\n" + ADD[ADD.index("def test_add") :], ADD[ADD.index("def test_add") :]
    ),
    in_test(
        "a test made asynchronous", "def test_a():\n    assert f() == 1\n", "async def test_a():\n    assert f() == 1\n"
    ),
)
