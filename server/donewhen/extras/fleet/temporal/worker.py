"""A worker: joins this machine to the fleets of a Temporal server, for the goals of some queues."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import timedelta

from temporalio import activity
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from donewhen.core.errors import UsageError
from donewhen.extras.fleet.board import Grant, Outcome
from donewhen.extras.fleet.iterating import PASSES, IteratingPlace
from donewhen.extras.fleet.temporal.workflows import WORKFLOWS, FleetWorkflow, GoalWorkflow, queue_of

BEATS = 3
"""Signs of life within the time after which a host counts as lost."""
LETS_GO_WITHIN = timedelta(seconds=5)


class Iterations:
    """The activities: an iteration of a goal, and the end of its run. Signs of life go to the server meanwhile, and a
    cancelled one lets its run go, with every process of it gone."""

    def __init__(self, place: IteratingPlace) -> None:
        self._place = place

    @activity.defn(name="iterate")
    async def iterate(self, grant: Grant) -> Outcome:
        return await _performed(self._place.iterate(grant))

    @activity.defn(name="end")
    async def end(self, grant: Grant) -> Outcome:
        return await _performed(self._place.end(grant))


async def _performed(performing: Awaitable[Outcome]) -> Outcome:
    """The outcome, with signs of life meanwhile."""
    timeout = activity.info().heartbeat_timeout or timedelta(seconds=10)

    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(timeout.total_seconds() / BEATS)

    beating = asyncio.create_task(beat())
    try:
        return await performing
    except PASSES as error:
        raise ApplicationError(str(error), type=type(error).__name__) from error
    finally:
        beating.cancel()


async def serve(client: Client, place: IteratingPlace, queues: Sequence[str], parallel: int) -> None:
    """Takes iterations until it is cancelled: at most `parallel` at a time from each queue. Those that are at work
    then are interrupted, and go on at the next worker. Raises UsageError where the server gives it none."""
    try:
        # A worker of a namespace that isn't there neither works nor ends.
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        why = error.message.rstrip(".")
        raise UsageError(
            f"the Temporal server gives this worker no goals: {why}. Check --temporal and --namespace"
        ) from error
    activities = Iterations(place)
    # The workflows are deterministic by what they are made of, and the sandbox would import the engine again for each.
    workflows = Worker(
        client,
        task_queue=WORKFLOWS,
        workflows=[FleetWorkflow, GoalWorkflow],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    hosts = [
        Worker(
            client,
            task_queue=queue_of(queue),
            activities=[activities.iterate, activities.end],
            max_concurrent_activities=parallel,
            max_heartbeat_throttle_interval=timedelta(seconds=1),
            default_heartbeat_throttle_interval=timedelta(seconds=1),
            graceful_shutdown_timeout=LETS_GO_WITHIN,
        )
        for queue in queues
    ]
    await asyncio.gather(*(one.run() for one in (workflows, *hosts)))
