"""GoalBench: a table of small runs with a known truth, which tells how often a judge, and the engine, get it wrong."""
