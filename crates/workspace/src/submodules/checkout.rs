//! The engine's own repository for the files of one submodule, and the one that an agent or a gate finds there.

use std::io;
use std::path::{Path, PathBuf};

use super::Pointer;
use crate::WorkspaceError;
use crate::disk::copying;
use crate::disk::write_whole;
use crate::git::{FilePath, Git, GitError, Index};

/// In a directory of the engine's, where nobody else writes: HEAD, index and a way to objects, and no settings.
#[derive(Debug)]
pub(crate) struct Repository {
    dir: PathBuf,
    id_len: usize,
}

/// Where objects are looked for.
#[derive(Debug)]
enum Objects<'a> {
    /// In all of these; new ones are not kept.
    Borrowed(&'a [PathBuf]),
    /// In this one, which new ones go to.
    In(&'a Path),
}

impl Repository {
    /// Below `root`, one for each path.
    pub(crate) fn at(root: &Path, path: &FilePath, id_len: usize) -> Self {
        Self { dir: root.join(file_name(path)), id_len }
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// The next use makes it again.
    pub(crate) fn forget_index(&self) -> io::Result<()> {
        copying::remove(&self.index())
    }

    pub(crate) fn head(&self) -> PathBuf {
        self.dir.join("HEAD")
    }

    /// Git for the files at `files`, with the settings and rules of `outer`, that reads objects from these stores.
    pub(crate) fn reading(&self, outer: &Git, files: &Path, stores: &[PathBuf]) -> Result<Git, WorkspaceError> {
        self.made(outer, files, &Objects::Borrowed(stores))
    }

    /// The same, which writes objects to this store.
    pub(crate) fn writing(&self, outer: &Git, files: &Path, store: &Path) -> Result<Git, WorkspaceError> {
        self.made(outer, files, &Objects::In(store))
    }

    fn made(&self, outer: &Git, files: &Path, objects: &Objects<'_>) -> Result<Git, WorkspaceError> {
        self.furnish(objects).map_err(WorkspaceError::file("create", &self.dir))?;
        Ok(outer.elsewhere(&self.dir).work_tree(files).index(self.index()))
    }

    fn furnish(&self, objects: &Objects<'_>) -> io::Result<()> {
        std::fs::create_dir_all(self.dir.join("refs"))?;
        std::fs::write(self.dir.join("config"), settings(self.id_len))?;
        if !self.dir.join("HEAD").is_file() {
            write_whole(&self.dir.join("HEAD"), "ref: refs/heads/none\n")?;
        }
        let own = self.dir.join("objects");
        match objects {
            Objects::Borrowed(stores) => {
                std::fs::create_dir_all(own.join("info"))?;
                std::fs::write(own.join("info/alternates"), lines(stores))
            }
            Objects::In(store) => {
                if std::fs::read_link(&own).is_ok_and(|there| there == **store) {
                    return Ok(());
                }
                copying::remove(&own)?;
                std::os::unix::fs::symlink(store, &own)
            }
        }
    }

    /// Makes a small repository beside the files, for programs that use git there; it borrows from these stores.
    pub(crate) fn show(&self, git_dir: &Path, commit: &str, stores: &[PathBuf], more: &str) -> io::Result<()> {
        for dir in ["objects/info", "refs/heads", "info"] {
            std::fs::create_dir_all(git_dir.join(dir))?;
        }
        std::fs::write(git_dir.join("config"), settings(self.id_len) + more)?;
        std::fs::write(git_dir.join("objects/info/alternates"), lines(stores))?;
        // With its time: git takes a file that is not older than the index for possibly changed.
        copying::copy_missing(&self.index(), &git_dir.join("index"))?;
        // Last: without it there is no repository.
        write_whole(&git_dir.join("HEAD"), format!("{commit}\n"))
    }

    /// Where the pointers in this submodule lead.
    pub(crate) fn pointers(&self, path: &FilePath) -> Vec<Pointer> {
        pointers(&self.index(), Some(path), self.id_len)
    }

    /// Brings the files to a commit. False if its objects are not on this machine, and then nothing is changed.
    pub(crate) async fn check_out(&self, git: &Git, commit: &str) -> Result<bool, GitError> {
        if git.commit(commit).await?.is_none() {
            return Ok(false);
        }
        git.without_downloads().run(&["read-tree", "--reset", "-u", commit]).await?;
        Ok(true)
    }
}

/// Where the pointers of an index lead.
pub(crate) fn pointers(index: &Path, above: Option<&FilePath>, id_len: usize) -> Vec<Pointer> {
    let index = Index::read(index, id_len).unwrap_or_default();
    index.gitlinks().map(|entry| Pointer::of(entry, above, id_len)).collect()
}

fn settings(id_len: usize) -> String {
    let format = if id_len == 32 { "1\n[extensions]\n\tobjectFormat = sha256\n" } else { "0\n" };
    format!("[core]\n\tbare = false\n\trepositoryformatversion = {format}")
}

fn lines(stores: &[PathBuf]) -> String {
    stores.iter().map(|store| format!("{}\n", store.display())).collect()
}

/// A file name for a path; two paths have two names.
pub(super) fn file_name(path: &FilePath) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let part = |byte: &u8| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02x}") };
    path.as_bytes().iter().map(part).collect()
}
