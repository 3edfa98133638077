"""Which files are proof and which are product, in every ecosystem."""

from __future__ import annotations

import re
import string

from hypothesis import assume, given
from hypothesis import strategies as st

from donewhen.core.ecosystems import ECOSYSTEMS
from donewhen.core.globs import matches
from donewhen.core.goal import Check, Goal, Requirement
from donewhen.core.proof_files import (
    ProofFiles,
    adds_only,
    checks_files,
    classify,
    holds_tests,
    mentioned_files,
    named_by,
    named_files,
    proof_basis,
    says_absent,
    shared_of,
    targets,
)
from donewhen.core.trials.dividing import combined, proof_part
from tests.core.builders import requirement
from tests.tools import each_row

PROOF = """
tests/test_quotes.py                    test
pkg/sub/tests/data/rows.csv             test
src/pkg/test_inner.py                   test
pkg/writer_test.py                      test
conftest.py                             runner
pkg/conftest.py                         runner
sitecustomize.py                        runner
pytest.ini                              config
tox.ini                                 config
.coveragerc                             config
mypy.ini                                config
noxfile.py                              task
Makefile                                task
sub/justfile                            task
src/export.test.ts                      test
src/export.spec.jsx                     test
src/__tests__/a.js                      test
src/__snapshots__/a.test.js.snap        test
vitest.config.ts                        config
jest.config.cjs                         config
.eslintrc.json                          config
eslint.config.mjs                       config
tsconfig.json                           config
cypress/support/commands.js             test
test/helpers/setup.js                   test
jest.setup.ts                           runner
node_modules/left-pad/index.js          vendored
pkg/export_test.go                      test
pkg/testdata/golden.json                test
.golangci.yml                           config
vendor/github.com/x/y/z.go              vendored
tests/integration.rs                    test
src/snapshots/a.snap                    test
clippy.toml                             config
.cargo/config.toml                      config
rust-toolchain.toml                     config
app/src/test/java/a/BTest.java          test
src/main/java/a/BTest.java              test
checkstyle.xml                          config
spec/models/user_spec.rb                test
.rspec                                  runner
.rubocop.yml                            config
Rakefile                                task
src/buffer_test.cc                      test
t/basic.t                               test
.clang-tidy                             config
App.Tests/QuoteTests.cs                 test
App.sln                                 task
xunit.runner.json                       runner
test/quotes.bats                        test
smoke.bats                              test
test-install.sh                         test
.shellcheckrc                           config
.pre-commit-config.yaml                 config
""".strip().splitlines()

PRODUCT = """
src/export.py
setup.py
pkg/testing.py
pkg/contest.py
pkg/latest/api.py
pkg/attest.py
docs/index.md
spec/openapi.yaml
README.md
src/export.ts
src/protest.ts
index.js
pkg/export.go
cmd/tool/main.go
app/src/main/java/a/Writer.java
lib/user.rb
src/buffer.cc
include/buffer.h
App/Writer.cs
install.sh
data/rows.csv
Dockerfile
""".strip().splitlines()

BOTH = """
pyproject.toml          shared
setup.cfg               shared
package.json            shared
packages/a/package.json shared
Cargo.toml              shared
package-lock.json       manifest
Cargo.lock              manifest
go.mod                  manifest
requirements-dev.txt    manifest
Gemfile.lock            manifest
App/App.csproj          manifest
pom.xml                 manifest
build.gradle.kts        manifest
sub/CMakeLists.txt      manifest
src/lib.rs              inline
src/deep/writer.rs      inline
vite.config.ts          inline
""".strip().splitlines()


@each_row("row", PROOF)
def test_proof_is_told_by_its_name(row: str) -> None:
    path, role = row.split()
    found = classify(path)
    assert (found.side, found.role) == ("proof", role)
    assert matches(found.rule, path), "the rule that is shown is the one that says so"
    assert found.ecosystem


@each_row("path", PRODUCT)
def test_everything_else_is_product(path: str) -> None:
    found = classify(path)
    assert found.side == "product" or (found.role == "inline" and not holds_tests(path, "export const a = 1;\n"))


@each_row("row", BOTH)
def test_some_files_are_both(row: str) -> None:
    path, role = row.split()
    assert (classify(path).side, classify(path).role) == ("both", role)


SEGMENTS = st.text(string.ascii_lowercase + "_-.", min_size=1, max_size=8).filter(lambda s: s.strip(".") == s)


