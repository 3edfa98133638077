"""Starting a fleet at a Temporal server, and asking it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowQueryFailedError, WorkflowUpdateFailedError
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from donewhen.core.errors import DoneWhenError, UsageError
from donewhen.extras.fleet.board import Board
from donewhen.extras.fleet.manifest import Fleet
from donewhen.extras.fleet.temporal.workflows import WORKFLOWS, FleetWorkflow, workflow_of

ANSWERS_WITHIN = 10.0
"""Seconds that a server has to take a connection."""


class ServerAway(DoneWhenError):
    """The server, or a worker that could say how the fleet stands, doesn't answer now. Nothing is lost."""


async def connected(address: str, namespace: str) -> Client:
    """Raises UsageError if no Temporal server answers there."""
    try:
        # First without the client: its threads may still be at a failed connection when a short command ends, and
        # then the interpreter aborts.
        host, _, port = address.rpartition(":")
        async with asyncio.timeout(ANSWERS_WITHIN):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.close()
        return await Client.connect(address, namespace=namespace)
    except (OSError, OverflowError, RuntimeError, ValueError, RPCError) as error:
        why = str(error) or "no answer"
        raise UsageError(
            f"no Temporal server answers at {address} ({why}): give HOST:PORT, such as localhost:7233"
        ) from error


class TemporalAsking:
    """What people ask of a fleet at a server: like `local.LocalAsking`."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name
        self._handle = client.get_workflow_handle_for(FleetWorkflow.run, workflow_of(name))

    async def start(self, fleet: Fleet, *, new: bool = False) -> None:
        """Starts the fleet; one that goes on takes up what the manifest says now. Raises UsageError for one that has
        ended, unless it is to be a new one."""
        policy = WorkflowIDReusePolicy.ALLOW_DUPLICATE if new else WorkflowIDReusePolicy.REJECT_DUPLICATE
        try:
            await self._client.start_workflow(
                FleetWorkflow.run,
                Board(fleet, secrets.token_hex(8)).document(),
                id=workflow_of(fleet.name),
                task_queue=WORKFLOWS,
                id_reuse_policy=policy,
            )
        except WorkflowAlreadyStartedError:
            found = await self._handle.describe()
            if found.status != WorkflowExecutionStatus.RUNNING:
                raise UsageError(f"the fleet {fleet.name} has ended: give --new to run it once more") from None
            if new:
                raise UsageError(
                    f"the fleet {fleet.name} has not ended: run it without --new, or stop it first"
                ) from None
            await self._handle.signal(FleetWorkflow.again, fleet)

    async def board(self) -> Board:
        """Raises UsageError for a fleet that the server doesn't know, ServerAway."""
        try:
            return Board.of(await self._handle.query(FleetWorkflow.board))
        except RPCError as error:
            raise self._error_in_words(error) from error
        except WorkflowQueryFailedError as error:
            raise ServerAway(f"the fleet {self._name} doesn't say how it stands: {error}") from error

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> None:
        """Raises UsageError for what makes no sense as the fleet stands, ServerAway."""
        try:
            document = {"operation": operation, "arguments": dict(arguments)}
            await self._handle.execute_update("ask", document)  # pyright: ignore[reportUnknownMemberType]  # by its overloads
        except WorkflowUpdateFailedError as error:
            refused = error.cause
            if isinstance(refused, ApplicationError) and refused.type == "UsageError":
                raise UsageError(refused.message) from None
            raise
        except RPCError as error:
            raise self._error_in_words(error) from error

    def _error_in_words(self, error: RPCError) -> DoneWhenError:
        if error.status == RPCStatusCode.NOT_FOUND:
            return UsageError(f"there is no open fleet {self._name} at this server: {error.message}")
        return ServerAway(
            f"nobody answers for the fleet {self._name} ({error.message}): see that the server and a worker run "
            "(`donewhen fleet worker`); nothing is lost"
        )
