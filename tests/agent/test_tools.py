"""When the agent's tools ask in a real run; `tests/workers` has what they refuse and what they keep."""

from __future__ import annotations

import pytest

from tests.agent.room import Room
from tests.scripted_models import calls, says

GOAL = "# Tools\n\n- [ ] `test -f tools/done.txt` passes\n"
FINISH = [calls("write_file", path="tools/done.txt", content="done\n"), says("Done.")]


@pytest.mark.slow
@pytest.mark.conformance("A2", "A10")
def test_the_goal_and_what_runs_by_itself_ask_even_where_commands_need_not(room: Room) -> None:
    room.configure(approve="ask")
    room.write("tools/.envrc", "export A=1\n")
    weaker = GOAL.replace("tools/done.txt", "tools/.envrc")
    room.play(
        worker=[
            calls("read_file", path="asks.goal.md"),
            calls("write_file", path="asks.goal.md", content=weaker),
            calls("read_file", path="tools/.envrc"),
            calls("edit_file", path="tools/.envrc", old="A=1", new="A=2"),
            *FINISH,
        ]
    )
    (room.root / "tools/done.txt").unlink(missing_ok=True)
    run_id = room.start("asks", GOAL)
    room.accept(run_id)
    first = room.waiting(run_id)
    assert (first["kind"], first["tool"]) == ("approval", "write_file")
    assert "+- [ ] `test -f tools/.envrc` passes" in first["preview"]
    room.answer(run_id, first, "deny")
    second = room.waiting(run_id)
    assert second["tool"] == "edit_file"
    room.answer(run_id, second, "approve")
    last = room.end(run_id)
    assert last["status"] == "complete"
    room.sound()
    assert (room.root / "asks.goal.md").read_text() == GOAL
    assert (room.root / "tools/.envrc").read_text() == "export A=2\n"
