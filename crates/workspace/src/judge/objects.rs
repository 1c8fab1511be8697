//! The objects that gates and reviewers find: those that a new clone of the user's repository has, and those of the judged commit.
//!
//! The user's own store also has what no clone gets: commits that an agent rewrote, what was undone or cut off, and the work of other
//! loops. A committed script could read that there and pass on this machine alone.
//!
//! Invariants: the repository in the checkout borrows from these two stores and no other; both are recreated and never changed. A
//! large repository shares its packs with the first one as `git clone` does, which costs no space and little time. Such a pack may
//! still have objects that no ref leads to. A repository that git cannot pack (a partial clone, broken refs) lends its whole store.

use std::io;
use std::path::{Path, PathBuf};

use super::{Judge, write};
use crate::WorkspaceError;
use crate::disk::{blocking, copying};
use crate::git::{Git, GitError};

/// What a new clone of the user's repository has.
const CLONE: &str = "objects";
/// What the judged commit has beyond the base.
const WORK: &str = "objects-of-work";
/// Commits that are kept for loops and that no clone gets, one line each.
pub(super) const KEPT: &str = "kept";
const ALTERNATES: &str = "info/alternates";
/// Where packs cannot be shared because they are on another disk, this much is copied.
const MOST_COPIED: u64 = 1 << 30;

/// The stores below the judge's directory whose packs are the user's own.
pub fn shared_objects(root: &Path) -> [PathBuf; 2] {
    [root.join(CLONE), root.join("review").join(CLONE)]
}

/// Packs that are smaller together are packed anew: then exactly what a clone gets is there.
const SMALL: u64 = 16 << 20;

/// How a store is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packed {
    /// What is in a pack already is left out.
    Rest,
    Whole,
}

impl Judge {
    /// The stores that the repository in the checkout borrows from.
    pub fn object_stores(&self) -> Vec<PathBuf> {
        [CLONE, WORK].iter().map(|name| self.root.join(name)).chain(self.stores.iter().cloned()).collect()
    }

    /// Makes the stores for this commit; returns what the repository in the checkout names as borrowed.
    pub(super) async fn lend_objects(&self, commit: &str) -> Result<String, WorkspaceError> {
        let [clone, work] = [CLONE, WORK].map(|name| self.root.join(name));
        if !clone.is_dir() {
            self.make_clone_store(&clone).await?;
        }
        let named = self.root.join("objects-of-work.commit");
        if !std::fs::read_to_string(&named).is_ok_and(|held| held == commit) {
            let partial = self.empty_store("objects-of-work.partial")?;
            // What lends everything has it.
            if commit != self.base && !clone.join(ALTERNATES).exists() {
                self.pack(&partial, format!("{commit}\n^{}\n", self.base), Packed::Whole).await?;
            }
            replace(&partial, &work)?;
            write(&named, commit)?;
        }
        Ok(format!("{}\n{}\n", clone.display(), work.display()))
    }

    async fn make_clone_store(&self, to: &Path) -> Result<(), WorkspaceError> {
        let mut partial = self.empty_store("objects.partial")?;
        let packs = self.packs().await.map_err(WorkspaceError::file("read packs for", &partial))?;
        let made = match packs.iter().any(|pack| pack.extension().is_some_and(|kind| kind == "promisor")) {
            // Git would download what is missing.
            true => false,
            false => match self.fill(&partial, packs).await {
                Ok(()) => true,
                Err(error) => {
                    tracing::warn!(%error, "gates see the whole object store of the repository");
                    partial = self.empty_store("objects.partial")?;
                    false
                }
            },
        };
        if !made {
            let borrowed = std::fs::read(self.root.join("git/objects").join(ALTERNATES));
            let borrowed = borrowed.map_err(WorkspaceError::file("read", &self.root))?;
            write(&partial.join(ALTERNATES), borrowed)?;
        }
        replace(&partial, to)
    }

    async fn fill(&self, store: &Path, packs: Vec<PathBuf>) -> Result<(), WorkspaceError> {
        let tips = self.tips();
        let size: u64 = packs.iter().filter_map(|pack| pack.metadata().ok()).map(|data| data.len()).sum();
        let share = size > SMALL && !self.keeps_others_in_packs(&tips).await?;
        let to = store.to_owned();
        let shared = share
            && blocking(move || share_packs(&packs, &to))
                .await
                .map_err(WorkspaceError::file("share packs in", store))?;
        Ok(self.pack(store, tips, if shared { Packed::Rest } else { Packed::Whole }).await?)
    }

