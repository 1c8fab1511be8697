//! The judge's checkout: the recorded commit and what the set-up made, in a directory that only the engine and gates
//! write.
//!
//! The engine's git directory and index are beside the checkout, out of a gate's reach. The checkout has a small
//! repository of its own for gates that use git; it is recreated for each judgement and never used by the engine.
//!
//! Invariants:
//! - After `reset` the checkout is exactly the commit plus the saved state. What a gate, a test or an earlier judgement
//!   wrote is gone; only with `Keep::Builds` what is in known build directories stays.
//! - The saved state was written before any agent's code ran: by the set-up on the base, and by gates on the base.
//! - The same holds for the caches of tools that gates write to. Reviewers have a checkout beside that of the gates, which
//!   starts from the same saved state.
//! - Nothing is registered in the user's repository. Each call can be cut off at any point and recreated.

mod builds;
mod caches;
mod inputs;
mod links;
mod objects;
mod stamps;
mod within;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk::copying;
use crate::disk::{blocking, write_whole};
use crate::git::{Change, ChangedFile, FilePath, Git, GitError, Index};
use crate::{Workspace, WorkspaceError, Workspaces};
use builds::build_dir;
pub use caches::BEFORE;
pub use objects::shared_objects;
use stamps::{DOT_GIT, Stamps, tells_changes};

/// The kernel notes times of changes in steps: a gate starts later than this after the last file was written.
pub(crate) const TICK_MS: u64 = 12;

/// What a judgement finds of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Nothing,
    /// What gates left in known build directories.
    Builds,
}

/// What becomes part of the saved state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Save {
    /// Everything that is not in the commit.
    All,
    /// What is in known build directories.
    Builds,
}

/// Who checks the commit in a checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Gates,
    Reviewers,
}

/// The judge's checkout of one loop.
#[derive(Debug, Clone)]
pub struct Judge {
    root: PathBuf,
    /// What the set-up made.
    saved: PathBuf,
    /// What gates built on the base, over what the set-up made.
    builds: PathBuf,
    reader: Reader,
    git: Git,
    base: String,
    id_len: usize,
    /// Where commits of submodules are.
    stores: Vec<PathBuf>,
}

impl Workspaces {
    /// Opens the judge's checkout at `root`; makes its repository if there is none.
    pub async fn judge(&self, workspace: &Workspace, root: &Path) -> Result<Judge, WorkspaceError> {
        let git_dir = root.join("git");
        if std::fs::metadata(git_dir.join("HEAD")).map_or(0, |head| head.len()) == 0 {
            copying::remove(&git_dir).map_err(WorkspaceError::file("remove", &git_dir))?;
            self.furnish_judge(workspace, root, &git_dir).await?;
        }
        let git = Git::repository(self.host.clone(), &git_dir, &git_dir);
        let overrides = workspace.home_trusted.overrides(&git).await?;
        let git = git
            .work_tree(root.join("tree"))
            .index(root.join("index"))
            .overriding(overrides)
            .owning([root.to_owned()])
            .with_network();
        Ok(Judge {
            root: root.to_owned(),
            saved: root.join("saved"),
            builds: root.join(builds::DIR),
            reader: Reader::Gates,
            git,
            base: workspace.base_commit.clone(),
            id_len: workspace.id_len,
            stores: workspace.submodule_stores(),
        })
    }

    /// Opens the checkout for reviewers beside the judge's at `root`: nothing that they write is there when gates run.
    pub async fn reviewers_judge(&self, workspace: &Workspace, root: &Path) -> Result<Judge, WorkspaceError> {
        let judge = self.judge(workspace, &root.join("review")).await?;
        let (saved, builds) = (root.join("saved"), root.join(builds::DIR));
        Ok(Judge { saved, builds, reader: Reader::Reviewers, ..judge })
    }

