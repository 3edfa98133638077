"""What tests call: names that stand for something else, constants, and functions in files beside the tests."""

from __future__ import annotations

from .integrity_case import ADD, Case, T, in_test

CASES = "CASES = [(1, 2, 3), (0, 0, 0)]\n\n\n"
LISTED = '@pytest.mark.parametrize("a,b,c", CASES)\ndef test_add(a, b, c):\n    assert add(a, b) == c\n'
CALLS = "from helpers import same\nfrom mathx import add\n\n\ndef test_add():\n    same(add(1, 2), 3)\n"
HELPERS = "tests/helpers.py"
SAME = "def same(a, b):\n    assert a == b\n"


def called(name: str, before: str, after: str, *found: str) -> Case:
    return Case(name, {T: CALLS, HELPERS: before}, {HELPERS: after}, found)


ZERO_CHECKED = ADD.replace("    assert add(0, 0) == 0", "    check(0, 0, 0)")
CHECK = "def check(a, b, c):\n    assert add(a, b) == c\n"
METHODS = """class AddTest(TestCase):
    def check(self, a, expected):
        self.assertEqual(add(a, a), expected)

    def test_two(self):
        self.check(1, 2)
"""
INLINE = """class AddTest(TestCase):
    def test_two(self):
        self.assertEqual(add(1, 1), 2)
"""


