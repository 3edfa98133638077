"""Agents of known packages, told by what they have: here they are stand-ins of the same shape, each as small as its
package lets it be. `test_real_agents.py` has the packages themselves."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from donewhen import GoalController, GoalLoop, GoalMiddleware, JudgeConfig, UsageError, judge_goal, run_goal, start_goal
from donewhen.extras.lookalikes.loop import judge_from
from donewhen.workers.callables.known import answer_of, known_agent, plain_messages
from tests.tools import each_row


class Strands:
    """`strands.Agent`: callable, with its own messages, metrics that grow, and a cancel that ends it softly."""

    def __init__(self, *answers: str, forever: bool = False) -> None:
        self.messages: list[Any] = []
        self.model = SimpleNamespace(config={"model_id": "gpt-5.5"}, client_args={"base_url": "http://x/v1"})
        self.event_loop_metrics = SimpleNamespace(accumulated_usage={"inputTokens": 0, "outputTokens": 0})
        self.calls = 0
        self.began = threading.Event()
        self._answers = iter(answers)
        self._forever = forever
        self._cancelled = False

    def __call__(self, prompt: Any) -> Any:
        raise AssertionError("it is awaited where it can be")

    def cancel(self) -> None:
        self._cancelled = True

    async def invoke_async(self, prompt: Any, **named: Any) -> Any:
        self.messages.append({"role": "user", "content": [{"text": prompt}]})
        while True:
            self.calls += 1
            self.began.set()
            used = self.event_loop_metrics.accumulated_usage
            used["inputTokens"] += 100
            used["outputTokens"] += 10
            if not self._forever or self._cancelled:
                break
            await asyncio.sleep(0)
        message = {"role": "assistant", "content": [{"text": next(self._answers, "done")}]}
        self.messages.append(message)
        return StrandsResult(message, self.event_loop_metrics)


class StrandsResult:
    def __init__(self, message: Any, metrics: Any) -> None:
        self.stop_reason, self.message, self.metrics = "end_turn", message, metrics

    def __str__(self) -> str:
        return self.message["content"][0]["text"] + "\n"


class OpenAIModel(SimpleNamespace):
    """The name of the class is what tells the provider."""


class Conversation:
    """`openhands.sdk.Conversation`: it is told, it runs, and its events grow."""

    def __init__(self, *answers: str) -> None:
        self.events: list[Any] = [event("agent", "system", "You are an agent.")]
        self.state = SimpleNamespace(events=self.events, execution_status=SimpleNamespace(value="idle"))
        self.agent = SimpleNamespace(llm=SimpleNamespace(model="openai/gpt-5.5", base_url="http://x/v1", api_key="k"))
        self.interrupted = False
        self._answers = iter(answers)

    @property
    def conversation_stats(self) -> Any:
        used = SimpleNamespace(prompt_tokens=100 * len(self.events), completion_tokens=len(self.events))
        metrics = SimpleNamespace(accumulated_token_usage=used, accumulated_cost=0.01 * len(self.events))
        return SimpleNamespace(get_combined_metrics=lambda: metrics)

    def send_message(self, message: str) -> None:
        self.events.append(event("user", "user", message))

    def run(self) -> None:
        raise AssertionError("it is awaited where it can be")

    async def arun(self) -> None:
        call = SimpleNamespace(id="c1", name="bash", arguments='{"command": "pytest"}')
        self.events.append(event("agent", "assistant", "I look.", tool_calls=[call], tool_name="bash"))
        self.events.append(event("environment", "tool", "1 passed", tool_call_id="c1"))
        finish = SimpleNamespace(id="c2", name="finish", arguments="{}")
        done = event("agent", "assistant", "", tool_calls=[finish], tool_name="finish")
        done.action = SimpleNamespace(message=next(self._answers, "done"))
        self.events.append(done)

    def interrupt(self) -> None:
        self.interrupted = True


def event(source: str, role: str, text: str, *, tool_name: str = "", **more: Any) -> Any:
    message = SimpleNamespace(role=role, content=[SimpleNamespace(type="text", text=text)], **more)
    return SimpleNamespace(source=source, timestamp="", tool_name=tool_name, to_llm_message=lambda: message)


class CubeLoop:
    """`cubeloop.Agent`: prompt returns the id of a run."""

    def __init__(self, *answers: str) -> None:
        cost = SimpleNamespace(input=2.0, output=10.0, cache_read=0.2, cache_write=0.0)
        model = SimpleNamespace(id="gpt-5.5", provider_id="openai", cost=cost)
        self.state = SimpleNamespace(messages=[], extra={}, model=model)
        self.aborted = False
        self._answers = iter(answers)

    async def prompt(self, message: str) -> str:
        text = SimpleNamespace(type="text", text=message)
        call = SimpleNamespace(type="tool_call", id="c1", name="bash", arguments={"command": "pytest"})
        result = SimpleNamespace(type="text", text="1 passed")
        said = SimpleNamespace(type="text", text=next(self._answers, "done"))
        used = SimpleNamespace(input_tokens=1000, output_tokens=100, cache_read_tokens=0, cache_write_tokens=0)
        self.state.messages += [
            SimpleNamespace(role="user", content=[text], run_id="r", usage=None),
            SimpleNamespace(role="assistant", content=[call], run_id="r", usage=used),
            SimpleNamespace(role="tool_result", content=[result], run_id="r", tool_call_id="c1", usage=None),
            SimpleNamespace(role="assistant", content=[said], run_id="r", usage=None),
        ]
        return "b5c629da0f0e4a2f9a2b8f6c3b5d7e11"

    def abort(self) -> None:
        self.aborted = True


class Pydantic:
    """`pydantic_ai.Agent`: nothing is remembered that isn't given."""

    def __init__(self, *answers: Any) -> None:
        self.model = "openai-responses:gpt-5.5"
        self.histories: list[int] = []
        self._answers = iter(answers)

    async def run(self, prompt: str, *, message_history: Any = ()) -> Any:
        self.histories.append(len(message_history))
        output = next(self._answers)
        asked = SimpleNamespace(kind="request", parts=[SimpleNamespace(part_kind="user-prompt", content=prompt)])
        said = SimpleNamespace(kind="response", parts=[SimpleNamespace(part_kind="text", content=str(output))])
        usage = SimpleNamespace(input_tokens=50, output_tokens=5, cache_read_tokens=0, cost=None)
        return SimpleNamespace(output=output, all_messages=lambda: [*message_history, asked, said], usage=usage)

    def run_sync(self, prompt: str) -> Any:
        raise AssertionError("it is awaited where it can be")

    def iter(self) -> Iterator[Any]:
        raise NotImplementedError


