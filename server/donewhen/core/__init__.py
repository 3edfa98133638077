"""What a run is and when it is done: values and pure functions, without I/O, clocks or randomness.

A reader begins with `decide` (what happens next), `fold` (how an entry of the ledger changes the state) and `proof`
(when a requirement is met). Everything else is what these three speak of.

Invariant: the state of a run is the fold of its entries, and nothing else. Beside this package, its modules import the
standard library, grammars and the tables of `ecosystems` alone.
"""
