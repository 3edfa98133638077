"""Looks for text that addresses the judge wherever the judge may come across it: in the files that requirements
name and those that changed, in their names, in tests' names and messages, and in what checks and commands printed.

What is read is bounded, and kept by its content: an unchanged workspace is read once.
"""

from __future__ import annotations

import asyncio
import hashlib
import html
import re
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from donewhen.core.evidence import CheckResult, ObservedCommand
from donewhen.core.goal import Goal
from donewhen.core.integrity import STOOD_THERE, AddressingFact
from donewhen.core.words import shortened
from donewhen.ports import Workspace
from donewhen.regular import read_bytes

# How text reads to whoever it is meant to deceive: look-alike letters, hidden characters and accents made plain.


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


def folded_to_ascii(text: str) -> str:
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
    shown = "".join(_escaped_char(c) for c in " ".join(text[: limit * 4].split()))
    shown = shown.replace("<", "‹").replace(">", "›").replace("`", "'").replace("[", "(").replace("]", ")")
    return shortened(shown, limit)


def _escaped_char(character: str) -> str:
    if character.isprintable() and character.isascii():
        return character
    hidden = _PLAIN.get(ord(character)) == "" or ord(character) in _TAGS or not character.isprintable()
    return f"\\u{{{ord(character):x}}}" if hidden else character


# The phrases of text that is meant for a judge. All patterns are for text in lower-case ASCII, as above.


Kind = Literal[
    "override",
    "aside",
    "address",
    "role",
    "delimiter",
    "outcome",
    "claim",
    "closing",
    "verdict",
    "order",
    "bidding",
    "urging",
]

