"""Commands that a person is asked about in every mode: those whose effect nothing here can take back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from donewhen.core.commands.lines import Command, command_line
from donewhen.core.commands.risky_programs import (
    ANYWHERE,
    DELETERS,
    FETCHERS,
    INTERPRETERS,
    READ_ONLY_FORGE,
    VERBS,
    VERDICTS,
    WORDS,
)
from donewhen.core.commands.simple import simple
from donewhen.core.commands.wrapped import (
    MAX_NESTING,
    MAX_STEPS,
    PYTHON,
    SHELLS,
    bare,
    program_name,
    starts,
    texts_run_by,
    wrapped,
)

Tracked = Callable[[str], bool]
"""Whether git tracks the file with this path, relative to the workspace folder."""

_WINDOWS_PATH = re.compile(r"(?:[A-Za-z]:|\.\.?|Scripts|bin)\\")
_WITH_VERBS = frozenset(name for programs in VERBS.values() for name in programs)
_UNCLEAR = "it can't be parsed, and mentions something that always needs approval"


def always_asks(command: str, tracked: Tracked) -> str | None:
    """Why a person is always asked about this command line, None if they need not be.

    It sends work elsewhere, publishes, installs packages, or deletes what git can't bring back; in any part of it,
    behind any wrapper, and also if it can't be parsed and mentions such things.
    """
    if _removes_tracked(command, tracked):
        return None
    variants = [command]
    if _WINDOWS_PATH.search(command):
        variants.append(command.replace("\\", "/"))
    if "^" in command:
        variants.append(command.replace("^", ""))
    return next((why for text in variants if (why := _Reading(tracked).risk_of_text(text, 0)) is not None), None)


def speaks_of_risk(text: str) -> bool:
    """Whether a text that can't be parsed contains a word of such commands."""
    return WORDS.search(text) is not None


def _program_word(word: str) -> str:
    return program_name(word).lower()


def _removes_tracked(command: str, tracked: Tracked) -> bool:
    """A plain `rm` of files that git tracks takes nothing away for good."""
    words = simple(command)
    if words is None or words[0] != "rm":
        return False
    operands = [word for word in words[1:] if word != "--" and not re.fullmatch(r"-[fivrR]+|--force", word)]
    return bool(operands) and all(_stays_inside(path) and tracked(_normal(path)) for path in operands)


def _stays_inside(path: str) -> bool:
    parts = path.split("/")
    return not path.startswith(("/", "-", "~")) and ".." not in parts and ":" not in path and "\\" not in path


def _normal(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in ("", "."))


@dataclass(slots=True)
class _Reading:
    """One look at a command line, and at those that stand in its words."""

    tracked: Tracked
    steps: int = 0

    def risk_of_text(self, text: str, depth: int) -> str | None:
        line = command_line(text)
        if (not line.whole or depth > MAX_NESTING) and speaks_of_risk(text):
            return _UNCLEAR
        if depth > MAX_NESTING:
            return None
        return next(
            (why for one in line.commands if (why := self._risk_of_command(one, text, depth)) is not None), None
        )

    def _risk_of_command(self, command: Command, text: str, depth: int) -> str | None:
        words, unknown = bare(command)
        if not words:
            return None
        name = _program_word(words[0])
        if (0 in unknown or (1 in unknown and (name == "git" or name in _WITH_VERBS))) and speaks_of_risk(text):
            return "what it does is only known once it runs"
        if command.piped and _reads_commands(words) and (speaks_of_risk(text) or FETCHERS.search(text)):
            return f"`{name}` runs whatever it is fed"
        return self._risk_of_words(words, depth)

    def _risk_of_words(self, words: Sequence[str], depth: int) -> str | None:
        self.steps += 1
        if depth > MAX_NESTING or self.steps > MAX_STEPS:
            return _UNCLEAR if speaks_of_risk(" ".join(words)) else None
        why = self._risk_of_program(words)
        if why is not None:
            return why
        for rest in wrapped(words):
            if (why := self._risk_of_words(rest, depth + 1)) is not None:
                return why
        nested = (self.risk_of_text(text, depth + 1) for text in texts_run_by(words))
        return next((why for why in nested if why is not None), None)

    def _risk_of_program(self, words: Sequence[str]) -> str | None:
        name = _program_word(words[0])
        if name == "git":
            return _git(words, self.tracked)
        if name.startswith("git-"):
            return _git(["git", name[4:], *words[1:]], self.tracked)
        if name in DELETERS or name.startswith("mkfs"):
            return f"`{name}` deletes what git may not be able to bring back"
        return _special(name, words) or _verb(name, words)


def _reads_commands(words: Sequence[str]) -> bool:
    """A shell, or an interpreter, that is given no script: it runs its input."""
    return any(
        (_program_word(one[0]) in (*SHELLS, ".", "source") or INTERPRETERS.fullmatch(_program_word(one[0])))
        and all(word.startswith("-") for word in one[1:])
        for one in (words, *wrapped(words))
    )


