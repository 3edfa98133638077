"""The summary that a person accepts before a run's first turn: who works, what it may cost, what may run without
asking. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from donewhen.core.agents import PRESETS
from donewhen.core.approval import COMMAND_TOOL, ApprovalRule
from donewhen.core.events import RunOptions
from donewhen.core.goal import Goal, Limits
from donewhen.core.words import counted, listed, one_line
from donewhen.core.work import RunWarning
from donewhen.core.workers import WORKERS

SHOWN = 8
"""How many rules of one kind are named; beyond that, only their number is given."""
LONGEST = 80
ALWAYS_ASKS = "git push, publishing, installing packages, deleting what git can't bring back"


def start_summary(
    goal: Goal,
    options: RunOptions,
    *,
    remembered: Sequence[ApprovalRule] = (),
    unpriced: Sequence[str] = (),
    passed: Sequence[str] = (),
    withheld: Sequence[str] = (),
    contained_checks: bool = False,
) -> str:
    """Lines for a person. `remembered` is what they allowed in this workspace before, `unpriced` are the models whose
    price is unknown. `passed` are the names of variables with keys that the worker command gets, `withheld` those that
    an agent might need and doesn't get. `contained_checks`: checks run in rooms."""
    lines = [f"Worker: {_worker(options)}"]
    if passed:
        lines.append(f"Passed to it, besides what checks get: {listed(passed, SHOWN)}")
    if withheld:
        to_pass = " ".join(f"--pass-env {name}" for name in withheld[:SHOWN])
        lines.append(
            f"Not passed to it, although set here: {listed(withheld, SHOWN)}; to pass what it needs: {to_pass}"
        )
    limits = goal.limits
    turns = "unlimited iterations" if limits.max_iterations is None else counted(limits.max_iterations, "iteration")
    time = "unlimited time" if limits.timeout is None else _time(limits.timeout)
    lines += [
        f"Judge: {options.judge or 'none; you are asked about what no check decides'}",
        f"Ends after at most {turns} and {time}",
        f"Costs {_cost_answer(goal, options, unpriced)}",
        *_permissions(options, remembered),
    ]
    others = [name for name in options.plugins if name != "approval"]
    if others:
        lines.append(f"Plugins: {', '.join(others)}")
    checks = "in rooms of their own" if contained_checks else "as you, on this machine, and are not sandboxed"
    lines.append(f"Checks execute what the worker wrote, {checks}")
    return "\n".join(lines)


def _worker(options: RunOptions) -> str:
    if options.agent is not None:
        served = f", served at {options.agent.api_base}" if options.agent.api_base else ""
        return f"the built-in agent with the model {options.agent.model}{served}"
    kind = WORKERS.get(options.worker or "")
    if kind is not None:
        named = kind.introduced.format(
            worker_command=one_line(options.worker_command or "", LONGEST), script=options.script or ""
        )
        if options.contained:
            room = "in a room, where it can change only the workspace and its own settings"
            return f"{named}, {room}, {_network(options)}"
        return named.rstrip() if kind.recorded else f"{named}, which may do anything you may (--sandbox on contains it)"
    return f"{options.worker}, which comes from a plugin and may do anything that you may"


def _network(options: RunOptions) -> str:
    return "with the network" if options.network else "without the network"


def _cost_answer(goal: Goal, options: RunOptions, unpriced: Sequence[str]) -> str:
    limited = _budgets(goal.limits)
    most = f"at most {' and '.join(limited)}" if limited else ""
    if options.agent is None and (options.judging is None or not options.metered):
        if reporting := _reporting(options):
            known = reporting + (" and the judge's calls" if options.judging is not None else "")
            return f"{most}, counting {known}" if most else f"{known}; no limit is set"
        known = "whatever the worker spends, which it does not report"
        if not most:
            return known
        return f"{most}, as reported" if options.metered else f"{most} as far as it is reported, besides {known}"
    if goal.limits.budget is not None:
        return most
    if unpriced:
        price = f"an unknown amount: the price of {', '.join(unpriced)} is not known"
        return f"{price}; {most}" if most else f"{price}, and there is no limit"
    return most or "whatever it takes: no limit is set"


