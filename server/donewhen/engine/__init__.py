"""Runs a goal loop: decides, appends the intent to the ledger, performs it, appends the result.

A reader begins with `loop`, which is that sentence as code; `turns`, `audits`, `judging` and `trials` perform one step
each, and `runs` (the implementation of `api.Runs`) starts, supervises and resumes. Its other parts (`reading`,
`following`, `control`, `guarding`) share the `registry` of which runs this process works on.

Invariant: nothing has an effect before its intent is on record, and nothing counts that isn't on record.
"""
