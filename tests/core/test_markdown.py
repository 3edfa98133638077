"""Text of others in Markdown: a reader of Markdown makes text of it, and code of what stands between backticks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from donewhen.core.evidence import CheckResult, Evidence, Outcome, Problem, TestCase
from donewhen.core.markdown import block, code, evidence_markdown, prose
from tests.tools import each_row

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = "[see](command:workbench.action.quit) <b onclick=x>now</b> ![i](http://a.b/c.png) **loud**"
pytestmark = pytest.mark.timeout(60)


def tags(markdown: str) -> set[str]:
    return set(re.findall(r"</?([a-z0-9]+)", READER.render(markdown)))


def words(markdown: str) -> str:
    """What is read, with the space as it is written."""
    inside = re.sub(r"<[^>]*>", "", READER.render(markdown))
    for mark, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        inside = inside.replace(mark, character)
    return " ".join(inside.split())


@each_row(
    "text",
    [
        HOSTILE,
        "# heading", "- item", "+ item", "1. item", "2) item", "> quoted", "===", "---", "~~gone~~", "~~~", "_aside_",
        "| a | b |\n|---|---|\n| c | d |", ":-:\n:-:", "    indented", "&lt;b&gt;", "C:\\users\\me", "a\n\n# b", "a\\",
        "<https://example.org>", "[a]: https://example.org\n[a]", "unpaired ` here", "a``b`c", "\\`x`[y](command:z)`",
        "__init__, ___all___",
    ],
)  # fmt: skip
def test_prose_is_read_as_it_was_written(text: str) -> None:
    shown = prose(text)
    assert tags(shown) <= {"p", "br", "code"}
    assert "".join(words(shown).split()).replace("`", "") == "".join(text.split()).replace("`", "")


def test_what_the_server_puts_between_backticks_is_code() -> None:
    assert prose("`test -f *.md` failed: exit code 1.") == "`test -f *.md` failed: exit code 1."
    assert prose("snake_case and 3 > 2, e.g. here") == "snake_case and 3 > 2, e.g. here"


def test_addresses_are_no_links_where_a_reader_makes_them_so() -> None:
    assert prose("http://a.b www.a.b me@a.b") == r"http\://a.b www\.a.b me\@a.b"


@given(st.text(alphabet="`\\[]()<>_*#-+=|~!&;:@. \na1", max_size=40))
def test_nothing_becomes_more_than_text(text: str) -> None:
    assert tags(prose(text)) <= {"p", "br", "code"}
    assert tags(code(text) if text.strip() else "") <= {"p", "code"}
    assert tags(block(text)) <= {"pre", "code"}


def test_evidence_holds_hostile_text_as_text() -> None:
    problem = Problem("a_[x](command:y).py", 0, HOSTILE)
    failed = TestCase(f"`{HOSTILE}\n# x", "failed")
    result = CheckResult(
        "c", f"echo '{HOSTILE}'", Outcome.FAILED, HOSTILE, 1, output=f"```\n{HOSTILE}", tests=(failed,),
        problems=(problem,),
    )  # fmt: skip
    assert tags(evidence_markdown(Evidence("E1", "r", "r", 0, result))) <= {
        "h1", "p", "code", "pre", "ul", "li", "strong", "br",
    }  # fmt: skip
