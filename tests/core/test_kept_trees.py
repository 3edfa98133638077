"""Which files there were after each iteration is known of all of them, and takes room only where they changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.state import FilesSeen, KeptTree

STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc")), max_size=30)
"""How many iterations later a tree was kept, and which."""


@given(STEPS)
def test_the_latest_tree_of_each_iteration_is_known(steps: list[tuple[int, str]]) -> None:
    files, known, iteration = FilesSeen(), dict[int, str](), 0
    for sequence, (later, tree) in enumerate(steps):
        iteration += later
        known[iteration] = tree
        files = files.with_checkpoint(tree, sequence, iteration)
        assert files.last_checkpoint is not None
        assert (files.last_checkpoint.iteration, files.last_checkpoint.sequence) == (iteration, sequence)
    found = {number: files.tree_after(number) for number in range(-1, iteration + 2)}
    assert {number: kept.tree for number, kept in found.items() if kept is not None} == known


def test_files_that_stay_as_they_are_are_kept_once() -> None:
    files = FilesSeen()
    for iteration in range(1, 1_000):
        files = files.with_checkpoint("same", iteration, iteration)
    assert files.checkpoints == (KeptTree("same", 999, iteration=999, since=1),)


@given(STEPS)
def test_a_persons_run_begins_with_what_was_kept_first(steps: list[tuple[int, str]]) -> None:
    files, known, iteration = FilesSeen(), dict[int, str](), 0
    for sequence, (later, tree) in enumerate(steps):
        iteration += later
        known[iteration] = known.get(0, tree) if iteration == 0 else tree
        files = files.with_checkpoint(tree, sequence, iteration, first=True)
        assert files.last_checkpoint is not None
        assert (files.last_checkpoint.tree, files.last_checkpoint.iteration) == (tree, iteration)
        assert len(files.checkpoints) <= len(known) + 1
    found = {number: files.tree_after(number) for number in range(-1, iteration + 2)}
    assert {number: kept.tree for number, kept in found.items() if kept is not None} == known
