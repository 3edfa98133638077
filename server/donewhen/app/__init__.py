"""The composition root: it knows every part, and assembles them for the front ends, which it does not know.

`services.py` is the entry: what the command line and the language server ask for, imported when they ask. A run
started by a program enters through `program.py`. Both use `engine.py`, which makes the engine for one workspace folder
from `resolver.py` (what a run starts with), `models.py` and `keys.py`, `plugins.py`, and `rooms.py`; `drafts.py` and
`advice.py` help to write a goal, and `doctor.py` reports what is installed.

Nothing here decides: a rule that could be stated without I/O belongs to the core.
"""