    async fn furnish_judge(&self, workspace: &Workspace, root: &Path, git_dir: &Path) -> Result<(), WorkspaceError> {
        let partial = root.join("git.partial");
        copying::remove(&partial).map_err(WorkspaceError::file("remove", &partial))?;
        std::fs::create_dir_all(&partial).map_err(WorkspaceError::file("create", &partial))?;
        let format = if workspace.id_len == 32 { "--object-format=sha256" } else { "--object-format=sha1" };
        Git::discover(self.host.clone(), &partial)
            .overriding(vec![("init.defaultRefFormat".to_owned(), "files".to_owned())])
            .run(&["init", "--quiet", "--template=", format])
            .await?;
        let made = partial.join(DOT_GIT);
        let home = &workspace.home.common_dir;
        for dir in ["info", "objects/info"] {
            std::fs::create_dir_all(made.join(dir)).map_err(WorkspaceError::file("create", &made))?;
        }
        write(&made.join("objects/info/alternates"), format!("{}\n", workspace.objects().display()))?;
        for file in ["info/exclude", "info/attributes", "shallow"] {
            if home.join(file).is_file() {
                std::fs::copy(home.join(file), made.join(file))
                    .map_err(WorkspaceError::file("copy", home.join(file)))?;
            }
        }
        self.copy_settings(workspace, &made).await?;
        // For gates that request tags and branches.
        let refs = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes"];
        let refs = self.home_git(workspace).run(&refs).await?;
        // Not those of loops: their agents move them.
        let own = workspace.branch_ref();
        let of_loop = |name: &[u8]| name == own.as_bytes() || name.starts_with(b"refs/heads/windlass/");
        let name_of = |line: &[u8]| line.iter().position(|&byte| byte == b' ').map_or(0, |space| space + 1);
        let refs = refs.split_inclusive(|&byte| byte == b'\n');
        let refs: Vec<&[u8]> = refs.filter(|line| !of_loop(line[name_of(line)..].trim_ascii_end())).collect();
        write(&made.join("packed-refs"), refs.concat())?;
        let kept = ["for-each-ref", "--format=%(objectname)", "refs/windlass"];
        write(&made.join(objects::KEPT), self.home_git(workspace).run(&kept).await?)?;
        std::fs::rename(&made, git_dir).map_err(WorkspaceError::file("create", git_dir))?;
        copying::remove(&partial).map_err(WorkspaceError::file("remove", &partial))
    }

    /// Removes a directory of the loop's own, such as the judge's.
    pub fn remove_own(&self, dir: &Path) -> Result<(), WorkspaceError> {
        copying::remove(dir).map_err(WorkspaceError::file("remove", dir))
    }
}

impl Judge {
    /// The top of the checkout.
    pub fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    /// What gates have for a temporary directory in a sandbox; emptied with each reset.
    pub fn temp(&self) -> Option<PathBuf> {
        (self.reader == Reader::Gates).then(|| self.root.join("tmp"))
    }

    /// Whether a commit was checked out here.
    pub fn is_checked_out(&self) -> bool {
        self.tree().is_dir() && self.root.join("index").is_file()
    }

    /// Whether the checkout was reset for the judgement of this name.
    pub fn is_at(&self, judgement: &str) -> bool {
        std::fs::read_to_string(self.root.join("judgement")).is_ok_and(|held| held == judgement)
    }

    /// Whether the set-up ran in this checkout, and what it made is saved.
    pub fn is_set_up(&self) -> bool {
        self.root.join("set-up").exists()
    }

    /// Saves what the set-up made on the base.
    pub async fn set_up(&self) -> Result<(), WorkspaceError> {
        self.save(Save::All).await?;
        write(&self.root.join("set-up"), "")
    }

    fn stamps(&self) -> PathBuf {
        self.root.join("stamps")
    }

    /// Brings the checkout to exactly this commit plus the saved state, for the judgement of this name.
    pub async fn reset(&self, judgement: &str, commit: &str, keep: Keep) -> Result<(), WorkspaceError> {
        let named = self.root.join("judgement");
        self.remove([Some(named.clone()), self.temp()].into_iter().flatten().collect()).await?;
        match keep {
            Keep::Nothing => self.rewind_caches().await?,
            Keep::Builds => {}
        }
        let swept = self.sweep(keep).await?;
        let head = self.root.join("git/HEAD");
        let held = std::fs::read_to_string(&head).unwrap_or_default();
        if swept && held.trim() == commit {
            self.renew_repository(commit).await?;
            return write(&named, judgement);
        }
        copying::remove(&self.stamps()).map_err(WorkspaceError::file("remove", self.stamps()))?;
        self.check_out(commit).await?;
        self.fill_submodules(commit).await?;
        write(&head, format!("{commit}\n"))?;
        let (start, tree, stamps) = (self.start(), self.tree(), self.stamps());
        blocking(move || {
            start.iter().filter(|from| from.is_dir()).try_for_each(|from| copying::copy_missing(from, &tree))?;
            std::thread::sleep(Duration::from_millis(TICK_MS));
            Stamps::take(&tree)?.write(&stamps)
        })
        .await
        .map_err(WorkspaceError::file("prepare", self.tree()))?;
        self.renew_repository(commit).await?;
        write(&named, judgement)
    }

