"""The commands, their arguments and options, as protocol.md lists them; errors suggest the nearest existing name."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import NoReturn

from donewhen.core.errors import UsageError
from donewhen.extras import COMMANDS as OF_EXTRAS
from donewhen.extras import EXTRAS, MANY, PROGRAMS, Extra, part_of
from donewhen.settings.kinds import VARIABLES, nearest
from donewhen.settings.table import BY_NAME, GROUPS, SETTINGS
from donewhen.version import __version__
from donewhen.wire.reports import FORMATS

AGENTS = ("claude", "codex", "cursor", "gemini", "copilot", "vscode", "openhands")
"""Those that `cli/gate/forms.py` has a form for."""
REMEMBERED = ("run", "workspace")

_OWN = {
    "Every day": {
        "init": ("goal_commands.init", "draft GOAL.md with the checks detected in this project; never overwrites"),
        "preflight": (
            "goal_commands.preflight",
            "review a goal before running it: what is vague, what nothing can decide",
        ),
        "check": ("goal_commands.check", "check once whether the goal is proven, without changing anything"),
        "run": ("run_commands.run", "work on a goal: a goal file, or an objective to draft one from"),
        "resume": ("run_commands.resume", "resume a paused, interrupted, halted or limited run"),
        "status": ("quick_status.status", "show how a run stands (by default the newest one)"),
        "guard": ("run_commands.guard", "keep a complete goal proven: check again after every edit, until Ctrl-C"),
        "demo": ("demo.demo", "watch a run on a sample project; needs no model and no network"),
        "doctor": ("doctor.doctor", "show what is installed and available on this machine"),
        "models": ("models.models", "list the available models, or try one with a test call"),
        "settings": ("settings.settings", "show what is in force, and where each value comes from"),
    },
    "What only a person does": {
        "answer": ("person_commands.answer", "answer a question that a run asks"),
        "hint": ("person_commands.hint", "tell the worker of a run something while it works"),
        "pause": ("person_commands.pause", "pause a run"),
        "stop": ("person_commands.stop", "end a run as cancelled"),
        "waive": ("person_commands.waive", "drop a requirement from a run, with a reason"),
        "accept": ("person_commands.accept", "accept an integrity finding, or all of them, with a reason"),
        "dispute": ("person_commands.dispute", "have a requirement judged again, with a note"),
        "revert": ("person_commands.revert", "put files back as they were after an iteration"),
    },
    "The record": {
        "list": ("quick_status.list_runs", "list all runs of this workspace"),
        "diff": (
            "record_commands.diff",
            "print what a run changed (by default the newest one), and what has changed since",
        ),
        "report": ("record_commands.report", "print the receipt of a run (by default the newest one)"),
        "gc": (
            "collecting.collect",
            "remove old runs from the record and free their disk space; --keep RUN keeps one",
        ),
    },
    MANY: {},
    PROGRAMS: {
        "gate": ("gate.hook.gate", "answer the hook that an agent calls before it stops: continue, or done"),
        "serve": ("serving.serve", "start the language server"),
        "completion": ("completion.completion", "print the script by which a shell completes commands and options"),
    },
}
"""The commands by what they are for: each with the function that performs it, by its module below `cli`, and what it
does."""


def _with_extras(names: Iterable[str], extras: Iterable[Extra]) -> tuple[str, ...]:
    """The names of commands with those of extras, each in its place."""
    placed = list(names)
    for one in extras:
        placed.insert(placed.index(one.after) + 1 if one.after in placed else len(placed), one.command)
    return tuple(placed)


PERFORMED_BY = {name: place for rows in _OWN.values() for name, (place, _) in rows.items()}
"""Of commands that no extra has. They are imported by name, so that a call pays only for its own."""
COMMAND_GROUPS = {
    title: _with_extras(names, (one for one in OF_EXTRAS.values() if one.group == title))
    for title, names in _OWN.items()
}
_ABOUT = {name: about for rows in _OWN.values() for name, (_, about) in rows.items()}
COMMANDS = {
    name: _ABOUT[name] if name in _ABOUT else OF_EXTRAS[name].about
    for names in COMMAND_GROUPS.values()
    for name in names
}


def _grouped() -> str:
    """The commands with what they do, by what they are for."""
    wide = max(map(len, COMMANDS)) + 2
    sections = (
        f"{title}:\n" + "\n".join(f"  {name:{wide}}{COMMANDS[name]}" for name in names)
        for title, names in COMMAND_GROUPS.items()
        if names
    )
    return "\n\n".join(sections)


class Parser(argparse.ArgumentParser):
    """Raises UsageError instead of exiting as argparse does."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of one call; `command` is None if there is none. Raises UsageError."""
    if _command_word(argv) == "help":
        at = list(argv).index("help")
        argv = [*argv[:at], *argv[at + 1 :], "--help"]  # `help run` is `run --help`
    parser, commands = build([_command_word(argv) or ""])
    _refuse_unknown(argv, parser, commands)
    arguments, rest = parser.parse_known_args(argv)
    if rest:
        name = arguments.command
        used = commands[name] if name else parser
        said = f"`donewhen {name}`" if name else "`donewhen`"
        raise UsageError(f"{said} doesn't take `{' '.join(rest)}` as well\n{used.format_usage().strip()}")
    return arguments


