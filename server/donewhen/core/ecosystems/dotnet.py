"""C# and F#: `dotnet test`, xUnit, NUnit, MSTest, analysers."""

from donewhen.core.ecosystems.output import either, parts
from donewhen.core.ecosystems.table import SECONDS, Ecosystem, Form, Plant, Sign, Suppression, Tool, checkers, globs

TOOLS = (
    Tool(
        "dotnet test",
        "test",
        prints=(
            Form(
                "dotnet",
                either(
                    parts(
                        r"- Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+), Skipped:\s+(?P<skipped>\d+)",
                        last=False,
                    ),
                    parts(
                        r"^Total tests: (?P<total>\d+)$(?:\n\s+Passed: \d+)?(?:\n\s+Failed: (?P<failed>\d+))?"
                        r"(?:\n\s+Skipped: (?P<skipped>\d+))?",
                        last=False,
                    ),
                ),
                r"^\w+! +- Failed: +\d+, Passed: |^Total tests: \d+$",
                r"^No test is available in|^No test matches the given testcase filter",
            ),
        ),
        durations=(rf"(?P<before>^[ \t]*Duration:? +){SECONDS} ?m?s(?: \([^)\n]*\))?",),
        signs=(Sign("dotnet test", files=("*.sln", "*.csproj")),),
        install="install .NET from https://dotnet.microsoft.com/download",
        runners=globs("**/*.runsettings"),
        absent=(r"No test is available in ",),
    ),
    *checkers("dotnet:format csharpier"),
)

DOTNET = Ecosystem(
    "dotnet",
    tools=TOOLS,
    tests=globs("""
        **/*.Tests/** **/*.Test/** **/*.UnitTests/** **/*.IntegrationTests/** **/*.Specs/** **/*Tests.cs **/*Test.cs
        **/*Tests.fs **/*.verified.*
    """),
    runners=globs("**/xunit.runner.json **/testconfig.json"),
    config=globs("**/.globalconfig **/stylecop.json **/*.ruleset **/global.json **/coverlet.runsettings"),
    tasks=globs("**/*.sln **/*.slnx **/Directory.Build.* **/*.targets **/*.props **/build.cake **/build.fsx"),
    manifests=globs("""
        **/*.csproj **/*.fsproj **/packages.lock.json **/Directory.Packages.props **/paket.lock
        **/paket.dependencies **/nuget.config **/NuGet.Config
    """),
    redirects=(r"HintPath|ProjectReference|NoWarn|Compile (?:Remove|Include)|Target|Import|<add ",),
    vendored=globs("**/packages/**"),
    outputs=globs("**/bin/** **/obj/**"),
    sources=globs(".cs .fs .vb"),
    asks=(r""""[^"]*(?i:xunit|nunit|testhost|vstest|mstest)[^"]*\"""",),
    absent=(r"MSB1009|MSB1003",),
    suppressions=(
        Suppression(r"#\s*pragma\s+warning\s+disable\b", globs("dotnet")),
        Suppression(r"\[(?:assembly:\s*)?SuppressMessage\b", globs("dotnet")),
        Suppression(r"ExcludeFromCodeCoverage\b", globs("coverlet")),
    ),
    plants=(
        Plant(
            globs("**/*.cs"),
            marks=(r"\bXunit\b",),
            beside="{Name}.cs",
            append="""public class {Name} {{
    [Xunit.Fact] public void {name}() {{ throw new System.Exception("{name}"); }}
}}
""",
            names=r"(?m)^[ \t]*\[(?:\w+\.)*(?:Fact|Theory|Test|TestCase|TestMethod)\b(?:[^{};]|\{[^{}]*\}){0,500}?"
            r"\b(?:void|Task)\s+(?P<name>\w+)\s*\(",
        ),
        Plant(
            globs("**/*.cs"),
            marks=(r"\bNUnit\b",),
            beside="{Name}.cs",
            append="""public class {Name} {{
    [NUnit.Framework.Test] public void {name}() {{ throw new System.Exception("{name}"); }}
}}
""",
        ),
    ),
    variables=globs("DOTNET_ROOT"),
    keys=globs(".nuget/NuGet/NuGet.Config"),
    toolchains=globs(".dotnet .nuget .local/share/NuGet"),
)
