from donewhen.goalfile.source import FileProblem, RequirementSource


def preflight(requirements: tuple[RequirementSource, ...]) -> tuple[FileProblem, ...]:
    return ()
