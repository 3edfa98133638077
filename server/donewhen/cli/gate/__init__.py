"""`donewhen gate`: what an agent's own hook calls when the agent wants to stop.

`forms.py` is the table of agents: how each says that it stops, how it is answered, and which settings make it ask.
`hook.py` answers one call, `installing.py` writes those settings and takes them out again.
"""
