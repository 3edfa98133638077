"""Looks at what a proof rests on beside the files that trials divide: the programs that a check resolves to, and what
was changed around it.
"""
