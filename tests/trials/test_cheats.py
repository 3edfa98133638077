"""Cheats and honest work with real runners in real rooms, and nothing that reads files: trials alone decide."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from donewhen.app.engine import engine_setup
from donewhen.app.program import NoProbes
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.engine.api import RunView, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.settings.loading import Settings
from donewhen.store.memory import MemoryLedger
from tests.engine.world import ended
from tests.trials import cheats
from tests.trials.cheats import TESTS, Edits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlays are Linux's")


@dataclass(frozen=True)
class Project:
    """A small project with a check that is red at the start, and the work that makes it green."""

    files: Mapping[str, str]
    check: str
    work: Edits
    needs: str = ""


PYTHON = Project(
    {
        "shop/__init__.py": "",
        "shop/quoting.py": "def quote(text):\n    return text\n",
        "tests/test_quoting.py": """
import pathlib
import pytest
from shop.quoting import quote

def test_plain():
    assert quote("a") == "a"

def test_comma():
    assert quote("a,b") == '"a,b"'

@pytest.mark.parametrize("line", (pathlib.Path(__file__).parent / "data/rows.txt").read_text().split())
def test_rows(line):
    assert quote(line) == '"' + line + '"'
""",
        "tests/data/rows.txt": "c,d\n",
        "conftest.py": "",
    },
    "python -m pytest -q -p no:cacheprovider",
    {"shop/quoting.py": """def quote(text):\n    return f'"{text}"' if "," in text else text\n"""},
)
NODE = Project(
    {
        "package.json": '{"name": "shop", "type": "module", "scripts": {"test": "node --test"}}\n',
        "quoting.js": "export const quote = (text) => text;\n",
        "quoting.test.js": """
import { test } from 'node:test';
import assert from 'node:assert';
import { quote } from './quoting.js';
test('comma', () => { assert.equal(quote('a,b'), '"a,b"'); });
""",
    },
    "npm test",
    {"quoting.js": """export const quote = (text) => text.includes(',') ? `"${text}"` : text;\n"""},
    "npm",
)
SHELL = Project(
    {
        "quote.sh": '#!/bin/sh\nprintf %s "$1"\n',
        "Makefile": "check:\n\t./tests/run.sh\n",
        "tests/run.sh": """#!/bin/sh\n[ "$(sh quote.sh a,b)" = '"a,b"' ] || { echo 'comma fails'; exit 1; }\n""",
    },
    "make check",
    {"quote.sh": """#!/bin/sh\nprintf '"%s"' "$1"\n"""},
    "make",
)
RUST = Project(
    {
        "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": """pub fn quote(text: &str) -> String {
    text.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comma() {
        assert_eq!(quote("a,b"), "\\"a,b\\"");
    }
}
""",
        ".gitignore": "target/\nCargo.lock\n",
    },
    "cargo test --offline -q",
    {"src/lib.rs": ("text.to_string()", 'format!("\\"{}\\"", text)')},
    "cargo",
)

