"""A fleet over Temporal: one workflow holds the board, each goal has a workflow of its own, and each iteration is an
activity on the queue of the goal's host. Only this package imports temporalio, which the extra `fleet` brings.

Begin with `workflows.py`. `worker.py` joins a machine, `client.py` starts a fleet and asks it.
"""
