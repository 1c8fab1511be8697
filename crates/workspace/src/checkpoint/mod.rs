//! The commit that closes an iteration.
//!
//! Invariants: a checkpoint holds what is on disk; it is found again by its turn, so making it twice makes one; HEAD
//! is on the loop's branch afterwards; commits that the agent made are kept and listed, wherever it put them.
//!
//! The common path starts git once (`add`): the commit is written without it (`commit`). The first commit of a process starts it twice
//! more (`commit`, `cat-file`), and files that were both added and deleted once, to recognize renames (`diff-index`).

pub(crate) mod commit;
pub(crate) mod history;
pub(crate) mod hold_back;
pub(crate) mod message;
pub(crate) mod nested;
pub(crate) mod protect;
pub(crate) mod quarantine;
pub(crate) mod save;
pub(crate) mod snapshot;
pub(crate) mod stage;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent_git::AgentGit;
use crate::git::{ChangedFile, FilePath, Git, GitError, HeadFile, HeldObjects, Index, parse_raw};
use crate::{Kind, Unwanted, Workspace, WorkspaceError, Workspaces};
use history::{Entry, LONGEST_HISTORY, history};
use message::is_of_turn;
use quarantine::{Quarantine, lasting};
use stage::stage;

/// Who commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitMode {
    /// The engine commits what is left after each turn.
    Engine,
    /// The agent is asked to commit; the engine commits what it left over.
    Agent,
    /// Nobody: verdicts are bound to the hash of the tree.
    Off,
}

/// What to close an iteration with.
#[derive(Debug, Clone)]
pub struct CheckpointRequest {
    pub loop_name: String,
    pub iteration: u32,
    pub turn_id: String,
    /// The commit of the previous checkpoint, or the base commit.
    pub previous_head: String,
    /// What the loop's work is compared with and merged from; the base that the workspace began with, if not given. Commits
    /// that do not build on it are squashed.
    pub base: Option<String>,
    /// The tree of the previous checkpoint, or of the base; saves git calls if known.
    pub previous_tree: Option<String>,
    /// Subject and body.
    pub message: String,
    pub mode: CommitMode,
    /// The section that ends here: makes a commit even if nothing is left to commit.
    pub section: Option<String>,
    /// Paths or globs from the top of the workspace that must not be swept into a commit, such as copied `.env` files.
    pub never_commit: Vec<String>,
    pub unwanted: Unwanted,
}

/// What an iteration left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The commit that holds this state; the previous one if nothing changed. `None` only with [`CommitMode::Off`].
    pub commit: Option<String>,
    pub tree: String,
    /// Everything that changed since the previous checkpoint, committed by whomever.
    pub files: Vec<ChangedFile>,
    /// Commits the agent made itself, oldest first.
    pub agent_commits: Vec<String>,
    /// The engine made a commit in this call.
    pub created: bool,
    /// Files whose changes are in no commit, each with the reason: the secret it holds, or why git cannot take it.
    pub held_back: Vec<String>,
    /// New files that git ignores, the first of them, and how many there are.
    pub ignored_new: Vec<String>,
    pub ignored_new_count: u64,
    /// What the user should know: repairs, saved refs, files left out.
    pub notes: Vec<String>,
}

/// Where the loop's branch belongs.
struct Settled {
    tip: String,
    /// The branch, or HEAD or branch of the clone, is elsewhere.
    moved: bool,
}

/// What the engine's index took in.
struct Taken {
    /// Where the branch is.
    tip: String,
    /// What differs from the previous checkpoint, committed by whomever.
    files: Vec<ChangedFile>,
    /// The commits since the previous checkpoint, newest first.
    history: Vec<Entry>,
    /// What is on disk; only requested where the branch moved.
    tree: Option<String>,
    /// Files that git cannot take, each with the reason.
    refused: Vec<(FilePath, String)>,
    /// Submodules with content that is in no commit, each with the reason.
    unrecorded: Vec<(FilePath, String)>,
    /// The engine's index, if it could be read.
    index: Option<Index>,
}

