//! New files that git ignores: an agent may have needed them, and no commit has them.
//!
//! Whatever ignores them counts, rules that an agent wrote included. What was there before the first turn is not new, and a
//! tool's own directory that the base's rules ignore (`target`, `node_modules`) is not looked into. The common path starts no git:
//! only a file that was not seen before is asked about.

mod rules;
mod walk;

use std::collections::{BTreeSet, HashSet};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use rules::{check_out_rules, ignored_by};

use crate::checkpoint::nested;
use crate::disk::copying;
use crate::disk::copying::beside;
use crate::git::{FilePath, Git, Index};
use crate::{Workspace, WorkspaceError, Workspaces};
use walk::Walked;

/// So many are named.
const NAMED: usize = 20;

/// What is remembered beside the index, with this ending.
const NOTED: &str = ".ignored";

/// What earlier looks found.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Noted {
    /// What is not told: it was there before any turn, or is a tool's.
    #[serde(default)]
    known: BTreeSet<Vec<u8>>,
    /// New files that are ignored.
    #[serde(default)]
    told: BTreeSet<Vec<u8>>,
}

impl Noted {
    fn read(workspace: &Workspace) -> Self {
        let text = std::fs::read(beside(&workspace.index, NOTED)).ok();
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    fn write(&self, workspace: &Workspace) -> Result<(), WorkspaceError> {
        let file = beside(&workspace.index, NOTED);
        let text = serde_json::to_vec(self).unwrap_or_default();
        std::fs::write(&file, text).map_err(WorkspaceError::file("write", file))
    }

    fn known_paths(&self) -> HashSet<PathBuf> {
        self.known.iter().map(|path| PathBuf::from(std::ffi::OsString::from_vec(path.clone()))).collect()
    }
}

/// What a look found.
pub(super) struct Look {
    pub(super) files: Vec<FilePath>,
    /// It is not what the look before found.
    pub(super) news: bool,
    /// Pipes, sockets and devices that no rule ignores.
    pub(super) special: Vec<FilePath>,
}

impl Look {
    /// The first of them.
    pub(super) fn names(&self) -> Vec<String> {
        self.files.iter().take(NAMED).map(ToString::to_string).collect()
    }

    /// For whoever reads the checkpoint, once.
    pub(super) fn note(&self) -> Option<String> {
        let what = match self.files.len() {
            1 => "1 new file is ignored and not".to_owned(),
            count if count >= walk::MOST => format!("{count} new files or more are ignored and not"),
            count => format!("{count} new files are ignored and not"),
        };
        let names = self.names();
        let more = if self.files.len() > NAMED { " …" } else { "" };
        self.news.then(|| format!("{what} in any commit: {}{more}", names.join(", ")))
    }
}

impl Workspaces {
    /// Remembers what is on disk beside the commit: it is not the work of any turn to come.
    pub async fn note_present(&self, workspace: &Workspace) -> Result<(), WorkspaceError> {
        let Ok(index) = Index::read(&workspace.index, workspace.id_len) else { return Ok(()) };
        let mut noted = Noted::read(workspace);
        let files = not_in_index(workspace, index, noted.known_paths()).await.files;
        let upper = |path: PathBuf| walk::dir_of_tool(&path).unwrap_or(path).into_os_string().into_vec();
        noted.known.extend(files.into_iter().map(upper));
        noted.write(workspace)
    }

    /// Looks for new files that are ignored, once the index of `git` holds what is on disk. Only what is told once is news.
    pub(super) async fn look_for_ignored(
        &self,
        workspace: &Workspace,
        git: &Git,
        tells: bool,
    ) -> Result<Look, WorkspaceError> {
        let nothing = Look { files: Vec::new(), news: false, special: Vec::new() };
        let Ok(index) = Index::read(&workspace.index_of(git), workspace.id_len) else { return Ok(nothing) };
        let mut noted = Noted::read(workspace);
        let Walked { files, special } = not_in_index(workspace, index, noted.known_paths()).await;
        let of = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let mut special: Vec<FilePath> = special.iter().map(|path| FilePath::new(of(path))).collect();
        let unwanted = nested::ignored(git, &special).await?;
        special.retain(|path| !unwanted.contains(path));
        if files.iter().all(|path| noted.told.contains(&of(path))) {
            let files = files.iter().map(|path| FilePath::new(of(path))).collect();
            return Ok(Look { files, news: false, special });
        }
        let tools: HashSet<PathBuf> = files.iter().filter_map(|path| walk::dir_of_tool(path)).collect();
        let tools = self.ignored_by_base(workspace, git, tools).await?;
        let is_tools = |path: &PathBuf| walk::dir_of_tool(path).is_some_and(|dir| tools.contains(&dir));
        let files: Vec<FilePath> =
            files.iter().filter(|path| !is_tools(path)).map(|path| FilePath::new(of(path))).collect();
        let files = nested::ignored(git, &files).await?;
        let told = files.iter().map(|file| file.as_bytes().to_vec()).collect();
        let news = noted.told != told && !files.is_empty();
        noted.known.extend(tools.iter().map(|dir| of(dir)));
        if tells {
            noted.told = told;
        }
        noted.write(workspace)?;
        Ok(Look { files, news, special })
    }

    async fn ignored_by_base(
        &self,
        workspace: &Workspace,
        git: &Git,
        dirs: HashSet<PathBuf>,
    ) -> Result<HashSet<PathBuf>, WorkspaceError> {
        if dirs.is_empty() {
            return Ok(dirs);
        }
        let rules = workspace.scratch("rules");
        check_out_rules(git, &workspace.base_commit, &rules).await?;
        let ignored = ignored_by(git, &rules, &dirs).await;
        copying::remove(&rules).map_err(WorkspaceError::file("remove", &rules))?;
        ignored
    }
}

async fn not_in_index(workspace: &Workspace, index: Index, known: HashSet<PathBuf>) -> Walked {
    let top = workspace.dir.clone();
    crate::disk::blocking(move || walk::not_in_index(&top, &index, &known)).await.unwrap_or_default()
}
