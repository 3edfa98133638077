"""Which files are proof and which are product: the tables of `ecosystems`, with what a goal and its checks add.

The path alone decides, except for two kinds of file: those in which some sections are proof (`shared`), and sources
that may contain tests (`inline`). Both are `both` here; `trials.dividing` takes the first kind apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import cache, lru_cache
from itertools import pairwise, takewhile
from posixpath import basename, dirname, normpath, splitext
from typing import Literal

from donewhen.core.commands.wrapped import Segment, folders, segments, verbs_match
from donewhen.core.ecosystems import ECOSYSTEMS, SOURCES, Ecosystem, Inline, Shared
from donewhen.core.ecosystems.common import COMMON
from donewhen.core.ecosystems.shell import SHELL
from donewhen.core.globs import all_folders, any_matches, matches
from donewhen.core.goal import Check, Goal, Requirement

Side = Literal["proof", "product", "both"]
Role = Literal[
    "goal",
    "asked",
    "named",
    "test",
    "data",
    "runner",
    "config",
    "task",
    "shared",
    "manifest",
    "vendored",
    "inline",
    "shadow",
    "",
]

ROLES: dict[Role, str] = {
    "goal": "the goal file",
    "asked": "the goal counts it as proof",
    "named": "a check runs it",
    "test": "tests, with their helpers, data and snapshots",
    "data": "tests name it, and the product doesn't",
    "runner": "a test runner loads it by itself",
    "config": "configuration of a runner or of another tool that checks",
    "task": "what the name of a check runs",
    "shared": "part of it configures a runner",
    "manifest": "what the product depends on, and is built from",
    "vendored": "a dependency that is kept in the tree",
    "inline": "it may contain tests",
    "shadow": "if it is new, it stands in for a module of the language",
    "": "product",
}

_TABLES: tuple[tuple[Role, Side], ...] = (
    ("runner", "proof"),
    ("config", "proof"),
    ("task", "proof"),
    ("shared", "both"),
    ("manifest", "both"),
    ("test", "proof"),
    ("vendored", "proof"),
    ("shadow", "proof"),
    ("inline", "both"),
)

_SCRIPT = re.compile(r"(?:.*/)?(?:[^/]*\.(?:sh|bash|zsh|fish|ksh|ps1|bat|cmd|bats)|[^/.]+)", re.DOTALL)
_RUN = re.compile(r"(?:\b(?:(?:ba|da|z|k)?sh|source)\s+(?:-\S+\s+)*|(?<![\w./-])\./)([\w./-]+)")
_PREPARING = frozenset({"cd", "export", "set", "source", "."})
_SCRIPT_FOLDERS = frozenset(
    {"scripts", "script", "bin", "tools", "ci", ".ci", "hack", "dev", ".github", "etc"}
    | {"check", "checks", "verify", "verification", "smoke"}
)
_CHECKING = re.compile(r"(?:^|[^a-z])(?:check|test|verif|valid|lint|smoke|assert|audit|prove)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Classification:
    """What a file is to a proof. `rule` is the glob that says so, empty for a name or where nothing does."""

    path: str
    side: Side
    role: Role = ""
    rule: str = ""
    ecosystem: str = ""

    @property
    def why(self) -> str:
        """For people: half a sentence."""
        by = f" ({self.rule})" if self.rule else ""
        return f"{ROLES[self.role]}{by}"


@dataclass(frozen=True, slots=True)
class ProofFiles:
    """Tells proof from product for one goal. `proof` and `may_change` are its globs, `named` the files that its checks
    run, `data` those that tests alone name, `goal_path` the goal file. `doctests`: examples in docstrings
    are run; `tested` are files that checks name, or ran a test of: a module among them may hold test functions."""

    proof: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()
    goal_path: str | None = None
    doctests: bool = False
    data: frozenset[str] = frozenset()
    tested: frozenset[str] = frozenset()
    as_they_stand: bool = False
    """For a check that looks at files as they stand (`checks_files`): tests are among what it checks."""

    @classmethod
    def of(cls, goal: Goal, named: Collection[str] = (), *, doctests: bool = False) -> ProofFiles:
        return cls(goal.proof, goal.may_change, frozenset(named), goal.path, doctests)

    def classify(self, path: str) -> Classification:
        """What the file is by its name alone."""
        if path == self.goal_path:
            return Classification(path, "proof", "goal")
        for glob in self.proof:
            if matches(glob, path):
                return Classification(path, "proof", "asked", glob)
        known = classify(path)
        if self.as_they_stand and known.role in ("test", "inline", "runner"):
            return Classification(path, "product")
        if self.as_they_stand and any_matches(_CHOOSING, path):
            return Classification(path, "proof", "config")
        if path in self.named and known.side != "proof":
            return Classification(path, "proof", "named")
        if path in self.data and (known.side == "product" or known.role == "inline") and not self.as_they_stand:
            return Classification(path, "proof", "data")
        if known.side == "product" and not self.as_they_stand and self._has_run_tests(path):
            return Classification(path, "both", "inline")
        return known

    def _has_run_tests(self, path: str) -> bool:
        """True if a check runs the tests that may stand among the code of this file."""
        if path in self.tested:
            return path.endswith((".py", ".pyi"))
        return self.doctests and any(any_matches(inline.files, path) for inline in inlines() if inline.asked)

    def changeable(self, path: str) -> bool:
        """True if the goal says that a change of this file is what it is about."""
        return any_matches(self.may_change, path)


@lru_cache(maxsize=65_536)
def classify(path: str) -> Classification:
    """What a file is by the tables alone."""
    for role, side in _TABLES:
        found = _table(role)(path)
        if found is not None:
            return Classification(path, side, role, *found)
    return Classification(path, "product")


def has_role(path: str, *roles: Role) -> bool:
    """True if one of these roles is the file's by the tables, without looking for any other."""
    return any(_table(role)(path) is not None for role in roles)


