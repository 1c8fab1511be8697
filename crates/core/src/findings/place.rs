//! Where a finding is: a path inside the workspace, however it was written, or a name for what is not a file.

use thiserror::Error;

const LONGEST_PATH: usize = 1_024;

/// Why a place is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlaceError {
    #[error("the finding has no file; add one, or use GOAL for something that is missing")]
    NoFile,
    #[error("`{path}` is outside the workspace; use a path relative to the workspace's root")]
    Outside { path: String },
    #[error("`{path}` is not GOAL, PLAN:section-N, or PLAN:phase-N")]
    UnknownName { path: String },
    #[error("line 0 of `{path}` does not exist; count lines from 1, or omit the line")]
    LineZero { path: String },
    #[error("`{path}` contains line {in_path}, but the line is {line}; give it once")]
    TwoLines { path: String, in_path: u32, line: u32 },
    #[error("the file's name has a control character: `{path}`")]
    ControlCharacter { path: String },
    #[error("the file's name has more than {LONGEST_PATH} characters")]
    TooLong,
}

pub(super) fn shown(file: &str, line: Option<u32>) -> String {
    line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

/// The file, relative to the workspace, and the line, which may also stand behind the file.
pub(super) fn read(
    path: &str,
    line: Option<u32>,
    workspace: Option<&str>,
) -> Result<(String, Option<u32>), PlaceError> {
    let path = path.trim();
    if path.chars().any(char::is_control) {
        return Err(PlaceError::ControlCharacter { path: path.escape_debug().to_string() });
    }
    if path.chars().count() > LONGEST_PATH {
        return Err(PlaceError::TooLong);
    }
    let (path, in_path) = split_line(path);
    let line = match (in_path, line) {
        (Some(in_path), Some(line)) if in_path != line => {
            return Err(PlaceError::TwoLines { path: path.to_owned(), in_path, line });
        }
        (in_path, line) => line.or(in_path),
    };
    if line == Some(0) {
        return Err(PlaceError::LineZero { path: path.to_owned() });
    }
    let file = match pseudo(path)? {
        Some(name) => name,
        None => relative(path, workspace)?,
    };
    Ok((file, line))
}

/// `a.rs:12` and `a.rs:12:5` as the file and its line.
fn split_line(path: &str) -> (&str, Option<u32>) {
    let number =
        |text: &str| -> Option<u32> { text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten() };
    let Some((before, last)) = path.rsplit_once(':') else { return (path, None) };
    let Some(last) = number(last) else { return (path, None) };
    match before.rsplit_once(':').and_then(|(file, line)| Some((file, number(line)?))) {
        Some((file, line)) if !file.is_empty() => (file, Some(line)),
        Some(_) | None if before.is_empty() => (path, None),
        Some(_) | None => (before, Some(last)),
    }
}

/// A name for what is not a file.
fn pseudo(path: &str) -> Result<Option<String>, PlaceError> {
    if path == "GOAL" {
        return Ok(Some(path.to_owned()));
    }
    let Some(rest) = path.strip_prefix("PLAN:") else { return Ok(None) };
    let number = rest.strip_prefix("section-").or_else(|| rest.strip_prefix("phase-"));
    let is_number = |digits: &str| {
        digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0') && digits.parse::<u32>().is_ok()
    };
    if number.is_some_and(is_number) {
        Ok(Some(path.to_owned()))
    } else {
        Err(PlaceError::UnknownName { path: path.to_owned() })
    }
}

fn relative(path: &str, workspace: Option<&str>) -> Result<String, PlaceError> {
    let outside = || PlaceError::Outside { path: path.to_owned() };
    let slashed = path.replace('\\', "/");
    let inside = if is_absolute(&slashed) {
        let root =
            workspace.map(|root| root.replace('\\', "/")).filter(|root| is_absolute(root)).ok_or_else(outside)?;
        // Compared once both are without `.` and `..`, so that neither leads out or in by a detour.
        let (root, whole) = (resolved(&root).ok_or_else(outside)?, resolved(&slashed).ok_or_else(outside)?);
        whole.strip_prefix(&root[..]).ok_or_else(outside)?.to_vec()
    } else {
        resolved(&slashed).ok_or_else(outside)?
    };
    if inside.is_empty() { Err(PlaceError::NoFile) } else { Ok(inside.join("/")) }
}

fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    let on_drive = bytes.len() >= 3 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'/';
    path.starts_with('/') || path == "~" || path.starts_with("~/") || on_drive
}

