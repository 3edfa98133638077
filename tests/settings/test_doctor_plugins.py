"""What the doctor says of plugins."""

from __future__ import annotations

from pathlib import Path

from donewhen.app.doctor import plugins_facts
from donewhen.settings.loading import Approvals, Settings

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
    facts = {one.name: one for one in plugins_facts(tmp_path / "w", Settings(approvals=Approvals(plugins=(source,))))}
    assert (facts["careful"].source, facts["careful"].provides) == (source, ("before_turn",))
    assert (facts["approval"].source, facts["approval"].provides) == ("built in", ("wrap_tool",))
    off = plugins_facts(tmp_path / "w", Settings(approvals=Approvals(plugins=(source,), plugins_off=("careful",))))
    assert "switched off" in off[0].source


def test_what_can_not_be_loaded_is_told_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "broken.py").write_text("raise RuntimeError('it is broken')", encoding="utf-8")
    sources = (f"{tmp_path}/w/plugin.py:Careful", f"{tmp_path}/broken.py:X", "there.is.none:X")
    facts = plugins_facts(tmp_path / "w", Settings(approvals=Approvals(plugins=sources)))
    told = [one.problem for one in facts[:3]]
    assert "is in the workspace" in told[0]
    assert "it is broken" in told[1]
    assert "there.is.none:X" in told[2]
    assert all("remove it from `plugins`" in one.how for one in facts[:3])
