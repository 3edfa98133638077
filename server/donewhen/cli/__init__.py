"""The command line: a front end on the engine's API, and nothing more (invariant 12). It begins in `main.py`."""
