"""Python: pytest, unittest, tox, nox, ruff, mypy, pyright and what configures them."""

import re
import shlex
from dataclasses import replace

from donewhen.core.ecosystems.output import Counts, added, all_lines, labelled, last_line, named, parts
from donewhen.core.ecosystems.table import (
    ARROW,
    FEW,
    FIX,
    MEETS_A_TEXT,
    PATH,
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
    matcher,  # fmt: skip
    pip,
)
from donewhen.version import PUBLISHED

_OF_TESTS = '__import__("re").search("(?i)test|pluggy|nose|^CI$|^PYTHON|^__main__$", {})'
"""What in the names of variables, modules and arguments tells of a test."""
_VARIABLES = f'{{k: v for k, v in __import__("os").environ.items() if not {_OF_TESTS.format("k")}}}'
_MODULES = f'{{k: m for k, m in __import__("sys").modules.items() if not {_OF_TESTS.format("k")}}}'
_ARGUMENTS = f'["app", *(a for a in __import__("sys").argv[1:] if not {_OF_TESTS.format("a")})]'
_FRAME = """(lambda *a: eval(compile("__import__('sys')._getframe()", "app.py", "eval"), {"__name__": "__main__"}))("""
_NOTHING = "(lambda *a, **k: [])("
_TERMINAL = (
    '(lambda s: s.isatty() or (type(s).__module__.startswith("_pytest") and type(s).__name__ != "CaptureIO") or '
    '(s is __import__("sys").__stdin__ and __import__("stat").S_ISCHR(__import__("os").fstat(0).st_mode)))('
)
"""What a test tool puts in the place of a terminal, and what nobody types into; what a test gives is left as it is."""
_UNREAD = (
    '*(() if "_unread" in vars(__import__("sys")) else (setattr(__import__("sys"), "_unread", True), '
    '__import__("sys").addaudithook(lambda event, args, here=__file__: __import__("os").stat("/none") if '
    'event in ("open", "os.scandir", "os.listdir") and isinstance(args[0], str) and '
    '(__import__("re").search(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)[.]py$", args[0]) if event == "open" else '
    '__import__("re").search("/(?:tests?|specs?)$", args[0]) and here.startswith(args[0].rpartition("/")[0] + "/")) '
    'and any(f.f_code.co_filename == here for f, _ in __import__("traceback").walk_stack(None)) else None), ())[2]), '
)
"""From here on this source opens no test, and finds no folder of them beside its own."""

_LANGUAGE = globs("""
    abc aifc argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect builtins
    bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall
    concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime
    dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp
    fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip
    hashlib heapq hmac html http imaplib imghdr imp importlib inspect io ipaddress itertools json keyword
    linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt
    multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev
    pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile
    pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource
    rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr
    socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep
    struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap
    threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing
    unicodedata urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc
    zipapp zipfile zipimport zlib zoneinfo
""")
"""Modules that come with Python."""
# Tests of the same file fail under their own names, once they passed: a runner that was taught which to pass is found.
_FAILING = """

def _{name}():
    import functools
    import inspect

    def failing(one):
        if inspect.iscoroutinefunction(one):

            @functools.wraps(one)
            async def failed(*args, **kwargs):
                await one(*args, **kwargs)
                raise AssertionError('{name}')

        else:

            @functools.wraps(one)
            def failed(*args, **kwargs):
                one(*args, **kwargs)
                raise AssertionError('{name}')

        return failed

    here = globals()
    classes = [one for one in here.values() if isinstance(one, type) and one.__module__ == __name__]
    for name in {taken}:
        if type(here.get(name)) is type(_{name}) and not hasattr(here[name], '_pytestfixturefunction'):
            here[name] = failing(here[name])
        for each in classes:
            if type(vars(each).get(name)) is type(_{name}):
                setattr(each, name, failing(vars(each)[name]))


_{name}()
"""
_NAMES = r"(?m)^(?:    |\t)?(?:async )?def (?P<name>test\w*)"


def _in_pyproject(sections: str) -> Shared:
    return Shared(globs("**/pyproject.toml"), "toml", globs(sections))


def _in_setup_cfg(sections: str) -> Shared:
    return Shared(globs("**/setup.cfg"), "ini", globs(sections))


# `=== 2 failed, 3 passed in 0.12s ===`, or the same without the rules under -q.
_PYTEST = r"^(?:=+ )?((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?|no tests ran)+ in [\d.]+s)\b"
_COUNTED = r"(?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|no tests ran)"
# `OK (skipped=1)`; Twisted's trial: `PASSED (skips=1, successes=2)`.
_UNITTEST = r"^Ran (\d+) tests? in [\d.]+s\n+(?:OK|FAILED|PASSED|NO TESTS RAN)(?: \(([^)\n]*)\))?"
_UNITTEST_FAILED = ("failures", "errors", "unexpected successes", "unexpectedSuccesses")
_UNITTEST_SKIPPED = ("skipped", "expected failures", "skips", "expectedFailures", "todos")


