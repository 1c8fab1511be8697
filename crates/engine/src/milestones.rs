//! Milestones as they are in a project: read from its files, their state from the store.
//!
//! The files are the user's and are only ever read here, but for `add`. What became of a milestone is a loop's
//! journal and nothing else, so nothing of it can dirty the tree.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use thiserror::Error;
use windlass_core::ids::slug;
use windlass_core::milestone::{AnimaRecord, Milestone, MilestoneError, is_valid_id};
use windlass_core::spec::Document;

use crate::config::Settings;

/// Where milestones are looked for, in this order; the first is where they are made.
const FOLDERS: [&str; 2] = [".windlass/milestones", ".anima/milestones"];
/// More than this is not a milestone, and no text that everybody must know.
const LARGEST: u64 = 256 * 1024;

#[derive(Debug, Error)]
pub enum MilestonesError {
    #[error("'{id}' is not a valid milestone ID")]
    Id { id: String },
    #[error("milestone '{id}' not found in this project")]
    Unknown { id: String, known: Vec<String> },
    #[error("invalid milestone {path}: {error}")]
    Shape { path: PathBuf, error: MilestoneError },
    #[error("cannot read or write {path}")]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{path} already exists")]
    Exists { path: PathBuf },
}

impl MilestonesError {
    pub fn hint(&self) -> Option<String> {
        match self {
            MilestonesError::Id { .. } => Some("use letters, digits, - _ and ., at most 64 characters".to_owned()),
            MilestonesError::Unknown { known, .. } if known.is_empty() => {
                Some("create one: windlass milestone add ID --title \"…\" --feature \"…\" --criterion \"…\"".to_owned())
            }
            MilestonesError::Unknown { known, .. } => Some(format!("known milestones: {}", known.join(", "))),
            MilestonesError::Shape { error, .. } => Some(error.hint.clone()),
            MilestonesError::File { .. } => None,
            MilestonesError::Exists { .. } => Some("edit it, or choose another ID".to_owned()),
        }
    }
}

/// A milestone of the project, with the file it is in.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub milestone: Milestone,
    pub path: PathBuf,
    /// When it was made, by its own word or the file's.
    pub created_at: Timestamp,
}

/// The name of a milestone's loop.
pub fn loop_name(id: &str) -> String {
    let plain = slug(id);
    if plain.is_empty() { "milestone".to_owned() } else { format!("milestone-{plain}") }
}

/// The branch of a milestone.
pub fn branch(id: &str) -> String {
    format!("milestone/{id}")
}

pub fn load(project: &Path, id: &str) -> Result<Found, MilestonesError> {
    if !is_valid_id(id) {
        return Err(MilestonesError::Id { id: id.escape_debug().to_string() });
    }
    let paths = FOLDERS.iter().map(|folder| project.join(folder).join(format!("{id}.md")));
    match paths.into_iter().find(|path| path.is_file()) {
        Some(path) => read(&path, id),
        None => Err(MilestonesError::Unknown { id: id.to_owned(), known: ids(project) }),
    }
}

/// Every milestone of the project in the order in which they are to be built: by their order, then by their age. One
/// that cannot be read is told as such and does not hide the others.
pub fn list(project: &Path) -> Vec<Result<Found, MilestonesError>> {
    let mut found: Vec<_> = ids(project).iter().map(|id| load(project, id)).collect();
    found.sort_by_key(|found| match found {
        Ok(found) => (found.milestone.front_matter.order.unwrap_or(i64::MAX), found.created_at),
        Err(_) => (i64::MAX, Timestamp::MAX),
    });
    found
}

fn ids(project: &Path) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for folder in FOLDERS {
        let Ok(entries) = std::fs::read_dir(project.join(folder)) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let id =
                path.file_stem().and_then(|stem| stem.to_str()).filter(|_| path.extension() == Some("md".as_ref()));
            if let Some(id) = id.filter(|id| is_valid_id(id) && !ids.iter().any(|known| known == id)) {
                ids.push(id.to_owned());
            }
        }
    }
    ids.sort();
    ids
}

fn read(path: &Path, id: &str) -> Result<Found, MilestonesError> {
    let failed = |source| MilestonesError::File { path: path.to_owned(), source };
    let shape = |error| MilestonesError::Shape { path: path.to_owned(), error };
    let text = text_of(path).map_err(failed)?;
    let beside = path.with_extension("json");
    let record = match std::fs::read_to_string(&beside) {
        Ok(json) => Some(AnimaRecord::parse(&json).map_err(|error| MilestonesError::Shape { path: beside, error })?),
        Err(_) => None,
    };
    let milestone = match &record {
        Some(record) => Milestone::parse_with(id, &text, record),
        None => Milestone::parse(id, &text),
    };
    let milestone = milestone.map_err(shape)?;
    let modified = || {
        let at = path.metadata().and_then(|meta| meta.modified()).ok()?;
        Timestamp::try_from(at).ok()
    };
    let recorded = record.and_then(|record| record.created_at);
    let created_at = milestone.front_matter.created_at.or(recorded).or_else(modified).unwrap_or(Timestamp::UNIX_EPOCH);
    Ok(Found { milestone, path: path.to_owned(), created_at })
}

