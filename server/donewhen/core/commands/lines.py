"""The simple commands in a command line, wherever the shell would find one.

Reading is generous: rather a non-command too many than a command too few.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_COMMANDS = 2_000
MAX_DEPTH = 20

_ENDS_WORD = frozenset(" \t\n\r;&|()<>")
_PAIRS = frozenset(("&&", "||", "|&"))
_ESCAPED_WITHIN = frozenset('$`"\\\n')
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}


@dataclass(slots=True)
class Command:
    """One simple command. `words` are without quotes and redirections; `piped`: something is fed to it; `unknown` are
    the places of words that are only known once it runs. `then` is the operator after it (`;` also for the end of a
    line), empty at the end; `inner`: it stands in a substitution."""

    words: list[str] = field(default_factory=list[str])
    piped: bool = False
    unknown: set[int] = field(default_factory=set[int])
    then: str = ""
    inner: bool = False


@dataclass(slots=True)
class CommandLine:
    """All commands of a text, those in substitutions included. `whole` is false where it could not be understood to its
    end."""

    commands: list[Command] = field(default_factory=list[Command])
    whole: bool = True


def command_line(text: str) -> CommandLine:
    """Reads a text as a POSIX shell would, near enough."""
    found = CommandLine()
    _Reader(text, found, 0).read()
    found.commands = [one for one in found.commands if one.words]
    return found


class _Reader:
    """Reads one text; a substitution in it is read by the same reader up to its parenthesis."""

    def __init__(self, text: str, found: CommandLine, depth: int) -> None:
        self._text = text
        self._found = found
        self._depth = depth
        self._at = 0

    def read(self, closing: bool = False) -> None:
        """Up to the end, or to the `)` that closes a substitution."""
        if self._depth > MAX_DEPTH:
            self._give_up()
            return
        self._depth += 1
        command = self._next(piped=False)
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == ")" and closing:
                self._at += 1
                self._depth -= 1
                return
            if char in " \t":
                self._at += 1
            elif char in "<>":
                self._redirection(char, command)
            elif char in "\n\r;&|()":
                both = self._text[self._at : self._at + 2]
                operator = both if both in _PAIRS else char
                self._at += len(operator)
                command.then = ";" if char in "\n\r" else operator
                command = self._next(piped=char == "|")
            else:
                self._word(command)
        self._depth -= 1
        self._found.whole &= not closing

    def _give_up(self) -> None:
        self._found.whole = False
        self._at = len(self._text)

    def _next(self, piped: bool) -> Command:
        command = Command(piped=piped, inner=self._depth > 1)
        self._found.commands.append(command)
        if len(self._found.commands) > MAX_COMMANDS:
            self._give_up()
        return command

    def _redirection(self, char: str, command: Command) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        if command.words and command.words[-1].isdigit() and self._text[self._at - 1].isdigit():
            command.words.pop()  # the number of what is redirected
        self._at += 1
        if following == "(":
            self._at += 1
            command.piped = True
            self.read(closing=True)
            return
        while self._text[self._at : self._at + 1] in ("<", ">", "&", "|", "-"):
            self._at += 1
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        command.piped |= char == "<"
        if self._text[self._at : self._at + 1] not in _ENDS_WORD:
            self._word(Command())  # the file's name is not a word of the command; what it substitutes is read

    def _word(self, command: Command) -> None:
        begun = self._at
        unknown = False
        word: list[str] = []
        while self._at < len(self._text) and self._text[self._at] not in _ENDS_WORD:
            unknown |= self._piece(word, quoted=False)
        text = "".join(word)
        if self._at == begun or (not text and not unknown and self._text[begun] not in "'\""):
            return  # a continued line
        if unknown:
            command.unknown.add(len(command.words))
        command.words.append(text)

    def _piece(self, word: list[str], *, quoted: bool) -> bool:
        """One character, escape, quotation or substitution; whether it makes the word unknown."""
        char = self._text[self._at]
        self._at += 1
        if char == "\\":
            self._escape(word, quoted=quoted)
            return False
        if char == "`":
            inner = re.sub(r"\\([`$\\])", r"\1", self._until("`", escapes=True))
            _Reader(inner, self._found, self._depth + 1).read()
            return True
        if char == "$":
            return self._dollar(word, quoted=quoted)
        if char == "'" and not quoted:
            word.append(self._until("'"))
            return False
        if char == '"' and not quoted:
            return self._double(word)
        word.append(char)
        return char in "*?[{" and not quoted

    def _escape(self, word: list[str], *, quoted: bool) -> None:
        following = self._text[self._at : self._at + 1]
        self._at += 1
        if quoted and following not in _ESCAPED_WITHIN:
            word.append("\\")
        if following != "\n":
            word.append(following)

    def _double(self, word: list[str]) -> bool:
        unknown = False
        while self._at < len(self._text):
            if self._text[self._at] == '"':
                self._at += 1
                return unknown
            unknown |= self._piece(word, quoted=True)
        self._found.whole = False
        return True

    def _dollar(self, word: list[str], *, quoted: bool) -> bool:
        following = self._text[self._at : self._at + 1]
        if following == "(":
            self._at += 1
            self.read(closing=True)
            return True
        if following == "'" and not quoted:
            self._at += 1
            word.append(_ANSI.sub(_ansi_char, self._until("'", escapes=True)))
            return False
        if following == '"' and not quoted:
            return False
        word.append("$")
        return bool(re.match(r"[\w{@*#?!$-]", following))

    def _until(self, end: str, *, escapes: bool = False) -> str:
        """The text up to the end mark, which is passed."""
        begun = self._at
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == end:
                self._at += 1
                return self._text[begun : self._at - 1]
            self._at += 2 if escapes and char == "\\" else 1
        self._found.whole = False
        return self._text[begun:]


def _ansi_char(escape: re.Match[str]) -> str:
    """What an escape in `$'...'` means."""
    code = escape[1]
    if code[0] in "xuU":
        return chr(min(int(code[1:], 16), 0x10FFFF))
    return chr(int(code, 8)) if code.isdigit() else _ANSI_LETTERS.get(code, code)
