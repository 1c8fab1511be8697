//! Takes commits that an agent made into the user's repository.
//!
//! The agent's repository is never opened by git. Its objects, which are plain files with names that git chose, are
//! copied into a quarantine of the engine's own, and fetched from there; git names each object again by its content and
//! checks its form (`fsckObjects`) before it is taken. Invariants: settings, hooks, alternates, grafts, replaced objects
//! and indexes of packs do not come along; nothing outside the workspace is read; sizes are bounded before they are read.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::AgentGit;
use super::beneath::{Beneath, Found};
use crate::disk::{blocking, still_wanted};
use crate::git::{Git, GitError};
use crate::{Kind, Workspace, Workspaces};

/// More than this an agent does not commit in earnest.
const LARGEST: u64 = 4 << 30;
const MOST_OBJECTS: usize = 1_000_000;

/// The engine's own copy of an agent's objects; gone with this.
struct Quarantine {
    dir: PathBuf,
    packs: Vec<PathBuf>,
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Workspaces {
    /// Takes the commits or tags with these ids from the repository whose git directory is at `git_dir` in the workspace. No
    /// ref comes to them yet, and they are where `git` holds its objects.
    pub(crate) async fn take(
        &self,
        workspace: &Workspace,
        git: &Git,
        git_dir: &Path,
        wanted: &[&str],
    ) -> Result<(), GitError> {
        let home = self.home_git(workspace).holding(git.held().cloned());
        self.take_to(workspace, &home, &workspace.objects(), git_dir, wanted).await
    }

    /// The same into another repository of the user's, whose object store is `objects`.
    pub(crate) async fn take_to(
        &self,
        workspace: &Workspace,
        store: &Git,
        objects: &Path,
        git_dir: &Path,
        wanted: &[&str],
    ) -> Result<(), GitError> {
        let (of, objects, git_dir) = (workspace.clone(), objects.to_owned(), git_dir.to_owned());
        let unread = |error: io::Error| GitError::NotTaken { reason: error.to_string() };
        let quarantine = blocking(move || quarantine(&of, &objects, &git_dir)).await.map_err(unread)?;
        let inside = Git::repository(self.host.clone(), &quarantine.dir, &quarantine.dir);
        for pack in &quarantine.packs {
            inside.run(&["index-pack", "--strict", &pack.to_string_lossy()]).await?;
        }
        let mut refspecs = Vec::new();
        for (number, id) in wanted.iter().enumerate() {
            let file = quarantine.dir.join(format!("refs/taken/{number}"));
            std::fs::write(&file, format!("{id}\n")).map_err(unread)?;
            refspecs.push(format!("refs/taken/{number}"));
        }
        let from = quarantine.dir.to_string_lossy();
        let refspecs: Vec<&str> = refspecs.iter().map(String::as_str).collect();
        let checked = vec![("fetch.fsckObjects".to_owned(), "true".to_owned())];
        store.clone().overriding(checked).run(&fetch_args(&from, &refspecs)).await.map(drop)
    }
}

fn quarantine(workspace: &Workspace, lender: &Path, git_dir: &Path) -> io::Result<Quarantine> {
    let agent = AgentGit::in_workspace(workspace, git_dir).ok_or_else(|| io::Error::other("not a repository"))?;
    let dir = place(workspace);
    let mut made = Quarantine { dir, packs: Vec::new() };
    let objects = made.dir.join("objects");
    for sub in ["objects/info", "objects/pack", "refs/taken"] {
        std::fs::create_dir_all(made.dir.join(sub))?;
    }
    std::fs::write(made.dir.join("HEAD"), "ref: refs/heads/none\n")?;
    let format = if workspace.id_len == 32 { "1\n[extensions]\n\tobjectFormat = sha256\n" } else { "0\n" };
    std::fs::write(made.dir.join("config"), format!("[core]\n\tbare = true\n\trepositoryFormatVersion = {format}"))?;
    std::fs::write(objects.join("info/alternates"), format!("{}\n", lender.display()))?;
    let shallow = lender.with_file_name("shallow");
    if shallow.is_file() {
        std::fs::copy(shallow, made.dir.join("shallow"))?;
    }
    let files = agent.files();
    let mut room = Room { bytes: LARGEST, objects: MOST_OBJECTS };
    let hex = |name: &OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
    for folder in files.list(Path::new("objects"))?.iter().filter(|name| name.len() == 2 && hex(name)) {
        let names = files.list(&Path::new("objects").join(folder)).unwrap_or_default();
        for name in names.iter().filter(|name| name.len() == workspace.id_len * 2 - 2 && hex(name)) {
            let path = Path::new(folder).join(name);
            // What is at home already needs no copy.
            if !lender.join(&path).exists() {
                std::fs::create_dir_all(objects.join(folder))?;
                room.copy(files, &Path::new("objects").join(&path), &objects.join(&path))?;
            }
        }
    }
    for name in files.list(Path::new("objects/pack"))? {
        let path = Path::new("objects/pack").join(&name);
        let text = name.to_string_lossy();
        let id = text.strip_prefix("pack-").and_then(|rest| rest.strip_suffix(".pack"));
        if id.is_some_and(|id| hex(OsStr::new(id))) {
            let to = made.dir.join(&path);
            room.copy(files, &path, &to)?;
            made.packs.push(to);
        }
    }
    Ok(made)
}

/// A new place for a quarantine; what a killed engine left of its own goes.
fn place(workspace: &Workspace) -> PathBuf {
    let name = workspace.scratch("taken");
    if workspace.kind == Kind::InPlace {
        return name;
    }
    let own = format!(".{}.", std::process::id());
    for entry in std::fs::read_dir(&workspace.git_dir).into_iter().flatten().flatten() {
        let old = entry.file_name().to_string_lossy().into_owned();
        if old.contains(".taken.") && !old.contains(&own) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    workspace.git_dir.join(name.file_name().unwrap_or_default())
}

/// How much more is copied.
struct Room {
    bytes: u64,
    objects: usize,
}

impl Room {
    fn copy(&mut self, files: &Beneath, from: &Path, to: &Path) -> io::Result<()> {
        still_wanted()?;
        let Found::File { size } = files.look(from)? else { return Ok(()) };
        let too_much = || io::Error::other("too large");
        self.bytes = self.bytes.checked_sub(size).ok_or_else(too_much)?;
        self.objects = self.objects.checked_sub(1).ok_or_else(too_much)?;
        let Some(file) = files.file(from)? else { return Ok(()) };
        io::copy(&mut io::Read::take(file, size), &mut std::fs::File::create_new(to)?)?;
        Ok(())
    }
}

/// `fetch` between local repositories: named program, no tags, no FETCH_HEAD, no submodules, no maintenance.
fn fetch_args<'a>(from: &'a str, refspecs: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec![
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--no-auto-maintenance",
        "--no-prune",
        "--upload-pack=git-upload-pack",
        from,
    ];
    args.extend(refspecs);
    args
}