    async fn packs(&self) -> io::Result<Vec<PathBuf>> {
        let first = self.root.join("git/objects");
        blocking(move || packs(first)).await
    }

    /// What a clone gets: the base, branches, tags, and branches of remotes.
    fn tips(&self) -> String {
        let refs = std::fs::read_to_string(self.root.join("git/packed-refs")).unwrap_or_default();
        let ids = refs.lines().filter_map(|line| line.split(' ').next()).filter(|id| id.len() == 2 * self.id_len);
        ids.chain([self.base.as_str()]).map(|id| format!("{id}\n")).collect()
    }

    /// Whether packs of the user's have objects that are kept for loops alone.
    async fn keeps_others_in_packs(&self, tips: &str) -> Result<bool, GitError> {
        let kept = std::fs::read_to_string(self.root.join("git").join(KEPT)).unwrap_or_default();
        if kept.is_empty() {
            return Ok(false);
        }
        let others = kept + &excluded(tips);
        let all = count(&self.git, &[], &others).await?;
        Ok(all != count(&self.git, &["--unpacked"], &others).await?)
    }

    async fn pack(&self, store: &Path, revisions: String, packed: Packed) -> Result<(), GitError> {
        let to = store.join("pack/pack");
        let to = to.to_string_lossy();
        let mut args = vec!["pack-objects", "--quiet", "--non-empty", "--window=0", "--revs"];
        args.extend((packed == Packed::Rest).then_some("--unpacked"));
        args.push(&to);
        self.git.call(&args).input(revisions).run().await.map(drop)
    }

    fn empty_store(&self, name: &str) -> Result<PathBuf, WorkspaceError> {
        let partial = self.root.join(name);
        copying::remove(&partial).map_err(WorkspaceError::file("remove", &partial))?;
        for dir in ["pack", "info"] {
            std::fs::create_dir_all(partial.join(dir)).map_err(WorkspaceError::file("create", &partial))?;
        }
        Ok(partial)
    }
}

/// Shares packs with a store, or copies them; none, and false, if they are elsewhere and too large.
fn share_packs(packs: &[PathBuf], store: &Path) -> io::Result<bool> {
    let to = store.join("pack");
    let mut room = MOST_COPIED;
    for pack in packs {
        let Some(shared) = pack.file_name().map(|name| to.join(name)) else { continue };
        if std::fs::hard_link(pack, &shared).is_ok() || shared.exists() {
            continue;
        }
        match room.checked_sub(pack.metadata()?.len()) {
            Some(left) => room = left,
            None => {
                copying::remove(&to)?;
                std::fs::create_dir(&to)?;
                return Ok(false);
            }
        }
        copying::copy_missing(pack, &shared)?;
    }
    Ok(true)
}

fn replace(partial: &Path, to: &Path) -> Result<(), WorkspaceError> {
    copying::remove(to).map_err(WorkspaceError::file("remove", to))?;
    std::fs::rename(partial, to).map_err(WorkspaceError::file("create", to))
}

async fn count(git: &Git, more: &[&str], revisions: &str) -> Result<usize, GitError> {
    let args = [&["rev-list", "--objects", "--no-object-names"][..], more, &["--stdin"]].concat();
    let listed = git.call(&args).input(revisions).run().await?.stdout;
    Ok(listed.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count())
}

fn excluded(tips: &str) -> String {
    tips.lines().map(|id| format!("^{id}\n")).collect()
}

/// Packs, with their indexes, of a store and of those that it borrows from. Without those of objects that no ref leads to, which have
/// their times beside them.
fn packs(first: PathBuf) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for store in borrowed_stores(first) {
        for entry in std::fs::read_dir(store.join("pack")).into_iter().flatten() {
            let path = entry?.path();
            let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
            if ["pack", "idx", "promisor"].contains(&kind) && !path.with_extension("mtimes").exists() {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// A store's alternates, and theirs, each once.
fn borrowed_stores(first: PathBuf) -> Vec<PathBuf> {
    let mut found = vec![first];
    let mut next = 0;
    while let Some(store) = found.get(next).cloned() {
        next += 1;
        let text = std::fs::read_to_string(store.join(ALTERNATES)).unwrap_or_default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let named = store.join(line);
            if !found.contains(&named) {
                found.push(named);
            }
        }
    }
    found
}
