"""How text reads to whoever it is meant to deceive: look-alike letters, hidden characters and accents made plain."""

from __future__ import annotations

import html
import re
import unicodedata

_LOOKS_LIKE = {
    "a": "аαᴀɑ", "b": "вβʙ", "c": "сᴄϲ", "d": "ԁᴅɗ", "e": "еεᴇҽ", "f": "ꜰƒ", "g": "ɡɢց", "h": "һнʜհ", "i": "іιɪıӏ",
    "j": "јᴊ", "k": "кκᴋ", "l": "ʟⅼ", "m": "мᴍ", "n": "ηɴոп", "o": "оοσᴏօо", "p": "рρᴘ", "q": "ԛգ", "r": "гʀ",
    "s": "ѕꜱ", "t": "тτᴛ", "u": "υᴜսц", "v": "νᴠѵ", "w": "ԝωᴡ", "x": "хχ", "y": "уγʏү", "z": "ᴢ", "<": "‹˂❮⟨〈",
    ">": "›˃❯⟩〉", "|": "ǀ∣｜│┃", "#": "＃", "/": "∕⁄", '"': "“”„‟″«»", "'": "‘’‚‛′", ":": "։∶ː", " ": "\u2800",
}  # fmt: skip
_HIDDEN = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF),
)  # fmt: skip
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}  # invisible doubles of every ASCII character
_PLAIN: dict[int, str] = {
    **{ord(twin): letter for letter, twins in _LOOKS_LIKE.items() for twin in twins},
    **{code: "" for first, last in _HIDDEN for code in range(first, last + 1)},
    **_TAGS,
}
_BEYOND = re.compile(r"[^\x00-\x7f]+")
_MARKS = dict.fromkeys(range(0x300, 0x370), "")
_DIGITS = str.maketrans("013457@$", "oieastas")
_SPELLED = re.compile(r"\b(?:[a-z][ .*-]{1,2}){4,}[a-z]\b")
_ENTITY = re.compile(r"&#x?[0-9a-f]{2,6};", re.IGNORECASE)


def plain(text: str) -> str:
    """In small ASCII letters as far as it looks like them; every line stays a line."""
    if "&#" in text and _ENTITY.search(text):
        text = "\n".join(html.unescape(line).replace("\n", " ") for line in text.split("\n"))
    if not text.isascii():
        text = _BEYOND.sub(_looks_like, text)
    return _SPELLED.sub(_joined, text.lower().replace("_", " "))


def _looks_like(beyond: re.Match[str]) -> str:
    text = unicodedata.normalize("NFKC", beyond[0].translate(_PLAIN)).lower().translate(_PLAIN)
    return unicodedata.normalize("NFKD", text).translate(_MARKS).replace("\n", " ")


def undigited(text: str) -> str:
    """With digits and signs read as the letters that they stand for: `1gn0re`."""
    return text.translate(_DIGITS)


def _joined(spelled: re.Match[str]) -> str:
    """`i g n o r e` is a word; two spaces are where words part."""
    words = re.split(r"[ .*-]{2}", spelled[0])
    return " ".join(re.sub(r"[ .*-]", "", word) for word in words)


def neutral(text: str, limit: int = 160) -> str:
    """A quote for people that can't act on whoever reads it: one line, hidden characters shown, no delimiters."""
    shown = "".join(_shown(c) for c in " ".join(text[: limit * 4].split()))
    shown = shown.replace("<", "‹").replace(">", "›").replace("`", "'").replace("[", "(").replace("]", ")")
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _shown(character: str) -> str:
    if character.isprintable() and character.isascii():
        return character
    hidden = _PLAIN.get(ord(character)) == "" or ord(character) in _TAGS or not character.isprintable()
    return f"\\u{{{ord(character):x}}}" if hidden else character