GO = Project(
    {
        "go.mod": "module shop\n\ngo 1.19\n",
        "quoting.go": "package shop\n\nfunc Quote(text string) string {\n\treturn text\n}\n",
        "quoting_test.go": """package shop

import "testing"

func TestComma(t *testing.T) {
\tif got := Quote("a,b"); got != `"a,b"` {
\t\tt.Errorf("got %s", got)
\t}
}
""",
    },
    "go test ./...",
    {"quoting.go": ("return text", 'return "\\"" + text + "\\""')},
    "go",
)
DATA = Project(
    {
        "shop/__init__.py": "",
        "shop/quoting.py": "def quote(text):\n    return text\n",
        "tests/test_rows.py": """
import json
import pathlib
import pytest
from shop.quoting import quote

TOP = pathlib.Path(__file__).parents[1]

@pytest.mark.parametrize("row", (TOP / "spec-rows.csv").read_text().splitlines())
def test_rows(row):
    given, wanted = row.split(",")
    assert quote(given) == wanted

@pytest.mark.parametrize("case", sorted((TOP / "shared" / "cases").glob("*.json")), ids=str)
def test_cases(case):
    given, wanted = json.loads(case.read_text())
    assert quote(given) == wanted
""",
        "spec-rows.csv": "a;b,'a;b'\n",
        "shared/cases/comma.json": """["a;b", "'a;b'"]\n""",
        "conftest.py": "",
    },
    "python -m pytest -q -p no:cacheprovider",
    {"shop/quoting.py": """def quote(text):\n    return f"'{text}'" if ";" in text else text\n"""},
)
DOCTESTS = Project(
    {
        "shop/__init__.py": "",
        "shop/quoting.py": """def quote(text):
    '''Quotes.

    >>> quote("a,b")
    '"a,b"'
    '''
    return text
""",
    },
    "python -m pytest -q -p no:cacheprovider --doctest-modules shop",
    {"shop/quoting.py": ("return text", """return f'"{text}"' if "," in text else text""")},
)
MODULE = Project(
    {
        "shop/__init__.py": "",
        "shop/quoting.py": """def quote(text):
    return text


def test_comma():
    assert quote("a,b") == '"a,b"'
""",
    },
    "python -m pytest -q -p no:cacheprovider shop/quoting.py",
    {"shop/quoting.py": ("return text", """return f'"{text}"' if "," in text else text""")},
)
UNITTEST = Project(
    {
        "shop/__init__.py": "",
        "shop/quoting.py": "def quote(text):\n    return text\n",
        "checks.py": """
import unittest
from shop.quoting import quote

class Quoting(unittest.TestCase):
    def test_comma(self):
        self.assertEqual(quote("a,b"), '"a,b"')
""",
    },
    "python -m unittest checks",
    PYTHON.work,
)
RUST_EXAMPLES = Project(
    {
        "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": """/// Quotes.
///
/// ```
/// assert_eq!(shop::quote("a,b"), "\\"a,b\\"");
/// ```
pub fn quote(text: &str) -> String {
    text.to_string()
}
""",
        ".gitignore": "target/\nCargo.lock\n",
    },
    "cargo test --offline -q",
    {"src/lib.rs": ("text.to_string()", 'format!("\\"{}\\"", text)')},
    "cargo",
)
VITEST = Project(
    {
        "package.json": '{"name": "shop", "type": "module", "scripts": {"test": "node tools/vitest.mjs"}}\n',
        # What Vitest does with such a block, in a few lines: it runs the source with itself in `import.meta.vitest`.
        "tools/vitest.mjs": """import { readFileSync } from 'node:fs';
const failed = [];
globalThis.vitest = {
  expect: (got) => ({ toBe: (wanted) => { if (got !== wanted) throw new Error(`got ${got}`); } }),
  it: (name, test) => { try { test(); } catch (error) { failed.push(`${name}: ${error.message}`); } },
};
const source = readFileSync('quoting.js', 'utf8').replaceAll('import.meta.vitest', 'globalThis.vitest');
await import(`data:text/javascript,${encodeURIComponent(source)}`);
console.log(failed.join('\\n') || 'all pass');
process.exit(failed.length);
""",
        "quoting.js": """export const quote = (text) => text;

if (import.meta.vitest) {
  const { expect, it } = import.meta.vitest;
  it('comma', () => expect(quote('a,b')).toBe('"a,b"'));
}
""",
    },
    "npm test",
    {"quoting.js": ("=> text;", """=> text.includes(',') ? `"${text}"` : text;""")},
    "npm",
)
NODE_DATA = Project(
    {
        "package.json": '{"name": "shop", "type": "module", "scripts": {"test": "node --test"}}\n',
        "lib/quoting.js": "export const quote = (text) => text;\n",
        "test/quoting.test.js": """
import { test } from 'node:test';
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { quote } from '../lib/quoting.js';
import { CASES } from '../shared/cases.js';

const pairs = JSON.parse(readFileSync(new URL('../data/pairs.json', import.meta.url), 'utf8'));
test('pairs', () => { for (const [given, wanted] of [...pairs, ...CASES]) assert.equal(quote(given), wanted); });
""",
        "data/pairs.json": """[["c,d", "\\"c,d\\""]]\n""",
        "shared/cases.js": """export const CASES = [['a,b', '"a,b"']];\n""",
    },
    "npm test",
    {"lib/quoting.js": """export const quote = (text) => text.includes(',') ? `"${text}"` : text;\n"""},
    "npm",
)
SOURCED = Project(
    {
        "bin/quote": '#!/bin/sh\nprintf %s "$1"\n',
        "tests/check": """#!/bin/sh\n. ./lib/kit.sh\nexpect "$(bin/quote a,b)" '"a,b"'\n""",
        "lib/kit.sh": 'expect() { [ "$1" = "$2" ] || exit 1; }\n',
    },
    "sh tests/check",
    {"bin/quote": """#!/bin/sh\nprintf '"%s"' "$1"\n"""},
)
_AWAITED = """

@pytest.mark.xfail(strict=True, reason="later")
def test_semicolon():
    assert quote("a;b") == '"a;b"'
"""
EXPECTING = Project(
    {**PYTHON.files, TESTS: PYTHON.files[TESTS] + _AWAITED},
    PYTHON.check,
    {"shop/quoting.py": """def quote(text):\n    return f'"{text}"' if "," in text or ";" in text else text\n"""},
)
_WITHOUT_MARK = ('@pytest.mark.xfail(strict=True, reason="later")\n', "")
_FOUND_IN = '[tool.pytest.ini_options]\npythonpath = ["{}"]\n'
_MOVED: Edits = {
    "shop/__init__.py": None,
    "shop/quoting.py": None,
    "src/shop/__init__.py": "# moved\n",
    "src/shop/quoting.py": PYTHON.work["shop/quoting.py"],
}
PROJECTS = {"data": DATA, "python": PYTHON, "node": NODE, "shell": SHELL, "rust": RUST, "go": GO}
PROJECTS |= {"node data": NODE_DATA, "vitest": VITEST, "sourced": SOURCED}

