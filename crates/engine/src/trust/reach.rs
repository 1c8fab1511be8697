//! The files that an agent would find at the places it reads, through every link on the way.
//!
//! Invariant: a link is followed as the kernel would follow it, inside the repository by its own files, so that what is
//! shown and digested is what the agent gets. Whoever is led out of the repository is told where.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use windlass_workspace::{FileAt, Workspaces};

use super::{Look, TrustError};

/// As many as the kernel follows in one path.
const MOST_LINKS: usize = 40;
/// Ways through links, all places together; a repository with more wants to hide something.
const MOST_WAYS: usize = 2_000;
/// Larger files are no settings.
const LARGEST: u64 = 16 << 20;

/// A file or folder that an agent would find.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reached {
    /// The name that the agent has for it, seen from the root of the repository.
    pub seen_as: String,
    /// Each link on the way, with what it says.
    pub links: Vec<(String, String)>,
    pub end: End,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A file of the repository.
    Inside { path: String, content: Vec<u8> },
    /// What the last link points to is not the repository's: files by their names below `path`, which is one itself if its
    /// name is empty.
    Outside { path: String, files: Vec<FileAt> },
}

impl Reached {
    /// What consent to it is given for: the content, and the links that point to it.
    pub(super) fn digested(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for text in self.links.iter().flat_map(|(link, target)| [link, target]) {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
        }
        match &self.end {
            End::Inside { content, .. } => bytes.extend_from_slice(content),
            End::Outside { files, .. } => {
                for file in files {
                    bytes.extend_from_slice(format!("{}\0{}\0", file.path, file.content.len()).as_bytes());
                    bytes.extend_from_slice(&file.content);
                }
            }
        }
        bytes
    }

    /// Where the links point to, in words.
    pub(super) fn leads_to(&self) -> Option<String> {
        match &self.end {
            End::Outside { path, .. } => Some(format!("link to {path}, outside the repository")),
            End::Inside { path, .. } if !self.links.is_empty() => Some(format!("link to {path}")),
            End::Inside { .. } => None,
        }
    }
}

/// Everything at and below these places.
pub(super) async fn reach(
    workspaces: &Workspaces,
    project: &Path,
    look: Look<'_>,
    roots: &[&str],
) -> Result<Vec<Reached>, TrustError> {
    let way = |root: &&str| Way { seen_as: (*root).to_owned(), real: (*root).to_owned(), links: Vec::new() };
    let mut ways: Vec<Way> = roots.iter().map(way).collect();
    let (mut reached, mut taken) = (Vec::new(), 0);
    while !ways.is_empty() {
        taken += ways.len();
        if taken > MOST_WAYS {
            return Err(TrustError::Links { file: ways.swap_remove(0).seen_as });
        }
        let places: Vec<&str> = ways.iter().map(|way| way.real.as_str()).collect();
        let files = match look {
            Look::Revision(revision) => workspaces.files_at(project, revision, &places).await?,
            Look::Checkout => Workspaces::files_in(project, &places)?,
        };
        let mut further = Vec::new();
        for way in &ways {
            for step in way.steps(&files) {
                match step {
                    Step::File(found) => reached.push(found),
                    Step::Link { way, link, rest } => match way.follow(link, &rest)? {
                        Some(Led::On(way)) => further.push(way),
                        Some(Led::Out { way, to, named }) => reached.extend(outside(project, look, way, &to, named)?),
                        None => {}
                    },
                }
            }
        }
        ways = further;
    }
    reached.sort_by(|a, b| a.seen_as.cmp(&b.seen_as));
    Ok(reached)
}

/// A way to a place: no part of `real` was a link so far.
#[derive(Debug, Clone)]
struct Way {
    seen_as: String,
    real: String,
    links: Vec<(String, String)>,
}

enum Step<'a> {
    File(Reached),
    Link { way: Way, link: &'a FileAt, rest: String },
}

enum Led {
    On(Way),
    /// `to` as a path from the repository's root, or absolute.
    Out {
        way: Way,
        to: PathBuf,
        named: String,
    },
}

