"""The command line: a front end on the engine's API.

`main` is the entry and `parser` lists all commands and options; each other module performs one family of commands.

Invariant: exit codes and JSON are a contract (docs/protocol.md); sentences are for people.
"""
