"""C and C++: CMake, CTest, autotools, Meson, googletest, clang-tidy."""

from donewhen.ecosystems.table import Ecosystem, Plant, Suppression, globs

NATIVE = Ecosystem(
    "native",
    tests=globs("""
        **/*_test.c **/*_test.cc **/*_test.cpp **/*_test.cxx **/test_*.c **/test_*.cc **/test_*.cpp **/*_unittest.cc
        **/*Test.cpp **/*Tests.cpp **/t/*.t **/t/*.sh
    """),
    config=globs("""
        **/.clang-tidy **/.clang-format **/.cppcheck* **/.clangd **/CTestConfig.cmake **/CTestCustom.cmake*
        **/CMakePresets.json **/.gcovr.cfg **/*.supp
    """),
    tasks=globs("**/configure **/build.ninja"),
    checkers=globs("clang-tidy clang-format cppcheck iwyu cmake-format"),
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
        r"No tests were found!!!",
        r"(?m)^ninja: error: unknown target",
    ),
    suppressions=(
        Suppression(r"NOLINT(?:NEXTLINE|BEGIN)?\b", globs("clang-tidy")),
        Suppression(r"cppcheck-suppress\b", globs("cppcheck")),
        Suppression(r"#\s*pragma\s+(?:GCC|clang)\s+diagnostic\s+ignored\b", globs("Werror")),
    ),
    plants=(
        Plant(
            globs("**/*.cc **/*.cpp **/*.cxx"),
            marks=(r"gtest/gtest\.h",),
            append="""
TEST({Name}, {name}) {{ FAIL() << "{name}"; }}
""",
        ),
        Plant(
            globs("**/*.cc **/*.cpp **/*.cxx"),
            marks=(r"catch|doctest",),
            append="""
TEST_CASE("{name}") {{ REQUIRE(false); }}
""",
        ),
    ),
    toolchains=globs(".conan .conan2 .cache/ccache .ccache .cache/vcpkg"),
)
