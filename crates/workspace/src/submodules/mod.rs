//! Submodules: the user's own repositories of them, and checkouts of the commits that a pointer names.
//!
//! Files of a submodule come from objects that are on this machine: those of the user's submodules as they were when the
//! workspace was made, and what was taken from an agent's commits. Invariants: nothing is fetched; `.gitmodules` is read
//! only from the base commit, and a name or path in it that leaves the repository counts as not there.

mod checkout;

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::git::{Entry, FilePath, Git, GitError, GitHost, hex};
use crate::project::Project;
use crate::{Home, Workspace, WorkspaceError, Workspaces};

pub(crate) use checkout::{Repository, pointers};

/// Submodules of submodules are checked so deep.
const DEEPEST: usize = 8;

/// A submodule of the user's, as it was when the workspace was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submodule {
    /// From the top of the checkout.
    pub path: String,
    /// The user's repository of it.
    pub git_dir: PathBuf,
}

/// The submodules that a commit has.
#[derive(Debug, Default)]
pub(super) struct Submodules {
    pub(super) present: Vec<Submodule>,
    /// Paths whose commit is not on this machine.
    pub(super) missing: Vec<String>,
}

impl Submodules {
    /// Looks for the user's repositories of the submodules that a commit declares, those within them included.
    pub(super) async fn of(host: &Arc<GitHost>, home: &Home, git: &Git, commit: &str) -> Result<Self, GitError> {
        let mut found = Self::default();
        let top = vec![home.git_dir.clone(), home.common_dir.clone()];
        let mut pending = vec![(git.clone(), top, String::new(), commit.to_owned(), 0)];
        while let Some((git, above, prefix, commit, depth)) = pending.pop() {
            for (name, path) in declared(&git, &commit).await? {
                let Some(id) = pointer(&git, &commit, &path).await? else { continue };
                let whole = if prefix.is_empty() { path } else { format!("{prefix}/{path}") };
                let within = above.iter().map(|dir| dir.join("modules").join(&name));
                let mut places = within.chain([home.checkout.join(&whole).join(".git")]);
                let Some(git_dir) = places.find(|dir| dir.join("HEAD").is_file() && dir.join("objects").is_dir())
                else {
                    found.missing.push(whole);
                    continue;
                };
                let inner = users(host, &git_dir);
                if inner.commit(&id).await?.is_none() {
                    found.missing.push(whole.clone());
                } else if depth < DEEPEST {
                    pending.push((inner, vec![git_dir.clone()], whole.clone(), id, depth + 1));
                }
                found.present.push(Submodule { path: whole, git_dir });
            }
        }
        Ok(found)
    }

    /// What the user should know of those that are missing.
    pub(super) fn note(&self) -> Option<String> {
        (!self.missing.is_empty()).then(|| {
            format!(
                "submodules that are not checked out in your repository stay empty: {} (run 'git submodule update --init \
                 --recursive' first)",
                self.missing.join(", ")
            )
        })
    }
}

impl Submodules {
    /// What the user should know of pointers that `.gitmodules` does not declare: nothing says where their files are.
    pub(super) fn undeclared(&self, workspace: &Workspace) -> Option<String> {
        let known: Vec<&str> = self
            .present
            .iter()
            .map(|module| module.path.as_str())
            .chain(self.missing.iter().map(String::as_str))
            .collect();
        let pointers = pointers(&workspace.index, None, workspace.id_len);
        let paths = pointers.iter().map(|pointer| String::from_utf8_lossy(pointer.path.as_bytes()));
        let unknown: Vec<_> = paths.filter(|path| !known.contains(&path.as_ref())).collect();
        (!unknown.is_empty()).then(|| {
            format!(
                "nested repositories that .gitmodules does not declare stay empty: {} (declare them with 'git submodule add')",
                unknown.join(", ")
            )
        })
    }
}

/// Git on a repository of the user's submodule, without its work tree, which may be gone.
pub(super) fn users(host: &Arc<GitHost>, git_dir: &Path) -> Git {
    Git::repository(host.clone(), git_dir, git_dir).work_tree(git_dir)
}

