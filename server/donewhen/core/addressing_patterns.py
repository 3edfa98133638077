"""The phrases of text that is meant for a judge. All patterns are for text in lower-case ASCII
(`addressing_letters`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

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
