"""The models of `bench_agent` as a process of its own, so that their time is nobody else's: CALLS ROUNDS TOOL FILE.

The worker makes CALLS tool calls in each of ROUNDS iterations; the judge accepts at the last one. Prints its URL; at
the end of its input it writes the sizes of the prompts into FILE and ends.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

from tests.scripted_models import ModelCall, Reply, ScriptedModels, calls, says

OUTPUT = 2_000


class Scenario:
    """Counts what was asked, and answers from it."""

    def __init__(self, tool_calls: int, rounds: int, tool: str) -> None:
        self._tool_calls, self._rounds, self._tool = tool_calls, rounds, tool
        self._asked = 0
        self._judged = 0
        self.sizes: dict[str, list[int]] = {"worker": [], "judge": []}
        """Bytes of the prompts, by model."""

    def worker(self, call: ModelCall) -> Reply:
        self._asked += 1
        self.sizes["worker"].append(len(call.text))
        step = (self._asked - 1) % (self._tool_calls + 1)
        if step == self._tool_calls:
            return says(f"That was round {(self._asked - 1) // (self._tool_calls + 1) + 1}.")
        if self._tool == "read_file" and step:
            return calls("read_file", path="big.txt", start_line=self._asked % 900 + 1, end_line=self._asked % 900 + 40)
        return calls("run_command", command=f"printf '%0{OUTPUT}d' {self._asked}" + ("" if step else " >> log.txt"))

    def judge(self, call: ModelCall) -> Reply:
        self._judged += 1
        self.sizes["judge"].append(len(call.text))
        met = self._judged >= self._rounds
        cited = re.findall(r'id="(E\d+)"', call.text)[:1]
        entry = {"id": "R1", "status": "met" if met else "unmet", "reason": "seen", "evidence_ids": cited}
        missing = "" if met else "the last round"
        return says(json.dumps({"requirements": [entry], "score": float(met), "complete": met, "missing": missing}))


async def main(tool_calls: int, rounds: int, tool: str, sizes: str) -> None:
    scenario = Scenario(tool_calls, rounds, tool)
    async with ScriptedModels({"worker": scenario.worker, "judge": scenario.judge}, keep_bodies=False) as server:
        print(server.base_url, flush=True)
        await asyncio.to_thread(sys.stdin.read)
    await asyncio.to_thread(Path(sizes).write_text, json.dumps(scenario.sizes), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]))
