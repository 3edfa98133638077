"""The command line: a front end on the engine's API.

`main` is the entry and `parser` lists what can be said. `goal_commands`, `run_commands`, `person_commands` and
`record_commands` perform one family each, `doctor` and `demo` one command; the rest reads and shows for them.

Invariant: exit codes and JSON are a contract (docs/protocol.md); sentences are for people.
"""