GAP = r"[^a-z0-9]{1,12}"  # between words: a comment may go on in the next line
_TIGHT = r"[\s,:;*#/_|!.>-]{1,12}"  # within one phrase
_MODEL = (
    rf"(?:large{GAP})?(?:language|ai|chat){GAP}(?:models?|assistants?|systems?|agents?)|llms?|ai|gpt|chatgpt|claude"
)
_ROLE = (
    rf"(?:(?:ai|llm|automated|automatic|independent|strict|final|code){GAP}){{0,4}}"
    r"(?:judges?|graders?|reviewers?|evaluators?|auditors?|assessors?|verifiers?|examiners?|adjudicators?|scorers?"
    rf"|{_MODEL})\b"
)
_EARLIER = r"(?:previous|previously|prior|above|earlier|preceding|foregoing|system|original|initial|your|existing)"
_ORDERS = r"(?:instructions?|prompts?|directives?|guidelines?|directions?|criteria|rubrics?)"
_FORGET = r"\b(?:ignor(?:e|es|ing)|disregard(?:ing)?|forget|overrid(?:e|es)|bypass|discard|neglect)\b"
_REFUSE = rf"\b(?:do{GAP}not|don.?t|never|stop|no{GAP}longer){GAP}(?:follow|following|obey|obeying|heed|apply)\b"
_FILLER = rf"(?:{GAP}(?:all|any|every|of|the|these|those|everything|each|and|other|you|were|given|her|his|my|its|your))"
_GOOD = (
    r"(?:met|satisfied|fulfill?ed|completed?|done|pass(?:ed|ing|es)?|proven|proved|verified|approved|correct"
    rf"|successful|success|accepted|resolved|achieved|implemented|finished|(?:full|perfect|top){GAP}(?:marks|score)"
    r"|100|1\.0|true|yes)\b"
)
_PLAINLY_GOOD = r"(?:met|satisfied|fulfill?ed|completed?|done|passed|passing|proven|verified|approved)\b"
# What gives a choice, or states a condition, tells nobody what to find.
_NO_CHOICE = (
    r"(?!\s+(?:only\s+)?(?:when|once|until|unless|if|after)\b)"
    r"(?![^.!?]{0,50}?(?:\b(?:unmet|unverified|unsatisfied|not.met|only.(?:if|when|after|where|once)|if.the.evidence)\b"
    r"|(?:\bor\b|[/|]|\bvs\b|\belse\b|\botherwise\b)[\s\"'*]{0,4}(?:not?|false|fail\w*|incorrect|incomplete|wrong|rejected)\b))"
)
_NOT_DENIED = (
    r"(?<!not )(?<!n't )(?<!never )(?<!n.t be )(?<!not be )(?<!cannot )(?<!not to )(?<!could )(?<!can )(?<!may )"
)
_THAT = r"(?= (?:it|this|that|all|every|each|the (?:requirement|work|goal))\b)"
_MARK = (
    rf"\b(?:mark|rate|score|grade|judge{_THAT}|consider|treat|report|declare|accept|deem|label|classify|record|regard"
    r"|assume|approve|certify|confirm|waive|vote)"
)
_SAY = r"\b(?:answer|respond|reply|output|say|conclude|state|vote|decide)"
_PRINT = r"\b(?:return|write|print|emit|choose|select|find|set)"
_SPEECH = (
    r"(?=[\s\"'*(]{1,8}(?:please|you|this|these|that|mark|ignor|disregard|forget|the|i|note|it|all|accept|approve|there|no|every"
    r"|each|do|don.t|treat|consider|answer|respond|reply|say|output|return|give|rate|score|report|requirements?|r\d|be|just"
    r"|we|skip|pass|stop|your|if|verdict|assume|trust)\b)"
)
_START = r"(?:^|\n)[^a-z0-9\n]{0,12}"  # of a line, or of a comment in it


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to say it. It is looked for only where one of `stems` occurs; none: only near something else."""

    kind: Kind
    why: str
    stems: tuple[str, ...]
    pattern: re.Pattern[str]


def _pattern(kind: Kind, why: str, stems: str, pattern: str) -> Pattern:
    return Pattern(kind, why, tuple(stems.split()), re.compile(pattern))


_FORGETTING = "ignor disregard forget overrid bypass discard neglect"
_TELLS = "it tells whoever reads it to ignore instructions"
_SPEAKS = "it speaks to the judge"
_ROLES = "judge grader reviewer evaluator auditor assessor verifier examiner adjudicator scorer llm model claude gpt ai"

ANCHORS = (
    "ignor", "disregard", "forget", "overrid", "bypass", "discard", "neglect", "obey", "heed", "superseded",
    "revoked", "obsolete", "cancel", "judg", "grader", "grading", "reviewer", "reviewing", "evaluat", "auditor",
    "auditing", "audits", "assessor", "assessing", "assesses", "verifier", "verifying", "examiner", "adjudicat",
    "scorer", "assistant", "attention", "attn", "psst", "admin", "developer:", "operator", "</", "<|", "<<<",
    "[inst", "[/inst", "[system", "<<sys", "<system", "<user", "<human", "##", "verdict", "satisf", "fulfil",
    "whoever", "developer]", "follow your", "follow any", "follow the", "following your", "follow previous",
    "follow prior", "language model", "ai model", "you are now", "you are no", "you are from", "you are a ",
    "you are an ", "you are the ", "from now on", "act as", "new instr", "new prompt", "new dir", "new system",
    "updated instr", "revised instr", "system override", "system:", "system message", "system notice",
    "system note", "system update", "your new", "your real", "your true", "your actual", "your task",
    "your job", "your role", "your goal", "your instr", "end of", "end evi", "<evidence-", "final answer",
    "final decision", "final assess", '"finding', "'finding", '"met', "'met", '"complete', "'complete",
)  # fmt: skip
ANCHOR_WORDS = (
    "ai", "llm", "llms", "gpt", "chatgpt", "claude", "dear", "met", "void", "as an", *(f"r{n}" for n in range(10))
)  # fmt: skip
"""Where to look closer: every leading pattern holds one of these, or one of these as a word."""

LEADING: tuple[Pattern, ...] = (
    _pattern(
        "override",
        _TELLS,
        _FORGETTING,
        rf"{_FORGET}{_FILLER}{{0,4}}{GAP}{_EARLIER}(?:{GAP}\w+){{0,2}}?{GAP}{_ORDERS}\b",
    ),
    _pattern(
        "override",
        _TELLS,
        _FORGETTING,
        rf"{_FORGET}{_FILLER}{{0,3}}{GAP}(?:instructions?|prompts?|directives?){GAP}(?:(?:you{GAP}(?:were|have|had|are)"
        rf"|that{GAP}(?:you|came|precede)|given|so{GAP}far)\b|(?:above|before|earlier){GAP}(?:and|this|now|you)\b)",
    ),
    _pattern(
        "override",
        _TELLS,
        _FORGETTING,
        rf"{_FORGET}{GAP}(?:everything|all|anything|whatever)(?:{GAP}that)?{GAP}you(?:{GAP}(?:were|are|have|had|been)|.ve)"
        rf"{{1,2}}{GAP}(?:told|given|instructed|taught|asked)\b",
    ),
    _pattern("override", _TELLS, "follow obey heed", rf"{_REFUSE}{_FILLER}{{0,3}}{GAP}{_EARLIER}{GAP}{_ORDERS}\b"),
    _pattern(
        "override",
        _TELLS,
        "instruction prompt",
        rf"\b{_EARLIER}{GAP}(?:instructions?|prompts?){GAP}(?:(?:are|is|were|has|have){GAP}(?:been{GAP})?(?:now{GAP})?"
        r"(?:void|cancell?ed|superseded|revoked|obsolete|overridden|no.longer))\b",
    ),
    _pattern(
        "aside",
        _TELLS,
        _FORGETTING,
        rf"{_FORGET}(?:{_FILLER}{{1,4}}(?:{GAP}{_EARLIER})?|{GAP}{_EARLIER}){GAP}(?:{_ORDERS}|rules|commands?|orders|evidence|requirements?)\b",
    ),
    _pattern(
        "address",
        _SPEAKS,
        "dear attention attn psst",
        rf"\b(?:dear|attention|attn|psst){_TIGHT}(?:\w+{_TIGHT}){{0,2}}?{_ROLE}",
    ),
    _pattern(
        "address",
        _SPEAKS,
        _ROLES,
        rf"\b(?:hey|hello|hi|listen|please|ok|okay){_TIGHT}(?:(?:the|my|mr|mrs|ms){_TIGHT})?{_ROLE}",
    ),
    _pattern(
        "address",
        _SPEAKS,
        _ROLES,
        rf"\b(?:notes?|messages?|memo|instructions?|reminder|hint|information|info|notice|comment|warning|guidance"
        rf"|addressed|directed|attention){_TIGHT}(?:to|for|of){_TIGHT}(?:(?:the|any|all|every|our|each|whichever){_TIGHT})?{_ROLE}",
    ),
    _pattern(
        "address",
        _SPEAKS,
        _ROLES,
        rf"\b(?:if|since|because|as){_TIGHT}you(?:{_TIGHT}are|.re){_TIGHT}(?:(?:an?|the){_TIGHT})?{_ROLE}",
    ),
    _pattern("address", _SPEAKS, _ROLES, rf"\byou,?{_TIGHT}the{_TIGHT}{_ROLE}"),
    _pattern("address", _SPEAKS, _ROLES, rf"@{_ROLE}|,\s{_ROLE}(?=[.!]?\s*(?:$|\n|[\"'*]))"),
    _pattern("address", _SPEAKS, _ROLES, rf"\bas{_TIGHT}(?:the|an?){_TIGHT}(?:\w+{_TIGHT})?{_ROLE},?{_TIGHT}you\b"),
    _pattern(
        "address",
        _SPEAKS,
        _ROLES,
        rf"{_START}{_ROLE}{_TIGHT}(?:notes?|notice|hint|hints|instructions?|guideline|guidance)\s?:",
    ),
    _pattern(
        "address",
        _SPEAKS,
        _ROLES,
        rf"\b{_ROLE}{_TIGHT}(?:must|should|shall|can{_TIGHT}safely|(?:has|have|need|needs|is|are){_TIGHT}(?:instructed{_TIGHT}|required"
        rf"{_TIGHT}|told{_TIGHT}|asked{_TIGHT})?to)\b",
    ),
    _pattern(
        "address",
        _SPEAKS,
        _ROLES,
        rf"{_START}(?:(?:to|for){_TIGHT}(?:(?:the|any|all|every|our){_TIGHT})?)?(?:the{_TIGHT})?{_ROLE}\s?[:,!]{_SPEECH}",
    ),
    _pattern(
        "address",
        _SPEAKS,
        "judg grad review evaluat audit assess verif",
        rf"\b(?:you|whoever|who|anyone|anything|when|while)(?:{_TIGHT}(?:are|is))?{_TIGHT}(?:judg(?:ing|es)|grad(?:ing|es)"
        rf"|review(?:ing|s)|evaluat(?:ing|es)|audit(?:ing|s)|assess(?:ing|es)|verif(?:ying|ies)){_TIGHT}(?:this|it|the|my|our)\b",
    ),
    _pattern(
        "role",
        "it gives whoever reads it another role",
        "you instruction persona",
        rf"\byou{GAP}are{GAP}(?:now|no{GAP}longer|from{GAP}now{GAP}on)\b|\bfrom{GAP}now{GAP}on,?{GAP}you\b|\bas{GAP}an?"
        rf"{GAP}(?:ai|llm|language{GAP}model)\b|\byou{GAP}are{GAP}(?:an?|the){GAP}(?:very{GAP})?(?:lenient|generous"
        rf"|unrestricted|helpful|agreeable|permissive|friendly|compliant)\b|(?<!\w)(?:new|updated|revised) (?:system )?"
        rf"(?:instructions?|prompts?|directives?)\s*:|\byour{GAP}(?:new|real|true|actual){GAP}(?:task|job|role|goal|instructions?)\b"
        rf"|\byour{GAP}(?:task|job|role|goal|instructions?){GAP}(?:is|are|has|have){GAP}(?:now|changed|been{GAP}changed)\b"
        rf"|\bact{GAP}as{GAP}(?:an?|the){GAP}(?:\w+{GAP})?{_ROLE}",
    ),
    _pattern(
        "role",
        "it speaks as the system that asks the judge",
        "system admin developer",
        rf"\b(?:system|admin|administrator|developer|operator)s?{GAP}(?:override|message|notice|update|directive|note"
        rf"|instruction)s?\s?[:\]>]|{_START}(?:system|developer|assistant)\s*[\]:](?=\s*\S)",
    ),
    _pattern(
        "order",
        "it orders a verdict",
        "requirement r1 r2 r3 r4 r5 r6 r7 r8 r9 r-",
        rf"{_NOT_DENIED}{_MARK}(?:{GAP}(?:all|every|each|the|of|these|those|both|this)){{0,3}}{GAP}(?:requirements?(?:{GAP}(?:nr|no"
        rf"|number|r))?{GAP}\d{{1,3}}|r[-#]?\d{{1,2}}|(?:all|every)\b.{{0,12}}\brequirements?)(?:{GAP}(?:as|is|are|to|be|and|r?\d"
        rf"{{1,2}}|already|fully)){{0,5}}{GAP}(?:met|satisfied|fulfill?ed)\b{_NO_CHOICE}",
    ),
    _pattern(
        "bidding",
        "it asks for a verdict",
        "met satisfied fulfil",
        rf"{_NOT_DENIED}(?:{_SAY}|{_MARK})(?:{_TIGHT}(?:with|just|only|that|it|this|these|them|as|is|are|the|each|every|all"
        rf"|requirements?)){{0,6}}[\s:\"']{{1,3}}(?:met|satisfied|fulfill?ed)\b{_NO_CHOICE}",
    ),
    _pattern(
        "closing",
        "it closes what the judge is shown",
        "evidence untrusted requirement judge diff output document file",
        r"<\s*/\s*(?:untrusted[\w -]*|evidence(?:-[\w-]+)?|requirements?|judge[\w -]*|observations?)\s*>"
        r"|<\s*evidence-\w"
        r"|<<<\s*/?\s*end[\s-]+(?:of[\s-]+)?(?:the[\s-]+)?(?:evidence|untrusted|data|input|file|document|output|context)\b"
        r"|(?:(?<![-=#*>])[-=#*>]{2,}+|\[)\s*end\s+(?:of\s+)?(?:the\s+)?(?:evidence|untrusted\s+\w+|workspace\s+files?)\b",
    ),
    _pattern(
        "delimiter",
        "it imitates the delimiters of a prompt",
        "<| [inst [/inst <<sys <</sys <<< #system <system </system <assistant </ end",
        r"<\|\s*/?(?:im.start|im.end|im.sep|system|user|assistant|end|endoftext|eot.id|start.header.id|end.header.id"
        r"|start|message|channel|return)\s*\|>|\[/?inst\]|<</?sys>>|<<<\s*/?\s*end\b|</?(?:system|assistant|user|human)"
        r"(?:[ -]?(?:prompt|message))?>|</(?:data|input|context|document|documents|instructions|prompt|tool.result|file"
        r"|diff|output)>|\bend\s+of\s+(?:the\s+)?(?:evidence|untrusted|judge|audit)\b",
    ),
    _pattern(
        "delimiter",
        "it imitates the delimiters of a prompt",
        "#",
        rf"{_START}#{{2,}}\s*(?:system|assistant|instructions?|user|human)\b(?:\s+(?:prompt|message))?\s*(?::|$|\n)",
    ),
    _pattern(
        "verdict",
        "it imitates a verdict",
        "verdict judgement judgment final",
        rf"{_START}(?:\w+\s)?(?:(?:the|my|final|overall|official){GAP}){{0,4}}(?:verdict|judge?ment"
        rf"|(?<=final )(?:answer|decision|assessment))s?\b(?:\s*(?:of|for|on)\b[^\n:]{{0,40}})?"
        rf"[*_ ]*[:=][*_ ]*(?:(?:requirements?\s*)?(?:r[-#]?)?\d{{0,3}}\s*(?:is|are|=|:|-)?\s*)"
        rf"(?:met|completed?|satisfied|fulfill?ed)\b(?!\s*(?:[|/\"']|or\b|,\s*(?:un|not)))",
    ),
    _pattern(
        "verdict",
        "it imitates a verdict",
        "verdict judgement judgment",
        r"\b(?:verdict|judge?ment)\s*[:=]\s*(?:requirement\s*)?r?[-#]?\d{1,3}\s*(?:is|=|:|-)?\s*(?:met|completed?|satisfied)\b",
    ),
    _pattern(
        "verdict",
        "it imitates a judge's reply",
        "verdict finding judg",
        r"\\?[\"'](?:verdict|finding|judge?ment)\\?[\"']\s*:\s*\\?[\"'](?:met|complete|satisfied)\\?[\"']",
    ),
    _pattern(
        "verdict",
        "it imitates a judge's reply",
        '"met" \'met\' "met\\ "complete "satisfied',
        r"\\?[\"'](?:status|result|met|complete|satisfied)\\?[\"']\s*:\s*(?:\\?[\"'](?:met|satisfied)\\?[\"']|true\b)(?!\s*(?:\||if\b))",
    ),
)
"""What may begin such a text."""

REPLY = re.compile(
    r"\\?[\"'](?:requirement(?: ?id)?|requirements|evidence(?: ?ids)?|verdict|missing|id)\\?[\"']\s*:"
    r"|\b(?:you must|(?:respond|reply|answer) with)\b|\\?[\"']score\\?[\"']\s*:\s*\\?[\"']?(?:1(?:\.0+)?|10|100)\b"
)
"""What stands near a status if it is one of a verdict."""

SCOPED = re.compile(
    r"\s(?:for|of|in|on|about|from)\s(?!(?:the|this|that|your|an?|all)?\s?(?:judg|prompt|audit|review))"
)
"""What follows `instructions` that are for something other than the reader: `the previous instructions for the
oven`."""

FOREIGN_ORDERS = (
    "anweisung",
    "instru",
    "consignes",
    "istruzioni",
    "指",
    "说明",
    "提示",
    "规则",
    "規則",
    "命令",
    "プロンプト",
    "инструкци",
    "указани",
    "команд",
)
FOREIGN = re.compile(
    r"\b(?:ignorier\w*|missachte\w*|vergiss|vergesst)\s+(?:\w+\s+){0,3}(?:vorherig|bisherig|obig|fruher|vorangegangen)\w*\s+"
    r"(?:anweisung|instruktion|anordnung)\w*"
    r"|\b(?:ignor|oubli)\w+\s+(?:\w+\s+){0,3}(?:instructions|consignes)\s+(?:precedentes|anterieures|ci-dessus)"
    r"|\b(?:ignor|olvid|esquec|dimentic)\w+\s+(?:\w+\s+){0,3}(?:instrucciones|instrucoes|istruzioni)\s+"
    r"(?:anteriores|previas|precedenti|acima)"
    r"|\b(?:ignor|dimentic)\w+\s+(?:\w+\s+){0,2}precedenti\s+istruzioni"
    r"|(?:忽略|无视|無視|忽视|忽視)[^\n。]{0,8}(?:之前|以上|先前|前面|上述)[^\n。]{0,8}(?:指令|指示|说明|提示|规则|規則)"
    r"|(?:以前|これまで|上記|前)の(?:すべての|全ての)?(?:指示|命令|プロンプト)を(?:無視|忘れ)"
    r"|(?:игнорируй|забудь)\w*\s+(?:\w+\s+){0,2}(?:предыдущ|прежн|вышеуказанн)\w+\s+(?:инструкци|указани|команд)\w+"
)
"""To ignore instructions, in other languages: in small letters, as they are or without their accents."""

FOLLOWING: tuple[Pattern, ...] = (
    _pattern(
        "outcome",
        "and says what it should find",
        "",
        rf"{_NOT_DENIED}{_MARK}(?:s|ed|d)?{GAP}[^.!?]{{0,80}}?(?<![a-z0-9])(?<!not )(?<!not be )"
        rf"{_GOOD}{_NO_CHOICE}",
    ),
    _pattern(
        "outcome",
        "and says what it should answer",
        "",
        rf"{_NOT_DENIED}{_SAY}(?:s|ed)?(?:{GAP}(?:with|only|just|exactly|that|it|is|are|the|all|status|verdict|word|every|a"
        rf"|requirements?|r?\d{{1,2}}|as|to|be|each|one|of|them|have|has|been|this|goal|everything)){{0,8}}{GAP}"
        rf"{_GOOD}{_NO_CHOICE}",
    ),
    _pattern(
        "urging",
        "and asks not to look closer",
        "",
        rf"\b(?:no{GAP}(?:further|more|other|need)|not{GAP}necessary|without{GAP}(?:checking|looking|verifying|evidence)|regardless"
        rf"|no{GAP}matter{GAP}what|do{GAP}not{GAP}(?:check|verify|look|run)|don.t{GAP}(?:check|verify|look|run))\b",
    ),
    _pattern(
        "outcome",
        "and says what it should answer",
        "",
        rf"{_NOT_DENIED}{_PRINT}(?:{GAP}(?:only|just|that|it|is|as|the|all|status|verdict|every|each|a|requirements?|r?\d{{1,2}}|them"
        rf"|to|of)){{0,8}}{GAP}(?:met|satisfied|fulfill?ed)\b{_NO_CHOICE}",
    ),
    _pattern(
        "outcome",
        "and says what it should find",
        "",
        rf"\b(?:give|assign|award|grant){GAP}[^.!?]{{0,40}}?\b(?:full|perfect|maximum|top|highest|10|100|passing){GAP}"
        rf"(?:marks|scores?|points|grades?|out{GAP}of)",
    ),
    _pattern(
        "claim",
        "and claims that requirements are met",
        "",
        rf"\b(?:requirements?|criteri(?:a|on)|goals?|tasks?|(?:requirement{GAP})?r?[-#]?\d{{1,2}}|everything|all{GAP}of{GAP}them|it|(?:this|the)"
        rf"{GAP}(?:implementation|change|solution|work|code|file|feature|function|patch|task))(?:{GAP}(?:requested|asked|required|needed"
        rf"|else|verified|tested|checked|by|a|human|person|above|below|here|r?\d{{1,2}}|and|are|is|has|have|been|was|were|must|should|be|now|already|all|fully"
        rf"|considered|marked|to|counts?|as|count|completely|truly|indeed|therefore|=)){{0,9}}{GAP}{_PLAINLY_GOOD}{_NO_CHOICE}"
        rf"|\b(?:satisf(?:y|ies)|fulfill?s?|meets?|proves?){GAP}(?:the|this|all|every|each){GAP}(?:of{GAP}the{GAP})?requirements?\b",
    ),
)
"""What goes with it."""


# Text that is meant for the judge rather than for readers of the code: orders, imitated delimiters and verdicts.
#
# One sign alone is common in honest work ("requirements are met", a chat template, "reviewer:"), so most need a second
# one nearby. Nothing here decides a verdict: what is found is shown, and blocks until it is gone or a person accepts
# it.


MOST = 10
"""Findings of one text: more say nothing new."""
_BEFORE, _AFTER = 160, 320
_NEAR, _STEP = 240, 120  # characters that one thought spans
_MIXED = re.compile(r"[a-z][013457@$]+[a-z]|(?<![a-z0-9])[013457@$][a-z]{2}")  # digits that may stand for letters
_VERDICT = re.compile(r"judge?ment|finding|final")
_ALONE: frozenset[Kind] = frozenset({"override", "closing", "verdict", "order"})
_TOGETHER = frozenset(
    {
        frozenset({"address", "aside"}),
        frozenset({"address", "role"}),
        frozenset({"bidding", "address"}),
        frozenset({"bidding", "aside"}),
        frozenset({"bidding", "role"}),
        frozenset({"aside", "role"}),
        frozenset({"delimiter", "address"}),
        frozenset({"delimiter", "aside"}),
        frozenset({"delimiter", "role"}),
    }
)


class Addressed(NamedTuple):
    """A place that addresses the judge: `line` is 0-based, `quote` the line as it may be shown, `why` half a
    sentence."""

    line: int
    quote: str
    why: str


class _Sign(NamedTuple):
    start: int
    end: int
    kind: Kind
    why: str


def addressed(text: str) -> tuple[Addressed, ...]:
    """Where the text addresses the judge, closes or imitates delimiters, or imitates a verdict, by line.

    At most one for each line, and MOST in all. Look-alike letters, hidden characters, entities, digits for letters
    and comment marks between the lines make no difference.
    """
    read = folded_to_ascii(text)
    found = dict(_addressed_lines(read))
    for start, end in _windows(match.start() for match in _MIXED.finditer(read)):
        first = read.count("\n", 0, start)
        for line, why in _addressed_lines(undigited(read[start:end])):
            found.setdefault(first + line, why)
    for words in (read,) if text.isascii() else (read, text.lower()):
        if any(orders in words for orders in FOREIGN_ORDERS):
            for match in FOREIGN.finditer(words):
                found.setdefault(words.count("\n", 0, match.start()), _TELLS)
    if not found:
        return ()
    lines = text.split("\n")
    return tuple(Addressed(n, neutral(lines[n].strip()), found[n]) for n in sorted(found)[:MOST])


def addressed_name(name: str) -> str | None:
    """Why a name (of a file, of a test) addresses the judge; None if it doesn't. Its words may be joined."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    found = addressed(" ".join(re.split(r"[\s_]+", words))) or addressed(" ".join(re.split(r"[\s_.\-/+]+", words)))
    return found[0].why if found else None


