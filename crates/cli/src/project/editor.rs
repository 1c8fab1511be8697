//! The user's editor.

use std::path::Path;
use std::process::Command;

use crate::failure::Failure;

/// Opens a file in `$VISUAL`, `$EDITOR` or vi, and waits until the editor ends.
pub(super) fn open(file: &Path) -> Result<(), Failure> {
    let said =
        ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok().filter(|it| !it.trim().is_empty()));
    let editor = said.unwrap_or_else(|| "vi".to_owned());
    let hint = "set EDITOR to an editor that is installed";
    let words = shlex::split(&editor).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| Failure::usage(format!("'{editor}' is not a command"), hint))?;
    let ended = Command::new(&words[0]).args(&words[1..]).arg(file).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::usage(format!("the editor '{editor}' failed: {status}"), hint)),
        Err(error) => Err(Failure::usage(format!("cannot start the editor '{editor}': {error}"), hint)),
    }
}