def inlines() -> Iterator[Inline]:
    """Every kind of sources that may hold tests among their code."""
    return (inline for ecosystem in ECOSYSTEMS for inline in ecosystem.inline)


def shared_of(path: str) -> Shared | None:
    """Which sections of a file are proof, where it is one of both."""
    for ecosystem in ECOSYSTEMS:
        for shared in ecosystem.shared:
            if any_matches(shared.files, path):
                return shared
    return None


def holds_tests(path: str, text: str) -> bool:
    """True if the source may hold tests among its code."""
    return any(
        any_matches(inline.files, path) and any(re.search(mark, text) for mark in inline.marks) for inline in inlines()
    )


def adds_only(path: str, before: str, after: str) -> bool:
    """True if a manifest, lock or build file only gained something: every word that was there is there still, and no
    line that came takes anything from an unusual place, or says how tests are run. Where words stand doesn't count."""
    if Counter(_WORD.findall(before)) - Counter(_WORD.findall(after)):
        return False
    was = {line.strip() for line in before.splitlines()}
    came = [line for line in after.splitlines() if line.strip() not in was]
    redirects = [
        one
        for ecosystem in ECOSYSTEMS
        if any_matches((*ecosystem.manifests, *ecosystem.lists), path)
        for one in ecosystem.redirects
    ]
    return not any(re.search(redirect, line) for redirect in redirects for line in came)


_WORD = re.compile(r"[^\s,;(){}\[\]]+")


def checks_files(command: str) -> bool:
    """True if a command does nothing but check files as they stand, whatever they are: linters, formatters, type
    checkers, tasks that are called so, and questions whether a file is there or holds a text."""
    parts = [part for part in segments(command) if part.words and part.words[0] not in _PREPARING]
    return bool(parts) and all(_checks_files(part) for part in parts)


def _checks_files(part: Segment) -> bool:
    tool = part.tool or part.words
    if _reads_syntax(tool):
        return True
    if tool[0] in _LOOKING:
        return not (tool[0] in _SEARCHING and any(_PATTERN_FILE.fullmatch(word) for word in tool[1:]))
    words = [word for word in tool[1:] if not word.startswith("-")]
    if tool[0] in _CHECKERS or (words and f"{tool[0]}:{words[0]}" in _CHECKERS):
        return True
    named = words[1:] if words[:1] == ["run"] else words
    return tool[0] in _TASK_RUNNERS and bool(named) and all(_FILE_TASK.fullmatch(word) for word in named)


def _reads_syntax(tool: Sequence[str]) -> bool:
    """True if a command says whether its files can be read as programs, and runs none of them."""
    wanted = _SYNTAX.get(re.sub(r"[\d.]+$", "", tool[0]) if tool else "")
    options = takewhile(lambda word: word.startswith("-"), tool[1:])  # before its first other word
    return wanted is not None and (not wanted or any(re.fullmatch(wanted, word) for word in options))