def _addressed_lines(read: str) -> Iterator[tuple[int, str]]:
    signs = sorted(sign for start, end in _windows(_anchors(read)) for sign in _leading(read, start, end))
    looked: dict[tuple[int, bool], str | None] = {}
    for number, sign in enumerate(signs):
        scoped = sign.kind == "override" and SCOPED.match(read, sign.end) is not None
        by_itself = sign.why if sign.kind in _ALONE and not scoped else None
        why = by_itself or _together(sign, signs[max(0, number - 4) : number + 5])
        if why is None:
            place = (sign.start // _STEP, sign.kind == "bidding")
            if place not in looked:
                nearby = _around(read, place[0] * _STEP, (place[0] + 1) * _STEP)
                # To ask for a verdict is an outcome by itself, and to ask not to look closer is nothing by itself.
                wanted = ("claim", "urging") if sign.kind == "bidding" else ("outcome", "claim")
                looked[place] = next((p.why for p in FOLLOWING if p.kind in wanted and p.pattern.search(nearby)), None)
            follows = looked[place]
            why = None if follows is None else f"{sign.why} {follows}"
        if why is not None:
            said = read[sign.start : sign.end]
            yield read.count("\n", 0, sign.start + len(said) - len(said.lstrip("\n \t#/*"))), why


def _leading(read: str, start: int, end: int) -> Iterator[_Sign]:
    window = read[start:end]
    for pattern in LEADING:
        if any(stem in window for stem in pattern.stems):
            for match in pattern.pattern.finditer(window):
                sign = _Sign(start + match.start(), start + match.end(), pattern.kind, pattern.why)
                if pattern.kind != "verdict" or _is_verdict(read, sign):
                    yield sign


def _is_verdict(read: str, sign: _Sign) -> bool:
    """A status alone is any program's; a verdict's says of what, or by what."""
    said = read[sign.start : sign.end]
    return (
        "verdict" in said
        or _VERDICT.search(said) is not None
        or REPLY.search(_around(read, sign.start, sign.end, 160)) is not None
    )


def _windows(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """What is worth a closer look: around each place, and together where they are near each other."""
    start = end = -1
    for place in sorted(places):
        if end < 0 or place > end - _BEFORE:
            if end >= 0:
                yield start, end
            start = max(place - _BEFORE, 0)
        end = place + _AFTER
    if end >= 0:
        yield start, end


def _anchors(read: str) -> Iterator[int]:
    for stem in ANCHORS:
        at = read.find(stem)
        while at >= 0:
            yield at
            at = read.find(stem, at + _BEFORE)
    for word in ANCHOR_WORDS:
        at, size = read.find(word), len(word)
        while at >= 0:
            if not read[at - 1 : at].isalnum() and not read[at + size : at + size + 1].isalnum():
                yield at
            at = read.find(word, at + size)


def _together(sign: _Sign, others: Sequence[_Sign]) -> str | None:
    """Why a sign and one next to it are more than chance; None if they are not."""
    for other in others:
        near = sign.start - _NEAR <= other.start <= sign.end + _NEAR
        if near and frozenset({sign.kind, other.kind}) in _TOGETHER:
            return f"{sign.why}, {other.why}" if other.why != sign.why else sign.why
    return None


def _around(read: str, start: int, end: int, near: int = _NEAR) -> str:
    return read[max(start - near, 0) : end + near]


MOST_PLACES = 60
"""Facts in all."""
_FILES, _BYTES = 2_000, 8_000_000  # that one audit reads again
_HALF = 200_000  # bytes: of what is larger than twice that, the head and the tail
_SEARCHED_FILES, _SEARCHED_BYTES = 2_000, 20_000_000
_KEPT = 500
_NUMBERED = re.compile(r"^(?:[^\s:][^:\n]{0,200}:\d+[:-]|\s*\d+[\s|:→]\s?|[+>|]\s?)")  # grep -n, cat -n, a diff


class Addressing:
    """The facts of one workspace folder. `since` is the checkpoint before the worker's first turn: what stood there is
    told apart from what came since. One audit reads at most `files` files of `size` characters in all afresh; the next
    one goes on there."""

    def __init__(self, files: int = _FILES, size: int = _BYTES) -> None:
        self._limits = files, size
        self._files: dict[str, tuple[str, tuple[Addressed, ...]]] = {}
        self._names: dict[str, str | None] = {}
        self._texts: dict[bytes, tuple[Addressed, ...]] = {}
        self._standing: set[str] = set()

    async def facts(
        self,
        goal: Goal,
        workspace: Workspace,
        results: Sequence[CheckResult],
        since: str | None,
        commands: Sequence[ObservedCommand],
    ) -> tuple[AddressingFact, ...]:
        """At most MOST. A text in a file is not reported again for each output that shows it."""
        changed = frozenset(await workspace.changed_between(since, None)) if since is not None else frozenset[str]()
        # What requirements name comes first, because the judge is shown it.
        globs = [glob for requirement in goal.requirements for glob in requirement.files]
        named = workspace.files(globs) if globs else ()
        present = (path for path in sorted(changed) if workspace.digest(path) is not None)
        digests = {path: workspace.digest(path) or "" for path in (*named, *present) if path != goal.path}
        read = await asyncio.to_thread(self._addressing_facts, workspace.root, digests)
        found = [await _dated(fact, workspace, since, changed) for fact in read]
        printed = await asyncio.to_thread(lambda: list(self._printed_facts(results, commands)))
        quotes = {fact.quote for fact in found}
        for fact, raw in printed:
            if fact.quote not in quotes and len(found) < MOST_PLACES:
                quotes.add(fact.quote)
                stood = since is not None and await self._stood_there(raw, workspace, since, changed)
                found.append(replace(fact, standing=STOOD_THERE) if stood else fact)
        return tuple(found[:MOST_PLACES])

    def _addressing_facts(self, root: Path, digests: dict[str, str]) -> list[AddressingFact]:
        left, size = self._limits
        facts: list[AddressingFact] = []
        for path, digest in digests.items():
            why = self._why_name_addresses(path)
            if why is not None:
                facts.append(AddressingFact(path, 0, neutral(path), why, "name"))
            known = self._files.get(path)
            if known is None or known[0] != digest:
                if left <= 0 or size <= 0:
                    continue
                text = _file_text(root, path)
                left, size = left - 1, size - len(text)
                known = self._files[path] = (digest, addressed(text))
                time.sleep(0)  # lets the event loop's thread run
            facts += [AddressingFact(path, *one) for one in known[1]]
        return facts

    def _why_name_addresses(self, name: str) -> str | None:
        if name not in self._names:
            self._names[name] = addressed_name(name)
        return self._names[name]

    # ---------------------------------------------------------------------------------------- what was printed

    def _printed_facts(
        self, results: Sequence[CheckResult], commands: Sequence[ObservedCommand]
    ) -> Iterator[tuple[AddressingFact, str]]:
        """The facts, each with the line as it was printed."""
        for result in results:
            for test in result.tests:
                why = self._why_name_addresses(test.name)
                if why is not None:
                    fact = AddressingFact(test.path or "", test.line or 0, neutral(test.name), why, "test")
                    yield fact, test.name.rpartition("::")[2]
        for source, text, path, line in _texts(results, commands):
            lines = text.split("\n")
            for hit in self._addressed_in(text):
                yield AddressingFact(path, line, hit.quote, hit.why, source), lines[hit.line].strip()

    def _addressed_in(self, text: str) -> tuple[Addressed, ...]:
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if key not in self._texts:
            while len(self._texts) >= _KEPT:
                del self._texts[next(iter(self._texts))]
            self._texts[key] = addressed(text)
            time.sleep(0)
        return self._texts[key]

    async def _stood_there(self, raw: str, workspace: Workspace, since: str, changed: frozenset[str]) -> bool:
        """Whether a file had that line before the run began: then nobody in this run is responsible for printing it."""
        line = _NUMBERED.sub("", raw).strip()
        if line in self._standing:
            return True
        unchanged = [path for path in workspace.files() if path not in changed]
        stood = await asyncio.to_thread(_holds, workspace.root, unchanged, line)
        for path in sorted(changed)[:_SEARCHED_FILES] if not stood else ():
            before = await workspace.file_at(since, path)
            stood = stood or (before is not None and line in before.decode("utf-8", "replace"))
        if stood:
            self._standing.add(line)
        return stood


async def _dated(
    fact: AddressingFact, workspace: Workspace, since: str | None, changed: frozenset[str]
) -> AddressingFact:
    """With the reason why nobody in this run is responsible for it, if that is so."""
    if since is None:
        return fact
    if fact.path not in changed:
        return replace(fact, standing=STOOD_THERE)
    before = await workspace.file_at(since, fact.path)
    if before is None:
        return fact
    stood = fact.source == "name" or fact.quote in {one.quote for one in addressed(_decoded(before))}
    return replace(fact, standing=STOOD_THERE) if stood else fact


def _texts(results: Sequence[CheckResult], commands: Sequence[ObservedCommand]) -> Iterator[tuple[str, str, str, int]]:
    """By what something was printed, and what; and the path and line that it is about, if they are known."""
    for result in results:
        yield f"The output of `{result.command}`", result.output, "", 0
        for test in result.tests:
            if test.message:
                yield f"What a test of `{result.command}` says", test.message, test.path or "", test.line or 0
    for command in commands:
        yield f"The output of the worker's `{neutral(command.command, 80)}`", command.output, "", 0


def _holds(root: Path, paths: Sequence[str], line: str) -> bool:
    left = _SEARCHED_BYTES
    for path in paths[:_SEARCHED_FILES]:
        text = _file_text(root, path)
        left -= len(text)
        if line and line in text:
            return True
        if left <= 0:
            break
        time.sleep(0)
    return False


def _file_text(root: Path, path: str) -> str:
    """Of what a link leads to nothing: that is read under its own name."""
    try:
        return "" if (root / path).is_symlink() else _decoded(read_bytes(path, within=root))
    except OSError:
        return ""


def _decoded(content: bytes) -> str:
    """Empty for what is not text. What is left out of the middle of a long one counts its lines."""
    if b"\0" in content[:8192]:
        return ""
    if len(content) > 2 * _HALF:
        lines = content.count(b"\n", _HALF, len(content) - _HALF)
        content = content[:_HALF] + b"\n" * lines + content[-_HALF:]
    return content.decode("utf-8-sig", "replace")
