//! What a project probably checks itself with, and what an agent should rather not touch.

use std::path::Path;

/// A gate that fits the project's files.
pub fn gate(project: &Path) -> Option<&'static str> {
    let has = |file: &str| project.join(file).exists();
    let says = |file: &str, text: &str| {
        std::fs::read_to_string(project.join(file)).is_ok_and(|content| content.contains(text))
    };
    if has("Cargo.toml") {
        Some("cargo test")
    } else if says("package.json", "\"test\"") {
        Some("npm test")
    } else if has("go.mod") {
        Some("go test ./...")
    } else if has("pytest.ini") || has("conftest.py") || says("pyproject.toml", "pytest") {
        Some("pytest")
    } else if says("Makefile", "\ntest:") || says("Makefile", "\ncheck:") {
        Some(if says("Makefile", "\ntest:") { "make test" } else { "make check" })
    } else if has("pom.xml") {
        Some("mvn -q test")
    } else {
        None
    }
}

/// Globs of what the project has and an agent could change to make a gate pass.
pub fn protect(project: &Path) -> Vec<&'static str> {
    let candidates = [
        ("tests", "tests/**"),
        ("test", "test/**"),
        ("spec", "spec/**"),
        (".github", ".github/**"),
        (".gitlab-ci.yml", ".gitlab-ci.yml"),
        ("Cargo.lock", "Cargo.lock"),
        ("package-lock.json", "package-lock.json"),
    ];
    candidates.into_iter().filter(|(file, _)| project.join(file).exists()).map(|(_, glob)| glob).collect()
}