def _runs(part: Segment) -> tuple[str, ...]:
    """The words of a command without the files that it only checks. What follows an option of a linter is more often
    its configuration."""
    # Without words it only assigns: `MODE=x; pytest`.
    if not part.words or part.words[0] in _LOOKING or _reads_syntax(part.tool or part.words):
        return ()
    if not _checks_files(part):
        return part.words
    return tuple(word for option, word in pairwise(part.words) if option.startswith("-"))


_SYNTAX: Mapping[str, str] = {
    **dict.fromkeys(("sh", "bash", "dash", "ksh", "mksh", "zsh"), r"-[A-Za-z]*n[A-Za-z]*"),
    "fish": "-n|--no-execute",
    "node": "-c|--check",
    **dict.fromkeys(("perl", "ruby"), "-[A-Za-z]*c[A-Za-z]*"),
    "php": "-l",
    **dict.fromkeys(("py_compile", "compileall", "tabnanny"), ""),
}
"""By program, the option with which it runs nothing; empty where it never does."""
_SEARCHING = frozenset(("grep", "egrep", "fgrep", "rg"))
_LOOKING = frozenset(("test", "[", "[[", "ls", "stat")) | _SEARCHING
_PATTERN_FILE = re.compile(r"-[A-Za-z]*f.*|--file(?:=.*)?")
"""What is searched for stands in a file then, which is proof."""
_CHECKERS = frozenset(checker for ecosystem in ECOSYSTEMS for checker in ecosystem.checkers)
_CHOOSING = tuple(glob for ecosystem in ECOSYSTEMS for glob in ecosystem.choosing)
_TASK_RUNNERS = frozenset(
    ("make", "gmake", "npm", "yarn", "pnpm", "bun", "just", "task", "tox", "nox", "hatch", "pdm", "poe", "rake", "mise")
)
_FILE_TASK = re.compile(
    r"(?:lint|fmt|format|style|types?|type-?check|check-(?:types|format)|tsc|mypy|ruff|eslint)(?:[:_.-].*)?"
)


def lists_more(path: str, before: str, after: str) -> bool:
    """True if a task file that lists what is built, too, only lists more than before."""
    listing = any(any_matches(ecosystem.lists, path) for ecosystem in ECOSYSTEMS)
    return listing and adds_only(path, before, after)


def says_absent(output: str) -> bool:
    """True if a check's output says that what it names isn't there."""
    return any(pattern.search(output) for pattern in _absent())


@cache
def _absent() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for ecosystem in ECOSYSTEMS for pattern in ecosystem.absent)


def named_files(checks: Iterable[Check], exists: Callable[[str], bool]) -> frozenset[str]:
    """The files that checks run as a proof: scripts whose names or folders say that they check something, and a script
    that is the whole of a command. A program of the product that a check runs, and looks at what it prints or with
    which code other than 0 it exits, is product. `exists` says whether a path of the workspace is a file."""
    found: set[str] = set()
    for check in checks:
        parts = segments(check.command)
        alone = len([part for part in parts if part.words and part.words[0] not in _PREPARING]) == 1
        alone = alone and check.expected_exit == 0
        for folder in ("", *folders(parts)):
            for part in parts:
                runs = _runs(part)  # what it only asks about is what the goal is about
                named = [name.replace(".", "/") for option, name in pairwise(runs) if option == "-m"]
                words = (*runs, *(file for name in named for file in (f"{name}.py", f"{name}/__main__.py")))
                paths = {
                    path for word in words if (path := _path_in_workspace(folder, word)) is not None and exists(path)
                }
                found.update(path for path in paths if _checks(path) or (alone and _SCRIPT.fullmatch(path)))
    return frozenset(found)


def targets(command: str) -> frozenset[str]:
    """The files and folders that the words of a command may mean, as they would stand in the workspace."""
    parts = segments(command)
    words = {word for part in parts for each in part.words for word in (each, *_named_in(each))}
    for part in parts:
        if "-m" in part.words:  # what follows `-m NAME`: a name without a dot may be a module's there
            told = part.words[part.words.index("-m") + 2 :]
            words |= {f"{each}.py" for each in told if each.isidentifier()}
    found = {_path_in_workspace(folder, word) for folder in ("", *folders(parts)) for word in words}
    return frozenset(path for path in found if path is not None)


