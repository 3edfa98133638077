"""The command line: a front end on the engine's API, and nothing more (invariant 12)."""

from donewhen.cli.main import main
from donewhen.cli.services import (
    CheckProgram,
    CliServices,
    DemoProject,
    DoctorFacts,
    GoalProblem,
    PluginFacts,
    ServeOptions,
)

__all__ = [
    "CheckProgram",
    "CliServices",
    "DemoProject",
    "DoctorFacts",
    "GoalProblem",
    "PluginFacts",
    "ServeOptions",
    "main",
]
