"""Commands fit into backticks, whatever they hold."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.goalfile.parse import parse
from donewhen.goalfile.statements import code_span


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1).filter(lambda text: text.strip("`")))
def test_every_command_fits_into_backticks(command: str) -> None:
    parsed = parse(f"- [ ] {code_span(command)} passes")
    assert [check.command for check in parsed.outline[0].checks] == [command]
