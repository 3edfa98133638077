"""Interfaces of other systems, over one adapter (`adapter.py`), for callers who know those systems: `GoalController`
for callers that drive the conversation, `GoalLoop` for a worker that is asked again, `GoalMiddleware` for an agent that
takes `/goal`. Their results are in `response.py`.

None of them has its own loop or rules: the core decides what is proven, and when a run ends.
"""
