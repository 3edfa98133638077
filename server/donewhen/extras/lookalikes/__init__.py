"""Interfaces of other systems, over one adapter (`adapter.py`), for callers who know those systems: `GoalController`
for callers that drive the conversation, `GoalLoop` for a worker that is asked again, `GoalMiddleware` for an agent that
takes `/goal`. Their results are in `response.py`. `donewhen` exports these names.

None of them has its own loop or rules: the core decides what is proven, and when a run ends.
"""

from __future__ import annotations

from donewhen.extras.lookalikes.controller import GoalContinue as GoalContinue
from donewhen.extras.lookalikes.controller import GoalController as GoalController
from donewhen.extras.lookalikes.controller import GoalDone as GoalDone
from donewhen.extras.lookalikes.loop import GoalLoop as GoalLoop
from donewhen.extras.lookalikes.middleware import GoalMiddleware as GoalMiddleware
from donewhen.extras.lookalikes.response import GoalAttempt as GoalAttempt
from donewhen.extras.lookalikes.response import GoalResult as GoalResult
from donewhen.extras.lookalikes.response import ValidationOutcome as ValidationOutcome