    /// Whether judgements start from something that gates built on the base.
    pub fn has_builds(&self) -> bool {
        self.builds.is_dir()
    }

    /// Brings the checkout to exactly this commit plus what the set-up made, without what gates built on the base. What is made in
    /// it does not outlive the judgement.
    pub async fn reset_without_builds(&self, judgement: &str, commit: &str) -> Result<(), WorkspaceError> {
        self.rewind_caches().await?;
        self.check_out_alone(commit).await?;
        if self.saved.is_dir() {
            let (saved, tree) = (self.saved.clone(), self.tree());
            let copied = blocking(move || copying::copy_missing(&saved, &tree)).await;
            copied.map_err(WorkspaceError::file("prepare", self.tree()))?;
        }
        write(&self.root.join("judgement"), judgement)
    }

    /// Brings the checkout to exactly this commit, with nothing saved. What is made in it does not outlive the judgement.
    pub async fn reset_to_nothing(&self, judgement: &str, commit: &str) -> Result<(), WorkspaceError> {
        self.remove([caches::LIVE, caches::STAMPS].iter().map(|name| self.root.join(name)).collect()).await?;
        self.check_out_alone(commit).await?;
        write(&self.root.join("judgement"), judgement)
    }

    async fn check_out(&self, commit: &str) -> Result<(), WorkspaceError> {
        let git = self.git.for_files_of(&self.base, commit).await?;
        Ok(git.run(&["read-tree", "--reset", "-u", commit]).await.map(drop)?)
    }

    /// Without stamps, so the next reset starts from an empty directory.
    async fn check_out_alone(&self, commit: &str) -> Result<(), WorkspaceError> {
        self.wipe_tree().await?;
        self.check_out(commit).await?;
        self.fill_submodules(commit).await?;
        write(&self.root.join("git/HEAD"), format!("{commit}\n"))?;
        self.renew_repository(commit).await
    }

    /// Removes what was made or changed since the last reset. False if something was, and all of it may be missing.
    async fn sweep(&self, keep: Keep) -> Result<bool, WorkspaceError> {
        let kept = match keep {
            Keep::Nothing => HashSet::new(),
            Keep::Builds => self.kept_builds().await?,
        };
        let (tree, file) = (self.tree(), self.stamps());
        let tells = tells_changes(&tree);
        let swept = blocking(move || match Stamps::read(&file).filter(|_| is_real_dir(&tree)) {
            // Only what is built stays, if the times of the rest say nothing.
            Some(_) if !tells && keep == Keep::Nothing => Ok(None),
            Some(stamps) => stamps.sweep(&tree, &|dir| kept.contains(dir)).map(Some),
            None => Ok(None),
        });
        match swept.await.map_err(WorkspaceError::file("clean", self.tree()))? {
            Some(_) if !tells => self.remove(vec![self.root.join("index")]).await.map(|()| false),
            Some(swept) => Ok(!swept.differed),
            None => self.wipe().await.map(|()| false),
        }
    }

    /// Build directories with something that gates left, and that the base ignores.
    async fn kept_builds(&self) -> Result<HashSet<PathBuf>, WorkspaceError> {
        let (tree, file) = (self.tree(), self.stamps());
        let changed = blocking(move || match Stamps::read(&file).filter(|_| is_real_dir(&tree)) {
            Some(stamps) => stamps.changed(&tree),
            None => Ok(Vec::new()),
        });
        let changed = changed.await.map_err(WorkspaceError::file("read", self.tree()))?;
        self.ignored_by_base(changed.iter().filter_map(|(path, is_dir)| build_dir(path, *is_dir)).collect()).await
    }

