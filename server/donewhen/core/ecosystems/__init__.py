"""What is known of languages and of their tools, as data: a table per ecosystem, in which a tool is a row.

`table.py` says what a row may hold. Everything that depends on a tool reads these tables: which files are proof (the
core), what a command line runs and what it printed (`evidence/`), which checks a workspace has (`goalfile/detect/`),
what a room shows (`workspace/rooms/`), what judges are not shown. Nothing here does I/O.
"""

from __future__ import annotations

from donewhen.core.ecosystems.common import COMMON
from donewhen.core.ecosystems.dotnet import DOTNET
from donewhen.core.ecosystems.go import GO
from donewhen.core.ecosystems.javascript import JAVASCRIPT
from donewhen.core.ecosystems.jvm import JVM
from donewhen.core.ecosystems.native import NATIVE
from donewhen.core.ecosystems.others import OTHERS
from donewhen.core.ecosystems.python import PYTHON
from donewhen.core.ecosystems.ruby import RUBY
from donewhen.core.ecosystems.rust import RUST
from donewhen.core.ecosystems.shell import SHELL
from donewhen.core.ecosystems.table import (
    Disguise,
    Ecosystem,
    Form,
    Inline,
    Matcher,
    Plant,
    Shared,
    Sign,
    Suppression,
    Tool,
)

ECOSYSTEMS: tuple[Ecosystem, ...] = (
    PYTHON, JAVASCRIPT, RUST, GO, JVM, DOTNET, *OTHERS, RUBY, NATIVE, SHELL, COMMON,
)  # fmt: skip
TOOLS: tuple[Tool, ...] = tuple(tool for ecosystem in ECOSYSTEMS for tool in ecosystem.tools)
RUNNERS: tuple[Tool, ...] = tuple(tool for tool in TOOLS if tool.purpose == "test" and tool.commands)
SOURCES: tuple[str, ...] = tuple(suffix for ecosystem in ECOSYSTEMS for suffix in ecosystem.sources)
"""How the names of sources end, in any language."""
FORMS: dict[str, Form] = {form.name: form for tool in TOOLS for form in tool.prints if isinstance(form, Form)}

__all__ = [
    "ECOSYSTEMS", "FORMS", "RUNNERS", "SOURCES", "TOOLS", "Disguise", "Ecosystem", "Form", "Inline", "Matcher", "Plant",
    "Shared", "Sign", "Suppression", "Tool",
]  # fmt: skip
