"""What is proof and what is product, as data: one table per ecosystem."""

from donewhen.ecosystems.common import COMMON
from donewhen.ecosystems.dotnet import DOTNET
from donewhen.ecosystems.go import GO
from donewhen.ecosystems.javascript import JAVASCRIPT
from donewhen.ecosystems.jvm import JVM
from donewhen.ecosystems.native import NATIVE
from donewhen.ecosystems.python import PYTHON
from donewhen.ecosystems.ruby import RUBY
from donewhen.ecosystems.rust import RUST
from donewhen.ecosystems.shell import SHELL
from donewhen.ecosystems.table import Disguise, Ecosystem, Inline, Plant, Shared, Suppression

ECOSYSTEMS: tuple[Ecosystem, ...] = (PYTHON, JAVASCRIPT, GO, RUST, JVM, RUBY, NATIVE, DOTNET, SHELL, COMMON)

__all__ = ["ECOSYSTEMS", "Disguise", "Ecosystem", "Inline", "Plant", "Shared", "Suppression"]
