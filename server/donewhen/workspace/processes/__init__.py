"""Starts processes, bounds their output, and ends each with all that it left behind."""
