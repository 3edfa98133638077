"""Goal files: Markdown in, goals with source positions out; drafting, hints, completion and edits."""