    /// Removes these, which gates may have filled with very many files.
    async fn remove(&self, paths: Vec<PathBuf>) -> Result<(), WorkspaceError> {
        let failed = WorkspaceError::file("remove", &self.root);
        blocking(move || paths.iter().try_for_each(|path| copying::remove(path))).await.map_err(failed)
    }

    async fn wipe(&self) -> Result<(), WorkspaceError> {
        self.remove([caches::LIVE, caches::STAMPS].iter().map(|name| self.root.join(name)).collect()).await?;
        self.wipe_tree().await
    }

    async fn wipe_tree(&self) -> Result<(), WorkspaceError> {
        let all = ["judgement", "tmp", "stamps", "index", "tree", within::DIR];
        self.remove(all.iter().map(|name| self.root.join(name)).collect()).await?;
        std::fs::create_dir_all(self.tree()).map_err(WorkspaceError::file("create", self.tree()))
    }

    /// Makes the repository that gates see.
    async fn renew_repository(&self, commit: &str) -> Result<(), WorkspaceError> {
        let (own, made) = (self.root.join("git"), self.tree().join(DOT_GIT));
        let failed = |error| WorkspaceError::File { action: "write", path: made.clone(), source: error };
        self.remove(vec![made.clone()]).await?;
        for dir in ["objects/info", "refs", "info", "hooks"] {
            std::fs::create_dir_all(made.join(dir)).map_err(failed)?;
        }
        write(&made.join("objects/info/alternates"), self.lend_objects(commit).await?)?;
        let files = ["config", "packed-refs", "info/exclude", "info/attributes", "shallow"];
        for file in files.iter().filter(|file| own.join(file).is_file()) {
            std::fs::copy(own.join(file), made.join(file)).map_err(failed)?;
        }
        write(&made.join("HEAD"), format!("{commit}\n"))?;
        std::fs::File::create(made.join("index"))
            .and_then(|mut copy| crate::disk::copying::copy_into(&self.root.join("index"), &mut copy))
            .map_err(failed)
    }

    /// Returns tracked files to the commit, removes new ones that are not ignored, and reports both.
    pub async fn put_back(&self) -> Result<Vec<ChangedFile>, WorkspaceError> {
        if self.is_untouched().await? {
            return Ok(Vec::new());
        }
        let mut all = self.put_back_in(&self.git, None).await?;
        for within in self.submodules() {
            if let Some(git) = self.git_within(&within)? {
                all.extend(self.put_back_in(&git, Some(&within.path)).await?);
            }
        }
        Ok(all)
    }

    /// Whether the checkout is exactly as the last reset or save left it.
    async fn is_untouched(&self) -> Result<bool, WorkspaceError> {
        let (tree, file) = (self.tree(), self.stamps());
        let looked = blocking(move || match Stamps::read(&file).filter(|_| tells_changes(&tree)) {
            Some(stamps) => Ok(stamps.differences(&tree)?.is_empty()),
            None => Ok(false),
        });
        looked.await.map_err(WorkspaceError::file("read", self.tree()))
    }

    /// The same for the checkout itself, or for the submodule at a path.
    async fn put_back_in(&self, git: &Git, below: Option<&FilePath>) -> Result<Vec<ChangedFile>, WorkspaceError> {
        let args =
            ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"];
        let whole = |file: ChangedFile| match below {
            Some(above) => {
                let path = [above.as_bytes(), b"/", file.path.as_bytes()].concat();
                ChangedFile { path: FilePath::new(path), ..file }
            }
            None => file,
        };
        if !tells_changes(&self.tree()) {
            // An index without times: git reads every file.
            git.run(&["read-tree", "HEAD"]).await?;
        }
        let changed: Vec<ChangedFile> = parse_status(&git.run(&args).await?)?
            .into_iter()
            .map(whole)
            .filter(|file| file.change != Change::Added || !self.was_saved(&file.path))
            .collect();
        let added = changed.iter().filter(|file| file.change == Change::Added);
        let added = added.filter_map(|file| copying::without_links(&self.tree(), &file.path.below(Path::new(""))));
        self.remove(added.collect()).await?;
        if changed.iter().any(|file| file.change != Change::Added) {
            git.without_downloads().run(&["read-tree", "--reset", "-u", "HEAD"]).await?;
        }
        Ok(changed)
    }

