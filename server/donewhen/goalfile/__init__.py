"""Goal files: Markdown in, goals with the positions of everything in the source out.

A reader begins with `parse`; `draft` and `detect` write a first goal file for a workspace, `complete` serves an editor.

Invariant: a goal file that can't be understood is never half understood. It has problems with places, and no goal.
"""
