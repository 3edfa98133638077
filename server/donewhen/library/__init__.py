"""The Python library: goals pursued from a script, a notebook or an application, on the one engine. Its public names
are exported by `donewhen` itself."""
