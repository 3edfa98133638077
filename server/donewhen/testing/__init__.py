"""What the project ships for tests: doubles of what lies outside of it, without a dependency on the rest."""
