"""The real agents of six packages, each with two tools, on the models of one scripted server. It runs where they are
installed: `python peers.py PACKAGE BASE_URL FOLDER` plays all scenarios, each on a model of its name, and prints what
came of them as JSON: first as soon as the last one was stopped, then once a line comes in."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from donewhen import GoalController, GoalLoop, GoalMiddleware, UsageError, judge_goal, run_goal, start_goal
from donewhen.extras.lookalikes.loop import judge_from
from donewhen.workers.callables.agents import AgentCall
from donewhen.workers.callables.known import known_agent

KEY = "sk-of-nobody-0123456789abcdef"
FIXED = "def total(prices):\n    return sum(prices)\n"


class Site:
    """Where the agents work, and what their tools did."""

    def __init__(self, base_url: str, folder: Path, model: str) -> None:
        self.base_url = base_url
        self.folder = folder
        self.model = model
        self.waits = 0

    def fix(self) -> str:
        (self.folder / "price.py").write_text(FIXED)
        return "price.py is written"

    def wait(self) -> str:
        self.waits += 1
        time.sleep(0.3)
        return "still waiting"


def strands(site: Site) -> Any:
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    @tool
    def fix() -> str:
        """Mend the module."""
        return site.fix()

    @tool
    def wait() -> str:
        """Wait a little."""
        return site.wait()

    model = OpenAIModel(client_args={"base_url": site.base_url, "api_key": KEY}, model_id=site.model)
    return Agent(model=model, tools=[fix, wait], callback_handler=None)


def openhands(site: Site) -> Any:
    from openhands.sdk import LLM, Agent, Conversation, Tool
    from openhands.sdk.tool import Action, Observation, ToolDefinition, ToolExecutor, register_tool

    class FixAction(Action):
        """No arguments."""

    class WaitAction(Action):
        """No arguments."""

    class Told(Observation):
        """Some text."""

    class FixExecutor(ToolExecutor):
        def __call__(self, action: Any, conversation: Any = None) -> Any:
            return Told.from_text(text=site.fix())

    class WaitExecutor(ToolExecutor):
        def __call__(self, action: Any, conversation: Any = None) -> Any:
            return Told.from_text(text=site.wait())

    class FixTool(ToolDefinition[FixAction, Told]):
        @classmethod
        def create(cls, conv_state: Any = None, **params: Any) -> Any:
            executor = FixExecutor()
            return [cls(description="Mends it.", action_type=FixAction, observation_type=Told, executor=executor)]

    class WaitTool(ToolDefinition[WaitAction, Told]):
        @classmethod
        def create(cls, conv_state: Any = None, **params: Any) -> Any:
            executor = WaitExecutor()
            return [cls(description="Waits.", action_type=WaitAction, observation_type=Told, executor=executor)]

    register_tool("fix", FixTool)
    register_tool("wait", WaitTool)
    llm = LLM(model=f"openai/{site.model}", base_url=site.base_url, api_key=KEY, usage_id="agent", num_retries=0)
    agent = Agent(llm=llm, tools=[Tool(name="fix"), Tool(name="wait")])
    return Conversation(agent=agent, workspace=str(site.folder), visualizer=None)


def cubeloop(site: Site) -> Any:
    from cubeloop import Agent, tool
    from cubeloop.providers.openai import OpenAIProvider

    @tool
    async def fix() -> str:
        """Mend the module."""
        return site.fix()

    @tool
    async def wait() -> str:
        """Wait a little."""
        return await asyncio.to_thread(site.wait)

    model = OpenAIProvider(api_key=KEY, base_url=site.base_url, provider_id="openai").model(site.model)
    return Agent(model=model, tools=[fix, wait])


def pydantic_ai(site: Site) -> Any:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(site.model, provider=OpenAIProvider(base_url=site.base_url, api_key=KEY))
    agent = Agent(model)
    agent.tool_plain(site.fix)
    agent.tool_plain(site.wait)
    return agent


def openai_agents(site: Site) -> Any:
    from agents import Agent, OpenAIChatCompletionsModel, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    def fix() -> str:
        """Mend the module."""
        return site.fix()

    @function_tool
    def wait() -> str:
        """Wait a little."""
        return site.wait()

    client = AsyncOpenAI(base_url=site.base_url, api_key=KEY)
    return Agent(name="peer", model=OpenAIChatCompletionsModel(site.model, client), tools=[fix, wait])


def langgraph(site: Site) -> Any:
    import warnings

    import httpx
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent

    @tool
    def fix() -> str:
        """Mend the module."""
        return site.fix()

    @tool
    def wait() -> str:
        """Wait a little."""
        return site.wait()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Its own client: the one that it keeps for all would be used on several loops, here as in any program.
        client = httpx.AsyncClient(trust_env=False)
        model = ChatOpenAI(model=site.model, base_url=site.base_url, api_key=KEY, http_async_client=client)
        return create_react_agent(model, [fix, wait])


# ------------------------------------------------------------------------------------------- the scenarios


def works(agent: Any, site: Site) -> dict[str, Any]:
    """A red pytest workspace, until the server's own pytest is green. Then once more with the same agent."""
    outcome = run_goal("`python -m pytest -q` passes", agent, workspace=site.folder, max_iterations=4, timeout=300)
    (site.folder / "price.py").unlink(missing_ok=True)
    again = run_goal("`python -m pytest -q` passes", agent, workspace=site.folder, max_iterations=4, timeout=300)
    return {
        "status": str(outcome.status),
        "iterations": outcome.iterations,
        "tokens": [outcome.worker_usage.input_tokens, outcome.worker_usage.output_tokens],
        "cost": outcome.cost,
        "reason": outcome.reason,
        "again": str(again.status),
    }