def _reporting(options: RunOptions) -> str:
    """What of the cost the worker's own program reports; empty if it reports none."""
    if options.worker == "acp":
        return "what the agent reports, if it reports any cost"
    agent = PRESETS.get(options.worker or "")
    prices = agent.headless.prices if agent is not None and agent.headless is not None else ""
    if agent is None or not prices:
        return ""
    return f"what {agent.name} reports" + (", where it knows the price" if prices == "some" else "")


def unlimited_warnings(limits: Limits) -> tuple[RunWarning, ...]:
    """`unlimited` is a person's choice, and shows."""
    names = {"max_iterations": "iterations", "timeout": "time"}
    open_ones = [word for name, word in names.items() if getattr(limits, name) is None]
    return (RunWarning("unlimited", f"this run has no limit on {' and '.join(open_ones)}"),) if open_ones else ()


def unkept_budgets(limits: Limits, options: RunOptions) -> tuple[RunWarning, ...]:
    """The warning of budgets that can't be kept in full: nobody here accounts for what worker or judge cost."""
    whose = [] if options.metered else ["worker"]
    whose += ["judge"] if options.judge is not None and options.judging is None else []
    budgets = _budgets(limits)
    if not whose or not budgets:
        return ()
    who = f"the {' and the '.join(whose)} {'cost' if len(whose) > 1 else 'costs'}"
    message = f"what {who} is known only as far as reported: the budget of {' and '.join(budgets)} counts nothing else"
    return (RunWarning("cost_unknown", message),)


def _budgets(limits: Limits) -> list[str]:
    budgets = [] if limits.budget is None else [f"${limits.budget:.2f}"]
    return budgets + ([] if limits.token_budget is None else [f"{limits.token_budget:,} tokens"])


def _permissions(options: RunOptions, remembered: Sequence[ApprovalRule]) -> list[str]:
    if options.worker == "acp":
        told = "It decides when to ask for permission; its requests are answered like this"
    elif options.agent is None:
        return ["Does not ask before acting"]
    elif options.contained:
        room = "Commands run in a room: they can change only the workspace, and nothing that git and editors keep in it"
        told = f"{room}, {_network(options)}"
    else:
        told = "Commands run as you, not sandboxed"
    rules = (*options.rules, *remembered)
    denied = _rules([rule for rule in rules if rule.action == "deny"])
    lines = [told, f"Without asking: {_free(options, rules)}"]
    if options.approve == "deny":
        lines.append("Anything else is denied: this run asks no one")
    else:
        asked = _rules([rule for rule in rules if rule.action == "ask"])
        other = ["any command outside the room"] if options.contained else []
        if options.approve != "auto":
            other += [] if options.contained else ["any other command"]
            other.append("files that make something run")
        lines.append(f"Asks before: {'; '.join(part for part in (ALWAYS_ASKS, asked, ', '.join(other)) if part)}")
    return [*lines, f"Never: {denied}"] if denied else lines


def _free(options: RunOptions, rules: Sequence[ApprovalRule]) -> str:
    """What is let through; what always asks is not, in any mode."""
    if options.approve == "auto":
        return "everything but what is named next (approve is auto)"
    if options.contained:
        return "reading and editing in the workspace; any command in the room"
    allowed = _rules([rule for rule in rules if rule.action == "allow"])
    commands = allowed or "no command"
    return f"reading and editing in the workspace; {commands}"


def _rules(rules: Sequence[ApprovalRule]) -> str:
    named: list[str] = []
    for rule in dict.fromkeys(rules):
        tool = "any tool" if rule.tool == "*" else rule.tool
        pattern = f"`{one_line(rule.pattern, LONGEST)}`"
        if rule.tool == COMMAND_TOOL:
            named.append("any command" if rule.pattern.strip() == "*" else pattern)
        else:
            named.append(tool if rule.pattern.strip() == "*" else f"{tool} {pattern}")
    return listed(named, SHOWN)


def _time(seconds: float) -> str:
    units = Counter[str]()
    units["h"], rest = divmod(int(seconds), 3600)
    units["min"], units["s"] = divmod(rest, 60)
    parts = [f"{count} {unit}" for unit, count in units.items() if count]
    return " ".join(parts) if parts else f"{seconds:g} s"


def room_text(options: RunOptions) -> str:
    """Where what the worker ran was run; empty if nobody but the person worked."""
    if options.contained:
        return f"commands sandboxed, {_network(options)}"
    return "commands not sandboxed" if options.worker in ("agent", "command", "scripted") else ""