@given(st.lists(SEGMENTS, min_size=0, max_size=4), st.sampled_from([row.split()[0] for row in PROOF]))
def test_a_folder_above_makes_proof_no_product(folders: list[str], path: str) -> None:
    """What is proof in the root is proof in a package of a monorepo, but for what only counts in the root. No folder
    has a name that says what a file is, such as `go.mod`."""
    assume(all(classify(folder).side == "product" for folder in folders))
    assert classify("/".join([*folders, path])).side == "proof"


@given(st.lists(SEGMENTS, min_size=1, max_size=5))
def test_every_path_has_one_standing(segments: list[str]) -> None:
    path = "/".join(segments)
    found = classify(path)
    assert found.path == path
    assert (found.side == "product") == (found.role == "")
    assert found.why


def test_every_expression_of_the_tables_can_be_read() -> None:
    for table in ECOSYSTEMS:
        marks = [mark for inline in table.inline for mark in inline.marks]
        marks += [mark for plant in table.plants for mark in plant.marks]
        for pattern in (*table.absent, *table.redirects, *marks):
            re.compile(pattern)
        for plant in table.plants:
            assert "planted7" in plant.append.format(name="planted7", Name="Planted7", taken="[]").casefold()


def test_the_goal_says_more_and_lets_change() -> None:
    goal = Goal(
        "Export",
        "Quotes.",
        (Requirement("r", 1, "`./selfcheck.sh` passes", (Check.of("./selfcheck.sh"),), sole_check=True),),
        path="GOAL.md",
        proof=("data/gold/**",),
        may_change=("tests/test_api.py",),
    )
    files = ProofFiles.of(goal, named_files(goal.checks, {"selfcheck.sh"}.__contains__))
    assert files.classify("GOAL.md").role == "goal"
    assert files.classify("data/gold/a.json").role == "asked"
    assert files.classify("selfcheck.sh").role == "named"
    assert files.classify("src/a.py").side == "product"
    assert files.changeable("tests/test_api.py")
    assert not files.changeable("tests/test_quotes.py")


@each_row(
    "command, named",
    [
        ("./verify.sh --all", {"verify.sh"}),
        ("bash ci/run", {"ci/run"}),
        ("python scripts/report.py", {"scripts/report.py"}),
        ("python check_rows.py && ruff check .", {"check_rows.py"}),
        ("cd sub && ./verify.sh", {"sub/verify.sh", "verify.sh"}),
        ("node bin/lint", {"bin/lint"}),
        ("./quote.sh --all", {"quote.sh"}),
        ("cd sub && sh ../quote.sh", {"quote.sh"}),
        ("./quote.sh a,b | grep -q c", set[str]()),
        ("python app.py --self-test", set[str]()),
        ("python -m pytest tests/test_a.py", {"tests/test_a.py"}),
        ("python -m checks.run --all", {"checks/run.py"}),
        ("python -m app", set[str]()),
        ("../elsewhere/verify.sh", set[str]()),
        ("test -f scripts/report.py && grep -q x verify.sh", set[str]()),
        ('[ "$(sh verify.sh)" = ok ]', {"verify.sh"}),
        ("gcc -o out src/main.c", set[str]()),
        ("MODE=1; python check_rows.py", {"check_rows.py"}),
    ],
)
def test_scripts_that_a_check_names_are_proof(command: str, named: set[str]) -> None:
    there = {
        "verify.sh", "quote.sh", "ci/run", "scripts/report.py", "check_rows.py", "sub/verify.sh", "bin/lint", "app.py",
        "tests/test_a.py", "src/main.c", "checks/run.py",
    }  # fmt: skip
    assert named_files([Check.of(command)], there.__contains__) == named


def test_a_program_whose_exit_code_other_than_0_is_asked_for_is_the_product() -> None:
    there = {"tool.sh", "verify.sh"}
    assert named_files([Check.of("./tool.sh --bad", 3)], there.__contains__) == frozenset()
    assert named_files([Check.of("./verify.sh", 3)], there.__contains__) == {"verify.sh"}


@each_row(
    "command, as_they_stand",
    [
        ("ruff check .", True),
        ("uv run ruff format --check . && python -m mypy src", True),
        ("cd web && npx eslint . --max-warnings 0", True),
        ("cargo clippy -- -D warnings", True),
        ("cargo test", False),
        ("go vet ./...", True),
        ("go test ./...", False),
        ("npm run lint", True),
        ("npm run lint:css", True),
        ("npm run test", False),
        ("make lint", True),
        ("make check", False),
        ("tox -e lint", True),
        ("ruff check . && pytest", False),
        ("python check.py", False),
        ("test -f tests/test_display.py && ! test -e tests/test_old.py", True),
        ("grep -rq TODO src tests", True),
        ("sh -n greet.sh && python3 -m py_compile greet.py", True),
        ("sh -e greet.sh -n", False),
        ("node greet.js --check", False),
        ("grep -qf tests/wanted.txt README.md", False),
        ("[ -d shop_tests ] && pytest", False),
        ('test "$(./greet.sh Ada)" = "Hello, Ada!"', False),
        ("cmp out.txt tests/golden.txt", False),
        ("", False),
    ],
)
def test_a_linter_checks_files_as_they_stand(command: str, as_they_stand: bool) -> None:
    assert checks_files(command) is as_they_stand