impl Workspaces {
    /// Puts back what ties the workspace to its repository, if an agent broke it, before anybody checks it; says what.
    pub async fn mend(&self, workspace: &Workspace, turn_id: &str) -> Result<Vec<String>, WorkspaceError> {
        let mut notes = Vec::new();
        if self.recreate_if_gone(workspace, &mut notes).await? {
            self.mark_lost(workspace, turn_id)?;
        }
        self.attach(workspace, turn_id, &mut notes).await?;
        Ok(notes)
    }

    /// Commits what is on disk, or finds the commit that an earlier call made for the same turn.
    pub async fn checkpoint(
        &self,
        workspace: &Workspace,
        request: &CheckpointRequest,
    ) -> Result<Checkpoint, WorkspaceError> {
        let mut notes = Vec::new();
        self.attach(workspace, &request.turn_id, &mut notes).await?;
        let git = self.git(workspace).await?;
        if request.mode == CommitMode::Off {
            let made = self.look_only(workspace, &git, request, notes).await?;
            return self.with_ignored(workspace, &git, made).await;
        }
        hold_back::note(workspace, &[])?;
        let quarantine = Quarantine::again(&git, workspace)?;
        let held = quarantine.git();
        self.end_operations(held, workspace, &request.turn_id, &mut notes).await?;
        let mut settled = self.settle_head(held, workspace, request, &mut notes).await?;
        self.keep_base(held, workspace, request, &mut settled, &mut notes).await?;
        let mut taken = self.take_in(workspace, held, request, settled.tip.clone(), &mut notes).await?;
        let Taken { files, history, tree, .. } = &taken;
        let found = hold_back::search(held, workspace, request, files, history, tree.as_deref()).await?;
        if found.nothing() {
            quarantine.release(&settled.tip).await?;
            self.put_head(&git, workspace, &settled, &request.turn_id, &mut notes).await?;
        } else {
            drop(quarantine);
            hold_back::hold(&git, workspace, request, &found.files).await?;
            let moved = settled.tip != request.previous_head;
            settled.moved |= moved;
            settled.tip.clone_from(&request.previous_head);
            self.put_head(&git, workspace, &settled, &request.turn_id, &mut notes).await?;
            if !found.in_commits.is_empty() {
                let what = found.in_commits.join(", ");
                notes.push(format!("squashed the agent's commits into one to remove a secret: {what}"));
            }
            if workspace.kind == Kind::InPlace && moved {
                notes.push(save::left_behind(&git));
            }
            let quarantine = Quarantine::open(&git, workspace)?;
            taken = self.take_in(workspace, quarantine.git(), request, settled.tip.clone(), &mut notes).await?;
            quarantine.release(&settled.tip).await?;
        }
        let refused = std::mem::take(&mut taken.refused);
        let unrecorded = std::mem::take(&mut taken.unrecorded);
        if !refused.is_empty() {
            let waiting = found.files.iter().chain(&refused).map(|(path, _)| path.as_glob());
            hold_back::note(workspace, &waiting.collect::<Vec<_>>())?;
        }
        let mut made = if taken.tip == request.previous_head {
            self.close_plain(workspace, &git, request, taken, notes).await?
        } else {
            self.close_after_agent(workspace, &git, request, taken, notes).await?
        };
        let rules = &request.unwanted.secrets;
        made.held_back = found
            .files
            .iter()
            .chain(&refused)
            .chain(&unrecorded)
            .map(|(path, what)| hold_back::shown(rules, &path.to_string(), what))
            .collect();
        self.with_ignored(workspace, &git, made).await
    }

    /// Tells of new files that git ignores.
    async fn with_ignored(
        &self,
        workspace: &Workspace,
        git: &Git,
        mut made: Checkpoint,
    ) -> Result<Checkpoint, WorkspaceError> {
        let look = self.look_for_ignored(workspace, git, true).await?;
        made.notes.extend(look.note());
        made.ignored_new = look.names();
        made.ignored_new_count = look.files.len() as u64;
        let no_file = |path: &FilePath| format!("{path} (git cannot store it: it is a pipe, a socket or a device)");
        made.held_back.extend(look.special.iter().map(no_file));
        Ok(made)
    }

