//! What a loop changed: file by file and bounded, or as one patch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::spec::CommitPolicy;
use windlass_engine::work::{self, NoSuchPoint, Span};
use windlass_workspace::{DiffSize, DiffTo};

use crate::local::Local;
use crate::loops::{page, pages_of_a_loop};
use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::requests::{DiffLoop, PatchLoop};
use crate::views::{DiffView, FileDiff, PatchView};

/// More of one file is not shown.
const LONGEST_FILE: usize = 256 * 1024;
/// More in all is not shown.
const LONGEST: usize = 4 * 1024 * 1024;
const MOST_FILES: usize = 1_000;

impl Request for DiffLoop {
    type Report = DiffView;
    const NAME: &'static str = "diff";

    async fn perform(self, here: &Local) -> Result<DiffView, Problem> {
        let Self { id, iteration, worktree, since, target } = self;
        let patch = changed(here, &PatchLoop { id, iteration, worktree, since, target, color: false }).await?;
        let (files, files_left_out) = files(&patch.bytes);
        Ok(DiffView { from: patch.span.from, to: patch.span.to, files, files_left_out })
    }
}

impl Request for PatchLoop {
    type Report = PatchView;
    const NAME: &'static str = "patch";

    async fn perform(self, here: &Local) -> Result<PatchView, Problem> {
        let Patch { name, span, bytes } = changed(here, &self).await?;
        let to = (!self.worktree).then_some(span.to);
        let patch = String::from_utf8_lossy(&bytes).into_owned();
        Ok(PatchView { name, iteration: self.iteration, from: span.from, to, patch })
    }
}

pages_of_a_loop! {
    "How much each of its iterations changed." LoopSizes
}

/// How much an iteration changed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct IterationSize {
    pub iteration: u32,
    #[serde(flatten)]
    pub size: DiffSize,
}

impl Request for LoopSizes {
    type Report = Vec<IterationSize>;
    const NAME: &'static str = "sizes";

    /// Iterations without a commit of their own are left out.
    async fn perform(self, here: &Local) -> Result<Vec<IterationSize>, Problem> {
        let state = here.state_of(&self.id).await?;
        let mut spans: Vec<(u32, Span)> = state
            .iterations
            .iter()
            .filter_map(|record| Some((record.iteration, work::span(&state, Some(record.iteration)).ok()?)))
            .collect();
        page(&mut spans, self.after, self.limit);
        if spans.is_empty() {
            return Ok(Vec::new());
        }
        let engine = here.readable().await?;
        let pairs: Vec<(String, String)> = spans.iter().map(|(_, span)| (span.from.clone(), span.to.clone())).collect();
        let sizes = engine.workspaces.sizes(&engine.workspace(&state)?, &pairs).await;
        let sizes = sizes.map_err(|error| Problem { code: Kind::Failed, ..error.into() })?;
        Ok(spans
            .iter()
            .zip(sizes)
            .map(|((iteration, _), size)| IterationSize { iteration: *iteration, size })
            .collect())
    }
}

/// A patch byte for byte: what changed is not always text.
#[derive(Debug)]
pub struct Patch {
    pub name: String,
    pub span: Span,
    pub bytes: Vec<u8>,
}

pub async fn changed(here: &Local, request: &PatchLoop) -> Result<Patch, Problem> {
    let engine = here.readable().await?;
    let state = engine.at_hand(here.state_of(&request.id).await?).await?;
    let mut span = work::span(&state, request.iteration).map_err(|error| no_such_point(&error, &state.name))?;
    let workspace = engine.workspace(&state)?;
    if let Some(since) = request.since {
        span.from = work::point(&state, since).map_err(|error| no_such_point(&error, &state.name))?.commit;
    } else if request.target {
        let left = engine.workspaces.left_target_at(&workspace, &span.to).await?;
        span.from = left.ok_or_else(|| no_target(&state.name))?;
    }
    // Without commits, the work is what is on disk.
    let uncommitted = state.spec.commit == CommitPolicy::Off && request.iteration.is_none();
    let to = if request.worktree || uncommitted { DiffTo::Worktree } else { DiffTo::Commit(span.to.clone()) };
    let bytes = engine.workspaces.shown_diff(&workspace, &span.from, &to, request.color).await;
    let bytes = bytes.map_err(|error| Problem { code: Kind::Failed, ..error.into() })?;
    Ok(Patch { name: state.name, span, bytes })
}

pub(crate) fn no_such_point(error: &NoSuchPoint, name: &str) -> Problem {
    let hint = match error {
        NoSuchPoint::NoWorkspace => "the loop has no commits yet".to_owned(),
        NoSuchPoint::NoIteration { last: 0, .. } => {
            format!("the loop has no iterations yet; see `windlass status {name}`")
        }
        NoSuchPoint::NoIteration { last, .. } => format!("use 1 to {last}; see `windlass status {name}`"),
        NoSuchPoint::NotCommitted { .. } => {
            "the loop runs with --commit off, so it has no commits per iteration".to_owned()
        }
        NoSuchPoint::Undone { iteration } => {
            format!("use an earlier iteration, or bring it back with `windlass rollback {name} --to {iteration}`")
        }
    };
    Problem::refused(format!("{name}: {error}"), hint).field("iteration")
}

