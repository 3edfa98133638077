"""The command line with the real engine: exit codes, signals, pipes, and two processes with one run. What is not
about the process itself is called in this one: that spares the start of a Python each time."""

from __future__ import annotations

import gc
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from donewhen.app.services import Services
from donewhen.cli.calling import ServeOptions
from donewhen.cli.main import main
from donewhen.cli.terminal import Terminal
from donewhen.wire.reports import FORMATS
from tests import forked
from tests.cli.fakes import Typed

DEADLINE = 60.0
posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals are POSIX's here")


def served_elsewhere(options: ServeOptions) -> int:
    raise AssertionError("a server runs in a process of its own")


class Place:
    """A workspace with its own state folder, and the processes that were started in it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "workspace"
        self.root.mkdir()
        self._state = folder / "state"
        self._started: list[subprocess.Popen[str]] = []

    def goal(self, *requirements: str, front: str = "") -> None:
        items = "\n".join(f"- [ ] {each}" for each in requirements)
        (self.root / "GOAL.md").write_text(f"{front}# Goal\n\n{items}\n", encoding="utf-8")

    def command(self, *argv: str) -> list[str]:
        return [sys.executable, "-m", "donewhen", "--state-dir", str(self._state), *argv]

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DONEWHEN_")}
        return {**kept, "XDG_CONFIG_HOME": str(self._state)}

    def services(self) -> Services:
        return Services()

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """A command in this process, without a terminal; the engine is opened and closed as in one of its own."""
        out, err = io.StringIO(), io.StringIO()
        places = ["--workspace", str(self.root), "--state-dir", str(self._state)]
        own = self._state / "donewhen" / "config.toml"
        terminal = Terminal(out, err, Typed([]), {})
        code = main(
            [*places, *argv],
            self.services(),
            served_elsewhere,
            terminal=terminal,
            user_file=own,
            log_folder=self._state,
        )
        return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())

    def process(self, *argv: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """The same in a process of its own, with these variables besides."""
        return forked.run(self.command(*argv), cwd=self.root, env={**self.environment(), **variables}, timeout=60)

    def shell(self, command: str) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment(), "PWD": str(self.root)}
        return subprocess.run(
            ["/bin/sh", "-c", command], cwd=self.root, env=environment, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip

    def start(self, *argv: str, forks: bool = True) -> subprocess.Popen[str]:
        """Begins it, forked unless it is about how Python ends."""
        process = (forked.start if forks else subprocess.Popen)(
            self.command(*argv), cwd=self.root, env=self.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._started.append(process)
        return process

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def kept(self) -> list[Path]:
        """The files of the state folder, in which others may be at work."""
        return [Path(folder, name) for folder, _, names in os.walk(self._state) for name in names]

    def newest(self) -> dict[str, Any]:
        shown = self.run("status", "--json")
        found: dict[str, Any] = json.loads(shown.stdout)
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


def first(process: subprocess.Popen[str], wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first snapshot that a `--json` process prints and that is wanted."""
    assert process.stdout is not None
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        line = process.stdout.readline()
        assert line, "it ended before"
        shown: dict[str, Any] = json.loads(line)
        if wanted(shown):
            return shown
    raise AssertionError("it took too long")


def working(shown: dict[str, Any]) -> bool:
    return shown["phase"] == "working"