    /// Brings the engine's index to what is on disk, and says how that differs from the previous checkpoint.
    async fn take_in(
        &self,
        workspace: &Workspace,
        git: &Git,
        request: &CheckpointRequest,
        tip: String,
        notes: &mut Vec<String>,
    ) -> Result<Taken, WorkspaceError> {
        let head = &request.previous_head;
        let plain = tip == *head;
        let mut staged = stage(self, git, workspace, &request.never_commit, &request.turn_id).await?;
        notes.append(&mut staged.notes);
        let refused = std::mem::take(&mut staged.refused);
        // In place gates see what is there, and it may be the user's.
        let unrecorded = match workspace.kind {
            Kind::Clone => std::mem::take(&mut staged.unrecorded),
            Kind::InPlace => Vec::new(),
        };
        if plain {
            let files = staged.changed_since(git, head, request.previous_tree.as_deref()).await?;
            return Ok(Taken { tip, files, history: Vec::new(), tree: None, refused, unrecorded, index: staged.index });
        }
        let tree = staged.tree(git).await?;
        let files = changed(git, head, &tree).await?;
        let history = history(git, head, &tip).await?;
        Ok(Taken { tip, files, history, tree: Some(tree), refused, unrecorded, index: None })
    }

    /// The agent made no commit: what is staged is all that changed.
    async fn close_plain(
        &self,
        workspace: &Workspace,
        git: &Git,
        request: &CheckpointRequest,
        taken: Taken,
        mut notes: Vec<String>,
    ) -> Result<Checkpoint, WorkspaceError> {
        let head = &request.previous_head;
        let files = taken.files;
        if files.is_empty() && request.section.is_none() {
            let tree = match &request.previous_tree {
                Some(tree) => tree.clone(),
                None => git.tree_of(head).await?,
            };
            return Ok(Checkpoint { commit: Some(head.clone()), tree, files, notes, ..Checkpoint::default() });
        }
        let empty = files.is_empty();
        let (commit, tree) = self.commit(git, workspace, request, (taken.index, empty), &mut notes).await?;
        self.publish(git, workspace, &mut notes).await?;
        Ok(Checkpoint { commit: Some(commit), tree, files, created: true, notes, ..Checkpoint::default() })
    }

    /// The branch moved since the previous checkpoint: by the agent, or by a call that was cut off.
    async fn close_after_agent(
        &self,
        workspace: &Workspace,
        git: &Git,
        request: &CheckpointRequest,
        taken: Taken,
        mut notes: Vec<String>,
    ) -> Result<Checkpoint, WorkspaceError> {
        let Taken { tip, history, files, tree: on_disk, .. } = taken;
        let builds_on = history.iter().any(|entry| entry.parents.contains(&request.previous_head));
        let all = history.len() < LONGEST_HISTORY;
        if !builds_on && (all || !git.is_ancestor(&request.previous_head, &tip).await?) {
            let name = workspace.keep_ref("rewritten", &request.turn_id);
            let saved = save::keep(git, workspace, &name, &request.previous_head).await?;
            notes.push(format!("the agent rewrote history; the previous checkpoint is at {}", saved.name));
        }
        let mine = |entry: &&Entry| is_of_turn(&entry.message, &request.turn_id);
        let agent_commits: Vec<String> =
            history.iter().rev().filter(|entry| !mine(entry)).map(|entry| entry.commit.clone()).collect();
        let tip_tree = match history.first() {
            Some(entry) if entry.commit == tip => entry.tree.clone(),
            Some(_) | None => git.tree_of(&tip).await?,
        };
        let unchanged = on_disk.as_ref() == Some(&tip_tree);
        // A commit of this turn is the checkpoint only if it holds what is on disk: an agent can write trailers too.
        let found = history.first().filter(mine).is_some();
        let section_done = request.section.is_none() || found;
        let (commit, tree, created) = if unchanged && section_done {
            (tip, tip_tree, false)
        } else {
            let (made, tree) = self.commit(git, workspace, request, (None, unchanged), &mut notes).await?;
            (made, tree, true)
        };
        self.publish(git, workspace, &mut notes).await?;
        Ok(Checkpoint { commit: Some(commit), tree, files, agent_commits, created, notes, ..Checkpoint::default() })
    }

