"""What the project runs to check itself: its CI, tox, nox, pre-commit, scripts of pyproject.toml, recipes.

Any of these files may come from a stranger: it is read up to a reasonable size, as data alone, and never executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice
from typing import cast

from donewhen.core.ecosystems import TOOLS
from donewhen.goalfile.detect.checks import (
    FETCHES,
    REPORTS_WITH_VALUE,
    UNKNOWN,
    CheckPurpose,
    DetectedCheck,
    check_of,
    checks_in,
    fetches,
    is_harmless,
    narrows,
)
from donewhen.goalfile.detect.folder import Folder, as_table, read_ini
from donewhen.marked_yaml import BadYaml, load_plain

_MOST_YAML = 100_000
_MOST_FILES = 20
_MOST_JOBS = 60
_MOST_STEPS = 60


def own_checks(folder: Folder) -> Iterator[DetectedCheck]:
    """In order of authority, each source in its own order; commands that select tests by name follow complete ones."""
    for source in (_ci, _tox, _nox, _scripts, _recipe_lines, _pre_commit):
        found = [_without_fixing(check, folder) for check in source(folder)]
        yield from sorted(found, key=lambda check: check.purpose == "test" and narrows(check))


def no_fix(folder: Folder) -> str:
    """The option that ruff needs if its settings let it edit files."""
    file = folder.has("ruff.toml", ".ruff.toml")
    settings = folder.toml(file) if file else as_table(folder.section("tool.ruff"))
    return " --no-fix" if settings.get("fix") is True or settings.get("fix-only") is True else ""


def _without_fixing(check: DetectedCheck, folder: Folder) -> DetectedCheck:
    if check.tool != "ruff" or "--no-fix" in check.command or not (option := no_fix(folder)):
        return check
    others = tuple(_without_fixing(other, folder) for other in check.others)
    return replace(check, command=check.command.replace("ruff check", f"ruff check{option}", 1), others=others)


# ------------------------------------------------------------------------------------------------- CI

_BY_HAND = frozenset(("push", "pull_request", "pull_request_target", "merge_group", "workflow_call"))
_GITLAB_WORDS = frozenset(("stages", "variables", "default", "include", "workflow", "image", "cache", "services"))


def _ci(folder: Folder) -> Iterator[DetectedCheck]:
    for file in folder.inside(".github/workflows", (".yml", ".yaml"))[:_MOST_FILES]:
        workflow = _yaml(folder, file)
        # YAML 1.1 reads the key `on` as true.
        when = workflow.get("on", cast("Mapping[object, object]", workflow).get(True))
        triggers = set(as_table(when)) or {str(one) for one in _list_or_empty(when)} or {str(when)}
        if triggers & _BY_HAND:
            for job in islice(as_table(workflow.get("jobs")).values(), _MOST_JOBS):
                yield from _github_job(as_table(job), file)
    for name, job in islice(_yaml(folder, ".gitlab-ci.yml").items(), _MOST_JOBS):
        if str(name) not in _GITLAB_WORDS:
            for line in islice(_flat(as_table(job).get("script")), _MOST_STEPS):
                yield from checks_in(line, f"{name} in .gitlab-ci.yml")


def _github_job(job: Mapping[str, object], file: str) -> Iterator[DetectedCheck]:
    elsewhere = as_table(as_table(job.get("defaults")).get("run")).get("working-directory")
    for step in map(as_table, islice(_list_or_empty(job.get("steps")), _MOST_STEPS)):
        folder, run = step.get("working-directory", elsewhere), step.get("run")
        if isinstance(run, str) and folder in (None, ".", "./"):
            yield from checks_in(run, f"run in {file}")


def _flat(value: object, depth: int = 0) -> Iterator[str]:
    """Flattens GitLab's lists of lines, which may contain lists."""
    if isinstance(value, str):
        yield value
    elif depth < 4:
        for one in _list_or_empty(value):
            yield from _flat(one, depth + 1)


def _yaml(folder: Folder, file: str) -> Mapping[str, object]:
    text = folder.file_text(file)
    if len(text) > _MOST_YAML:
        return {}
    try:
        return as_table(load_plain(text))
    except (BadYaml, RecursionError):
        return {}


# ------------------------------------------------------------------------------------------------- tox

_FACTORS = re.compile(r"^[\w{},.!*-]+:(?=\s)\s*")
_INNERMOST = re.compile(r"\{([^{}]*)\}")
_MOST_SUBSTITUTIONS = 60