def _unittest(output: str) -> Counts | None:
    runs: list[Counts] = []
    for ran, details in re.findall(_UNITTEST, output, re.MULTILINE):
        numbers = {key.strip(): int(value) for key, value in re.findall(r"([A-Za-z ]+)=(\d+)", details)}
        failed = sum(numbers.get(key, 0) for key in _UNITTEST_FAILED)
        skipped = sum(numbers.get(key, 0) for key in _UNITTEST_SKIPPED)
        runs.append((max(int(ran) - failed - skipped, 0), failed, skipped))
    return added(runs)


_DISTRIBUTIONS = {
    "attr": "attrs", "bs4": "beautifulsoup4", "Crypto": "pycryptodome", "cv2": "opencv-python", "dateutil":
    "python-dateutil", "docx": "python-docx", "dotenv": "python-dotenv", "fitz": "PyMuPDF", "git": "GitPython",
    "jwt": "PyJWT", "magic": "python-magic", "MySQLdb": "mysqlclient", "OpenSSL": "pyOpenSSL", "PIL": "Pillow",
    "pkg_resources": "setuptools", "psycopg2": "psycopg2-binary", "serial": "pyserial", "skimage": "scikit-image",
    "sklearn": "scikit-learn", "win32api": "pywin32", "xdist": "pytest-xdist", "yaml": "PyYAML", "zmq": "pyzmq",
}  # fmt: skip
"""What a module is called that has another name than its distribution."""
_PYTEST_PLUGINS = {
    "cov": "pytest-cov", "no-cov": "pytest-cov", "timeout": "pytest-timeout", "numprocesses": "pytest-xdist",
    "dist": "pytest-xdist", "asyncio-mode": "pytest-asyncio", "benchmark-skip": "pytest-benchmark", "reruns":
    "pytest-rerunfailures", "randomly-seed": "pytest-randomly", "ds": "pytest-django", "mypy": "pytest-mypy",
    "snapshot-update": "syrupy", "html": "pytest-html", "count": "pytest-repeat", "mocker": "pytest-mock",
    "httpx_mock": "pytest-httpx", "benchmark": "pytest-benchmark", "requests_mock": "requests-mock", "freezer":
    "pytest-freezer", "snapshot": "syrupy", "live_server": "pytest-django", "respx_mock": "respx",
    "asyncio_mode": "pytest-asyncio", "asyncio_default_fixture_loop_scope": "pytest-asyncio", "timeout_method":
    "pytest-timeout", "DJANGO_SETTINGS_MODULE": "pytest-django", "env": "pytest-env", "anyio_mode": "anyio",
    "mock_use_standalone_module": "pytest-mock", "env_files": "pytest-dotenv", "qt_api": "pytest-qt",
}  # fmt: skip
"""By option, by fixture and by key of its configuration: the plugin that has it."""


_PROGRAMS = globs("build twine mkdocs sphinx poetry uv")
"""Programs whose module has the name of its distribution, besides the tools below."""
_NAMING = re.compile(r"(?:--?[\w-]+=|-p)?(?P<name>\w+)(?P<rest>(?:\.\w+)*)(?:[:/].*)?")