def test_the_exit_code_of_a_check(place: Place) -> None:
    place.goal("`exit 0` passes")
    proven = place.run("check", "--json")
    assert proven.returncode == 0
    assert json.loads(proven.stdout)["complete"] is True
    place.goal("`exit 0` passes", "`exit 3` passes")
    refused = place.run("check", "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["counts"]["unmet"] == 1
    (place.root / "GOAL.md").write_text("", encoding="utf-8")
    empty = place.run("check", "--json")
    assert (empty.returncode, empty.stdout) == (2, "")
    assert "donewhen: error: " in empty.stderr


@pytest.mark.slow
@posix
def test_the_check_that_still_runs_is_the_one_that_is_named(place: Place) -> None:
    place.goal("`sleep 1; true` passes", "`true` passes")
    process = place.start("run", "--json", "--worker-command", "true")
    shown = first(process, lambda s: s["requirements"][1]["status"] == "met")
    assert shown["requirements"][0]["status"] == "unverified"
    assert "running `sleep 1; true`" in shown["activity"]
    process.communicate(timeout=DEADLINE)


WORKER = "echo I look; test -f one.txt && echo proof > done.txt; echo 1 > one.txt"


@pytest.mark.parametrize("how", ["lines", "json"])
def test_each_step_of_the_worker_is_told_once_where_the_output_is_piped(place: Place, how: str) -> None:
    place.goal("`test -f done.txt` passes")
    options = ["--json"] if how == "json" else []
    capped = place.run("run", "--worker-command", WORKER, "--max-iterations", "1", *options)
    proven = place.run("resume", "--max-iterations", "3", *options)
    assert (capped.returncode, proven.returncode) == (1, 0), proven.stderr
    if how == "lines":
        first, second = capped.stdout.splitlines(), proven.stdout.splitlines()
        at = first.index("iteration 1/1")
        told = first[at : first.index("  changed: one.txt")]
        assert {"    +1", f"  {WORKER}", "    I look"} <= set(told)
        # The shell makes a file before it writes to it, and the watcher may look in between: created, and then edited.
        assert any(line.startswith("  created one.txt") for line in told)
        # What was told before the run was resumed is not told again, and it says nothing twice.
        assert not any(line.startswith("  created one.txt") for line in second)
        assert any(line.startswith("  created done.txt") for line in second)
        assert second.count("    I look") == 1
        return
    lines = [[json.loads(line) for line in each.stdout.splitlines()] for each in (capped, proven)]
    first_steps, second_steps = ([one for line in each for one in line.get("steps", [])] for each in lines)
    ran = next(one for one in first_steps if one["kind"] == "runs")
    assert (ran["title"], ran["text"], ran["state"], ran["iteration"]) == (WORKER, "I look", "done", 1)
    assert {one["uri"].rpartition("/")[2] for one in first_steps if one["kind"] == "edits"} == {"one.txt"}
    assert {one["uri"].rpartition("/")[2] for one in second_steps if one["kind"] == "edits"} == {"done.txt"}
    assert all(one["state"] != "running" for one in first_steps + second_steps)
    # Every line is a snapshot still, and one where nothing was done has no steps.
    assert all(line["schemaVersion"] == 1 for each in lines for line in each)
    assert not all("steps" in line for each in lines for line in each)


@pytest.mark.conformance("C2")
def test_a_command_worker_is_driven_to_proof(place: Place) -> None:
    place.goal("`test -f done.txt` passes")
    done = place.run("run", "--worker-command", "touch done.txt", "--json")
    snapshots = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert (snapshots[-1]["status"], snapshots[-1]["iteration"]) == ("complete", 1)
    assert [s["sequence"] for s in snapshots] == sorted(s["sequence"] for s in snapshots)
    assert not any(s["complete"] for s in snapshots if s["requirements"][0]["status"] != "met")
    receipt = place.run("report", snapshots[-1]["runId"])
    assert "**complete** · 1 of 1 requirements proven" in receipt.stdout


@posix
@pytest.mark.conformance("A8")
def test_what_was_proven_is_stale_once_the_code_changes_and_fresh_once_it_is_back(place: Place) -> None:
    place.goal("`grep -q good code.txt` passes")
    assert place.run("run", "--worker-command", "echo good > code.txt").returncode == 0
    (place.root / "code.txt").write_text("bad\n")
    snapshot, listed = place.newest(), json.loads(place.run("list", "--json").stdout)[0]
    assert (snapshot["status"], snapshot["complete"], snapshot["counts"]["stale"]) == ("complete", False, 1)
    assert (snapshot["freshness"]["fresh"], snapshot["freshness"]["changedFiles"]) == (False, ["code.txt"])
    assert (listed["status"], listed["freshness"]) == ("complete", snapshot["freshness"])
    said = place.run("status").stdout
    assert "was complete until files changed" in said
    assert "every requirement is proven" not in said
    assert "run `donewhen check`" in said
    for content, code, words in (("bad\n", 1, "did not prove the goal"), ("good, too\n", 0, "proved the goal")):
        (place.root / "code.txt").write_text(content)
        assert place.run("check").returncode == code
        said = place.run("status").stdout
        assert f"code.txt; a later check {words} on the present files: donewhen report " in said
        assert "run `donewhen check`" not in said
    (place.root / "code.txt").write_text("bad again\n")
    assert "run `donewhen check`" in place.run("status").stdout
    (place.root / "code.txt").write_text("good\n")
    again = place.newest()
    assert (again["complete"], again["freshness"]["fresh"], again["freshness"]["changedFiles"]) == (True, True, [])


@posix
@pytest.mark.conformance("C13")
def test_a_command_worker_gets_the_keys_that_are_named_and_checks_and_the_record_do_not(place: Place) -> None:
    place.goal('`test -s seen.txt -a -z "$OTHER_API_KEY$MY_LOGIN_TOKEN"` passes')
    agent = place.root.parent / "agent.sh"
    agent.write_text(
        'echo "told $OTHER_API_KEY"\ntest "$OTHER_API_KEY" = "$1" -a -z "$MY_LOGIN_TOKEN" && echo y > $2\n'
    )
    keys = {"OTHER_API_KEY": "first-opaque-value", "MY_LOGIN_TOKEN": "another-opaque-value"}
    command, once = f"sh {agent} second-opaque-value seen.txt", ("--max-iterations", "1")
    capped = place.process("run", "--worker-command", command, "--pass-env", "OTHER_API_KEY", *once, **keys)
    assert (capped.returncode, "Passed to it, besides what checks get: OTHER_API_KEY" in capped.stderr) == (1, True)
    assert "told [masked]" in capped.stdout
    again = {**keys, "OTHER_API_KEY": "second-opaque-value"}
    done = place.process("resume", "--max-iterations", "2", **again)
    assert done.returncode == 0, "the name is on record, and its value is the present one"
    told = (
        capped.stdout
        + capped.stderr
        + done.stdout
        + done.stderr
        + place.run("report", "--json", place.newest()["runId"]).stdout
    )
    assert "first-opaque-value" not in told
    assert all(key.encode() not in kept.read_bytes() for key in keys.values() for kept in place.kept())
    assert "Not passed to it, although set here" not in capped.stderr


def test_a_terminal_keeps_a_complete_goal_on_guard_until_ctrl_c(place: Place) -> None:
    place.goal("`grep -q good code.txt` passes")
    (place.root / "code.txt").write_text("good\n")
    assert place.run("guard").returncode == 2
    assert place.run("run", "--worker-command", "true").returncode == 0
    process = place.start("guard", "--json")
    assert process.stdout is not None
    code = place.root / "code.txt"
    for line in process.stdout:
        shown = json.loads(line)
        (requirement,) = shown["requirements"]
        if shown["freshness"] and shown["freshness"]["fresh"] and code.read_text() == "good\n":
            code.write_text("bad\n")
        if requirement["status"] == "regressed":
            break
    assert (shown["status"], shown["complete"], shown["counts"]["regressed"]) == ("complete", False, 1)
    assert requirement["regression"]["changedFiles"] == ["code.txt"]
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE) == 1
    last = place.newest()
    assert (last["guard"], last["counts"]["unmet"]) == (None, 1)
    told = place.run("status").stdout
    assert "was complete until files changed" in told
    assert "every requirement is proven" not in told


