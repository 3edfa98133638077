"""Language models through litellm, in a host process of their own.

A reader begins with `hosted` (the port) and `host` (the process that serves it).

Invariant: a key goes to the host that it belongs to, and to no other.
"""
