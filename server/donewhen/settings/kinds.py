"""How the value of a setting is written and read: one reader for each kind, whatever place it is written in."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.agents import NOTHING, OUR_OWN
from donewhen.core.globs import glob_problem, plain_glob
from donewhen.core.verdict import MOST, panel
from donewhen.regular import expanded, homeless

UNLIMITED = "unlimited"
"""The only way to have no limit; a warning says so."""

_DIGITS = r"\d(?:_?\d){0,14}"
"""As Python and TOML write them: `200_000`."""
_WHOLE = re.compile(rf"[+-]?{_DIGITS}", re.ASCII)
_NUMBER = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?\d{{1,3}})?", re.ASCII)
_PART = r"(\d{1,9}(?:\.\d{1,9})?)"
_DURATION = re.compile(
    rf"(?:{_PART}\s*h\s*)?(?:{_PART}\s*m\s*)?(?:{_PART}\s*s)?", re.IGNORECASE | re.ASCII
)  # fmt: skip
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s?(MB|GB|TB)", re.IGNORECASE | re.ASCII)
_AGE = re.compile(r"(\d{1,5})([dh])", re.ASCII)
_UNITS = {"MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,99}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\*?")


class BadValue(Exception):
    """Why a value can't be used: the rest of a sentence that begins with the setting's name. `item` is the member of a
    list that is at fault."""

    def __init__(self, message: str, item: int | None = None) -> None:
        super().__init__(message)
        self.item = item


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to write values. `parse` gives the value of a text, None if it can't be one, and raises BadValue where
    more can be said. `number`: files write it as a number, not as text. `between` separates the members of a list that
    is written as one text; None: it is not a list. `choices` go from the loosest to the strictest where that means
    anything; `least` and `most` are the range of a number, both included."""

    name: str
    expected: str
    parse: Callable[[str], object]
    number: bool = False
    between: str | None = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    members: Callable[[Sequence[str]], object] | None = None
    """What the members of a list make, where it is more than their text."""
    pattern: str = ""
    """A regular expression, as JavaScript has them, that a text or a list's member matches: for pages of settings."""


def nearest(word: str, known: Sequence[str], cutoff: float = 0.6) -> str | None:
    """What was probably meant; None if nothing comes near."""
    import difflib  # lazy: only mistakes need it

    near = difflib.get_close_matches(word, known, n=1, cutoff=cutoff)
    return near[0] if near else None


def refused_choice(text: str, choices: Sequence[str], mark: str = "") -> BadValue:
    """That it is none of these, with the nearest between two of `mark`."""
    near = nearest(text.casefold(), choices)
    meant = f"did you mean {mark}{near}{mark}? " if near else ""
    return BadValue(f"can't be {value_text(text)}: {meant}use one of {', '.join(choices)}")


def value_text(value: object) -> str:
    """A value in a message: short, and in quotes where it is not a number."""
    return value if isinstance(value, str) and _NUMBER.fullmatch(value) else f"{value!r:.80}"


