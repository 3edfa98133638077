"""Where plugins come from, what they are called, and what is wrong with them said before a run starts."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from donewhen.core.errors import UsageError
from donewhen.plugins import (
    NewCheck,
    NewJudge,
    NewTool,
    NewWorker,
    PluginConflict,
    ToolDoer,
    ToolOutcome,
    ToolUse,
    hookimpl,
)
from donewhen.plugins.opening import installed_plugins, open_plugins
from tests.plugins.hosts import AHEAD, Hands, MemoryHost, opened, use_of
from tests.tools import each_row

PLUGIN = """
from __future__ import annotations
from dataclasses import dataclass, field
from donewhen.plugins import hookimpl

@dataclass
class Counting:
    name: str = "counting"
    seen: list[int] = field(default_factory=list)

    @hookimpl
    def before_turn(self, turn):
        self.seen.append(turn.iteration)
        return f"seen {len(self.seen)}"

def counting_twice():
    return Counting(name="twice")

ready = Counting(name="ready")
nothing = None
"""


@pytest.fixture
def plugin_file(tmp_path: Path) -> Path:
    file = tmp_path / "own plugins" / "mine.py"
    file.parent.mkdir()
    file.write_text(PLUGIN, encoding="utf-8")
    return file


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """A folder of installed packages, on Python's path."""
    folder = tmp_path / "site"
    folder.mkdir()
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.startswith("dwtest_")]:
        del sys.modules[name]


def install(site: Path, package: str, entries: dict[str, str], source: str = PLUGIN) -> None:
    (site / f"{package}.py").write_text(source, encoding="utf-8")
    info = site / f"{package}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n", encoding="utf-8")
    points = "".join(f"{name} = {value}\n" for name, value in entries.items())
    (info / "entry_points.txt").write_text(f"[donewhen]\n{points}", encoding="utf-8")


def own(workspace: Path | None = None) -> tuple[str, ...]:
    """The installed plugins of these tests: others may be installed where they run."""
    return tuple(one.name for one in installed_plugins(workspace) if one.package.startswith("dwtest"))


# --------------------------------------------------------------------------------- sources and names


class Named:
    name = "a name of its own"

    @hookimpl
    def before_turn(self) -> None: ...


class Unnamed:
    @hookimpl
    def before_turn(self) -> None: ...


def test_a_plugin_is_called_by_its_name_attribute_or_its_class() -> None:
    assert opened(Named, Unnamed).names == ("a name of its own", "Unnamed")


async def test_a_module_can_be_a_plugin() -> None:
    module = types.ModuleType("guidance")
    exec("from donewhen.plugins import hookimpl\n@hookimpl\ndef before_turn(): return 'be brief'", module.__dict__)
    plugins = opened(module)
    assert plugins.names == ("guidance",)
    assert await plugins.before_turn(MemoryHost(), AHEAD) == ("be brief",)


async def test_a_class_is_made_anew_for_each_run_and_an_object_is_taken_as_it_is(plugin_file: Path) -> None:
    for _ in range(2):
        plugins = opened(f"{plugin_file}:Counting")
        assert await plugins.before_turn(MemoryHost(), AHEAD) == ("seen 1",)


@pytest.mark.parametrize(
    ("attribute", "name"), [("Counting", "counting"), ("counting_twice", "twice"), ("ready", "ready")]
)
def test_classes_functions_and_objects_of_a_file(plugin_file: Path, attribute: str, name: str) -> None:
    assert opened(f"{plugin_file}:{attribute}").names == (name,)


def test_a_file_is_read_anew_for_each_run(plugin_file: Path) -> None:
    assert opened(f"{plugin_file}:ready").names == ("ready",)
    plugin_file.write_text(PLUGIN.replace('name="ready"', 'name="readY"'), encoding="utf-8")
    assert opened(f"{plugin_file}:ready").names == ("readY",)
    assert [file.name for file in plugin_file.parent.iterdir()] == ["mine.py"]


