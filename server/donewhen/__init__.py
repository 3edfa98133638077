"""Done When: goals that are done when the evidence says so."""

__version__ = "0.1.0"