@posix
def test_a_guard_ends_where_its_record_is_taken_away(place: Place) -> None:
    place.goal("`grep -q good code.txt` passes")
    (place.root / "code.txt").write_text("good\n")
    assert place.run("run", "--worker-command", "true").returncode == 0
    process = place.start("guard", "--json")
    assert process.stdout is not None
    first(process, lambda shown: shown["freshness"] is not None and shown["freshness"]["fresh"])
    state = place.root.parent / "state"
    state.rename(state.with_name("moved"))
    (place.root / "code.txt").write_text("bad\n")
    output, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode == 2, output
    assert "was deleted or moved meanwhile" in errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_a_worker_can_not_waive_what_it_is_to_prove(place: Place) -> None:
    place.goal("`false` passes")
    waiver = place.root.parent / "waiver.py"
    waiver.write_text(
        "import json, subprocess\n"
        f"donewhen = {place.command()!r}\n"
        "shown = subprocess.run([*donewhen, 'status', '--json'], capture_output=True, text=True, check=True)\n"
        "run = json.loads(shown.stdout)['runId']\n"
        "subprocess.run([*donewhen, 'waive', run, 'R1', '--reason', 'why not'], check=False)\n",
        encoding="utf-8",
    )
    command = f"{sys.executable} {waiver}"
    ended = place.run("run", "--worker-command", command, "--max-iterations", "1", "--json")
    assert ended.returncode == 1, ended.stderr
    shown = place.newest()
    assert shown["counts"]["waived"] == 0
    assert place.run("waive", shown["runId"], "R1", "--reason", "a person may").returncode == 0


