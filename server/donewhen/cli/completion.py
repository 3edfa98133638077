"""`completion`: what a shell completes, as a script for bash, zsh or fish, made from the parser.

The script holds all that is completed, so that no key press starts Python."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from donewhen.cli.calling import Call
from donewhen.cli.outcome import COMPLETE
from donewhen.cli.parser import AGENTS, COMMANDS, build
from donewhen.cli.settings import ROWS
from donewhen.settings.table import BY_NAME

_PLAIN = re.compile(r"[\w.,/+@-]+", re.ASCII)
"""What needs no quotes in any of the shells, and is one word for bash."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option by all its names. `values` are worth offering; `takes`: a value follows."""

    names: tuple[str, ...]
    help: str
    takes: bool
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Completed:
    """What follows one command, `""` the program itself: options, and by place the words that an argument may be."""

    options: tuple[Option, ...]
    words: tuple[tuple[str, ...], ...]


def completion(call: Call) -> int:
    """Prints the script for one shell; 0."""
    call.terminal.result(SHELLS[call.arguments.shell](completed()).rstrip("\n"))
    return COMPLETE


def completed() -> Mapping[str, Completed]:
    """All that the parser understands, by command."""
    parser, commands = build()
    found = {name: _of_parser(command) for name, command in commands.items()}
    program = Completed(_of_parser(parser).options, ((*COMMANDS, "help"),))
    return {"": program, **found, "help": Completed((), (tuple(COMMANDS),))}


def _of_parser(parser: argparse.ArgumentParser) -> Completed:
    actions = [one for one in parser._actions if one.help != argparse.SUPPRESS]  # pyright: ignore[reportPrivateUsage]  # argparse offers no other list
    options = (
        Option(tuple(one.option_strings), one.help or "", one.nargs != 0, _values(one))
        for one in actions
        if one.option_strings
    )
    return Completed(tuple(options), tuple(_values(one) for one in actions if not one.option_strings))


def _values(action: argparse.Action) -> tuple[str, ...]:
    setting = BY_NAME.get(action.dest) if action.option_strings else None
    known = tuple(action.choices or ()) or (setting.offered if setting is not None else ())
    # What is refused in words of its own: the parser has no list of it.
    known = tuple(ROWS) if action.dest == "setting" else AGENTS if action.metavar == "AGENT" else known
    return tuple(one for one in map(str, known) if _PLAIN.fullmatch(one))


# ------------------------------------------------------------------------------------------------- the scripts


def _cases(every: Mapping[str, Completed]) -> str:
    """The body of a `case "$1"`, read by bash and zsh: what may follow `COMMAND`, `COMMAND OPTION`, `COMMAND PLACE`.
    An option that takes a value has a line, even where no value is known."""

    def rows() -> Iterator[tuple[str, tuple[str, ...]]]:
        for command, one in every.items():
            yield f"{command} -", tuple(name for option in one.options for name in option.names)
            for option in one.options:
                if option.takes:
                    yield from ((f"{command} {name}", option.values) for name in option.names)
            yield from ((f"{command} {place}", words) for place, words in enumerate(one.words, 1) if words)

    return "\n".join(f'    "{key}") offered="{" ".join(words)}" ;;' for key, words in rows())


def bash(every: Mapping[str, Completed]) -> str:
    """For `source`, or a file of bash-completion."""
    return _POSIX.replace("CASES", _cases(every)) + _BASH


def zsh(every: Mapping[str, Completed]) -> str:
    """For `source` after compinit, or a file `_donewhen` in a folder of `fpath`."""
    return "#compdef donewhen\n" + _POSIX.replace("CASES", _cases(every)) + _ZSH


def fish(every: Mapping[str, Completed]) -> str:
    """For `source`, or `completions/donewhen.fish`."""
    lines = ["complete -c donewhen -e"]
    lines += [f"complete -c donewhen -n __fish_use_subcommand -x -a {n} -d {_quoted(h)}" for n, h in COMMANDS.items()]
    lines.append("complete -c donewhen -n __fish_use_subcommand -x -a help")
    for command, one in every.items():
        seen = f"'__fish_seen_subcommand_from {command}'" if command else "__fish_use_subcommand"
        start = f"complete -c donewhen -n {seen}"
        for option in one.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = f" -x -a '{' '.join(option.values)}'" if option.values else " -r" if option.takes else ""
            lines.append(f"{start} {names}{value} -d {_quoted(option.help)}")
        # Which place a word has doesn't matter: what was typed already is rarely wanted again.
        words = [word for words in one.words for word in words] if command else []
        lines += [f"{start} -f -a '{' '.join(words)}'"] if words else []
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("%%", "%").replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SHELLS: Mapping[str, Callable[[Mapping[str, Completed]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}

_POSIX = """\
_donewhen_offered() {  # sets `offered`; fails where nothing is known of it
  offered=
  case "$1" in
CASES
    *) return 1 ;;
  esac
}

_donewhen_find() {  # of the words before the cursor: sets `command`, and `key` of what may follow
  command= key=
  local word pending= place=0
  for word in "$@"; do
    if [ "$word" = "=" ]; then continue; fi
    if [ -n "$pending" ]; then pending=; continue; fi
    case "$word" in
      -*) if _donewhen_offered "$command $word"; then pending=$word; fi ;;
      *) if [ -z "$command" ]; then command=$word; else place=$((place + 1)); fi ;;
    esac
  done
  key="$command ${pending:-$((place + 1))}"
}
"""

_BASH = """
_donewhen() {
  local command key offered current=${COMP_WORDS[COMP_CWORD]}
  if [ "$current" = "=" ]; then current=; fi
  _donewhen_find "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  case "$current" in -*) key="$command -" ;; esac
  _donewhen_offered "$key"
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -o default -F _donewhen donewhen
"""

_ZSH = """
_donewhen() {
  local command key offered current=$words[CURRENT]
  _donewhen_find "${(@)words[2,CURRENT-1]}"
  case "$current" in
    --*=*) key="$command ${current%%=*}"; compset -P '*=' ;;
    -*) key="$command -" ;;
  esac
  _donewhen_offered "$key"
  if [ -n "$offered" ]; then compadd -- ${=offered}; else _files; fi
}
if [ "$funcstack[1]" = _donewhen ]; then _donewhen "$@"; else compdef _donewhen donewhen; fi
"""
