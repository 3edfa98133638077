"""Java, Kotlin, Scala: Maven, Gradle, sbt, JUnit, checkstyle."""

from donewhen.core.ecosystems.output import parts
from donewhen.core.ecosystems.table import SECONDS, Ecosystem, Form, Plant, Sign, Suppression, Tool, checkers, globs

TOOLS = (
    Tool(
        "maven",
        "test",
        (),
        prints=(
            Form(
                "maven",
                parts(
                    r"^(?:\[\w+\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), "
                    r"Skipped: (?P<skipped>\d+)$",
                    last=False,
                ),
                r"^(?:\[\w+\] )?Tests run: \d+, Failures: \d+",
                r"^(?:\[\w+\] )?No tests to run\.$",
            ),
        ),
        durations=(rf"(?P<before>\bTime elapsed: ){SECONDS} s\b",),
        signs=(Sign("mvn -q test", files=("pom.xml",)),),
        install="see https://maven.apache.org/install.html",
        programs=("mvn",),
    ),
    Tool(
        "gradle",
        "test",
        (),
        durations=(rf"(?P<before>^BUILD \w+ in ){SECONDS}m?s",),
        signs=(Sign("./gradlew test", files=("gradlew",), windows="gradlew test"),),
    ),
    Tool(
        "sbt",
        "test",
        (),
        prints=(
            Form(
                "sbt",
                parts(
                    r"Tests: succeeded (?P<passed>\d+), failed (?P<failed>\d+), canceled (?P<skipped>\d+), "
                    r"ignored (?P<left>\d+)",
                    last=False,
                ),
                r"Tests: succeeded \d+, failed \d+",
            ),
        ),
    ),
    Tool(
        "checkstyle",
        "lint",
        config=globs("**/checkstyle*.xml"),
        suppressions=(Suppression(r"@SuppressWarnings\b", globs("checkstyle pmd Werror")),),
    ),
    Tool(
        "pmd",
        "lint",
        config=globs("**/pmd*.xml"),
        suppressions=(Suppression(r"NOPMD\b|CHECKSTYLE:OFF", globs("pmd checkstyle")),),
    ),
    Tool(
        "spotbugs",
        "lint",
        config=globs("**/spotbugs*.xml"),
        suppressions=(Suppression(r"@SuppressFBWarnings\b", globs("spotbugs")),),
    ),
    Tool(
        "detekt",
        "lint",
        config=globs("**/detekt*.yml"),
        suppressions=(Suppression(r"@Suppress\(", globs("detekt ktlint")),),
    ),
    Tool("scalafmt", "lint", config=globs("**/.scalafmt.conf")),
    Tool("scalafix", "lint", config=globs("**/.scalafix.conf")),
    *checkers("ktlint google-java-format"),
)

JVM = Ecosystem(
    "jvm",
    group="java",
    tools=TOOLS,
    tests=globs("""
        **/src/test/** **/src/*Test/** **/src/*test/** **/src/testFixtures/** **/*Test.java **/*Tests.java
        **/*IT.java **/*Test.kt **/*Spec.scala **/*Test.scala **/*Spec.groovy
    """),
    runners=globs("**/junit-platform.properties **/META-INF/services/org.junit* **/testng*.xml"),
    config=globs("""
        **/lombok.config **/.mvn/** **/gradle.properties **/gradle/wrapper/**
    """),
    tasks=globs("**/mvnw* **/gradlew* **/buildSrc/** **/build.sc **/build.xml"),
    # A build file says what is built, from what, and how it is tested.
    manifests=globs("""
        **/pom.xml **/build.gradle* **/settings.gradle* **/build.sbt **/gradle.lockfile **/gradle/libs.versions.toml
        **/gradle/verification-metadata.xml
    """),
    redirects=(
        r"\bfiles?\(|flatDir|systemPath|includeBuild|mavenLocal",
        r"(?i)test|junit|surefire|failsafe|ignoreFailures|exclude|enabled\s*=|onlyIf|jvmArgs|javaagent|jacoco|<plugin>",
    ),
    vendored=globs("**/lib/*.jar **/libs/*.jar"),
    outputs=globs("**/target/** **/.gradle/**"),
    sources=globs(".java .kt .kts .scala .groovy .clj"),
    asks=(
        r"""\bforName\(\s*"(?:org\.junit|org\.testng|junit\.)""",
        r"""\b(?:surefire\.|org\.gradle\.test\.)\w+""",
        r"""\bgetStackTrace\(\).*(?i:test|junit)""",
    ),
    absent=(
        r"there is no POM in this directory",
        r"does not contain a Gradle build",
        r"Task '[^']*' not found",
        r"No tests? (?:were|found)",
        r"The goal you specified requires a project",
    ),
    plants=(
        Plant(
            globs("**/*.java"),
            marks=(r"org\.junit\.jupiter",),
            beside="{Name}Test.java",
            append="""import org.junit.jupiter.api.Test;
class {Name}Test {{
    @Test void {name}() {{ throw new AssertionError("{name}"); }}
}}
""",
            names=r"(?m)^[ \t]*@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest)\b(?:[^{};]|\{[^{}]*\}){0,500}?"
            r"\bvoid\s+(?P<name>\w+)\s*\(",
        ),
        Plant(
            globs("**/*.java"),
            marks=(r"import org\.junit\.",),
            beside="{Name}Test.java",
            append="""import org.junit.Test;
public class {Name}Test {{
    @Test public void {name}() {{ throw new AssertionError("{name}"); }}
}}
""",
        ),
    ),
    toolchains=globs(".m2 .gradle .sdkman .ivy2 .sbt .cache/coursier .jenv .konan"),
    caches=globs(".gradle"),
    variables=globs("JAVA_HOME GRADLE_USER_HOME M2_HOME"),
    keys=globs("""
        .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .gradle/init.gradle .sbt/.credentials
        .ivy2/.credentials
    """),
    settings=globs(".m2/settings.xml .gradle/gradle.properties .gradle/init.gradle .gradle/init.gradle.kts"),
)
