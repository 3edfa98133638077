"""The ledger: every entry of every run, in one SQLite file per workspace folder.

A reader begins with `sqlite` (the port); `codec` is the versioned format of entries, `tables` the statements.

Invariant: an append that returned is on disk, in order, and what is on disk is never rewritten.
"""
