"""Swift, Dart, Elixir, PHP and R: of their tools only how they are called and what they print is known."""

import re

from donewhen.core.ecosystems.output import Counts, either, last_line, parts
from donewhen.core.ecosystems.table import Ecosystem, Form, Sign, Tool


def _phpunit(output: str) -> Counts | None:
    """`OK (3 tests, 5 assertions)`, or `Tests: 3, Assertions: 5, Failures: 1, Skipped: 1.`"""
    if fine := re.findall(r"^OK \((\d+) tests?, ", output, re.MULTILINE):
        return int(fine[-1]), 0, 0
    lines = re.findall(r"^Tests: \d+, Assertions: .*$", output, re.MULTILINE)
    if not lines:
        return None
    numbers = {key: int(value) for key, value in re.findall(r"([A-Z]\w+): (\d+)", lines[-1])}
    failed = numbers.get("Failures", 0) + numbers.get("Errors", 0)
    skipped = numbers.get("Skipped", 0) + numbers.get("Incomplete", 0)
    return max(numbers.get("Tests", 0) - failed - skipped, 0), failed, skipped


SWIFT = Ecosystem(
    "swift",
    tools=(
        Tool(
            "swift test",
            "test",
            prints=(
                Form(
                    "swift",
                    either(
                        parts(
                            r"^\s*Executed (?P<total>\d+) tests?, with (?:(?P<skipped>\d+) tests? skipped and )?"
                            r"(?P<failed>\d+) failure"
                        ),
                        parts(
                            r"Test run with (?P<total>\d+) tests?\b.* (?:passed|failed) after "
                            r".*?(?:with (?P<failed>\d+) issues?)?"
                        ),
                    ),
                    r"^\s*Executed \d+ tests?, with .*\d+ failures?"
                    r"|Test run with \d+ tests?\b.* (?:passed|failed) after ",
                ),
            ),
        ),
        Tool("swiftlint", "lint", nothing_checked=(r"No lintable files found",)),
    ),
)
DART = Ecosystem(
    "dart",
    tools=(
        Tool(
            "dart test",
            "test",
            ("dart test", "flutter test"),
            prints=(
                Form(
                    "dart",
                    parts(
                        r"^\d\d+:\d\d \+(?P<passed>\d+)(?: ~(?P<skipped>\d+))?(?: -(?P<failed>\d+))?: "
                        r"(?:All tests (?:passed!|skipped\.)|Some tests failed\.)"
                    ),
                    r"^\d\d+:\d\d \+\d+(?: ~\d+)?(?: -\d+)?: (?:All tests|Some tests)",
                    r"^(?:\d\d+:\d\d \+0: )?No tests ran\.$",
                ),
            ),
        ),
    ),
)
PHP = Ecosystem(
    "php",
    tools=(
        Tool(
            "phpunit",
            "test",
            prints=(
                Form(
                    "phpunit",
                    _phpunit,
                    r"^OK \(\d+ tests?, \d+ assertion|^Tests: \d+, Assertions: \d+",
                    r"^No tests executed!$",
                ),
            ),
            report_options=("--log-junit",),
        ),
        Tool(
            "pest",
            "test",
            prints=(
                Form(
                    "pest",
                    last_line(r"^\s*Tests:\s+(.*) \(\d+ assertions?\)$"),
                    r"^\s*Tests:\s+\d+ .* \(\d+ assertions?\)$",
                ),
            ),
        ),
    ),
)
ELIXIR = Ecosystem(
    "elixir",
    tools=(
        Tool(
            "mix test",
            "test",
            prints=(
                Form(
                    "mix",
                    # Of bats too: `3 tests, 1 failure, 1 skipped`.
                    parts(
                        r"^(?:\d+ (?:doctests?|propert(?:y|ies)), )*(?P<total>\d+) tests?, (?P<failed>\d+) failures?"
                        r"(?:, (?P<skipped>\d+) (?:skipped|excluded))?(?:, (?P<left>\d+) skipped)?",
                        last=False,
                    ),
                    r"^(?:\d+ (?:doctests?|propert(?:y|ies)), )*\d+ tests?, \d+ failures?(?:, \d+ \w+)*$",
                    r"^There are no tests to run$",
                    instead_of=("tap",),
                ),
            ),
            signs=(Sign("mix test", files=("mix.exs",)),),
            install="see https://elixir-lang.org/install.html",
        ),
    ),
)
R = Ecosystem(
    "r",
    tools=(
        Tool(
            "testthat",
            "test",
            (),
            prints=(
                Form(
                    "testthat",
                    parts(r"^\[ FAIL (?P<failed>\d+) \| WARN \d+ \| SKIP (?P<skipped>\d+) \| PASS (?P<passed>\d+) \]"),
                    r"^\[ FAIL \d+ \| WARN \d+ \| SKIP \d+ \| PASS \d+ \]",
                ),
            ),
        ),
    ),
)

OTHERS = (SWIFT, DART, ELIXIR, PHP, R)
