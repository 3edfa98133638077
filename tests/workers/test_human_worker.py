from __future__ import annotations

import asyncio

import pytest

from donewhen.ports import TreeState
from donewhen.workers.human import HumanWorker

from .turns import Context, turn


@pytest.fixture
def files(context: Context) -> None:
    for name in ("a.py", "b.py"):
        (context.workspace.root / name).touch()


@pytest.mark.usefixtures("files")
async def test_a_turn_is_the_next_settled_change(context: Context) -> None:
    working = asyncio.create_task(HumanWorker().work(turn(), context))
    await context.hears("waiting for your edits")
    assert not working.done()
    context.changes.put_nowait(TreeState("r2", ("a.py", "b.py")))
    result = await working
    assert result.summary == "edited 2 files"
    assert [step.summary for step in result.steps] == ["a.py", "b.py"]
    assert result.usage.tokens == 0


async def test_what_was_deleted_is_called_so(context: Context) -> None:
    (context.workspace.root / "kept.py").touch()
    for changed, said in (
        (("gone.py", "kept.py", "x/y.py"), "edited 1 file, deleted 2 files"),
        (("x",), "deleted 1 file"),
    ):
        context.changes.put_nowait(TreeState("r2", changed))
        result = await HumanWorker().work(turn(), context)
        assert result.summary == said
        assert [(step.kind, step.summary) for step in result.steps] == [
            ("edit" if path == "kept.py" else "delete", path) for path in changed
        ]


@pytest.mark.usefixtures("files")
async def test_one_file_and_very_many_files_are_summed_up(context: Context) -> None:
    context.changes.put_nowait(TreeState("r2", ("a.py",)))
    assert (await HumanWorker().work(turn(), context)).summary == "edited 1 file"
    context.changes.put_nowait(TreeState("r3", ("a.py", "b.py") * 2500))
    result = await HumanWorker().work(turn(2), context)
    assert result.summary == "edited 5000 files"
    assert len(result.steps) <= 50