@pytest.mark.slow
@posix
def test_a_check_that_is_held_out_is_tried_and_the_worker_learns_its_name(place: Place) -> None:
    """The worker does what the goal's check asks for and nothing else, until it hears of the other one."""
    (place.root / "quote.sh").write_text('printf %s "$1"\n')
    (place.root / "tests").mkdir()
    (place.root / "tests/run.sh").write_text("""[ "$(sh quote.sh a,b)" = '"a,b"' ]\n""")
    place.goal("`sh tests/run.sh` passes")
    held = place.root.parent / "held.sh"
    held.write_text("""[ "$(sh quote.sh c,d)" = '"c,d"' ] || { echo 'c,d fails'; exit 1; }\n""")
    settings = place.root.parent / "state/donewhen/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f"[[hidden_checks]]\nworkspace = '{place.root}'\nname = 'Every row is quoted'\ncommand = 'sh {held}'\n"
    )
    worker = place.root.parent / "worker.sh"
    worker.write_text(
        f"case $(tee -a {place.root.parent}/heard) in\n"
        """*'Every row is quoted'*) printf 'printf %s \\"$1\\"\\n' > quote.sh;;\n"""
        """*) printf 'printf %s \\"a,b\\"\\n' > quote.sh;;\n"""
        "esac\n"
    )
    ended = place.run("run", "--worker-command", f"sh {worker}", "--json", "--max-iterations", "4")
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr
    assert place.newest()["iteration"] == 2
    heard = (place.root.parent / "heard").read_text()
    assert "“Every row is quoted”: a check that is held out from the worker fails." in heard
    assert "c,d" not in heard
    assert str(held) not in heard
    reports = [place.run("report", "--format", form).stdout for form in FORMATS]
    assert "`Every row is quoted`, held out from the worker" in reports[0]
    shown = [*reports, place.run("status", "--json").stdout, ended.stdout, ended.stderr]
    written = [file.read_bytes() for file in settings.parents[1].rglob("*") if file.is_file() and file != settings]
    assert any(b"Every row is quoted" in content for content in written)
    for content in (*(text.encode() for text in shown), *written):
        assert b"held.sh" not in content
        assert b"c,d fails" not in content


