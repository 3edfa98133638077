"""What a command line really runs, behind the wrappers in it: read in one place, for asking a person, where any reading
counts, and for telling what a check runs, where the likely one does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from donewhen.core.commands.lines import Command, command_line

MAX_NESTING = 8
MAX_STEPS = 5_000


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS = words_of("sh bash dash zsh ksh mksh fish ash csh tcsh powershell pwsh cmd busybox")
PYTHON = re.compile(r"(?:python|pypy)[0-9.]*w?|py")
TEXTUAL = words_of(
    "eval trap ssh watch parallel su runuser script flock entr env hyperfine concurrently watchexec start call iex "
    "invoke-expression nodemon"
)
"""What may take a whole command line as one word."""

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=.*", re.DOTALL)
_CONTROL = frozenset(("if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "fi", "done", "esac"))
_SOME_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?[smhdkMG%]?")
_MODULE_OPTION = re.compile(r"-[A-Za-z]*m(?P<name>.*)")
_TEXT_OPTION = re.compile(r"[-+]\w*c\w*|-Command|/[ck]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that runs the command behind its own words: behind one of `verbs` (the empty one is none), its options
    and `own` further words. `loose` says how many of those may be words when a person is asked.

    `apart`: what it runs gets another environment. `module`: its `-m` names a Python module. `prefixed`: its command
    may begin with the name of an environment (`test:pytest`).
    """

    verbs: tuple[str, ...] = ("",)
    own: int = 0
    loose: int = 0
    apart: bool = False
    module: bool = False
    prefixed: bool = False


def _each(names: str, wrapper: Wrapper) -> dict[str, Wrapper]:
    return dict.fromkeys(names.split(), wrapper)


_IN_CONTAINERS = ("run", "exec", "compose run", "compose exec", "container run", "container exec")
WRAPPERS: Mapping[str, Wrapper] = {
    **_each(
        "env nohup time xargs gxargs nice ionice command exec builtin setsid stdbuf unbuffer chronic watch strace "
        "ltrace parallel busybox toybox xvfb-run npx pnpx bunx dotenv watchexec entr caffeinate catchsegv valgrind gdb "
        "winpty start call firejail torchrun arch prlimit cross-env dotenvx hyperfine faketime coproc if and or not "
        "mpirun mpiexec nyc c8 dbus-run-session ddtrace-run systemd-inhibit",
        Wrapper(),
    ),
    **_each("timeout gtimeout chrt", Wrapper(own=1)),
    **_each("taskset setarch flock script", Wrapper(own=1, loose=1)),
    **_each("sudo doas systemd-run unshare bwrap", Wrapper(apart=True)),
    **_each("chroot ssh su runuser", Wrapper(own=1, loose=1, apart=True)),
    "uvx": Wrapper(module=True),
    "uv": Wrapper(("run", "tool run"), module=True),
    **_each("cProfile profile trace pdb debugpy kernprof scalene", Wrapper(module=True)),
    **_each("pyinstrument slipcover viztracer", Wrapper(module=True)),
    **_each("coverage memray", Wrapper(("run",), module=True)),
    **_each("poetry pipenv pdm rye pixi op pipx", Wrapper(("run",))),
    "doppler": Wrapper(("run", "")),
    "rustup": Wrapper(("run",), own=1, loose=1),
    **_each("conda mamba micromamba", Wrapper(("run",), loose=1)),
    "hatch": Wrapper(("run", "env run"), prefixed=True),
    "tox": Wrapper(("exec",), apart=True),
    "npm": Wrapper(("exec", "x")),
    "pnpm": Wrapper(("exec", "dlx")),
    "yarn": Wrapper(("exec", "dlx", "run")),
    "bun": Wrapper(("x",)),
    **_each("docker podman nerdctl", Wrapper(_IN_CONTAINERS, own=1, loose=1, apart=True)),
    "docker-compose": Wrapper(("run", "exec"), own=1, loose=1, apart=True),
    "kubectl": Wrapper(("exec",), own=1, loose=1, apart=True),
    "mise": Wrapper(("exec", "x"), loose=1),
    **_each("asdf rbenv pyenv opam bundle", Wrapper(("exec",))),
    "direnv": Wrapper(("exec",), own=1, loose=1),
    "aws-vault": Wrapper(("exec", ""), own=1, loose=1),
    "nix": Wrapper(("shell", "develop", "run")),
}
"""By program. When in doubt, add a row: without one, what follows is neither asked about nor recognised."""