@dataclass(frozen=True, slots=True)
class _ToxLine:
    """A command of an environment: as it is written, and with what is known put in. `usual`: plain `tox` runs it."""

    where: str
    bare: str
    command: str
    usual: bool

    @property
    def check(self) -> DetectedCheck | None:
        check = check_of(self.command, self.where)
        if check is not None or UNKNOWN not in self.command:
            return check
        # A test that names what only tox knows: told, not drafted.
        known = check_of(" ".join(word for word in self.command.split(" ") if UNKNOWN not in word), self.where)
        if known is None or known.purpose != "test":
            return None
        lacking = "it names what only tox knows: write it out, or run it by tox"
        return replace(known, command=self.bare, others=(), lacking=lacking)


def _tox(folder: Folder) -> Iterator[DetectedCheck]:
    for line in _tox_lines(folder):
        if (check := line.check) is not None:
            yield replace(check, beside=True)


def left_of_tox(folder: Folder) -> Iterator[str]:
    """What tox runs and no draft holds, since nothing is known of it; each with where it stands, and why."""
    for line in _tox_lines(folder):
        if line.bare and line.check is None:
            by_name = "" if line.usual else "tox runs it only by its environment's name, and "
            yield f"`{line.bare}` ({line.where}): {by_name}what it checks is not known; add it if it decides"


def _tox_lines(folder: Folder) -> Iterator[_ToxLine]:
    table = as_table(folder.section("tool.tox"))
    legacy = table.get("legacy_tox_ini")
    for file, text in (
        ("tox.ini", folder.file_text("tox.ini")),
        ("pyproject.toml", legacy if isinstance(legacy, str) else ""),
    ):
        yield from _tox_ini(text, file)
    yield from _tox_toml(folder.toml("tox.toml"), "tox.toml")
    yield from _tox_toml(table, "pyproject.toml")


def _tox_ini(text: str, file: str) -> Iterator[_ToxLine]:
    ini = read_ini(text)
    own = ini.get("tox", {})
    usual = re.split(r"[\s,]+", own.get("envlist", own.get("env_list", "")))
    sections = [name for name in ini if name == "testenv" or name.startswith("testenv:")]
    for section in sorted(sections, key=lambda name: name != "testenv")[:_MOST_JOBS]:
        values = ini[section]
        changed = values.get("changedir", values.get("change_dir", "")).strip()
        if changed not in ("", ".", "{toxinidir}", "{tox_root}"):
            continue
        name = section.partition(":")[2]
        lines = re.sub(r"[ \t]*\\\n[ \t]*", " ", values.get("commands", "")).splitlines()
        for line in lines[:_MOST_STEPS]:
            bare = "" if line.lstrip().startswith("#") else _FACTORS.sub("", line.strip()).lstrip("-! ")
            yield _ToxLine(f"[{section}] in {file}", bare, _substituted(bare, ini), not name or name in usual)


def _substituted(line: str, ini: Mapping[str, Mapping[str, str]]) -> str:
    """Replaces tox's `{...}` by their values; options with values that only tox knows are left out."""
    for _ in range(_MOST_SUBSTITUTIONS):
        match = _INNERMOST.search(line)
        if match is None:
            break
        line = line[: match.start()] + _substitute(match[1], ini) + line[match.end() :]
    known = [word for word in line.split(" ") if not (UNKNOWN in word and word.startswith("-"))]
    # What is measured or reported decides nothing: `--cov {envsitepackagesdir}/x`.
    told = [at for at, word in enumerate(known) if UNKNOWN in word and at and known[at - 1] in REPORTS_WITH_VALUE]
    words = [word for at, word in enumerate(known) if at not in told and at + 1 not in told]
    return re.sub(r"(?:(?<=\s)|(?<=[\"']))\./(?=\w)", "", " ".join(words)).strip()


def _substitute(inside: str, ini: Mapping[str, Mapping[str, str]]) -> str:
    name, colon, default = inside.partition(":")
    if name == "posargs":
        return default.strip() if colon else ""
    if name in ("envpython", "env_python"):
        return "python"
    if name in ("toxinidir", "tox_root"):
        return "."
    if inside in ("/", ":"):
        return inside
    if name == "env" and default.count(":"):
        return default.partition(":")[2]
    reference = re.fullmatch(r"\[([^\]]+)\](\w+)", inside)
    if reference:
        return ini.get(reference[1], {}).get(reference[2], UNKNOWN).strip()
    return UNKNOWN


def _tox_toml(table: Mapping[str, object], file: str) -> Iterator[_ToxLine]:
    environments = as_table(table.get("env"))
    usual = [*_list_or_empty(table.get("env_list"))]
    named = [("env_run_base", as_table(table.get("env_run_base")), True)]
    named += [(f"env.{name}", as_table(one), name in usual) for name, one in islice(environments.items(), _MOST_JOBS)]
    for name, environment, runs in named:
        if environment.get("change_dir") in (None, ".", "{tox_root}"):
            for command in islice(_list_or_empty(environment.get("commands")), _MOST_STEPS):
                bare = " ".join(_toml_word(word) for word in _list_or_empty(command))
                yield _ToxLine(f"{name} in {file}", bare.replace(UNKNOWN, "{}"), _substituted(bare, {}), runs)