/// Names and paths of the submodules that a commit declares.
async fn declared(git: &Git, commit: &str) -> Result<Vec<(String, String)>, GitError> {
    let file = format!("{commit}:.gitmodules");
    let args = ["config", "-z", "--no-includes", "--blob", &file, "--get-regexp", r"^submodule\..*\.path$"];
    // There is none, or it cannot be read: nothing is declared.
    let output = git.call(&args).answers(&[1, 3, 128]).run().await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pairs = text.split('\0').filter_map(|entry| {
        let (key, path) = entry.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        (stays(name) && stays(path)).then(|| (name.to_owned(), path.trim_end_matches('/').to_owned()))
    });
    Ok(pairs.collect())
}

/// Whether a path consists of plain names, none of them git's own.
fn stays(path: &str) -> bool {
    let plain = |part: Component| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    !path.is_empty() && Path::new(path).components().all(plain)
}

/// The commit that a path points to.
async fn pointer(git: &Git, commit: &str, path: &str) -> Result<Option<String>, GitError> {
    let output = git.call(&["ls-tree", "-z", commit, "--", path]).literal_paths().run().await?.stdout;
    let text = String::from_utf8_lossy(&output);
    Ok(text.strip_prefix("160000 commit ").and_then(|rest| rest.split_once('\t')).map(|(id, _)| id.to_owned()))
}

/// Where the pointers in a commit of the submodule at `above` lead.
pub(super) async fn pointers_of(git: &Git, commit: &str, above: &FilePath) -> Result<Vec<Pointer>, GitError> {
    let output = git.run(&["ls-tree", "-r", "-z", commit]).await?;
    let lines = output.split(|&byte| byte == 0).filter_map(|line| line.strip_prefix(b"160000 commit "));
    let pointers = lines.filter_map(|line| {
        let tab = line.iter().position(|&byte| byte == b'\t')?;
        let path = FilePath::new([above.as_bytes(), b"/", &line[tab + 1..]].concat());
        Some(Pointer { path, commit: String::from_utf8(line[..tab].to_vec()).ok()? })
    });
    Ok(pointers.collect())
}

/// Where a pointer leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// From the top of the checkout.
    pub(crate) path: FilePath,
    pub(crate) commit: String,
}

impl Pointer {
    fn of(entry: &Entry, above: Option<&FilePath>, id_len: usize) -> Self {
        let path = match above {
            Some(above) => [above.as_bytes(), b"/", &entry.path[..]].concat(),
            None => entry.path.clone(),
        };
        Self { path: FilePath::new(path), commit: hex(&entry.id[..id_len]) }
    }
}

impl Workspaces {
    /// Paths of submodules that would be empty in a workspace at HEAD: their commits are not on this machine.
    pub async fn missing_submodules(&self, project: &Path) -> Result<Vec<String>, WorkspaceError> {
        let project = Project::inspect(&self.host, project).await?;
        let git = project.git(&self.host);
        let Some(head) = git.commit("HEAD").await? else { return Ok(Vec::new()) };
        let home = Home {
            checkout: project.checkout.clone(),
            git_dir: project.git_dir.clone(),
            common_dir: project.common_dir.clone(),
            branch: project.branch.clone(),
        };
        Ok(Submodules::of(&self.host, &home, &git, &head).await?.missing)
    }
}

impl Workspace {
    /// Every object store that commits of this loop and of its submodules can be in; no agent in a sandbox writes there.
    pub fn object_stores(&self) -> Vec<PathBuf> {
        let modules = self.submodules.iter().map(|module| module.git_dir.join("objects"));
        [self.objects()].into_iter().chain(modules).collect()
    }

    /// Where objects of the user's submodules are. What an agent made of others is not among them: nobody but Windlass could
    /// check it out.
    pub(super) fn submodule_stores(&self) -> Vec<PathBuf> {
        self.submodules.iter().map(|module| module.git_dir.join("objects")).collect()
    }

    /// The user's repository of the submodule at this path.
    pub(super) fn users_submodule(&self, path: &FilePath) -> Option<&Submodule> {
        self.submodules.iter().find(|module| module.path.as_bytes() == path.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::stays;

    #[test]
    fn names_that_leave_the_repository_are_refused() {
        for path in ["", "/lib", "../lib", "a/../../lib", "a/.git/hooks", ".GIT"] {
            assert!(!stays(path), "{path}");
        }
        assert!(stays("libs/a.b"));
    }
}
