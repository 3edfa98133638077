"""The workspace folders of the client, at the beginning and later, and its settings."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsprotocol import types

from donewhen.core.errors import DoneWhenError
from donewhen.lsp.client_profile import object_or_empty
from donewhen.lsp.host import Folder
from donewhen.lsp.positions import file_path, is_goal_file
from donewhen.lsp.session import Session

WATCHED = ("**/GOAL.md", "**/*.goal.md")


async def initialized(session: Session, _: object) -> None:
    """The client is ready for messages: goal files are watched, and the known runs shown."""
    if session.profile.watched_files:
        session.later(_register(session), "client/registerCapability")
    if session.profile.configuration and not session.profile.settings:
        session.later(_fetch_settings(session), "workspace/configuration")
    for root in session.roots:
        if await asyncio.to_thread(_has_goals, root):
            session.later(show_folder(session, root), f"opening {root}")


async def show_folder(session: Session, root: Path) -> None:
    """Opens a folder and shows what is known about its runs; a failure is shown once, as a message."""
    if session.host.folder_if_open(root) is not None:
        return
    try:
        folder = await session.folder(root)
    except (DoneWhenError, OSError) as problem:
        if str(problem) not in session.told:
            session.told.add(str(problem))
            why = problem.said if isinstance(problem, DoneWhenError) else problem
            session.show_message(types.MessageType.Warning, f"Done When can't keep runs for {root.name}: {why}")
        return
    for view in reversed(folder.snapshots.newest_first()):
        session.views.run_changed(folder, view)
    offer_to_resume(session, folder)
    # The newest of those that can't be read, once: `donewhen.run.status` reports all of them.
    unreadable = [summary for summary in await folder.runs.summaries() if summary.unreadable is not None]
    if unreadable:
        newest, others = unreadable[0], len(unreadable) - 1
        more = f" (and {others} more)" if others else ""
        said = f"Done When can't read run {newest.run_id} of {root.name}{more}: {newest.unreadable}"
        session.show_message(types.MessageType.Warning, said)


def offer_to_resume(session: Session, folder: Folder) -> None:
    """Offers to resume runs that a crash or the loss of a client interrupted; only in a trusted workspace."""
    if not session.host.trusted:
        return
    for view in folder.snapshots.newest_first():
        if view.state.status == "interrupted":
            session.views.interrupts.offer_resume(folder, view)


async def configured(session: Session, params: types.DidChangeConfigurationParams) -> None:
    """`workspace/didChangeConfiguration`: the settings of section `donewhen`, pushed or to be fetched."""
    settings = object_or_empty(params.settings)
    if "donewhen" in settings:
        session.host.settings = object_or_empty(settings["donewhen"])
    elif settings:
        session.host.settings = settings
    elif session.profile.configuration:
        await _fetch_settings(session)


async def folders_changed(session: Session, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Folders are added and removed; a removed one is closed once nothing is at work in it, and no goal file of it is
    open."""
    removed = [path for folder in params.event.removed if (path := file_path(folder.uri)) is not None]
    added = [path for folder in params.event.added if (path := file_path(folder.uri)) is not None]
    session.roots = (*(root for root in session.roots if root not in removed), *added)
    for root in removed:
        session.release(root)
    for root in added:
        session.host.readmit(root)
        if await asyncio.to_thread(_has_goals, root):
            session.later(show_folder(session, root), f"opening {root}")


def files_changed(session: Session, params: types.DidChangeWatchedFilesParams) -> None:
    """These are only hints: the files that they name are read again from the disk."""
    for change in params.changes:
        path = file_path(change.uri)
        if path is not None and is_goal_file(path):
            place = session.place(path)
            session.views.goal_changed(place.root, place.path)


async def _register(session: Session) -> None:
    watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
    registration = types.Registration("donewhen-goals", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await session.answered(session.server.client_register_capability_async(types.RegistrationParams([registration])))


async def _fetch_settings(session: Session) -> None:
    wanted = types.ConfigurationParams([types.ConfigurationItem(section="donewhen")])
    items = await session.answered(session.server.workspace_configuration_async(wanted))
    if items:
        session.host.settings = object_or_empty(items[0])


def _has_goals(root: Path) -> bool:
    try:
        return any(is_goal_file(entry) for entry in root.iterdir())
    except OSError:
        return False