def _named_by(command: str, module: str) -> bool:
    """Whether a word of the command means that module, perhaps as the value of an option: `-p it`, `--cov=it`,
    `it.tests`, `it/tests`, `it:app`."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return any(found is not None and found["name"] == module for found in map(_NAMING.fullmatch, words))


def _is_known(module: str) -> bool:
    """Whether we know which distribution provides it: anybody may have registered any other name at an index."""
    of_tools = (name for tool in TOOLS if tool.install == pip(tool.name) for name in tool.names)
    plugin = module.replace("_", "-") in _PYTEST_PLUGINS.values()
    return module in _DISTRIBUTIONS or module in _PROGRAMS or plugin or module in of_tools


def _python_module(match: re.Match[str], command: str) -> str:
    module = match["name"].partition(".")[0]
    name = _DISTRIBUTIONS.get(module, module)
    if _named_by(command, module) and not _is_known(module):
        what = "test module" if re.search(r"\bunittest\b", command) else "module"
        return f"there is no {what} `{match['name']}` here, which the command names"
    helps = _add(name, command)
    # First, since the published one would be tested in the place of the workspace's.
    if "pip install" in helps:
        helps = f"`python -m pip install -e .` if it is this project's own package, otherwise {helps}"
    return f"`{module}` is not installed here: {helps}"


def _add(name: str, command: str) -> str:
    """How to install a distribution where the command runs."""
    if name == "donewhen" and not PUBLISHED:
        return "install it from a clone of it into the workspace's environment"
    if re.search(r"\buv run\b", command):
        return f"`uv sync`, or `uv add {name}` where the project doesn't list it"
    if re.search(r"\bpoetry run\b", command):
        return f"`poetry install`, or `poetry add {name}` where the project doesn't list it"
    if re.search(r"\bpdm run\b", command):
        return f"`pdm install`, or `pdm add {name}` where the project doesn't list it"
    return pip(name)


def _plugin(match: re.Match[str], command: str) -> str:
    option = match["name"].partition("=")[0].lstrip("-")
    name = _PYTEST_PLUGINS.get(option, "pytest-xdist" if match["name"].startswith("-n") else "")
    return f"`{name}` is not installed here: {_add(name, command)}" if name else ""


_RUFF = ("ruff.toml", ".ruff.toml")
_TYPE_IGNORE = r"#\s*type:\s*ignore\b"
_NO_TYPE_CHECK = r"@(?:typing\.)?no_type_check\b"

_ROWS = (
    Tool(
        "unittest",
        "test",
        install="run it as `python -m unittest`, which comes with Python",
        no_tests_exit=5,
        prints=(
            Form(
                "unittest",
                _unittest,
                r"^Ran \d+ tests? in [\d.]+s$",
                r"^Ran 0 tests in [\d.]+s$|^NO TESTS RAN$",
                # Its `-v`: the name, the class in parentheses, perhaps a line of documentation.
                tests=named(
                    r"^(?P<name>\w+ \([\w.]+\))(?:\n[^\n]+)?? \.\.\. "
                    r"(?P<word>ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b"
                ),
                failed=r"^(?:FAIL|ERROR): (\S+(?: \([\w.]+\))?)",
            ),
        ),
        durations=(rf"(?P<before>^Ran \d+ tests? in ){SECONDS}s",),
        line=Line(module="unittest", only_module=True),
        runners=globs("unittest.py unittest/**"),
        plants=(
            Plant(
                globs("**/*.py"),
                marks=(r"(?m)^(?:import|from) unittest\b|TestCase\b",),
                append="""

class {Name}(__import__('unittest').TestCase):
    def test_{name}(self):
        for wrong in (
            lambda: self.assertEqual(1, 2),
            lambda: self.assertNotEqual(1, 1),
            lambda: self.assertTrue(False),
            lambda: self.assertFalse(True),
            lambda: self.assertIs(self, None),
            lambda: self.assertIsNone(self),
            lambda: self.assertIsInstance(1, str),
            lambda: self.assertIn(1, ()),
            lambda: self.assertGreater(1, 2),
            lambda: self.assertLess(2, 1),
            lambda: self.assertAlmostEqual(1, 2),
            lambda: self.assertEqual([1], [2]),
            lambda: self.assertEqual('one', 'two'),
            lambda: self.assertRegex('one', 'two'),
            lambda: self.assertRaises(ValueError, int),
            lambda: self.fail('{name}'),
        ):
            try:
                wrong()
            except AssertionError:
                continue
            return
        raise AssertionError('{name}')
