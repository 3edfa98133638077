"""What repairs a model that can't be asked, as a person does it in a terminal; editors have buttons for it."""

from __future__ import annotations

from collections.abc import Sequence

from donewhen.core.events import RunOptions
from donewhen.core.trouble import ModelTrouble, Repair


def by_hand(trouble: ModelTrouble, options: RunOptions) -> Sequence[str]:
    """What a person can set or type before the run goes on, the likeliest first."""
    return [_by_hand(one, trouble, options) for one in trouble.repairs]


def _by_hand(repair: Repair, trouble: ModelTrouble, options: RunOptions) -> str:
    judge = "judge-" if trouble.role == "judge" else ""
    if repair == "set_key":
        # Lazy: it reads which providers there are.
        from donewhen.app.keys import key_variables

        return f"set {' or '.join(key_variables(trouble.role, trouble.model, options))}"
    if repair == "install_support":
        return "`donewhen doctor` says how to install what calls it"
    texts = {
        "choose_model": f"start a new run with another model (--{judge}model)",
        "set_address": f"resume with the right address (--{judge}api-base)",
    }
    return texts.get(repair, "resume once it can be reached")
