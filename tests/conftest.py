"""What holds for all tests."""

from __future__ import annotations

import signal

from hypothesis import settings

# Whoever started the tests may have these ignored, as nohup and a shell's `&` do: programs that are tested would
# inherit that, and would not end by them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How long an example takes says nothing of what it tests, on a machine that others use too. `quick` is a fifth of
# `full`, which `.ci/run` takes for the same tests; see `tests.tools.examples` for those that name a number.
_given = settings.get_profile(settings.get_current_profile_name())
settings.register_profile("full", _given, deadline=None, max_examples=100)
settings.register_profile("quick", _given, deadline=None, max_examples=20)
settings.load_profile("quick")