def parse_duration(text: str) -> float | None:
    """Seconds of `90s`, `30m`, `2h`, `1h30m`; None for anything else, numbers without a unit included."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        return None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds


# ---------------------------------------------------------------------------------------------- the kinds


def whole(least: int = 1) -> Kind:
    """A whole number."""

    def parse(text: str) -> int | None:
        number = int(text.strip()) if _WHOLE.fullmatch(text.strip()) else None
        return number if number is not None and number >= least else None

    return Kind("whole number", f"a whole number of at least {least:,}", parse, number=True, least=least)


def number(least: float, most: float) -> Kind:
    """A number between two others, both included."""

    def parse(text: str) -> float | None:
        found = _plain_number(text)
        return found if found is not None and least <= found <= most else None

    expected = f"a number from {least:g} to {most:g}"
    return Kind("number", expected, parse, number=True, least=least, most=most)


def choice(*choices: str) -> Kind:
    """One of a few words."""

    def parse(text: str) -> str:
        if text in choices:
            return text
        raise refused_choice(text, choices)

    return Kind("choice", f"one of {', '.join(choices)}", parse, choices=choices)


def name(*built_in: str) -> Kind:
    """A name that is built in, or that a plugin registers: whether one does is known only where plugins are loaded."""
    expected = f"one of {', '.join(built_in)}, or a name that a plugin registers"
    return Kind(
        "name", expected, lambda text: text.strip() if _NAME.fullmatch(text.strip()) else None, choices=built_in
    )


def _plain_number(text: str) -> float | None:
    found = float(text) if _NUMBER.fullmatch(text.strip()) else None
    return found if found is not None and math.isfinite(found) else None


def _money(text: str) -> float | None:
    amount = _plain_number(text)
    return amount if amount is not None and amount > 0 else None


def _duration(text: str) -> float | None:
    seconds = parse_duration(text)
    if seconds is None and re.fullmatch(r"\d{1,9}", text.strip(), re.ASCII):
        bare = text.strip()
        if not int(bare):
            raise BadValue(f"must be greater than 0, {DURATION.expected}; it is {bare}")
        raise BadValue(f"must be {DURATION.expected}; it is {bare}: write the unit, {bare}s or {bare}m")
    if seconds == 0:
        raise BadValue(f"must be greater than 0, {DURATION.expected}; it is {text.strip()}")
    return seconds


def _age(text: str) -> float | None:
    match = _AGE.fullmatch(text.strip())
    return float(match[1]) * (86_400 if match[2] == "d" else 3_600) if match else None


def _bytes_of(text: str) -> int | None:
    match = _SIZE.fullmatch(text.strip())
    return int(float(match[1]) * _UNITS[match[2].upper()]) or None if match else None


def _url(text: str) -> str | None:
    """An address that can be asked at all: with any other, each call would be tried again for a minute."""
    from urllib.parse import urlsplit  # lazy: start-up time

    try:
        parts = urlsplit(text.strip())
        complete = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # the port is not one
        return None
    return text.strip() if complete and len(text.split()) == 1 else None


def _folder(text: str) -> Path:
    path = expanded(text)
    if homeless(path):  # it would be made in whatever folder this is
        raise BadValue(f"is in a home folder that this system doesn't know: set HOME, or write it in full: {text!r}")
    return path


def _globs(members: Sequence[str]) -> tuple[str, ...]:
    if not members:
        raise BadValue('names no file: give globs such as ["tests/**"]')
    for item, glob in enumerate(members):
        if problem := glob_problem(glob):
            raise BadValue(f"can't be used: {problem}", item)
    return tuple(dict.fromkeys(map(plain_glob, members)))


def _variables(text: str) -> tuple[str, ...] | None:
    """Names of variables; Done When's own are never passed."""
    names = tuple(dict.fromkeys(name for one in text.split(",") if (name := one.strip())))
    fit = all(_VARIABLE.fullmatch(name) and not name.upper().startswith(OUR_OWN) for name in names)
    return names if names and fit and (NOTHING not in names or len(names) == 1) else None


def _filled_lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.splitlines() if line.strip())


TEXT = Kind("text", "text", lambda text: text)
PROMPT = Kind("text, or @FILE", "text, or @FILE with a readable file of at most 100 KB", lambda text: text)
URL = Kind("address", "an address such as http://localhost:8000/v1", _url)
MODEL = Kind(
    "model",
    "the name of a model without spaces, such as anthropic/NAME or openai/NAME",
    lambda text: text.strip() if panel(text) == (text.strip(),) else None,
)
PANEL = Kind(
    "models",
    f"the name of a model, or up to {MOST} of them such as openai/A,openai/B or 3*openai/A",
    lambda text: text.strip() if panel(text) else None,
    between=",",
)
DURATION = Kind(
    "time", "a time such as 90s, 30m, 2h or 1h30m", _duration,
    pattern=r"(\d+(\.\d+)?h)?(\d+(\.\d+)?m)?(\d+(\.\d+)?s)?",
)  # fmt: skip
AGE = Kind("age", "an age such as 90d or 12h", _age, pattern=r"\d{1,5}[dh]")
MONEY = Kind("US dollars", "a number of US dollars greater than 0", _money, number=True)
SIZE = Kind("size", "a size such as 512MB or 8GB", _bytes_of, pattern=r"\d{1,6}(\.\d{1,3})? ?[MmGgTt][Bb]")
GLOBS = Kind(
    "globs",
    'a list of globs such as ["tests/**"]',
    lambda text: _globs(_filled_lines(text)),
    between="\n",
    members=_globs,
)
FOLDER = Kind("folder", "a folder", _folder)
FOLDERS = Kind(
    "folders", 'a list of folders such as ["~/.my-agent"]', lambda text: _filled_lines(text) or None, between="\n"
)  # fmt: skip
VARIABLES = Kind(
    "names of variables",
    "names of variables such as OPENAI_API_KEY or OPENAI_*, without values; or none",
    _variables,
    between=",",
    pattern=r"[A-Za-z_][A-Za-z0-9_]*\*?",
)
FLAG = Kind("true or false", "true or false", lambda text: {"true": True, "false": False}.get(text.casefold()))
