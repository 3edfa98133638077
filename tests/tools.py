"""Programs that tests use: missing, they are passed over on a user's machine, and fail the test in CI."""

from __future__ import annotations

import os
import shutil

import pytest


def needs(program: str) -> pytest.MarkDecorator:
    """Skips a test where the program is missing, but never in CI."""
    missing = shutil.which(program) is None and not os.environ.get("CI")
    return pytest.mark.skipif(missing, reason=f"{program} is not installed")
