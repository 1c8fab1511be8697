//! Runs the user's own tools, gh, glab, tea and git, with the user's own settings and logins.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::problem::{Kind, Problem};
use crate::words::one_line;

/// Far longer than any answer takes; a tool that waits for somebody to type would never end.
const LONGEST: Duration = Duration::from_secs(120);

/// What the command prints. It gets no input, so that it cannot ask anything.
pub(super) async fn output(words: &[String], dir: &Path) -> Result<String, Problem> {
    let [program, args @ ..] = words else { return Ok(String::new()) };
    let child = Command::new(program)
        .args(args)
        .current_dir(dir)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GH_PROMPT_DISABLED", "1")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let what = || args.iter().take(2).fold(program.clone(), |text, word| format!("{text} {word}"));
    let ended = tokio::time::timeout(LONGEST, child).await;
    let output = match ended {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(Problem::new(Kind::Failed, format!("cannot start {program}: {error}"))),
        Err(_) => return Err(Problem::new(Kind::Failed, format!("`{}` did not end within 2 minutes", what()))),
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let causes = said.lines().filter(|line| !line.trim().is_empty()).take(5).map(|line| one_line(line, 300)).collect();
    let problem = Problem::new(Kind::Refused, format!("`{}` failed", what()));
    let hint = match program.as_str() {
        "git" => "check the remote and your access to it with `git push --dry-run`".to_owned(),
        program => format!("check your login with `{program} auth status`, then try again"),
    };
    Err(Problem { causes, ..problem.hint(hint.replace("tea auth status", "tea login list")) })
}