@pytest.mark.conformance("C22")
def test_a_goal_form_acts_on_the_newest_run_and_says_what_there_is_nothing_to_do_with(place: Place) -> None:
    place.goal("`exit 0` passes")
    assert place.run("run", "/goal stop").returncode == 2
    assert place.run("run", "--worker-command", "exit 0").returncode == 0
    assert place.run("run", "/goal clear").returncode == 0
    for verb in ("stop", "pause"):
        refused = place.run("run", f"/goal {verb}")
        assert (refused.returncode, f"nothing to {verb}" in refused.stderr) == (2, True), refused.stderr
    assert [path.name for path in place.root.iterdir()] == ["GOAL.md"]


@posix
def test_a_run_ends_at_once_where_its_record_is_taken_away(place: Place) -> None:
    place.goal("`test -f done.txt` passes")
    state = shlex.quote(str(place.root.parent / "state"))
    begun = time.monotonic()
    done = place.run("run", "--worker-command", f"mv {state} {state}.moved; sleep 40; touch done.txt")
    assert (done.returncode, time.monotonic() - begun < 35) == (2, True), done.stderr
    assert "was deleted or moved meanwhile" in done.stderr
    assert "put it back and run again, or set another state folder (--state-dir)" in done.stderr
    assert not any(word in done.stdout + done.stderr for word in ("saved", "complete", "donewhen resume", "Traceback"))
    assert not (place.root.parent / "state").exists(), "what is put back would be put into it"


@pytest.mark.slow
@posix
@pytest.mark.parametrize("verb", ["run", "guard"])
def test_what_waits_for_an_edit_ends_where_its_record_is_taken_away(verb: str, place: Place) -> None:
    place.goal("`test -f done.txt` passes")
    if verb == "guard":
        assert place.run("run", "--worker-command", "touch done.txt").returncode == 0
    process = place.start(verb, "--json", *(("--worker", "human") if verb == "run" else ()))
    first(process, working if verb == "run" else lambda shown: bool((shown["freshness"] or {}).get("fresh")))
    state = place.root.parent / "state"
    state.rename(state.with_name("moved"))
    output, errors = process.communicate(timeout=20)
    assert process.returncode == 2, output
    assert "was deleted or moved meanwhile" in errors
    assert not any(word in errors for word in ("saved", "donewhen resume", "Traceback"))
    assert not state.exists()


