"""How entries of the ledger change the state of a run, by family of events.

`dispatch.fold` is the entry; the other modules hold the functions that it finds by the event's type.
"""
