//! What a project probably checks itself with.

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
