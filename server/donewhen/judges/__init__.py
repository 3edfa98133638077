"""Judges: models that audit evidence, requirement by requirement.

A reader begins with `llm`; `evidence_prompt` chooses what is shown, `reply` reads what comes back, strictly.

Invariant: a judge sees what the server observed. What a worker says is shown fenced, as a claim.
"""
