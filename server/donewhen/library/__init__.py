"""The Python library: goals pursued from a script, a notebook or an application, on the same engine as every front end.

`goals` and `running` are the entries.
"""