def build(used: Iterable[str] = tuple(COMMANDS)) -> tuple[Parser, dict[str, Parser]]:
    """The parser, and the commands' parsers by name. What extras say of a command's arguments is there for those that
    are `used`: for the others no extra is imported."""
    parser = Parser(
        prog="donewhen",
        usage="donewhen [options] COMMAND ...",
        description=f"Goals that are done when the evidence says so.\n\n{_grouped()}",
        epilog="Run `donewhen help COMMAND` for the options of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action="version", version=f"donewhen {__version__}")
    _common(parser)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser, help=argparse.SUPPRESS)
    commands: dict[str, Parser] = {}
    for name, meaning in COMMANDS.items():
        command = subparsers.add_parser(name, description=meaning, allow_abbrev=False)
        _common(command)
        commands[name] = command
    _add_arguments(commands)
    known = commands.keys() & set(used)
    for one in EXTRAS:
        if one.command in known:
            part_of(one, "arguments", "add_arguments")(commands[one.command])
        if one.extends in known:
            part_of(one, "arguments", "add_options")(commands[one.extends])
    for name, command in commands.items():
        _settings(name, command)
    for name, command in commands.items():
        words = (argument_usage(one) for one in command._actions if not one.option_strings)  # pyright: ignore[reportPrivateUsage]  # argparse offers no other list
        command.usage = " ".join(("donewhen", name, "[options]", *words))  # all options would fill a screen
    return parser, commands


def argument_usage(action: argparse.Action) -> str:
    """How an argument stands in a line that says how a command is used."""
    name = "|".join(action.choices) if action.choices else str(action.metavar or action.dest)
    return {"?": f"[{name}]", "*": f"[{name}]", "+": name}.get(str(action.nargs), name)


def _common(parser: Parser) -> None:
    """Options that may precede or follow the command: no defaults, so that one place doesn't override the other."""
    absent = argparse.SUPPRESS
    parser.add_argument(
        "--workspace", metavar="DIR", default=absent, help="the folder to work on (by default the current one)"
    )
    parser.add_argument("--state-dir", metavar="DIR", default=absent, help=BY_NAME["state_dir"].meaning)
    parser.add_argument("--json", action="store_true", default=absent, help="JSON on standard output, nothing else")


