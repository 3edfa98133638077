"""The language server, on pygls: a front end on the engine's API.

A reader begins with `features`, where every method and command is registered; `session` is what one client said and
sees, and the other modules are named after the method or the view that they serve.

Invariant: nothing here decides. It shows what the engine's views say, and hands on what a person asks for.
"""
