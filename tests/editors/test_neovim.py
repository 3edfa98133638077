"""Neovim 0.11 with the configuration of docs/editors.md, without a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import GOAL, OpenNeovim, assert_gone, family, wait_until
from .neovim import Neovim

ATTACHED = "#vim.lsp.get_clients({ name = 'donewhen', bufnr = 0 }) > 0"


def opened(neovim: Neovim, path: Path) -> Neovim:
    neovim.edit(path)
    neovim.wait(ATTACHED)
    return neovim


def marks(neovim: Neovim, path: Path) -> list[tuple[int, str, str]]:
    found = neovim.lua("return Diagnostics(...)", str(path))
    return [(one["line"], one["severity"], one["code"]) for one in found]


def await_marks(neovim: Neovim, path: Path, codes: list[str], seconds: float = 60.0) -> None:
    """Waits until exactly these diagnostics are on the file, each once."""
    said = "table.concat(vim.tbl_map(function(one) return one.code end, Diagnostics(a)), ' ') == b"
    neovim.wait(said, str(path), " ".join(codes), seconds=seconds)


def check(neovim: Neovim) -> dict[str, object]:
    return neovim.lua("return Execute('donewhen.goal.check', { goalUri = vim.uri_from_bufnr(0) })")


def lenses(neovim: Neovim) -> list[str]:
    """What Neovim shows beside the lines."""
    return neovim.lua("return vim.tbl_map(function(one) return one.command.title end, vim.lsp.codelens.get(0))")


def test_a_goal_file_is_checked_while_it_is_written(open_neovim: OpenNeovim, workspace: Path) -> None:
    neovim, goal = open_neovim(), workspace / "GOAL.md"
    goal.write_text("---\n# 🎯\nbudgt: 5\n---\n" + GOAL, encoding="utf-8")
    opened(neovim, goal)
    assert neovim.lua("return vim.lsp.get_clients()[1].offset_encoding") == "utf-8"
    neovim.wait("Diagnostics(a)[1]", str(goal))
    (mark,) = neovim.lua("return Diagnostics(...)", str(goal))
    assert (mark["line"], mark["severity"]) == (2, "ERROR")
    assert "budget" in mark["message"]
    neovim.command("3s/budgt/budget/")
    await_marks(neovim, goal, [])
    neovim.command("4s/.*/timeout: 🎯 x\\r---/")  # an incremental change, in columns of bytes
    neovim.wait("Diagnostics(a)[1]", str(goal))
    (mark,) = neovim.lua("return Diagnostics(...)", str(goal))
    assert (mark["line"], mark["column"], mark["end_column"]) == (3, len("timeout: "), len("timeout: 🎯 x".encode()))
    neovim.command("undo")
    await_marks(neovim, goal, [])
    everyone = family(neovim.process.pid)
    assert everyone
    neovim.quit()
    assert neovim.process.wait(60) == 0
    assert_gone(everyone)


@pytest.mark.slow
@pytest.mark.conformance("A8")
def test_what_is_unmet_shows_on_the_goal_and_on_the_failing_assertion(open_neovim: OpenNeovim, workspace: Path) -> None:
    goal, test = workspace / "GOAL.md", workspace / "test_add.py"
    neovim = opened(open_neovim(), goal)
    counts = check(neovim)["counts"]
    assert {name: count for name, count in counts.items() if count} == {"unmet": 2, "total": 2}
    assert marks(neovim, goal) == [(2, "ERROR", "R1"), (3, "ERROR", "R2")]
    neovim.edit(test)
    assert marks(neovim, test) == [(4, "ERROR", "R1")]
    neovim.wait(ATTACHED)
    assert marks(neovim, test) == [(4, "ERROR", "R1")]  # attached there too, it is still said once


@pytest.mark.slow
@pytest.mark.conformance("A8")
def test_a_person_works_on_a_goal_until_it_is_proven(open_neovim: OpenNeovim, workspace: Path) -> None:
    goal, test = workspace / "GOAL.md", workspace / "test_add.py"
    neovim = opened(open_neovim(), goal)
    opened(neovim, test)
    opened(neovim, workspace / "add.py")
    neovim.command("DoneWhenStart human")
    await_marks(neovim, goal, ["R1", "R2"])
    await_marks(neovim, test, ["R1"])
    assert neovim.wait("Progress()[1]") == "Add 🎯 numbers"
    neovim.command("%s/a - b/a + b/ | write")
    await_marks(neovim, test, [])
    await_marks(neovim, goal, ["R2"])
    assert neovim.lua("return vim.g.donewhen.status") == "running"
    neovim.command("edit README.md | call setline(1, 'add(2, 2)') | write")
    neovim.wait("vim.g.donewhen.status == 'complete'", seconds=60)
    await_marks(neovim, goal, [])
    (snapshot, *_) = neovim.lua("return Execute('donewhen.run.status', vim.empty_dict())")["snapshots"]
    assert (snapshot["status"], snapshot["complete"], snapshot["worker"]) == ("complete", True, "human")
    neovim.edit(goal)
    hints = "vim.tbl_map(function(one) return one.inlay_hint.label end, vim.lsp.inlay_hint.get({ bufnr = 0 }))"
    neovim.wait(f"vim.deep_equal({hints}, {{ '✓ met', '✓ met' }})")


@pytest.mark.slow
def test_lenses_start_and_stop_a_run(open_neovim: OpenNeovim, workspace: Path) -> None:
    neovim = opened(open_neovim(), workspace / "GOAL.md")
    neovim.wait("#vim.lsp.codelens.get(0) > 0")
    assert lenses(neovim) == ["Start", "Check now"]
    neovim.lua("Choose('Start'); vim.lsp.codelens.run()")
    neovim.wait("vim.g.donewhen and vim.g.donewhen.counts.unmet == 2", seconds=60)
    neovim.wait("vim.iter(vim.lsp.codelens.get(0)):any(function(one) return one.command.title == 'Stop' end)")
    assert lenses(neovim)[:3] == ["Check now", "Pause", "Stop"]
    assert any(title.startswith("Unmet") for title in lenses(neovim))
    neovim.lua("Choose('Stop'); vim.lsp.codelens.run()")
    neovim.wait("vim.g.donewhen.status == 'cancelled'")
    await_marks(neovim, workspace / "GOAL.md", [])


@pytest.mark.slow
def test_a_goal_file_answers_hover_actions_and_completion(open_neovim: OpenNeovim, workspace: Path) -> None:
    goal = workspace / "GOAL.md"
    (workspace / "README.md").write_text("add(2, 2)\n", encoding="utf-8")
    neovim = opened(open_neovim(), goal)
    check(neovim)
    await_marks(neovim, goal, ["R1"])
    neovim.lua("vim.api.nvim_win_set_cursor(0, { 3, 10 }); vim.lsp.buf.hover()")
    floats = (
        "vim.fn.win_findbuf(vim.b.lsp_floating_preview and vim.api.nvim_win_get_buf(vim.b.lsp_floating_preview) or 0)"
    )
    neovim.wait(f"vim.b.lsp_floating_preview and {floats}")
    shown = neovim.lua(
        "return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(vim.b.lsp_floating_preview), 0, -1, false)"
    )
    assert "R1" in shown[0]
    assert any("assert" in line for line in shown)
    neovim.lua("vim.cmd.normal(vim.keycode('<C-]>'))")
    assert neovim.lua("return vim.fn.getline(1)").startswith("# Evidence E")
    neovim.edit(goal)
    neovim.lua("Choose('Tick the proven requirement'); vim.lsp.buf.code_action()")
    neovim.wait("vim.fn.getline(4) == '- [x] The 🎯 README says how'")
    assert neovim.lua("return vim.fn.getline(3)") == "- [ ] `python -m pytest -q` passes"
    neovim.lua("vim.fn.append(0, { '---', 'max_it', '---' }); vim.api.nvim_win_set_cursor(0, { 2, 6 })")
    labels = neovim.lua(
        "local found = Ask('textDocument/completion', vim.lsp.util.make_position_params(0, 'utf-8'))"
        "return vim.tbl_map(function(one) return one.label end, found.items)"
    )
    assert "max_iterations" in labels
    about = "{ textDocument = { uri = vim.uri_from_bufnr(0) } }"
    symbols = neovim.lua(f"return Ask('textDocument/documentSymbol', {about})")
    assert symbols


@pytest.mark.slow
def test_a_question_is_a_menu(open_neovim: OpenNeovim, workspace: Path) -> None:
    goal = workspace / "GOAL.md"
    goal.write_text("# Please\n\n- [ ] Everybody likes it\n", encoding="utf-8")
    neovim = opened(open_neovim(), goal)
    neovim.lua("Choose('Waive')")
    neovim.command("DoneWhenStart human")
    neovim.wait("vim.g.donewhen and vim.g.donewhen.status == 'complete'", seconds=60)
    assert neovim.lua("return vim.g.donewhen.counts.waived") == 1


@pytest.mark.slow
def test_nothing_runs_before_the_folder_is_trusted(open_neovim: OpenNeovim, workspace: Path) -> None:
    neovim = opened(open_neovim(trusted=False), workspace / "GOAL.md")
    neovim.command("DoneWhenCheck")
    neovim.wait("vim.iter(Messages()):any(function(one) return one:match('not trusted') end)")
    assert lenses(neovim) == []
    neovim.command("DoneWhenTrust")
    neovim.command("DoneWhenCheck")
    await_marks(neovim, workspace / "GOAL.md", ["R1", "R2"])


@pytest.mark.slow
@pytest.mark.conformance("A8")
def test_quitting_in_the_middle_of_a_check_leaves_no_process(open_neovim: OpenNeovim, workspace: Path) -> None:
    goal = workspace / "GOAL.md"
    goal.write_text("# Wait\n\n- [ ] `python slow.py` succeeds\n", encoding="utf-8")
    (workspace / "slow.py").write_text("import time\nopen('begun', 'w').close()\ntime.sleep(300)\n", encoding="utf-8")
    neovim = opened(open_neovim(), goal)
    neovim.command("DoneWhenStart human")
    wait_until(lambda: (workspace / "begun").exists(), seconds=60)
    everyone = family(neovim.process.pid)
    neovim.quit()
    assert_gone([*everyone])
    again = open_neovim()
    again.lua("Choose('Not now')")
    opened(again, goal)
    again.wait("vim.g.donewhen and vim.g.donewhen.status == 'interrupted'")
    again.wait("vim.iter(Messages()):any(function(one) return one:match('interrupted') end)")
    again.command("DoneWhenStop")
    again.wait("vim.g.donewhen.status == 'cancelled'")