fn no_target(name: &str) -> Problem {
    Problem::refused(
        format!("{name}: the branch shares no commit with its merge target, or the loop started from no branch"),
        "show what changed since the base commit instead",
    )
    .field("target")
}

/// The files of a patch as git writes it, and how many are left out.
pub(crate) fn files(patch: &[u8]) -> (Vec<FileDiff>, usize) {
    let mut files: Vec<FileDiff> = Vec::new();
    let mut left_out = 0;
    let mut total = 0;
    let mut in_hunks = false;
    let mut skipping = false;
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            in_hunks = false;
            skipping = files.len() >= MOST_FILES || total >= LONGEST;
            if skipping {
                left_out += 1;
            } else {
                files.push(begun(&String::from_utf8_lossy(&line[b"diff --git ".len()..])));
            }
            continue;
        }
        let Some(file) = files.last_mut().filter(|_| !skipping) else { continue };
        in_hunks = in_hunks || line.starts_with(b"@@ ");
        if !in_hunks {
            header(file, String::from_utf8_lossy(line).trim_end_matches('\n'));
            continue;
        }
        match line.first() {
            Some(b'+') => file.added += 1,
            Some(b'-') => file.removed += 1,
            _ => {}
        }
        if file.patch.len() + line.len() > LONGEST_FILE {
            file.cut = true;
        } else if !file.cut {
            file.patch.push_str(&String::from_utf8_lossy(line));
            total += line.len();
        }
    }
    (files, left_out)
}

/// A file from git's first line on it: `a/PATH b/PATH`, which the lines below say better where they are there.
fn begun(names: &str) -> FileDiff {
    let names = names.trim_end_matches('\n');
    // Of the same length where the name did not change, which is when nothing below tells it.
    let half = names.len() / 2;
    let path = names.get(half + 1..).map_or(names, |name| name).to_owned();
    FileDiff {
        path: plain(&path),
        old_path: None,
        status: "modified".to_owned(),
        added: 0,
        removed: 0,
        binary: false,
        patch: String::new(),
        cut: false,
    }
}

fn header(file: &mut FileDiff, line: &str) {
    if line.starts_with("new file mode") {
        file.status = "added".to_owned();
    } else if line.starts_with("deleted file mode") {
        file.status = "deleted".to_owned();
    } else if let Some(from) = line.strip_prefix("rename from ") {
        file.status = "renamed".to_owned();
        file.old_path = Some(unquoted(from));
    } else if let Some(from) = line.strip_prefix("copy from ") {
        file.status = "copied".to_owned();
        file.old_path = Some(unquoted(from));
    } else if let Some(to) = line.strip_prefix("rename to ").or_else(|| line.strip_prefix("copy to ")) {
        file.path = unquoted(to);
    } else if line.starts_with("Binary files ") {
        file.binary = true;
    } else if let Some(name) = line.strip_prefix("+++ ").filter(|name| *name != "/dev/null") {
        file.path = plain(name);
    } else if let Some(name) = line.strip_prefix("--- ").filter(|name| *name != "/dev/null") {
        file.path = plain(name);
    }
}

/// Without quotes, the `a/` or `b/` before it, and the tab that git puts behind names with spaces.
fn plain(name: &str) -> String {
    let name = unquoted(name.trim_end_matches('\t'));
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).map_or(name.clone(), str::to_owned)
}

/// Git quotes names with unusual bytes as C does.
fn unquoted(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else { return name.to_owned() };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(digit @ b'0'..=b'3') => {
                let octal = [digit, rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                bytes.push(octal.iter().fold(0_u8, |sum, digit| sum << 3 | (digit & 7)));
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/a b.txt b/a b.txt\nindex 1..2 100644\n--- a/a b.txt\t\n+++ b/a b.txt\t\n\
        @@ -1,2 +1,2 @@\n one\n-two\n+++ not a header\n\
        diff --git \"a/\\303\\244\" \"b/\\303\\244\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\303\\244\"\n@@ -0,0 +1 @@\n+x\n\
        diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n\
        diff --git a/bin b/bin\nindex 1..2 100644\nBinary files a/bin and b/bin differ\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";

    #[test]
    fn a_patch_is_told_file_by_file() {
        let (files, left_out) = files(PATCH.as_bytes());
        assert_eq!(left_out, 0);
        let told: Vec<_> = files.iter().map(|f| (f.path.as_str(), f.status.as_str(), f.added, f.removed)).collect();
        assert_eq!(
            told,
            [
                ("a b.txt", "modified", 1, 1),
                ("ä", "added", 1, 0),
                ("new", "renamed", 0, 0),
                ("bin", "modified", 0, 0),
                ("gone", "deleted", 0, 1),
            ]
        );
        assert_eq!(files[0].patch, "@@ -1,2 +1,2 @@\n one\n-two\n+++ not a header\n");
        assert_eq!(files[2].old_path.as_deref(), Some("old"));
        assert!(files[3].binary);
    }

    #[test]
    fn a_long_file_is_cut_and_counted_in_full() {
        let mut patch = String::from("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,9 @@\n");
        for _ in 0..30_000 {
            patch.push_str("+0123456789\n");
        }
        let (files, _) = files(patch.as_bytes());
        assert!(files[0].cut && files[0].patch.len() <= LONGEST_FILE);
        assert_eq!(files[0].added, 30_000);
    }
}
