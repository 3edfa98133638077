"""An agent's hook, from what it sends to what it is answered, with the real engine."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from donewhen.app.gate import read_record
from tests.gate.place import Place

GOAL = "# Goal\n\n- [ ] It is done\n  - check: `grep -q done product.txt`\n"
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TEST = """import unittest
from calc import add


class Adds(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(2, 3), 5)
"""
CHEAT = TEST.replace("add(2, 3), 5", "5, 5")


def adding(folder: Path, product: str) -> Place:
    """A workspace with tests that pass where the product is right."""
    place = Place(folder)
    place.write("GOAL.md", "# Goal\n\n- [ ] It adds\n  - check: `python -m unittest tests.test_calc`\n")
    place.write("calc.py", product)
    place.write("tests/__init__.py", "")
    place.write("tests/test_calc.py", TEST)
    return place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.write("GOAL.md", GOAL)
    made.write("product.txt", "to do\n")
    return made


def test_an_agent_is_sent_back_with_what_is_unproven_and_may_stop_once_it_is_proven(place: Place) -> None:
    assert place.start().answer == {}
    place.write("product.txt", "nearly\n")
    back = place.stop()
    assert (back.code, back.answer["decision"]) == (0, "block")
    assert "R1 (unmet): It is done" in back.block
    assert "grep -q done product.txt" in back.block
    place.write("product.txt", "done\n")
    done = place.stop(stop_hook_active=True)
    assert (done.block, place.statuses()) == ("", ["complete"])
    assert "the goal is proven (1 of 1" in done.note


@pytest.mark.slow
def test_a_fresh_proof_is_told_without_another_look(place: Place) -> None:
    place.start()
    place.write("product.txt", "done\n")
    place.stop()
    ledger = next(place.state.glob("workspaces/*/ledger.sqlite"))
    moved = ledger.rename(ledger.with_name("elsewhere"))
    assert "the goal is proven" in place.stop().note
    moved.rename(ledger)
    place.write("product.txt", "broken again\n")
    assert "R1 (unmet)" in place.stop().block


def test_it_gives_up_where_nothing_changed_between_two_stops(place: Place) -> None:
    place.start()
    place.write("product.txt", "nearly\n")
    assert place.stop().block
    again = place.stop(stop_hook_active=True)
    assert again.block == ""
    assert "NOT proven" in again.note
    assert "nothing changed" in again.note
    place.write("product.txt", "nearer\n")
    assert place.stop().block  # it worked on: that is worth another look


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 2])
def test_the_run_says_that_the_agent_stopped_unproven_and_why(place: Place, limit: int) -> None:
    place.write("GOAL.md", f"---\nmax_iterations: {limit}\n---\n" + GOAL)
    place.start()
    place.write("product.txt", "nearly\n")
    assert place.stop().block
    if limit == 1:
        place.write("product.txt", "nearer\n")
    why = "it was sent back once in this session" if limit == 1 else "nothing changed since it was last sent back"
    for _ in range(2):
        assert not place.stop().block
        said = place.call("status").out
        assert re.search(rf"the agent stopped unproven at \d\d:\d\d: {why}", said), said
        assert "start the agent again to continue" in place.call("status").err
    place.write("product.txt", "done\n")
    assert "is proven" in place.stop("the next session").note
    assert "stopped unproven" not in place.call("status").out


@pytest.mark.parametrize("last", ["{", '{"hook_event_name": "Stop", "stop_hook_active": true}'])
def test_the_run_says_that_a_call_could_not_be_read_until_one_can(place: Place, last: str) -> None:
    place.start()
    assert place.call("gate", sent="{").block
    assert "an agent works on it" in place.call("status").out
    assert place.call("gate", sent=last).code == 1
    said = place.call("status").out
    assert re.search(r"the agent stopped unproven at \d\d:\d\d: the hook's call could not be read", said), said
    place.write("product.txt", "done\n")
    assert "is proven" in place.stop().note
    assert place.call("gate", sent=last).code == 1
    assert place.statuses() == ["complete"]


@pytest.mark.skipif(find_spec("litellm") is None, reason="a judge needs it")
def test_the_run_says_that_the_agent_stopped_where_it_could_not_be_checked(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write("GOAL.md", GOAL + "- [ ] It reads well\n")
    place.environ["DONEWHEN_JUDGE_MODEL"] = "openai/judge"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    place.start()
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "there is no key for openai/judge" in place.stop().note
    said = place.call("status").out
    assert re.search(r"stopped unproven at \d\d:\d\d: it could not be checked: there is no key for", said), said


@pytest.mark.slow
def test_a_session_is_sent_back_no_more_often_than_the_goal_says(place: Place) -> None:
    place.write("GOAL.md", "---\nmax_iterations: 2\n---\n" + GOAL)
    place.start()
    said = []
    for number in range(4):
        place.write("product.txt", f"try {number}\n")
        said.append(place.stop())
    assert [bool(one.block) for one in said] == [True, True, False, False]
    assert "sent back 2 times" in said[2].note
    assert place.stop("another session").block  # the bound is one session's


def test_without_a_goal_it_says_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for said in (place.start(), place.stop()):
        assert (said.code, said.answer, said.err) == (0, {}, "")
    assert not place.state.exists()


GONE = "The goal file {} was deleted by the worker"
EASY = GOAL.replace("grep -q done product.txt", "true")


def deletes(root: Path, goal: str) -> None:
    (root / goal).unlink()


def renames(root: Path, goal: str) -> None:
    (root / goal).rename(root / "OTHER.md")


def renames_to_another_goal(root: Path, goal: str) -> None:
    (root / goal).rename(root / "b.goal.md")


def joins(root: Path, goal: str) -> None:
    shutil.copy(root / goal, root / "b.goal.md")


def puts_before(root: Path, goal: str) -> None:
    (root / "GOAL.md").write_text(EASY, encoding="utf-8")


@pytest.mark.parametrize(
    ("goal", "act", "said"),
    [
        ("GOAL.md", deletes, GONE),
        ("GOAL.md", renames, GONE),
        ("a.goal.md", renames_to_another_goal, GONE),
        ("a.goal.md", joins, "R1 (unmet)"),
        ("a.goal.md", puts_before, "R1 (unmet)"),
    ],
)
@pytest.mark.parametrize("named", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_an_agent_is_held_to_the_goal_that_it_began_with(
    tmp_path: Path, goal: str, act: Callable[[Path, str], None], said: str, named: bool
) -> None:
    place = Place(tmp_path, named=named)
    place.write(goal, GOAL)
    place.start()
    act(place.root, goal)
    back = place.stop()
    assert f"The goal in {goal} is not proven yet" in back.block
    assert said.format(goal) in back.block
    let_go = place.stop(stop_hook_active=True)
    assert (let_go.block, "NOT proven" in let_go.note) == ("", True)
    place.named = True
    assert "the agent stopped unproven" in place.call("status").out
    place.write(goal, GOAL)
    place.write("product.txt", "done\n")
    assert "is proven" in place.stop().note


def test_a_run_that_a_person_stopped_holds_no_agent_to_a_goal_that_is_gone(place: Place) -> None:
    place.start()
    (place.root / "GOAL.md").unlink()
    place.forget_agents()
    assert place.call("stop", read_record(place.root, place.state).runs["GOAL.md"]).code == 0
    assert place.stop().answer == {}


def test_a_new_agent_may_begin_with_another_goal(place: Place) -> None:
    place.start()
    (place.root / "GOAL.md").rename(place.root / "b.goal.md")
    place.forget_agents()
    place.start("the next session")
    back = place.stop("the next session")
    assert "The goal in b.goal.md is not proven yet" in back.block
    assert "goal_file" not in back.block


def test_of_an_agent_that_is_held_no_one_is_told_to_resume_it(place: Place) -> None:
    assert place.stop().block
    said = place.call("status").err
    assert "the agent continues in its own session" in said
    assert "donewhen resume" not in said


@pytest.mark.parametrize(
    ("sent", "wrong"),
    [
        ("", "nothing on standard input"),
        ("{", "isn't JSON"),
        ("[1]", "not an object"),
        ('{"hook_event_name": "PreToolUse", "session_id": "s"}', "PreToolUse"),
        ('{"hook_event_name": "Stop"}', "session_id"),
    ],
)
def test_a_call_that_no_form_knows_holds_the_agent_once_and_says_why(place: Place, sent: str, wrong: str) -> None:
    held = place.call("gate", sent=sent)
    assert (held.code, held.answer["decision"]) == (0, "block")
    assert held.answer["hookSpecificOutput"]["reason"] == held.block
    assert wrong in held.block
    assert "donewhen check GOAL.md" in held.block
    again = place.call("gate", sent=sent)
    assert (again.code, again.answer) == (1, {})
    for said in (held, again):
        assert wrong in said.err
        assert "donewhen gate install" in said.err


def test_a_person_who_types_it_is_told_what_starts_it_and_nobody_is_held(place: Place) -> None:
    for words in (("gate",), ("gate", "--json")):
        said = place.call(*words, typed=["never read"])
        assert (said.code, said.out) == (1, "")
        assert "is started by an agent's hook" in said.err
        assert "donewhen gate install" in said.err
    assert not place.state.exists()


def test_a_call_that_no_form_knows_is_answered_in_the_form_of_the_agent_that_is_named(place: Place) -> None:
    held = place.call("gate", "--agent", "cursor", sent={"event": "finished", "chat": 1})
    assert "could not read" in held.answer["followup_message"]


def test_a_start_that_no_form_knows_does_not_let_the_stop_go(place: Place) -> None:
    for event in ("begins", "ends"):
        assert place.call("gate", sent={"hook_event_name": event, "session_id": "s"}).block
    assert not place.call("gate", sent={"hook_event_name": "ends", "session_id": "s"}).block


@pytest.mark.parametrize("sent", ["", "{", '{"hook_event_name": "Stop"}'])
def test_without_a_goal_a_call_that_no_form_knows_is_an_error_alone(tmp_path: Path, sent: str) -> None:
    said = Place(tmp_path).call("gate", sent=sent)
    assert (said.code, said.answer) == (1, {})


def test_a_call_that_no_form_knows_lets_the_agent_stop_where_the_settings_can_not_be_read(place: Place) -> None:
    place.named = False
    place.write("pyproject.toml", "[tool.donewhen]\nmax_iterations = 'many'\n")
    said = place.call("gate", sent={"hook_event_name": "ends", "session_id": "s", "cwd": str(place.root)})
    assert (said.code, said.answer) == (1, {})
    assert "max_iterations" in said.err


def test_a_wrong_option_never_ends_with_the_code_that_blocks_agents(place: Place) -> None:
    assert place.call("gate", "--agent", "nobody", sent="{}").code == 1
    assert place.call("gate", "--no-such-option", sent="{}").code == 1
    place.write("GOAL.md", "---\nmax_iterations: many\n---\n" + GOAL)
    said = place.stop()
    assert (said.code, said.block) == (0, "")
    assert "could not check" in said.note


def test_a_person_who_stopped_the_agent_or_the_run_is_respected(place: Place) -> None:
    place.start()
    cursor = {"conversation_id": "c", "workspace_roots": [str(place.root)], "hook_event_name": "stop"}
    aborted = place.call("gate", sent={**cursor, "status": "aborted", "loop_count": 0})
    assert aborted.answer == {}
    assert place.stop(permission_mode="plan").answer == {}
    run = read_record(place.root, place.state).runs["GOAL.md"]
    place.forget_agents()  # a person's terminal comes from no agent
    assert place.call("stop", run).code == 0
    place.write("product.txt", "nearly\n")
    stopped = place.stop()
    assert stopped.block == ""
    assert "a person stopped the run" in stopped.note
    place.forget_agents()
    place.start("the next session")  # of another process: it begins anew
    assert place.stop("the next session").block


def test_a_person_pauses_the_run_while_an_agent_works(place: Place) -> None:
    place.start()
    run = read_record(place.root, place.state).runs["GOAL.md"]
    place.forget_agents()
    paused = place.call("pause", run)
    assert (paused.code, place.statuses()) == (0, ["paused"]), paused.err
    place.write("product.txt", "nearly\n")
    assert place.stop().block == ""


def test_inside_of_a_run_the_run_itself_looks(place: Place) -> None:
    place.environ["DONEWHEN_RUN_TOKEN"] = "of-a-run"
    place.start()
    assert place.stop().answer == {}
    assert not place.state.exists()


def test_an_edited_proof_is_refused_and_then_a_person_is_asked(tmp_path: Path) -> None:
    place = adding(tmp_path, WRONG)
    place.start()
    place.write("tests/test_calc.py", CHEAT)
    back = place.stop()
    assert "original_fails" in back.block
    assert "tests/test_calc.py" in back.block
    place.write("notes.txt", "It is done, really.\n")
    asked = place.stop()
    assert asked.block == ""
    assert "NOT proven" in asked.note
    assert "a person is asked" in asked.note
    assert place.statuses() == ["paused"]
    assert "NOT proven" in place.stop().note


@pytest.mark.slow
def test_work_after_a_proof_in_the_same_session_is_compared_with_its_start(tmp_path: Path) -> None:
    place = adding(tmp_path, WRONG)
    place.start()
    place.write("calc.py", RIGHT)
    assert "is proven" in place.stop().note
    place.hook("SessionStart", source="compact")
    place.write("calc.py", WRONG)
    place.write("tests/test_calc.py", CHEAT)
    assert "original_fails" in place.stop().block


@pytest.mark.slow
def test_a_goal_that_is_proven_at_the_start_is_held_to_how_it_was_then(tmp_path: Path) -> None:
    place = adding(tmp_path, RIGHT)
    place.start()
    assert "is proven" in place.stop().note  # nothing was done
    place.write("calc.py", WRONG)
    place.write("tests/test_calc.py", CHEAT)
    assert "original_fails" in place.stop().block


def test_what_is_held_out_is_tried_where_nothing_was_done_since_the_start(place: Place) -> None:
    hidden = f"[[hidden_checks]]\nworkspace = '{place.root}'\nname = 'Held out'\ncommand = 'false'\n"
    (place.folder / "no").write_text(hidden, encoding="utf-8")
    place.write("product.txt", "done\n")
    place.start()
    assert "held_out_fails" in place.stop().block
    assert "NOT proven" in place.stop().note


def test_a_start_that_is_known_is_not_begun_anew(place: Place) -> None:
    place.start()
    run = read_record(place.root, place.state).runs
    place.write("product.txt", "nearly\n")
    place.start("another")
    assert read_record(place.root, place.state).runs == run


def test_without_a_start_things_are_looked_at_as_they_stand(place: Place) -> None:
    assert "R1 (unmet)" in place.stop().block
    place.write("product.txt", "done\n")
    assert "is proven" in place.stop().note


def test_the_workspace_is_found_from_a_folder_inside_of_it(place: Place) -> None:
    place.named = False
    place.environ["DONEWHEN_STATE_DIR"] = str(place.state)
    (place.root / "src").mkdir()
    sent = {"hook_event_name": "Stop", "session_id": "s", "cwd": str(place.root / "src")}
    assert "R1 (unmet)" in place.call("gate", sent=sent).block


@pytest.mark.skipif(os.name != "posix", reason="sessions are POSIX's")
def test_no_act_of_a_person_comes_from_where_an_agent_is_at_work(tmp_path: Path) -> None:
    place = adding(tmp_path, WRONG)
    place.start()
    place.write("tests/test_calc.py", CHEAT)
    place.stop()
    run = read_record(place.root, place.state).runs["GOAL.md"]
    said = place.call("accept", run, "--all", "--reason", "fine")
    assert said.code != 0
    assert "only a person may accept" in said.err
    assert "original_fails" in json.dumps(json.loads(place.call("status", "--json").out)["integrity"])
