//! Where a loop's goal comes from.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A larger goal is most likely the wrong file.
const LARGEST: u64 = 4 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoalSource {
    Text(String),
    File(PathBuf),
    Stdin,
}

#[derive(Debug)]
pub enum GoalError {
    Unreadable { source: GoalSource, error: io::Error },
    NotText { source: GoalSource },
    TooLarge { source: GoalSource },
}

impl GoalSource {
    /// Reads the goal. Resolves a relative path against `cwd`. Does not check whether the goal is empty.
    pub fn read(&self, cwd: &Path, stdin: impl Read) -> Result<String, GoalError> {
        let unreadable = |error| GoalError::Unreadable { source: self.clone(), error };
        let mut bytes = Vec::new();
        match self {
            GoalSource::Text(text) => return Ok(text.clone()),
            GoalSource::File(path) => {
                let file = File::open(cwd.join(path)).map_err(unreadable)?;
                file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
            }
            GoalSource::Stdin => {
                stdin.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
            }
        }
        if bytes.len() as u64 > LARGEST {
            return Err(GoalError::TooLarge { source: self.clone() });
        }
        let text = String::from_utf8(bytes).map_err(|_| GoalError::NotText { source: self.clone() })?;
        // Drop the byte-order mark and the trailing newline that editors add.
        Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).trim_end().to_owned())
    }
}

impl std::fmt::Display for GoalSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GoalSource::Text(_) => f.write_str("the command line"),
            GoalSource::File(path) => write!(f, "{}", path.display()),
            GoalSource::Stdin => f.write_str("standard input"),
        }
    }
}

impl std::fmt::Display for GoalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GoalError::Unreadable { source, .. } => write!(f, "cannot read the goal from {source}"),
            GoalError::NotText { source } => write!(f, "the goal in {source} is not valid UTF-8"),
            GoalError::TooLarge { source } => write!(f, "the goal in {source} is larger than {LARGEST} bytes"),
        }
    }
}

impl std::error::Error for GoalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            GoalError::Unreadable { error, .. } => Some(error),
            GoalError::NotText { .. } | GoalError::TooLarge { .. } => None,
        }
    }
}

impl GoalError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            GoalError::Unreadable { .. } => "name a text file, or give the goal in quotes",
            GoalError::NotText { .. } => "save it as UTF-8",
            GoalError::TooLarge { .. } => "put the long part into a file of the repository and name it in the goal",
        }
    }
}
