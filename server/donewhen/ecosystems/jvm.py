"""Java, Kotlin, Scala: Maven, Gradle, sbt, JUnit, checkstyle."""

from donewhen.ecosystems.table import Ecosystem, Plant, Suppression, globs

JVM = Ecosystem(
    "jvm",
    tests=globs("""
        **/src/test/** **/src/*Test/** **/src/*test/** **/src/testFixtures/** **/*Test.java **/*Tests.java
        **/*IT.java **/*Test.kt **/*Spec.scala **/*Test.scala **/*Spec.groovy
    """),
    runners=globs("**/junit-platform.properties **/META-INF/services/org.junit* **/testng*.xml"),
    config=globs("""
        **/checkstyle*.xml **/pmd*.xml **/spotbugs*.xml **/detekt*.yml **/.scalafmt.conf **/.scalafix.conf
        **/lombok.config **/.mvn/** **/gradle.properties **/gradle/wrapper/**
    """),
    tasks=globs("**/mvnw* **/gradlew* **/buildSrc/** **/build.sc **/build.xml"),
    checkers=globs("checkstyle pmd spotbugs ktlint detekt scalafmt scalafix google-java-format"),
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
    suppressions=(
        Suppression(r"@SuppressWarnings\b", globs("checkstyle pmd Werror")),
        Suppression(r"@SuppressFBWarnings\b", globs("spotbugs")),
        Suppression(r"NOPMD\b|CHECKSTYLE:OFF", globs("pmd checkstyle")),
        Suppression(r"@Suppress\(", globs("detekt ktlint")),
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
    settings=globs(".m2/settings.xml .gradle/gradle.properties .gradle/init.gradle .gradle/init.gradle.kts"),
)
