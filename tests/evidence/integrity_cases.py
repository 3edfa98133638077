"""The table of integrity: what a change of files is to be found as. Half of it is honest work, which is no finding."""

from __future__ import annotations

from .integrity_cases_bindings import BINDINGS
from .integrity_cases_configs import CONFIGS, NAMED, PROGRAMS
from .integrity_cases_definitions import DEFINITIONS
from .integrity_cases_honest import HONEST_PYTHON
from .integrity_cases_other_files import OTHER_FILES
from .integrity_cases_python import DISHONEST_PYTHON
from .integrity_cases_scripts import SCRIPTS
from .integrity_cases_unchecked import UNCHECKED

TESTS = (*HONEST_PYTHON, *DISHONEST_PYTHON, *BINDINGS, *SCRIPTS)
CASES = (*TESTS, *CONFIGS, *NAMED, *DEFINITIONS, *OTHER_FILES, *PROGRAMS, *UNCHECKED)