fn text_of(path: &Path) -> std::io::Result<String> {
    let found = path.metadata()?;
    if !found.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    if found.len() > LARGEST {
        return Err(std::io::Error::other(format!("larger than {} KB", LARGEST / 1024)));
    }
    std::fs::read_to_string(path)
}

/// Writes a new milestone; one that is there stays as it is.
pub fn add(project: &Path, milestone: &Milestone) -> Result<PathBuf, MilestonesError> {
    if !is_valid_id(&milestone.id) {
        return Err(MilestonesError::Id { id: milestone.id.escape_debug().to_string() });
    }
    if let Ok(known) = load(project, &milestone.id) {
        return Err(MilestonesError::Exists { path: known.path });
    }
    let folder = project.join(FOLDERS[0]);
    let path = folder.join(format!("{}.md", milestone.id));
    let failed = |source| MilestonesError::File { path: path.clone(), source };
    let (text, _) = milestone.write().map_err(|error| MilestonesError::Shape { path: path.clone(), error })?;
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let mut file = match std::fs::File::create_new(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(MilestonesError::Exists { path });
        }
        Err(error) => return Err(failed(error)),
    };
    file.write_all(text.as_bytes()).map_err(failed)?;
    Ok(path)
}

/// Puts the milestones in this order. In each file only the line that says it changes.
pub fn reorder(project: &Path, ids: &[String]) -> Result<(), MilestonesError> {
    let found = ids.iter().map(|id| load(project, id)).collect::<Result<Vec<_>, _>>()?;
    for (number, found) in (1_i64..).zip(&found) {
        if found.milestone.front_matter.order == Some(number) {
            continue;
        }
        let failed = |source| MilestonesError::File { path: found.path.clone(), source };
        let text = text_of(&found.path).map_err(failed)?;
        std::fs::write(&found.path, with_order(&text, number)).map_err(failed)?;
    }
    Ok(())
}

/// The text of a milestone with another order.
fn with_order(text: &str, number: i64) -> String {
    let line = format!("order: {number}\n");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let end = lines.iter().skip(1).position(|line| line.trim_end() == "---").map(|index| index + 1);
    match (lines.first().map(|line| line.trim_end()), end) {
        (Some("---"), Some(end)) => {
            let mut kept: Vec<&str> = lines.clone();
            match kept[1..end].iter().position(|line| line.trim_start().starts_with("order:")) {
                Some(index) => kept[index + 1] = &line,
                None => kept.insert(1, &line),
            }
            kept.concat()
        }
        _ => format!("---\n{line}---\n{text}"),
    }
}

/// Vision, rules and memory of a project: the files that are named, else the usual ones. What is not there is left
/// out, unless it was named.
pub fn documents(settings: &Settings, project: &Path) -> Result<Vec<Document>, MilestonesError> {
    let usual: [(&str, &Option<String>, &[&str]); 3] = [
        ("Vision", &settings.vision.value, &["VISION.md", ".windlass/vision.md"]),
        ("Rules, quality and red lines", &settings.soul.value, &[".windlass/soul.md", ".anima/soul.md"]),
        ("Notes about the project", &settings.memory.value, &[".windlass/memory.md", ".anima/memory/project.md"]),
    ];
    let mut documents = Vec::new();
    for (title, named, usual) in usual {
        let path = match named {
            Some(named) => Some(project.join(named)),
            None => usual.iter().map(|path| project.join(path)).find(|path| path.is_file()),
        };
        if let Some(path) = path {
            let text = text_of(&path).map_err(|source| MilestonesError::File { path, source })?;
            documents.push(Document { title: title.to_owned(), text });
        }
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_order_changes_one_line() {
        let told = ["# t\n", "---\nagent: x\norder: 9\n---\n# t\n", "---\nagent: x\n---\n# t\n"]
            .map(|text| with_order(text, 2));
        let expected =
            ["---\norder: 2\n---\n# t\n", "---\nagent: x\norder: 2\n---\n# t\n", "---\norder: 2\nagent: x\n---\n# t\n"];
        assert_eq!(told, expected);
    }
}
