"""Python: pytest, unittest, tox, nox, ruff, mypy, pyright and what configures them."""

from donewhen.core.ecosystems.ecosystem import Ecosystem, Inline, Plant, Shared, Suppression, globs

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
        r"\bPYTEST_(?:CURRENT_TEST|VERSION|XDIST_WORKER)\b|\bTOX_ENV_NAME\b",
        r"""['"]_?(?:pytest|unittest|doctest|nose)\b[\w.]*['"]\s*(?:not\s+)?in\b.*\bmodules\b""",
        r"""\bmodules\b.*(?:\[|\.get\()\s*['"]_?(?:pytest|unittest|doctest)\b""",
        r"""\bargv\b.*\b(?:pytest|unittest|py\.test)\b|['"](?:pytest|unittest|py\.test)['"].*\bargv\b""",
        r"""\b(?:co_name|co_filename)\b.*['"][^'"]*test|['"][^'"]*test[^'"]*['"].*\bco_(?:file)?name\b""",
        r"""['"][^'"]*test[^'"]*['"].*\b(?:inspect\.stack|traceback\.extract_stack|sys\._getframe)\(""",
        r"""\b(?:inspect\.stack|traceback\.extract_stack|sys\._getframe)\(.*['"][^'"]*test""",
        r"""\bfind_spec\(\s*['"](?:pytest|unittest)['"]""",
    ),
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
""",
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
""",
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