def _toml_word(word: object) -> str:
    if isinstance(word, str):
        return f"'{word}'" if re.search(r"\s", word) else word
    replaced = as_table(word)
    if replaced.get("replace") == "posargs":
        return " ".join(str(one) for one in _list_or_empty(replaced.get("default")))
    return UNKNOWN


# ------------------------------------------------------------------------------------------------- nox


def _nox(folder: Folder) -> Iterator[DetectedCheck]:
    """`session.run("pytest", "tests")` of each session, if its words are literals."""
    try:
        tree = ast.parse(folder.file_text("noxfile.py"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for session in tree.body:
        if isinstance(session, ast.FunctionDef) and any("session" in ast.unparse(d) for d in session.decorator_list):
            for call in islice(_runs_in(session), _MOST_STEPS):
                check = check_of(" ".join(_words_of(call)), f"session {session.name} in noxfile.py")
                if check is not None:
                    yield check


def _runs_in(session: ast.FunctionDef) -> Iterator[ast.Call]:
    given = session.args.args[0].arg if session.args.args else ""
    for node in ast.walk(session):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="run")) if name == given:
                yield node
            case _:
                pass


def _words_of(call: ast.Call) -> Iterator[str]:
    for argument in call.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield f"'{argument.value}'" if re.search(r"\s", argument.value) else argument.value
        elif not (isinstance(argument, ast.Starred) and "posargs" in ast.unparse(argument)):
            yield UNKNOWN


# ------------------------------------------------------------------------------ scripts of pyproject.toml


def _scripts(folder: Folder) -> Iterator[DetectedCheck]:
    tool = as_table(folder.section("tool"))
    for owner, names in (("pdm", "scripts"), ("rye", "scripts"), ("poe", "tasks"), ("taskipy", "tasks")):
        table = as_table(as_table(tool.get(owner)).get(names))
        yield from _scripts_in(table, f"[tool.{owner}.{names}]")
    environments = {
        **as_table(as_table(tool.get("hatch")).get("envs")),
        **as_table(folder.toml("hatch.toml").get("envs")),
    }
    for name, environment in islice(environments.items(), _MOST_JOBS):
        yield from _scripts_in(as_table(as_table(environment).get("scripts")), f"[tool.hatch.envs.{name}.scripts]")


def _scripts_in(table: Mapping[str, object], where: str) -> Iterator[DetectedCheck]:
    for name, script in islice(table.items(), _MOST_JOBS):
        words = as_table(script).get("cmd")
        if words is not None:  # a list there contains the words of one command
            lines = [words if isinstance(words, str) else " ".join(map(str, _list_or_empty(words)))]
        else:
            lines = (
                [script] if isinstance(script, str) else [one for one in _list_or_empty(script) if isinstance(one, str)]
            )
        for line in lines[:_MOST_STEPS]:
            bare = re.sub(r"\{args(?::([^{}]*))?\}", lambda found: found[1] or "", line)
            yield from checks_in(bare, f"{name} in {where}")


# ---------------------------------------------------------------------------------------------- recipes

_TARGETS: dict[str, CheckPurpose] = {
    "test": "test", "tests": "test", "check": "other", "lint": "lint", "typecheck": "types", "type-check": "types",
    "types": "types", "mypy": "types", "unittest": "test", "pytest": "test",
}  # fmt: skip
_MAKE_TARGET = re.compile(
    r"^([A-Za-z.$%][\w./()$%-]*(?:[ \t]+[\w./()$%-]+)*)[ \t]*::?(?![:=])([^\n#;]*)(?:;([^\n]*))?", re.MULTILINE
)
_JUST_RECIPE = re.compile(r"^@?([A-Za-z][\w-]*)(?:[ \t]+[^:\n]+)?[ \t]*:(?!=)([^\n#]*)()", re.MULTILINE)
_AGAIN = re.compile(r"(?:^|[\s;&|])(?:\$[({]MAKE[)}]|g?make|just)\s+([^;&|]*)")
"""A recipe that has others made."""
_INCLUDE = re.compile(r"^(?:-|s)?(?:include|import)[ \t]+([^\n#]+)", re.MULTILINE)
_BELOW = re.compile(r"(?:\$[({]MAKE[)}]|\bg?make)[ \t][^\n;&|]*-C[ \t]*([\w./-]+)")
_RUNNERS = (
    ("make", _MAKE_TARGET, ("GNUmakefile", "makefile", "Makefile")),
    ("just", _JUST_RECIPE, ("justfile", "Justfile", ".justfile")),
)
_DEEPEST = 4
_SHELL = "if for while cd export set echo test exit true false case . : ["


