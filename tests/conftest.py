"""What holds for all tests."""

from __future__ import annotations

import signal

from hypothesis import settings

# Whoever started the tests may have it ignored, as nohup does: programs that are tested would inherit that.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How long an example takes says nothing of what it tests, on a machine that others use too.
settings.register_profile("unhurried", settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.load_profile("unhurried")