@each_row(
    "command, named",
    [
        ("pytest tests/test_new.py::test_a -q", "tests/test_new.py"),
        ("cd sub && python -m unittest -q tests.test_total", "sub/tests/test_total.py"),
        ("python -m unittest tests.test_total.TotalTest.test_two", "tests/test_total.py"),
        ("python3 -m unittest checks", "checks.py"),
        ("python3 -m unittest first second", "second.py"),
        ("node --test test/new", "test/new"),
        ("go test ./store/...", "store"),
    ],
)
def test_a_command_names_what_it_runs(command: str, named: str) -> None:
    assert named in targets(command)
    assert not {"python.py", "python3.py", "unittest.py"} & targets(command)


@each_row(
    "command, named",
    [
        ("python -m unittest discover -s sub -p 's*.py'", {"spec.py", "sub/spec.py"}),
        ("pytest sp*.py", {"spec.py", "sub/spec.py"}),
        ("pytest sub/spec.py", {"sub/spec.py"}),
        ("make spec", set[str]()),
    ],
)
def test_patterns_name_files_too(command: str, named: set[str]) -> None:
    assert named_by([command], ["spec.py", "sub/spec.py", "other.py"]) == named


def test_to_a_linter_tests_are_what_it_checks_and_its_configuration_is_the_proof() -> None:
    files = ProofFiles(proof=("gold/**",), as_they_stand=True)
    sides = {path: files.classify(path).side for path in ("tests/test_a.py", "conftest.py", "ruff.toml", "Makefile")}
    assert sides == {"tests/test_a.py": "product", "conftest.py": "product", "ruff.toml": "proof", "Makefile": "proof"}
    assert files.classify("gold/a.json").side == "proof"


def test_what_a_linter_leaves_out_is_its_configuration_and_nothing_to_a_test_run() -> None:
    assert ProofFiles(as_they_stand=True).classify("web/.gitignore").side == "proof"
    assert ProofFiles().classify("web/.gitignore").side == "product"


def test_scripts_that_a_task_mentions_are_proof() -> None:
    there = {"scripts/run.sh", "sub/test.sh", "src/main.c", "verify_all.py", "quote.sh", "all.sh"}
    text = "test: build\n\t./scripts/run.sh && $(PY) verify_all.py\n\tcc src/main.c\n"
    text += "\tcp quote.sh /usr/bin\n\t@sh -e all.sh\n"
    assert mentioned_files(text, "", there.__contains__) == {"scripts/run.sh", "verify_all.py", "all.sh"}
    assert mentioned_files('"test": "sh ./test.sh"', "sub", there.__contains__) == {"sub/test.sh"}


LINTED = {"greet.sh", "scripts/greet.sh", "scripts/greet.py", "scripts/lint.sh", "scripts/rules"}


@each_row(
    "text, proof",
    [
        ("lint:\n\tsh -n greet.sh\n", set[str]()),
        ("lint:\n\t@bash -eun scripts/greet.sh\n", set()),
        ("lint: ; dash -n scripts/greet.sh greet.sh", set()),
        ('{"scripts": {"lint": "shellcheck scripts/greet.sh && node --check scripts/greet.py"}}', set()),
        ("commands =\n    python3 -m py_compile scripts/greet.py\n", set()),
        ("lint = 'ruff check scripts/greet.py'", set()),
        ("      - run: test -x scripts/greet.sh\n", set()),
        ("lint:\n\tsh -n greet.sh && ./greet.sh\n", {"greet.sh"}),
        ("lint:\n\tsh -n greet.sh\ncheck:\n\tsh -e greet.sh\n", {"greet.sh"}),
        ("lint:\n\tsh -e greet.sh -n\n", {"greet.sh"}),
        ("lint:\n\tsh scripts/lint.sh greet.sh\n", {"scripts/lint.sh"}),
        ("lint:\n\teslint --rulesdir scripts/rules greet.sh\n", {"scripts/rules"}),
        ("check:\n\tgrep -f scripts/rules greet.sh\n", {"scripts/rules"}),
    ],
)
def test_a_program_that_a_task_only_checks_is_product(text: str, proof: set[str]) -> None:
    assert mentioned_files(text, "", LINTED.__contains__) == proof