def recipes(folder: Folder) -> Iterator[DetectedCheck]:
    """`make test` and similar targets, except those that install or publish on their way."""
    for program, pattern, files in _RUNNERS:
        file = folder.has(*files)
        text = _with_included(folder, folder.file_text(file)) if file else ""
        known = _recipes_in(text, pattern)
        has_environment = folder.is_folder(".venv")
        for name in known:
            if name in _TARGETS:
                lines = list(islice(_lines_of(name, known), _MOST_STEPS))
                fetched = fetches(lines, has_environment=has_environment)
                if fetched or all(map(is_harmless, lines)):
                    needed = dict.fromkeys([program, *filter(None, map(_program_of, lines))])
                    yield DetectedCheck(
                        f"{program} {name}", f"target {name} in {file}", _TARGETS[name], "runner", True,
                        programs=tuple(needed), lacking=fetched and FETCHES.format(fetched[:80]),
                    )  # fmt: skip


def _recipe_lines(folder: Folder) -> Iterator[DetectedCheck]:
    """The commands of recipes that consist of one known command."""
    for _, pattern, files in _RUNNERS:
        file = folder.has(*files)
        known = _recipes_in(folder.file_text(file) if file else "", pattern)
        for name, (before, lines) in known.items():
            if name in _TARGETS and not before:
                checks = [check_of(line, f"target {name} in {file}") for line in lines]
                found = [check for check in checks if check is not None and check.purpose == _TARGETS[name]]
                # Measuring coverage afterwards proves nothing more.
                others = [line for line, check in zip(lines, checks, strict=True) if check is None]
                if len(found) == 1 and all(re.match(r"(?:python3? -m )?coverage (?!run)", line) for line in others):
                    yield found[0]


def _with_included(folder: Folder, text: str) -> str:
    """With the files that it includes, and those of folders below in which it has something made, if their names are
    plain: each once, and no further."""
    names = [name.strip("'\"") for found in _INCLUDE.findall(text) for name in found.split()]
    names += [f"{name}/Makefile" for name in _BELOW.findall(text)]
    return "\n".join((text, *map(folder.file_text, names[:_MOST_JOBS])))


def _recipes_in(text: str, pattern: re.Pattern[str]) -> dict[str, tuple[list[str], list[str]]]:
    """The dependencies of each target, and its lines, that on the target's own line among them."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for match in islice(pattern.finditer(text), 500):
        lines = [(match[3] or "").strip().lstrip("@-+").strip()]
        for line in text[match.end() :].split("\n", _MOST_STEPS)[1:_MOST_STEPS]:
            if not line.startswith(("\t", " ")):
                break
            lines.append(line.strip().lstrip("@-+").strip())
        recipe = (match[2].split(), [line for line in lines if line and not line.startswith("#")])
        for name in match[1].split():
            found.setdefault(name, recipe)
    return found


def _lines_of(name: str, known: Mapping[str, tuple[list[str], list[str]]], depth: int = 0) -> Iterator[str]:
    """The lines that making a target runs: those of what it needs, of its own recipe, and of what that has made."""
    pattern = next((one for one in known if "%" in one and fnmatchcase(name, one.replace("%", "*"))), name)
    before, lines = known.get(name) or known.get(pattern, ([], []))
    again = [word for line in lines for found in _AGAIN.findall(line) for word in found.split()]
    for one in (*before[:_MOST_JOBS], *again[:_MOST_JOBS]) if depth < _DEEPEST else ():
        yield from _lines_of(one, known, depth + 1)
    yield from lines


def _program_of(line: str) -> str | None:
    """The program that a plain line starts."""
    first = line.split(" ", 1)[0]
    return first if re.fullmatch(r"[A-Za-z][\w.+-]*", first) and first not in _SHELL.split() else None


# ------------------------------------------------------------------------------------------- pre-commit

_HOOKS = dict(hook for tool in TOOLS for hook in tool.hooks)
"""The command of each hook, by id."""


def _pre_commit(folder: Folder) -> Iterator[DetectedCheck]:
    for repository in islice(_list_or_empty(_yaml(folder, ".pre-commit-config.yaml").get("repos")), _MOST_JOBS):
        for hook in islice(_list_or_empty(as_table(repository).get("hooks")), _MOST_JOBS):
            name = str(as_table(hook).get("id"))
            check = check_of(_HOOKS.get(name, ""), f"hook {name} in .pre-commit-config.yaml")
            if check is not None:
                yield replace(check, own=True)


def _list_or_empty(value: object) -> Iterable[object]:
    return cast("list[object]", value) if isinstance(value, list) else ()
