"""The worker `acp` with an agent of ours that behaves well, or wrongly in one way (`agent.py`)."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from acp import schema

from donewhen.core.calls import Message
from donewhen.core.errors import OverBudget, WorkerFailed
from donewhen.core.events import RunOptions
from donewhen.core.plugging import Halt, ToolOutcome, ToolUse
from donewhen.core.work import Answer, TurnResult
from donewhen.ports import Left, ToolDoer, Turn
from donewhen.workers.updates import Updates
from donewhen.workspace.rooms.plain import PlainRooms
from tests.tools import below
from tests.workers.agent_turns import Account, AgentContext, Files, worker_parts
from tests.workers.turns import Lingering, environment, turn

if TYPE_CHECKING:
    from donewhen.workers.acp.worker import AcpWorker

AGENT = Path(__file__).with_name("agent.py")
FIXED = "def add(a, b):\n    return a + b\n"


@dataclass
class Rig:
    """A folder with a sum that is wrong, and a person who allows everything, or gives `answers`."""

    root: Path
    reports: Path
    context: AgentContext

    def worker(self, way: str, **more: Any) -> AcpWorker:
        from donewhen.workers.acp.worker import AcpWorker  # takes a second, and each process collects this

        command = f"{shlex.quote(sys.executable)} {shlex.quote(str(AGENT))} {way}"
        variables = {**environment(), "REPORT": str(self.reports)}
        parts = worker_parts(
            RunOptions("acp", worker_command=command), environment=lambda: variables,
            mask=lambda text: text.replace("s3cret", "***"),
        )  # fmt: skip
        return AcpWorker(parts, **more)

    async def plays(self, way: str, given: Turn | None = None, **more: Any) -> TurnResult:
        return await self.worker(way, **more).work(given or turn(), self.context)

    def reported(self, name: str) -> Any:
        return json.loads((self.reports / name).read_text())

    @property
    def prompts(self) -> list[str]:
        return [json.loads(line) for line in Path(f"{self.reports}.prompts").read_text().splitlines()]

    @property
    def kinds(self) -> list[str]:
        return [name for name, _ in self.context.started]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    root = tmp_path / "work"
    root.mkdir()
    (root / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    return Rig(root, tmp_path / "reports", AgentContext(Files(root)))


# ---- a good agent


async def test_what_it_says_thinks_plans_does_and_costs_is_seen(rig: Rig) -> None:
    result = await rig.plays("good")
    assert (rig.root / "calc.py").read_text() == FIXED
    assert (result.claim.state, result.claim.text) == ("finished", "I repair the sum.Done: a plus.")
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.cached_tokens) == (105, 20, 5)
    assert result.usage.usd == 0.25
    assert rig.context.started == [
        ("think", "thought: I see. A minus."),
        ("plan", "plan: 1 of 2 done, now Repair"),
        ("edit_file", "Edit calc.py"),
    ]
    assert [message.text for message in rig.context.said if message.role == "assistant" and message.text] == [
        "I repair the sum.",
        "Done: a plus.",
    ]
    assert "[x] Look\n[>] Repair" in [message.text for message in rig.context.said]
    assert rig.context.streamed == "I repair the sum.Done: a plus."


async def test_a_tool_is_on_record_with_the_file_that_it_changes(rig: Rig) -> None:
    await rig.plays("good")
    calls = [call for message in rig.context.said for call in message.calls]
    assert json.loads(calls[-1].arguments) == {"path": "calc.py"}


async def test_its_files_go_through_ours(rig: Rig) -> None:
    await rig.plays("writes")
    assert (rig.root / "calc.py").read_text() == FIXED
    assert [use.tool for use in rig.context.uses] == ["write_file"]


async def test_it_reads_what_the_editor_holds_unsaved_and_does_not_overwrite_it(rig: Rig) -> None:
    rig.context.held["calc.py"] = "unsaved\n"
    await rig.plays("reads")
    assert rig.reported("read")["result"]["content"] == "unsaved\n"
    await rig.plays("writes")
    assert "unsaved" in rig.reported("write")["error"]["message"]
    assert "a - b" in (rig.root / "calc.py").read_text()


async def test_a_permission_is_asked_of_the_person_and_only_for_this_once(rig: Rig) -> None:
    await rig.plays("asks")
    assert [(one.tool, dict(one.input)) for one in rig.context.asked] == [("run_command", {"command": "make deploy"})]
    assert rig.reported("asked") == "yes"


async def test_what_a_person_turns_down_is_rejected_and_their_words_reach_the_agent(rig: Rig) -> None:
    rig.context.answers = [Answer("text", "Use make staging."), Answer("deny")]
    await rig.plays("asks")
    assert rig.reported("asked") == "no"
    assert "Use make staging." in rig.prompts[1]


async def test_a_changed_command_is_not_allowed_since_the_agent_would_run_its_own(rig: Rig) -> None:
    rig.context.answers = [Answer("edit", input={"command": "make staging"}), Answer("deny")]
    await rig.plays("asks")
    assert rig.reported("asked") == "no"
    assert "make staging" in rig.prompts[1]


async def test_an_edit_in_the_workspace_needs_no_person_and_one_outside_does(rig: Rig) -> None:
    await rig.plays("asks_inside")
    assert (rig.context.asked, rig.reported("asked")) == ([], "yes")
    rig.context.answers = [Answer("deny")]
    await rig.plays("asks_outside")
    assert len(rig.context.asked) == 1
    assert rig.reported("asked") == "no"


async def test_its_terminals_run_here_and_what_was_allowed_is_not_asked_again(rig: Rig) -> None:
    await rig.plays("runs")
    answer, ended, shown, released = rig.reported("ran")
    assert (answer, ended["exitCode"], shown["output"]) == ("yes", 0, "one\ntwo\n")
    assert "there is no terminal" in released["error"]["message"]
    assert len(rig.context.asked) == 1
    assert [(one.command, one.exit_code) for one in rig.context.observed] == [("echo one; echo two", 0)]


async def test_its_session_goes_on_and_what_it_tells_again_is_not_told_twice(rig: Rig) -> None:
    rig.context.said.append(Message("system", "session of the agent: s-old"))
    result = await rig.plays("goes_on", turn(2))
    assert result.claim.text == "loaded ['s-old']"


async def test_a_hint_reaches_it_in_the_same_turn(rig: Rig) -> None:
    worker = rig.worker("good")
    rig.context.hints.append("Mind the zero.")
    kept = rig.context.keep

    async def keep(message: Message) -> None:
        if "Mind the zero." in message.text:
            rig.context.hints.clear()
        await kept(message)

    rig.context.keep = keep  # as the engine: what was kept is read
    await worker.work(turn(), rig.context)
    assert len(rig.prompts) == 2
    assert "Mind the zero." in rig.prompts[1]


async def test_a_plugin_that_halts_in_a_permission_halts_the_turn(rig: Rig) -> None:
    async def halting(use: ToolUse, do: ToolDoer) -> ToolOutcome:
        raise Halt("the quota is used up")

    rig.context.wrap = halting
    with pytest.raises(Halt, match="quota"):
        await rig.plays("asks")


async def test_its_end_line_is_its_claim(rig: Rig) -> None:
    result = await rig.plays("blocked")
    assert (result.claim.state, result.claim.text) == ("blocked", "no key")


# ---- agents that misbehave


@pytest.mark.parametrize(
    ("way", "says"),
    [
        ("crashes", r"ended before it answered, with exit code 5:\nno such module: left_pad"),
        ("unable", r"failed before it was asked anything: no such setting"),
        ("newer", r"speaks version 99 of the Agent Client Protocol"),
        ("elsewise", r"its answer to initialize has none, or a wrong one, of: protocolVersion"),
        ("nameless", r"opened a session without an id"),
        ("locked", r"is not logged in"),
        ("dies", r"(?s)ended in the middle of its turn, with exit code 3:\nout of cheese"),
        ("babbles", r"no messages of the protocol, such as: welcome to the agent"),
        ("bursts", r"a message of more than 64 MB"),
        ("refuses", r"refused to go on: I would rather not"),
        ("errs", r"the agent failed: Internal error: no credit"),
    ],
)
async def test_a_broken_agent_is_a_failed_turn_in_clear_words(rig: Rig, way: str, says: str) -> None:
    with pytest.raises(WorkerFailed, match=says):
        await rig.plays(way)


@pytest.mark.parametrize("way", ["newer", "elsewise"])
async def test_an_agent_of_another_protocol_is_not_tried_again(rig: Rig, way: str) -> None:
    with pytest.raises(WorkerFailed) as failed:
        await rig.plays(way)
    assert failed.value.final


async def test_a_turn_that_ends_for_a_reason_that_nobody_knows_has_ended(rig: Rig) -> None:
    assert (await rig.plays("tires")).claim.text == "That is all."


@pytest.mark.parametrize("way", ["mute", "closes"])
async def test_an_agent_that_never_answers_is_ended(rig: Rig, way: str) -> None:
    with pytest.raises(WorkerFailed, match=r"did not answer initialize within|closed its output"):
        await rig.plays(way, starting=0.5)
    assert not _agents()


async def test_an_agent_that_falls_silent_is_ended(rig: Rig) -> None:
    with pytest.raises(WorkerFailed, match="said nothing for"):
        await rig.plays("silent", silence=0.5)
    assert not _agents()


async def test_a_program_that_is_not_there_is_named_with_how_to_get_it(rig: Rig) -> None:
    from donewhen.workers.acp.worker import AcpWorker  # as above

    worker = AcpWorker(worker_parts(RunOptions("acp", worker_command="no-such-folder/codex-acp")))
    with pytest.raises(WorkerFailed, match="npm install -g @agentclientprotocol/codex-acp"):
        await worker.work(turn(), rig.context)


class Poor(Account):
    """Half a dollar is left."""

    def left(self) -> Left:
        return Left(usd=0.5)


async def test_what_its_session_had_cost_before_is_not_what_the_turn_spends(rig: Rig) -> None:
    rig.context.calls = Poor(rig.context)
    updates = Updates(rig.context, "acp-2-0", "agent")
    following = asyncio.ensure_future(updates.follow())

    async def costs(usd: float) -> None:
        cost = schema.Cost(amount=usd, currency="USD")
        updates.take(schema.UsageUpdate(session_update="usage_update", used=1, size=1, cost=cost))
        await updates.caught_up()

    updates.replaying = True
    await costs(5.0)
    updates.replaying = False
    await costs(5.4)
    assert updates.failure is None
    await costs(5.6)
    assert isinstance(updates.failure, OverBudget)
    following.cancel()


async def test_what_it_greets_with_is_passed_over(rig: Rig) -> None:
    assert (await rig.plays("greets")).claim.text.endswith("a plus.")


async def test_a_flood_of_updates_is_bounded(rig: Rig) -> None:
    begun = time.monotonic()
    result = await rig.plays("floods")
    assert len(result.claim.text) < 5_000
    assert len(rig.context.started) <= 2
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("way", ["loud", "huge", "answers_twice"])
async def test_much_on_stderr_a_long_message_or_needless_answers_do_no_harm(rig: Rig, way: str) -> None:
    assert (await rig.plays(way)).claim.state == "finished"


async def test_updates_out_of_order_and_requests_that_nobody_knows_are_answered(rig: Rig) -> None:
    result = await rig.plays("out_of_order")
    assert result.claim.text == "So it went."
    assert rig.reported("unknown")["error"]["code"] == -32601
    assert rig.reported("wrong")["error"]["code"] == -32602
    assert [step.ok for step in rig.context.steps] == [True, False]


async def test_nothing_outside_of_the_workspace_is_written_for_it(rig: Rig) -> None:
    await rig.plays("wanders")
    assert all("error" in answer for answer in rig.reported("wander"))
    assert not (rig.root.parent / "outside.txt").exists()
    assert not (rig.root / ".git").exists()


async def test_secrets_are_not_read_for_it(rig: Rig) -> None:
    (rig.root / ".env").write_text("KEY=s3cret\n")
    await rig.plays("pries")
    passwd, key, env = rig.reported("pry")
    assert "outside of the workspace" in passwd["error"]["message"]
    assert "outside of the workspace" in key["error"]["message"]
    assert env["result"]["content"] == "KEY=***\n"


async def test_a_terminal_that_never_ends_ends_with_the_turn(rig: Rig) -> None:
    await rig.plays("endless_terminal")
    assert not below(psutil.Process().pid, "sleep")


@pytest.mark.parametrize("way", ["waits", "stubborn"])
async def test_cancelling_takes_at_most_two_seconds_and_leaves_nothing(rig: Rig, way: str) -> None:
    working = asyncio.create_task(rig.plays(way))
    await rig.context.hears("Working")
    assert await _seconds_to_cancel(working) < 20
    assert not _agents()
    if way == "waits":
        assert rig.reported("after") == "cancelled"


async def test_it_is_gone_with_its_turn_however_often_that_is_cancelled(rig: Rig) -> None:
    from donewhen.workers.acp.worker import AcpWorker  # as above

    lingering = Lingering()
    parts = worker_parts(RunOptions("acp", worker_command="agent"), rooms=PlainRooms(lingering))
    assert not await lingering.outlives(AcpWorker(parts).work(turn(), rig.context))


async def test_a_turn_without_an_environment_fails_and_leaves_nothing_running(rig: Rig) -> None:
    from donewhen.workers.acp.worker import AcpWorker  # as above

    def none() -> dict[str, str]:
        raise ValueError("no environment")

    parts = worker_parts(RunOptions("acp", worker_command="agent"), environment=none)
    before = asyncio.all_tasks()
    with pytest.raises(ValueError, match="no environment"):
        await AcpWorker(parts).work(turn(), rig.context)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_an_open_permission_is_answered_when_the_turn_is_cancelled(rig: Rig) -> None:
    asked = asyncio.Event()

    async def never(use: ToolUse, do: ToolDoer) -> ToolOutcome:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    rig.context.wrap = never
    working = asyncio.create_task(rig.plays("asks_and_waits"))
    await asked.wait()
    assert await _seconds_to_cancel(working) < 20
    assert rig.reported("asked") == "cancelled"


async def _seconds_to_cancel(working: asyncio.Task[TurnResult]) -> float:
    begun = time.monotonic()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    return time.monotonic() - begun


def _agents() -> list[psutil.Process]:
    return below(psutil.Process().pid, str(AGENT))
