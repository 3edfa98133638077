"""Interfaces of other systems, over one adapter (`adapter.py`), for callers who come from there: `GoalController` for
who drives the conversation, `GoalLoop` for a worker that is asked again, `GoalMiddleware` for an agent that takes
`/goal`. Their results are in `response.py`.

None has a loop or a rule of its own: what is proven, and when a run ends, the core decides.
"""
