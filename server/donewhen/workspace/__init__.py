"""The folder on disk, and the processes that run in it.

A reader begins with `folder` (the port): revisions of the covered files (`manifest`, `scanning`), changes
(`watching`), checkpoints, and guarded writes.

Invariant: a revision names the content that was read. Nothing follows a link out of the workspace.
"""