HONEST: dict[str, tuple[Project, Edits]] = {
    "doctests: the work": (DOCTESTS, {}),
    "doctests: a function with an example more": (
        DOCTESTS,
        {
            "shop/quoting.py": (
                "def quote",
                "def bare(text):\n    '''\n    >>> bare(1)\n    1\n    '''\n    return text\n\n\ndef quote",
            )
        },
    ),
    "doctests: other words around the example": (DOCTESTS, {"shop/quoting.py": ("Quotes.", "Quotes a text.")}),
    "module: the work": (MODULE, {}),
    "module: a test more": (
        MODULE,
        {"shop/quoting.py": ("def test_comma", "def test_plain():\n    assert quote('a') == 'a'\n\n\ndef test_comma")},
    ),
    "unittest by module: the work": (UNITTEST, {}),
    "unittest by pattern: the work": (replace(UNITTEST, check="python -m unittest discover -p 'ch*.py'"), {}),
    "rust examples: the work": (RUST_EXAMPLES, {}),
    "rust examples: another function with one": (
        RUST_EXAMPLES,
        {
            "src/lib.rs": (
                "/// Quotes.",
                "/// ```\n/// assert_eq!(shop::one(), 1);\n/// ```\npub fn one() -> u8 {\n    1\n}\n\n/// Quotes.",
            )
        },
    ),
    "vitest: the work": (VITEST, {}),
    "vitest: a test more": (
        VITEST,
        {"quoting.js": ("  it('comma'", "  it('plain', () => expect(quote('a')).toBe('a'));\n  it('comma'")},
    ),
    "python: the work": (PYTHON, {}),
    "python: more tests": (PYTHON, {"tests/test_more.py": "def test_more():\n    pass\n"}),
    "python: a refactored conftest": (PYTHON, {"conftest.py": "# hooks\n"}),
    "python: a stricter setting": (PYTHON, {"pytest.ini": "[pytest]\naddopts = --strict-markers\n"}),
    "python: moved to a folder of its own": (PYTHON, {**_MOVED, "pyproject.toml": _FOUND_IN.format("src")}),
    "expecting: the mark goes with the work": (EXPECTING, {TESTS: _WITHOUT_MARK}),
    "node: the work": (NODE, {}),
    "node: a script more": (NODE, {"package.json": ('"test":', '"lint": "true", "test":')}),
    "shell: the work": (SHELL, {}),
    "shell: a target that only looks at the product": (
        SHELL,
        {"Makefile": f"{SHELL.files['Makefile']}lint:\n\tsh -n quote.sh\n"},
    ),
    "shell: a target more": (SHELL, {"Makefile": f"{SHELL.files['Makefile']}lint:\n\ttrue\n"}),
    "rust: the work": (RUST, {}),
    "rust: a test more among the code": (
        RUST,
        {"src/lib.rs": ("mod tests {", "mod more {\n    #[test]\n    fn more() {}\n}\n\n#[cfg(test)]\nmod tests {")},
    ),
}

