//! Files that say what a set-up installs: lock files and manifests of the package managers that people use.

use std::path::Path;

use super::Judge;
use crate::WorkspaceError;
use crate::git::FilePath;

const NAMES: [&str; 38] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "pyproject.toml",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile",
    "Pipfile.lock",
    "setup.py",
    "setup.cfg",
    "environment.yml",
    "Cargo.toml",
    "Cargo.lock",
    "go.mod",
    "go.sum",
    "Gemfile",
    "Gemfile.lock",
    "composer.json",
    "composer.lock",
    "mix.exs",
    "mix.lock",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "gradle.lockfile",
    "Package.swift",
    "Package.resolved",
    "pubspec.yaml",
    "pubspec.lock",
    "flake.lock",
    ".tool-versions",
];

fn is_input(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let requirements = name.starts_with("requirements") && name.ends_with(".txt");
    NAMES.contains(&name) || requirements
}

impl Judge {
    /// Which of these files, and which submodules, differ between the base and a commit.
    pub async fn changed_inputs(&self, commit: &str) -> Result<Vec<String>, WorkspaceError> {
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", &self.base, commit];
        let output = self.git.run(&args).await?;
        let paths = output.split(|&byte| byte == 0).filter(|path| !path.is_empty()).map(FilePath::new);
        let within = self.submodules();
        let counts = |path: &FilePath| {
            is_input(&path.below(Path::new(""))) || within.iter().any(|pointer| pointer.path == *path)
        };
        Ok(paths.filter(counts).map(|path| path.to_string()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_and_manifests_are_inputs_wherever_they_are() {
        for path in ["package.json", "packages/api/package-lock.json", "requirements-dev.txt", "a b/go.sum"] {
            assert!(is_input(Path::new(path)), "{path}");
        }
        for path in ["src/package.rs", "README.md", "requirements.md"] {
            assert!(!is_input(Path::new(path)), "{path}");
        }
    }
}
