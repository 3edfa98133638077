"""The judge through a real model host and a scripted provider: looks, a correction, a verdict; and an outage."""

from __future__ import annotations

import os

import pytest

from donewhen.core.errors import JudgeOutage
from donewhen.core.events import JudgeOptions
from donewhen.judges.llm import LlmJudge
from donewhen.models.hosting import ModelHost
from donewhen.workspace.processes.running import SystemProcesses
from tests.judges.models import MemoryAudit, entry, passed, requirement, task, verdict
from tests.models.conftest import model, scripted
from tests.scripted_models import calls, fails, says

pytestmark = pytest.mark.slow
ASKED = task(
    requirement(1, "Quotes are escaped", checks=["pytest -q"]), evidence=[passed("pytest -q", "E7", "4 passed")]
)


@pytest.mark.conformance("C10", "C11", "C12", "A6")
async def test_a_verdict_through_litellm() -> None:
    host = ModelHost(SystemProcesses(), os.environ)
    good = verdict(entry("R1"))
    looked = calls("read_file", path="a.py").expecting("Quotes are escaped", tools=["give_verdict", "read_file"])
    try:
        async with scripted(looked, says("It is met.").expecting("1| x = 1"), says(f"```json\n{good}\n```")) as server:
            context = MemoryAudit({"a.py": "x = 1\n"})
            reply = await LlmJudge(model(host, server), JudgeOptions(("m",))).judge(ASKED, context)
            server.verify()
        assert reply.verdict is not None
        assert [(f.finding, f.evidence_ids) for f in reply.verdict.findings] == [("met", ("E7",))]
        assert len(context.calls.ended) == 3
        async with scripted(says(good).expecting(response_format="json_schema", tools=False)) as server:
            plain = await LlmJudge(model(host, server), JudgeOptions(("m",), calls=0)).judge(ASKED, MemoryAudit())
            server.verify()
        assert plain.verdict == reply.verdict
        async with scripted(fails(401)) as server:
            with pytest.raises(JudgeOutage) as caught:
                await LlmJudge(model(host, server), JudgeOptions(("m",), calls=0)).judge(ASKED, MemoryAudit())
        assert caught.value.final
    finally:
        await host.close()