def _special(name: str, words: Sequence[str]) -> str | None:
    rest = [word.lower() for word in words[1:]]
    if name == "find" and "-delete" in rest:
        return "`find -delete` deletes what git may not be able to bring back"
    if name == "dd" and any(word.startswith("of=") for word in rest):
        return "`dd of=` overwrites what git may not be able to bring back"
    if name == "rsync" and any(word.startswith(("--delete", "--remove")) for word in rest):
        return "`rsync --delete` deletes what git may not be able to bring back"
    if name in ("yarn", "bundle") and all(word.startswith("-") for word in rest):
        return None if {"--version", "-v", "--help", "-h"} & set(rest) else f"`{name}` installs packages"
    if name in ("gh", "glab", "hub", "tea"):
        while rest and rest[0] in ("-r", "--repo"):
            rest = rest[2:]
        reads = not rest or READ_ONLY_FORGE & set(rest[:2])
        return None if reads else f"`{' '.join((name, *rest[:2]))}` may act on a forge"
    return _hidden(name, words)


def _hidden(name: str, words: Sequence[str]) -> str | None:
    """What a word contains that is not a command line, and runs all the same."""
    if name == "alias" and speaks_of_risk(" ".join(words)):
        return "an alias mentions something that always needs approval"
    if name in ("powershell", "pwsh") and any(re.fullmatch(r"[-/]e(?:nc.*|c)?", word, re.I) for word in words):
        return "its commands are encoded"
    if PYTHON.fullmatch(name) or INTERPRETERS.fullmatch(name):
        for option, text in pairwise(words[1:]):
            if re.fullmatch(r"-\w*[cepE]|--eval|--print", option) and speaks_of_risk(text):
                return f"`{name}` runs code that mentions something that always needs approval"
    return None


def _verb(name: str, words: Sequence[str]) -> str | None:
    """What a program with verbs would do."""
    plain = re.sub(r"(?<=pip)[0-9.]+$", "", name)
    for kind, programs in VERBS.items():
        for verb in programs.get(plain, ()):
            if _says(words, verb.split()):
                return f"`{' '.join((name, verb)).strip()}` {VERDICTS[kind]}"
    own = words[1 : words.index("--")] if "--" in words else words[1:]
    for kind, pattern in ANYWHERE.get(plain, ()):
        found = next((word for word in own if re.fullmatch(pattern, word, re.IGNORECASE)), None)
        if found is not None:
            return f"`{name} {found}` {VERDICTS[kind]}"
    return None


def _says(words: Sequence[str], verb: Sequence[str]) -> bool:
    if not verb:
        return True
    return any(rest[0].lower() == verb[0] and _says(rest, verb[1:]) for rest in starts(words))


# ------------------------------------------------------------------------------------------------- git


_GIT_SENDS = (["lfs", "push"], ["subtree", "push"], ["svn", "dcommit"], ["p4", "submit"], ["annex", "sync"])
_DISCARDING = {
    "stash": ("drop", "clear"),
    "reflog": ("expire", "delete"),
    "worktree": ("remove",),
    "reset": ("--hard", "--merge"),
    "switch": ("--force", "--discard-changes"),
    "update-ref": ("-d",),
    "rm": ("--force",),
    "checkout-index": ("--force",),
    "read-tree": ("--reset",),
    "gc": ("--prune=now", "--prune=all"),
}
_FORCED = frozenset(("switch", "rm", "checkout-index"))
"""Where `-f` discards, also among other letters."""


def _git(words: Sequence[str], tracked: Tracked) -> str | None:
    for at, word in enumerate(words):
        alias = re.match(r"alias\.", word, re.IGNORECASE) and (words[at - 1] == "-c" or "config" in words[:at])
        if alias or re.match(r"--config-env=alias\.", word, re.IGNORECASE):
            return "`git` is given an alias"
    for rest in starts(words):
        verb, options = rest[0], rest[1:]
        if verb in ("push", "send-pack", "send-email", "http-push") or [verb, *options[:1]] in _GIT_SENDS:
            return "`git push` sends work elsewhere"
        if _discards(verb, options, tracked):
            return f"`git {verb}` discards what git can't bring back"
    return None


def _discards(verb: str, options: Sequence[str], tracked: Tracked) -> bool:
    if verb == "clean":
        dry = any(re.fullmatch(r"-[dfiqxX]*n[dfiqxXn]*|--dry-run", option) for option in options)
        return not dry or "--no-dry-run" in options
    if verb == "restore":
        staged = any(re.fullmatch(r"-\w*S\w*|--staged", option) for option in options)
        return not staged or any(re.fullmatch(r"-\w*W\w*|--worktree", option) for option in options)
    if verb == "checkout":
        return _checkout_discards(options, tracked)
    if verb == "rm" and "--cached" in options:
        return False
    forced = verb in _FORCED and any(re.fullmatch(r"-[a-zA-Z]*f\w*", option) for option in options)
    return forced or any(_means(option, full) for option in options for full in _DISCARDING.get(verb, ()))


def _means(option: str, full: str) -> bool:
    """git takes the beginning of a long option for the whole."""
    return option == full or (len(option) > 3 and option.startswith("--") and full.startswith(option))


def _checkout_discards(options: Sequence[str], tracked: Tracked) -> bool:
    """Switching branches keeps what is not committed; taking files from elsewhere, or by force, does not."""
    operands = [option for option in options if not option.startswith("-")]
    if any(
        re.fullmatch(r"-[qmtl]*f\w*|--forc?e?|--|-p|--patch|--ours|--theirs|--pathspec.*", option) for option in options
    ):
        return True
    if any(re.fullmatch(r"-b|-B|--orphan|-t|--track.*|--detach", option) for option in options):
        return False
    return len(operands) > 1 or any(one == "." or (_stays_inside(one) and tracked(_normal(one))) for one in operands)
