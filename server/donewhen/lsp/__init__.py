"""The language server, on pygls: a front end on the engine's API.

A reader begins with `features`, where every method and command is registered; `session` is the state of one client,
and the other modules are named after the method or the view that they serve.

Invariant: nothing here decides. It shows what the engine's views contain, and passes on what a person asks for.
"""
