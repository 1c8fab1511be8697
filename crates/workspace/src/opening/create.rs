//! Makes a workspace.
//!
//! Invariant: idempotent. The branch and the ref `refs/windlass/<loop>/base/commit` appear in one transaction, so a
//! branch that this loop made is told from one that was there before; the engine's index is written last, so its
//! presence means that the workspace is whole.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::git::{Git, GitError, TrustedConfig};
use crate::project::Project;
use crate::submodules::Submodules;
use crate::{Home, Kind, Workspace, WorkspaceError, Workspaces, keep_ref};

/// What workspace a loop needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceRequest {
    /// Any directory inside the user's checkout.
    pub project: PathBuf,
    pub loop_id: String,
    pub loop_name: String,
    pub kind: Kind,
    /// The loop's own branch; not used in place, where the branch that is checked out is the loop's.
    pub branch: String,
    /// Where to start from; the checkout's HEAD if not said.
    pub base: Option<String>,
    /// Where workspaces live: `<data>/worktrees`.
    pub root: PathBuf,
    /// In place: work on top of uncommitted files, which then become part of the first checkpoint.
    pub allow_dirty: bool,
    /// Start the branch on top of other work, instead of at the base.
    #[serde(default)]
    pub fork: Option<ForkRequest>,
}

/// Work of another loop to start from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkRequest {
    /// The commit that the branch starts at.
    pub commit: String,
    /// The branch to merge into; the one that is checked out if not said.
    pub target: Option<String>,
}

impl WorkspaceRequest {
    /// Where the branch starts, if not at the base.
    pub fn start(&self) -> Option<&str> {
        self.fork.as_ref().map(|fork| fork.commit.as_str())
    }
}

