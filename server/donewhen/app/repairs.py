"""What repairs a model that can't be asked, as a person does it in a terminal; editors have buttons for it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from donewhen.core.state import RunState
from donewhen.core.trouble import ModelTrouble
from donewhen.goalfile.files import GOAL_FILE


def by_hand(
    state: RunState, trouble: ModelTrouble, environ: Mapping[str, str] = os.environ
) -> Sequence[tuple[str, str]]:
    """What a person can type before the run goes on, the likeliest first, each with a word on it."""
    judge = "judge-" if trouble.role == "judge" else ""
    resume = f"donewhen resume {state.run_id}"
    goal = "" if state.goal.path in (None, GOAL_FILE) else f" {shlex.quote(state.goal.path)}"
    acts = {
        "install_support": ("donewhen doctor", "how to install what calls the model"),
        "choose_model": (f"donewhen run{goal} --{judge}model PROVIDER/NAME", "another model, in a new run"),
        "set_address": (f"{resume} --{judge}api-base URL", "where it is served"),
    }
    if "set_key" in trouble.repairs:
        # Lazy: it reads which providers there are.
        from donewhen.app.keys import key_variables

        names = key_variables(trouble.role, trouble.model, state.options)
        # The first that is set is the key that is used: a better one in another variable would not be.
        acts["set_key"] = f"export {next((name for name in names if environ.get(name)), names[-1])}=KEY", "the key"
    return [acts.get(repair, (resume, "try again")) for repair in trouble.repairs]
