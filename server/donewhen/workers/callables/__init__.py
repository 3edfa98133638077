"""Python callables, and agents of known packages, as workers, judges and checks: what programs and plugins hand in.

`workers.py`, `judges.py` and `validators.py` make the three ports of them, and `donewhen/threads.py` calls
them. Nothing that a callable returns is coerced, and nothing that it does holds the loop.
"""
