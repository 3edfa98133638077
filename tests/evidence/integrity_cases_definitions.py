"""What the name of a check stands for."""

from __future__ import annotations

from .integrity_case import Case

MAKE = ("make test",)
MAKEFILE = (
    "PY = python\n\nall: build\n\ntest: unit\n\t$(PY) -m pytest -q\n\nunit:\n\t./scripts/unit.sh\n\nbuild:\n\techo hi\n"
)
UNIT = "#!/bin/sh\nset -e\npytest tests/unit\n"
PACKAGE = '{\n  "scripts": {\n    "test": "jest",\n    "build": "tsc"\n  }\n}\n'

DEFINITIONS = (
    Case(
        "another target",
        {"Makefile": MAKEFILE, "scripts/unit.sh": UNIT},
        {"Makefile": MAKEFILE.replace("echo hi", "echo ho || true")},
        (),
        MAKE,
    ),
    Case(
        "comments of a Makefile",
        {"Makefile": MAKEFILE, "scripts/unit.sh": UNIT},
        {"Makefile": "# how to\n" + MAKEFILE},
        (),
        MAKE,
    ),
    Case(
        "a target masked",
        {"Makefile": MAKEFILE, "scripts/unit.sh": UNIT},
        {"Makefile": MAKEFILE.replace("pytest -q", "pytest -q || true")},
        ("exit_masked Makefile:5",),
        MAKE,
    ),
    Case(
        "a recipe's prefix",
        {"Makefile": MAKEFILE, "scripts/unit.sh": UNIT},
        {"Makefile": MAKEFILE.replace("\t$(PY)", "\t-$(PY)")},
        ("exit_masked Makefile:5",),
        MAKE,
    ),
    Case(
        "a target does nothing",
        {"Makefile": MAKEFILE, "scripts/unit.sh": UNIT},
        {"Makefile": MAKEFILE.replace("$(PY) -m pytest -q", "@echo 5 passed")},
        ("check_config Makefile:5",),
        MAKE,
    ),
    Case(
        "a prerequisite's recipe",
        {"Makefile": MAKEFILE, "scripts/unit.sh": UNIT},
        {"Makefile": MAKEFILE.replace("./scripts/unit.sh", "true")},
        ("check_config Makefile:8",),
        MAKE,
    ),
    Case(
        "a variable of a target",
        {"Makefile": MAKEFILE, "scripts/unit.sh": UNIT},
        {"Makefile": MAKEFILE.replace("PY = python", "PY = echo")},
        ("check_config Makefile:0",),
        MAKE,
    ),
    Case(
        "a script of a target",
        {"Makefile": MAKEFILE, "scripts/unit.sh": UNIT},
        {"scripts/unit.sh": UNIT.replace("pytest tests/unit", "pytest tests/unit --ignore tests/unit/a")},
        ("exit_masked scripts/unit.sh:2",),
        MAKE,
    ),
    Case("the Makefile deleted", {"Makefile": MAKEFILE}, {"Makefile": None}, ("check_config Makefile:0",), MAKE),
    Case(
        "a Makefile before the Makefile",
        {"Makefile": "test:\n\tpytest\n"},
        {"GNUmakefile": "test:\n\ttrue\n"},
        ("check_config GNUmakefile:1",),
        MAKE,
    ),
    Case(
        "another script of npm",
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace("tsc", "tsc || true")},
        (),
        ("npm test",),
    ),
    Case(
        "a dependency of npm",
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('{\n  "s', '{\n  "dependencies": {"a": "1"},\n  "s', 1)},
        (),
        ("npm test",),
    ),
    Case(
        "a script of npm masked",
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace("jest", "jest --passWithNoTests")},
        ("exit_masked package.json:2",),
        ("npm test",),
    ),
    Case(
        "a script of npm",
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace("jest", "echo ok")},
        ("check_config package.json:2",),
        ("npm run test",),
    ),
    Case(
        "a script before it",
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"build"', '"pretest": "rm -r tests", "build"')},
        ("check_config package.json:3",),
        ("npm test",),
    ),
    Case(
        "a check script",
        {"tools/check.py": "assert run()\n"},
        {"tools/check.py": "print('ok')\n"},
        ("check_config tools/check.py:0",),
        ("python tools/check.py",),
    ),
    Case(
        "a check script's comments",
        {"tools/check.py": "assert run()\n"},
        {"tools/check.py": "# runs\nassert  run()\n"},
        (),
        ("python tools/check.py",),
    ),
    Case(
        "a check script exits",
        {"tools/check.py": "assert run()\n"},
        {"tools/check.py": "import sys\nsys.exit(0)\nassert run()\n"},
        ("exit_masked tools/check.py:1",),
        ("python tools/check.py",),
    ),
    Case(
        "set +e",
        {"run.sh": "set -e\npytest\n"},
        {"run.sh": "set +e\npytest\n"},
        ("exit_masked run.sh:0",),
        ("bash run.sh",),
    ),
    Case("a program that is worked on", {"hello.py": ""}, {"hello.py": "print('hello')\n"}, (), ("python hello.py",)),
    Case(
        "a script that the goal is about",
        {"check.sh": "true\n"},
        {"check.sh": "pytest\n"},
        (),
        ("bash check.sh",),
        about=("check.sh",),
    ),
    Case(
        "tox",
        {"tox.ini": "[testenv]\ncommands = pytest\n"},
        {"tox.ini": "[testenv]\ncommands = - pytest\n"},
        ("check_config tox.ini:1",),
        ("tox",),
    ),
    Case("nox", {"noxfile.py": "import nox\n"}, {"noxfile.py": "import nox  # sessions\n"}, (), ("nox",)),
    Case(
        "a recipe of just",
        {"justfile": "test:\n    pytest\n"},
        {"justfile": "test:\n    pytest || true\n"},
        ("exit_masked justfile:1",),
        ("just test",),
    ),
    Case(
        "pre-commit",
        {".pre-commit-config.yaml": "repos:\n- a\n"},
        {".pre-commit-config.yaml": "repos: []\n"},
        ("check_config .pre-commit-config.yaml:0",),
        ("pre-commit run -a",),
    ),
)