def _add_arguments(commands: dict[str, Parser]) -> None:
    commands["init"].add_argument("objective", nargs="*", metavar="OBJECTIVE")
    taken = "take the requirements of an issue or a specification (Markdown; - is standard input); executes nothing"
    commands["init"].add_argument("--from", dest="source", metavar="FILE", help=taken)
    for name in ("init", "run"):
        declined = "draft without running the checks that are found"
        commands[name].add_argument("--no-try", action="store_true", help=declined)
    commands["preflight"].add_argument("goal", nargs="?", metavar="GOAL")
    commands["check"].add_argument("goal", nargs="?", metavar="GOAL")
    explained = "list what the proof rests on, and execute nothing"
    commands["check"].add_argument("--explain", action="store_true", help=explained)
    _receipt_arguments(commands["check"])
    commands["run"].add_argument("goal", nargs="*", metavar="GOAL or OBJECTIVE")
    _resume_arguments(commands["resume"])
    commands["status"].add_argument("run_id", nargs="?", metavar="RUN_ID")
    commands["status"].add_argument("--follow", action="store_true", help="follow it live until it ends or pauses")
    commands["report"].add_argument("run_id", nargs="?", metavar="RUN_ID")
    commands["diff"].add_argument("run_id", nargs="?", metavar="RUN_ID")
    for name in ("pause", "stop", "answer", "waive", "accept", "dispute", "hint", "revert"):
        commands[name].add_argument("run_id", metavar="RUN_ID")
    _person_arguments(commands)
    *others, last = (f"{name} ({form.about})" if form.about else name for name, form in FORMATS.items())
    commands["report"].add_argument(
        "--format", choices=tuple(FORMATS), type=_format, help=f"{', '.join(others)} or {last}"
    )
    _revert_arguments(commands["revert"])
    _serve_arguments(commands["serve"])
    commands["guard"].add_argument("goal", nargs="?", metavar="GOAL")
    commands["guard"].add_argument("--off", action="store_true", help="lift the guard, wherever it was set")
    _gate_arguments(commands["gate"])
    _collecting_arguments(commands["gc"])
    commands["demo"].add_argument("--keep", action="store_true", help="keep the sample's folder")
    what = "the model to try; without it, what is here is listed"
    commands["models"].add_argument("name", nargs="?", metavar="MODEL", help=what)
    commands["models"].add_argument("--api-base", metavar="URL", help="where it is served")
    one = "one setting, with what every source says of it"
    commands["settings"].add_argument("setting", nargs="?", metavar="NAME", help=one)
    sourced = "as in `source <(donewhen completion bash)`, or `donewhen completion fish | source`"
    commands["completion"].add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help=sourced)


def _format(text: str) -> str:
    return "markdown" if text == "md" else text


def _receipt_arguments(parser: Parser) -> None:
    written = "write the receipt in a format of `report` to a file; may be repeated"
    parser.add_argument("--report", metavar="FORMAT=FILE", action="append", default=[], help=written)
    annotated = "for the log and the summary of a job (github where GITHUB_ACTIONS is true)"
    parser.add_argument("--annotations", choices=("github", "off"), help=annotated)


def _resume_arguments(parser: Parser) -> None:
    parser.add_argument("run_id", nargs="?", metavar="RUN_ID")
    halted = parser.add_argument_group("a run that a plugin halted")
    halted.add_argument("--data", metavar="JSON", help="data for the plugin, such as '{\"approved\": true}'")
    halted.add_argument(
        "--plugin", metavar="NAME", help=("the plugin that the data is for; refused if another one halted the run")
    )


def _settings(command: str, parser: Parser) -> None:
    """The settings that are options of a command, grouped by topic."""
    for title in GROUPS:
        taken = [setting for setting in SETTINGS if setting.group == title and command in setting.commands]
        group = parser.add_argument_group(title) if taken else parser
        for setting in taken:
            values = "|".join(setting.kind.choices) or setting.name.rpartition("_")[2].upper()
            values += "|NAME" if setting.kind.name == "name" else ""
            values = "AGE" if setting.kind.name == "age" else values
            default = f" ({setting.default})" if setting.default else ""
            described = f"{setting.meaning}{default} [{setting.variable}]"
            repeated = "append" if setting.kind is VARIABLES else "store"
            group.add_argument(setting.option, metavar=values, dest=setting.name, help=described, action=repeated)


def _person_arguments(commands: dict[str, Parser]) -> None:
    answer = commands["answer"]
    answer.add_argument("interrupt_id", metavar="INTERRUPT_ID")
    worded = "the answer to a question, or approve, deny, edit, text or end: `status` lists what it takes"
    answer.add_argument("response", metavar="ANSWER", help=worded)
    text = "the reason, the edited input, or more of the answer"
    answer.add_argument("text", nargs="*", default=[], metavar="TEXT", help=text)
    remembered = "keep the approval: for this run, or always in this workspace"
    answer.add_argument("--for", dest="remember", choices=REMEMBERED, metavar="|".join(REMEMBERED), help=remembered)
    commands["hint"].add_argument("text", nargs="+", metavar="TEXT", help="what it should know")
    for name in ("waive", "dispute"):
        commands[name].add_argument("requirement", metavar="R3")
    commands["accept"].add_argument("finding", nargs="?", metavar="F1")
    commands["accept"].add_argument("--all", action="store_true", help="every open finding")
    for name in ("waive", "accept", "dispute"):
        commands[name].add_argument("--reason", help="why; kept with the run")
    for name in ("waive", "accept"):
        commands[name].add_argument("--undo", action="store_true", help="take it back")


