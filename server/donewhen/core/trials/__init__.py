"""Experiments at the moment of completion: the original proof on the new work, the new proof on the old work, a planted
failure, and a disguise.

`outcome` says what an experiment shows; `dividing` which files belong to the proof and which to the product;
`disguise` and `untried` find what needs another look. `engine.trials` performs them, in rooms.
"""