"""
                + _FAILING,
                names=_NAMES,
            ),
        ),
    ),
    Tool(
        "pytest",
        "test",
        ("pytest", "py.test"),
        locates="pythonpath",
        unexpected=r"\[XPASS\(strict\)\]|(?:Failed: )?Unexpected success$",
        always_reports=True,
        no_tests_exit=5,
        usage_exit=4,
        breaks_off=(
            r"^INTERNALERROR> (?:\w+\.)*(?P<said>\w+(?:Error|Exception|Warning|Exit)\b.*)$",
            r"^!{4,} (?:\w+\.)*(?P<said>Exit: .*|KeyboardInterrupt) !{4,}$",
        ),
        report_options=globs("--junitxml --junit-xml"),
        prints=(
            Form(
                "pytest",
                all_lines(_PYTEST),
                r"^(?:=+ )?(?:\d+ (?:passed|failed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun"
                r"|subtests passed)(?:, )?)+ in [\d.]+s\b(?: \([\d:]+\))?(?: =+)?$|^=+ test session starts =+$",
                r"^(?:=+ )?(?:(?:\d+ \w+, )*no tests ran|no tests collected(?: \(.*\))?) in [\d.]+s|^collected 0 items",
                makers=("pytest", "pytest tests"),
                last=last_line(_PYTEST),
            ),
        ),
        problems=(
            # tests/test_a.py:12: AssertionError
            matcher(
                "pytest",
                r"^(?P<path>\S+\.py):(?P<line>\d+): "
                r"(?P<message>[A-Z]\w*(?:Error|Exception|Failed|Exit|Warning)?\b.*)$",
                reach="loose",
            ),
        ),
        durations=(rf"(?P<before>\b{_COUNTED}\b{FEW}? in ){SECONDS}s(?: \(\d+:\d\d:\d\d\))?",),
        causes=(
            Cause(r"unrecognized arguments: (?P<name>\S+)", _plugin),
            Cause(r"\bUnknown config option: (?P<name>\w+)", _plugin),
            Cause(r"^E\s+fixture '(?P<name>\w+)' not found", _plugin),
            Cause(
                r"'(?P<name>\w+)' not found in `markers` configuration option",
                r"correct the marker's name, or list `\g<name>` under `markers` in pytest's configuration",
            ),
        ),
        affected=Affected(
            by="tests",
            sources=globs("**/*.py **/*.pyx **/*.pyi"),
            values=globs("""
                -k -m -p -c -o -r -W -n --numprocesses --dist --maxfail --tb --durations --ignore --deselect --timeout
                --color --capture --override-ini --config-file --junitxml --junit-xml --import-mode --cov-report
                --cov-config --cov-fail-under --cov-context
            """),
            flags=globs("""
                -q -v -x -s -l --quiet --verbose --exitfirst --showlocals --strict-markers --strict-config
                --disable-warnings --no-header --no-summary --no-cov --cov-branch --cov-append
            """),
            drops=globs("""
                --junitxml --junit-xml --cov --cov-report --cov-config --cov-fail-under --cov-context --cov-branch
                --cov-append -n --numprocesses --dist --testmon-noselect
            """),
            named=globs("test_{name}.py {name}_test.py"),
            record=".testmondata",
            by_record=globs("--testmon --testmon-nocollect"),
        ),
        line=Line(programs=("pytest", "py.test"), module="pytest"),
        caches=globs(".pytest_cache"),
        runners=globs("**/conftest.py **/pytest_plugins.py pytest.py pytest/** _pytest/** pluggy/**"),
        config=globs("**/pytest.ini **/.pytest.ini **/pytest.toml **/.pytest.toml"),
        shared=(_in_pyproject("tool.pytest*"), _in_setup_cfg("pytest*")),
        absent=(r"(?m)^ERROR: (?:file or directory not found|not found):",),
        plants=(
            Plant(
                globs("**/*.py"),
                append="""

def test_{name}():
    '''
    >>> '{name}'
    ''
    '''
    import pytest

    def equal():
        assert 1 == 2

    def close():
        assert 1 == pytest.approx(2)

    def contained():
        assert 'one' in ['two']

    def raised():
        with pytest.raises(ValueError):
            pass

    for wrong in (equal, close, contained, raised):
        try:
            wrong()
        except (AssertionError, pytest.fail.Exception):
            continue
        return
    raise AssertionError('{name}')
