"""The version of the package."""

__version__ = "0.1.0"

PUBLISHED = False
"""Whether a package index has this version. Until then no text names the package to an installer: whoever took the name
there would be run."""
