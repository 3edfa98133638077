"""The runs of one workspace folder as they were last seen, and which of them a goal file shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from donewhen.engine.api import RunView
from donewhen.lsp.marks import Memory


class Board:
    """Keeps, for each goal, its active run and its newest ended run and audit."""

    def __init__(self) -> None:
        self._views: dict[str, RunView] = {}
        self.memories: dict[str, Memory] = {}
        """What the marks of each goal were when last settled, by goal path."""

    def replace(self, views: Iterable[RunView]) -> None:
        """Starts over from what the engine knows."""
        self._views.clear()
        for view in views:
            self.take(view)

    def take(self, view: RunView) -> bool:
        """Keeps a view unless a later one of that run came already; true where it was kept."""
        run_id = view.state.run_id
        known = self._views.get(run_id)
        if known is not None and known.state.sequence > view.state.sequence:
            return False
        if known is None:
            self._make_room(view)
        self._views[run_id] = view
        return True

    def forget(self, goal_path: str) -> None:
        """The ended runs of a goal are no longer shown."""
        gone = [v.state.run_id for v in self._of(goal_path) if v.state.ended]
        for run_id in gone:
            del self._views[run_id]
        self.memories.pop(goal_path, None)

    def latest(self, view: RunView) -> RunView:
        """The view of a run as it was read, unless the run stopped because its record can't grow: nothing on record
        says so then."""
        known = self._views.get(view.state.run_id)
        if known is None or known.state.sequence < view.state.sequence or known.state.interrupted is None:
            return view
        return known if view.state.active else view

    def of_run(self, run_id: str) -> RunView | None:
        return self._views.get(run_id)

    def of_goal(self, goal_path: str) -> RunView | None:
        """The run that the goal file shows: the unfinished one, else the newest."""
        return max(self._of(goal_path), key=_rank, default=None)

    def newest_first(self) -> Sequence[RunView]:
        return sorted(self._views.values(), key=lambda view: view.state.started_at, reverse=True)

    def _of(self, goal_path: str) -> list[RunView]:
        return [view for view in self._views.values() if view.state.goal.path == goal_path]

    def _make_room(self, view: RunView) -> None:
        path, mode = view.state.goal.path, view.state.mode
        if path is None:
            return
        for old in self._of(path):
            if old.state.ended and old.state.mode == mode and old.state.started_at <= view.state.started_at:
                del self._views[old.state.run_id]


def _rank(view: RunView) -> tuple[bool, bool, float]:
    state = view.state
    return (state.mode == "pursue" and not state.ended, state.guard is not None, state.started_at)
