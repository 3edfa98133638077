"""Language models: through the official clients in this process, or through litellm in a host process of its own.

A reader begins with `hosted` (the port), then `routing` (which way a call goes), `direct` and `host`.

Invariant: a key is sent only to the host that it belongs to.
"""
