"""GoalBench: a table of small runs with a known truth, which tells how often a judge, and the loop around it, is wrong.

`cases` reads the table, `playing` plays a case on the real engine (made by `environment`), `scoring` counts;
`command` is `donewhen bench`.
"""