_SCRIPTS: Mapping[str, tuple[str, ...]] = {"yarn": ("run", ""), "pnpm": ("run", ""), "bun": ("run", "")}
"""Package managers that run a program of that name where the package has no script of it."""

VALUE_OPTIONS: Mapping[str, str] = {
    "env": "-u --unset -C --chdir",
    "timeout": "-k --kill-after -s --signal",
    "gtimeout": "-k --kill-after -s --signal",
    "nice": "-n --adjustment",
    "ionice": "-c --class -n --classdata -p",
    "chrt": "-T -P -D",
    "stdbuf": "-i -o -e --input --output --error",
    "time": "-f --format -o --output",
    "xargs": "-n -I -P -L -d -s -a -E --max-args --max-procs --arg-file --delimiter",
    "xvfb-run": "-s --server-args -n --server-num -e --error-file -f --auth-file -p --xauth-protocol -w --wait",
    "sudo": "-u --user -g --group -C -D --chdir -h --host -p --prompt -r -t -T -U -R",
    "doas": "-u -C",
    "systemd-run": "-p --property -u --unit -E --setenv --working-directory --slice",
    "exec": "-a",
    "watch": "-n --interval",
    "flock": "-w --timeout --wait -E",
    "script": "-O -o -I -B -T",
    "strace": "-o -e -p -s",
    "ltrace": "-o -e -p -s",
    "su": "-s --shell -g --group",
    "ssh": "-p -i -l -o -F -J -L -R",
    "mpirun": "-n -np -H --host --hostfile",
    "mpiexec": "-n -np -H --host --hostfile",
    "faketime": "-f",
    "dotenv": "-e -f --file -v",
    "uv": (
        "--directory --project -p --python --extra --no-extra --group --no-group --only-group --with --with-editable "
        "--with-requirements --env-file --index --index-url --default-index --extra-index-url -i -f --find-links "
        "--config-file --cache-dir --color --package -P --upgrade-package --refresh-package --reinstall-package "
        "--resolution --prerelease --link-mode --exclude-newer -C --config-setting --index-strategy -w"
    ),
    "uvx": "--from --with -p --python --index --index-url --directory",
    "poetry": "-C --directory -P --project",
    "pipenv": "--python --categories",
    "pdm": "-p --project -L --lockfile -c --config --venv",
    "hatch": "-e --env -p --project --config --data-dir --cache-dir -i --include -x --exclude",
    "rye": "--pyproject",
    "pixi": "-e --environment --manifest-path",
    **dict.fromkeys(("conda", "mamba", "micromamba"), "-n --name -p --prefix --cwd -r --root-prefix"),
    "coverage": (
        "--source --source-pkgs --source-dirs --omit --include --rcfile --data-file --context --concurrency --debug"
    ),
    "memray": "-o --output",
    "tox": "-e -c --conf --workdir --root -f",
    "kernprof": "-o --outfile -s --setup",
    "pyinstrument": "-o --outfile -r --renderer",
    "slipcover": "--source --omit --out --threshold",
    "debugpy": "--listen --connect --log-to",
    "cProfile": "-o -s",
    "npx": "-p --package -w --workspace --prefix --cache --registry -c --call",
    "npm": "--prefix -w --workspace -C -p --package --registry",
    "pnpm": "-C --dir --filter -F --filter-prod --reporter --loglevel",
    "yarn": "--cwd",
    "bun": "--cwd -c --config -r --preload",
    "bunx": "-p --package",
    "cargo": "--config -Z -C --color --manifest-path --target-dir --target -p --package --profile",
    "go": "-C",
    "make": "-C --directory -f --file --makefile -I -o -W",
    "deno": "-c --config --log-level",
    "dotnet": "--roll-forward",
    "mix": "",
    "mise": "-C --cd -E --env -j --jobs",
    "nix": "--override-input -I --option",
    "op": "--env-file --account",
    "doppler": "-p --project -c --config -t --token",
    "aws-vault": "-d --duration",
    **dict.fromkeys(
        ("docker", "podman", "nerdctl", "docker-compose"),
        "-e --env --env-file -v --volume -w --workdir -u --user --name --network --net -p --publish --entrypoint "
        "--platform -m --memory --cpus --mount -h --hostname -l --label --add-host --gpus --shm-size --ulimit --tmpfs "
        "--cap-add --security-opt --pull --restart --device -f --file --profile --project-name --project-directory -c "
        "--context -H --host --log-level --index",
    ),
    "kubectl": "-n --namespace -c --container --context --kubeconfig",
}
"""By program: the options whose value is the next word."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One simple command as it most likely runs. `words` are without assignments; `then` is the operator after it,
    empty at the end.

    `tool` are the words of what it really runs: wrappers (`uv run`, `timeout -k 5 60`, `npx`) and `python -m` taken
    away, the program without its folder. `script`, where it isn't empty, is what runs instead if a package manager
    finds no script of that name (`yarn vitest`). `apart`: in another environment. `inner`: in a substitution, so that
    something else gets what it prints.
    """

    words: tuple[str, ...]
    tool: tuple[str, ...]
    assignments: tuple[str, ...] = ()
    then: str = ""
    script: tuple[str, ...] = ()
    apart: bool = False
    inner: bool = False