BINDINGS = (
    in_test("an assertion moved into a function", ADD, ZERO_CHECKED + "\n\n" + CHECK),
    in_test(
        "a function called with less",
        ZERO_CHECKED + "\n\n" + CHECK,
        ZERO_CHECKED.replace("check(0, 0, 0)", "check(0, 0, 1)") + "\n\n" + CHECK,
        f"test_modified {T}:8",
    ),
    in_test("an assertion moved into a method", INLINE, METHODS),
    in_test(
        "a method that asserts less",
        METHODS,
        METHODS.replace("self.assertEqual(add(a, a), expected)", "add(a, expected)"),
        f"test_weakened {T}:4",
    ),
    in_test(
        "a result in a variable, and asserted more of",
        ADD,
        ADD.replace(
            "    assert add(0, 0) == 0", "    sum = add(0, 0)\n    assert sum == 0\n    assert type(sum) is int"
        ),
    ),
    in_test("imported from elsewhere", ADD, ADD.replace("mathx", "mathy"), f"test_modified {T}:0"),
    in_test("bound by lambda", ADD, ADD.replace("\n\n\n", "\nadd = lambda a, b: 3\n\n\n", 1), f"test_modified {T}:1"),
    in_test("defined again in the test file", ADD, ADD + "\n\ndef add(a, b):\n    return 3\n", f"test_modified {T}:11"),
    in_test(
        "defined instead of imported",
        ADD,
        ADD.replace("from mathx import add", "def add(a, b):\n    return 3"),
        f"test_modified {T}:0",
    ),
    in_test(
        "bound again by a function",
        ADD,
        ADD + "\n\ndef setup_module():\n    global add\n    add = None\n",
        f"test_modified {T}:12",
    ),
    in_test(
        "mocked in the test's own file",
        ADD,
        ADD.replace("def test_zero", "@mock.patch('tests.test_add.add', lambda a, b: 0)\ndef test_zero"),
        f"test_modified {T}:7",
    ),
    in_test("another name mocked", ADD, ADD.replace("def test_zero", "@mock.patch('mathx.log.add')\ndef test_zero")),
    in_test("a definition of its own, imported now", "def same(a, b):\n    assert a == b\n\n\n" + CALLS[26:], CALLS),
    in_test(
        "imported under the same name",
        ADD,
        ADD + "\n\nfrom mathx import add_for_tests as add\n",
        f"test_modified {T}:11",
    ),
    in_test(
        "Python's own bound",
        "def test_a():\n    assert len(f()) == 1\n",
        "def len(a):\n    return 1\n\n\ndef test_a():\n    assert len(f()) == 1\n",
        f"test_modified {T}:0",
    ),
    in_test("a helper added that no test uses", ADD, ADD + "\n\ndef sub(a, b):\n    return a - b\n"),
    in_test("an import in two lines", ADD, "import json\nfrom mathx import (\n    add,\n    sub,\n)\n" + ADD[23:]),
    in_test("a name of its own", "N = f()\n\n\n" + ADD + "\n\nX = N\n", "N = g()\n\n\n" + ADD + "\n\nX = N\n"),
    in_test("imports for the checker of types", ADD, "if TYPE_CHECKING:\n    from mathy import add\n" + ADD),
    in_test("an import gone", "import os\n" + ADD + "\n\nX = os\n", ADD),
    in_test("an attribute of a test's own", ADD, ADD + "\n\ntest_add.slow = True\n"),
    in_test(
        "cases of a constant changed", CASES + LISTED, CASES.replace("2, 3", "0, 1") + LISTED, f"test_modified {T}:4"
    ),
    in_test(
        "cases of a constant gone", CASES + LISTED, CASES.replace(", (0, 0, 0)", "") + LISTED, f"test_weakened {T}:4"
    ),
    in_test("a case of a constant added", CASES + LISTED, CASES.replace("[(1", "[(2, 2, 4), (1") + LISTED),
    in_test(
        "cases moved to a constant",
        LISTED.replace("CASES", "[(1, 2, 3), (0, 0, 0)]"),
        CASES + LISTED,
    ),
    called("an assertion of a helper gone", SAME, SAME.replace("assert a == b", "pass"), f"test_weakened {HELPERS}:0"),
    called(
        "a helper expects something else",
        "def one(a):\n    assert a == 1\n",
        "def one(a):\n    assert a == 2\n",
        f"test_modified {HELPERS}:1",
    ),
    Case(
        "an assertion of the code gone",
        {"test_add.py": ADD, "mathx.py": "def add(a, b):\n    assert a\n    return a\n"},
        {"mathx.py": "def add(a, b):\n    return a + b\n"},
    ),
    called("a helper asserts more", SAME, SAME + "    assert type(a) is type(b)\n"),
    called("a helper without assertions", SAME, SAME + "\n\ndef numbers():\n    return [1]\n"),
    called(
        "other changes of a helper",
        "def numbers():\n    return [1]\n\n\n" + SAME,
        "def numbers():\n    return [2]\n\n\n" + SAME.replace("    assert", "    a = norm(a)\n    assert"),
    ),
    Case(
        "a module that stands in for the code",
        {T: ADD, "mathx.py": "def add(a, b):\n    return 0\n"},
        {"tests/mathx.py": "def add(a, b):\n    return a + b\n"},
        ("check_program tests/mathx.py:0",),
    ),
    Case(
        "a package that stands in for the code",
        {T: ADD, "src/mathx/__init__.py": "def add(a, b):\n    return 0\n"},
        {"mathx/__init__.py": "def add(a, b):\n    return a + b\n"},
        ("check_program mathx/__init__.py:0",),
    ),
    Case(
        "a module among the tests that is no product's",
        {T: ADD, "mathx.py": "def add(a, b):\n    return 0\n"},
        {"tests/numbers_for_tests.py": "N = 1\n"},
    ),
    Case(
        "a module among tests of a package",
        {T: ADD, "tests/__init__.py": "", "mathx.py": "def add(a, b):\n    return 0\n"},
        {"tests/mathx.py": "N = 1\n"},
    ),
    *(
        Case(
            f"the product replaced by {name}",
            {T: ADD, "mathx.py": "def add(a, b):\n    return 0\n"},
            {path: f"{start}\n\nif True:\n    {patch}\n"},
            (f"test_modified {path}:3",),
        )
        for name, path, start, patch in (
            ("a new test module", "tests/test_aaa.py", "import mathx", "mathx.add = lambda a, b: a + b"),
            ("the package of the tests", "tests/__init__.py", "import mathx as m", "m.add = lambda a, b: a + b"),
            ("setattr", "tests/test_aaa.py", "import mathx", "setattr(mathx, 'add', lambda a, b: a + b)"),
        )
    ),
    Case(
        "a method of the product replaced",
        {T: ADD, "src/mathx/sums.py": "class Sum:\n    def add(self, a, b):\n        return 0\n"},
        {"tests/helping.py": "from mathx.sums import Sum\n\nSum.add = lambda self, a, b: a + b\n"},
        ("test_modified tests/helping.py:2",),
    ),
    Case(
        "a setting of the product",
        {T: ADD, "settings.py": "DEBUG = False\n"},
        {"tests/test_more.py": "import settings\n\nsettings.DEBUG = True\n"},
    ),
    Case(
        "a function replaced for one test",
        {T: ADD, "mathx.py": "def add(a, b):\n    return 0\n"},
        {"tests/test_more.py": "import mathx\n\n\ndef test_more(patch):\n    patch.setattr(mathx, 'add', f)\n"},
    ),
    Case(
        "a function that was replaced before",
        {T: ADD, "mathx.py": "def add(a, b):\n    return 0\n", "tests/test_b.py": "import mathx\n\nmathx.add = f\n"},
        {"tests/test_b.py": "import os\nimport mathx\n\nmathx.add = f\n"},
    ),
    Case(
        "a folder of tests that is not a package any more",
        {T: ADD, "tests/__init__.py": ""},
        {"tests/__init__.py": None},
        (f"test_uncollected {T}:0",),
        ("python -m unittest",),
    ),
    Case("no package any more, for pytest", {T: ADD, "tests/__init__.py": ""}, {"tests/__init__.py": None}),
    Case(
        "a package of tests that moves",
        {T: ADD, "tests/__init__.py": ""},
        {T: None, "tests/__init__.py": None, "checks/__init__.py": "", "checks/test_add.py": ADD},
        (),
        ("python -m unittest",),
    ),
)
