"""What holds for all tests."""

from __future__ import annotations

import signal

# Whoever started the tests may have it ignored, as nohup does: programs that are tested would inherit that.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
