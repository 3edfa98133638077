"""Features beside the loop, a folder each, with what no other part of the house needs."""
