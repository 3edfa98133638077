"""C# and F#: `dotnet test`, xUnit, NUnit, MSTest, analysers."""

from donewhen.ecosystems.table import Ecosystem, Plant, Suppression, globs

DOTNET = Ecosystem(
    "dotnet",
    tests=globs("""
        **/*.Tests/** **/*.Test/** **/*.UnitTests/** **/*.IntegrationTests/** **/*.Specs/** **/*Tests.cs **/*Test.cs
        **/*Tests.fs **/*.verified.*
    """),
    runners=globs("**/xunit.runner.json **/*.runsettings **/testconfig.json"),
    config=globs("**/.globalconfig **/stylecop.json **/*.ruleset **/global.json **/coverlet.runsettings"),
    tasks=globs("**/*.sln **/*.slnx **/Directory.Build.* **/*.targets **/*.props **/build.cake **/build.fsx"),
    checkers=globs("dotnet:format csharpier"),
    manifests=globs("""
        **/*.csproj **/*.fsproj **/packages.lock.json **/Directory.Packages.props **/paket.lock
        **/paket.dependencies **/nuget.config **/NuGet.Config
    """),
    redirects=(r"HintPath|ProjectReference|NoWarn|Compile (?:Remove|Include)|Target|Import|<add ",),
    vendored=globs("**/packages/**"),
    outputs=globs("**/bin/** **/obj/**"),
    sources=globs(".cs .fs .vb"),
    asks=(r""""[^"]*(?i:xunit|nunit|testhost|vstest|mstest)[^"]*\"""",),
    absent=(
        r"MSB1009|MSB1003",
        r"No test is available in ",
    ),
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
    toolchains=globs(".dotnet .nuget .local/share/NuGet"),
)