def named_by(commands: Iterable[str], paths: Iterable[str]) -> frozenset[str]:
    """Those of `paths` that the words of these commands may mean, patterns of names among them (`-p "s*.py"`)."""
    named = {path for command in commands for path in targets(command)}
    patterns = re.compile("|".join(translate(basename(one)) for one in named if _WILD & set(one)) or r"(?!)")
    return frozenset(path for path in paths if path in named or patterns.match(basename(path)))


def _named_in(word: str) -> list[str]:
    """What else a word may name: the file of one test, a module."""
    path = word.partition("::")[0].removesuffix("/...")
    if not _MODULE.fullmatch(word):
        return [path]
    parts = word.split(".")
    # The module that a class, or a method of one, is in: `tests.test_a.ATest.test_one`.
    return [path, "/".join(parts), *(f"{'/'.join(parts[:end])}.py" for end in range(1, len(parts) + 1))]


_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def mentioned_files(text: str, folder: str, exists: Callable[[str], bool]) -> frozenset[str]:
    """The scripts that the text of a task file runs (`./scripts/test.sh`), relative to it or to the workspace."""
    named = _named_scripts(text, folder, exists)
    names = {basename(path) for path in named}

    def run(command: re.Match[str]) -> str:
        # Only what names one of them is read as a command: a task file may be long.
        return "" if any(name in command[0] for name in names) and _only_checks(command[0]) else command[0]

    return named and _named_scripts(_COMMAND.sub(run, text), folder, exists)


def _named_scripts(text: str, folder: str, exists: Callable[[str], bool]) -> frozenset[str]:
    words = {word for word in re.split(r"[\s\"'`;|&()<>=,{}\[\]$:@]+", text) if word}
    run = {match[1] for match in _RUN.finditer(text)}
    found: set[str] = set()
    for place in dict.fromkeys(("", folder)):
        for word in words | run:
            path = _path_in_workspace(place, word)
            if path is not None and exists(path) and (_checks(path) or (word in run and _SCRIPT.fullmatch(path))):
                found.add(path)
    return frozenset(found)


_COMMAND = re.compile(r"[^\n\"'`;|&]+")
_BEFORE_COMMAND = re.compile(r"[\s@+-]*(?:[\w.-]+\s*[:=]+\s*)?[\s@+-]*")
"""What stands before a command in a task file: the name of a task or a key, a dash of a list, marks of make."""


def _only_checks(command: str) -> bool:
    """True for a command of a task file that runs none of the files that it names."""
    parts = segments(_BEFORE_COMMAND.sub("", command, count=1))
    return bool(parts) and all(_checks_files(part) and not _runs(part) for part in parts)


def _path_in_workspace(folder: str, word: str) -> str | None:
    """The path of the workspace that a word may name."""
    if not word or word.startswith(("-", "/", "~")) or "\0" in word:
        return None
    path = normpath(f"{folder}/{word}" if folder else word)
    return None if path.startswith("../") or path in (".", "..") else path


def _checks(path: str) -> bool:
    """By its folder or its name, a script that checks something."""
    return not _SCRIPT_FOLDERS.isdisjoint(path.split("/")[:-1]) or bool(_CHECKING.search(path.rpartition("/")[2]))


def says_up_to_date(output: str) -> bool:
    """True if a check's output says that something was not run, for it is up to date."""
    return any(re.search(pattern, output) for ecosystem in ECOSYSTEMS for pattern in ecosystem.idle)


Lookup = Callable[[str], "tuple[str, str] | None"]


@cache
def _table(role: Role) -> Lookup:
    """Finds the glob of a role that a path matches, with its ecosystem. One expression sorts out most paths at once."""
    rows = [(glob, one.name) for one in ECOSYSTEMS for glob in _globs(one, role)]
    names = [glob.removeprefix("**/") for glob, _ in rows]
    # Nearly all globs are about one folder or one name at any depth: most paths are sorted out by their segments.
    plain = frozenset(name.removesuffix("/**") for name in names if not _WILD & set(name.removesuffix("/**")))
    wild = "|".join(translate(name) for name in names if "/" not in name and _WILD & set(name))
    some = re.compile(wild or r"(?!)")
    deep = [glob for glob in names if "/" in glob.removesuffix("/**")]

    def lookup(path: str) -> tuple[str, str] | None:
        segments = path.split("/")
        likely = not plain.isdisjoint(segments) or any(some.match(each) for each in segments)
        if not likely and not any(matches(f"**/{glob}", path) for glob in deep):
            return None
        return next((row for row in rows if matches(row[0], path)), None)

    return lookup