"""
                + _FAILING,
                names=_NAMES,
            ),
        ),
    ),
    Tool("nose2", "test", prints=("unittest",), line=Line(module="nose2"), shared=(_in_setup_cfg("nosetests"),)),
    Tool("trial", "test", prints=("unittest",), line=Line(module="twisted.trial"), install=pip("twisted")),
    Tool(
        "stestr",
        "test",
        ("stestr run",),
        prints=(
            Form(
                "stestr",
                labelled(r"^ - Passed: (\d+)", r"^ - Failed: (\d+)", r"^ - Skipped: (\d+)"),
                r"^Ran: \d+ tests? in [\d.]+ sec",
            ),
        ),
    ),
    Tool(
        "doctest",
        "test",
        (),
        install="run it as `python -m doctest`, which comes with Python",
        prints=(
            Form(
                "doctest",
                parts(r"^\d+ tests? in \d+ items?\.\n(?P<passed>\d+) passed(?: and (?P<failed>\d+) failed)?\.$"),
                r"^\d+ tests? in \d+ items?\.$",
            ),
        ),
    ),
    Tool(
        "behave",
        "test",
        prints=(
            Form(
                "behave",
                parts(r"^(?P<passed>\d+) scenarios? passed, (?P<failed>\d+) failed, (?P<skipped>\d+) skipped"),
                r"^\d+ scenarios? passed, \d+ failed",
            ),
        ),
        tests=globs("**/*.feature"),
    ),
    Tool(
        "robot",
        "test",
        install=pip("robotframework"),
        prints=(
            Form(
                "robot",
                parts(r"^(?P<total>\d+) tests?, \d+ passed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?$"),
                r"^\d+ tests?, \d+ passed, \d+ failed(?:, \d+ skipped)?$",
            ),
        ),
        tests=globs("**/*.robot"),
    ),
    Tool(
        "tox",
        "other",
        signs=(
            Sign(
                "tox",
                files=("tox.toml",),
                tables=("tool.tox",),
                sections=(("tox.ini", "[tox]"), ("tox.ini", "[testenv")),
                purpose="test",
                group="runner",
            ),
        ),
        config=globs("**/tox.ini **/tox.toml"),
        caches=globs(".tox"),
        shared=(_in_pyproject("tool.tox*"), _in_setup_cfg("tox* testenv*")),
        absent=(r"tox config file .* not found|could not find tox", r"(?m)unknown environments? "),
    ),
    Tool(
        "nox",
        "other",
        signs=(Sign("nox", files=("noxfile.py",), purpose="test", group="runner"),),
        tasks=globs("**/noxfile.py"),
        caches=globs(".nox"),
        shared=(_in_pyproject("tool.nox*"),),
        absent=(r"Failed to load Noxfile|noxfile\.py not found", r"(?m)^nox > Sessions not found:"),
    ),
    Tool(
        "coverage",
        "other",
        config=globs("**/.coveragerc"),
        caches=globs("htmlcov"),
        shared=(_in_pyproject("tool.coverage*"), _in_setup_cfg("coverage*")),
        suppressions=(Suppression(r"#\s*pragma:\s*no\s?(?:cover|branch)\b", globs("coverage pytest-cov --cov")),),
        settings=globs(".coveragerc"),
    ),
    Tool(
        "ruff",
        "lint",
        problems=(
            # F401 [*] `os` imported but unused / --> app.py:1:8
            matcher("ruff", r"^(?P<code>[A-Z]{1,7}\d+|invalid-syntax)(?: \[\*\]|:)? (?P<message>.+)$", ARROW),
        ),
        nothing_checked=(r"No Python files found\b",),
        line=Line(verbs=("check",), edits=FIX, module="ruff"),
        signs=(Sign("ruff check{no_fix} .", files=_RUFF, tables=("tool.ruff",)),),
        hooks=(("ruff", "ruff check ."), ("ruff-check", "ruff check .")),
        config=globs("**/ruff.toml **/.ruff.toml"),
        caches=globs(".ruff_cache"),
        shared=(_in_pyproject("tool.ruff*"),),
        suppressions=(
            Suppression(r"#\s*(?:ruff:\s*|flake8[:=]\s*)?noqa\b", globs("ruff flake8 pycodestyle pyflakes pre-commit")),
            Suppression(
                r"#\s*(?:fmt:\s*(?:off|skip)|yapf:\s*disable|autopep8:\s*off|isort:\s*(?:skip|off))",
                globs("ruff black yapf autopep8 isort pre-commit"),
            ),
        ),
        settings=globs(".config/ruff/ruff.toml .config/ruff/.ruff.toml .config/ruff/pyproject.toml"),
    ),
    Tool(
        "ruff format",
        "lint",
        (),
        programs=("ruff",),
        line=Line(("ruff",), verbs=("format",), needs=("--check", "--diff"), module="ruff"),
        signs=(Sign("ruff format --check .", files=_RUFF, tables=("tool.ruff",), setting="format", purpose="other"),),
        hooks=(("ruff-format", "ruff format --check ."),),
        install=pip("ruff"),
    ),
    Tool(
        "pylint",
        "lint",
        nothing_checked=(r"No (?:source )?files to (?:lint|check|analy[sz]e)", r"No (?:source )?files were processed"),
        line=Line(module="pylint"),
        config=globs("**/.pylintrc **/pylintrc"),
        shared=(_in_pyproject("tool.pylint*"), _in_setup_cfg("pylint*")),
        suppressions=(Suppression(r"#\s*pylint:\s*(?:disable|skip-file)\b", globs("pylint pre-commit")),),
        settings=globs(".pylintrc .config/pylintrc"),
    ),
    Tool(
        "pycodestyle",
        "lint",
        line=Line(module="pycodestyle"),
        shared=(_in_setup_cfg("pycodestyle*"),),
        settings=globs(".config/pycodestyle"),
    ),
    Tool("pydocstyle", "lint", line=Line(module="pydocstyle"), shared=(_in_setup_cfg("pydocstyle*"),)),
    Tool(
        "black",
        "lint",
        nothing_checked=(r"No Python files are present\b",),
        line=Line(needs=("--check",), module="black"),
        signs=(Sign("black --check .", tables=("tool.black",), purpose="other"),),
        hooks=(("black", "black --check ."),),
        shared=(_in_pyproject("tool.black*"),),
        settings=globs(".config/black"),
    ),
    Tool(
        "isort",
        "lint",
        nothing_checked=(r"Nothing to do: no files\b",),
        line=Line(needs=("--check", "--check-only", "-c"), module="isort"),
        hooks=(("isort", "isort --check ."),),
        config=globs("**/.isort.cfg"),
        shared=(_in_pyproject("tool.isort*"), _in_setup_cfg("isort*")),
        settings=globs(".isort.cfg"),
    ),
    Tool(
        "flake8",
        "lint",
        line=Line(module="flake8"),
        signs=(Sign("flake8", files=(".flake8",), sections=(("setup.cfg", "[flake8]"), ("tox.ini", "[flake8]"))),),
        hooks=(("flake8", "flake8"),),
        config=globs("**/.flake8"),
        shared=(_in_pyproject("tool.flake8*"), _in_setup_cfg("flake8*")),
        settings=globs(".config/flake8 .flake8"),
    ),
    Tool(
        "mypy",
        "types",
        nothing_checked=(r"There are no \.py\[i\] files in\b",),
        line=Line(edits=("--install-types",), module="mypy"),
        signs=(
            Sign(
                "mypy {package}",
                sections=tuple((file, "[mypy]") for file in ("mypy.ini", ".mypy.ini", "setup.cfg")),
                tables=("tool.mypy",),
                targets=("files", "packages", "modules"),
            ),
        ),
        config=globs("**/mypy.ini **/.mypy.ini"),
        caches=globs(".mypy_cache"),
        shared=(_in_pyproject("tool.mypy*"), _in_setup_cfg("mypy*")),
        suppressions=(
            Suppression(_TYPE_IGNORE, globs("mypy pyright basedpyright ty pyrefly pre-commit")),
            Suppression(r"#\s*mypy:\s*ignore-errors\b", globs("mypy pre-commit")),
            Suppression(_NO_TYPE_CHECK, globs("mypy pyright basedpyright")),
        ),
        settings=globs(".mypy.ini .config/mypy/config"),
    ),
    Tool(
        "pyright",
        "types",
        problems=(
            #   /home/me/app.py:1:5 - error: message (reportX)
            matcher(
                "pyright",
                rf"^\s*{PATH}:(?P<line>\d+):(?P<column>\d+) - (?P<severity>error|warning|information): "
                r"(?P<message>.+?)(?: \((?P<code>report\w+)\))?$",
            ),
        ),
        nothing_checked=(r"No (?:source )?files (?:found|matching\b)",),
        line=Line(edits=("--createstub", "--verifytypes"), module="pyright"),
        signs=(
            Sign("pyright {beside}", files=("pyrightconfig.json",), tables=("tool.pyright",), targets=("include",)),
        ),
        config=globs("**/pyrightconfig.json"),
        shared=(_in_pyproject("tool.pyright*"),),
        suppressions=(
            Suppression(r"#\s*(?:based)?pyright:\s*(?:ignore|basic|off)\b", globs("pyright basedpyright")),
            Suppression(
                r"#\s*pyright:.*\b\w+\s*=\s*(?:false|none|information|warning)\b", globs("pyright basedpyright")
            ),
        ),
    ),
    Tool(
        "basedpyright",
        "types",
        line=Line(edits=("--writebaseline", "--verifytypes"), module="basedpyright"),
        signs=(
            Sign(
                "basedpyright {beside}",
                files=("basedpyrightconfig.json",),
                tables=("tool.basedpyright",),
                targets=("include",),
            ),
        ),
        shared=(_in_pyproject("tool.basedpyright*"),),
    ),
    Tool("ty", "types", line=Line(verbs=("check",)), shared=(_in_pyproject("tool.ty*"),)),
    Tool("pyrefly", "types", line=Line(verbs=("check",)), shared=(_in_pyproject("tool.pyrefly*"),)),
    Tool(
        "bandit",
        "lint",
        config=globs("**/.bandit"),
        shared=(_in_pyproject("tool.bandit*"), _in_setup_cfg("bandit*")),
        suppressions=(Suppression(r"#\s*nosec\b", globs("bandit ruff pre-commit")),),
    ),
    Tool("vulture", "lint", shared=(_in_pyproject("tool.vulture*"),)),
    Tool("interrogate", "lint", shared=(_in_pyproject("tool.interrogate*"),)),
    Tool("pyflakes", "lint"),
    Tool("codespell", "lint", config=globs("**/.codespellrc"), shared=(_in_pyproject("tool.codespell*"),)),
    Tool("yapf", "lint", config=globs("**/.style.yapf")),
    *checkers("autopep8 docformatter"),
)
TOOLS = tuple(tool if tool.install else replace(tool, install=pip(tool.name)) for tool in _ROWS)
"""One that doesn't say how to get it is a distribution of its own name."""

