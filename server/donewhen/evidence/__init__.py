"""Runs checks, and says what a finished process proves.

A reader begins with `runner`; `outcome` decides, `reports` reads what test runners wrote, and `probes` looks at what a
check rests on.

Invariant: a result is made here and nowhere else, from what this server itself started and read.
"""