@each_row(
    "command, proof",
    [
        ("sh -n greet.sh", set[str]()),
        ("shellcheck scripts/greet.sh", set()),
        ("python -m py_compile scripts/greet.py", set()),
        ("eslint --rulesdir scripts/rules greet.sh", {"scripts/rules"}),
        ("sh greet.sh", {"greet.sh"}),
    ],
)
def test_a_program_that_a_check_only_checks_is_product(command: str, proof: set[str]) -> None:
    assert named_files([Check("c", command)], LINTED.__contains__) == proof


# ------------------------------------------------------------------------------------ dependencies


@each_row(
    "path, before, after, adds",
    [
        ("requirements.txt", "a==1\nb==2\n", "a==1\nb==2\nc==3\n", True),
        ("requirements.txt", "a==1\nb==2\n", "c==3\nb==2\na==1\n", True),
        ("requirements.txt", "a==1\n", "a==2\n", False),
        ("requirements.txt", "a==1\n", "a==1\n-e ./fake\n", False),
        ("go.mod", "module x\nrequire a v1\n", "module x\nrequire a v1\nrequire b v2\n", True),
        ("go.mod", "module x\nrequire a v1\n", "module x\nrequire a v1\nreplace a => ./fake\n", False),
        ("package-lock.json", '{\n"a": "1"\n}', '{\n"a": "1",\n"b": "2"\n}', True),
        ("package-lock.json", '{\n"a": "1"\n}', '{\n"a": "1",\n"b": "file:../b"\n}', False),
        ("CMakeLists.txt", "add_library(x a.cc b.cc)\n", "add_library(x a.cc b.cc c.cc)\n", True),
        ("CMakeLists.txt", "add_test(x y)\n", "add_test(x y)\nset_tests_properties(x PROPERTIES WILL_FAIL 1)\n", False),
        ("CMakeLists.txt", "add_test(x y)\nadd_test(z y)\n", "add_test(x y)\n", False),
        (
            "pom.xml",
            "<dependencies>\n</dependencies>",
            "<dependencies>\n<dependency>a</dependency>\n</dependencies>",
            True,
        ),
        ("pom.xml", "<p>\n</p>", "<p>\n<testFailureIgnore>true</testFailureIgnore>\n</p>", False),
        ("Cargo.lock", "[[package]]\n", '[[package]]\n[[package]]\nsource = "git+https://x"\n', False),
    ],
)
def test_a_dependency_more_is_product_and_another_one_is_proof(path: str, before: str, after: str, adds: bool) -> None:
    assert adds_only(path, before, after) is adds


# ------------------------------------------------------------------------------------ sections

PYPROJECT = """# about
[project]
name = "x"

[tool.pytest.ini_options]
addopts = "-q"  # quiet
testpaths = [
  "tests",
]

[tool.hatch.build]
a = 1
"""


def test_the_sections_of_runners_are_proof() -> None:
    shared = shared_of("pyproject.toml")
    assert shared is not None
    assert (
        proof_part(shared, PYPROJECT)
        == '[tool.pytest.ini_options]\naddopts = "-q"  # quiet\ntestpaths = [\n"tests",\n]'
    )
    changed = PYPROJECT.replace("a = 1", "a = 2").replace('name = "x"', 'name = "y"')
    assert proof_part(shared, changed) == proof_part(shared, PYPROJECT)


def test_a_shared_file_of_two_versions_has_the_proof_of_one_and_the_product_of_the_other() -> None:
    shared = shared_of("pyproject.toml")
    assert shared is not None
    weakened = PYPROJECT.replace('"-q"', '"-q -k nothing"').replace("a = 1", "a = 2")
    mixed = combined(shared, proof=PYPROJECT, product=weakened)
    assert mixed is not None
    assert 'addopts = "-q"  # quiet' in mixed
    assert "a = 2" in mixed
    assert proof_part(shared, mixed) == proof_part(shared, PYPROJECT)


def test_package_json_is_taken_apart_by_its_keys() -> None:
    shared = shared_of("web/package.json")
    assert shared is not None
    before = '{"name": "x", "scripts": {"test": "vitest run"}, "version": "1"}'
    after = '{"name": "x", "version": "2", "scripts": {"test": "true"}, "main": "a.js"}'
    mixed = combined(shared, proof=before, product=after)
    assert mixed is not None
    assert proof_part(shared, mixed) == proof_part(shared, before)
    assert '"version": "2"' in mixed
    assert '"main": "a.js"' in mixed
    assert combined(shared, proof="{", product=after) is None