/// The path's names without `.` and `..`; none if it leads above where it starts.
fn resolved(path: &str) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name.to_owned()),
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> Result<String, PlaceError> {
        read(path, None, Some("/w/tree")).map(|(file, _)| file)
    }

    #[test]
    fn however_a_path_is_written_it_is_the_same_place() {
        for path in
            ["src/a.rs", "./src/a.rs", "src\\a.rs", "src//x/../a.rs", "/w/tree/src/a.rs", " /w/./tree/src/a.rs/"]
        {
            assert_eq!(file(path).as_deref(), Ok("src/a.rs"), "{path}");
        }
        assert_eq!(read("C:\\t\\a.rs", None, Some("C:/t/")), Ok(("a.rs".into(), None)));
        assert_eq!(file("/w/tree/ü/.b").as_deref(), Ok("ü/.b"));
    }

    #[test]
    fn a_path_outside_is_refused() {
        for path in ["/w/treehouse/a.rs", "/etc/passwd", "../a.rs", "a/../../b", "~/a", "/w/tree/../a", "C:\\a"] {
            assert_eq!(file(path), Err(PlaceError::Outside { path: path.into() }), "{path}");
        }
        assert_eq!(read("/w/tree/a.rs", None, None), Err(PlaceError::Outside { path: "/w/tree/a.rs".into() }));
        for path in ["", " ", ".", "/w/tree", "a/.."] {
            assert_eq!(file(path), Err(PlaceError::NoFile), "{path}");
        }
    }

    #[test]
    fn a_line_may_stand_behind_the_file() {
        assert_eq!(read("a.rs:12", None, None), Ok(("a.rs".into(), Some(12))));
        assert_eq!(read("a.rs:12:5", None, None), Ok(("a.rs".into(), Some(12))));
        assert_eq!(read("a.rs:12", Some(12), None), Ok(("a.rs".into(), Some(12))));
        assert_eq!(read("a.rs", Some(3), None), Ok(("a.rs".into(), Some(3))));
        assert_eq!(read("a:b", None, None), Ok(("a:b".into(), None)));
        assert_eq!(read("a.rs:99999999999", None, None), Ok(("a.rs:99999999999".into(), None)));
        assert_eq!(
            read("a.rs:12", Some(3), None),
            Err(PlaceError::TwoLines { path: "a.rs".into(), in_path: 12, line: 3 })
        );
        for (path, line) in [("a.rs", Some(0)), ("a.rs:0", None)] {
            assert_eq!(read(path, line, None), Err(PlaceError::LineZero { path: "a.rs".into() }));
        }
    }

    #[test]
    fn what_is_no_file_has_a_name() {
        for name in ["GOAL", "PLAN:section-2", "PLAN:phase-12"] {
            assert_eq!(file(name).as_deref(), Ok(name));
        }
        assert_eq!(read("GOAL:2", None, None), Ok(("GOAL".into(), Some(2))));
        for name in ["PLAN:", "PLAN:section-", "PLAN:section-0", "PLAN:part-1", "PLAN:phase-x", "PLAN:section--1"] {
            assert_eq!(file(name), Err(PlaceError::UnknownName { path: name.into() }), "{name}");
        }
    }

    #[test]
    fn garbage_is_refused() {
        assert_eq!(file("a\u{1b}[2J"), Err(PlaceError::ControlCharacter { path: "a\\u{1b}[2J".into() }));
        assert_eq!(file(&"x".repeat(2_000)), Err(PlaceError::TooLong));
    }
}
