"""What the doctor says of plugins."""

from __future__ import annotations

from pathlib import Path

from donewhen.app.doctor import plugin_lines
from donewhen.settings.loading import Settings
from donewhen.settings.personal import Approvals

PLUGIN = """
from donewhen.plugins import hookimpl

class Careful:
    name = "careful"

    @hookimpl
    def before_turn(self, turn):
        return "be careful"
"""


def test_plugins_are_listed_with_where_they_come_from_and_what_they_do(tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    source = f"{tmp_path / 'plugin.py'}:Careful"
    found = {one.name: one for one in plugin_lines(tmp_path / "w", Settings(approvals=Approvals(plugins=(source,))))}
    assert (found["careful"].state, found["careful"].detail) == ("ok", f"{source} · before_turn")
    assert (found["approval"].state, found["approval"].detail) == ("ok", "built in · wrap_tool")
    off = plugin_lines(tmp_path / "w", Settings(approvals=Approvals(plugins=(source,), plugins_off=("careful",))))
    assert "switched off" in next(off).detail


def test_what_can_not_be_loaded_is_told_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "broken.py").write_text("raise RuntimeError('it is broken')", encoding="utf-8")
    sources = (f"{tmp_path}/w/plugin.py:Careful", f"{tmp_path}/broken.py:X", "there.is.none:X")
    lines = list(plugin_lines(tmp_path / "w", Settings(approvals=Approvals(plugins=sources))))[:3]
    assert "is in the workspace" in lines[0].detail
    assert "it is broken" in lines[1].detail
    assert "there.is.none:X" in lines[2].detail
    assert all(one.state == "problem" and "remove it from `plugins`" in one.how for one in lines)