def segments(command: str, *, windows: bool = False) -> tuple[Segment, ...]:
    """The simple commands of a line as they most likely run, those in `sh -c TEXT` in its place; none where its quoting
    can't be understood. `windows`: a backslash separates folders."""
    return tuple(_segments(command.replace("\\", "/") if windows else command, 0))


def all_commands(command: str) -> tuple[tuple[str, ...], ...] | None:
    """The words of every command that a line may run, behind wrappers too, more rather than fewer; None if it can't
    be understood."""
    if not command_line(command).whole:
        return None
    found = tuple(islice(_commands_in(command), MAX_STEPS))
    return found if len(found) < MAX_STEPS else None


def program_name(word: str) -> str:
    """`/usr/bin/pip3` is `pip3`, `pip.exe` is `pip`."""
    name = re.split(r"[/\\]", word)[-1]
    return re.sub(r"\.(?:exe|cmd|bat|ps1|com)$", "", name, flags=re.IGNORECASE)


def bare(command: Command) -> tuple[list[str], set[int]]:
    """The words without assignments and control words before the program, and which of them are unknown."""
    at = 0
    while at < len(command.words):
        word = command.words[at]
        if not _ASSIGNMENT.fullmatch(word) and word not in _CONTROL:
            break
        at += 1
    return command.words[at:], {place - at for place in command.unknown}


