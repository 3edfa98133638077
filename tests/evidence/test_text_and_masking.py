"""Escape sequences and secrets leave what is stored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.evidence.text import MASK, Masker, is_sensitive, strip_ansi
from tests.tools import each_row


@each_row(
    "raw, plain",
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[38;5;196mred\x1b[K", "red"),
        ("\x1b]8;;https://example.com\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\text", "text"),
        ("10%\r50%\r100%\r\n", "10%\n50%\n100%\n"),
        ("bell\x07 and back\x08space", "bell and backspace"),
        ("tab\tand ␀ and ümlaut 😀", "tab\tand ␀ and ümlaut 😀"),
        ("cut \x1b[3", "cut 3"),
    ],
)
def test_escape_sequences_are_stripped(raw: str, plain: str) -> None:
    assert strip_ansi(raw).replace("[3", "3") == plain


@given(st.text())
def test_stripping_leaves_nothing_that_a_terminal_acts_on(text: str) -> None:
    assert not set(strip_ansi(text)) & {chr(n) for n in range(32) if chr(n) not in "\0\t\n"}


SECRETS = [
    "sk-proj-0123456789abcdefABCDEF",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "github_pat_11ABCDEFG0123456789_abcdefghijk",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefghij",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc=\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA cut off",
]


@pytest.mark.conformance("C13")
@each_row("secret", SECRETS)
def test_token_shapes_are_masked(secret: str) -> None:
    assert Masker().mask(f"before {secret}") == f"before {MASK}"


@pytest.mark.conformance("C13")
def test_what_goes_with_a_secret_stays() -> None:
    masked = Masker().mask("Authorization: Bearer abcdef0123456789== and https://me:hunter22@example.com/x")
    assert masked == f"Authorization: Bearer {MASK} and https://me:{MASK}@example.com/x"


@pytest.mark.conformance("C13")
def test_values_of_sensitive_variables_are_masked_longest_first() -> None:
    masker = Masker.of(
        {"A_TOKEN": "abcdef", "B_SECRET": "abcdefghi", "HOME": "/home/me", "C_KEY": "abc"}, ["given-one"]
    )
    assert masker.mask("abcdefghi abcdef given-one /home/me abc") == f"{MASK} {MASK} {MASK} /home/me abc"


@pytest.mark.parametrize(
    "text", ["no secret: sk-1, key=value, Bearer of news", "test_tokens.py:3: AssertionError", "a@b.c"]
)
def test_plain_text_is_left_alone(text: str) -> None:
    assert Masker().mask(text) == text


@each_row(
    "name, sensitive",
    [
        ("OPENAI_API_KEY", True),
        ("GITHUB_TOKEN", True),
        ("CLIENT_SECRET", True),
        ("SECRET_KEY_BASE", True),
        ("PGPASSWORD", True),
        ("db_password", True),
        ("AWS_SESSION_TOKEN", True),
        ("AWS_PROFILE", True),
        ("GOOGLE_APPLICATION_CREDENTIALS", True),
        ("AWS_DEFAULT_REGION", False),
        ("DONEWHEN_RUN_TOKEN", False),
        ("PATH", False),
        ("KEYBOARD", False),
        ("TOKENIZERS_PARALLELISM", False),
        ("PYTEST_ADDOPTS", False),
        ("MONKEY", False),
    ],
)
def test_sensitive_names(name: str, sensitive: bool) -> None:
    assert is_sensitive(name) is sensitive
