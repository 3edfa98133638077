"""`donewhen diff`: what a run changed, with the real engine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate.place import Place

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the worker is a POSIX command")


def test_a_run_and_whoever_came_after_it_are_told_apart_from_what_was_there(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("GOAL.md", "# Ship it\n\n- [ ] It is there\n  - check: `test -e new.txt`\n")
    place.write("kept.txt", "one\n")
    place.write("old.txt", "gone soon\n")
    place.write("untouched.txt", "as before\n")
    worker = "sh -c 'echo two > kept.txt; rm old.txt; echo new > new.txt'"
    ran = place.call("run", "--worker", "command", "--worker-command", worker, "--approve", "auto")
    assert ran.code == 0, ran.err
    place.write("later.txt", "by a person\n")

    told = place.call("diff")
    assert told.code == 0, told.err
    for line in ("-one", "+two", "-gone soon", "+new", "+by a person"):
        assert line in told.out.splitlines()
    assert "untouched" not in told.out
    listed = json.loads(place.call("diff", "--json").out)
    assert {one["path"]: (one["before"], one["now"]) for one in listed["files"]} == {
        "kept.txt": (True, True), "old.txt": (True, False), "new.txt": (False, True), "later.txt": (False, True),
    }  # fmt: skip
    assert listed["diff"].strip() == told.out.strip()

    place.call("revert", listed["runId"], "0", "--force")
    again = place.call("diff", listed["runId"])
    assert (again.code, again.out) == (0, "")
    assert "nothing is changed" in again.err


@pytest.mark.slow
def test_a_file_that_is_too_large_to_be_kept_is_said_to_be_deleted(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("GOAL.md", "# Ship it\n\n- [ ] It is there\n  - check: `test -e new.txt`\n")
    for name in ("old.bin", "db.bin"):
        with (place.root / name).open("wb") as file:
            file.truncate(1024**3 if name == "old.bin" else 5 * 1024**2)
    worker = "sh -c 'rm old.bin db.bin; truncate -s 1G big.bin; touch new.txt passing; rm passing'"
    ran = place.call("run", "--worker", "command", "--worker-command", worker, "--approve", "auto")
    assert ran.code == 0, ran.err
    assert "changed: big.bin, db.bin, new.txt, old.bin\n" in ran.out + ran.err
    listed = json.loads(place.call("diff", "--json").out)
    assert {one["path"]: (one["before"], one["now"]) for one in listed["files"]} == {
        "old.bin": (True, False), "db.bin": (True, False), "new.txt": (False, True), "big.bin": (False, True),
    }  # fmt: skip
    assert "b/old.bin\ndeleted; its content was not kept" in listed["diff"]
    assert "160000" not in listed["diff"]


def test_what_kept_no_files_has_no_difference_to_show(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert (place.call("diff").code, place.call("diff").err.startswith("there is no run")) == (1, True)
    place.write("GOAL.md", "# Ship it\n\n- [ ] It is there\n  - check: `test -e new.txt`\n")
    place.call("check")
    told = place.call("diff")
    assert told.code == 2
    assert "kept no files" in told.err
    assert place.call("diff", "zzz").err == place.call("status", "zzz").err
    assert "there is no run zzz" in place.call("diff", "zzz").err


def test_a_place_is_rejected_by_the_patch_that_is_printed(tmp_path: Path) -> None:
    """As docs/how-to/review.md has it: what is left in the patch is applied backwards."""
    place = Place(tmp_path)
    place.write("GOAL.md", "# Ship it\n\n- [ ] It is there\n  - check: `grep -q two long.txt`\n")
    place.write("long.txt", "one\n" + "same\n" * 20 + "three\n")
    worker = "sh -c 'sed -i s/one/two/\\;s/three/four/ long.txt'"
    assert place.call("run", "--worker", "command", "--worker-command", worker, "--approve", "auto").code == 0
    head, first, second = place.call("diff").out.partition("@@ -1,")
    kept, _, rejected = (first + second).partition("\n@@ ")
    assert "+two" in kept
    assert "+four" in rejected
    patch = tmp_path / "rejected.patch"
    patch.write_text(f"{head}@@ {rejected}")
    subprocess.run(["git", "apply", "-R", "--recount", str(patch)], cwd=place.root, check=True)
    text = (place.root / "long.txt").read_text()
    assert (text.startswith("two\n"), text.endswith("three\n")) == (True, True)
    assert place.call("check").code == 0


@pytest.mark.parametrize(
    "link",
    [
        "ln -s .. up; ln -s up/key new.txt",
        *(pytest.param(f"ln -s {to} new.txt", marks=pytest.mark.slow) for to in ("../key", "$PWD/../key")),
    ],
)
def test_nothing_is_shown_of_what_a_link_leads_to(tmp_path: Path, link: str) -> None:
    place = Place(tmp_path)
    place.write("GOAL.md", "# Ship it\n\n- [ ] It is there\n  - check: `test -L new.txt`\n")
    place.write("../key", "THE-TEXT-OF-A-KEY\n")
    argv = ("run", "--worker", "command", "--worker-command", f"sh -c '{link}'", "--approve", "auto")
    ran = place.call(*argv)
    assert ran.code == 0, ran.err
    told = [ran, place.call("diff"), place.call("diff", "--json"), place.call("report", "--format", "json")]
    place.call("revert", json.loads(told[2].out)["runId"], "0", "--force")
    told.append(place.call(*argv, "--json"))
    assert "THE-TEXT" not in "".join(one.out + one.err for one in told)
    assert "new.txt" in told[1].out