@given(st.text(alphabet="[]=\"'ab.\n# tool", max_size=80), st.text(alphabet="[]=\"'ab.\n# tool", max_size=80))
def test_combining_keeps_the_proof_of_one_side_whatever_the_texts(one: str, other: str) -> None:
    shared = shared_of("pyproject.toml")
    assert shared is not None
    first, second = f"[project]\n{one}\n", f"[project]\n{other}\n"
    mixed = combined(shared, proof=first, product=second)
    if mixed is not None:
        assert proof_part(shared, mixed) == proof_part(shared, first)


# ------------------------------------------------------------------------------------ what isn't there


@each_row(
    "output",
    [
        "ERROR: file or directory not found: tests/test_new.py\n\nno tests ran in 0.00s\n",
        "make: *** No rule to make target 'check'.  Stop.\n",
        'npm error Missing script: "check"\n',
        "npm ERR! missing script: check\n",
        "Oops! Something went wrong!\n\nESLint couldn't find an eslint.config.(js|mjs|cjs) file.\n",
        "error TS5057: Cannot find a tsconfig.json file at the specified directory: '.'.\n",
        "go: go.mod file not found in current directory or any parent directory\n",
        "make: *** No targets specified and no makefile found.  Stop.\n",
        "sh: 1: ./verify.sh: not found\n",
        "error: no test target named `quotes`.\n",
        "python: can't open file '/w/check.py': [Errno 2] No such file or directory\n",
        "bash: ./verify.sh: No such file or directory\n",
    ],
)
def test_a_check_says_that_what_it_names_is_not_there(output: str) -> None:
    assert says_absent(output)


@each_row("output", ["1 failed in 0.02s\n", "AssertionError: not found\n", "", "error[E0425]\n"])
def test_a_failure_is_not_taken_for_absence(output: str) -> None:
    assert not says_absent(output)


def rests(command: str) -> tuple[list[str], bool]:
    """What a requirement with this check rests on in a workspace of several languages, and whether that is narrowed."""
    paths = [
        "GOAL.md", "Makefile", "pyproject.toml", "package.json", "web/src/a.test.ts", "web/src/a.ts", "src/a.py",
        "tests/conftest.py", "tests/helpers.py", "tests/test_a.py", "tests/test_b.py", "testdata/rows.txt",
        "vitest.config.ts", "verify.sh", "gold/a.csv",
    ]  # fmt: skip
    files = ProofFiles(proof=("gold/**",), named=frozenset({"verify.sh"}), goal_path="GOAL.md")
    wanted = requirement(1, "it works", command)
    (own,) = proof_basis(files, paths, (), (wanted, requirement(2, "nobody checks this"))).own
    assert own.requirement_id == wanted.id
    return sorted(one.path for group in own.groups for one in group.files), own.narrowed


PYTEST = ["pyproject.toml", "testdata/rows.txt", "tests/conftest.py", "tests/helpers.py"]


@each_row(
    "command, found",
    [
        ("python -m pytest -q", sorted([*PYTEST, "tests/test_a.py", "tests/test_b.py"])),
        ("pytest -q tests/test_a.py::test_one", sorted([*PYTEST, "tests/test_a.py"])),
        ("pytest --ignore tests/test_a.py", sorted([*PYTEST, "tests/test_a.py", "tests/test_b.py"])),
        ("pytest -k tests", sorted([*PYTEST, "tests/test_a.py", "tests/test_b.py"])),
        (
            "npx vitest run",
            ["package.json", "testdata/rows.txt", "tests/helpers.py", "vitest.config.ts", "web/src/a.test.ts"],
        ),
        ("ruff check .", ["pyproject.toml"]),
        ("test -f src/a.py", []),
    ],
)
def test_what_a_requirement_rests_on_is_what_its_own_tools_read(command: str, found: list[str]) -> None:
    assert rests(command) == (found, True)


@each_row(
    "command, found",
    [
        ("sh verify.sh", ["verify.sh"]),
        ("make test", []),
        ("npm test", []),
        ("pytest tests/test_a.py && ./deploy", ["tests/test_a.py"]),
        ("source env.sh && pytest", []),
        ("pytest 'unclosed", []),
    ],
)
def test_a_command_that_may_run_anything_rests_on_the_whole_list(command: str, found: list[str]) -> None:
    assert rests(command) == (found, False)