def stops(agent: Any, site: Site) -> dict[str, Any]:
    """Stopped while it calls tools for ever."""

    async def main() -> tuple[Any, float]:
        async with await start_goal("`python -m pytest -q` passes", agent, workspace=site.folder, timeout=300) as run:
            while site.waits < 2:  # noqa: ASYNC110 - tools of others, in threads of others
                await asyncio.sleep(0.01)
            begun = time.monotonic()
            await run.stop()
            return await run.outcome(), time.monotonic() - begun

    outcome, seconds = asyncio.run(main())
    return {"status": str(outcome.status), "seconds": seconds, "warnings": outcome.warnings, "waits": site.waits}


def answers(agent: Any, site: Site) -> dict[str, Any]:
    """A goal about the response: what validators are given, and what the loop keeps."""
    given: list[dict[str, Any]] = []

    def validator(response: Any, host: Any) -> Any:
        given.append({"text": str(response), "kind": type(response).__name__, "same": host is agent})
        return "second" in response or {"passed": False, "feedback": "say it is the second"}

    loop = GoalLoop(validator, max_attempts=3)
    looped = loop.attach(agent)
    returned = looped("Say something.")
    returned = asyncio.run(returned) if asyncio.iscoroutine(returned) else returned
    result = loop.last_result(agent)
    return {"given": given, "returned": type(returned).__name__, "stop_reason": result.stop_reason}


def evaluated(agent: Any, site: Site) -> dict[str, Any]:
    """`/goal` without a workspace: what the evaluator reads."""
    read: list[str] = []

    def evaluator(task: Any) -> dict[str, Any]:
        read.append(task.response + "\n".join(str(one) for one in task.messages))
        return {"achieved": len(read) > 1, "reason": "once more"}

    wrapped = GoalMiddleware(evaluator).attach(agent)
    asyncio.run(wrapped.prompt("/goal the module is mended"))
    return {"read": read, "goal": wrapped.state.extra["goal"]}


def claimed(agent: Any, site: Site) -> dict[str, Any]:
    """The conversation as claims: `judge_goal` and `GoalController` take the package's own messages."""
    known = known_agent(agent)
    asyncio.run(AgentCall(known)("Mend the module."))
    messages = known.messages
    seen: list[Any] = []

    def judge(task: Any) -> bool:
        seen.append([(one.role, one.text, [call.name for call in one.calls]) for one in task.messages])
        return True

    judge_goal(judge, "The module is mended", files={"a.py": ""}, messages=messages)
    controller = GoalController("Mend the module", judge, max_iterations=2)
    controller.start()
    step = controller.on_run_finished(messages)
    try:
        judge_of_its_own = judge_from(agent, GoalLoop("It is polite."))
        model = [judge_of_its_own.model, judge_of_its_own.api_base, judge_of_its_own.api_key]
    except UsageError as error:
        model = [str(error)]
    return {"model": model, "seen": seen[0], "response": str(step.outcome.response), "status": str(step.outcome.status)}


PACKAGES = (strands, openhands, cubeloop, pydantic_ai, openai_agents, langgraph)
SCENARIOS = (works, answers, evaluated, claimed, stops)


def main(package: str, base_url: str, folder: str) -> None:
    make = {one.__name__: one for one in PACKAGES}[package]
    told: dict[str, Any] = {}
    for play in SCENARIOS:
        site = Site(base_url, Path(folder) / play.__name__, play.__name__)
        told[play.__name__] = play(make(site), site)
    print(json.dumps(told), flush=True)
    sys.stdin.readline()  # the process stays, so that whatever the agent still does is seen
    told["waits"] = site.waits
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
