"""Python tests that prove less than before."""

from __future__ import annotations

from .integrity_case import ADD, Case, T, in_test

DISHONEST_PYTHON = (
    in_test("a test deleted", ADD, ADD[: ADD.index("\n\ndef test_zero")], f"test_deleted {T}:7"),
    Case("a test file deleted", {T: ADD}, {T: None}, (f"test_deleted {T}:0",)),
    in_test(
        "a test commented out",
        ADD,
        ADD.replace("def test_zero", "# def test_zero").replace("    assert add(0", "    # assert add(0"),
        f"test_deleted {T}:7",
    ),
    in_test("skip", ADD, ADD.replace("def test_add", "@pytest.mark.skip\ndef test_add"), f"test_skipped {T}:3"),
    in_test(
        "skipif",
        ADD,
        ADD.replace("def test_zero", "@pytest.mark.skipif(True, reason='x')\ndef test_zero"),
        f"test_skipped {T}:7",
    ),
    in_test("xfail", ADD, ADD.replace("def test_zero", "@pytest.mark.xfail\ndef test_zero"), f"test_skipped {T}:7"),
    in_test(
        "unittest skip",
        ADD,
        ADD.replace("def test_zero", "@unittest.skip('later')\ndef test_zero"),
        f"test_skipped {T}:7",
    ),
    in_test(
        "pytest.skip()",
        ADD,
        ADD.replace("    assert add(0", "    pytest.skip('later')\n    assert add(0"),
        f"test_skipped {T}:8",
    ),
    in_test(
        "a conditional pytest.skip()",
        ADD,
        ADD.replace("    assert add(0", "    if CI:\n        pytest.skip('later')\n    assert add(0"),
        f"test_skipped {T}:9",
    ),
    in_test(
        "return at the top", ADD, ADD.replace("    assert add(0", "    return\n    assert add(0"), f"test_skipped {T}:8"
    ),
    in_test(
        "pytestmark",
        ADD,
        ADD.replace("\n\n\ndef test_add", "\n\npytestmark = pytest.mark.skip\n\n\ndef test_add"),
        f"test_skipped {T}:2",
    ),
    in_test("module skip", ADD, "pytest.skip('x', allow_module_level=True)\n" + ADD, f"test_skipped {T}:0"),
    in_test(
        "an alias of skip",
        ADD,
        ADD.replace("def test_add", "later = pytest.mark.skip(reason='x')\n\n\n@later\ndef test_add"),
        f"test_skipped {T}:6",
    ),
    in_test(
        "an autouse fixture that skips",
        ADD,
        ADD + "\n\n@pytest.fixture(autouse=True)\ndef later():\n    pytest.skip('x')\n",
        f"test_skipped {T}:13",
    ),
    in_test(
        "a class skipped",
        "class TestA:\n    def test_a(self):\n        assert f()\n",
        "@pytest.mark.skip\nclass TestA:\n    def test_a(self):\n        assert f()\n",
        f"test_skipped {T}:0",
    ),
    in_test(
        "a case skipped",
        "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert f(a)\n",
        "@pytest.mark.parametrize('a', [1, pytest.param(2, marks=pytest.mark.skip)])\n"
        "def test_a(a):\n    assert f(a)\n",
        f"test_skipped {T}:0",
    ),
    in_test(
        "a case gone",
        "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert f(a)\n",
        "@pytest.mark.parametrize('a', [1])\ndef test_a(a):\n    assert f(a)\n",
        f"test_weakened {T}:1",
    ),
    in_test(
        "a case changed",
        "@pytest.mark.parametrize('a, b', [(1, 2), (2, 3)])\ndef test_a(a, b):\n    assert f(a) == b\n",
        "@pytest.mark.parametrize('a, b', [(1, 2), (2, 4)])\ndef test_a(a, b):\n    assert f(a) == b\n",
        f"test_modified {T}:1",
    ),
    in_test(
        "renamed and skipped",
        ADD,
        ADD.replace("def test_zero", "@pytest.mark.skip\ndef test_nothing"),
        f"test_skipped {T}:7",
    ),
    Case(
        "moved and skipped",
        {T: ADD},
        {T: None, "tests/test_sum.py": ADD.replace("def test_zero", "@pytest.mark.skip\ndef test_zero")},
        ("test_skipped tests/test_sum.py:7",),
    ),
    in_test(
        "an assertion gone",
        "def test_a():\n    assert f() == 1\n    assert g() == 2\n",
        "def test_a():\n    assert f() == 1\n    g()\n",
        f"test_weakened {T}:0",
    ),
    in_test("emptied", ADD, ADD.replace("assert add(0, 0) == 0", "pass"), f"test_weakened {T}:7"),
    in_test(
        "asserted under a condition",
        ADD,
        ADD.replace("    assert add(0, 0) == 0", "    if add(0, 0) == 0:\n        assert add(0, 0) == 0"),
        f"test_weakened {T}:7",
    ),
    in_test("assert True", ADD, ADD.replace("assert add(0, 0) == 0", "assert True"), f"test_weakened {T}:7"),
    in_test("or True", ADD, ADD.replace("add(0, 0) == 0", "add(0, 0) == 0 or True"), f"test_weakened {T}:7"),
    in_test("a tuple asserted", ADD, ADD.replace("add(0, 0) == 0", "(add(0, 0) == 0, 'zero')"), f"test_weakened {T}:7"),
    in_test(
        "failure swallowed",
        ADD,
        ADD.replace(
            "    assert add(0, 0) == 0", "    try:\n        assert add(0, 0) == 0\n    except Exception:\n        pass"
        ),
        f"test_weakened {T}:7",
    ),
    in_test(
        "failure suppressed",
        ADD,
        ADD.replace("    assert add(0, 0) == 0", "    with suppress(AssertionError):\n        assert add(0, 0) == 0"),
        f"test_weakened {T}:7",
    ),
    in_test(
        "never reached",
        ADD,
        ADD.replace("    assert add(0, 0) == 0", "    if False:\n        assert add(0, 0) == 0"),
        f"test_weakened {T}:7",
    ),
    in_test(
        "a call without an assertion emptied",
        "def test_a():\n    run()\n",
        "def test_a():\n    pass\n",
        f"test_weakened {T}:0",
    ),
    in_test(
        "a helper emptied",
        "def holds(a):\n    assert f(a) == 2\n\n\ndef test_a():\n    holds(1)\n",
        "def holds(a):\n    pass\n\n\ndef test_a():\n    holds(1)\n",
        f"test_weakened {T}:4",
    ),
    in_test("defined again", ADD, ADD + "\n\ndef test_add():\n    pass\n", f"test_weakened {T}:11"),
    in_test("another result expected", ADD, ADD.replace("== 3", "== 4"), f"test_modified {T}:4"),
    in_test(
        "another result in a variable",
        "def test_a():\n    want = 3\n    assert f() == want\n",
        "def test_a():\n    want = 4\n    assert f() == want\n",
        f"test_modified {T}:2",
    ),
    in_test("another comparison", ADD, ADD.replace("== 3", "!= 3"), f"test_modified {T}:4"),
    in_test(
        "another error expected",
        "def test_a():\n    with pytest.raises(ValueError):\n        f()\n",
        "def test_a():\n    with pytest.raises(Exception):\n        f()\n",
        f"test_modified {T}:1",
    ),
    in_test(
        "another result and an assertion more", ADD, ADD.replace("== 3", "== 4\n    assert add"), f"test_modified {T}:4"
    ),
    in_test("no test by its name", ADD, ADD.replace("def test_zero", "def zero"), f"test_uncollected {T}:7"),
    in_test("__test__ = False", ADD, "__test__ = False\n" + ADD, f"test_uncollected {T}:4", f"test_uncollected {T}:8"),
    in_test("bound to something else", ADD, ADD + "\n\ntest_zero = None\n", f"test_uncollected {T}:11"),
    in_test(
        "a fixture now", ADD, ADD.replace("def test_zero", "@pytest.fixture\ndef test_zero"), f"test_uncollected {T}:8"
    ),
    in_test(
        "tests in if False",
        ADD,
        ADD.replace("def test_zero():\n    assert", "if False:\n    def test_zero():\n        assert"),
        f"test_uncollected {T}:8",
    ),
    Case(
        "a file by another name",
        {T: ADD},
        {T: None, "tests/add.py": ADD},
        ("test_uncollected tests/add.py:3", "test_uncollected tests/add.py:7"),
    ),
    Case(
        "a file put aside",
        {T: ADD},
        {T: None, "tests/test_add.py.off": ADD},
        ("test_uncollected tests/test_add.py.off:3", "test_uncollected tests/test_add.py.off:7"),
    ),
    Case(
        "a file in a folder that is passed over",
        {T: ADD},
        {T: None, "tests/build/test_add.py": ADD},
        ("test_uncollected tests/build/test_add.py:3", "test_uncollected tests/build/test_add.py:7"),
    ),
)