    /// `commit = off`: no ref, HEAD or index of the workspace is touched, and no object gets into the user's repository.
    async fn look_only(
        &self,
        workspace: &Workspace,
        git: &Git,
        request: &CheckpointRequest,
        mut notes: Vec<String>,
    ) -> Result<Checkpoint, WorkspaceError> {
        let objects = lasting(workspace);
        let held = HeldObjects::lasting(&objects, &workspace.objects());
        let held = held.map_err(WorkspaceError::file("create", &objects))?;
        let git = &git.clone().holding(Some(Arc::new(held)));
        let mut staged = stage(self, git, workspace, &request.never_commit, &request.turn_id).await?;
        notes.append(&mut staged.notes);
        let refused = std::mem::take(&mut staged.refused);
        let tree = staged.tree(git).await?;
        let since = request.previous_tree.as_deref().unwrap_or(&request.previous_head);
        let files = if since == tree { Vec::new() } else { changed(git, since, &tree).await? };
        let tip = self.heads(workspace, git, &[Some(&request.previous_head)], &mut notes).await?.branch;
        let history = match tip {
            Some(tip) if tip != request.previous_head => history(git, &request.previous_head, &tip).await?,
            Some(_) | None => Vec::new(),
        };
        let rules = &request.unwanted.secrets;
        let refused = refused.iter().map(|(path, why)| hold_back::shown(rules, &path.to_string(), why));
        let mut held_back: Vec<String> = refused.collect();
        if workspace.kind == Kind::InPlace {
            // They are in the user's repository, where nobody but the agent or the user makes them again.
            let found = hold_back::in_commits(git, request, &history).await?;
            let again = format!("`git reset --soft {}` and a new commit remove it", &request.previous_head[..12]);
            held_back.extend(found.into_iter().map(|what| format!("{what}, in a commit of the agent's; {again}")));
        }
        let agent_commits = history.into_iter().rev().map(|entry| entry.commit).collect();
        Ok(Checkpoint { tree, files, agent_commits, held_back, notes, ..Checkpoint::default() })
    }

    /// Finds where the loop's branch belongs, with what the agent committed elsewhere. Nothing moves yet.
    async fn settle_head(
        &self,
        git: &Git,
        workspace: &Workspace,
        request: &CheckpointRequest,
        notes: &mut Vec<String>,
    ) -> Result<Settled, WorkspaceError> {
        let previous = &request.previous_head;
        let own = workspace.loop_ref(git).await?;
        let home = git.read_ref(&own).await?;
        let heads = self.heads(workspace, git, &[Some(previous), home.as_deref()], notes).await?;
        let place = match &heads.head {
            HeadFile::Ref(name) if *name == workspace.branch_ref() => match (&heads.branch, &home) {
                (Some(branch), Some(home)) if branch == home => return Ok(Settled { tip: home.clone(), moved: false }),
                // A call that was cut off committed and did not come to tell the clone.
                (Some(branch), Some(home)) if branch == previous => {
                    return Ok(Settled { tip: home.clone(), moved: false });
                }
                (Some(_), Some(_)) => None,
                (Some(_), None) | (None, _) => Some("the agent deleted the branch".to_owned()),
            },
            HeadFile::Ref(name) => {
                Some(format!("the agent switched to {}", name.strip_prefix("refs/heads/").unwrap_or(name)))
            }
            HeadFile::Commit(_) => Some("the agent detached HEAD".to_owned()),
            HeadFile::Unknown => Some("HEAD was unreadable".to_owned()),
        };
        if workspace.kind == Kind::InPlace {
            // Nobody knows whether it was the agent or the user, whose checkout it is.
            return Err(WorkspaceError::NotOnBranch { path: workspace.dir.clone(), branch: workspace.branch.clone() });
        }
        let in_clone = heads.branch.clone().filter(|branch| branch != previous);
        let mut tip = in_clone.or_else(|| home.clone()).unwrap_or_else(|| previous.clone());
        let elsewhere = heads.head_commit.clone().filter(|_| !heads.on_branch(workspace));
        let mut note = place.map(|place| format!("{place}; reset HEAD to {}", workspace.branch));
        if let Some(commit) = elsewhere.filter(|commit| *commit != tip) {
            let said = if git.is_ancestor(&tip, &commit).await? {
                tip = commit;
                " with the commits made there".to_owned()
            } else {
                let saved = save::keep(git, workspace, &workspace.keep_ref("stray", &request.turn_id), &commit).await?;
                format!("; its commits are at {}", saved.name)
            };
            note.iter_mut().for_each(|note| note.push_str(&said));
        } else if heads.head_commit.is_none() && !heads.on_branch(workspace) {
            note.iter_mut().for_each(|note| note.push_str("; its target does not exist"));
        }
        if heads.branch.is_none() || home.is_none() {
            note.iter_mut().for_each(|note| note.push_str(", which was recreated"));
        }
        if let Some(home) = home.as_ref().filter(|home| *home != previous && **home != tip)
            && !git.is_ancestor(home, &tip).await?
        {
            // Somebody else moved the branch in the user's repository.
            let saved = save::keep(git, workspace, &workspace.keep_ref("stray", &request.turn_id), home).await?;
            notes.push(format!("the branch moved in your repository; its commits are at {}", saved.name));
        }
        notes.extend(note);
        Ok(Settled { tip, moved: true })
    }

