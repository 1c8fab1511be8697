//! What a program missed because the sandbox does not show it, told from the errors that it printed.
//!
//! Nobody sees what a process looks for, so this reads its words: a path in a line about a missing or read-only file that is
//! there outside, and not in the view. Invariant: bounded; a path is named only if the program named it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use windlass_supervise::{Access, Place};

/// So many lines of the end are read, and so many paths named.
const MOST_LINES: usize = 300;
const MOST_HINTS: usize = 3;
const LONGEST_LINE: usize = 4_000;

/// How programs say that a file is not there, or may not be read.
const MISSING: [&str; 8] = [
    "no such file",
    "enoent",
    "not found",
    "does not exist",
    "cannot find",
    "permission denied",
    "eacces",
    "cannot access",
];
/// And that it cannot be written.
const SEALED: [&str; 2] = ["read-only file system", "erofs"];

/// Where the parts of a line end that could be a path.
const BETWEEN: [char; 13] = [' ', '\t', '\'', '"', '`', ',', ';', '(', ')', '[', ']', '<', '>'];

/// The view of a process, and the user's home.
#[derive(Debug, Clone)]
pub(crate) struct Missed {
    places: Vec<Place>,
    home: PathBuf,
}

impl Missed {
    pub(crate) fn new(places: &[Place], home: Option<&String>) -> Option<Self> {
        let home = home.map(PathBuf::from).filter(|home| home.parent().is_some())?;
        Some(Self { places: places.to_vec(), home })
    }

    /// What to say about this output, a sentence for each path.
    pub(crate) fn hints(&self, output: &str) -> Vec<String> {
        let (mut hidden, mut sealed) = (BTreeSet::new(), BTreeSet::new());
        for line in output.lines().rev().take(MOST_LINES).filter(|line| line.len() <= LONGEST_LINE) {
            let lower = line.to_lowercase();
            let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
            if says(&SEALED) {
                sealed.extend(self.paths(line).filter(|path| self.is_sealed(path)));
            } else if says(&MISSING) {
                hidden.extend(self.paths(line).filter(|path| self.is_hidden(path)));
            }
        }
        let hidden = hidden.iter().map(|path| {
            let name = self.shown(path);
            format!(
                "{name} exists, but not in the sandbox; allow it with sandbox_readable = [\"{name}\"] in your settings"
            )
        });
        let sealed = sealed.iter().map(|path| {
            let name = self.shown(path);
            format!(
                "{name} is read-only in the sandbox; allow writes with sandbox_writable = [\"{name}\"] in your settings, or \
                 set config_dir in the agent's profile if it is the agent's directory"
            )
        });
        hidden.chain(sealed).take(MOST_HINTS).collect()
    }

