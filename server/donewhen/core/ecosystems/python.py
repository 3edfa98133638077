"""Python: pytest, unittest, tox, nox, ruff, mypy, pyright and what configures them."""

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

PYTHON = Ecosystem(
    "python",
    tests=globs("**/test_*.py **/*_test.py **/tests.py **/test.py **/testing_*.py **/*.robot **/*.feature"),
    runners=globs("""
        **/conftest.py **/sitecustomize.py **/usercustomize.py **/*.pth **/pytest_plugins.py pytest.py unittest.py
        pytest/** unittest/** _pytest/** pluggy/**
    """),
    config=globs("""
        **/pytest.ini **/.pytest.ini **/pytest.toml **/.pytest.toml **/tox.ini **/tox.toml **/mypy.ini **/.mypy.ini
        **/.coveragerc **/.flake8 **/.pylintrc **/pylintrc **/ruff.toml **/.ruff.toml **/pyrightconfig.json
        **/.bandit **/.isort.cfg **/.style.yapf **/.python-version **/.env.test
    """),
    tasks=globs("**/noxfile.py **/tasks.py **/dodo.py **/runtests.py **/run_tests.py"),
    checkers=globs("""
        ruff flake8 pylint mypy pyright basedpyright pyrefly ty black isort autopep8 yapf bandit vulture
        pydocstyle pycodestyle pyflakes interrogate docformatter codespell pre-commit prek
    """),
    shared=(
        Shared(
            globs("**/pyproject.toml"),
            "toml",
            globs("""
            tool.pytest* tool.coverage* tool.tox* tool.nox* tool.ruff* tool.mypy* tool.pyright* tool.basedpyright*
            tool.pylint* tool.black* tool.isort* tool.flake8* tool.bandit* tool.pyrefly* tool.ty* tool.vulture*
            tool.interrogate* tool.doit* tool.poe* tool.taskipy* tool.hatch.envs* tool.pdm.scripts*
            tool.rye.scripts* tool.uv.sources* tool.uv tool.codespell* tool.cibuildwheel* build-system
            dependency-groups
        """),
        ),
        Shared(
            globs("**/setup.cfg"),
            "ini",
            globs("""
            tool:* pytest* coverage* flake8* mypy* pylint* isort* pycodestyle* pydocstyle* bandit* tox* testenv*
            aliases test nosetests
        """),
        ),
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
        # An equality that holds for whatever is expected: values of another type are no business of it.
        Disguise(
            r"^(\s*)def __(?:eq|ne)__\(\s*self\s*,\s*(\w+)[^)]*\)[^:]*:\s*$",
            r"\g<0>\n\1    if type(self) is not type(\2):\n\1        return NotImplemented",
        ),
        Disguise(r"(['\"])__(?:eq|ne)__\1", r"\1__no_eq__\1"),
        Disguise(r"\b__(?:eq|ne)__(\s*)=(?!=)", r"__no_eq__\1="),
    ),
    shadows=(*(f"{name}.py" for name in _LANGUAGE), *globs("**/*.pyc **/*.pyo")),
    absent=(
        r"tox config file .* not found|could not find tox",
        r"Failed to load Noxfile|noxfile\.py not found",
        r"\.pre-commit-config\.yaml is not a file",
        r"(?m)^ERROR: (?:file or directory not found|not found):",
        r"(?m)^(?:.*/)?python[\d.]*: can't open file ",
        r"(?m)^(?:.*/)?python[\d.]*: No module named ",
        r"(?m)^nox > Sessions not found:",
        r"(?m)unknown environments? ",
        r"""No module named ['\"]?(?:test_\w+|tests?[.\w]*)['\"]?""",
    ),
    suppressions=(
        Suppression(r"#\s*(?:ruff:\s*|flake8[:=]\s*)?noqa\b", globs("ruff flake8 pycodestyle pyflakes pre-commit")),
        Suppression(r"#\s*type:\s*ignore\b", globs("mypy pyright basedpyright ty pyrefly pre-commit")),
        Suppression(r"#\s*(?:based)?pyright:\s*(?:ignore|basic|off)\b", globs("pyright basedpyright")),
        Suppression(r"#\s*pyright:.*\b\w+\s*=\s*(?:false|none|information|warning)\b", globs("pyright basedpyright")),
        Suppression(
            r"#\s*(?:fmt:\s*(?:off|skip)|yapf:\s*disable|autopep8:\s*off|isort:\s*(?:skip|off))",
            globs("ruff black yapf autopep8 isort pre-commit"),
        ),
        Suppression(r"#\s*mypy:\s*ignore-errors\b", globs("mypy pre-commit")),
        Suppression(r"#\s*pylint:\s*(?:disable|skip-file)\b", globs("pylint pre-commit")),
        Suppression(r"#\s*nosec\b", globs("bandit ruff pre-commit")),
        Suppression(r"#\s*pragma:\s*no\s?(?:cover|branch)\b", globs("coverage pytest-cov --cov")),
        Suppression(r"@(?:typing\.)?no_type_check\b", globs("mypy pyright basedpyright")),
    ),
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
    toolchains=globs("""
        .pyenv .local/share/uv .local/share/pipx .local/share/hatch .cache/uv .cache/pip .cache/pypoetry
        .cache/pre-commit .rye .conda .virtualenvs miniconda3 miniforge3 mambaforge anaconda3 micromamba .pixi
        .local/share/virtualenvs
    """),
    settings=globs("""
        .config/pip/pip.conf .pip/pip.conf .config/ruff/ruff.toml .config/ruff/.ruff.toml .config/ruff/pyproject.toml
        .mypy.ini .config/mypy/config .config/flake8 .flake8 .pylintrc .config/pylintrc .coveragerc .isort.cfg
        .config/black .config/pycodestyle .pydistutils.cfg
    """),
)