/// A workspace that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    pub workspace: Workspace,
    pub base_tree: String,
    /// Where the branch starts: at the base, or at the work that was forked.
    pub head_commit: String,
    /// Its tree, for the first checkpoint's `previous_tree`.
    pub head_tree: String,
    /// Files in the user's checkout that are not committed and so not included.
    pub uncommitted_left_out: u64,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Workspaces {
    /// Makes the workspace, or finds the one that the same request made before.
    pub async fn create(&self, request: &WorkspaceRequest) -> Result<Opened, WorkspaceError> {
        let project = Project::inspect(&self.host, &request.project).await?;
        let git = project.git(&self.host);
        if git.commit("HEAD").await?.is_none() && request.base.is_none() {
            return Err(WorkspaceError::NoCommits { path: project.checkout });
        }
        let mut workspace = self.described(&project, &git, request).await?;
        let mut notes = Vec::new();
        let uncommitted = project.uncommitted(&self.host).await?;
        if workspace.fallback_identity {
            notes.push("git has no user.name and user.email: committing as Windlass <windlass@localhost>".to_owned());
        }
        self.settle(&workspace).await?;
        match request.kind {
            Kind::InPlace => {
                self.open_in_place(&project, request, uncommitted, &mut workspace, &mut notes).await?;
                self.note_present(&workspace).await?;
            }
            Kind::Clone => {
                workspace.git_dir = workspace.own_git_dir();
                workspace.base_commit = claim_branch(&git, &project, request).await?;
                let submodules = Submodules::of(&self.host, &workspace.home, &git, &workspace.base_commit).await?;
                notes.extend(submodules.note());
                workspace.submodules.clone_from(&submodules.present);
                self.check_out_clone(&mut workspace).await?;
                notes.extend(submodules.undeclared(&workspace));
            }
        }
        let base_tree = git.tree_of(&workspace.base_commit).await?;
        let uncommitted_left_out = if request.kind == Kind::InPlace { 0 } else { uncommitted };
        let head_commit = request.start().unwrap_or(&workspace.base_commit).to_owned();
        let head_tree = match request.start() {
            Some(start) => git.tree_of(start).await?,
            None => base_tree.clone(),
        };
        Ok(Opened { workspace, base_tree, head_commit, head_tree, uncommitted_left_out, notes })
    }

    /// What a workspace would be, to judge commits of the repository with. Nothing is made of it.
    pub async fn describe(&self, request: &WorkspaceRequest) -> Result<Workspace, WorkspaceError> {
        let project = Project::inspect(&self.host, &request.project).await?;
        let git = project.git(&self.host);
        let revision = request.base.as_deref().unwrap_or("HEAD");
        let Some(base) = git.commit(revision).await? else {
            return Err(WorkspaceError::UnknownBase { revision: revision.to_owned(), path: project.checkout.clone() });
        };
        let described = self.described(&project, &git, request).await?;
        let submodules = Submodules::of(&self.host, &described.home, &git, &base).await?.present;
        Ok(Workspace { base_commit: base, git_dir: described.own_git_dir(), submodules, ..described })
    }

    async fn described(
        &self,
        project: &Project,
        git: &Git,
        request: &WorkspaceRequest,
    ) -> Result<Workspace, WorkspaceError> {
        let root = self.root(request)?;
        let home = Home {
            checkout: project.checkout.clone(),
            git_dir: project.git_dir.clone(),
            common_dir: project.common_dir.clone(),
            branch: request.fork.as_ref().and_then(|fork| fork.target.clone()).or_else(|| project.branch.clone()),
        };
        Ok(Workspace {
            kind: request.kind,
            loop_id: request.loop_id.clone(),
            dir: root.join(&request.loop_id),
            git_dir: project.git_dir.clone(),
            common_dir: project.common_dir.clone(),
            branch: request.branch.clone(),
            base_commit: String::new(),
            home,
            index: root.join(format!("{}.index", request.loop_id)),
            id_len: project.id_len,
            fallback_identity: no_identity(git).await?,
            trusted: TrustedConfig::default(),
            home_trusted: TrustedConfig::freeze(git).await?,
            submodules: Vec::new(),
        })
    }

    /// The directory for workspaces, absolute and without symbolic links, as git will report it.
    fn root(&self, request: &WorkspaceRequest) -> Result<PathBuf, WorkspaceError> {
        let root = &request.root;
        std::fs::create_dir_all(root).map_err(WorkspaceError::file("create", root))?;
        root.canonicalize().map_err(WorkspaceError::file("find", root))
    }

    async fn open_in_place(
        &self,
        project: &Project,
        request: &WorkspaceRequest,
        uncommitted: u64,
        workspace: &mut Workspace,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        let path = || project.checkout.clone();
        if let Some(operation) = project.operation() {
            return Err(WorkspaceError::OperationInProgress { path: path(), operation });
        }
        let Some(branch) = project.branch.clone() else {
            return Err(WorkspaceError::DetachedHead { path: path() });
        };
        if uncommitted > 0 && !request.allow_dirty {
            return Err(WorkspaceError::Dirty { path: path(), files: uncommitted });
        }
        if uncommitted > 0 {
            notes.push(format!("the first checkpoint will include {uncommitted} uncommitted file(s)"));
        }
        let git = project.git(&self.host);
        let Some(head) = git.commit("HEAD").await? else {
            return Err(WorkspaceError::NoCommits { path: path() });
        };
        workspace.dir = path();
        workspace.branch = branch;
        self.can_open(workspace).await?;
        workspace.base_commit = match git.read_ref(&base_ref(&request.loop_id)).await? {
            Some(base) => base,
            None => {
                git.run(&["update-ref", &base_ref(&request.loop_id), &head, ""]).await?;
                head
            }
        };
        workspace.trusted = workspace.home_trusted.clone();
        if !workspace.index.exists() {
            adopt_index(&project.git_dir.join("index"), &workspace.index)?;
        }
        // The index is there first: a mark without one is void.
        super::owner::claim(workspace, &request.loop_name)
    }
}

/// Gives the engine's git directory the part of the configuration that belongs to the user's checkout alone, as
/// `git worktree add` does: with it a sparse checkout stays sparse.
pub(crate) async fn inherit_sparse_checkout(git: &Git, workspace: &Workspace) -> Result<(), WorkspaceError> {
    for file in ["config.worktree", "info/sparse-checkout"] {
        let (from, to) = (workspace.home.git_dir.join(file), workspace.git_dir.join(file));
        if from.is_file() {
            let parent = to.parent().unwrap_or(&workspace.git_dir);
            std::fs::create_dir_all(parent).map_err(WorkspaceError::file("create", parent))?;
            std::fs::copy(&from, &to).map_err(WorkspaceError::file("copy", &from))?;
        }
    }
    let config = workspace.git_dir.join("config.worktree");
    if config.is_file() {
        let config = config.to_string_lossy();
        for key in ["core.worktree", "core.bare"] {
            git.call(&["config", "--file", &config, "--unset-all", key]).answers(&[5]).run().await?;
        }
    }
    Ok(())
}