@pytest.mark.slow
@posix
def test_a_workspace_that_is_moved_away_in_a_run_is_one_message(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.goal("`test -f done.txt` passes")
    root = shlex.quote(str(place.root))
    done = place.run("run", "--worker-command", f"mv {root} {root}.moved; sleep 1")
    gc.collect()
    assert done.returncode == 3
    assert (done.stdout + done.stderr).count("is gone: put it back") == 1
    assert not caplog.records


@pytest.mark.parametrize("junk", ["junk", pytest.param("junk" * 100, marks=pytest.mark.slow)], ids=len)
def test_an_index_of_git_that_is_damaged_is_one_message(place: Place, junk: str) -> None:
    place.goal("`true` passes")
    assert place.shell("git init -q && git add GOAL.md").returncode == 0
    (place.root / ".git" / "index").write_text(junk)
    for argv in (["check"], ["run", "--worker-command", "true"]):
        done = place.run(*argv)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("donewhen: error: git ls-files failed: ")
        assert done.stderr.count("fatal: ") == 1
        assert "Traceback" not in done.stderr
        assert done.stderr.count("\n") <= 2, done.stderr


NOBODY = """
import ctypes, os, sys
if ctypes.CDLL(None).unshare(0x10000000):
    sys.exit(77)
for name, text in (("setgroups", "deny"), ("uid_map", f"54321 {sys.argv[1]} 1"), ("gid_map", f"54321 {sys.argv[2]} 1")):
    open(f"/proc/self/{name}", "w").write(text)
os.environ.pop("HOME", None)
os.execv(sys.executable, [sys.executable, "-m", "donewhen", *sys.argv[3:]])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="user namespaces are Linux's")
def test_a_user_that_the_system_does_not_know_needs_no_home(place: Place) -> None:
    place.goal("`true` passes")

    def called(*argv: str) -> subprocess.CompletedProcess[str]:
        ids = [str(os.getuid()), str(os.getgid())]
        bare = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "DONEWHEN_"))}
        done = subprocess.run(
            [sys.executable, "-c", NOBODY, *ids, *argv], cwd=place.root, env=bare, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        if done.returncode == 77 or "Permission" in done.stderr:
            pytest.skip("no user namespace may be opened here")
        return done

    told = called("check", "--state-dir", str(place.root.parent / "own"))
    assert (told.returncode, "Traceback" in told.stderr) == (0, False), told.stderr
    refused = called("check")
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False), refused.stderr
    assert "set HOME, or name a state folder (--state-dir)" in refused.stderr
    own = called("gate", "install", "claude", "--user", "--yes", "--state-dir", str(place.root.parent / "own"))
    assert (own.returncode, own.stderr) == (
        2,
        "donewhen: error: this user has no home folder, where an agent's own settings are: set HOME\n",
    )


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("check", "~nobody-here/x.md"), 2, "there is no goal file ~nobody-here/x.md"),
        (("run", "--worker", "human", "~100 tests pass"), 2, ""),
        (("check", "--report", "json=~nobody-here/x"), 2, "set HOME, or write it in full"),
        (("check", "--judge-prompt", "@~nobody-here/x"), 2, "judge_prompt must be"),
        (("settings", "--state-dir", "~nobody-here/x"), 2, "set HOME, or write it in full"),
    ],
)
def test_a_home_that_nobody_has_is_one_sentence(argv: tuple[str, ...], code: int, said: str, place: Place) -> None:
    place.goal("`true` passes")
    done = place.process(*argv)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "crashed" not in done.stderr
    assert not list(place.root.glob("~*"))


@pytest.mark.slow
def test_the_record_of_a_deleted_folder_can_be_read(place: Place) -> None:
    place.goal("`exit 0` passes")
    assert place.run("check").returncode == 0
    shutil.rmtree(place.root)
    for argv in (["status"], ["list"], ["status", "--json"]):
        shown = place.run(*argv)
        assert shown.returncode == 0, shown.stderr
        assert "Goal" in shown.stdout
    if os.name == "posix":
        place.root.mkdir()
        inside = shlex.join(place.command("list"))
        shown = place.shell(f'rm -r "$PWD"; {inside}')
        assert (shown.returncode, "Goal" in shown.stdout) == (0, True), shown.stderr
    refused = place.run("check")
    assert refused.returncode == 2
    assert "is gone" in refused.stderr
    assert not place.root.exists()


@posix
def test_a_closed_pipe_is_quiet_and_pauses(place: Place) -> None:
    place.goal("`test -f done.txt` passes")
    process = place.start("run", "--json", forks=False)
    first(process, working)
    assert process.stdout is not None
    process.stdout.close()
    (place.root / "other.txt").touch()
    assert process.wait(DEADLINE) == 3
    assert process.stderr is not None
    errors = process.stderr.read()
    assert "Traceback" not in errors
    assert "Broken" not in errors
    assert place.newest()["status"] == "paused"


@posix
def test_a_person_is_asked_on_a_terminal(place: Place) -> None:
    import pty

    place.goal("It is nice", "`exit 0` passes")
    master, terminal = pty.openpty()
    process = forked.start(
        place.command("run"), cwd=place.root, stdin=terminal, stdout=terminal, stderr=terminal,
        env={**place.environment(), "TERM": "xterm"},
    )  # fmt: skip
    os.close(terminal)
    shown = _until(master, b"to waive it")
    assert b"I1 Nothing can decide R1" in shown
    os.write(master, b"approve I like it\n")
    shown = _until(master, b"complete")
    assert process.wait(DEADLINE) == 0
    os.close(master)


@posix
def test_a_server_that_a_person_starts_says_who_starts_it(place: Place) -> None:
    import pty

    master, terminal = pty.openpty()
    process = forked.start(
        [sys.executable, "-m", "donewhen", "serve"], cwd=place.root, stdin=terminal, stdout=terminal, stderr=terminal,
        env=place.environment(),
    )  # fmt: skip
    os.close(terminal)
    _until(master, b"is started by an editor")
    assert process.wait(DEADLINE) == 2
    os.close(master)


@pytest.mark.parametrize("given", ["hello\n", pytest.param("", marks=pytest.mark.slow)])
def test_a_server_whose_input_is_no_editors_says_who_starts_it(given: str, place: Place) -> None:
    argv = [sys.executable, "-m", "donewhen", "serve"]
    done = subprocess.run(
        argv, cwd=place.root, input=given, env=place.environment(), capture_output=True, text=True, timeout=DEADLINE,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "is started by an editor" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_what_nothing_can_decide_says_at_each_step_how_to_go_on(place: Place) -> None:
    place.goal("It is nice.", "`exit 0` passes")
    ran = place.run("run", "--worker", "human")
    run_id = ran.stderr.split("donewhen resume ")[1].split()[0]
    assert ran.returncode == 3
    assert "no check decides R1" in ran.stderr
    assert "Nothing can decide R1: It is nice. Add a check below it" in ran.stdout
    assert "I1 takes `approve [REASON]` to waive it, `deny` to leave it unproven" in ran.stderr
    assert f"donewhen resume {run_id}" in place.run("answer", run_id, "I1", "deny").stderr
    blocked = place.run("resume", run_id)
    assert blocked.returncode == 1
    assert f"donewhen waive {run_id} R1 --reason TEXT" in blocked.stderr
    assert f"donewhen resume {run_id}" in place.run("waive", run_id, "R1", "--reason", "I like it").stderr
    assert place.run("resume", run_id).returncode == 0


@pytest.mark.slow
@posix
def test_what_a_person_lets_a_revert_overwrite_is_undone_with_the_rest(place: Place) -> None:
    import pty

    place.goal("`test -f b.txt` passes")
    (place.root / "a.txt").write_text("first")
    # Not in this process: whoever descends from a run's is taken for its worker, who may not answer.
    assert place.process("run", "--worker-command", "echo worker > a.txt; echo worker > b.txt").returncode == 0
    (place.root / "a.txt").write_text("person")
    run_id = place.newest()["runId"]
    master, terminal = pty.openpty()
    process = forked.start(
        place.command("revert", run_id, "0"), cwd=place.root, stdin=terminal, stdout=terminal, stderr=terminal,
        env={**place.environment(), "TERM": "xterm"},
    )  # fmt: skip
    os.close(terminal)
    _until(master, b"[y/N]")
    os.write(master, b"y\n")
    _until(master, b"undo it with")
    assert process.wait(DEADLINE) == 0
    os.close(master)
    assert ((place.root / "a.txt").read_text(), (place.root / "b.txt").exists()) == ("first", False)
    assert place.run("revert", run_id, "undo").returncode == 0
    assert ((place.root / "a.txt").read_text(), (place.root / "b.txt").exists()) == ("person", True)


@pytest.mark.slow
@posix
def test_the_command_that_is_named_puts_back_a_goal_file_that_the_worker_deleted(place: Place) -> None:
    place.goal("`test -f done.txt` passes")
    (place.root / "w.sh").write_text("[ -e once ] && rm -f GOAL.md; touch once\n")
    ran = place.process("run", "--worker-command", "sh w.sh")
    assert not (place.root / "GOAL.md").exists()
    (named,) = {line.strip() for line in ran.stderr.splitlines() if line.strip().startswith("donewhen revert")}
    assert place.newest()["goalKept"] == int(named.split()[3])
    # An error names the command alone, without the folders.
    assert (
        f"`{named.partition(' --workspace')[0].partition(' --state-dir')[0]}` puts it back"
        in place.run("resume").stderr
    )
    assert place.run(*shlex.split(named)[1:]).returncode == 0
    assert (place.root / "GOAL.md").exists()


@posix
def test_a_tick_makes_nothing_stale_whatever_limit_the_start_set(place: Place) -> None:
    place.goal("`test -f done.txt` passes")
    assert place.process("run", "--worker-command", "touch done.txt", "--max-iterations", "4").returncode == 0
    goal = place.root / "GOAL.md"
    goal.write_text(goal.read_text().replace("[ ]", "[x]"))
    assert place.newest()["freshness"]["fresh"]


@posix
def test_a_revert_keeps_a_folder_that_a_person_replaced_by_a_link(place: Place, tmp_path: Path) -> None:
    place.goal("`grep worker src/a.txt` passes")
    source, outside = place.root / "src", tmp_path / "outside"
    for folder in (source, outside):
        folder.mkdir()
        (folder / "a.txt").write_text("first")
    ran = place.process("run", "--worker-command", "echo worker > src/a.txt; echo worker > b.txt")
    assert ran.returncode == 0
    shutil.rmtree(source)
    source.symlink_to(outside)
    run_id = place.newest()["runId"]
    reverted = place.run("revert", run_id, "0")
    assert (reverted.returncode, "put back: b.txt" in reverted.stdout) == (3, True)
    assert [line.split(" (")[0] for line in reverted.stdout.splitlines()[1:]] == ["kept: src", "kept: src/a.txt"]
    assert source.is_symlink()
    assert not (place.root / "b.txt").exists()
    assert place.run("revert", run_id, "0", "--force").returncode == 0
    assert not source.is_symlink()
    assert [(folder / "a.txt").read_text() for folder in (source, outside)] == ["first"] * 2


def _until(master: int, wanted: bytes) -> bytes:
    shown = b""
    until = time.monotonic() + DEADLINE
    while wanted not in shown and time.monotonic() < until:
        shown += os.read(master, 4096)
    assert wanted in shown
    return shown


@pytest.mark.slow
@pytest.mark.conformance("A8", "A10")
def test_the_demonstration_refuses_and_completes(place: Place) -> None:
    demo = place.process("demo", PATH=str(place.root))  # where no program is called `python`
    assert demo.returncode == 0, demo.stdout + demo.stderr
    told = demo.stdout.splitlines()
    assert told[-1] == "The sample was removed (--keep keeps it)."
    refused = [line for line in told if "→ refused" in line]
    assert any("trials refuse the proof" in line for line in refused)
    assert any("original_fails" in line for line in told)
    assert any(line.startswith("complete: ") for line in told)
    assert list(place.root.iterdir()) == []


def test_the_way_to_the_language_server_loads_nothing_of_the_engine() -> None:
    code = (
        "import sys; from donewhen.app.services import Services; from donewhen.cli.main import main\n"
        "assert main(['serve', '--stdio'], Services(), lambda options: 7) == 7\n"
        "heavy = ('donewhen.engine.', 'donewhen.core.state', 'pydantic', 'rich')\n"
        "loaded = [name for name in sys.modules if name.startswith(heavy)]\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.slow
@posix
def test_closed_streams_give_no_traceback(place: Place) -> None:
    place.goal("`true` passes")
    line = shlex.join(place.command())
    streams = (">&-", "2>&-", ">&- 2>&- <&-", ">/dev/full", "| head -c 1 >/dev/null")
    for command in ("--help", "list", "check --json"):
        for ending in streams:
            ran = place.shell(f"{line} {command} {ending}")
            assert "Traceback" not in ran.stderr, (command, ending, ran.stderr)
            assert "Error" not in ran.stderr, (command, ending, ran.stderr)