    /// Commits that lost the base are not the loop's: nobody could merge them, and no proof would hold. The files count, in
    /// one commit on the previous checkpoint.
    async fn keep_base(
        &self,
        git: &Git,
        workspace: &Workspace,
        request: &CheckpointRequest,
        settled: &mut Settled,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        let base = request.base.as_ref().unwrap_or(&workspace.base_commit);
        // In place the history is the user's.
        if workspace.kind == Kind::InPlace
            || settled.tip == request.previous_head
            || git.is_ancestor(base, &settled.tip).await?
        {
            return Ok(());
        }
        // In the user's repository it may be the user who moved the branch.
        if git.read_ref(&workspace.loop_ref(git).await?).await?.as_ref() == Some(&settled.tip) {
            let name = workspace.keep_ref("stray", &request.turn_id);
            let saved = save::keep(git, workspace, &name, &settled.tip).await?;
            notes.push(format!("the branch moved in your repository; its commits are at {}", saved.name));
        }
        notes.push(format!(
            "the commits on the branch do not build on the base commit {}; squashed them into one that does",
            &base[..base.len().min(10)]
        ));
        *settled = Settled { tip: request.previous_head.clone(), moved: true };
        Ok(())
    }

    /// Puts the loop's branch, and HEAD and branch of the clone, where they belong.
    async fn put_head(
        &self,
        git: &Git,
        workspace: &Workspace,
        settled: &Settled,
        tag: &str,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        if !settled.moved || workspace.kind == Kind::InPlace {
            return Ok(());
        }
        let own = workspace.loop_ref(git).await?;
        if git.read_ref(&own).await?.as_ref() != Some(&settled.tip) {
            git.run(&["update-ref", &own, &settled.tip]).await?;
        }
        let agent = AgentGit::of(workspace);
        if agent.is_none_or(|agent| agent.check_out(&workspace.branch_ref(), &settled.tip).is_err()) {
            self.renew_clone(workspace, tag, notes).await?;
        }
        Ok(())
    }
}

/// Files that differ between two commits or trees.
pub(super) async fn changed(git: &Git, from: &str, to: &str) -> Result<Vec<ChangedFile>, GitError> {
    let args =
        ["diff-tree", "-r", "--raw", "-z", "-M", "--ignore-submodules=dirty", "--end-of-options", from, to, "--"];
    parse_raw("diff-tree", &git.run(&args).await?)
}
