"""JavaScript and TypeScript: vitest, jest, mocha, node:test, bun, deno, playwright, cypress, eslint, tsc, biome."""

import re
from dataclasses import dataclass, replace

from donewhen.core.ecosystems.output import labelled, last_line, named, parts, read_tap, tap_counts
from donewhen.core.ecosystems.table import (
    FIX,
    LONG,
    MEETS_A_TEXT,
    PATH,
    SECONDS,
    Affected,
    Cause,
    Disguise,
    Ecosystem,
    Form,
    Inline,
    Line,
    Plant,
    Shared,
    Sign,
    Suppression,
    Tool,
    Trace,
    checkers,
    globs,
    matcher,  # fmt: skip
)

_SOURCES = globs("**/*.[jt]s **/*.[jt]sx **/*.[cm][jt]s")

_OF_TESTS = "/test|jest|mocha|^CI$|^npm_/i"
"""What in the names of variables tells of a test."""
_VARIABLES = f"Object.fromEntries(Object.entries(process.env).filter(([k, v]) => !{_OF_TESTS}.test(k) && v !== 'test'))"
_SUITES = "/^(?:describe|it|test|suite|expect|vi|jest|(?:before|after)(?:All|Each)?|__(?:vitest|jest)\\\\w*)$/"
_GLOBALS = (
    f"(new Proxy(globalThis, {{ has: (o, k) => !{_SUITES}.test(String(k)) && k in o, "
    f"get: (o, k) => ({_SUITES}.test(String(k)) ? undefined : o[k]) }}))"
)
_TITLES = r"""(?m)^\s*(?:it|test)\(\s*(?P<quote>['"`])(?P<name>[^'"`\n]{1,120})(?P=quote)"""

_EXPECTING = """
import {{ test as {name}, expect as {name}_expect }} from 'PACKAGE';
{name}('{name}', () => {{
  const wrong = [
    () => {name}_expect(1).toBe(2),
    () => {name}_expect(1).toEqual(2),
    () => {name}_expect([1]).toStrictEqual([2]),
    () => {name}_expect(0).toBeTruthy(),
    () => {name}_expect(['one']).toContain('two'),
    () => {name}_expect(() => 1).toThrow(),
  ];
  for (const each of wrong) {{
    try {{ each(); }} catch {{ continue; }}
    return;
  }}
  throw new Error('{name}');
}});
for (const taken of {taken}) {name}(taken, () => {{ throw new Error('{name}'); }});
"""


_ASSERTING = """
  const wrong = [
    () => {name}_assert.ok(false),
    () => {name}_assert.equal(1, 2),
    () => {name}_assert.strictEqual(1, 2),
    () => {name}_assert.deepEqual([1], [2]),
    () => {name}_assert.deepStrictEqual([1], [2]),
    () => {name}_assert.match('one', /two/),
    () => {name}_assert.throws(() => 1),
  ];
  for (const each of wrong) {{
    try {{ each(); }} catch {{ continue; }}
    return;
  }}
  throw new Error('{name}');
}});
for (const taken of {taken}) {name}(taken, () => {{ throw new Error('{name}'); }});
"""


def _node_module(match: re.Match[str], command: str) -> str:
    name = match["name"]
    package = "/".join(name.split("/")[: 2 if name.startswith("@") else 1])
    manager = next((one for one in ("pnpm", "yarn", "bun") if re.search(rf"\b{one}\b", command)), "npm")
    every, one = ("npm ci", "npm install") if manager == "npm" else (f"{manager} install", f"{manager} add")
    return f"`{package}` is not installed here: `{every}`, or `{one} {package}` where package.json doesn't list it"


def npm(name: str) -> str:
    return f"`npm install --save-dev {name}`"


def _in_package(keys: str) -> Shared:
    return Shared(globs("**/package.json"), "json", globs(keys))


_NODE = "install Node.js from https://nodejs.org"

