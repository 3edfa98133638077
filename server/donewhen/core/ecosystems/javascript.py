"""JavaScript and TypeScript: vitest, jest, mocha, node:test, bun, deno, playwright, cypress, eslint, tsc, biome."""

from donewhen.core.ecosystems.ecosystem import (
    MEETS_A_TEXT,
    Disguise,
    Ecosystem,
    Inline,
    Plant,
    Shared,
    Suppression,
    globs,
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

JAVASCRIPT = Ecosystem(
    "javascript",
    tests=globs("""
        **/*.test.[jt]s* **/*.spec.[jt]s* **/*.test.[cm][jt]s **/*.spec.[cm][jt]s **/*_test.[jt]s* **/*-test.[jt]s*
        **/*.cy.[jt]s* **/*.test-d.ts **/test.[jt]s **/test.[cm][jt]s **/test-*.[jt]s
        **/spec/**/*.[jt]s* **/specs/**/*.[jt]s* **/__tests__/**
        **/__mocks__/** **/__fixtures__/** **/__snapshots__/** **/*.snap **/cypress/** **/*.stories.snap
    """),
    runners=globs("""
        **/jest.setup.* **/vitest.setup.* **/setupTests.* **/test-setup.* **/setup-tests.* **/global-setup.*
        **/globalSetup.* **/.mocharc* **/.noderc*
    """),
    config=globs("""
        **/jest.config.* **/jest.preset.* **/vitest.config.* **/vitest.workspace.* **/playwright.config.*
        **/cypress.config.* **/karma.conf.* **/ava.config.* **/wdio.conf.* **/web-test-runner.config.* **/.taprc
        **/.nycrc* **/nyc.config.* **/.c8rc* **/.eslintrc* **/.eslintignore **/eslint.config.* **/.prettierrc*
        **/prettier.config.* **/.prettierignore **/.stylelintrc* **/stylelint.config.* **/biome.json*
        **/oxlint*.json **/.oxlintrc.json **/tsconfig*.json **/jsconfig.json **/tslint.json **/.xo-config* **/.npmrc
        **/.yarnrc* **/bunfig.toml **/.babelrc* **/babel.config.* **/.swcrc **/.browserslistrc **/.nvmrc
        **/.node-version **/.size-limit*
    """),
    tasks=globs("""
        **/gulpfile.* **/Gruntfile.* **/turbo.json **/nx.json **/project.json **/lerna.json **/wireit.json
        **/Jakefile* **/package-scripts.*
    """),
    checkers=globs("""
        eslint tsc vue-tsc svelte-check prettier biome oxlint stylelint xo standard tslint tsd knip deno:lint
        deno:fmt deno:check markdownlint cspell
    """),
    shared=(
        Shared(
            globs("**/package.json"),
            "json",
            globs("""
            scripts jest vitest mocha ava tap nyc c8 eslintConfig eslintIgnore prettier stylelint babel xo standard
            tsd overrides resolutions pnpm imports config wireit nx size-limit lint-staged engines packageManager
        """),
        ),
        Shared(globs("**/deno.json **/deno.jsonc"), "json", globs("tasks test lint fmt compilerOptions")),
        Shared(globs("**/vite.config.json"), "json", globs("test")),
    ),
    inline=(
        Inline(_SOURCES, (r"import\s*\.\s*meta\s*\.\s*vitest",)),
        # Its `test` section stands among what the product is built with.
        Inline(globs("**/vite.config.*"), (r"""\btest["']?\s*:""",)),
    ),
    manifests=globs("""
        **/package-lock.json **/npm-shrinkwrap.json **/yarn.lock **/pnpm-lock.yaml **/bun.lock* **/deno.lock
        **/pnpm-workspace.yaml
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
        r"(?i)couldn't find (?:a configuration file|an eslint\.config)|no eslint configuration found",
        r"error TS505[78]:",
        r"(?i)enoent[^\n]*package\.json|could not read package\.json",
        r"(?i)npm (?:err!|error) missing script:",
        r"(?m)error Command \"[^\"]+\" not found\.",
        r"(?i)ERR_PNPM_(?:NO_SCRIPT|RECURSIVE_EXEC)|Missing script:",
        r"(?m)^Error: Cannot find module '[^'\n]*'\n(?:Require stack:\n- internal/|\s+at Module\._resolveFilename)",
        r"(?m)Could not find '[^'\n]*'$",
        r"(?i)no test files? found",
        r"(?m)^No tests found, exiting",
        r"Error: No test files found",
    ),
    suppressions=(
        Suppression(r"eslint-disable(?:-next-line|-line)?\b", globs("eslint xo standard oxlint")),
        Suppression(r"@ts-(?:ignore|expect-error|nocheck)\b", globs("tsc vue-tsc svelte-check tsd")),
        Suppression(r"biome-ignore\b", globs("biome")),
        Suppression(r"(?:istanbul|c8|v8)\s+ignore\b", globs("c8 nyc istanbul --coverage")),
        Suppression(r"stylelint-disable\b", globs("stylelint")),
        Suppression(r"deno-lint-ignore\b", globs("deno")),
    ),
    plants=(
        Plant(
            _SOURCES,
            marks=(r"""from ['\"]vitest['\"]""",),
            append="""
import {{ test as {name}, expect as {name}_expect }} from 'vitest';
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
""",
            names=_TITLES,
        ),
        Plant(
            _SOURCES,
            marks=(
                r"""['\"]node:test['\"]""",
                r"(?m)^\s*(?:import|export)\b",
            ),
            append="""
import {{ test as {name} }} from 'node:test';
import {name}_assert from 'node:assert';
{name}('{name}', () => {{
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
""",
            names=_TITLES,
        ),
        Plant(
            _SOURCES,
            marks=(r"""require\(['\"](?:node:)?test['\"]\)""",),
            append="""
require('node:test').test('{name}', () => {{
  const {name}_assert = require('node:assert');
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
for (const taken of {taken}) require('node:test').test(taken, () => {{ throw new Error('{name}'); }});
""",
            names=_TITLES,
        ),
        Plant(
            _SOURCES,
            marks=(r"""['\"]bun:test['\"]""",),
            append="""
import {{ test as {name} }} from 'bun:test';
{name}('{name}', () => {{ throw new Error('{name}'); }});
""",
        ),
        Plant(
            _SOURCES,
            marks=(r"\bDeno\.test\b",),
            append="""
Deno.test('{name}', () => {{ throw new Error('{name}'); }});
""",
        ),
        # jest, mocha, jasmine, and vitest with globals.
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
        .nvm .volta .fnm .local/share/fnm .npm .cache/npm .yarn .cache/yarn .bun .deno .cache/deno .local/share/pnpm
        .cache/pnpm .cache/ms-playwright .cache/Cypress .cache/puppeteer .cache/node .local/share/npm
    """),
    settings=globs(".npmrc .yarnrc .yarnrc.yml .eslintrc .eslintrc.js .eslintrc.json .eslintrc.yml .bunfig.toml"),
    runner_packages=tuple(
        f"node_modules/{name}"
        for name in globs("""
            vitest @vitest jest @jest jest-circus jest-cli jest-runner jest-jasmine2 expect mocha chai ava tap @tapjs
            tape jasmine jasmine-core @playwright/test playwright-core uvu karma
        """)
    ),
)
