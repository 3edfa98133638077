"""What is proof and what is product, as data: one table per ecosystem."""

from donewhen.core.ecosystems.common import COMMON
from donewhen.core.ecosystems.dotnet import DOTNET
from donewhen.core.ecosystems.ecosystem import Disguise, Ecosystem, Inline, Plant, Shared, Suppression
from donewhen.core.ecosystems.go import GO
from donewhen.core.ecosystems.javascript import JAVASCRIPT
from donewhen.core.ecosystems.jvm import JVM
from donewhen.core.ecosystems.native import NATIVE
from donewhen.core.ecosystems.python import PYTHON
from donewhen.core.ecosystems.ruby import RUBY
from donewhen.core.ecosystems.rust import RUST
from donewhen.core.ecosystems.shell import SHELL

ECOSYSTEMS: tuple[Ecosystem, ...] = (PYTHON, JAVASCRIPT, GO, RUST, JVM, RUBY, NATIVE, DOTNET, SHELL, COMMON)

__all__ = ["ECOSYSTEMS", "Disguise", "Ecosystem", "Inline", "Plant", "Shared", "Suppression"]