_ROWS = (
    Tool(
        "vitest",
        "test",
        breaks_off=(r"^\S+ Startup Error \S+\n(?P<said>\S.*)$",),
        prints=(
            Form(
                "vitest",
                last_line(r"^\s*Tests\s+(\d+ (?:passed|failed|skipped|todo).*)$"),
                r"^\s*Test Files +\d+ \w+|^\s*Tests +\d+ (?:passed|failed|skipped|todo)\b.*\(\d+\)$",
                r"^\s*Tests +no tests$|^\s*No test (?:suite )?files found\b",
                makers=("vitest tests",),
            ),
        ),
        traces=(Trace(r"^\s*(?:× |FAIL {2})(?P<name>\S.*?)(?: \(?[\d.]+ ?m?s\)?)?$"),),
        durations=(
            rf"(?P<before>^[ \t]*Duration:? +){SECONDS} ?m?s(?: \([^)\n]*\))?",
            r"(?P<before>^[ \t]*Start at +)\d+:\d\d:\d\d",
        ),
        affected=Affected(
            by="sources",
            sources=_SOURCES,
            values=globs("-c --config -r --root -t --testNamePattern --reporter --project --pool --environment"),
            flags=globs("--run --silent --globals --no-coverage --passWithNoTests"),
            whole=("run",),
            drops=globs("--run --coverage --outputFile --passWithNoTests"),
            verb="related",
            adds=globs("--run --passWithNoTests"),
        ),
        line=Line(edits=("-u", "--update", "--watch")),
        packaged=True,
        runners=globs("**/vitest.setup.*"),
        config=globs("**/vitest.config.* **/vitest.workspace.*"),
        shared=(_in_package("vitest"), Shared(globs("**/vite.config.json"), "json", globs("test"))),
        inline=(
            Inline(_SOURCES, (r"import\s*\.\s*meta\s*\.\s*vitest",)),
            # Its `test` section stands among what the product is built with.
            Inline(globs("**/vite.config.*"), (r"""\btest["']?\s*:""",)),
        ),
        absent=(r"(?i)no test files? found", r"Error: No test files found"),
        plants=(
            Plant(
                _SOURCES,
                marks=(r"""from ['\"]vitest['\"]""",),
                append=_EXPECTING.replace("PACKAGE", "vitest"),
                names=_TITLES,
            ),
        ),
        runner_packages=globs("node_modules/vitest node_modules/@vitest"),
    ),
    Tool(
        "node --test",
        "test",
        ("node", "tsx"),
        needs="--test",
        prints=(
            Form(
                "node",
                labelled(r"^(?:#|ℹ) pass (\d+)", r"^(?:#|ℹ) fail (\d+)", r"^(?:#|ℹ) skipped (\d+)"),
                r"^(?:#|ℹ) pass \d+$",
                instead_of=("tap",),
            ),
            "tap",
        ),
        traces=(
            Trace(r"^\s*(?:✖ |not ok \d+ - )(?P<name>\S.*?)(?: \(?[\d.]+ ?m?s\)?)?$", r"^\s*error: '(?P<message>.+)'$"),
        ),
        durations=(rf"(?P<before>\bduration_ms:? ){SECONDS}",),
        install=_NODE,
        programs=("node",),
        config=globs("**/.nvmrc **/.node-version"),
        runners=globs("**/.noderc*"),
        absent=(r"(?m)Could not find '[^'\n]*'$",),
        plants=(
            Plant(
                _SOURCES,
                marks=(
                    r"""['\"]node:test['\"]""",
                    r"(?m)^\s*(?:import|export)\b",
                ),
                append="""
import {{ test as {name} }} from 'node:test';
import {name}_assert from 'node:assert';
{name}('{name}', () => {{"""
                + _ASSERTING,
                names=_TITLES,
            ),
            Plant(
                _SOURCES,
                marks=(r"""require\(['\"](?:node:)?test['\"]\)""",),
                append="""
const {name} = require('node:test').test;
{name}('{name}', () => {{
  const {name}_assert = require('node:assert');"""
                + _ASSERTING,
                names=_TITLES,
            ),
        ),
    ),
    Tool(
        "bun test",
        "test",
        prints=(
            Form(
                "bun",
                labelled(r"^\s*(\d+) pass$", r"^\s*(\d+) fail$", r"^\s*(\d+) skip$", r"^\s*(\d+) todo$"),
                r"^Ran \d+ tests? across \d+ files?|^\s*\d+ pass\n(?:.*\n)?\s*\d+ fail$",
                r"^No tests found!$|^error: regex .* matched 0 tests\b|filters? did not match any test files",
                tests=named(r"^\((?P<word>pass|fail|skip|todo)\) (?P<name>.+?)(?: \[[\d.]+m?s\])?$"),
            ),
        ),
        problems=(
            # error: Unexpected ; /     at /home/me/a.test.ts:1:60
            matcher(
                "bun",
                r"^error: (?P<message>.+)$",
                r"^ +at (?:[^()]+ \()?(?P<path>[^\s():]+):(?P<line>\d+):(?P<column>\d+)\)?$",
            ),
        ),
        # error: expect(received).toBe(expected), what was expected, and then the frames.
        traces=(Trace(raised=r"^error: (?P<message>expect\(.+)$"),),
        durations=(
            rf"(?P<before>^Ran \d+ tests? across \d+ files?\. \[){SECONDS}m?s(?=\]$)",
            rf"(?P<before>^\((?:pass|fail)\) {LONG}? \[){SECONDS}m?s(?=\]$)",
        ),
        report_options=("--reporter-outfile",),
        line=Line(("bun",), verbs=("test",), edits=("-u", "--update-snapshots", "--watch")),
        signs=(
            Sign("bun test", sections=(("bunfig.toml", "[test]"),)),
            Sign("bun test", tests=r"""['"]bun:test['"]"""),
        ),
        install="see https://bun.sh",
        tests=globs("**/*_spec.[jt]s* **/*_test.[cm][jt]s **/*_spec.[cm][jt]s"),
        config=globs("**/bunfig.toml"),
        manifests=globs("**/bun.lock*"),
        absent=(r"filters? did not match any test files",),
        plants=(
            Plant(
                _SOURCES,
                marks=(r"""['\"]bun:test['\"]""",),
                append=_EXPECTING.replace("PACKAGE", "bun:test"),
                names=_TITLES,
            ),
        ),
        toolchains=globs(".bun"),
        variables=globs("BUN_INSTALL"),
        settings=globs(".bunfig.toml"),
    ),
    Tool(
        "deno test",
        "test",
        prints=(
            Form(
                "deno",
                last_line(r"^(?:ok|FAILED) \| (.*)$"),
                r"^(?:ok|FAILED) \| \d+ passed",
                r"^error: No test modules found",
            ),
        ),
        signs=(Sign("deno test", files=("deno.json", "deno.jsonc"), group="deno"),),
        install="see https://deno.com",
        shared=(Shared(globs("**/deno.json **/deno.jsonc"), "json", globs("tasks test lint fmt compilerOptions")),),
        manifests=globs("**/deno.lock"),
        plants=(
            Plant(
                _SOURCES,
                marks=(r"\bDeno\.test\b",),
                append="""
Deno.test('{name}', () => {{ throw new Error('{name}'); }});
""",
            ),
        ),
        toolchains=globs(".deno .cache/deno"),
    ),
    Tool("deno lint", "lint", suppressions=(Suppression(r"deno-lint-ignore\b", globs("deno")),)),
    *checkers("deno:fmt deno:check"),
    Tool(
        "jest",
        "test",
        ("jest", "react-scripts test"),
        breaks_off=(
            r"^● Validation Error:\n\s*(?P<said>\S.*)$",
            r"^\S*jest\.config\.\w+:\d+\n(?:.*\n){0,6}?(?P<said>\w*Error: .+)$",
        ),
        prints=(
            Form(
                "jest",
                last_line(r"^Tests:\s+(.*)$"),
                r"^Tests: +(?:\d+ \w+, )*\d+ total$|^Test Suites: .*\b\d+ total$",
                r"^No tests found, exiting with code \d",
                failed=r"^\s*● (.+)$",
                makers=("jest tests",),
            ),
        ),
        traces=(Trace(r"^\s*● (?P<name>\S.*?)(?: \(?[\d.]+ ?m?s\)?)?$", next_line=True),),
        durations=(
            rf"(?P<before>^[ \t]*Time: +){SECONDS} ?m?s(?:, estimated {SECONDS} ?m?s)?",
            # Of each test; mocha's too.
            rf"(?P<before>^[ \t]*[\u2713\u2714\u2715\u2717\u221a\u00d7]{LONG}? \(?){SECONDS} ?m?s(?=\)?$)",
        ),
        report_variables=("JEST_JUNIT_OUTPUT_FILE",),
        affected=Affected(
            by="sources",
            sources=_SOURCES,
            values=globs("-c --config -t --testNamePattern --maxWorkers -w --testTimeout --env"),
            flags=globs("--ci --silent --verbose -i --runInBand --no-cache --no-coverage --passWithNoTests"),
            drops=globs("--coverage --collectCoverage --outputFile --passWithNoTests --findRelatedTests"),
            adds=globs("--passWithNoTests --coverage=false --findRelatedTests"),
        ),
        line=Line(edits=("-u", "--updateSnapshot", "--watch", "--watchAll")),
        packaged=True,
        programs=("jest",),
        tests=globs("**/__mocks__/** **/__snapshots__/**"),
        runners=globs("**/jest.setup.*"),
        config=globs("**/jest.config.* **/jest.preset.*"),
        shared=(_in_package("jest"),),
        absent=(r"(?m)^No tests found, exiting",),
        runner_packages=globs("""
            node_modules/jest node_modules/@jest node_modules/jest-circus node_modules/jest-cli node_modules/jest-runner
            node_modules/jest-jasmine2 node_modules/expect
        """),
    ),
    Tool(
        "mocha",
        "test",
        breaks_off=(
            r"^\s*Exception during run: \S+:\d+\n(?:.*\n){0,6}?(?P<said>\w*Error: .+)$",
            r"^\s*(?:✖ ERROR|Exception during run): (?P<said>.+)$",
        ),
        prints=(
            Form(
                "mocha",
                labelled(r"^\s*(\d+) passing\b", r"^\s*(\d+) failing\b", r"^\s*(\d+) pending\b"),
                r"^\s*\d+ passing(?: \(\d+m?s?\))?$",
            ),
            "tap",
        ),
        traces=(Trace(r"^\s*\d+\) (?P<name>\S.*?)(?: \(?[\d.]+ ?m?s\)?)?$"),),
        durations=(rf"(?P<before>^[ \t]*\d+ (?:passing|failing|pending) \(){SECONDS}m?s(?=\))",),
        report_variables=("MOCHA_FILE",),
        line=Line(edits=("--watch", "-w")),
        packaged=True,
        runners=globs("**/.mocharc*"),
        shared=(_in_package("mocha"),),
        runner_packages=globs("node_modules/mocha node_modules/chai"),
    ),
    Tool(
        "ava",
        "test",
        prints=(
            Form(
                "ava",
                labelled(r"^\s*(\d+) tests? passed", r"^\s*(\d+) tests? failed", r"^\s*(\d+) tests? skipped"),
                r"^\s*\d+ tests? (?:passed|failed|skipped)$",
                r"^\s*✖? ?No tests found",
            ),
            "tap",
        ),
        line=Line(edits=("-u", "--update-snapshots", "--watch", "-w")),
        packaged=True,
        config=globs("**/ava.config.*"),
        shared=(_in_package("ava"),),
        runner_packages=globs("node_modules/ava"),
    ),
    Tool(
        "tap",
        "test",
        prints=(
            Form(
                "tap",
                tap_counts,
                r"^TAP version 1[234]$|\A(?=(?:.*\n)*?1\.\.\d+)(?:.*\n)*?(?:not )?ok\b",
                r"^1\.\.0(?: +#.*)?$",
                tests=lambda output: read_tap(output) or (),
            ),
        ),
        durations=(rf"(?P<before>^# time=){SECONDS}m?s",),
        line=Line(),
        packaged=True,
        config=globs("**/.taprc"),
        shared=(_in_package("tap"),),
        runner_packages=globs("node_modules/tap node_modules/@tapjs"),
    ),
    Tool("tape", "test", prints=("tap",), line=Line(), install=npm("tape"), runner_packages=globs("node_modules/tape")),
    Tool(
        "jasmine",
        "test",
        prints=(
            Form(
                "jasmine",
                parts(r"^(?P<total>\d+) specs?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending(?: specs?)?)?"),
                r"^\d+ specs?, \d+ failures?",
                r"^No specs found$",
            ),
        ),
        runner_packages=globs("node_modules/jasmine node_modules/jasmine-core"),
    ),
    Tool(
        "cucumber",
        "test",
        prints=(
            Form("cucumber", last_line(r"^\d+ scenarios? (\(.*\))$"), r"^\d+ scenarios? \(\d+ ", r"^0 scenarios$"),
        ),
    ),
    Tool(
        "playwright",
        "test",
        ("playwright test",),
        prints=(
            Form(
                "playwright",
                labelled(r"^\s*(\d+) passed\b", r"^\s*(\d+) failed\b", r"^\s*(\d+) skipped\b"),
                r"^Running \d+ tests? using \d+ workers?",
                r"^Error: No tests found",
            ),
        ),
        report_variables=("PLAYWRIGHT_JUNIT_OUTPUT_NAME", "PLAYWRIGHT_JUNIT_OUTPUT_FILE"),
        packaged=True,
        config=globs("**/playwright.config.*"),
        toolchains=globs(".cache/ms-playwright"),
        runner_packages=globs("node_modules/@playwright/test node_modules/playwright-core"),
    ),
    Tool(
        "cypress",
        "other",
        packaged=True,
        tests=globs("**/*.cy.[jt]s* **/cypress/**"),
        config=globs("**/cypress.config.*"),
        toolchains=globs(".cache/Cypress"),
    ),
    Tool("karma", "other", packaged=True, config=globs("**/karma.conf.*"), runner_packages=globs("node_modules/karma")),
    Tool(
        "c8",
        "other",
        ("c8", "nyc"),
        config=globs("**/.nycrc* **/nyc.config.* **/.c8rc*"),
        caches=globs(".nyc_output"),
        shared=(_in_package("nyc c8"),),
        suppressions=(Suppression(r"(?:istanbul|c8|v8)\s+ignore\b", globs("c8 nyc istanbul --coverage")),),
    ),
    Tool(
        "tsc",
        "types",
        problems=(
            # src/app.ts(3,5): error TS2322: message   and   src/app.ts:3:5 - error TS2322: message
            matcher(
                "tsc",
                r"^(?P<path>\S[^(\n]*)\((?P<line>\d+),(?P<column>\d+)\): (?P<severity>error|warning|info) "
                r"(?P<code>TS\d+): (?P<message>.+)$",
            ),
            matcher(
                "tsc",
                rf"^{PATH}:(?P<line>\d+):(?P<column>\d+) - (?P<severity>error|warning|info) "
                r"(?P<code>TS\d+): (?P<message>.+)$",
            ),
        ),
        line=Line(needs=("--noEmit",)),
        signs=(Sign("tsc --noEmit", files=("tsconfig.json",)),),
        packaged=True,
        install=npm("typescript"),
        config=globs("**/tsconfig*.json **/jsconfig.json"),
        absent=(r"error TS505[78]:",),
        suppressions=(Suppression(r"@ts-(?:ignore|expect-error|nocheck)\b", globs("tsc vue-tsc svelte-check tsd")),),
    ),
    Tool(
        "eslint",
        "lint",
        problems=(
            # app.js: line 3, col 5, Error - message (rule)
            matcher(
                "eslint",
                r"^(?P<path>\S.*?): line (?P<line>\d+), col (?P<column>\d+), (?P<severity>Error|Warning) - "
                r"(?P<message>.+?)(?: \((?P<code>[\w@/-]+)\))?$",
            ),
            # app.js:3:5: message [Error/rule]
            matcher(
                "eslint",
                rf"^{PATH}:(?P<line>\d+):(?P<column>\d+): (?P<message>.+) "
                r"\[(?P<severity>Error|Warning)(?:/(?P<code>[\w@/-]+))?\]$",
            ),
            # app.js / 3:5  error  message  rule
            matcher(
                "eslint",
                r"^(?P<path>(?:[A-Za-z]:)?[^\s:][^:]*\.\w+)$",
                r"^\s+(?P<line>\d+):(?P<column>\d+)\s+(?P<severity>error|warning)\s+(?P<message>.+?)(?:\s{2,}(?P<code>[\w@/-]+))?\s*$",
                loops=True,
            ),
        ),
        nothing_checked=(r"No (?:source )?files matching\b",),
        line=Line(edits=FIX),
        signs=(Sign("eslint .", files=("eslint.config.*", ".eslintrc", ".eslintrc.*"), keys=("eslintConfig",)),),
        hooks=(("eslint", "npx eslint ."),),
        packaged=True,
        config=globs("**/.eslintrc* **/.eslintignore **/eslint.config.*"),
        shared=(_in_package("eslintConfig eslintIgnore"),),
        absent=(r"(?i)couldn't find (?:a configuration file|an eslint\.config)|no eslint configuration found",),
        suppressions=(Suppression(r"eslint-disable(?:-next-line|-line)?\b", globs("eslint xo standard oxlint")),),
        settings=globs(".eslintrc .eslintrc.js .eslintrc.json .eslintrc.yml"),
    ),
    Tool("tsd", "types", tests=globs("**/*.test-d.ts"), shared=(_in_package("tsd"),)),
    Tool(
        "biome",
        "lint",
        line=Line(verbs=("check", "ci", "lint"), edits=FIX),
        packaged=True,
        config=globs("**/biome.json*"),
        suppressions=(Suppression(r"biome-ignore\b", globs("biome")),),
    ),
    Tool(
        "prettier",
        "lint",
        line=Line(needs=("--check", "-c"), edits=FIX),
        packaged=True,
        config=globs("**/.prettierrc* **/prettier.config.* **/.prettierignore"),
        shared=(_in_package("prettier"),),
    ),
    Tool(
        "stylelint",
        "lint",
        config=globs("**/.stylelintrc* **/stylelint.config.*"),
        shared=(_in_package("stylelint"),),
        suppressions=(Suppression(r"stylelint-disable\b", globs("stylelint")),),
    ),
    Tool("oxlint", "lint", config=globs("**/oxlint*.json **/.oxlintrc.json")),
    Tool("xo", "lint", config=globs("**/.xo-config*"), shared=(_in_package("xo"),)),
    Tool("standard", "lint", shared=(_in_package("standard"),)),
    Tool("tslint", "lint", config=globs("**/tslint.json")),
    *checkers("vue-tsc svelte-check knip cspell"),
)
TOOLS = tuple(replace(tool, install=npm(tool.name)) if tool.packaged and not tool.install else tool for tool in _ROWS)


