//! Settings that are lists of texts: commands, globs, paths.
//!
//! In the environment they are written one a line, because each of them may hold every other character.

use std::path::{Component, Path};

use serde_json::{Value as Json, json};
use toml_edit::Value as Toml;

use super::value::{Value, ValueError, command, texts};
use crate::notify::Occasion;
use windlass_core::nearest::nearest;

macro_rules! list {
    ($(#[$doc:meta])* $name:ident, $check:path, $expected:literal, $example:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct $name(Vec<String>);

        impl $name {
            pub fn new(items: Vec<String>) -> Result<Self, ValueError> {
                items.iter().try_for_each(|item| $check(item))?;
                Ok(Self(items))
            }

            pub fn get(&self) -> &[String] {
                &self.0
            }
        }

        impl Value for $name {
            const EXPECTED: &'static str = $expected;
            const EXAMPLE: &'static str = $example;

            fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
                Some(texts(value.as_array()?).and_then(Self::new))
            }

            fn from_text(text: &str) -> Result<Self, ValueError> {
                Self::new(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
            }

            fn from_items(items: Vec<String>) -> Result<Self, ValueError> {
                Self::new(items)
            }

            fn json(&self) -> Json {
                json!(self.0)
            }

            fn schema() -> Json {
                json!({ "type": "array", "items": { "type": "string", "minLength": 1 } })
            }
        }
    };
}

list!(
    /// Command lines for the user's shell.
    Commands,
    check_command,
    "a list of commands",
    "[\"npm ci\"]"
);
list!(
    /// Paths of the repository, with `*`, `?` and `**`.
    Globs,
    check_glob,
    "a list of globs",
    "[\"tests/**\"]"
);
list!(
    /// Files or folders below the root of the checkout.
    Files,
    check_file,
    "a list of paths",
    "[\".env\"]"
);
list!(
    /// Environment variables, by their names or the beginnings of them.
    Names,
    check_name,
    "a list of names",
    "[\"DATABASE_URL\"]"
);
list!(
    /// Agents as people name them.
    Wishes,
    check_wish,
    "a list of agents",
    "[\"codex:gpt-5\"]"
);
list!(
    /// Folders, seen from the root of the checkout.
    Folders,
    check_folder,
    "a list of directories",
    "[\".windlass/plans\"]"
);

list!(
    /// Places of this machine: absolute, or below the home.
    Locations,
    check_location,
    "a list of paths",
    "[\"~/.cache/tool\"]"
);

list!(
    /// Hosts, and the names of ready lists.
    Hosts,
    check_host,
    "a list of hosts",
    "[\"@models\"]"
);

fn check_host(text: &str) -> Result<(), ValueError> {
    crate::proxy::host_list(&[text.to_owned()]).map(drop).map_err(|error| {
        ValueError::new(error.to_string(), "for example: network_hosts = [\"@models\", \"*.example.org\"]")
    })
}

list!(
    /// What people want to be notified of.
    Occasions,
    check_occasion,
    "a list of needs_person, completed, stopped, waiting",
    "[\"needs_person\"]"
);

impl Occasions {
    pub(crate) fn occasions(&self) -> Vec<Occasion> {
        Occasion::ALL.into_iter().filter(|occasion| self.0.iter().any(|name| name == occasion.name())).collect()
    }
}

fn check_occasion(text: &str) -> Result<(), ValueError> {
    let known = Occasion::ALL.map(Occasion::name);
    if known.contains(&text) {
        return Ok(());
    }
    let hint = match nearest(text, known) {
        Some(near) => format!("did you mean '{near}'? possible values: {}", known.join(", ")),
        None => format!("possible values: {}", known.join(", ")),
    };
    Err(ValueError::new(format!("'{}' is not a notification event", text.escape_debug()), hint))
}

fn check_wish(wish: &str) -> Result<(), ValueError> {
    command(wish, "name of an agent", "use agent or agent:model, such as \"codex:gpt-5\"").map(drop)
}

fn check_command(text: &str) -> Result<(), ValueError> {
    command(text, "command", "write a command line, such as \"npm ci\"").map(drop)
}

fn check_glob(text: &str) -> Result<(), ValueError> {
    const HINT: &str = "use a path relative to the repository root, such as tests/** or Cargo.lock";
    plain(text, "glob", HINT)?;
    // Git reads more than a path in what starts like this.
    if text.starts_with([':', '!', '/']) || text.split('/').any(|part| part == "..") {
        return Err(ValueError::new(format!("'{}' is not a path inside the repository", text.escape_debug()), HINT));
    }
    if has_open_bracket(text) {
        let problem = format!("'{}' is not a glob: its [ has no ]", text.escape_debug());
        return Err(ValueError::new(problem, "close it, as in data[0-9].csv, or write [[] for the character itself"));
    }
    Ok(())
}

/// Whether a [ has no ] behind it: git matches nothing with that. A ] that comes first belongs to the set.
fn has_open_bracket(glob: &str) -> bool {
    let mut rest = glob;
    while let Some((_, set)) = rest.split_once('[') {
        let set = set.strip_prefix(['!', '^']).unwrap_or(set);
        let from = usize::from(set.starts_with(']'));
        match set[from..].split_once(']') {
            Some((_, behind)) => rest = behind,
            None => return true,
        }
    }
    false
}

fn check_name(text: &str) -> Result<(), ValueError> {
    let name = text.strip_suffix('*').unwrap_or(text);
    if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    let hint = match text {
        "*" => "list the variables one by one; agents could leak secrets that they do not need",
        _ => "use a name such as DATABASE_URL, or a prefix such as AWS_*",
    };
    Err(ValueError::new(format!("'{}' is not the name of an environment variable", text.escape_debug()), hint))
}

fn check_file(text: &str) -> Result<(), ValueError> {
    const HINT: &str = "use a path relative to the repository root, such as .env or config/local.json";
    plain(text, "path", HINT)?;
    let mut parts = Path::new(text).components().peekable();
    let in_git = parts.peek() == Some(&Component::Normal(".git".as_ref()));
    if in_git || !parts.all(|part| matches!(part, Component::Normal(_))) {
        return Err(ValueError::new(format!("'{}' is not a path inside the repository", text.escape_debug()), HINT));
    }
    Ok(())
}

fn check_location(text: &str) -> Result<(), ValueError> {
    const HINT: &str = "use an absolute path, or one that starts with ~/";
    plain(text, "path", HINT)?;
    if text.starts_with('/') || text.starts_with("~/") || text == "~" {
        return Ok(());
    }
    Err(ValueError::new(format!("'{}' is not an absolute path", text.escape_debug()), HINT))
}

fn check_folder(text: &str) -> Result<(), ValueError> {
    plain(text, "directory", "use a directory, such as .windlass/plans")
}

fn plain(text: &str, what: &str, hint: &'static str) -> Result<(), ValueError> {
    if text.trim().is_empty() {
        return Err(ValueError::new(format!("a {what} is blank"), hint));
    }
    if text.contains('\0') {
        return Err(ValueError::new(format!("a {what} contains a NUL character"), hint));
    }
    Ok(())
}