class Graph:
    """A compiled graph of LangGraph's, without a checkpointer unless it is given one."""

    def __init__(self, *answers: str, checkpointer: Any = None) -> None:
        self.nodes: dict[str, Any] = {}
        self.checkpointer = checkpointer
        self.asked: list[int] = []
        self.way = ""
        self._answers = iter(answers)

    def get_state(self, config: Any) -> Any:
        raise NotImplementedError

    async def ainvoke(self, given: Any, config: Any = None) -> Any:
        self.way = "ainvoke"
        return self._invoked(given)

    def invoke(self, given: Any, config: Any = None) -> Any:
        self.way = "invoke"
        return self._invoked(given)

    def _invoked(self, given: Any) -> Any:
        self.asked.append(len(given["messages"]))
        known = [lang("human", one["content"]) if isinstance(one, dict) else one for one in given["messages"]]
        used = {"input_tokens": 30, "output_tokens": 3}
        return {"messages": [*known, lang("ai", next(self._answers), usage_metadata=used)]}


def lang(kind: str, content: Any, **more: Any) -> Any:
    return SimpleNamespace(type=kind, content=content, additional_kwargs={}, **more)


def answers_well(response: Any, agent: Any) -> Any:
    return "good" in response or {"passed": False, "feedback": "be good"}


