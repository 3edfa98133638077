"""The one reader of command lines: for approvals, for recognising what a check runs, and for finding checks in a
project.

`lines` splits a text into simple commands as a POSIX shell would. Built on it are `wrapped.segments`, which says what a
line most likely runs, behind wrappers (a table); `wrapped.all_commands`, which says everything that it may run; and
`risks.always_asks`, which judges that by a table of programs (`risky_programs`). `simple.simple` is separate, since it
must never be wrong: it accepts one simple command and nothing else.

What can't be understood is never let through: it has no segments, `all_commands` and `simple` give None, and
`always_asks` reports it if it mentions something risky.

The reader is our own, for a grammar was measured and is worse at this: of 2,952 lines of real scripts, makefiles and
packages that bash accepts, tree-sitter-bash refused 98 and this reader 4; parsing a line takes about as long (27 µs) as
reading its words does here (29 µs). Where a grammar gives up, a check's runner and a risk would not be seen.
"""
