"""The composition root: it sees every part, and puts them together for the front ends, which it does not know.

`services.py` is the door: what the command line and the language server ask for, imported when they ask. A program's
run comes in by `program.py`. Both meet in `engine.py`, which makes the engine for one workspace folder out of
`resolver.py` (what a run starts with), `models.py` and `keys.py`, `plugins.py`, and `rooms.py`; `drafts.py` and
`advice.py` help with writing a goal, `doctor.py` looks at what is there, and `bench.py` plays GoalBench.

Nothing here decides: a rule that could be stated without I/O belongs to the core.
"""
