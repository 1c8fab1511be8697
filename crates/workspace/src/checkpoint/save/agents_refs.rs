//! Refs that an agent made in the user's own repository, in place or without a sandbox, with a secret in what they keep.
//!
//! Invariants: such a ref is reported after every turn until it is gone or keeps no new secret; nothing is removed here,
//! because the repository is the user's.

use std::collections::BTreeSet;

use super::searched::secret_in;
use crate::checkpoint::hold_back::Unwanted;
use crate::checkpoint::stage::noted;
use crate::disk::copying::beside;
use crate::git::{Git, MovedRef};
use crate::{Workspace, WorkspaceError, Workspaces};

/// The file next to the index that lists those found before.
const FOUND: &str = ".refs_with_secrets";

impl Workspaces {
    /// Those among the refs that moved, and among those found before, each with the secret and a way to remove it.
    pub async fn refs_with_secrets(
        &self,
        workspace: &Workspace,
        moved: &[MovedRef],
        unwanted: &Unwanted,
    ) -> Result<Vec<String>, WorkspaceError> {
        let before = noted(workspace, FOUND);
        // What a fetch brought is somebody else's, and no push sends it.
        let moved = moved.iter().filter(|one| one.name.starts_with("refs/") && !one.name.starts_with("refs/remotes/"));
        let names: BTreeSet<&str> =
            moved.map(|one| one.name.as_str()).chain(before.iter().map(String::as_str)).collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let git = self.git(workspace).await?;
        let (mut found, mut said) = (Vec::new(), Vec::new());
        for name in &names {
            let Some(tip) = git.read_ref(name).await? else { continue };
            if let Some(what) = secret_in(&git, workspace, &tip, &others(&names), unwanted).await? {
                found.push((*name).to_owned());
                said.push(format!("{name} ({what}; `git update-ref -d {name}` removes it)"));
            }
        }
        if found != before {
            let file = beside(&workspace.index, FOUND);
            let text = serde_json::to_vec(&found).unwrap_or_default();
            std::fs::write(&file, text).map_err(WorkspaceError::file("write", file))?;
        }
        Ok(said)
    }
}

/// All refs but these, in the words of `git rev-list`.
fn others(names: &BTreeSet<&str>) -> Vec<String> {
    names.iter().map(|name| format!("--exclude={name}")).chain(["--all".to_owned()]).collect()
}

/// Removes commits that no ref keeps any more.
const FORGET: &str = "git reflog expire --expire-unreachable=now --all && git gc --prune=now";

/// What is left in the user's own repository of commits that were replaced there.
pub(crate) fn left_behind(git: &Git) -> String {
    format!(
        "git keeps the replaced commits in {} until they expire; to remove them now: {FORGET}",
        git.git_dir().join("logs").display()
    )
}
