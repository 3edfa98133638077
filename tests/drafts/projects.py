"""The public projects whose newest releases drafts are tried on, how their tests' needs are installed, and the command
that each of them documents for its own tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Project:
    """`install` are pip's words (PyPI) after `pip install`, run in the project's folder in an environment of its own;
    npm's projects get `npm install`. `own` is the project's documented command, `documented` where it says so."""

    name: str
    kind: str
    own: str
    documented: str
    install: str = ""
    registry: Literal["pypi", "npm"] = "pypi"


PROJECTS = (
    Project("humanize", "hatch, src layout, doctests", "python -m pytest", "tox.ini", "-e .[tests]"),
    Project("itsdangerous", "flit, src layout, mypy, pyright", "pytest -v --tb=short", "tox.ini",
            "-e . -r requirements/tests.txt mypy pytest"),
    Project("python-slugify", "setuptools, setup.py", "python -m pytest tests", "tox.ini", "-e . pytest coverage mypy"),
    Project("sqlparse", "hatch, Makefile, CI", "pytest tests/", "CI", "-e . pytest ruff"),
    Project("pluggy", "setuptools, tests in testing/", "pytest", "tox.ini", "-e . --group testing"),
    Project("attrs", "hatch, tox, mypy, pyright", "pytest -n auto", "tox.ini", "-e . --group tests"),
    Project("structlog", "hatch, tox", "pytest", "tox.ini", "-e . --group tests"),
    Project("pyparsing", "flit, two folders of tests", "pytest tests examples/tiny/tests", "tox.ini",
            "-e .[diagrams] pytest matplotlib"),
    Project("packaging", "flit, mypy with files", "python -m pytest -q", "pyproject.toml", "-e . --group test"),
    Project("tomlkit", "poetry", "pytest", "pyproject.toml", "-e . pytest pyyaml"),
    Project("wcwidth", "setuptools, setup.py, tox", "python -m pytest tests wcwidth", "tox.ini",
            "-e . -r requirements-tests39.txt setuptools"),
    Project("Markdown", "unittest, makefile", "python -m unittest discover tests", "makefile", "-e .[testing]"),
    Project("toolz", "setuptools, tests in the package", "pytest", "pyproject.toml", "-e . pytest"),
    Project("dep-logic", "pdm, a script of pdm's", "pytest", "pyproject.toml", "-e . pytest"),
    Project("more-itertools", "flit, unittest, Makefile, tox", "python -m unittest -v", "tox.ini", "-e ."),
    Project("simplejson", "setuptools, setup.py, unittest", "python -m unittest discover", "the layout", "-e ."),
    Project("json-stringify-safe", "mocha, Makefile", "make test", "Makefile", registry="npm"),
    Project("deep-extend", "mocha", "npm test", "package.json", registry="npm"),
    Project("fastq", "tape, eslint, nyc", "npm test", "package.json", registry="npm"),
    Project("split2", "tape, standard, nyc", "npm test", "package.json", registry="npm"),
)  # fmt: skip