AGENTS: dict[str, Callable[..., Any]] = {
    "Strands agent": Strands,
    "OpenHands conversation": Conversation,
    "CubeLoop agent": CubeLoop,
    "PydanticAI agent": Pydantic,
    "LangGraph graph": Graph,
}


@each_row("kind", AGENTS)
def test_an_agent_is_a_worker_as_it_is(kind: str) -> None:
    agent = AGENTS[kind]("a poor answer", "a good answer")
    assert known_agent(agent).kind == kind
    outcome = run_goal("Answer well", agent, checks=[answers_well], max_iterations=3)
    assert (outcome.status, outcome.iterations, outcome.response) == ("complete", 2, "a good answer")
    assert outcome.worker_usage.tokens > 0
    assert outcome.as_dict()["response"] == "a good answer"


def test_what_an_agent_cost_is_read_once_and_its_price_only_where_it_knows_it() -> None:
    known = {"Strands agent": (220, None), "CubeLoop agent": (2200, 0.006), "PydanticAI agent": (110, None)}
    for kind, (tokens, usd) in known.items():
        outcome = run_goal("Answer well", AGENTS[kind]("poor", "good"), checks=[answers_well], max_iterations=3)
        assert (outcome.worker_usage.tokens, outcome.cost) == (tokens, pytest.approx(usd) if usd else None), kind
    outcome = run_goal("Answer well", Conversation("good"), checks=[answers_well])
    assert outcome.cost == pytest.approx(0.04)  # four events: what there was before is not this run's


def test_an_agent_of_openai_s_runs_through_the_runner_of_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Runner:
        @staticmethod
        async def run(agent: Any, given: Any) -> Any:
            asked.append(given)
            items = [{"role": "user", "content": "hi"}, {"type": "function_call_output", "call_id": "c", "output": "1"}]
            used = SimpleNamespace(input_tokens=7, output_tokens=1, input_tokens_details=None)
            said = "good" if len(asked) > 1 else "poor"
            context = SimpleNamespace(usage=used)
            return SimpleNamespace(final_output=said, to_input_list=lambda: items, context_wrapper=context)

    agent = type("Agent", (SimpleNamespace,), {"__module__": "agents_of_a_test.agent"})(
        name="a", instructions="", handoffs=[], tools=[], model="gpt-5.5"
    )
    assert known_agent(agent) is None
    monkeypatch.setitem(sys.modules, "agents_of_a_test", SimpleNamespace(Runner=Runner))
    outcome = run_goal("Answer well", agent, checks=[answers_well], max_iterations=3)
    assert (outcome.status, outcome.worker_usage.tokens) == ("complete", 16)
    assert len(asked[1]) == 3  # the conversation goes on
    assert judge_from(agent, GoalLoop("x")).model == "openai/gpt-5.5"


def test_a_validator_in_the_documented_form_of_strands_reads_a_result_of_theirs() -> None:
    def word_count(response: Any, agent: Any) -> Any:
        words = sum(len(block["text"].split()) for block in response["content"] if "text" in block)
        assert str(response).split() == " ".join(block["text"] for block in response["content"]).split()
        assert agent.messages[-1]["role"] == "assistant"
        assert response.stop_reason == "end_turn"
        return True if words <= 3 else {"passed": False, "feedback": f"{words} words"}

    agent = Strands("one two three four five", "one two")
    loop = GoalLoop(word_count, max_attempts=3)
    returned = loop.attach(agent)("Count.")
    assert isinstance(returned, StrandsResult)
    assert [one.feedback for one in loop.last_result(agent).attempts] == ["5 words", None]

    plain = GoalLoop(word_count, max_attempts=2)
    worker = Strands("one two")
    plain.attach(lambda prompt: asyncio.run(worker.invoke_async(prompt)))  # a result handed on by somebody's own code
    outcome = run_goal("Count", lambda prompt: asyncio.run(worker.invoke_async(prompt)), checks=[short_message])
    assert (outcome.status, outcome.worker_usage.tokens) == ("complete", 110)


