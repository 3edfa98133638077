"""The real engine on a simulated machine: time, disk, files, workers, judges, checks, rooms and people are simulated,
and all of them fail. One seed gives one run, again and again.

A reader begins with `simulation.py` (one seed from start to end), then `machine.py` (what fails, and how) and
`books.py` (what must hold whatever fails). `python -m tests.simulation --help` says how to run many seeds, and how to
replay one.
"""
