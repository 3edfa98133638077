"""The built-in agent: a model that works on the workspace with tools.

A reader begins with `worker`; `dispatch` performs tool calls, `window` and `compaction` keep the conversation within
what the model can take.
"""

from donewhen.workers.agent.worker import make

__all__ = ["make"]
