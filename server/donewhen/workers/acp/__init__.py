"""An agent that speaks the Agent Client Protocol, as the worker. What it says is a claim, never evidence.

`worker.py` leads one turn, `link.py` carries the messages, `updates.py` follows what the agent tells of its work, and
`requests.py` answers what it asks for: permissions, files, terminals.
"""

from donewhen.workers.acp.worker import make

__all__ = ["make"]