def verbs_match(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a command is one of the program and verbs `wanted`, whatever options stand between."""
    if not words or not wanted or words[0] != wanted[0]:
        return False
    at = 1
    for verb in wanted[1:]:
        at = _after_options(words, at, words[0])
        if at >= len(words) or words[at] != verb:
            return False
        at += 1
    return True


def option_values(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """The values of options given as `--name=VALUE` or `--name VALUE`, in order."""
    found: list[str] = []
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            if equals:
                found.append(value)
            elif index + 1 < len(words):
                found.append(words[index + 1])
    return found


def folders(parts: Sequence[Segment]) -> tuple[str, ...]:
    """The folders that the line changes into (`cd`, `-C`, `--prefix`, `--cwd`), as written."""
    found: list[str] = []
    for part in parts:
        if part.words[:1] == ("cd",) and len(part.words) > 1:
            found.append(part.words[1])
        options = ("-C", "--prefix", "--cwd", "--directory", "--chdir", "--dir", "--rootdir", "--project")
        found += option_values(part.words, options)
        if part.words[:2] == ("direnv", "exec"):
            found += part.words[2:3]
    return tuple(found)


# ------------------------------------------------------------------------------------- the likely reading


def _segments(text: str, depth: int) -> Iterator[Segment]:
    line = command_line(text)
    if not line.whole or depth > MAX_NESTING:
        return
    for command in line.commands:
        words = tuple(bare(command)[0])
        before = command.words[: len(command.words) - len(words)]
        assigned = tuple(word for word in before if _ASSIGNMENT.fullmatch(word))
        if not words:
            if assigned:
                yield Segment((), (), assigned, command.then)
            continue
        tool, apart = _tool(words)
        given = _text_given(tool)
        within = tuple(_segments(given, depth + 1)) if given is not None else ()
        if within:
            for one in within:
                yield Segment(
                    one.words, one.tool, (*assigned, *one.assignments), one.then or command.then, one.script,
                    apart or one.apart, command.inner or one.inner,
                )  # fmt: skip
        else:
            yield Segment(words, tool, assigned, command.then, _script(tool), apart, command.inner)


def _tool(words: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """What runs behind all wrappers, and whether in another environment."""
    apart = False
    for _ in range(MAX_NESTING):
        words = (program_name(words[0]), *words[1:])
        behind = behind_wrapper(words) if _text_given(words) is None else ()
        if not behind:
            break
        # `python -m` is not a wrapper: what it runs is in the same environment.
        wrapper = WRAPPERS.get(words[0])
        cleared = words[0] == "env" and bool({"-", "-i", "--ignore-environment"} & set(words[1:]))
        apart = apart or cleared or (wrapper is not None and wrapper.apart)
        words = behind
    return words, apart


def behind_wrapper(words: tuple[str, ...]) -> tuple[str, ...]:
    """What the first program, named without its folder, runs; nothing where it isn't a wrapper."""
    if PYTHON.fullmatch(words[0]):
        return _python_module(words)
    wrapper = WRAPPERS.get(words[0])
    return _after_verb(words, wrapper) if wrapper is not None else ()


def _after_verb(words: tuple[str, ...], wrapper: Wrapper) -> tuple[str, ...]:
    """What follows the first of the wrapper's verbs that the words have, and its own words; nothing without one."""
    choices = (verb.split() for verb in wrapper.verbs)
    verbs = next((each for each in choices if verbs_match(words, (words[0], *each))), None)
    if verbs is None:
        return ()
    at = 1
    for _ in verbs:
        at = _after_options(words, at, words[0]) + 1
    begun = at
    at = _after_options(words, at, words[0])
    module = next((i for i in range(begun, at) if words[i] in ("-m", "--module")), None)
    if wrapper.module and module is not None:
        return words[module + 1 :]
    at += wrapper.own
    # A tool's version before the command of `mise exec`, and the `--` that ends a wrapper's own words.
    if "--" in words[at:] and words[0] in ("mise", "kubectl", "op", "doppler", "aws-vault", "nix", "dbus-run-session"):
        at = words.index("--", at)
    if words[0] == "nix":
        given = next((i for i, word in enumerate(words) if word in ("-c", "--command")), None)
        return words[given + 1 :] if given is not None else ()
    while at < len(words) and (words[at] == "--" or _ASSIGNMENT.fullmatch(words[at])):
        at = _after_options(words, at + 1, words[0])
    rest = words[at:]
    if rest and wrapper.prefixed and ":" in rest[0]:
        rest = (rest[0].rpartition(":")[2], *rest[1:])
    return rest


def _after_options(words: Sequence[str], at: int, program: str) -> int:
    """Where the options of a program end that begin at `at`."""
    values = VALUE_OPTIONS.get(program, "").split()
    assigns = program in ("env", "cross-env", "sudo", "doas", "systemd-run")
    while at < len(words) and words[at] != "--":
        if not words[at].startswith(("-", "+")) and not (assigns and _ASSIGNMENT.fullmatch(words[at])):
            break
        if words[at] in ("-m", "--module") and program in WRAPPERS and WRAPPERS[program].module:
            return at + 1
        at += 2 if words[at] in values else 1
    # The last option may lack its value.
    return min(at, len(words))


def _python_module(words: tuple[str, ...]) -> tuple[str, ...]:
    """`python -X dev -m pytest -q` runs `pytest -q`; a script or code of Python's stays."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if (module := _MODULE_OPTION.fullmatch(words[at])) is not None:
            return (module["name"], *words[at + 1 :]) if module["name"] else words[at + 1 :]
        at += 2 if words[at] in ("-X", "-W", "--check-hash-based-pycs") else 1
    return ()


def _text_given(words: Sequence[str]) -> str | None:
    """The command line that a shell, or what takes one, is given as a word."""
    name = words[0]
    if name == "eval":
        return " ".join(words[1:])
    if name == "env":
        return next(iter(option_values(words, ("-S", "--split-string"))), None)
    if name in SHELLS or name in _WITH_TEXT:
        given = _text_option(words, WRAPPERS[name].own if name in WRAPPERS else 0)
        if given is not None:
            return " ".join(given) if name in ("cmd", "powershell", "pwsh") else given[0]
    if len(words) == 1 and " " in name:
        return name  # `ssh host 'cd a && pytest'`, `watch 'pytest -q'`
    return None


_WITH_TEXT = frozenset(("su", "runuser", "script", "flock", "npx", "nix-shell"))


def _text_option(words: Sequence[str], own: int) -> Sequence[str] | None:
    """What follows the option for a command line, before the first word that is not an option, or of which `own` may
    be."""
    at = 1
    while at < len(words) - 1:
        word = words[at]
        if _TEXT_OPTION.fullmatch(word) or word in ("--command", "--call", "--run"):
            rest = words[at + 1 :]
            while len(rest) > 1 and rest[0].startswith("-"):
                rest = rest[1:]
            return rest
        if re.fullmatch(r"[-+]\w*[oO]|--rcfile|--init-file|-ExecutionPolicy", word):
            at += 1
        elif not word.startswith(("-", "+", "/")):
            own -= 1
            if own < 0:
                return None
        at += 1
    return None


def _script(words: tuple[str, ...]) -> tuple[str, ...]:
    if verbs_match(words, ("yarn", "workspace")):
        return _after_verb(words, Wrapper(("workspace",), own=1))
    return _after_verb(words, Wrapper(_SCRIPTS.get(words[0], ())))


# ---------------------------------------------------------------------------------------- every reading


def _commands_in(command: str, depth: int = 0) -> Iterator[tuple[str, ...]]:
    if depth > MAX_NESTING:
        return
    for one in command_line(command).commands:
        words = bare(one)[0]
        if words:
            yield from _unwrapped(words, depth)


def _unwrapped(words: Sequence[str], depth: int) -> Iterator[tuple[str, ...]]:
    yield tuple(words)
    if depth > MAX_NESTING:
        return
    for rest in wrapped(words):
        yield from _unwrapped(rest, depth + 1)
    for text in texts_run_by(words):
        yield from _commands_in(text, depth + 1)


def starts(words: Sequence[str], positional: int = 0) -> Iterator[Sequence[str]]:
    """Where the verb of a program, or the command behind a wrapper, may begin: options may have values, so that more
    than one place comes into question."""
    spare = positional
    for at in range(1, len(words)):
        yield words[at:]
        word = words[at]
        if word.startswith(("-", "+")) or "=" in word or _SOME_NUMBER.fullmatch(word):
            continue
        if at > 1 and words[at - 1].startswith("-") and "=" not in words[at - 1]:
            continue
        if not spare:
            return
        spare -= 1


def wrapped(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """What else may run behind a wrapper such as `sudo`, `xargs`, `uv run`, `python -m`."""
    name = program_name(words[0]).lower() if words else ""
    if PYTHON.fullmatch(name):
        yield from _module(words)
    wrapper = WRAPPERS.get(name)
    for verbs in wrapper.verbs if wrapper is not None else ():
        inner: Sequence[str] | None = words
        for verb in verbs.split():
            inner = next((rest for rest in starts(inner) if rest[0].lower() == verb), None) if inner else None
        if inner and wrapper is not None:
            yield from starts(inner, wrapper.loose)
    if name in ("find", "fd", "fdfind"):
        for at, word in enumerate(words[:-1]):
            if word in ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"):
                yield words[at + 1 :]


def _module(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """What Python runs: a module, or a script."""
    for at, word in enumerate(words[1:], start=1):
        if word == "-m" and at + 1 < len(words):
            yield words[at + 1 :]
            return
        if word.startswith("-m"):
            yield [word[2:], *words[at + 1 :]]
            return
        if not word.startswith("-") and words[at - 1] not in ("-X", "-W"):
            yield words[at:]
            return


def texts_run_by(words: Sequence[str]) -> Iterator[str]:
    """Command lines that are words of this one: `sh -c TEXT`, `eval TEXT`, `cmd /c TEXT`."""
    if not words:
        return
    name, rest = program_name(words[0]).lower(), words[1:]
    if name in SHELLS:
        for at, word in enumerate(rest):
            if _TEXT_OPTION.fullmatch(word):
                yield from rest[at + 1 :]
                yield " ".join(rest[at + 1 :])
    elif name in TEXTUAL:
        yield from (word for word in rest if " " in word)
        yield " ".join(rest)
    elif name == "git":
        yield from _texts_run_by_git(rest)


_RUNNING = frozenset(("foreach", "run"))
_WITH_TEXTS = frozenset(("rebase", "filter-branch", "difftool", "mergetool", "submodule"))


def _texts_run_by_git(rest: Sequence[str]) -> Iterator[str]:
    """What git is to run itself: for each commit or submodule, as an editor, a pager, a filter."""
    for at, word in enumerate(rest):
        if at and rest[at - 1] == "-c" and "=" in word:
            yield word.partition("=")[2].lstrip("!")
        elif word in _RUNNING and rest[at - 1] in ("submodule", "bisect"):
            yield " ".join(one for one in rest[at + 1 :] if one not in ("--recursive", "-q", "--quiet"))
    if _WITH_TEXTS & set(rest):
        yield from (word.partition("=")[2] if word.startswith("--") else word for word in rest if " " in word)