    fn was_saved(&self, path: &FilePath) -> bool {
        self.start().iter().any(|from| std::fs::symlink_metadata(path.below(from)).is_ok())
    }

    /// What judgements start from beside the commit; what comes first counts.
    fn start(&self) -> [PathBuf; 2] {
        [self.builds.clone(), self.saved.clone()]
    }

    /// Adds what was made in the checkout since the last reset to the saved state. Only before any agent's code ran.
    pub async fn save(&self, what: Save) -> Result<(), WorkspaceError> {
        let Some(mut stamps) = Stamps::read(&self.stamps()) else { return Ok(()) };
        let changed = stamps.changed(&self.tree()).map_err(WorkspaceError::file("read", self.tree()))?;
        let wanted: Vec<PathBuf> = match what {
            Save::All => {
                let tracked = self.tracked();
                changed.into_iter().map(|(path, _)| path).filter(|path| !tracked.contains(path)).collect()
            }
            Save::Builds => {
                let dir_of = |(path, is_dir): &(PathBuf, bool)| build_dir(path, *is_dir);
                let ignored = self.ignored_by_base(changed.iter().filter_map(dir_of).collect()).await?;
                let in_one = |item: &(PathBuf, bool)| dir_of(item).is_some_and(|dir| ignored.contains(&dir));
                changed.into_iter().filter(in_one).map(|(path, _)| path).collect()
            }
        };
        let to = match what {
            Save::All => &self.saved,
            Save::Builds => &self.builds,
        };
        let (tree, saved, file) = (self.tree(), to.clone(), self.stamps());
        let partial = self.root.join("saved.partial");
        blocking(move || {
            for path in &wanted {
                copying::copy_over(&tree.join(path), &saved.join(path), &partial)?;
                stamps.adopt(&tree, path)?;
            }
            std::thread::sleep(Duration::from_millis(TICK_MS));
            stamps.write(&file)
        })
        .await
        .map_err(WorkspaceError::file("save", &self.saved))?;
        self.save_caches().await
    }

    /// Gives a copy of the saved state to another checkout; what is there stays.
    pub async fn copy_saved_to(&self, dir: &Path) -> Result<(), WorkspaceError> {
        let (start, to) = (self.start(), dir.to_owned());
        let copied = blocking(move || {
            start.iter().filter(|from| from.is_dir()).try_for_each(|from| copying::copy_missing(from, &to))
        });
        copied.await.map_err(WorkspaceError::file("write", dir))
    }

    /// Files of the commit, and the directories they are in.
    fn tracked(&self) -> HashSet<PathBuf> {
        let index = Index::read(&self.root.join("index"), self.id_len).unwrap_or_default();
        let files = index.entries.iter().map(|entry| FilePath::new(entry.path.clone()).below(Path::new("")));
        let files = files.chain(self.tracked_within());
        files.flat_map(|file| file.ancestors().map(Path::to_owned).collect::<Vec<_>>()).collect()
    }
}

/// `XY path` records: what differs between index and disk, and what is in no index.
fn parse_status(output: &[u8]) -> Result<Vec<ChangedFile>, GitError> {
    let records = output.split(|&byte| byte == 0).filter(|record| !record.is_empty());
    records
        .map(|record| {
            let (Some(&kind), Some(path)) = (record.get(1), record.get(3..)) else {
                return Err(GitError::unexpected("status", record));
            };
            let change = match kind {
                b'?' => Change::Added,
                b'D' => Change::Deleted,
                b'T' => Change::TypeChanged,
                _ => Change::Modified,
            };
            let path = path.strip_suffix(b"/").unwrap_or(path);
            Ok(ChangedFile { path: FilePath::new(path), change, from: None })
        })
        .collect()
}

/// Whether it is a directory, and no link to one.
fn is_real_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), WorkspaceError> {
    write_whole(path, content).map_err(WorkspaceError::file("write", path))
}

#[cfg(fuzzing)]
pub(crate) mod fuzzing {
    pub(crate) fn read_everything(bytes: &[u8]) {
        let _ = super::parse_status(bytes);
    }
}
