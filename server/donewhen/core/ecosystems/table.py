"""The types of the tables: what is known of a tool (`Tool`), and of the ecosystem that it belongs to (`Ecosystem`).

A table is data, and knows no file, process or clock: whoever reads it hands in texts and names. To teach Done When a
tool, add a row to the table of its ecosystem; to support another language, add a module with one `Ecosystem` and name
it in `__init__`. Nothing else has to know of either (CONTRIBUTING.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Literal

from donewhen.core.ecosystems.output import Counts, Named, Reader, multiline


def globs(text: str) -> tuple[str, ...]:
    """The words of a text: a table of many short names is easier to read, and to add to, without quotes and commas."""
    return tuple(text.split())


Format = Literal["toml", "ini", "json"]


@dataclass(frozen=True, slots=True)
class Shared:
    """Files of which a part is proof: configuration of a runner in a file that also describes the product.

    `files` are globs. `proof` are globs of the names of sections that are proof (`tool.pytest*`), of top-level keys
    where `format` is `json`; everything else is product.
    """

    files: tuple[str, ...]
    format: Format
    proof: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inline:
    """Sources that may hold tests among the product's code (`core/inline` tells the two apart).

    `marks` are regular expressions; a file in which one is found holds tests. `asked`: only where a check runs them.
    """

    files: tuple[str, ...]
    marks: tuple[str, ...]
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Suppression:
    """A comment, or an attribute, by which `tools` pass over what they would report: `mark` is a regular expression."""

    mark: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disguise:
    """A question that code asks of its surroundings, and the neutral answer: as it is where no test runs.

    `asks` is a regular expression on a line, `neutral` the template of what stands in its place. It must be right
    wherever `asks` may stand, and leave honest code as it is. Files that match a glob of `but` are left alone. With
    `where`, a regular expression, a question counts only where that is found too: on the line, or on another one that
    came and holds a name which the line gives the answer.
    """

    asks: str
    neutral: str
    but: tuple[str, ...] = ()
    where: str = ""


MEETS_A_TEXT = (
    r"""^(?=.*["'`/][^"'`/])(?=.*(?:[=!]==?|\bin\b"""
    r"|(?i:(?:has|starts?|ends?|contains?|includes?|match|search|test|find|index)_?\w*)\())"
)
"""Something is compared there with a text that stands in the line."""


@dataclass(frozen=True, slots=True)
class Plant:
    """How a test that must fail is put beside others.

    It fails by an error of its own, but only after each usual assertion has failed on what is wrong: one that was
    replaced by something which always passes makes it pass. `files` are globs of the test files that it suits and
    `marks` regular expressions that must all be found in the file. `append` is added at its end; with `beside` it is a
    new file of that name in the same folder instead. `{name}` becomes an identifier that nobody can guess, `{Name}` the
    same with a capital letter. `names` is a regular expression that finds the `name` of each test in a file: `{taken}`
    becomes a list of some of them, tests that pass, and must be reported as failed too. Where `expects` is a
    regular expression, its second group is a value that a test expects: those of some tests become something else in
    the file itself, and these must be reported as failed.
    """

    files: tuple[str, ...]
    append: str
    marks: tuple[str, ...] = ()
    beside: str = ""
    names: str = ""
    expects: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """How one runner ends what it prints (without escape sequences).

    `read` takes the totals out of it. Regular expressions, in which `^` and `$` are the ends of a line: `says` is found
    in the output of this runner and of no linter or compiler, `nothing` where it says that there was no test.
    `instead_of` are forms that its output has as well: they are not counted again. `tests` gives the tests that it
    names, each with the word for its outcome, and `failed` finds names of tests that failed, where not all are named.
    `makers` are the names that it goes by in JUnit reports, and then `last` finds the one line that it ends with, where
    `read` adds up several.
    """

    name: str
    read: Reader
    says: str
    nothing: str = ""
    instead_of: tuple[str, ...] = ()
    tests: Callable[[str], Iterable[Named]] | None = None
    failed: str = ""
    makers: tuple[str, ...] = ()
    last: Reader | None = None

    def is_in(self, output: str) -> bool:
        return multiline(self.says).search(output) is not None or self.says_nothing(output)

    def says_nothing(self, output: str) -> bool:
        return bool(self.nothing) and multiline(self.nothing).search(output) is not None

    def counts(self, output: str) -> Counts | None:
        found = self.read(output)
        return (0, 0, 0) if found is None and self.says_nothing(output) else found


Reach = Literal["own", "shared", "loose"]


@dataclass(frozen=True, slots=True)
class Matcher:
    """How a problem and its place are printed: one pattern for each of the lines that make it up.

    Groups, taken from any of them: `path`, `line` (from 1), and perhaps `column` (from 1), `severity`, `message`,
    `code`, `name`; `expected` and `actual` stand in for the message. A matcher that loops gives one problem for each
    further line that fits its last pattern. Those whose form is a tool's `own` are tried first, then what many tools
    `share`, then what is so `loose` that it would take what is others'.
    """

    source: str
    lines: tuple[str, ...]
    loops: bool = False
    reach: Reach = "own"


def matcher(source: str, *patterns: str, loops: bool = False, reach: Reach = "own") -> Matcher:
    return Matcher(source, patterns, loops, reach)


FIX = globs("--fix --fix-only --unsafe-fixes --add-noqa --write -w --in-place -i --update")
"""Options by which linters edit what they look at."""


def pip(name: str) -> str:
    """How to get a tool of Python's."""
    return f"`python -m pip install {name}` in the workspace's environment"


SECONDS = r"\d+(?:\.\d+)?"
FEW, LONG = r"[^\n]{0,120}", r"[^\n]{0,1000}"
"""For patterns of durations: bounded, since what a test prints must not decide how long reading it takes."""
PATH = r"(?P<path>(?:[A-Za-z]:)?[^\s:(][^:(\n]*?)"
ARROW = r"^\s*(?:-->|╭▸|╭─\[) ?(?P<path>.+?):(?P<line>\d+):(?P<column>\d+)\]?\s*$"
"""A path, and the line of rustc and ruff under a message, for patterns of matchers."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Lines around a stack trace of JavaScript: `title` finds the `name` of the test that failed, `raised` the
    `message` of what was thrown. `next_line`: after the title comes the message, whatever it looks like."""

    title: str = ""
    raised: str = ""
    next_line: bool = False


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of failure that the output tells, and what helps against it: `says` is a regular expression (`^` and `$`
    are the ends of a line), `helps` what to do, as a template of its groups or made of the match and the check's
    command; empty where nothing is known to help."""

    says: str
    helps: str | Callable[[re.Match[str], str], str]


@dataclass(frozen=True, slots=True)
class Line:
    """When a line that a project runs itself is taken as a check.

    `programs` are the words that start the tool, `verbs` those of which one must come first. `needs`: only with one of
    these options, as it edits files without; `edits`: never with one of these. `module`: as a module of Python it is
    called so, and `only_module`: in no other way.
    """

    programs: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()
    module: str = ""
    only_module: bool = False


@dataclass(frozen=True, slots=True)
class Affected:
    """How a runner is asked for the tests that a change may affect: by the words of the check's own command line, with
    other places to look for tests in them (`evidence/affected.py`).

    `by` says what these places are: `tests` those that failed last and those of test files that changed; `sources` the
    files that changed, where the runner knows which tests load them; `folders` those that changed files lie in;
    `package` the nearest `manifest` above them.

    `sources` are globs of files whose change it can follow. Only a command line that is understood is changed: `values`
    are the options that take the next word, `flags` those that take none, and `whole` the words that mean all tests
    (folders and packages stand for nothing else). The options `drops` are left out (reports and coverage of all tests,
    workers that take longer to start than a test), `verb` and `adds` come to the others. `named` are names of test
    files by the source's. Where the runner keeps a `record` of which test ran what, `by_record` are options that have
    it choose by that.
    """

    by: Literal["tests", "sources", "folders", "package"]
    sources: tuple[str, ...]
    values: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    verb: str = ""
    adds: tuple[str, ...] = ()
    manifest: str = ""
    named: tuple[str, ...] = ()
    record: str = ""
    by_record: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sign:
    """What shows that a workspace uses a tool, and the `command` that is guessed from it.

    Any of these will do: one of `files` in the workspace's own folder (`*` within a name), one of `tables` in
    pyproject.toml, one of `keys` in package.json, a text in a file (`sections`). Where `tests` is a regular expression,
    it must be found in a test of the ecosystem's, too. `windows` is the command there, where it is another one.
    `purpose` and `group` are the tool's, unless they say otherwise: of each group a draft holds one test.

    In what shows it the tool has settings (a table, a section, the whole of a TOML or JSON file): `setting` must be
    among them. Where one of `targets` is, the tool knows itself what to look at, and `{package}` and `{beside}` in the
    command become nothing; else they become the package that is there, the first `.` without one. `{no_fix}` becomes
    the option by which settings don't make ruff edit files.
    """

    command: str
    files: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    sections: tuple[tuple[str, str], ...] = ()
    tests: str = ""
    setting: str = ""
    targets: tuple[str, ...] = ()
    windows: str = ""
    purpose: Purpose | None = None
    group: str = ""


Purpose = Literal["test", "lint", "types", "build", "other"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Files:
    """What files, and lines in them, are to a proof. Globs are relative to the workspace; `**/` matches no folder, too.

    - `tests`: tests, and the helpers, data and snapshots that lie with them;
    - `runners`: what a test runner loads by itself: hooks, plugins, start-up files;
    - `config`: configuration of test runners, linters, type checkers and coverage;
    - `tasks`: files in which a check's name stands for commands; `lists` are those of them that also list what is
      built: where only such a list grew, that is product;
    - `choosing`: files by which checkers choose what they look at, of no meaning to any other check;
    - `shared`: files of which a part is proof, `inline`: sources that may hold tests;
    - `manifests`: what the product depends on, declared and locked. Adding to them is product, any other change is
      proof; a line that one of `redirects` is found in is never an addition (nor one of `lists`);
    - `vendored`: dependencies that lie in the tree;
    - `outputs`: what builds make, of no meaning by itself;
    - `suppressions`: how tools are told to pass over something;
    - `plants`: how a failing test is put beside others, the first that suits;
    - `absent`: regular expressions on a check's output: what the check names isn't there at all;
    - `idle`: the same: something was not run, for a file says that it is up to date;
    - `toolchains`: folders below HOME that tools need;
    - `caches`: names of folders that tools leave behind, part of no revision unless git tracks what is in them;
    - `variables`: of the environment, that lead to toolchains; `keys`: files below those that hold keys;
    - `settings`: files below HOME that tools read unasked;
    - `runner_packages`: folders of installed packages that run tests, where they lie in the workspace and no revision
      covers them.
    """

    tests: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    choosing: tuple[str, ...] = ()
    shared: tuple[Shared, ...] = ()
    inline: tuple[Inline, ...] = ()
    manifests: tuple[str, ...] = ()
    redirects: tuple[str, ...] = ()
    vendored: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    plants: tuple[Plant, ...] = ()
    toolchains: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    runner_packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool(Files):
    """All that is known of one program that checks: a row.

    - `purpose`: a `test` runner makes a check a test run by its name alone; a linter, formatter or type checker checks
      files as they stand, tests too: to it a test is what it looks at, and its configuration the proof;
    - `called`: the program and verbs that a command line names it by, with any options between, where that isn't its
      name; and `needs`, an option that must be there too. `starts`: it checks nothing itself, and runs others, which
      may be test runners;
    - `prints`: the forms in which it prints its totals, or the names of forms of other rows;
    - `problems`, `traces`: how it prints places; `nothing_checked`: regular expressions on the start of a line in
      which it says that it found no file; `durations`: on what it prints, with the part `before` a duration (judges
      are shown none);
    - `causes`: what helps where it fails for a cause that is known;
    - `locates`: the key of its configuration that says only in which folders the product is;
    - `unexpected`: a regular expression on what is said of a test that was expected to fail, and failed for not
      doing so;
    - `always_reports`: the report that the server asks for is written whenever it really ran, so that what is printed
      proves nothing. `no_tests_exit`: the exit code that says that there was no test,
      `usage_exit` the one that says that it did not even look for any;
    - `breaks_off`: regular expressions on what it prints where it ends before any test ran, and `said` in them on what
      it says of that;
    - `report_options`, `report_variables`: by which it is told where to write its JUnit report;
    - `affected`: how it is asked for the tests that a change may affect;
    - `line`, `signs`: how it is found in a workspace; `hooks`: of pre-commit, by id, and the command that each is;
    - `packaged`: it comes with the packages of the project (`node_modules/.bin`);
    - `install`: how to get it, as the end of a sentence; `programs`: by which names, where `commands` don't tell.
    """

    name: str = field(kw_only=False)
    purpose: Purpose = field(kw_only=False)
    called: tuple[str, ...] | None = field(default=None, kw_only=False)
    needs: str = ""
    starts: bool = False
    prints: tuple[Form | str, ...] = ()
    problems: tuple[Matcher, ...] = ()
    traces: tuple[Trace, ...] = ()
    nothing_checked: tuple[str, ...] = ()
    durations: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    locates: str = ""
    unexpected: str = ""
    always_reports: bool = False
    no_tests_exit: int | None = None
    usage_exit: int | None = None
    breaks_off: tuple[str, ...] = ()
    report_options: tuple[str, ...] = ()
    report_variables: tuple[str, ...] = ()
    affected: Affected | None = None
    line: Line | None = None
    signs: tuple[Sign, ...] = ()
    hooks: tuple[tuple[str, str], ...] = ()
    packaged: bool = False
    install: str = ""
    programs: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """The program and verbs that a command line names it by."""
        return (self.name,) if self.called is None else self.called

    @property
    def forms(self) -> tuple[str, ...]:
        """The names of the forms in which it prints its totals."""
        return tuple(one if isinstance(one, str) else one.name for one in self.prints)

    @property
    def names(self) -> tuple[str, ...]:
        """The programs by which it is called."""
        return self.programs or tuple(dict.fromkeys(command.split()[0] for command in self.commands))


def checkers(names: str) -> tuple[Tool, ...]:
    """Rows of linters and formatters of which only the command is known (`cargo:deny` with its subcommand)."""
    return tuple(Tool(name.replace(":", " "), "lint") for name in names.split())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ecosystem(Files):
    """A language, or a family of languages, and its tools. What its tools' rows say of files is part of its own.

    - `group`: of its checks in a draft, where that isn't its name;
    - `data`: how the names of data files end, `sources` those of its code; `asks`: regular expressions by which a line
      of that asks whether it is being tested, `disguises` what else it may ask of its surroundings;
    - `shadows`: files that would stand in for modules that come with the language, if they came;
    - `causes`: of failures that don't belong to a single tool;
    - `installs`: programs that check nothing themselves, and how to get them.
    """

    name: str = field(kw_only=False)
    group: str = ""
    tools: tuple[Tool, ...] = ()
    sources: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    disguises: tuple[Disguise, ...] = ()
    shadows: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    installs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for one in fields(Files):
            of_tools = [value for tool in self.tools for value in getattr(tool, one.name)]
            object.__setattr__(self, one.name, (*of_tools, *getattr(self, one.name)))
        together: dict[tuple[tuple[str, ...], Format], tuple[str, ...]] = {}
        for part in self.shared:
            key = (part.files, part.format)
            together[key] = (*together.get(key, ()), *part.proof)
        object.__setattr__(self, "shared", tuple(Shared(*key, proof) for key, proof in together.items()))

    @property
    def checkers(self) -> tuple[str, ...]:
        """The programs that check files as they stand, with their subcommands: `cargo:clippy`."""
        checking = (tool for tool in self.tools if tool.purpose in ("lint", "types"))
        return tuple(command.replace(" ", ":") for tool in checking for command in tool.commands)