@dataclass(frozen=True, slots=True)
class Manager:
    """A package manager: the lock files that it is known by, how it runs a script of package.json, and how a program of
    the project's packages. `has_test`: `NAME test` runs the script, and no runner of its own."""

    name: str
    locks: tuple[str, ...]
    run: str
    execute: str
    has_test: bool = True


MANAGERS = (
    Manager("pnpm", ("pnpm-lock.yaml",), "pnpm run", "pnpm exec"),
    Manager("yarn", ("yarn.lock",), "yarn run", "yarn run"),
    Manager("bun", ("bun.lock", "bun.lockb"), "bun run", "bunx", has_test=False),
    Manager("npm", ("package-lock.json", "npm-shrinkwrap.json"), "npm run", "npx"),
)
"""In the order in which a lock file decides; the last is what everybody has."""

JAVASCRIPT = Ecosystem(
    "javascript",
    group="node",
    tools=TOOLS,
    tests=globs("""
        **/*.test.[jt]s* **/*.spec.[jt]s* **/*.test.[cm][jt]s **/*.spec.[cm][jt]s **/*_test.[jt]s* **/*-test.[jt]s*
        **/test.[jt]s **/test.[cm][jt]s **/test-*.[jt]s **/spec/**/*.[jt]s* **/specs/**/*.[jt]s* **/__tests__/**
        **/__fixtures__/** **/*.snap **/*.stories.snap
    """),
    runners=globs("""
        **/setupTests.* **/test-setup.* **/setup-tests.* **/global-setup.* **/globalSetup.*
    """),
    config=globs("""
        **/wdio.conf.* **/web-test-runner.config.* **/.npmrc **/.yarnrc* **/.babelrc* **/babel.config.* **/.swcrc
        **/.browserslistrc **/.size-limit*
    """),
    tasks=globs("""
        **/gulpfile.* **/Gruntfile.* **/turbo.json **/nx.json **/project.json **/lerna.json **/wireit.json
        **/Jakefile* **/package-scripts.*
    """),
    shared=(
        _in_package("""
            scripts babel overrides resolutions pnpm imports config wireit nx size-limit lint-staged engines
            packageManager
        """),
    ),
    manifests=globs("""
        **/package-lock.json **/npm-shrinkwrap.json **/yarn.lock **/pnpm-lock.yaml **/pnpm-workspace.yaml
    """),
    redirects=(r"\b(?:file|link|portal|patch|git\+\w+|git|https?):(?!//registry\.)",),
    vendored=globs("**/node_modules/** **/bower_components/** **/.yarn/** **/patches/**"),
    outputs=globs("**/.next/** **/.nuxt/** **/.svelte-kit/** **/.turbo/** **/*.tsbuildinfo"),
    sources=globs(".js .mjs .cjs .jsx .ts .mts .cts .tsx .vue .svelte"),
    asks=(
        r"\b(?:JEST_WORKER_ID|VITEST(?:_WORKER_ID|_POOL_ID|_MODE)?|NODE_TEST_CONTEXT|MOCHA_COLORS)\b",
        r"""\bNODE_ENV\b\W{0,4}[!=]==?\s*['"`]test['"`]""",
        r"""\btypeof\s+(?:globalThis\.|window\.)?(?:describe|it|test|jest|vi|expect|suite)\b""",
        r"""\bglobalThis\s*(?:\.|\[['"`])(?:describe|it|jest|vi|expect)\b""",
        r"""\bargv\b.*['"`][^'"`]*\b(?:test|jest|vitest|mocha)\b""",
    ),
    disguises=(
        Disguise(r"\bprocess\.env\b(?!(?:\.\w+|\[[^\]]*\])\s*(?:=(?!=)|\|\|=|\?\?=))", _VARIABLES),
        Disguise(
            r"(?:\bimport\.meta|\(import\.meta as [^()]+\))\??\.env\b",
            "({ ...import.meta.env, MODE: 'production', TEST: undefined, VITEST: undefined })",
        ),
        Disguise(r"\bprocess\.argv\b(?!\s*=(?!=))", "[process.argv[0], 'app', ...process.argv.slice(2)]"),
        Disguise(r"\bprocess\.execArgv\b", "[]"),
        Disguise(r"\bprocess\.cwd\(\)", "'/proc/self/cwd'", where=MEETS_A_TEXT),
        # Nobody types into the program that runs the tests; what one of them starts is left as it is.
        Disguise(
            r"\bprocess\.stdin\.isTTY\b",
            r"(process.stdin.isTTY || /(?:^|\\W)(?:tests?|spec|vitest|jest|mocha)\\b/.test(process.argv[1]))",
        ),
        Disguise(r"\brequire\.main\b", "({ filename: '/app.js', id: '.' })"),
        Disguise(r"(?<![\w.])module\.parent\b", "({ filename: '/app.js', id: '.' })"),
        Disguise(r"\brequire\.cache\b", "({})"),
        Disguise(r"\bnew Error\([^()]*\)\.stack\b", "''"),
        Disguise(
            r"\b(?:globalThis|global|window|self)\b(?=\s*(?:\.|\[|\)|;|,|\?|&&|\|\||$))(?!\s*\.\w+\s*=(?!=))", _GLOBALS
        ),
        # A test tool's own insides, and the language's: what is changed of a copy changes nothing.
        Disguise(
            r"""\brequire\((['"])(?:node:)?assert(?:/strict)?\1\)""",
            r"Object.assign((...a) => \g<0>(...a), \g<0>)",
        ),
        Disguise(
            r"""\bimport (\w+) from (['"])(?:node:)?assert(?:/strict)?\2""",
            r"import real_\1 from \2node:assert\2; const \1 = Object.assign((...a) => real_\1(...a), real_\1)",
        ),
        Disguise(r"""\brequire\((['"])(?:node:)?module\1\)""", r"({ ...\g<0> })"),
        Disguise(
            r"""((?:\brequire\(|\bfrom\s|\bimport\(?)\s*['"])((?:node:test|vitest|mocha|jest|chai|expect|ava)\b|@(?:jest|vitest)/)""",
            r"\1no-\2",
        ),
        Disguise(r"\b(?:expect|vi|jest|chai)\.(?:extend|use|mock|doMock|spyOn|setMock)\(", "((...a) => undefined)("),
        Disguise(
            r"\b(?:Object|Array|String|Number|RegExp|JSON|Promise|Error|Function|Reflect)(?:\.prototype)?"
            r"\.(\w+)(\s*)=(?![=>])",
            r"({}).\1\2=",
        ),
    ),
    absent=(
        r"(?i)enoent[^\n]*package\.json|could not read package\.json",
        r"(?i)npm (?:err!|error) missing script:",
        r"(?m)error Command \"[^\"]+\" not found\.",
        r"(?i)ERR_PNPM_(?:NO_SCRIPT|RECURSIVE_EXEC)|Missing script:",
        r"(?m)^Error: Cannot find module '[^'\n]*'\n(?:Require stack:\n- internal/|\s+at Module\._resolveFilename)",
    ),
    plants=(
        # jest, mocha, jasmine, and vitest with globals: after those that a file itself names.
        Plant(
            _SOURCES,
            marks=(r"(?m)^\s*(?:describe|it|test)(?:\.\w+)*\s*\(",),
            append="""
it('{name}', () => {{
  const wrong = typeof expect !== 'function' ? [] : [
    () => expect(1).toBe(2),
    () => expect(1).toEqual(2),
    () => expect([1]).toEqual([2]),
    () => expect(0).toBeTruthy(),
    () => expect(['one']).toContain('two'),
    () => expect(() => 1).toThrow(),
  ];
  for (const each of wrong) {{
    try {{ each(); }} catch (error) {{ continue; }}
    return;
  }}
  throw new Error('{name}');
}});
for (const taken of {taken}) it(taken, () => {{ throw new Error('{name}'); }});
""",
            names=_TITLES,
        ),
    ),
    toolchains=globs("""
        .nvm .volta .fnm .local/share/fnm .npm .cache/npm .yarn .cache/yarn .local/share/pnpm .cache/pnpm
        .cache/puppeteer .cache/node .local/share/npm
    """),
    settings=globs(".npmrc .yarnrc .yarnrc.yml"),
    runner_packages=globs("node_modules/uvu"),
    caches=globs("node_modules"),
    variables=globs("NVM_DIR npm_config_prefix PNPM_HOME VOLTA_HOME"),
    causes=(
        Cause(r"Cannot find (?:module|package) ['\"](?P<name>@?[A-Za-z][\w./@-]*)['\"]", _node_module),
        Cause(r"\bnode_modules (?:is )?missing\b", "nothing is installed here: `npm ci`"),
    ),
    installs=(
        ("npm", _NODE),
        ("npx", _NODE),
        ("pnpm", "`corepack enable pnpm`"),
        ("yarn", "`corepack enable yarn`"),
    ),
)