def short_message(response: Any, agent: Any) -> bool:
    return response["content"][0]["text"] == "one two" and str(response) == "one two"


def test_every_way_by_which_an_agent_is_called_goes_through_the_loop() -> None:
    agent = Pydantic("poor", "good", "poor", "good")
    loop = GoalLoop(answers_well, max_attempts=2)
    looped = loop.attach(agent)
    assert looped.run_sync("Answer.").output == "good"
    assert asyncio.run(looped.run("Answer.")).output == "good"
    assert agent.histories == [0, 2, 0, 2]
    other = GoalLoop(answers_well, max_attempts=2)
    bound = Pydantic("good")
    assert asyncio.run(other.attach(bound.run)("Answer.")).output == "good"


def test_without_context_a_retry_starts_from_the_original_conversation() -> None:
    agent = Pydantic("poor", "good")
    GoalLoop(answers_well, max_attempts=2, preserve_context=False).attach(agent)("Answer.")
    assert agent.histories == [0, 0]
    remembered = CubeLoop("poor", "good")
    run_goal("Answer", remembered, checks=[answers_well], preserve_context=False, max_iterations=2)
    assert len(remembered.state.messages) == 4


@each_row(
    "agent, model",
    [
        (Strands(), None),
        (Conversation(), "openai/gpt-5.5"),
        (CubeLoop(), "openai/gpt-5.5"),
        (Pydantic(), "openai/gpt-5.5"),
        (Graph(), None),
    ],
)
def test_a_goal_in_words_takes_the_model_that_the_agent_has(agent: Any, model: str | None) -> None:
    if model is None:
        with pytest.raises(UsageError, match="has no name that is known here"):
            judge_from(agent, GoalLoop("x"))
    else:
        assert judge_from(agent, GoalLoop("x")).model == model


def test_the_judge_reaches_the_agent_s_model_where_the_agent_does() -> None:
    agent = Strands()
    agent.model = OpenAIModel(config={"model_id": "gpt-5.5"}, client_args={"base_url": "http://x/v1", "api_key": "sk"})
    judge = judge_from(agent, GoalLoop("x", judge=JudgeConfig(system_prompt="Be strict.")))
    assert judge == JudgeConfig("openai/gpt-5.5", "Be strict.", api_base="http://x/v1", api_key="sk")
    assert judge_from(agent, GoalLoop("x", judge=JudgeConfig(api_base="http://y"))).api_key is None


@pytest.mark.parametrize("agent", [CubeLoop("poor", "good"), Conversation("poor", "good")])
def test_an_evaluator_without_a_workspace_reads_the_conversation(agent: Any) -> None:
    read: list[Any] = []

    def evaluator(task: Any) -> Any:
        read.append(task)
        return {"achieved": len(read) == 2, "reason": "not yet"}

    wrapped = GoalMiddleware(evaluator).attach(agent)
    asyncio.run(wrapped.prompt("/goal be good"))
    shown = read[-1].response + str(read[-1].messages)
    assert "good" in shown
    assert "1 passed" in shown
    assert "b5c629da" not in shown
    assert wrapped.state.extra["goal"]["status"] == "achieved"
    if isinstance(agent, CubeLoop):
        assert agent.state.extra is wrapped.state.extra


