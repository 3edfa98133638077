"""Judges: models that audit evidence, requirement by requirement.

A reader begins with `llm`; `evidence_prompt` chooses what is shown, `reply` reads what comes back, strictly.

Invariant: a judge sees what the server observed. A worker's own words are shown fenced, as a claim.
"""