def _revert_arguments(parser: Parser) -> None:
    what = "its number; F1: the file of an integrity finding, as it was before; undo: what the last revert set aside"
    parser.add_argument("iteration", metavar="ITERATION", help=what)
    parser.add_argument("files", nargs="*", default=[], metavar="FILES")
    parser.add_argument("--force", action="store_true", help="overwrite later edits too, after a checkpoint")


def _collecting_arguments(parser: Parser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say what would go, and remove nothing")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--keep", metavar="RUN_ID", help="keep this run, however old it gets; removes nothing")
    which.add_argument("--unkeep", metavar="RUN_ID", help="take that back; removes nothing")


def _gate_arguments(parser: Parser) -> None:
    action = "write the hook into an agent's settings, or take it out; without it, a hook's JSON is read from stdin"
    parser.add_argument("action", nargs="?", choices=("install", "uninstall"), help=action)
    parser.add_argument("name", nargs="?", metavar="AGENT", help=f"whose settings: {', '.join(AGENTS)}")
    parser.add_argument("--agent", choices=AGENTS, help="which agent calls, where its JSON doesn't tell")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", action="store_true", help="the settings in the workspace (the default)")
    where.add_argument("--user", action="store_true", help="your own settings, for every workspace with a goal")
    parser.add_argument("--yes", action="store_true", help="write without asking")


def _serve_arguments(parser: Parser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--stdio", action="store_true", help="standard input and output (the default)")
    where.add_argument("--tcp", metavar="PORT", help="loopback only; 0 picks a free port")
    # Language clients add this option on their own.
    parser.add_argument("--clientProcessId", dest="client_process_id", help=argparse.SUPPRESS)


def _refuse_unknown(argv: Sequence[str], parser: Parser, commands: dict[str, Parser]) -> None:
    """Runs before argparse, which would complain about something else first, and suggests nothing."""
    name = _command_word(argv)
    command = commands.get(name or "")
    known = _option_strings(parser)
    for word in argv:
        if word == "--" or (word == name and command is None):
            break
        if word == name and command is not None:
            known |= _option_strings(command)
        option = word.partition("=")[0]
        looks_like_option = option.startswith("-") and not option[1:2].isdigit() and len(option) > 1
        if looks_like_option and option not in known:
            where = f"donewhen {name}" if command else "donewhen"
            takes = [one for one, other in build()[1].items() if option in _option_strings(other)]
            if takes and (command is None or name in takes):
                raise UsageError(f"{option!r} follows its command: `donewhen {name if command else takes[0]} {option}`")
            near = _nearest(option, sorted(_option_strings(command or parser)))
            raise UsageError(f"there is no option {option!r}{near} `{where} --help`")
    if name is not None and command is None:
        raise UsageError(f"there is no command {name!r}{_nearest(name, tuple(COMMANDS))} `donewhen --help`")


def _command_word(argv: Sequence[str]) -> str | None:
    words = iter(argv)
    for word in words:
        if word in ("--workspace", "--state-dir"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return None


def _option_strings(parser: argparse.ArgumentParser) -> set[str]:
    return set(parser._option_string_actions)  # pyright: ignore[reportPrivateUsage]  # argparse offers no other list


def _nearest(word: str, known: Sequence[str]) -> str:
    """How a message about a word that isn't known goes on, up to where to look. No suggestion is better than a wrong
    one. The dashes, which all options share, don't count."""
    named = {name.lstrip("-"): name for name in known}
    near = nearest(word.lstrip("-"), tuple(named), cutoff=0.65)
    return f": did you mean {named[near]!r}? See" if near else "; see"
