"""Language models through litellm, in a host process of their own.

A reader begins with `hosted` (the port) and `host` (the process that serves it).

Invariant: a key is sent only to the host that it belongs to.
"""