def test_what_is_off_is_left_out() -> None:
    assert opened(Named, Unnamed, off=("Unnamed",)).names == ("a name of its own",)


@each_row(
    "source, said",
    [
        ("mine.py:Counting", "not given with its full path"),
        ("./mine.py:Counting", "not given with its full path"),
        ("/nowhere/at/all.py:Counting", "there is no file"),
        ("no.such.module:Thing", "can't be loaded: ModuleNotFoundError"),
        ("donewhen.plugins.critic:NoSuchThing", "NoSuchThing"),
        ("", "can't be loaded"),
        ("donewhen.plugins.critic:Critic", "it is called without arguments"),
        ("donewhen.plugins.points:PROJECT", "a class, an object or a module is expected"),
        ("donewhen.plugins.records", "has no hook"),
    ],
)
def test_what_cannot_be_loaded_says_what_to_do(source: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        opened(source)


def test_a_file_that_breaks_is_named_and_leaves_nothing(plugin_file: Path) -> None:
    plugin_file.write_text("import sys\nsys.exit('no')", encoding="utf-8")
    before = set(sys.modules)
    with pytest.raises(UsageError, match=r"mine\.py:Counting can't be loaded: SystemExit: no"):
        opened(f"{plugin_file}:Counting")
    assert not [name for name in set(sys.modules) - before if "mine" in name]


def test_nothing_is_loaded_from_the_workspace(plugin_file: Path) -> None:
    (plugin_file.parent / "mark.py").write_text("raise AssertionError", encoding="utf-8")
    for workspace in (plugin_file.parent, plugin_file.parent.parent):
        with pytest.raises(UsageError, match="is in the workspace"):
            open_plugins([f"{plugin_file}:Counting"], installed=False, workspace=workspace)
    link = plugin_file.parent.parent / "link.py"
    link.symlink_to(plugin_file)
    with pytest.raises(UsageError, match="is in the workspace"):
        open_plugins([f"{link}:Counting"], installed=False, workspace=plugin_file.parent)


def test_no_module_of_the_workspace_is_even_run(site: Path) -> None:
    (site / "dwtest_hostile.py").write_text("raise AssertionError('it was run')", encoding="utf-8")
    with pytest.raises(UsageError, match="dwtest_hostile is in the workspace"):
        open_plugins(["dwtest_hostile:Thing"], installed=False, workspace=site)


# ------------------------------------------------------------------------------------- entry points


def test_installed_plugins_come_after_the_others_by_name(site: Path) -> None:
    install(site, "dwtest_two", {"zebra": "dwtest_two:Plain", "ape": "dwtest_two:Other"}, PLAIN)
    names = open_plugins([Named], installed=True).names
    assert [name for name in names if name in ("a name of its own", "ape", "zebra")] == [
        "a name of its own",
        "ape",
        "zebra",
    ]
    assert "zebra" not in open_plugins([Named], installed=False).names


INNER = """
from dataclasses import replace
from donewhen.plugins import hookimpl
class Inner:
    essential = True
    @hookimpl(trylast=True)
    async def wrap_tool(self, use, proceed):
        return await proceed(replace(use, input={"command": "changed"}))
"""


@pytest.mark.conformance("C24")
async def test_nobody_stands_between_the_last_essential_plugin_and_the_tool(site: Path) -> None:
    install(site, "dwtest_inner", {"inner": "dwtest_inner:Inner"}, INNER)
    seen: list[object] = []

    class Gate:
        name, essential = "gate", True

        @hookimpl(trylast=True)
        async def wrap_tool(self, use: ToolUse, proceed: ToolDoer) -> ToolOutcome:
            seen.append(use.input["command"])
            return await proceed(use)

    plugins = open_plugins([], installed=True, last=[Gate()])
    await plugins.use_tool(MemoryHost(), use_of(command="as it was"), Hands().do)
    assert seen == ["changed"]


PLAIN = """
from donewhen.plugins import hookimpl
class Plain:
    @hookimpl
    def on_stop(self): ...
class Other:
    @hookimpl
    def on_stop(self): ...
"""


def test_a_broken_installed_plugin_is_named_and_can_be_switched_off(site: Path) -> None:
    install(site, "dwtest_broken", {"broken": "dwtest_broken:Plain"}, "raise RuntimeError('half installed')")
    with pytest.raises(
        UsageError,
        match=r"the installed plugin broken .* half installed; .* or name it in `plugins_off`",
    ):
        open_plugins([], installed=True)
    assert "broken" not in open_plugins([], installed=True, off=("broken",)).names


def test_what_a_workspace_brings_along_is_not_installed(site: Path, tmp_path: Path) -> None:
    install(site, "dwtest_brought", {"brought": "dwtest_brought:Plain"}, "raise AssertionError('it was run')")
    assert own(workspace=tmp_path) == ()
    assert "brought" not in open_plugins([], installed=True, workspace=tmp_path).names


def test_what_is_installed_can_be_listed_without_a_run(site: Path) -> None:
    install(site, "dwtest_good", {"good": "dwtest_good:Plain"}, PLAIN)
    install(site, "dwtest_bad", {"bad": "dwtest_bad:Plain"}, "raise RuntimeError('half installed')")
    bad, good = (one for one in installed_plugins() if one.package.startswith("dwtest"))
    assert (good.name, good.package, good.points, good.problem) == ("good", "dwtest_good 1.2", ("on_stop",), "")
    assert (bad.name, bad.points) == ("bad", ())
    assert "half installed" in bad.problem


# --------------------------------------------------------------------------------------- validation


def test_two_plugins_of_one_name_are_an_error() -> None:
    with pytest.raises(UsageError, match="two plugins are called a name of its own"):
        opened(Named, Named)


def test_nobody_is_called_as_the_worker_that_halts() -> None:
    class Plugin:
        name = "worker"

        @hookimpl
        def on_stop(self) -> None: ...

    with pytest.raises(UsageError, match="can't be called worker"):
        opened(Plugin)


def unknown_hook() -> object:
    class Plugin:
        @hookimpl
        def before_lunch(self) -> None: ...

    return Plugin()


def unknown_argument() -> object:
    class Plugin:
        @hookimpl
        def before_turn(self, trun: object) -> None: ...

    return Plugin()


def unmarked() -> object:
    class Plugin:
        def before_turn(self) -> None: ...

        @hookimpl
        def on_stop(self) -> None: ...

    return Plugin()


def without_a_hook() -> object:
    return object()


def never_given() -> object:
    class Plugin:
        @hookimpl
        def before_turn(self, *, turn: object) -> None: ...

    return Plugin()


def always_the_default() -> object:
    class Plugin:
        @hookimpl
        def before_turn(self, turn: object = None) -> None: ...

    return Plugin()


def generator() -> object:
    class Plugin:
        @hookimpl(wrapper=True)
        def before_turn(self) -> Any:
            return (yield)

    return Plugin()


def twice() -> object:
    class Plugin:
        @hookimpl
        def on_stop(self) -> None: ...

        @hookimpl(specname="on_stop")
        def another(self) -> None: ...

    return Plugin()


@each_row(
    "make, said",
    [
        (unknown_hook, "unknown hook 'before_lunch'.*the hooks are before_turn, after_turn, wrap_tool"),
        (unknown_argument, "'trun'.*the hooks are"),
        (unmarked, "`before_turn` of the plugin Plugin isn't marked: put `@hookimpl`"),
        (without_a_hook, "has no hook: mark its functions"),
        (never_given, "would never be given `turn`"),
        (always_the_default, "would never be given `turn`"),
        (generator, "is a generator"),
        (twice, "implements on_stop twice"),
    ],
)
def test_a_hook_that_cannot_be_called_is_an_error_that_says_what_to_do(make: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        opened(make())


def test_an_argument_of_its_own_with_a_default_is_fine() -> None:
    class Plugin:
        @hookimpl
        def before_turn(self, turn: object, limit: int = 3) -> None: ...

    assert opened(Plugin).names == ("Plugin",)


# ------------------------------------------------------------------------------------ registrations


class Offers:
    """Registers what it is given."""

    def __init__(self, name: str, **given: Any) -> None:
        self.name, self._given = name, given

    @hookimpl
    def register_worker(self) -> Any:
        return self._given.get("worker")

    @hookimpl
    def register_judge(self) -> Any:
        return self._given.get("judge")

    @hookimpl
    def register_check(self) -> Any:
        return self._given.get("check")

    @hookimpl
    def register_tool(self) -> Any:
        return self._given.get("tool")


RECORDS: dict[str, Any] = {
    "worker": NewWorker("mine", lambda options: None),
    "judge": NewJudge("mine", lambda options: None),
    "check": NewCheck("mine", lambda argument, root: True),
    "tool": NewTool("mine", "does it", lambda given, context: "done"),
}


def test_what_is_registered_is_there_by_name() -> None:
    plugins = opened(
        Offers("a", **RECORDS), Offers("b", worker=[NewWorker("x", lambda options: 1), NewWorker("y", print)])
    )
    assert {name: one.plugin for name, one in plugins.workers.items()} == {"mine": "a", "x": "b", "y": "b"}
    assert plugins.judges["mine"].record is RECORDS["judge"]
    assert plugins.checks["mine"].record is RECORDS["check"]
    assert [(tool.plugin, tool.spec.name) for tool in plugins.tools] == [("a", "mine")]


@each_row("kind", RECORDS)
def test_two_plugins_that_register_one_name_are_a_conflict_that_names_both(kind: str) -> None:
    given = {kind: RECORDS[kind]}
    with pytest.raises(PluginConflict, match=f"the plugins a and b both register the {kind} mine"):
        opened(Offers("a", **given), Offers("b", **given))


def test_a_tool_cannot_take_the_name_of_a_built_in_one() -> None:
    with pytest.raises(PluginConflict, match="registers the tool mine, which is built in"):
        opened(Offers("a", tool=RECORDS["tool"]), known_tools=("mine",))


async def late() -> NewTool:
    return RECORDS["tool"]


@each_row(
    "tool, said",
    [
        ("mine", "a NewTool, or a list of them, is expected"),
        ([RECORDS["tool"], None], "a NewTool, or a list of them, is expected"),
        (RECORDS["check"], "a NewTool, or a list of them, is expected"),
        (NewTool("two words", "", print), "a name without spaces"),  # pyright: ignore[reportArgumentType]
        (NewTool("", "", print), "a name without spaces"),  # pyright: ignore[reportArgumentType]
        (NewTool("look.up", "", print), "a tool's name has"),  # pyright: ignore[reportArgumentType]
        (NewTool("x", "", "run"), "a function is expected"),  # pyright: ignore[reportArgumentType]
        (NewTool("x", "", print, {"type": "string"}), "the JSON schema of an object"),  # pyright: ignore[reportArgumentType]
        (NewTool("x", "", print, {"type": object}), "not a JSON schema"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_a_registration_that_cannot_be_used_is_an_error(tool: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        opened(Offers("a", tool=tool))


def test_a_registration_is_a_plain_function() -> None:
    with pytest.raises(UsageError, match="is async: make it a plain function"):
        opened(Offers("a", tool=late()))


def test_a_registration_that_fails_is_named() -> None:
    class Breaks:
        name = "breaks"

        @hookimpl
        def register_worker(self) -> NewWorker:
            raise OSError("no such device")

    with pytest.raises(UsageError, match="the plugin breaks failed in register_worker: OSError: no such device"):
        opened(Breaks)


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred", "n" * 101])
def test_a_name_that_can_not_be_shown_on_one_line_is_refused(name: str) -> None:
    class Plugin:
        def __init__(self) -> None:
            self.name = name

        @hookimpl
        def on_stop(self) -> None: ...

    with pytest.raises(UsageError, match="of at most 100 characters that can be printed") as raised:
        opened(Plugin)
    assert str(raised.value).isprintable()
