//! Which loop works in a checkout of the user's, and which turn lost its files.
//!
//! Invariant: of two loops that work in place, one at most has a checkout. The mark is in the checkout's own git
//! directory, so it counts for every data directory; it is void when the owner's files are gone.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::checkpoint::history::history;
use crate::checkpoint::message::is_of_turn;
use crate::git::remove_spare;
use crate::{Kind, Workspace, WorkspaceError, Workspaces};

const MARK: &str = "windlass-owner";

/// The file next to the index that names the turn whose files are lost.
const LOST: &str = ".lost";

/// Takes the checkout for this loop, or returns its owner.
pub(crate) fn claim(workspace: &Workspace, name: &str) -> Result<(), WorkspaceError> {
    let mark = workspace.git_dir.join(MARK);
    let failed = |error| WorkspaceError::file("write", &mark)(error);
    // Others wait: a mark that is being written is no stale one. Where directories have no locks, nothing is lost but that.
    let dir = std::fs::File::open(&workspace.git_dir).map_err(failed)?;
    let _ = rustix::fs::flock(&dir, rustix::fs::FlockOperation::LockExclusive);
    // Retry if the existing one is stale.
    for _ in 0..2 {
        match std::fs::File::create_new(&mark) {
            Ok(mut file) => {
                let text = format!("{}\n{name}\n{}\n", workspace.loop_id, workspace.index.display());
                return file.write_all(text.as_bytes()).map_err(failed);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
        match owner(&mark) {
            Some((id, ..)) if id == workspace.loop_id => return Ok(()),
            Some((_, owner, index)) if index.exists() => {
                return Err(WorkspaceError::CheckoutTaken { path: workspace.dir.clone(), owner });
            }
            Some(_) | None => std::fs::remove_file(&mark).map_err(failed)?,
        }
    }
    Err(WorkspaceError::CheckoutTaken { path: workspace.dir.clone(), owner: "another loop".to_owned() })
}

fn lost_mark(workspace: &Workspace) -> PathBuf {
    let mut name = workspace.index.as_os_str().to_owned();
    name.push(LOST);
    name.into()
}

/// Id and name of the loop that has a checkout, and the index that it works with.
fn owner(mark: &Path) -> Option<(String, String, PathBuf)> {
    let text = std::fs::read_to_string(mark).ok()?;
    let mut lines = text.lines().map(str::to_owned);
    Some((lines.next()?, lines.next()?, lines.next()?.into()))
}

impl Workspaces {
    /// Leaves a checkout to others: the loop has ended.
    pub fn release(&self, workspace: &Workspace) {
        let mark = workspace.git_dir.join(MARK);
        if workspace.kind == Kind::InPlace && owner(&mark).is_some_and(|(id, ..)| id == workspace.loop_id) {
            let _ = std::fs::remove_file(mark);
        }
    }

    /// Nobody works here for now: what is kept from one checkpoint to the next goes.
    pub fn rest(&self, workspace: &Workspace) {
        self.known.forget(workspace);
        remove_spare(&workspace.objects());
    }

    /// Whether the workspace is there, or can be recreated from its branch; nothing is changed.
    pub async fn can_open(&self, workspace: &Workspace) -> Result<(), WorkspaceError> {
        let missing =
            || WorkspaceError::WorkspaceMissing { path: workspace.dir.clone(), branch: workspace.branch.clone() };
        workspace.home_exists()?;
        if workspace.kind == Kind::InPlace {
            let taken = owner(&workspace.git_dir.join(MARK));
            return match taken.filter(|(id, _, index)| *id != workspace.loop_id && index.exists()) {
                Some((_, owner, _)) => Err(WorkspaceError::CheckoutTaken { path: workspace.dir.clone(), owner }),
                None if workspace.git_dir.join("HEAD").exists() => Ok(()),
                None => Err(missing()),
            };
        }
        match workspace.dir.is_dir() || self.has_branch(workspace).await? {
            true => Ok(()),
            false => Err(missing()),
        }
    }

    /// Whether the turn's commit is the end of the loop's branch in the user's repository, where it outlives the workspace.
    pub async fn has_committed(
        &self,
        workspace: &Workspace,
        turn_id: &str,
        previous_head: &str,
    ) -> Result<bool, WorkspaceError> {
        let home = self.home_git(workspace);
        let Some(tip) = home.read_ref(&workspace.branch_ref()).await? else { return Ok(false) };
        if tip == previous_head {
            return Ok(false);
        }
        let newer = history(&home, previous_head, &tip).await?;
        Ok(newer.first().is_some_and(|entry| is_of_turn(&entry.message, turn_id)))
    }

    /// Remembers that the files which this turn left are gone, so that its checkpoint reports it.
    pub fn mark_lost(&self, workspace: &Workspace, turn_id: &str) -> Result<(), WorkspaceError> {
        let file = lost_mark(workspace);
        std::fs::write(&file, turn_id).map_err(WorkspaceError::file("write", file))
    }

    /// Whether the files of this turn are gone.
    pub fn is_lost(&self, workspace: &Workspace, turn_id: &str) -> bool {
        std::fs::read_to_string(lost_mark(workspace)).is_ok_and(|lost| lost == turn_id)
    }
}
