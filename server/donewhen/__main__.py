"""`donewhen`: hands the parts to the front end that the command line asks for. Imports as little as it can: the
language server answers `initialize` before anything of the engine is loaded."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress

TYPE_CHECKING = False  # as in `donewhen` itself
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code (docs/protocol.md)."""
    # Each import stands where it is needed: `--version` and `initialize` pay for none of the others.
    gc.set_threshold(50_000)  # importing makes objects that stay: looking through them takes a tenth of a start
    arguments = sys.argv[1:] if argv is None else list(argv)
    _open_closed_streams()
    if arguments in (["--version"], ["-V"]):
        return _say_version()
    if arguments == ["serve", "--stdio"] or (arguments == ["serve"] and not sys.stdin.isatty()):
        # What editors start: nothing of the command line is imported before `initialize` is answered.
        return _serve_language()
    try:
        from donewhen.app.services import Services
        from donewhen.cli.main import main as command_line

        return command_line(
            arguments,
            Services(),
            lambda options: _serve_language(options.state_dir, options.tcp, options.client_process_id),
        )
    except KeyboardInterrupt:
        return 130  # nothing had begun that early: where it struck tells nobody anything


def _open_closed_streams() -> None:
    """Whoever started this may have closed them: then nobody reads what is said, and nothing else may get their
    numbers, which are given out lowest first."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open("/dev/null" if sys.platform != "win32" else "nul", mode, encoding="utf-8"))  # noqa: PTH123, SIM115  # as long as the process lives


def _say_version() -> int:
    """Scripts and editors ask for it often: it takes little more than Python's own start."""
    from donewhen.version import __version__

    try:
        print(f"donewhen {__version__}", flush=True)
    except (OSError, ValueError):  # nobody reads standard output; the interpreter would complain when it ends
        sys.stdout = None
    return 0


def _serve_language(state_dir: Path | None = None, tcp: int | None = None, client_process_id: int | None = None) -> int:
    import asyncio

    from donewhen.app.services import Services
    from donewhen.lsp.server import NothingSaid, serve

    served = serve(Services(), state_dir=state_dir, client_process_id=client_process_id, tcp_port=tcp)
    try:
        return asyncio.run(served)
    except NothingSaid:
        from donewhen.cli.serving import STARTED_BY_AN_EDITOR

        with suppress(OSError, ValueError):  # nobody reads standard error
            print(f"donewhen: {STARTED_BY_AN_EDITOR}", file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