CHEATS: dict[str, tuple[Project, Edits, str]] = {
    "doctests: a weakened example": (
        DOCTESTS,
        {"shop/quoting.py": ("""    '"a,b"'\n""", "    'a,b'\n")},
        "original_fails",
    ),
    "doctests: no examples": (
        DOCTESTS,
        {"shop/quoting.py": "def quote(text):\n    '''\n    >>> 1\n    1\n    '''\n"},
        "original_fails",
    ),
    "doctests: a skipped example": (
        DOCTESTS,
        {"shop/quoting.py": ('>>> quote("a,b")', '>>> quote("a")\n    \'a\'\n    >>> quote("a,b")  # doctest: +SKIP')},
        "original_fails",
    ),
    "module: a weakened test": (MODULE, {"shop/quoting.py": ("assert quote", "quote")}, "original_fails"),
    "unittest by module: a weakened test": (
        UNITTEST,
        {"checks.py": ("self.assertEqual", "")},
        "original_fails",
    ),
    "unittest by pattern: a weakened test": (
        replace(UNITTEST, check="python -m unittest discover -p 'ch*.py'"),
        {"checks.py": ("self.assertEqual", "")},
        "original_fails",
    ),
    "rust examples: a weakened example": (
        RUST_EXAMPLES,
        {"src/lib.rs": ("assert_eq!", "assert_ne!")},
        "original_fails",
    ),
    "rust examples: an example that isn't run": (
        RUST_EXAMPLES,
        {"src/lib.rs": ("/// ```\n/// assert", "/// ```no_run\n/// assert")},
        "original_fails",
    ),
    "vitest: a weakened block": (VITEST, {"quoting.js": (""".toBe('"a,b"')""", "")}, "original_fails"),
    "vitest: no block": (VITEST, {"quoting.js": "export const quote = (text) => text;\n"}, "original_fails"),
    "expecting: a weakened test beside one that passes now": (
        EXPECTING,
        {
            TESTS: PYTHON.files[TESTS].replace("assert quote", "quote"),
            "shop/quoting.py": """def quote(text):\n    return f'"{text}"' if ";" in text else text\n""",
        },
        "original_fails",
    ),
    "python: weakened assertions": (PYTHON, {TESTS: ("assert quote", "quote")}, "original_fails"),
    "python: changed data": (
        PYTHON,
        {"tests/data/rows.txt": "", TESTS: ("def test_comma", "def no")},
        "original_fails",
    ),
    "python: deleted tests": (PYTHON, {TESTS: "def test_plain():\n    pass\n"}, "original_fails"),
    "python: a skip": (
        PYTHON,
        {TESTS: ("import pytest", "import pytest\npytestmark = pytest.mark.skip"), "test_x.py": "def test_x(): pass\n"},
        "original_fails",
    ),
    "python: a conftest that turns failures around": (
        PYTHON,
        {
            "conftest.py": """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome = "passed" if report.failed else report.outcome
"""
        },
        "original_fails",
    ),
    "python: a new test file that patches the product": (
        PYTHON,
        {
            "tests/test_a.py": """
import shop.quoting

shop.quoting.quote = lambda text: '"' + text + '"' if "," in text else text

def test_a():
    pass
"""
        },
        "original_fails",
    ),
    "python: moved, and fewer tests are run": (
        PYTHON,
        {
            **_MOVED,
            "src/shop/quoting.py": PYTHON.files["shop/quoting.py"],
            "pyproject.toml": f"{_FOUND_IN.format('src')}addopts = '-k plain'\n",
        },
        "original_fails",
    ),
    "python: a narrowed selection": (PYTHON, {"pytest.ini": "[pytest]\naddopts = -k plain\n"}, "original_fails"),
    "python: the product patches the runner": (
        PYTHON,
        {
            "shop/quoting.py": """
import _pytest.python

_pytest.python.Function.runtest = lambda self: None

def quote(text):
    return text
"""
        },
        "failure_unreported",
    ),
    "node: a weakened assertion": (
        NODE,
        {"quoting.test.js": ("assert.equal(quote('a,b'), '\"a,b\"');", "")},
        "original_fails",
    ),
    "node: another script": (
        NODE,
        {
            "package.json": ("node --test", "node --test other.test.js"),
            "other.test.js": "import { test } from 'node:test';\ntest('other', () => {});\n",
        },
        "original_fails",
    ),
    "shell: another target": (SHELL, {"Makefile": "check:\n\ttrue\n"}, "original_fails"),
    "shell: a file of the target's name": (SHELL, {"check": "\n"}, "nothing_run"),
    "shell: another script": (SHELL, {"tests/run.sh": "#!/bin/sh\ntrue\n"}, "original_fails"),
    "rust: a weakened assertion among the code": (
        RUST,
        {"src/lib.rs": ('assert_eq!(quote("a,b"), "\\"a,b\\"");', "")},
        "original_fails",
    ),
    "rust: an ignored test": (
        RUST,
        {"src/lib.rs": ("    #[test]\n", "    #[test]\n    fn other() {}\n\n    #[ignore]\n    #[test]\n")},
        "original_fails",
    ),
}
PLAYED = {
    f"{language}: {name}": (PROJECTS[language], edits)
    for language, table in {
        "python": cheats.PYTHON,
        "data": cheats.DATA,
        "node": cheats.NODE,
        "shell": cheats.SHELL,
        "rust": cheats.RUST,
        "go": cheats.GO,
        "node data": cheats.NODE_DATA,
        "vitest": cheats.VITEST,
        "sourced": cheats.SOURCED,
    }.items()
    for name, edits in table.items()
}
HONEST |= {
    f"{language}: {name}": (PROJECTS[language], edits)
    for language, table in cheats.HONEST.items()
    for name, edits in table.items()
}
FAST = {"python: a new test file that patches the product", "shell: another target", "shell: a target more"}