_WILD = frozenset("*?[")


def _globs(ecosystem: Ecosystem, role: Role) -> tuple[str, ...]:
    by_role: dict[Role, tuple[str, ...]] = {
        "test": ecosystem.tests,
        "runner": ecosystem.runners,
        "config": ecosystem.config,
        "task": ecosystem.tasks,
        "manifest": ecosystem.manifests,
        "vendored": ecosystem.vendored,
        "shadow": ecosystem.shadows,
        "shared": tuple(glob for shared in ecosystem.shared for glob in shared.files),
        "inline": tuple(glob for inline in ecosystem.inline if not inline.asked for glob in inline.files),
    }
    return by_role.get(role, ())


# Data of tests that lies where the tables don't look: a file that tests name and the product doesn't.
#
# Names decide in doubt for the product: a file that a source or a manifest names, or that lies in a folder which one
# names, may be what the work is about. One that lies beside sources is the tests' only where no source names any file
# of its kind. A source that holds nothing but values is data too.


_NAME = re.compile(r"[\w.@+-]*\w\.\w+")
_QUOTED = re.compile(r"""(["'`])((?:\\.|(?!\1)[^\n\\]){1,200})\1""")
_PART = re.compile(r"[\w.@+-]+")
_WORD_OF_DATA = re.compile(r"\w+")
_PROSE = (".md", ".rst", ".adoc")
_DATA = tuple(suffix for one in ECOSYSTEMS for suffix in one.data)
_SETTINGS = (".toml", ".yaml", ".yml", ".cfg", ".ini", ".json")
_DOES_SOMETHING = re.compile(
    r"\b(?:def|class|lambda|function|fn|func|import|require|return|yield|for|while|if|raise|throw|await)\b|=>|\w\(|`"
)
_COMMENT = re.compile(r"(?m)^\s*(?:#|//).*$|\"\"\"[\s\S]*?\"\"\"")


def is_data(path: str) -> bool:
    """True for a name that ends as those of data files, or of prose."""
    return path.endswith((*_DATA, *_PROSE))


def is_prose(path: str) -> bool:
    """True for what people read: more often the work itself than data."""
    return path.endswith(_PROSE)


def may_be_data(path: str, text: str | None) -> bool:
    """True for a data file that the tables call product, or a source that did nothing but hold the values in `text`."""
    if classify(path).side == "proof":
        return False
    if is_data(path):
        return classify(path).side == "product"
    stem = splitext(basename(path))[0]
    if not path.endswith(SOURCES) or path.endswith(SHELL.sources) or stem.startswith("__") or text is None:
        return False  # a shell's lines are commands
    bare = _COMMENT.sub("", text)
    return bool(_QUOTED.search(bare) or _WORD_OF_DATA.search(bare)) and not _DOES_SOMETHING.search(
        _QUOTED.sub("''", bare)
    )


def names_files(path: str) -> bool:
    """True for what may say which files the product reads: its sources, manifests, and settings at the top."""
    if classify(path).side == "proof":
        return False
    return has_role(path, "shared", "manifest") or not is_data(path) or ("/" not in path and path.endswith(_SETTINGS))


def data_of_tests(
    candidates: Collection[str], sources: Collection[str], tests: Iterable[str], product: Iterable[str]
) -> frozenset[str]:
    """Those of `candidates` that `tests` name, or whose folder they name, and `product` does not: both are texts,
    `sources` the paths of the product's code without the candidates. Sources among the candidates count only where the
    tests name a source that is not among them: else they are what is tested."""
    beside = {dirname(path) for path in sources if path.endswith(SOURCES)} - {""}
    asked, folders, words = _names_in_texts(tests)
    left = {
        path
        for path in candidates
        if basename(path) in asked
        or (not is_data(path) and splitext(basename(path))[0] in words)
        or (dirname(path) not in beside and not is_prose(path) and is_data(path) and _folder_name(path) in folders)
    }
    if not left:
        return frozenset()
    if not any(path.endswith(SOURCES) and splitext(basename(path))[0] in words for path in sources):
        left = {path for path in left if is_data(path)}  # the tests are about these values
    texts = list(product)
    taken, places, words = _names_in_texts(texts)
    # What the code calls a thing of its own, and says in quotes too, is that thing, not a file.
    own = {word for text in texts for word in _WORD_OF_DATA.findall(_QUOTED.sub("''", text))}
    kinds = {splitext(name)[1] for name in taken} | {f".{word}" for word in words}
    found: set[str] = set()
    for path in left:
        stem, kind = splitext(basename(path))
        if basename(path) in taken:
            continue
        if not is_data(path):
            if stem in words:
                continue
        else:
            called = stem in places and (stem not in own or kind in kinds)
            if called or (kind in kinds if dirname(path) in beside else _folder_name(path) in places):
                continue
        found.add(path)
    return frozenset(found)


