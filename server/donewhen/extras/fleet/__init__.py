"""Many goals over many workspaces: on this machine, or over Temporal.

Begin with `board.py`: it decides which goal has its next iteration when, and with how much money; it is pure.
`iterating.py` performs one iteration by the engine. Two drivers carry the grants of a board out: `local.py` in this
process, `temporal/` as workflows and activities; `command.py` is `donewhen fleet`.

Invariant: what a fleet knows of a run is what the run's own ledger says. A run has one id, made of the fleet and the
goal, so that an iteration that is tried again goes on with the same run.
"""
