"""Goal files: parses Markdown to goals, with the source positions of everything.

A reader begins with `parse`; `draft` and `detect` write a first goal file for a workspace, `complete` serves an editor.

Invariant: a goal file that can't be understood is never half understood. It has problems with positions, and no goal.
"""
