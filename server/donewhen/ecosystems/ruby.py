"""Ruby: RSpec, minitest, rake, RuboCop."""

from donewhen.ecosystems.table import Ecosystem, Plant, Suppression, globs

RUBY = Ecosystem(
    "ruby",
    tests=globs("""
        **/spec/**/*.rb **/spec/fixtures/** **/spec/support/** **/*_spec.rb **/*_test.rb **/test_*.rb
        **/features/**/*.feature **/features/**/*.rb
    """),
    runners=globs("**/spec_helper.rb **/rails_helper.rb **/test_helper.rb **/.rspec* **/.simplecov"),
    config=globs("**/.rubocop*.yml **/.standard.yml **/.reek.yml **/sorbet/config **/.ruby-version **/Steepfile"),
    tasks=globs("**/Rakefile **/rakefile* **/*.rake **/bin/rspec **/bin/test **/Guardfile"),
    checkers=globs("rubocop standardrb reek steep srb"),
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
        r"(?m)An error occurred while loading [^\n]*\n[^\n]*\nLoadError:\n\s+cannot load such file -- .*_spec",
    ),
    suppressions=(
        Suppression(r"rubocop:(?:disable|todo)\b", globs("rubocop standardrb")),
        Suppression(r":nocov:", globs("simplecov")),
    ),
    plants=(
        Plant(
            globs("**/*_spec.rb"),
            append="""
RSpec.describe('{name}') {{ it('{name}') {{ raise '{name}' }} }}
""",
        ),
        Plant(
            globs("**/*.rb"),
            append="""
class {Name}Test < Minitest::Test
  def test_{name}
    raise '{name}'
  end
end
""",
        ),
    ),
    toolchains=globs(".rbenv .rvm .gem .bundle .local/share/gem .rubies"),
    settings=globs(".rspec .rubocop.yml .bundle/config .gemrc"),
)