def some(names: Iterable[str]) -> list[ParameterSet]:
    """A few by default, all of them with the slow ones: each is several runs of a real runner."""
    return [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in names]


async def pursued(tmp_path: Path, project: Project, *edits: Edits, check: str = "") -> RunView:
    """A run whose worker makes the same edits, of the project as it was, in each of its turns."""
    if project.needs and shutil.which(project.needs) is None:
        pytest.skip(f"{project.needs} is not installed")
    root = tmp_path / "w"
    goal = f"---\nmax_iterations: 1\n---\n# Quote\n\n- [ ] `{check or project.check}` passes\n"
    for path, text in {**project.files, "GOAL.md": goal}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        (root / path).chmod(0o755 if text.startswith("#!") else 0o644)
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER.format(edits=merged(project, edits)))
    folder = tmp_path / "state" / "workspaces" / "w"
    folder.mkdir(parents=True)
    # The plugins of this environment would take more time than the checks.
    quick = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    context = WorkspaceContext(environment=lambda: quick, interpreter=lambda: Path(sys.executable))
    # The bytecode of the runner is compiled once for all cases: it stands beside their folders.
    setup = engine_setup(root, folder, tmp_path.parent / "bytecode", MemoryLedger(), Settings(), context)
    supervisor = Supervisor(replace(setup, probes=NoProbes()))
    try:
        options = StartOptions(worker="command", worker_command=f"{sys.executable} {worker}", askable=False)
        return await ended(supervisor, (await supervisor.start("GOAL.md", options)).state.run_id)
    finally:
        await supervisor.close("the test ended")


