"""What an ecosystem's files are to a proof: the type of the tables beside it.

A table is data. To support another language, add a module with one `Ecosystem` and name it in `__init__`; nothing else
knows any language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
    same with a capital letter. Where `names` is a regular expression that finds the `name` of each test in a file,
    `{taken}` becomes a list of some of them: tests that pass, and must be reported as failed too. Where `expects` is a
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
class Ecosystem:
    """The files of one ecosystem. Globs are relative to the workspace; `**/` matches no folder, too.

    - `tests`: tests, and the helpers, data and snapshots that lie with them;
    - `runners`: what a test runner loads by itself: hooks, plugins, start-up files;
    - `config`: configuration of test runners, linters, type checkers and coverage;
    - `tasks`: files in which a check's name stands for commands; `lists` are those of them that also list what is
      built: where only such a list grew, that is product;
    - `checkers`: programs that check files as they stand, tests too: linters, formatters, type checkers (`cargo:clippy`
      with its subcommand). To them a test is what they look at, and their configuration the proof;
    - `choosing`: files by which those programs choose what they look at, of no meaning to any other check;
    - `manifests`: what the product depends on, declared and locked. Adding to them is product, any other change is
      proof; a line that one of `redirects` is found in is never an addition (nor one of `lists`);
    - `vendored`: dependencies that lie in the tree;
    - `outputs`: what builds make, of no meaning by itself;
    - `suppressions`: how its tools are told to pass over something;
    - `data`: how the names of data files end, `sources` those of its code; `asks`: regular expressions by which a line
      of that asks whether it is being tested, `disguises` what else it may ask of its surroundings;
    - `shadows`: files that would stand in for modules that come with the language, if they came;
    - `absent`: regular expressions on a check's output: what the check names isn't there at all;
    - `idle`: the same: something was not run, for a file says that it is up to date;
    - `toolchains`: folders below HOME that its tools need;
    - `settings`: files below HOME that its tools read unasked;
    - `runner_packages`: folders of installed packages that run tests, where they lie in the workspace and no revision
      covers them.
    """

    name: str
    tests: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    checkers: tuple[str, ...] = ()
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
    sources: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    disguises: tuple[Disguise, ...] = ()
    shadows: tuple[str, ...] = ()
    plants: tuple[Plant, ...] = ()
    toolchains: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    runner_packages: tuple[str, ...] = ()
