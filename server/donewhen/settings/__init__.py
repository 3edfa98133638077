"""The settings that there are: one row each, and one reader for each kind of value.

`table.Choices` is the table: whoever adds a setting adds a row there. Goal files, TOML, environment, command line,
language server and library read by it, and completion, hovers, `--help` and docs/settings.md are made of it. Nothing
here reads files or the environment: `donewhen.settings.loading` does, and says which source wins.
"""
