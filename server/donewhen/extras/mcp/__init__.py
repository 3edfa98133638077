"""The MCP server: the goal of a workspace and its evidence as tools and resources, for agents that ask by themselves.

`server.py` has them all, `command.py` is `donewhen mcp`. None of them is an act of a person: what stands in for
proof (waiving, accepting, answering) is not among them, and what they start asks a person like any run.
"""
