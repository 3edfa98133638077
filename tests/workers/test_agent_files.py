"""The agent's file tools: inside the workspace, nothing unseen overwritten, everything kept as it was."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.core.goal import Goal
from donewhen.core.work import Answer
from donewhen.ports import ModelReply, ModelRequest
from donewhen.workers.tools.tool import VERSION

from .agent_models import report, use
from .agent_turns import OPTIONS, Agent, agent_in
from .turns import GOAL, turn


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    (tmp_path / "work").mkdir()
    return agent_in(tmp_path / "work")


async def told(agent: Agent, *replies: ModelReply, goal: Goal = GOAL, window: int | None = None) -> list[str]:
    await agent.plays([*replies, report()], turn(1, goal), replace(OPTIONS, window=window))
    return agent.told[:-1]


# ------------------------------------------------------------------------------------------- reading


async def test_it_reads_a_part_and_is_told_how_to_go_on(agent: Agent) -> None:
    agent.write("a.py", "".join(f"line {n}\n" for n in range(1, 5_001)))
    part, first = await told(
        agent, use("read_file", path="a.py", start_line=3, end_line=4), use("read_file", path="a.py"), window=200_000
    )
    assert VERSION.sub("", part) == "a.py, lines 3-4 of 5000:\nline 3\nline 4"
    assert VERSION.sub("", first).startswith("a.py, lines 1-2000 of 5000:\nline 1\n")
    assert first.endswith("line 2000\n[cut here: go on with start_line 2001]")


async def test_what_it_reads_is_bounded_by_the_model_s_window(agent: Agent) -> None:
    agent.write("long.txt", "x" * 1_000_000)
    agent.write("many.txt", "y" * 99 + "\n" + ("z" * 99 + "\n") * 900)
    one, many = await told(agent, use("read_file", path="long.txt"), use("read_file", path="many.txt"), window=16_000)
    assert len(one) < 8_000
    assert "more characters in this line" in one
    assert len(many) < 8_000
    assert "[cut here: go on with start_line 71]" in many


async def test_what_can_not_be_read_is_said_with_what_may_be_meant(agent: Agent) -> None:
    agent.write("src/exporter.py", "x")
    agent.write("picture.png", b"\x89PNG\0\0")
    agent.write("empty.txt", "")
    texts = await told(
        agent,
        use("read_file", path="exporter.py"),
        use("read_file", path="src/exportr.py"),
        use("read_file", path="picture.png"),
        use("read_file", path="src"),
        use("read_file", path="src/exporter.py/x"),
        use("read_file", path="empty.txt"),
        use("read_file", path="empty.txt", start_line=7),
    )
    assert texts[0] == "error: there is no file exporter.py; did you mean src/exporter.py?"
    assert "did you mean src/exporter.py?" in texts[1]
    assert "not a text file" in texts[2]
    assert "src is a folder: list its files" in texts[3]
    assert "there is no file src/exporter.py/x" in texts[4]
    assert texts[5].startswith("empty.txt, empty (version ")
    assert "no lines 7 to the end: the file has 0" in texts[6]


# ------------------------------------------------------------------------------------------- writing


async def test_it_makes_files_and_folders(agent: Agent) -> None:
    [text] = await told(agent, use("write_file", path="src/deep/a.py", content="x = 1\ny = 2\n"))
    assert VERSION.sub("", text) == "made src/deep/a.py, 2 lines"
    assert agent.text("src/deep/a.py") == "x = 1\ny = 2\n"
    assert [path.name for path in (agent.root / "src/deep").iterdir()] == ["a.py"]


@pytest.mark.conformance("A20")
async def test_a_file_that_it_has_not_read_is_not_replaced(agent: Agent) -> None:
    agent.write("a.py", "precious\n" * 10)
    refused, _, wrote = await told(
        agent,
        use("write_file", path="a.py", content="mine\n"),
        use("read_file", path="a.py"),
        use("write_file", path="a.py", content="mine\n"),
    )
    assert "read it first" in refused
    assert "precious" in refused
    assert VERSION.sub("", wrote) == "wrote a.py, 1 line"
    assert agent.text("a.py") == "mine\n"


Act = Callable[[Agent], object]


def doing(act: Act, reply: ModelReply, agent: Agent) -> Callable[[ModelRequest], ModelReply]:
    """A reply, before which something happens in the workspace."""

    def now(request: ModelRequest) -> ModelReply:
        act(agent)
        return reply

    return now


@pytest.mark.conformance("A20")
@pytest.mark.parametrize(
    "change",
    [use("write_file", path="a.py", content="mine\n"), use("edit_file", path="a.py", old="two", new="2")],
    ids=["write", "edit"],
)
async def test_a_person_s_edit_meanwhile_is_never_overwritten(agent: Agent, change: ModelReply) -> None:
    agent.write("a.py", "one\ntwo\n")
    person = doing(lambda a: a.write("a.py", "one\ntwo\nthe person's three\n"), change, agent)
    await agent.plays([use("read_file", path="a.py"), person, report()])
    assert agent.text("a.py") == "one\ntwo\nthe person's three\n"
    assert "changed since you read it" in agent.told[1]
    assert "the person's three" in agent.told[1]
    await agent.plays([use("read_file", path="a.py"), change, report()], turn(2))
    assert "the person's three" not in agent.text("a.py") or "2" in agent.text("a.py")


@pytest.mark.conformance("A20")
async def test_what_it_was_shown_instead_it_may_change_then(agent: Agent) -> None:
    agent.write("a.py", "one\n")
    edit = use("edit_file", path="a.py", old="one", new="1")
    person = doing(lambda a: a.write("a.py", "zero\none\n"), edit, agent)
    await agent.plays([use("read_file", path="a.py"), person, edit, report()])
    assert agent.text("a.py") == "zero\n1\n"


@pytest.mark.conformance("A20")
async def test_a_file_that_was_deleted_meanwhile_is_not_made_again_unasked(agent: Agent) -> None:
    target = agent.write("a.py", "one\n")
    write = use("write_file", path="a.py", content="mine\n")
    await agent.plays([use("read_file", path="a.py"), doing(lambda a: target.unlink(), write, agent), report()])
    assert "was deleted since you read it" in agent.told[1]
    assert not target.exists()


@pytest.mark.conformance("A20")
async def test_a_change_between_leave_and_write_is_refused(agent: Agent) -> None:
    agent.write(".envrc", "export A=1\n")

    class Slow(list[Answer]):
        def pop(self, _: object = -1) -> Answer:  # pyright: ignore[reportIncompatibleMethodOverride]
            agent.write(".envrc", "export A=person\n")
            return Answer("approve")

    agent.context.answers = Slow([Answer("approve")])
    edit = use("edit_file", path=".envrc", old="A=1", new="A=2")
    _, text = await told(agent, use("read_file", path=".envrc"), edit)
    assert "changed since you read it" in text
    assert "A=person" in text
    assert agent.text(".envrc") == "export A=person\n"


@pytest.mark.conformance("A20")
async def test_unsaved_text_in_an_editor_is_what_stands_there(agent: Agent) -> None:
    agent.write("a.py", "on disk\n")
    agent.context.held["a.py"] = "in the editor\n"
    read, wrote, edited = await told(
        agent,
        use("read_file", path="a.py"),
        use("write_file", path="a.py", content="mine"),
        use("edit_file", path="a.py", old="on disk", new="mine"),
    )
    assert "in the editor" in read
    assert "not saved yet" in read
    assert "on disk\n" not in read
    for text in (wrote, edited):
        assert text.startswith("error: a person has unsaved changes to a.py")
        assert "in the editor" in text
    assert agent.text("a.py") == "on disk\n"


@pytest.mark.conformance("A20")
async def test_unsaved_text_is_known_by_the_name_of_a_link_too(agent: Agent) -> None:
    agent.write("real.py", "on disk\n")
    (agent.root / "link.py").symlink_to(agent.root / "real.py")
    agent.context.held["link.py"] = "in the editor\n"
    [text] = await told(agent, use("edit_file", path="./link.py", old="on disk", new="mine"))
    assert "unsaved changes" in text
    assert agent.text("real.py") == "on disk\n"


@pytest.mark.conformance("A20")
async def test_a_new_file_that_an_editor_holds_is_not_made(agent: Agent) -> None:
    agent.context.held["new.py"] = "being written\n"
    [text] = await told(agent, use("write_file", path="new.py", content="mine"))
    assert "unsaved changes" in text
    assert not (agent.root / "new.py").exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\r\ntwo\r\n", b"one\r\n2\r\n"),
        (b"one\r\ntwo\nthree\n", b"one\r\n2\nthree\n"),
        (b"\xef\xbb\xbfone\ntwo", b"\xef\xbb\xbfone\n2"),
        ("one\ntwo é\n".encode("latin-1"), "one\n2 é\n".encode("latin-1")),
        (b"\xff\xfe" + "one\ntwo\n".encode("utf-16-le"), b"\xff\xfe" + "one\n2\n".encode("utf-16-le")),
    ],
    ids=["crlf", "mixed", "bom", "latin-1", "utf-16"],
)
async def test_an_edit_keeps_line_ends_encoding_mark_and_mode(agent: Agent, before: bytes, after: bytes) -> None:
    target = agent.write("a.sh", before)
    target.chmod(0o755)
    await told(agent, use("read_file", path="a.sh"), use("edit_file", path="a.sh", old="two", new="2"))
    assert target.read_bytes() == after
    assert target.stat().st_mode & 0o777 == 0o755


async def test_a_whole_new_text_is_written_in_the_file_s_manner(agent: Agent) -> None:
    target = agent.write("a.txt", b"one\r\n")
    await told(agent, use("read_file", path="a.txt"), use("write_file", path="a.txt", content="1\r\n2\n"))
    assert target.read_bytes() == b"1\r\n2\r\n"


async def test_a_text_that_the_encoding_can_not_hold_is_refused(agent: Agent) -> None:
    agent.write("a.txt", "é\n".encode("latin-1"))
    _, text = await told(agent, use("read_file", path="a.txt"), use("write_file", path="a.txt", content="→"))
    assert "latin-1" in text
    assert (agent.root / "a.txt").read_bytes() == b"\xe9\n"


# ------------------------------------------------------------------------------------------- editing


async def test_an_edit_that_does_not_fit_is_told_what_stands_there(agent: Agent) -> None:
    agent.write("a.py", "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n")
    texts = await told(
        agent,
        use("edit_file", path="a.py", old="    return a + b", new="x"),
        use("edit_file", path="a.py", old="return a - b", new="x"),
        use("edit_file", path="a.py", old="zzzzzzzzzz", new="x"),
        use("edit_file", path="a.py", old="", new="x"),
        use("edit_file", path="a.py", old="def sub", new="def sub"),
        use("edit_file", path="b.py", old="x", new="y"),
    )
    assert "does not occur in a.py" in texts[0]
    assert "\n2:     return a - b\n" in texts[0]
    assert "2 times, at the lines 2, 6" in texts[1]
    assert "read the file again" in texts[2]
    assert "`old` is empty" in texts[3]
    assert "nothing would change" in texts[4]
    assert "there is no file b.py" in texts[5]
    assert "- b" in agent.text("a.py")
    assert all(text.startswith("error: ") for text in texts)


async def test_a_huge_file_is_compared_in_bounded_time(agent: Agent) -> None:
    agent.write("a.py", "".join(f"value_{n} = compute({n}, {n * n})\n" for n in range(50_000)))
    edit = use("edit_file", path="a.py", old="valeu_7 = compute(7, 50)", new="x")
    async with asyncio.timeout(10):
        [text] = await told(agent, edit)
    assert ": value_7" in text
    assert len(text) < 6_000


# ---------------------------------------------------------------------------------------- boundaries


async def test_paths_stay_inside_of_the_workspace(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (agent.root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (agent.root / "folder").symlink_to(tmp_path)
    agent.write("in.txt", "in")
    names = ("../secret.txt", "link.txt", "folder/secret.txt", str(tmp_path / "secret.txt"), "a/../../secret.txt")
    replies = [use(tool, path=name, **more) for name in names for tool, more in TOOLS_AND_ARGUMENTS]
    texts = await told(
        agent, *replies, use("read_file", path=str(agent.root / "in.txt")), use("search", pattern="secr")
    )
    assert VERSION.sub("", texts[-2]) == "in.txt, lines 1-1 of 1:\nin"
    assert texts[-1] == "0 hits:"
    assert all("outside of the workspace" in text for text in texts[:-2]), texts
    assert (tmp_path / "secret.txt").read_text() == "secret"


TOOLS_AND_ARGUMENTS: list[tuple[str, dict[str, str]]] = [
    ("read_file", {}),
    ("write_file", {"content": "mine"}),
    ("edit_file", {"old": "secret", "new": "mine"}),
    ("list_files", {}),
    ("search", {"pattern": "secret"}),
]


@pytest.mark.parametrize("name", [".git/config", "sub/.git/hooks/pre-commit", ".GIT/config", "alias/config"])
async def test_what_belongs_to_git_is_out_of_reach(agent: Agent, name: str) -> None:
    agent.write(".git/config", "[core]\n")
    (agent.root / "alias").symlink_to(agent.root / ".git")
    texts = await told(agent, *(use(tool, path=name, **more) for tool, more in TOOLS_AND_ARGUMENTS))
    assert all("belongs to git" in text for text in texts)
    assert agent.text(".git/config") == "[core]\n"


async def test_a_link_inside_of_the_workspace_is_followed(agent: Agent) -> None:
    agent.write("real.txt", "one\n")
    (agent.root / "link.txt").symlink_to(agent.root / "real.txt")
    await told(agent, use("read_file", path="link.txt"), use("edit_file", path="link.txt", old="one", new="1"))
    assert agent.text("real.txt") == "1\n"
    assert (agent.root / "link.txt").is_symlink()


async def test_names_that_the_system_refuses_are_only_an_error(agent: Agent) -> None:
    names = ("x" * 5_000, "a/" * 3_000, "a\0b", "")
    texts = await told(
        agent, *(use(tool, path=name, **more) for name in names for tool, more in TOOLS_AND_ARGUMENTS[:3])
    )
    assert all(text.startswith("error: ") for text in texts)
    assert not any(str(agent.root) in text for text in texts)


PROTECTED = replace(GOAL, protect=("tests/**", "GOAL.md"), path="GOAL.md")


async def test_what_the_goal_protects_is_refused_without_a_question(agent: Agent) -> None:
    agent.write("tests/test_a.py", "assert False\n")
    read, wrote, edited = await told(
        agent,
        use("read_file", path="tests/test_a.py"),
        use("write_file", path="tests/test_new.py", content=""),
        use("edit_file", path="./tests/../tests/test_a.py", old="False", new="True"),
        goal=PROTECTED,
    )
    assert "assert False" in read
    assert "protected by the goal" in wrote
    assert "protected by the goal" in edited
    assert agent.context.asked == []
    assert agent.text("tests/test_a.py") == "assert False\n"


SENSITIVE = (
    ".vscode/tasks.json", "sub/.vscode/settings.json", ".envrc", ".github/workflows/ci.yml", ".gitlab-ci.yml",
    ".circleci/config.yml", "azure-pipelines.yml", "Jenkinsfile", ".pre-commit-config.yaml", "docs/GOAL.md",
    ".VSCode/tasks.json",
)  # fmt: skip


@pytest.mark.parametrize("path", SENSITIVE)
async def test_files_that_run_something_need_a_person_s_leave(agent: Agent, path: str) -> None:
    goal = replace(GOAL, path="docs/GOAL.md")
    agent.write(path, "one\ntwo\n")
    agent.context.answers = [Answer("deny", reason="not that one"), Answer("approve")]
    edit = use("edit_file", path=path, old="two", new="2")
    denied, edited = await told(agent, edit, edit, goal=goal)
    assert denied.startswith("not written: ")
    assert "not that one" in denied
    assert edited.startswith("edited ")
    assert agent.text(path) == "one\n2\n"
    for asked in agent.context.asked:
        assert (asked.kind, asked.tool, asked.about) == ("approval", "edit_file", "tool:edit_file")
        assert "-two" in asked.preview
        assert "+2" in asked.preview
        assert asked.input == {"path": path, "old": "two", "new": "2"}


async def test_a_link_to_another_file_needs_leave_by_its_own_name(agent: Agent) -> None:
    agent.write("env.sh", "export A=1\n")
    (agent.root / ".envrc").symlink_to(agent.root / "env.sh")
    agent.context.answers = [Answer("deny")]
    [text] = await told(agent, use("edit_file", path=".envrc", old="A=1", new="A=2"))
    assert text.startswith("not written: it was not allowed")
    assert agent.text("env.sh") == "export A=1\n"


async def test_other_files_need_no_leave(agent: Agent) -> None:
    await told(
        agent, use("write_file", path="src/vscode.py", content="x"), use("write_file", path="ci.yml", content="x")
    )
    assert agent.context.asked == []


async def test_a_person_may_change_what_is_written(agent: Agent) -> None:
    agent.context.answers = [Answer("edit", input={"content": "theirs\n"}), Answer("text", "rather a README")]
    [first, second] = await told(
        agent,
        use("write_file", path=".envrc", content="mine\n"),
        use("write_file", path="sub/.envrc", content="mine\n"),
    )
    assert agent.text(".envrc") == "theirs\n"
    assert "a person changed it" in first
    assert "rather a README" in second
    assert not (agent.root / "sub/.envrc").exists()


# -------------------------------------------------------------------------------- listing, searching


async def test_it_lists_what_is_there_and_what_it_made(agent: Agent) -> None:
    for path in ("b.py", "a.md", "src/c.py", "src/deep/d.py"):
        agent.write(path, "x")
    everything, named, folder, deep, nothing, missing = await told(
        agent,
        use("list_files"),
        use("list_files", glob="*.py"),
        use("list_files", path="src"),
        use("list_files", glob="src/**/*.py"),
        use("list_files", glob="*.rs"),
        use("list_files", path="scr"),
    )
    assert everything == "4 files:\na.md\nb.py\nsrc/c.py\nsrc/deep/d.py"
    assert named == "3 files:\nb.py\nsrc/c.py\nsrc/deep/d.py"
    assert folder == "2 files:\nsrc/c.py\nsrc/deep/d.py"
    assert deep == "2 files:\nsrc/c.py\nsrc/deep/d.py"
    assert nothing == "0 files:"
    assert missing.startswith("error: there is no file scr")


async def test_a_long_list_is_cut_and_says_so(agent: Agent) -> None:
    for number in range(1_200):
        agent.write(f"f{number:04}", "")
    [text] = await told(agent, use("list_files"))
    assert text.startswith("1,200 files:\nf0000\n")
    assert text.endswith("f0999\n[200 more: narrow it by path or glob]")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
async def test_a_pipe_is_not_waited_for(agent: Agent) -> None:
    os.mkfifo(agent.root / "pipe")
    async with asyncio.timeout(5):
        [text] = await told(agent, use("read_file", path="pipe"))
    assert "not a regular file" in text


@pytest.mark.conformance("A2")
@pytest.mark.parametrize("edited", [{"contents": "B=2\n"}, {"content": None}])
async def test_an_edit_that_says_nothing_of_the_file_writes_nothing(agent: Agent, edited: dict[str, object]) -> None:
    agent.context.answers.append(Answer("edit", input=edited))
    (text,) = await told(agent, use("write_file", path=".envrc", content="A=1\n"))
    assert text.startswith("error: not done: the call was changed to one that can't be made")
    assert not (agent.root / ".envrc").exists()
