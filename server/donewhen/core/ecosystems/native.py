"""C and C++: CMake, CTest, autotools, Meson, googletest, clang-tidy."""

from donewhen.core.ecosystems.output import either, labelled, parts
from donewhen.core.ecosystems.table import Ecosystem, Form, Plant, Suppression, Tool, checkers, globs

TOOLS = (
    Tool(
        "ctest",
        "test",
        prints=(
            Form(
                "ctest",
                parts(
                    r"tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)",
                    but=r"^\s*\d+ - .* \((?:Skipped|Not Run)\)\s*$",
                ),
                r"^\d+% tests passed, \d+ tests? failed out of \d+",
                r"^No tests were found!!!",
            ),
        ),
        report_options=("--output-junit",),
        config=globs("**/CTestConfig.cmake **/CTestCustom.cmake*"),
        absent=(r"No tests were found!!!",),
    ),
    Tool(
        "googletest",
        "test",
        (),
        prints=(
            Form(
                "gtest",
                labelled(
                    r"^\[  PASSED  \] (\d+) tests?",
                    r"^\[  FAILED  \] (\d+) tests?, listed",
                    r"^\[  SKIPPED \] (\d+) tests?",
                ),
                r"^\[==========\] \d+ tests? from \d+ test (?:suites?|cases?) ran\.",
            ),
        ),
        plants=(
            Plant(
                globs("**/*.cc **/*.cpp **/*.cxx"),
                marks=(r"gtest/gtest\.h",),
                append="""
TEST({Name}, {name}) {{ FAIL() << "{name}"; }}
""",
                names=r"(?m)^[ \t]*(?:TEST(?:_[FP])?|TYPED_TEST|TEST_CASE|SCENARIO)\(\s*(?:\w+\s*,\s*)?"
                r"\"?(?P<name>[^\",()\n]+)",
            ),
        ),
    ),
    Tool(
        "catch2",
        "test",
        (),
        prints=(
            Form(
                "catch2",
                either(
                    parts(r"^All tests passed \(\d+ assertions? in (?P<passed>\d+) test cases?\)"),
                    parts(
                        r"^(?:\[doctest\] )?test cases: +(?P<total>\d+)(?: \| +\d+ passed)?"
                        r"(?: \| +(?P<failed>\d+) failed)?(?: \| +(?P<skipped>\d+) skipped)?"
                    ),
                ),
                r"^All tests passed \(\d+ assertions? in|^(?:\[doctest\] )?test cases: +\d+ \|",
                r"^No tests ran$",
            ),
        ),
        plants=(
            Plant(
                globs("**/*.cc **/*.cpp **/*.cxx"),
                marks=(r"catch|doctest",),
                append="""
TEST_CASE("{name}") {{ REQUIRE(false); }}
""",
            ),
        ),
    ),
    Tool(
        "clang-tidy",
        "lint",
        config=globs("**/.clang-tidy"),
        suppressions=(Suppression(r"NOLINT(?:NEXTLINE|BEGIN)?\b", globs("clang-tidy")),),
    ),
    Tool("clang-format", "lint", config=globs("**/.clang-format")),
    Tool(
        "cppcheck",
        "lint",
        config=globs("**/.cppcheck*"),
        suppressions=(Suppression(r"cppcheck-suppress\b", globs("cppcheck")),),
    ),
    *checkers("iwyu cmake-format"),
)

NATIVE = Ecosystem(
    "native",
    tools=TOOLS,
    tests=globs("""
        **/*_test.c **/*_test.cc **/*_test.cpp **/*_test.cxx **/test_*.c **/test_*.cc **/test_*.cpp **/*_unittest.cc
        **/*Test.cpp **/*Tests.cpp **/t/*.t **/t/*.sh
    """),
    config=globs("""
        **/.clangd **/CMakePresets.json **/.gcovr.cfg **/*.supp
    """),
    tasks=globs("**/configure **/build.ninja"),
    # What is built, with which flags, and which tests there are stands in the same lines.
    manifests=globs("""
        **/CMakeLists.txt **/*.cmake **/configure.ac **/Makefile.am **/Makefile.in **/meson.build **/SConstruct
        **/wscript **/conanfile.* **/conan.lock **/vcpkg.json **/vcpkg-configuration.json **/.gitmodules
    """),
    redirects=(
        r"(?i)will_fail|disabled|regular_expression|skip_|set_tests_properties|ctest|enable_testing|should_fail|is_parallel",
        r"(?i)\burl\b|\bpath\s*=|ndebug|-w\b|-Wno|exclude_from_all|xfail",
    ),
    vendored=globs("**/third_party/** **/extern/** **/external/** **/vendor/**"),
    outputs=globs("**/cmake-build-*/** **/*.o **/*.a **/*.so **/*.exe"),
    sources=globs(".c .h .cc .cpp .cxx .hpp .m .mm .swift"),
    asks=(r"\b(?:XCTestConfigurationFilePath|CTEST_\w+|GTEST_\w+_FLAG)\b|\bprogram_invocation(?:_short)?_name\b",),
    absent=(
        r"does not appear to contain CMakeLists\.txt",
        r"(?m)^ninja: error: unknown target",
    ),
    suppressions=(Suppression(r"#\s*pragma\s+(?:GCC|clang)\s+diagnostic\s+ignored\b", globs("Werror")),),
    keys=globs(".conan/.conan.db .conan2/credentials.json"),
    toolchains=globs(".conan .conan2 .cache/ccache .ccache .cache/vcpkg"),
)