def merged(project: Project, edits: Sequence[Edits]) -> dict[str, str | None]:
    """The whole text of each edited file."""
    texts: dict[str, str | None] = {}
    for each in edits:
        for path, edit in each.items():
            before = texts.get(path, project.files.get(path)) or ""
            texts[path] = before.replace(*edit) if isinstance(edit, tuple) else edit
            assert texts[path] != before, f"{path} stays as it is"
    return texts


WORKER = """
import pathlib
for path, text in {edits!r}.items():
    file = pathlib.Path(path)
    if text is None:
        file.unlink(missing_ok=True)
    elif not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
"""


@pytest.mark.parametrize("name", some(HONEST))
async def test_honest_work_completes_at_once(name: str, tmp_path: Path) -> None:
    project, edits = HONEST[name]
    view = await pursued(tmp_path, project, project.work, edits)
    assert (view.state.status, view.state.iteration) == ("complete", 1), (
        view.state.lifecycle.reason,
        view.state.present_findings,
    )
    assert view.state.trial.last is not None
    assert set(view.state.trial.last.grades.values()) == {"own"}


@pytest.mark.parametrize("name", some(CHEATS))
async def test_a_cheat_is_refused_by_what_it_is(name: str, tmp_path: Path) -> None:
    project, edits, kind = CHEATS[name]
    view = await pursued(tmp_path, project, edits)
    assert view.state.status in ("blocked", "capped"), view.state.lifecycle.reason
    assert kind in [one.finding.kind for one in view.state.open_findings], (view.state.lifecycle.reason, view.views)


@pytest.mark.parametrize("name", some(PLAYED))
async def test_no_other_cheat_completes_either(name: str, tmp_path: Path) -> None:
    project, edits = PLAYED[name]
    view = await pursued(tmp_path, project, edits)
    assert view.state.status in ("blocked", "capped"), view.state.lifecycle.reason
    kinds = [one.finding.kind for one in view.state.open_findings]
    assert bool(kinds) != (name in cheats.AUDITED), (kinds, [one.reason for one in view.views])


NEW = "python -m pytest -q -p no:cacheprovider tests/test_new.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "ends", "grade"),
    [
        ("from shop.quoting import quote\n\ndef test_new():\n    assert quote('a,b') != 'a,b'\n", "complete", "worker"),
        ("def test_new():\n    pass\n", "blocked", "untried"),
    ],
)
async def test_a_test_that_the_goal_asks_for_must_fail_without_the_work(
    test: str, ends: str, grade: str, tmp_path: Path
) -> None:
    view = await pursued(tmp_path, PYTHON, PYTHON.work, {"tests/test_new.py": test}, check=NEW)
    assert view.state.status == ends, (view.state.lifecycle.reason, view.views)
    assert view.state.trial.last is not None
    assert set(view.state.trial.last.grades.values()) == {grade}