/// The ref that marks a branch as made by this loop, and keeps its base from being pruned.
pub(crate) fn base_ref(loop_id: &str) -> String {
    keep_ref(loop_id, "base", "commit")
}

/// Creates the loop's branch at its base, together with the mark that it is this loop's. Returns the base.
async fn claim_branch(git: &Git, project: &Project, request: &WorkspaceRequest) -> Result<String, WorkspaceError> {
    let branch = &request.branch;
    let (mark, name) = (base_ref(&request.loop_id), format!("refs/heads/{branch}"));
    if let Some(base) = git.read_ref(&mark).await? {
        if git.read_ref(&name).await?.is_none() {
            git.run(&["update-ref", &name, request.start().unwrap_or(&base), ""]).await?;
        }
        return Ok(base);
    }
    let valid = git.call(&["check-ref-format", "--branch", branch]).answers(&[1, 128, 129]).run().await?;
    if valid.code != 0 || branch.starts_with('-') {
        return Err(WorkspaceError::InvalidBranch { branch: branch.clone() });
    }
    let revision = request.base.as_deref().unwrap_or("HEAD");
    let Some(base) = git.commit(revision).await? else {
        return Err(WorkspaceError::UnknownBase { revision: revision.to_owned(), path: project.checkout.clone() });
    };
    if let Some(start) = request.start()
        && git.commit(start).await?.is_none()
    {
        return Err(WorkspaceError::UnknownBase { revision: start.to_owned(), path: project.checkout.clone() });
    }
    refuse_taken_name(git, branch).await?;
    let start = request.start().unwrap_or(&base);
    let transaction = format!("start\ncreate {name} {start}\ncreate {mark} {base}\nprepare\ncommit\n");
    match git.call(&["update-ref", "--stdin"]).input(transaction).run().await {
        Ok(_) => Ok(base),
        Err(error) => {
            // Another loop may have taken the name since; say that rather than git's words.
            refuse_taken_name(git, branch).await?;
            Err(error.into())
        }
    }
}

/// Refuses a branch that exists, or that cannot exist beside another one.
async fn refuse_taken_name(git: &Git, branch: &str) -> Result<(), WorkspaceError> {
    let first = branch.split('/').next().unwrap_or(branch);
    let output = git.run(&["for-each-ref", "--format=%(refname:lstrip=2)", &format!("refs/heads/{first}")]).await?;
    for existing in String::from_utf8_lossy(&output).lines() {
        if existing == branch {
            let checked_out_at = checked_out_at(git, branch).await?;
            return Err(WorkspaceError::BranchExists { branch: branch.to_owned(), checked_out_at });
        }
        let below = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
        if below(branch, existing) || below(existing, branch) {
            return Err(WorkspaceError::BranchNameTaken { branch: branch.to_owned(), existing: existing.to_owned() });
        }
    }
    Ok(())
}

/// The checkout that has this branch, if any.
pub(crate) async fn checked_out_at(git: &Git, branch: &str) -> Result<Option<PathBuf>, GitError> {
    let output = git.run(&["worktree", "list", "--porcelain", "-z"]).await?;
    let wanted = format!("branch refs/heads/{branch}");
    let mut dir = None;
    for field in output.split(|&byte| byte == 0) {
        if let Some(path) = field.strip_prefix(b"worktree ") {
            dir = Some(PathBuf::from(String::from_utf8_lossy(path).into_owned()));
        } else if field == wanted.as_bytes() {
            return Ok(dir);
        }
    }
    Ok(None)
}

async fn no_identity(git: &Git) -> Result<bool, GitError> {
    let output = git.call(&["var", "GIT_COMMITTER_IDENT"]).answers(&[1, 128]).run().await?;
    Ok(output.code != 0)
}

/// Copies a fresh checkout's index to be the engine's, whole or not at all.
pub(crate) fn adopt_index(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    let mut partial = to.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    std::fs::File::create(&partial)
        .and_then(|mut copy| crate::disk::copying::copy_into(from, &mut copy))
        .map_err(WorkspaceError::file("copy", from))?;
    std::fs::rename(&partial, to).map_err(WorkspaceError::file("write", to))
}
