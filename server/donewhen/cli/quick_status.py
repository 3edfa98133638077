"""`status` and `list` in folders without any run: answered without loading the code that reads a run, since prompts and
scripts ask in every folder that a person enters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from donewhen.cli.calling import Call


async def status(call: Call) -> int:
    """The present state of a run; without any run `null` and 1."""
    if call.arguments.run_id is None and not call.services.has_record(call.root, call.state_dir):
        call.terminal.result("null") if call.json else call.say_no_run()
        return 1
    from donewhen.cli import record_commands  # lazy: see above

    return await record_commands.status(call)


async def list_runs(call: Call) -> int:
    if not call.services.has_record(call.root, call.state_dir):
        call.terminal.document([]) if call.json else call.say_no_run()
        return 0
    from donewhen.cli import record_commands  # lazy: see above

    return await record_commands.list_runs(call)
