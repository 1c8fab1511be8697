//! Commands that a project's continuous integration runs, as far as they are known checks.

use std::path::Path;

use super::found::{Found, FoundLine};

/// Commands that test, by their first words.
const TESTS: &[&str] = &[
    "cargo test",
    "cargo nextest",
    "npm test",
    "npm run test",
    "pnpm test",
    "yarn test",
    "pytest",
    "python -m pytest",
    "uv run pytest",
    "go test",
    "make test",
    "make check",
    "./gradlew test",
    "./gradlew check",
    "mvn test",
    "mvn verify",
    "tox",
    "ctest",
    "bundle exec rspec",
    "dotnet test",
    "mix test",
    "./test.sh",
];

/// Commands that check something else.
const CHECKS: &[&str] = &[
    "cargo clippy",
    "cargo fmt --check",
    "cargo fmt --all --check",
    "npm run lint",
    "npm run typecheck",
    "pnpm lint",
    "yarn lint",
    "ruff check",
    "mypy",
    "go vet",
    "golangci-lint run",
    "make lint",
];

/// So many are worth a line.
const MOST: usize = 4;

/// Adds what CI runs: tests are gates if nothing else was found, the rest is only offered.
pub(super) fn commands(root: &Path, found: &mut Found) {
    let mut files: Vec<String> = [".github/workflows", ".forgejo/workflows", ".gitea/workflows"]
        .iter()
        .flat_map(|dir| {
            let entries = std::fs::read_dir(root.join(dir)).into_iter().flatten().flatten();
            entries.filter_map(move |entry| Some(format!("{dir}/{}", entry.file_name().to_str()?)))
        })
        .filter(|file| file.ends_with(".yml") || file.ends_with(".yaml"))
        .collect();
    files.sort();
    files.push(".gitlab-ci.yml".to_owned());
    let had_gates = !found.gates.is_empty();
    for file in files {
        let text = super::text(&root.join(&file));
        for command in text.lines().filter_map(command) {
            let known = |list: &[&str]| list.iter().any(|known| begins_with(command, known));
            let place = match (known(TESTS), known(CHECKS)) {
                (true, _) if !had_gates => &mut found.gates,
                (true, _) | (_, true) => &mut found.more_gates,
                (false, false) => continue,
            };
            if place.len() < MOST && !place.iter().any(|known| known.line == command) {
                place.push(FoundLine { line: command.to_owned(), file: file.clone() });
            }
        }
    }
    let Found { gates, more_gates, .. } = found;
    more_gates.retain(|more| !gates.iter().any(|gate| gate.line == more.line));
}

/// The command of a line of YAML. What CI fills in cannot be run elsewhere.
fn command(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches("- ").trim_start();
    let line = line.strip_prefix("run:").or_else(|| line.strip_prefix("script:")).unwrap_or(line).trim();
    let line = line.trim_matches(['"', '\'']);
    (!line.is_empty() && !line.contains("${{") && !line.contains('$')).then_some(line)
}

fn begins_with(command: &str, known: &str) -> bool {
    command.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_tests_from_ci_only_if_nothing_else_was_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(".github/workflows")).unwrap();
        let workflow = "jobs:\n  test:\n    steps:\n      - run: cargo clippy --all\n      - run: |\n          ./setup\n          pytest -q\n      - run: pytest ${{ matrix.args }}\n";
        std::fs::write(dir.path().join(".github/workflows/ci.yml"), workflow).unwrap();
        let lines = |found: &[FoundLine]| found.iter().map(|found| found.line.clone()).collect::<Vec<_>>();
        let found = Found::at(dir.path());
        assert_eq!(
            (lines(&found.gates), lines(&found.more_gates)),
            (vec!["pytest -q".to_owned()], vec!["cargo clippy --all".to_owned()])
        );
        std::fs::write(dir.path().join("Cargo.toml"), "").unwrap();
        let found = Found::at(dir.path());
        assert_eq!(lines(&found.gates), ["cargo test"]);
        assert_eq!(lines(&found.more_gates), ["cargo clippy --all", "pytest -q"]);
    }
}