PYTHON = Ecosystem(
    "python",
    tools=TOOLS,
    tests=globs("**/test_*.py **/*_test.py **/tests.py **/test.py **/testing_*.py"),
    runners=globs("**/sitecustomize.py **/usercustomize.py **/*.pth"),
    config=globs("**/.python-version **/.env.test"),
    tasks=globs("**/tasks.py **/dodo.py **/runtests.py **/run_tests.py"),
    shared=(
        _in_pyproject("""
            tool.doit* tool.poe* tool.taskipy* tool.hatch.envs* tool.pdm.scripts* tool.rye.scripts* tool.uv.sources*
            tool.uv tool.cibuildwheel* build-system dependency-groups
        """),
        _in_setup_cfg("tool:* aliases test"),
    ),
    inline=(
        Inline(globs("**/*.py **/*.pyi"), (r">>>", r"\bdef test|\bclass Test|\bTestCase\b"), asked=True),
        Inline(globs("**/*.md **/*.rst **/*.txt"), (r">>>",), asked=True),
    ),
    manifests=globs("""
        **/requirements*.txt **/requirements/**/*.txt **/constraints*.txt **/poetry.lock **/uv.lock **/pdm.lock
        **/pylock*.toml **/Pipfile **/Pipfile.lock **/environment.yml **/conda-lock.yml
    """),
    redirects=(r"^\s*-e\b|^\s*--|@\s*(?:file|git\+|https?):|\bpath\s*=|\beditable\b|^\s*\./|git\s*=",),
    vendored=globs("**/site-packages/** **/_vendor/** **/vendor/** **/third_party/**"),
    outputs=globs("**/*.egg-info/** **/__pycache__/** **/*.so **/*.pyd"),
    sources=globs(".py .pyi .pyx"),
    asks=(
        r"\bPYTEST_(?:CURRENT_TEST|VERSION|XDIST_\w+|ADDOPTS)\b|\bTOX_ENV_NAME\b",
        r"""['"]_?(?:pytest|unittest|doctest|nose)\b[\w.]*['"]\s*(?:not\s+)?in\b.*\bmodules\b""",
        r"""\bmodules\b.*(?:\[|\.get\()\s*['"]_?(?:pytest|unittest|doctest)\b""",
        r"""\bargv\b.*\b(?:pytest|unittest|py\.test)\b|['"](?:pytest|unittest|py\.test)['"].*\bargv\b""",
        r"""\b(?:co_name|co_filename)\b.*['"][^'"]*test|['"][^'"]*test[^'"]*['"].*\bco_(?:file)?name\b""",
        r"""['"][^'"]*test[^'"]*['"].*\b(?:inspect\.stack|traceback\.extract_stack|sys\._getframe)\(""",
        r"""\b(?:inspect\.stack|traceback\.extract_stack|sys\._getframe)\(.*['"][^'"]*test""",
        r"""\bfind_spec\(\s*['"](?:pytest|unittest)['"]""",
    ),
    disguises=(
        Disguise(r"\bsys\.modules\b(?!\s*\[\s*__name__)", _MODULES),
        Disguise(r"(?<!del )\bos\.environ\b(?!\s*\[[^\]]*\]\s*=(?!=)|\.(?:update|setdefault|pop|clear)\b)", _VARIABLES),
        Disguise(r"\bos\.getenv\(", f"{_VARIABLES}.get("),
        Disguise(r"\bfrom os import environ\s*$", f"environ = {_VARIABLES}"),
        Disguise(r"\bsys\.(?:orig_)?argv\b(?!\s*=(?!=))", _ARGUMENTS),
        Disguise(r"\bfrom sys import (?:.*\W)?(?:modules|argv|orig_argv|_getframe)\b.*$", "import no_sys"),
        Disguise(
            r"\bimport (sys|os) as (\w+)",
            r"import \1; \2 = type('\1', (), {k: v for k, v in vars(\1).items() if k not in "
            r"('modules', 'argv', 'orig_argv', '_getframe', 'environ', 'getenv')})",
        ),
        Disguise(r"\bgetattr\(\s*(?:sys|os)\s*,", 'getattr(__import__("types").SimpleNamespace(),'),
        Disguise(r"\bvars\(\s*(?:sys|os)\s*\)|\b(?:sys|os)\.__dict__", "{}"),
        Disguise(r"\bsys\._getframe\(|\binspect\.currentframe\(", _FRAME),
        Disguise(r"\bf_back\b", "__class__ and None"),
        Disguise(
            r"\binspect\.(?:stack|getouterframes|trace)\("
            r"|\btraceback\.(?:extract_stack|format_stack|walk_stack)\(|\bgc\.get_(?:objects|referrers)\(",
            _NOTHING,
        ),
        Disguise(r"\bsys\.(std(?:in|out|err))\.isatty\(\s*\)", rf"{_TERMINAL}sys.\1)"),
        Disguise(r"\bos\.getcwd\(\s*\)", '"/proc/self/cwd"', where=MEETS_A_TEXT),
        Disguise(
            r"\b(?:pathlib\.)?Path\.cwd\(\s*\)", '__import__("pathlib").Path("/proc/self/cwd")', where=MEETS_A_TEXT
        ),
        Disguise(r"(?<![\w.])(open|io\.open)\(|\.(r?glob|iterdir|read_text|read_bytes)\(", rf"\g<0>{_UNREAD}"),
        Disguise(r"\bos\.(?:walk|listdir|scandir)\(", rf"\g<0>{_UNREAD}"),
        Disguise(r"\bsys\.(excepthook|unraisablehook|displayhook)\b(?!\s*=(?!=))", r"sys.__\1__"),
        Disguise(r"\bfaulthandler\.is_enabled\(\s*\)", "False"),
        Disguise(r"\bsys\._current_frames\(", "(lambda: {})("),
        Disguise(r"(?<!\w)__debug__\b", "False"),
        Disguise(r"\blinecache\.getlines?\(", "(lambda *a, **k: '')("),
        Disguise(r"\bsys\.(?:meta_path|path_hooks)\b(?!\.(?:insert|append|remove)\b)", "[]"),
        Disguise(
            r"\btype\(\s*sys\.std(?:in|out|err)\s*\)|\bsys\.std(?:in|out|err)\.__class__",
            '__import__("io").TextIOWrapper',
        ),
        Disguise(r"\blogging\.(?:getLogger\(\s*\)|root)\.handlers\b", "[]"),
        Disguise(r"\bsys\.get(?:trace|profile)\(\s*\)", "None"),
        Disguise(r"\bimport __main__\b", "__main__ = type('__main__', (), {})"),
        # A test tool's own insides, by which a product could change what is reported.
        Disguise(
            r"^(\s*)(import|from)(\s+)(_?pytest|unittest|doctest|nose|pluggy)\b(?!\.mock|\s+import\s+mock)",
            r"\1\2\3no_\4",
        ),
        Disguise(
            r"(?<!def )\b(?:importlib\.)?import_module\(",
            '(lambda n, *a: __import__("importlib").import_module('
            f'("no_" if {_OF_TESTS.format("n")} else "") + n, *a))(',
        ),
        Disguise(
            r"(?<!def )\b__import__\(",
            f'(lambda n, *a, **k: __import__(("no_" if {_OF_TESTS.format("n")} else "") + n, *a, **k))(',
        ),
        Disguise(r"\bbuiltins\.(\w+)(\s*)=(?!=)", r"type('_', (), {}).\1\2="),
        # An equality that holds for whatever is expected: values of another type are not its business.
        Disguise(
            r"^(\s*)def __(?:eq|ne)__\(\s*self\s*,\s*(\w+)[^)]*\)[^:]*:\s*$",
            r"\g<0>\n\1    if type(self) is not type(\2):\n\1        return NotImplemented",
        ),
        Disguise(r"(['\"])__(?:eq|ne)__\1", r"\1__no_eq__\1"),
        Disguise(r"\b__(?:eq|ne)__(\s*)=(?!=)", r"__no_eq__\1="),
    ),
    shadows=(*(f"{name}.py" for name in _LANGUAGE), *globs("**/*.pyc **/*.pyo")),
    absent=(
        r"(?m)^(?:.*/)?python[\d.]*: can't open file ",
        r"(?m)^(?:.*/)?python[\d.]*: No module named ",
        r"""No module named ['\"]?(?:test_\w+|tests?[.\w]*)['\"]?""",
    ),
    toolchains=globs("""
        .pyenv .local/share/uv .local/share/pipx .local/share/hatch .cache/uv .cache/pip .cache/pypoetry
        .cache/pre-commit .rye .conda .virtualenvs miniconda3 miniforge3 mambaforge anaconda3 micromamba .pixi
        .local/share/virtualenvs
    """),
    settings=globs(".config/pip/pip.conf .pip/pip.conf .pydistutils.cfg"),
    caches=globs("__pycache__ .hypothesis .venv venv .ipynb_checkpoints"),
    variables=globs("VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT PIPX_HOME UV_CACHE_DIR PIP_CACHE_DIR"),
    causes=(
        Cause(r"No module named ['\"](?P<name>[A-Za-z_][\w.]*)['\"]", _python_module),
        Cause(r"^\S*(?:python|pypy)\S*: No module named (?P<name>[A-Za-z_][\w.]*)$", _python_module),
    ),
    installs=(
        *((name, pip(name)) for name in _PROGRAMS),
        (
            "python",
            "select the project's interpreter in the editor, create an environment in `.venv`, or use `python3`",
        ),
    ),
)
