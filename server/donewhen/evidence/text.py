"""What programs print, as plain text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from donewhen.core.feedback import MASK
from donewhen.core.words import shortened

# ECMA-48: control sequences (colours, cursor), operating-system commands (titles, links), and two-byte escapes.
_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]",
    re.MULTILINE,
)
# Whatever else a terminal would act on; tab and newline stay.
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")


def strip_ansi(text: str) -> str:
    """Without escape sequences and control characters; a carriage return that redraws a line becomes a newline."""
    plain = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", plain)


def first_line(text: str, limit: int = 300) -> str:
    """The first line that says something, at most `limit` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return shortened(line, limit)


# Removes secrets from whatever is stored, shown or sent.


_SENSITIVE = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE"
    r"|(?:^|_)(?:SECRETS?|CREDENTIALS?|APIKEY)(?:_|$)"
    r"|(?:^|_)(?:KEY|KEYS|TOKEN|TOKENS|PAT|PWD_HASH)$"
    r"|(?:^|_)(?:API_KEY|ACCESS_KEY|PRIVATE_KEY|AUTH_TOKEN|ACCESS_TOKEN)_"
    r"|^AWS_(?!.*REGION)",
    re.IGNORECASE,
)
_RUN_TOKENS = ("DONEWHEN_RUN_TOKEN", "DONEWHEN_STEP_TOKEN")
_SHORTEST = 6
_LOOKS_EVERY = 1.0

_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\b(?:npm|pypi|hf)[_-][A-Za-z0-9_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    re.DOTALL,
)
_SIGNS = (
    "PRIVATE KEY", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "ASIA", "xox",
    "AIza", "npm_", "npm-", "pypi_", "pypi-", "hf_", "hf-", "eyJ",
)  # fmt: skip
"""What a text contains if `_SHAPES` can find anything in it."""
_BEARER = re.compile(r"\b(Bearer|Basic)(\s+)[A-Za-z0-9._~+/-]{12,}=*", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,200}:)[^\s/@]{1,500}(@)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def is_sensitive(name: str) -> bool:
    """True for the name of a variable that holds a key, a token or a password; never for a run's own tokens."""
    return name not in _RUN_TOKENS and _SENSITIVE.search(name) is not None


class Masker:
    """Replaces secrets by `[masked]`: the given values, and whatever has the shape of a token."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        # Longest first, so that a secret that holds another one goes as a whole.
        known = sorted({v.strip() for v in values if len(v.strip()) >= _SHORTEST}, key=len, reverse=True)
        self._values = re.compile("|".join(re.escape(v) for v in known)) if known else None

    @classmethod
    def of(cls, environment: Mapping[str, str], values: Iterable[str] = ()) -> Masker:
        """For the values of the environment's sensitive variables, and more values."""
        return cls([*(v for name, v in environment.items() if is_sensitive(name)), *values])

    def mask(self, text: str) -> str:
        if self._values is not None:
            text = self._values.sub(MASK, text)
        # Most text contains nothing of the kind, which this test finds out much faster than the expressions.
        if any(sign in text for sign in _SIGNS):
            text = _SHAPES.sub(MASK, text)
        if "earer" in text or "asic" in text or "EARER" in text or "ASIC" in text:
            text = _BEARER.sub(rf"\1\2{MASK}", text)
        return _URL_PASSWORD.sub(rf"\1{MASK}\2", text) if "://" in text and "@" in text else text


class Masking:
    """Masks by secrets that may change, and an environment that hardly ever does: it is looked at once a second."""

    def __init__(self, environment: Callable[[], Mapping[str, str]], secrets: Mapping[str, str]) -> None:
        self._environment = environment
        self._secrets = secrets
        self._values: tuple[str, ...] | None = None
        self._hidden: frozenset[str] = frozenset()
        self._known: tuple[str, ...] = ()
        self._looked = -_LOOKS_EVERY - 1.0
        self._masker = Masker()

    def mask(self, text: str) -> str:
        now, secrets = time.monotonic(), tuple(self._secrets.values())
        if secrets != self._known or now - self._looked > _LOOKS_EVERY:
            sensitive = (value for name, value in self._environment().items() if is_sensitive(name))
            values = (*sensitive, *secrets, *sorted(self._hidden))
            if values != self._values:
                self._values, self._masker = values, Masker(values)
            self._known, self._looked = secrets, now
        return self._masker.mask(text)

    def hide(self, values: Iterable[str]) -> None:
        """Masks these as well, from now on."""
        if not self._hidden >= (wanted := frozenset(values)):
            self._hidden |= wanted
            self._looked = -_LOOKS_EVERY - 1.0