    /// The paths that a line names, whole.
    fn paths<'a>(&'a self, line: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
        let quoted = ['\'', '"', '`'].into_iter().flat_map(|quote| line.split(quote).skip(1).step_by(2));
        let words = line.split(BETWEEN);
        words.chain(quoted).filter_map(|word| {
            let word = word.trim_end_matches(['.', ':', ',']);
            let word = word.split(": ").next().unwrap_or(word);
            let path = match word.strip_prefix("~/") {
                Some(below) => self.home.join(below),
                None => PathBuf::from(word.split(':').find(|part| part.starts_with('/'))?),
            };
            (path.is_absolute() && path.components().count() > 1).then_some(path)
        })
    }

    /// There outside, below the home, and not seen.
    fn is_hidden(&self, path: &Path) -> bool {
        path.starts_with(&self.home) && *path != self.home && path.exists() && !self.sees(path)
    }

    /// There outside, and seen without the right to change it.
    fn is_sealed(&self, path: &Path) -> bool {
        let real = path.ancestors().find_map(|path| path.canonicalize().ok());
        let place = real.as_deref().and_then(|path| self.nearest(path));
        let below_home = path.starts_with(&self.home) && *path != self.home;
        below_home && place.is_some_and(|place| place.access == Access::ReadOnly)
    }

    fn sees(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        let Some(place) = self.nearest(&real) else { return false };
        match (place.access, &place.from) {
            (Access::HiddenDir | Access::HiddenFile | Access::Link, _) => false,
            (Access::Layered, _) | (Access::ReadOnly | Access::Writable, None) => true,
            // A directory of the loop's own in its place, which may have a copy.
            (Access::ReadOnly | Access::Writable, Some(from)) => {
                real.strip_prefix(&place.path).is_ok_and(|below| from.join(below).exists())
            }
        }
    }

    fn nearest(&self, path: &Path) -> Option<&Place> {
        let above = self.places.iter().filter(|place| path.starts_with(&place.path));
        above.max_by_key(|place| place.path.components().count())
    }

    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(below) => format!("~/{}", below.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(dir: &tempfile::TempDir) -> (Missed, PathBuf) {
        let root = dir.path().canonicalize().unwrap();
        let (home, private) = (root.join("home of me"), root.join("private"));
        for path in [&home, &private] {
            std::fs::create_dir(path).unwrap();
        }
        for name in [".aws", ".tools"] {
            std::fs::create_dir(home.join(name)).unwrap();
        }
        for path in [home.join(".aws/config"), home.join(".npmrc"), private.join(".npmrc"), home.join(".tools/lock")] {
            std::fs::write(path, "").unwrap();
        }
        let places = [
            Place { from: Some(private), ..Place::new(&home, Access::Writable) },
            Place::new(home.join(".tools"), Access::ReadOnly),
        ];
        let text = home.to_string_lossy().into_owned();
        (Missed::new(&places, Some(&text)).unwrap(), home)
    }

    #[test]
    fn a_hidden_file_that_is_missed_is_named_with_its_setting() {
        let dir = tempfile::tempdir().unwrap();
        let (missed, home) = missed(&dir);
        let said = "~/.aws/config exists, but not in the sandbox; allow it with sandbox_readable = [\"~/.aws/config\"] in your settings";
        for line in [
            format!("cat: '{}/.aws/config': No such file or directory", home.display()),
            format!("Error: ENOENT: no such file or directory, open '{}/.aws/config'", home.display()),
            format!("FileNotFoundError: [Errno 2] No such file or directory: \"{}/.aws/config\"", home.display()),
            "could not find config: ~/.aws/config does not exist".to_owned(),
        ] {
            assert_eq!(missed.hints(&format!("before\n{line}\nafter\n")), [said], "{line}");
        }
    }

    #[test]
    fn nothing_is_said_of_what_is_not_there_is_seen_or_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let (missed, home) = missed(&dir);
        for line in [
            format!("cat: '{}/nothing': No such file or directory", home.display()),
            format!("cat: '{}/.npmrc': No such file or directory", home.display()),
            format!("cat: '{}/.tools/lock': No such file or directory", home.display()),
            format!("reading '{}/.aws/config'", home.display()),
            format!("cat: '{}': No such file or directory", home.display()),
            "/etc/shadow: Permission denied".to_owned(),
            "not found".to_owned(),
        ] {
            assert_eq!(missed.hints(&line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named_with_its_settings() {
        let dir = tempfile::tempdir().unwrap();
        let (missed, home) = missed(&dir);
        let line = format!("EROFS: read-only file system, open '{}/.tools/lock'", home.display());
        let [hint] = &missed.hints(&line)[..] else { panic!("one hint") };
        assert!(hint.starts_with("~/.tools/lock is read-only") && hint.contains("sandbox_writable"), "{hint}");
        assert!(hint.contains("config_dir"), "{hint}");
    }

    #[test]
    fn much_output_is_not_read_whole() {
        let dir = tempfile::tempdir().unwrap();
        let (missed, home) = missed(&dir);
        let line = format!("cat: '{}/.aws/config': No such file or directory\n", home.display());
        assert_eq!(missed.hints(&(line.clone() + &"x\n".repeat(MOST_LINES))), Vec::<String>::new());
        assert_eq!(missed.hints(&line.repeat(100)).len(), 1);
    }
}
