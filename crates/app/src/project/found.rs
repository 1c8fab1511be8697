//! What a project checks itself with, read from the files at its root.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ci;

/// A line for the settings, and the file that it was found in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundLine {
    /// A command or a glob.
    pub line: String,
    /// The file that suggests it.
    pub file: String,
}

/// What a settings file of the project would say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// Commands that test the project.
    pub gates: Vec<FoundLine>,
    /// Commands that check something else, such as style or types.
    pub more_gates: Vec<FoundLine>,
    /// Commands that install what the project needs.
    pub setup: Vec<FoundLine>,
    /// Paths that an agent should not change.
    pub protect: Vec<FoundLine>,
    /// Paths of tests, which an agent may change unless told otherwise.
    pub tests: Vec<FoundLine>,
}

impl Found {
    /// Looks at the files of a project.
    pub fn at(root: &Path) -> Self {
        let files = Files { root };
        let mut found = Found::default();
        rust(&files, &mut found);
        node(&files, &mut found);
        python(&files, &mut found);
        others(&files, &mut found);
        if found.gates.is_empty() {
            runners(&files, &mut found);
        }
        ci::commands(root, &mut found);
        protected(&files, &mut found);
        found
    }

    /// What a loop that starts in a directory of the project can be checked with: what is found there, else at the root.
    /// It needs no set-up if the packages are installed in this checkout, because Windlass copies them.
    pub fn for_a_loop(dir: &Path, root: &Path) -> Self {
        const INSTALLED: [&str; 3] = ["node_modules", ".venv", "venv"];
        let own = Found::at(dir);
        let mut found = if own.gates.is_empty() && dir != root { Found::at(root) } else { own };
        if INSTALLED.iter().any(|name| dir.join(name).is_dir() || root.join(name).is_dir()) {
            found.setup.clear();
        }
        found
    }

    /// The first gate, for a one-line suggestion.
    pub fn gate(&self) -> Option<&str> {
        self.gates.first().map(|gate| gate.line.as_str())
    }

    /// The flags that verify a loop, for a one-line suggestion.
    pub fn flags(&self) -> Option<String> {
        let gate = format!("--gate \"{}\"", self.gate()?);
        let setup = self.setup.iter().map(|line| format!(" --setup \"{}\"", line.line));
        Some(gate + &setup.collect::<String>())
    }
}

fn line(line: impl Into<String>, file: &str) -> FoundLine {
    FoundLine { line: line.into(), file: file.to_owned() }
}

/// Files at the root of a project. One that is too long to be read has no text.
struct Files<'a> {
    root: &'a Path,
}