def _folder_name(path: str) -> str:
    """The name of the folder that it is in; one that no text holds at the top."""
    return basename(dirname(path)) or "\0"


def _names_in_texts(texts: Iterable[str]) -> tuple[set[str], set[str], set[str]]:
    """What texts name: words with an ending, parts of what is in quotes but for the folders of a single file, and all
    words."""
    names: set[str] = set()
    parts: set[str] = set()
    words: set[str] = set()
    for text in texts:
        words.update(_WORD_OF_DATA.findall(text))
        names.update(_NAME.findall(text))
        for match in _QUOTED.finditer(text):
            whole = _PART.findall(match[2])
            parts.update(whole if not _NAME.fullmatch(whole[-1] if whole else "") or "*" in match[2] else whole[-1:])
    return names, parts, words


# What a goal's proof rests on, as data: the files that are proof, by the reason why.


_ORDER: tuple[Role, ...] = (
    "goal", "asked", "named", "test", "data", "inline", "runner", "config", "task", "shared", "manifest", "vendored"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """The files that are proof for one reason. `partly`: a part of each is, the rest is product."""

    role: Role
    why: str
    files: tuple[Classification, ...]
    partly: bool = False


@dataclass(frozen=True, slots=True)
class OwnBasis:
    """What one requirement's proof rests on by its own checks, besides what holds for the whole goal: the goal file,
    and `proof:`. `narrowed` is false where a check may run anything: then `groups` are the files that the checks name,
    and all of the goal's list may count. What the tests that a command names import from others is in that list only.
    """

    requirement_id: str
    label: str
    checks: tuple[str, ...]
    groups: tuple[Group, ...]
    narrowed: bool


@dataclass(frozen=True, slots=True)
class ProofBasis:
    """What the proof of a whole goal rests on: `groups` in the order of their reasons; `may_change` are the proof files
    whose change the goal wants; `product` counts all other files; `own` is of each requirement that has checks."""

    groups: tuple[Group, ...]
    may_change: tuple[str, ...]
    product: int
    own: tuple[OwnBasis, ...] = ()


def proof_basis(
    files: ProofFiles, paths: Sequence[str], holding: Collection[str], requirements: Sequence[Requirement] = ()
) -> ProofBasis:
    """`holding` are the sources that hold tests among their code."""
    found: list[Classification] = []
    product = 0
    for path in paths:
        one = files.classify(path)
        if one.side == "product" or (one.role == "inline" and path not in holding):
            product += 1
            continue
        found.append(one)
    groups = _grouped(found)
    changing = tuple(one.path for group in groups for one in group.files if files.changeable(one.path))
    checked = [one for one in requirements if one.checks]
    choosing = (path for path in paths if any_matches(_CHOOSING, path))
    standing = tuple(dict.fromkeys((*(one.path for one in found), *choosing)))
    place = _Place(files, found, frozenset(paths), all_folders(paths), standing)
    return ProofBasis(groups, changing, product, tuple(_own(one, place) for one in checked))


def _grouped(found: Iterable[Classification]) -> tuple[Group, ...]:
    by_role: dict[Role, list[Classification]] = {}
    for one in found:
        by_role.setdefault(one.role, []).append(one)
    return tuple(
        Group(role, ROLES[role], tuple(by_role[role]), partly=role in ("inline", "shared", "manifest"))
        for role in _ORDER
        if role in by_role
    )


FOR_ALL: frozenset[Role] = frozenset(("goal", "asked"))
"""What holds for every requirement of a goal."""
_HARMLESS = frozenset(("cd", "export", "set", "true", ":")) | _LOOKING
"""They run nothing else: `source` does."""
_FLAGS = re.compile(r"-[qvxs]+")
_NAMES_TESTS = re.compile(r"[Tt]est|[Ss]pec")


@dataclass(frozen=True, slots=True)
class _Place:
    """The proof files of a workspace, its paths and its folders. `standing` are the paths of what may be proof to a
    check of files as they stand."""

    files: ProofFiles
    proof: Sequence[Classification]
    known: frozenset[str]
    folders: frozenset[str]
    standing: tuple[str, ...]


def _own(requirement: Requirement, place: _Place) -> OwnBasis:
    found: dict[str, Classification] = {}
    narrowed = True
    for check in requirement.checks:
        more = _rests_on(check, place)
        narrowed = narrowed and more is not None
        named = targets(check.command) | named_files((check,), place.known.__contains__)
        for one in (*(one for one in place.proof if one.path in named), *(more or ())):
            if one.role not in FOR_ALL:
                found.setdefault(one.path, one)
    commands = tuple(check.command for check in requirement.checks)
    groups = _grouped(found[path] for path in sorted(found))
    return OwnBasis(requirement.id, requirement.label, commands, groups, narrowed)


def _rests_on(check: Check, place: _Place) -> list[Classification] | None:
    """By the tables of the tools that it runs; None where one of them is unknown, or runs others."""
    parts = segments(check.command)
    running = [part for part in parts if part.words and part.words[0] not in _HARMLESS]
    tools = [_tool_of(part) for part in running]
    if check.kind != "command" or not parts or None in tools:
        return None
    mine = frozenset(name for found in tools if found is not None for name in found[0])
    if not mine:
        return []
    if checks_files(check.command):
        files = replace(place.files, as_they_stand=True)
        standing = [files.classify(path) for path in place.standing]
        return [one for one in standing if one.side != "product" and _concerns(one, mine)]
    named = [_tests_named(part, found[1], parts, place) for part, found in zip(running, tools, strict=True) if found]
    alone = None if None in named else [path for paths in named for path in paths or ()]
    return [one for one in place.proof if _concerns(one, mine) and (alone is None or not _left_out(one, alone))]


def _tool_of(part: Segment) -> tuple[frozenset[str], tuple[str, ...]] | None:
    """The ecosystems of the tool that a simple command runs, and the words that name it."""
    words = part.tool or part.words
    if words[0] in _TASK_RUNNERS:
        return None
    found: dict[str, tuple[str, ...]] = {}
    for ecosystem in ECOSYSTEMS:
        for tool in ecosystem.tools:
            if tool.starts or tool.purpose not in ("test", "lint", "types") or (tool.needs and tool.needs not in words):
                continue
            for command in tool.commands:
                if verbs_match(words, command.split()):
                    found[ecosystem.name] = tuple(command.split())
    return (frozenset(found), max(found.values(), key=len)) if found else None


def _concerns(one: Classification, mine: Collection[str]) -> bool:
    """True if a tool of these ecosystems may read the file as proof; by whose check one is named is asked apart."""
    if one.role == "data":
        return True
    if one.ecosystem in mine or (one.ecosystem == COMMON.name and one.role != "task"):
        return True
    tables = (table for table in ECOSYSTEMS if table.name in mine or table is COMMON)
    return one.rule.endswith("/**") and any(any_matches(_globs(table, one.role), one.path) for table in tables)


def _tests_named(part: Segment, verbs: Sequence[str], parts: Sequence[Segment], place: _Place) -> list[str] | None:
    """The files and folders that a runner's words name, where they are all that it is told; None if it may run more."""
    found: list[str] = []
    words = list((part.tool or part.words)[1:])
    for verb in verbs[1:]:
        words.remove(verb)
    option = False
    for word in words:
        if word.startswith("-"):
            option = "=" not in word and not _FLAGS.fullmatch(word)
            continue
        meant = {
            _path_in_workspace(folder, each) for folder in ("", *folders(parts)) for each in (word, *_named_in(word))
        }
        there = [path for path in meant if path is not None and (path in place.known or path in place.folders)]
        if option or not there:
            return None
        found += there
    return found or None


def _left_out(one: Classification, named: Sequence[str]) -> bool:
    """True for a test by its name that is none of those which a command names."""
    by_name = one.role == "test" and _NAMES_TESTS.search(one.rule.rpartition("/")[2])
    return bool(by_name) and not any(one.path == path or one.path.startswith(f"{path}/") for path in named)
