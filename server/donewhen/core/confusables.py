"""How characters look to whoever reads them: look-alikes of other scripts, and what is invisible (Unicode UTS #39).

A judge, and a person, reads what a text looks like; so does whatever looks for imitated delimiters and orders in it.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_ANGLES = {
    **dict.fromkeys("<\uff1c\ufe64\u2039\u00ab\u27e8\u2329\u3008\u300a\u276e\u276c\u2770\u1438\u02c2\u226a\u29fc", "<"),
    **dict.fromkeys(">\uff1e\ufe65\u203a\u00bb\u27e9\u232a\u3009\u300b\u276f\u276d\u2771\u1433\u02c3\u226b\u29fd", ">"),
    "\u22d8": "<",
    "\u22d9": ">",
}
_LOOK_ALIKES = {
    **_ANGLES,
    **dict.fromkeys("\u2044\u2215\u29f8\uff0f\u2571", "/"),
    **dict.fromkeys("\u01c0\u2223\uff5c\u23d0\u2502\u2758\u00a6\u05c0", "|"),
    **dict.fromkeys("\ua789\u02d0\u2236\uff1a\ufe55\u05c3\u0589", ":"),
    **dict.fromkeys("\u27e6\u3010\u3014\uff3b\u301a", "["),
    **dict.fromkeys("\u27e7\u3011\u3015\uff3d\u301b", "]"),
    **dict.fromkeys("\uff03\u266f\ufe5f", "#"),
    **dict.fromkeys("\u201c\u201d\u201e\u2033\uff02\u02ba", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d", "-"),
    **dict(zip("абсԁеցһіјӏмոорԛгѕтυѵԝхуzАВСЕНІЈКМОРЅТХУ", "abcdeghijlmnopqrstuvwxyzabcehijkmopstxy", strict=True)),
    **dict(zip("αβεικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abeiknoptuxwabezhikmnoptyx", strict=True)),
    **dict(zip("ıɡɩոսƖɑк", "iginulak", strict=True)),
    **dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz", strict=True)),
}
_UNSEEN = frozenset("\u2028\u2029\u0085\u2800\u3164\u115f\u1160\uffa0\u034f")


def skeleton(text: str) -> tuple[str, range | list[int]]:
    """What the text looks like, in lower-case ASCII as far as possible, and the origin of each character."""
    if text.isascii():
        return text.lower(), range(len(text))
    folded: list[str] = []
    positions: list[int] = []
    for at, char in enumerate(text):
        for piece in char.lower() if char.isascii() else looks_like(char):
            folded.append(piece)
            positions.append(at)
    return "".join(folded), positions


@lru_cache(maxsize=4096)
def looks_like(char: str) -> str:
    if char in _LOOK_ALIKES:
        return _LOOK_ALIKES[char]
    if unicodedata.category(char) in ("Cf", "Mn", "Me", "Cc") or char in _UNSEEN:
        return ""
    plain = "".join(_LOOK_ALIKES.get(one, one) for one in unicodedata.normalize("NFKD", char))
    return "".join(one for one in plain.lower() if not unicodedata.combining(one))


@lru_cache(maxsize=4096)
def visible(char: str) -> str:
    """The character itself, or an escape if it is invisible or ends a line."""
    hidden = unicodedata.category(char) in ("Cf", "Cc", "Cs", "Co", "Cn", "Zl", "Zp")
    selector = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    return f"\\u{{{ord(char):x}}}" if hidden or selector or char in _UNSEEN else char