impl Files<'_> {
    fn has(&self, file: &str) -> bool {
        self.root.join(file).exists()
    }

    fn first(&self, files: &[&'static str]) -> Option<&'static str> {
        files.iter().find(|file| self.has(file)).copied()
    }

    fn text(&self, file: &str) -> String {
        super::text(&self.root.join(file))
    }

    fn says(&self, file: &str, text: &str) -> bool {
        self.text(file).contains(text)
    }
}

fn rust(files: &Files<'_>, found: &mut Found) {
    if !files.has("Cargo.toml") {
        return;
    }
    let workspace = files.says("Cargo.toml", "[workspace]");
    found.gates.push(line(if workspace { "cargo test --workspace" } else { "cargo test" }, "Cargo.toml"));
}

fn node(files: &Files<'_>, found: &mut Found) {
    const FILE: &str = "package.json";
    let Ok(package) = serde_json::from_str::<Value>(&files.text(FILE)) else { return };
    let lock = files.first(&["pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "package-lock.json"]);
    let (manager, install) = match lock {
        Some("pnpm-lock.yaml") => ("pnpm", Some("pnpm install --frozen-lockfile")),
        Some("yarn.lock") => ("yarn", Some("yarn install --frozen-lockfile")),
        Some("bun.lock" | "bun.lockb") => ("bun", Some("bun install --frozen-lockfile")),
        Some(_) => ("npm", Some("npm ci")),
        None => ("npm", None),
    };
    let has_packages = ["dependencies", "devDependencies"].iter().any(|key| package[key].is_object());
    match install.zip(lock) {
        Some((install, lock)) => found.setup.push(line(install, lock)),
        None if has_packages => found.setup.push(line("npm install", FILE)),
        None => {}
    }
    let script = |name: &str| package["scripts"][name].as_str().filter(|script| !script.contains("no test specified"));
    let run = |name: &str| match name {
        "test" if manager != "bun" => format!("{manager} test"),
        _ => format!("{manager} run {name}"),
    };
    if script("test").is_some() {
        found.gates.push(line(run("test"), FILE));
    }
    for name in ["typecheck", "type-check", "lint", "build"] {
        if script(name).is_some() {
            found.more_gates.push(line(run(name), FILE));
        }
    }
}

fn python(files: &Files<'_>, found: &mut Found) {
    let Some(file) = files.first(&["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pytest.ini"]) else {
        return;
    };
    let lock = files.first(&["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"]);
    let (runner, install) = match lock {
        Some("uv.lock") => ("uv run ", Some("uv sync")),
        Some("poetry.lock") => ("poetry run ", Some("poetry install")),
        Some("pdm.lock") => ("pdm run ", Some("pdm install")),
        Some(_) => ("pipenv run ", Some("pipenv sync --dev")),
        // Windlass copies the environment, and the gate starts in its directory.
        None => match files.first(&[".venv/bin/python", "venv/bin/python"]) {
            Some(".venv/bin/python") => (".venv/bin/python -m ", None),
            Some(_) => ("venv/bin/python -m ", None),
            None => ("", None),
        },
    };
    let own = runner.ends_with("-m ");
    if let Some((install, lock)) = install.zip(lock) {
        found.setup.push(line(install, lock));
    }
    let says_pytest = ["pyproject.toml", "setup.cfg", "requirements.txt", "requirements-dev.txt", "tox.ini"]
        .into_iter()
        .find(|file| files.says(file, "pytest"));
    match says_pytest.or_else(|| files.first(&["pytest.ini", "conftest.py"])) {
        Some(file) if runner.is_empty() => found.gates.push(line("python3 -m pytest", file)),
        Some(file) => found.gates.push(line(format!("{runner}pytest"), file)),
        None if own && (files.has("tests") || files.has("test")) => {
            found.gates.push(line(format!("{runner}unittest discover"), file));
        }
        None if files.has("tests") || files.has("test") => {
            found.gates.push(line(format!("{runner}python3 -m unittest discover"), file));
        }
        None => {}
    }
    if files.says("pyproject.toml", "[tool.ruff") {
        found.more_gates.push(line(format!("{runner}ruff check"), "pyproject.toml"));
    }
    if files.says("pyproject.toml", "[tool.mypy") {
        found.more_gates.push(line(format!("{runner}mypy ."), "pyproject.toml"));
    }
}

/// Build tools with one usual test command each: a file, the command, and the wrapper that runs it if it is there.
const BUILD_TOOLS: &[(&str, &str, &str)] = &[
    ("go.mod", "go test ./...", ""),
    ("build.gradle", "gradle test", "gradlew"),
    ("build.gradle.kts", "gradle test", "gradlew"),
    ("pom.xml", "mvn -q test", "mvnw"),
    ("mix.exs", "mix test", ""),
    ("deno.json", "deno test", ""),
    ("Package.swift", "swift test", ""),
];

fn others(files: &Files<'_>, found: &mut Found) {
    for (file, command, wrapper) in BUILD_TOOLS {
        if files.has(file) {
            let wrapped = command.split_once(' ').filter(|_| !wrapper.is_empty() && files.has(wrapper));
            let command = wrapped.map_or((*command).to_owned(), |(_, words)| format!("./{wrapper} {words}"));
            found.gates.push(line(command, file));
        }
    }
    if files.has("Gemfile") && (files.has("spec") || files.has(".rspec")) {
        found.gates.push(line("bundle exec rspec", "Gemfile"));
    }
    if serde_json::from_str::<Value>(&files.text("composer.json")).is_ok_and(|it| !it["scripts"]["test"].is_null()) {
        found.gates.push(line("composer test", "composer.json"));
    }
}

/// Programs that run whatever the project says.
fn runners(files: &Files<'_>, found: &mut Found) {
    for (file, program) in [
        ("GNUmakefile", "make"),
        ("Makefile", "make"),
        ("makefile", "make"),
        ("justfile", "just"),
        ("Justfile", "just"),
    ] {
        let text = files.text(file);
        let target = |name: &str| text.lines().any(|line| line.strip_prefix(name).is_some_and(is_target));
        if let Some(name) = ["test", "check"].into_iter().find(|name| target(name)) {
            found.gates.push(line(format!("{program} {name}"), file));
            return;
        }
    }
}

/// What follows the name of a target: a colon, but not of an assignment.
fn is_target(rest: &str) -> bool {
    rest.trim_start().strip_prefix(':').is_some_and(|rest| !rest.starts_with('='))
}

fn protected(files: &Files<'_>, found: &mut Found) {
    let globs = [
        (".github/workflows", ".github/**"),
        (".gitlab-ci.yml", ".gitlab-ci.yml"),
        (".forgejo/workflows", ".forgejo/**"),
        (".gitea/workflows", ".gitea/**"),
        (".circleci", ".circleci/**"),
        ("Jenkinsfile", "Jenkinsfile"),
    ];
    found.protect = globs.iter().filter(|(file, _)| files.has(file)).map(|(file, glob)| line(*glob, file)).collect();
    let tests = ["tests", "test", "spec", "__tests__"];
    found.tests = tests.iter().filter(|dir| files.has(dir)).map(|dir| line(format!("{dir}/**"), dir)).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Found) {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = Found::at(dir.path());
        (dir, found)
    }

    fn lines(found: &[FoundLine]) -> Vec<&str> {
        found.iter().map(|found| found.line.as_str()).collect()
    }

    #[test]
    fn finds_the_gate_of_each_kind_of_project() {
        type Files = [(&'static str, &'static str)];
        let cases: &[(&Files, &[&str])] = &[
            (&[("Cargo.toml", "[package]")], &["cargo test"]),
            (&[("Cargo.toml", "[workspace]")], &["cargo test --workspace"]),
            (&[("package.json", r#"{"scripts":{"test":"vitest"}}"#)], &["npm test"]),
            (&[("package.json", r#"{"scripts":{"test":"vitest"}}"#), ("pnpm-lock.yaml", "")], &["pnpm test"]),
            (&[("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#)], &[]),
            (&[("pyproject.toml", "[tool.pytest.ini_options]")], &["python3 -m pytest"]),
            (&[("pyproject.toml", "dev = ['pytest']"), ("uv.lock", "")], &["uv run pytest"]),
            (&[("setup.py", ""), ("tests/test_a.py", "")], &["python3 -m unittest discover"]),
            (&[("go.mod", "module x")], &["go test ./..."]),
            (&[("build.gradle.kts", ""), ("gradlew", "")], &["./gradlew test"]),
            (&[("pom.xml", "")], &["mvn -q test"]),
            (&[("Makefile", "all: x\ncheck : x\n\ttrue\n")], &["make check"]),
            (&[("Makefile", "test := x\n")], &[]),
            (&[("Cargo.toml", ""), ("Makefile", "test:\n")], &["cargo test"]),
            (&[("Cargo.toml", ""), ("package.json", r#"{"scripts":{"test":"x"}}"#)], &["cargo test", "npm test"]),
            (&[("README.md", "")], &[]),
        ];
        for (files, expected) in cases {
            assert_eq!(lines(&project(files).1.gates), *expected, "{files:?}");
        }
    }

    #[test]
    fn finds_setup_lint_tests_and_ci_paths() {
        let package = r#"{"scripts":{"test":"vitest","lint":"eslint ."},"devDependencies":{"vitest":"1"}}"#;
        let (_dir, found) = project(&[
            ("package.json", package),
            ("package-lock.json", "{}"),
            ("tests/a.js", ""),
            (".github/workflows/ci.yml", "on: push\n"),
        ]);
        assert_eq!((lines(&found.setup), lines(&found.more_gates)), (vec!["npm ci"], vec!["npm run lint"]));
        assert_eq!((lines(&found.protect), lines(&found.tests)), (vec![".github/**"], vec!["tests/**"]));
    }

    #[test]
    fn suggests_set_up_only_if_the_packages_are_not_installed() {
        let package = ("package.json", r#"{"scripts":{"test":"vitest"},"dependencies":{"a":"1"}}"#);
        let flags = |files: &[(&str, &str)]| {
            let (dir, _) = project(files);
            Found::for_a_loop(dir.path(), dir.path()).flags().unwrap()
        };
        assert_eq!(flags(&[package, ("package-lock.json", "{}")]), "--gate \"npm test\" --setup \"npm ci\"");
        let installed = [package, ("package-lock.json", "{}"), ("node_modules/a/index.js", "")];
        assert_eq!(flags(&installed), "--gate \"npm test\"");
    }

    #[test]
    fn suggests_the_gate_of_the_directory_that_a_loop_starts_in() {
        let (root, _) = project(&[("Cargo.toml", ""), ("api/go.mod", ""), ("docs/a.md", "")]);
        let gates = |dir: &str| Found::for_a_loop(&root.path().join(dir), root.path()).flags().unwrap();
        assert_eq!(gates("api"), "--gate \"go test ./...\"");
        assert_eq!(gates("docs"), "--gate \"cargo test\"");
    }

    #[test]
    fn tests_run_in_the_checkouts_own_python_environment() {
        let toml = ("pyproject.toml", "[tool.pytest.ini_options]\n[tool.mypy]\n");
        let (_dir, found) = project(&[toml]);
        assert_eq!(lines(&found.gates), ["python3 -m pytest"]);
        let (_dir, found) = project(&[toml, (".venv/bin/python", "")]);
        assert_eq!(lines(&found.gates), [".venv/bin/python -m pytest"]);
        assert_eq!(lines(&found.more_gates), [".venv/bin/python -m mypy ."]);
        let (_dir, found) = project(&[("setup.py", ""), ("tests/a.py", ""), ("venv/bin/python", "")]);
        assert_eq!(lines(&found.gates), ["venv/bin/python -m unittest discover"]);
    }
}