impl Way {
    /// What is at the end of this way, or the link that is on it.
    fn steps<'a>(&self, files: &'a [FileAt]) -> Vec<Step<'a>> {
        let on_the_way =
            files.iter().filter(|file| file.is_link).find_map(|file| Some((file, below(&self.real, &file.path)?)));
        if let Some((link, rest)) = on_the_way {
            return vec![Step::Link { way: self.clone(), link, rest: rest.to_owned() }];
        }
        let found = files.iter().filter_map(|file| {
            let name = below(&file.path, &self.real)?;
            let seen_as = if name.is_empty() { self.seen_as.clone() } else { format!("{}/{name}", self.seen_as) };
            let links = self.links.clone();
            Some(if file.is_link {
                Step::Link { way: Way { seen_as, real: file.path.clone(), links }, link: file, rest: String::new() }
            } else {
                let end = End::Inside { path: file.path.clone(), content: file.content.clone() };
                Step::File(Reached { seen_as, links, end })
            })
        });
        found.collect()
    }

    /// On to where a link leads; none where it leads in a circle, which finds nothing new.
    fn follow(mut self, link: &FileAt, rest: &str) -> Result<Option<Led>, TrustError> {
        let target = String::from_utf8_lossy(&link.content).into_owned();
        if self.links.len() == MOST_LINKS || self.links.iter().any(|(known, _)| *known == link.path) {
            return Ok(None);
        }
        self.links.push((link.path.clone(), target.clone()));
        let onward = |to: &str| if rest.is_empty() { to.to_owned() } else { format!("{to}/{rest}") };
        let mut at: Vec<&str> = link.path.split('/').collect();
        at.pop();
        let mut named = false;
        for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
            if part != ".." {
                named = true;
                at.push(part);
            } else if named {
                // What is above a name depends on whether the name is a link itself.
                return Err(TrustError::Links { file: self.seen_as });
            } else if at.pop().is_none() {
                let parent = Path::new(&link.path).parent().unwrap_or(Path::new(""));
                let to = PathBuf::from(onward(&parent.join(&target).to_string_lossy()));
                return Ok(Some(Led::Out { way: self, to, named: onward(&target) }));
            }
        }
        if target.starts_with('/') {
            let named = onward(&target);
            return Ok(Some(Led::Out { way: self, to: PathBuf::from(&named), named }));
        }
        at.extend(rest.split('/').filter(|part| !part.is_empty()));
        self.real = at.join("/");
        Ok(Some(Led::On(self)))
    }
}

/// What is outside, where it is there. A loop's own clone lies elsewhere than the checkout, so what a relative link leads
/// to from there is named and not read.
fn outside(project: &Path, look: Look<'_>, way: Way, to: &Path, named: String) -> Result<Option<Reached>, TrustError> {
    let elsewhere = matches!(look, Look::Revision(_)) && to.is_relative();
    let files = if elsewhere { Some(Vec::new()) } else { read_outside(&project.join(to))? };
    Ok(files.map(|files| Reached { seen_as: way.seen_as, links: way.links, end: End::Outside { path: named, files } }))
}

/// A file, or the files of a folder; none if nothing can be opened there, and then an agent cannot do it either.
fn read_outside(path: &Path) -> Result<Option<Vec<FileAt>>, TrustError> {
    // Opening a pipe would wait otherwise.
    let at_once = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let Ok(file) = OpenOptions::new().read(true).custom_flags(at_once).open(path) else { return Ok(None) };
    let facts = file.metadata().map_err(TrustError::File)?;
    if facts.is_dir() {
        return Ok(Some(Workspaces::files_in(path, &[""])?));
    }
    let mut content = Vec::new();
    if facts.is_file() {
        file.take(LARGEST + 1).read_to_end(&mut content).map_err(TrustError::File)?;
    }
    if content.len() as u64 > LARGEST {
        return Err(TrustError::Large { path: path.to_owned() });
    }
    Ok(Some(vec![FileAt { path: String::new(), is_link: false, content }]))
}

/// What is left of a path below a place; everything is below the empty one.
fn below<'a>(path: &'a str, place: &str) -> Option<&'a str> {
    match path.strip_prefix(place)? {
        "" => Some(""),
        rest if place.is_empty() => Some(rest),
        rest => rest.strip_prefix('/'),
    }
}
