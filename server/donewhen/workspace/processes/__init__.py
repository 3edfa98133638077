"""Starts processes, bounds their output, and ends each one with everything that it left behind."""
