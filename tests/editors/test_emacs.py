"""Emacs with eglot and the configuration of docs/editors.md, without a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import GOAL, OpenEmacs, assert_gone, family, wait_until
from .emacs import Emacs, quoted

pytestmark = pytest.mark.slow


def opened(emacs: Emacs, path: Path) -> Emacs:
    emacs.edit(path)
    return emacs


def await_marks(emacs: Emacs, path: Path, texts: list[str], seconds: float = 60.0) -> list[dict[str, Any]]:
    """Waits until the file has exactly these diagnostics, each with its text, and returns them."""
    wanted = " ".join(
        f"(string-match-p {quoted(text)} (plist-get (elt found {n}) :text))" for n, text in enumerate(texts)
    )
    same = f"(and (= {len(texts)} (length found)) {wanted} (list :found found))"
    return emacs.wait(f"(let ((found (drive-marks {quoted(path)}))) {same})", seconds)["found"]


def await_status(emacs: Emacs, status: str) -> None:
    emacs.wait(f"(equal (plist-get donewhen-snapshot :status) {quoted(status)})", 60)


def test_a_goal_file_is_checked_while_it_is_written(open_emacs: OpenEmacs, workspace: Path) -> None:
    goal = workspace / "GOAL.md"
    goal.write_text("---\n# 🎯\nbudgt: 5\n---\n" + GOAL, encoding="utf-8")
    emacs = opened(open_emacs(), goal)
    (mark,) = await_marks(emacs, goal, ["budget"])
    assert (mark["line"], mark["column"], mark["type"]) == (2, 0, "eglot-error")
    emacs.lisp('(goto-char 1) (search-forward "budgt") (replace-match "budget")')
    await_marks(emacs, goal, [])
    emacs.lisp('(goto-char 1) (search-forward "5") (insert "\\n\\"🎯\\": x")')  # an incremental change, in UTF-16
    (mark,) = await_marks(emacs, goal, ["🎯"])
    assert mark["line"] == 3


@pytest.mark.conformance("A8")
def test_a_person_works_on_a_goal_until_it_is_proven(open_emacs: OpenEmacs, workspace: Path) -> None:
    goal, test = workspace / "GOAL.md", workspace / "test_add.py"
    emacs = opened(open_emacs(), goal)
    emacs.lisp("(donewhen-check) t")
    await_marks(emacs, goal, ["R1.*unmet", "R2.*unmet"])
    await_marks(emacs, test, ["assert 0 == 4"])
    emacs.lisp("(goto-char 1) (forward-line 2) (forward-char 10) (call-interactively #'xref-find-definitions) t")
    assert emacs.lisp("(with-current-buffer (window-buffer) (buffer-string))").startswith("# Evidence E")
    emacs.lisp("(donewhen-start) t")
    await_status(emacs, "running")
    emacs.edit(workspace / "add.py")
    emacs.lisp('(search-forward "a - b") (replace-match "a + b") (save-buffer)')
    await_marks(emacs, goal, ["R2"])
    await_marks(emacs, test, [])
    emacs.edit(workspace / "README.md")
    emacs.lisp('(insert "add(2, 2)") (save-buffer)')
    await_status(emacs, "complete")
    await_marks(emacs, goal, [])
    emacs.edit(goal)
    emacs.lisp('(setq drive-chosen "Tick what is proven") (call-interactively #\'eglot-code-actions)')
    assert "- [x] The 🎯 README says how\n" in emacs.lisp("(buffer-string)")


def test_a_question_is_asked_in_the_minibuffer(open_emacs: OpenEmacs, workspace: Path) -> None:
    goal = workspace / "GOAL.md"
    goal.write_text("# Please\n\n- [ ] Everybody likes it\n", encoding="utf-8")
    emacs = opened(open_emacs(), goal)
    emacs.lisp('(setq drive-chosen "Waive") (donewhen-start) t')
    await_status(emacs, "complete")
    assert emacs.lisp("(plist-get (plist-get donewhen-snapshot :counts) :waived)") == 1


def test_a_question_that_is_quitted_stays_open(open_emacs: OpenEmacs, workspace: Path) -> None:
    goal = workspace / "GOAL.md"
    goal.write_text("# Please\n\n- [ ] Everybody likes it\n", encoding="utf-8")
    emacs = opened(open_emacs(), goal)
    emacs.lisp("(donewhen-start) t")
    await_status(emacs, "waiting")
    emacs.wait("(and drive-questions t)")
    assert emacs.lisp("(length drive-questions)") == 1
    emacs.lisp("(donewhen-stop) t")
    await_status(emacs, "cancelled")


def test_nothing_runs_before_the_folder_is_trusted(open_emacs: OpenEmacs, workspace: Path) -> None:
    goal = workspace / "GOAL.md"
    emacs = opened(open_emacs(trusted=False), goal)
    emacs.lisp("(donewhen-check) t")
    emacs.wait('(with-current-buffer (messages-buffer) (string-match-p "not trusted" (buffer-string)))')
    emacs.lisp("(donewhen-trust) (donewhen-check) t")
    await_marks(emacs, goal, ["R1", "R2"])


@pytest.mark.parametrize("how", ["(eglot-shutdown (eglot-current-server))", "(kill-emacs)"])
def test_ending_in_the_middle_of_a_check_leaves_no_process(open_emacs: OpenEmacs, workspace: Path, how: str) -> None:
    goal = workspace / "GOAL.md"
    goal.write_text("# Wait\n\n- [ ] `python slow.py` succeeds\n", encoding="utf-8")
    (workspace / "slow.py").write_text("import time\nopen('begun', 'w').close()\ntime.sleep(300)\n", encoding="utf-8")
    emacs = opened(open_emacs(), goal)
    emacs.lisp("(donewhen-start) t")
    wait_until((workspace / "begun").exists, seconds=60)
    everyone = [one for one in family(emacs.process.pid) if one.name() != "emacs"]  # it compiles in the background
    assert len(everyone) > 1
    emacs.order(how)
    assert_gone(everyone)