def test_events_of_a_conversation_are_claims_with_tool_calls_and_results() -> None:
    conversation = Conversation("all good")
    asyncio.run(conversation.arun())
    plain = plain_messages(conversation.state.events)
    assert [one["role"] for one in plain] == ["system", "assistant", "tool", "assistant"]
    assert plain[1]["tool_calls"][0]["function"] == {"name": "bash", "arguments": '{"command": "pytest"}'}
    assert (plain[2]["content"], plain[2]["tool_call_id"], plain[3]["content"]) == ("1 passed", "c1", "all good")

    seen: list[Any] = []

    def judge(task: Any) -> bool:
        seen.append(task.messages)
        return True

    judge_goal(judge, "It is good", files={"a.py": ""}, messages=conversation.state.events)
    assert "1 passed" in str(seen[0])
    controller = GoalController("Be good", judge)
    controller.start()
    assert controller.on_run_finished(conversation.state.events).outcome.response == "all good"


def test_raw_results_of_any_callable_are_text_and_never_a_repr() -> None:
    state = {"messages": [lang("human", "hi"), lang("ai", [{"type": "text", "text": "good"}])]}
    for raw in (state, state["messages"][-1], StrandsResult({"content": [{"text": "good"}]}, None)):
        assert answer_of(raw).strip() == "good"
        outcome = run_goal("Answer well", lambda prompt, raw=raw: raw, checks=[answers_well])
        assert (outcome.status, str(outcome.response).strip()) == ("complete", "good")
    assert [answer_of(one) for one in ("text", {"messages": []}, {"output": 1}, [{"role": "user"}], object())] == [
        None
    ] * 5


def test_what_only_makes_up_what_it_is_asked_for_is_no_agent() -> None:
    class Proxy:
        def __getattr__(self, name: str) -> Any:
            return []

        def __call__(self, prompt: str) -> str:
            return "good"

    assert known_agent(Proxy()) is None
    assert known_agent(GoalLoop(answers_well).attach(lambda prompt: "good")) is None
    assert known_agent(lambda prompt: "good") is None


def test_a_graph_whose_checkpointer_can_not_be_awaited_is_invoked() -> None:
    class Saver:
        def get_tuple(self, config: Any) -> None:
            return None

        async def aget_tuple(self, config: Any) -> None:
            raise NotImplementedError

    graph = Graph("poor", "good", checkpointer=Saver())
    outcome = run_goal("Answer well", graph, checks=[answers_well], max_iterations=2)
    assert (outcome.status, graph.way, graph.asked) == ("complete", "invoke", [1, 1])


async def test_a_stopped_agent_makes_no_further_call(tmp_path: Path) -> None:
    agent = Strands(forever=True)
    async with await start_goal("Work", agent, lambda task: True) as run:
        await asyncio.to_thread(agent.began.wait, 10)
        await run.stop()
        outcome = await run.outcome()
    calls = agent.calls
    for _ in range(20):
        await asyncio.sleep(0)
    assert (outcome.status, outcome.warnings, agent.calls) == ("cancelled", (), calls)


async def test_a_worker_that_can_not_be_stopped_says_so_in_the_outcome() -> None:
    began, go_on = threading.Event(), threading.Event()

    def worker(prompt: str) -> str:
        began.set()
        go_on.wait(60)
        return "done"

    async with await start_goal("Work", worker, lambda task: True) as run:
        await asyncio.to_thread(began.wait, 10)
        await run.stop()
        outcome = await run.outcome()
    go_on.set()
    assert outcome.status == "cancelled"
    assert [one for one in outcome.warnings if "can't be interrupted" in one]


async def test_an_agent_that_holds_on_says_so_in_the_outcome() -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    class Stubborn(Pydantic):
        async def run(self, prompt: str, *, message_history: Any = ()) -> Any:
            began.set()
            while not go_on.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await go_on.wait()
            return await super().run(prompt)

    async with await start_goal("Work", Stubborn("good"), lambda task: True) as run:
        await began.wait()
        await run.stop()
        outcome = await run.outcome()
    go_on.set()
    assert outcome.status == "cancelled"
    assert [one for one in outcome.warnings if "may still be working" in one]
