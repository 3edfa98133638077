"""Ruby: RSpec, minitest, rake, RuboCop."""

from donewhen.core.ecosystems.output import parts
from donewhen.core.ecosystems.table import SECONDS, Cause, Ecosystem, Form, Plant, Sign, Suppression, Tool, globs

TOOLS = (
    Tool(
        "rspec",
        "test",
        prints=(
            Form(
                "rspec",
                parts(r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?"),
                r"^\d+ examples?, \d+ failures?",
            ),
        ),
        durations=(rf"(?P<before>^Finished in ){SECONDS} seconds?(?: \(files took {SECONDS} seconds? to load\))?",),
        signs=(Sign("bundle exec rspec", files=(".rspec",)),),
        install="`bundle add rspec --group test`",
        tests=globs("**/spec/**/*.rb **/spec/fixtures/** **/spec/support/** **/*_spec.rb"),
        runners=globs("**/spec_helper.rb **/.rspec*"),
        absent=(
            r"(?m)An error occurred while loading [^\n]*\n[^\n]*\nLoadError:\n\s+cannot load such file -- .*_spec",
        ),
        plants=(
            Plant(
                globs("**/*_spec.rb"),
                append="""
RSpec.describe('{name}') {{ it('{name}') {{ raise '{name}' }} }}
""",
                names=r"""(?m)^\s*(?:it|specify|scenario)\s*\(?\s*(?P<quote>['"])(?P<name>[^'"\n]{1,120})(?P=quote)""",
            ),
        ),
        settings=globs(".rspec"),
    ),
    Tool(
        "minitest",
        "test",
        (),
        prints=(
            Form(
                "minitest",
                parts(
                    r"^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, "
                    r"(?P<errors>\d+) errors, (?P<skipped>\d+) (?:skips|pendings)(?:, (?P<left>\d+) omissions)?",
                    last=False,
                ),
                r"^\d+ (?:runs|tests), \d+ assertions, \d+ failures",
            ),
        ),
        plants=(
            Plant(
                globs("**/*.rb"),
                append="""
class {Name}Test < Minitest::Test
  def test_{name}
    raise '{name}'
  end
end
""",
                names=r"(?m)^\s*def (?P<name>test_\w+)",
            ),
        ),
    ),
    Tool(
        "rubocop",
        "lint",
        nothing_checked=(r"0 files inspected\b",),
        config=globs("**/.rubocop*.yml"),
        suppressions=(Suppression(r"rubocop:(?:disable|todo)\b", globs("rubocop standardrb")),),
        settings=globs(".rubocop.yml"),
    ),
    Tool("standardrb", "lint", config=globs("**/.standard.yml")),
    Tool("reek", "lint", config=globs("**/.reek.yml")),
    Tool("steep", "types", config=globs("**/Steepfile")),
    Tool("sorbet", "types", ("srb",), config=globs("**/sorbet/config")),
)

RUBY = Ecosystem(
    "ruby",
    tools=TOOLS,
    tests=globs("""
        **/*_test.rb **/test_*.rb **/features/**/*.feature **/features/**/*.rb
    """),
    runners=globs("**/rails_helper.rb **/test_helper.rb **/.simplecov"),
    config=globs("**/.ruby-version"),
    tasks=globs("**/Rakefile **/rakefile* **/*.rake **/bin/rspec **/bin/test **/Guardfile"),
    manifests=globs("**/Gemfile **/Gemfile.lock **/*.gemspec **/gems.rb **/gems.locked"),
    redirects=(r"\b(?:path|git|github|branch):|^\s*(?:PATH|GIT)$",),
    vendored=globs("**/vendor/bundle/** **/vendor/cache/**"),
    sources=globs(".rb .rake"),
    asks=(
        r"\bdefined\?\W{0,2}(?:::)?(?:RSpec|Minitest|Test::Unit)\b|\bObject\.const_defined\?\W+(?:RSpec|Minitest)\b",
    ),
    absent=(
        r"No Rakefile found",
        r"Don't know how to build task",
    ),
    suppressions=(Suppression(r":nocov:", globs("simplecov")),),
    toolchains=globs(".rbenv .rvm .gem .bundle .local/share/gem .rubies"),
    variables=globs("GEM_HOME"),
    keys=globs(".gem/credentials .local/share/gem/credentials .bundle/config"),
    causes=(
        Cause(
            r"cannot load such file -- |Could not find .* in (?:any of the sources|locally installed gems)",
            "`bundle install`",
        ),
    ),
    settings=globs(".bundle/config .gemrc"),
    installs=(("bundle", "`gem install bundler`"),),
)
