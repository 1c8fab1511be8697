//! The settings file that `init` writes.

use super::found::{Found, FoundLine};

/// The whole file, with a comment on every setting.
pub(super) fn text(found: &Found, agent: Option<&str>) -> String {
    let mut text = String::from(
        "# Windlass settings of this project. `windlass config show` lists them all.\n\n\
         # Commands that check the agent's work. Windlass runs them on a clean\n\
         # checkout of each commit; the work is verified only if all exit with 0.\n",
    );
    text.push_str(&list("gates", &found.gates, "cargo test"));
    for gate in &found.more_gates {
        text.push_str(&format!("# Also found in {}: {}\n", gate.file, quoted(&gate.line)));
    }
    text.push_str(
        "\n# Commands that install the project's dependencies, run once before the\n\
         # first turn. The agent and the gates get a copy of their output.\n",
    );
    text.push_str(&list("setup", &found.setup, "npm ci"));
    text.push_str("\n# Files that the agent must not change. Windlass restores them after turns.\n");
    text.push_str(&list("protect", &found.protect, ".github/**"));
    if !found.tests.is_empty() {
        let globs: Vec<String> = found.tests.iter().map(|glob| quoted(&glob.line)).collect();
        text.push_str(&format!("# Add {} if the agent must not change the tests.\n", globs.join(", ")));
    }
    text.push_str("\n# The agent. `windlass agents` shows which ones are installed.\n");
    text.push_str(&match agent {
        Some(agent) => format!("agent = {}\n", quoted(agent)),
        None => "# agent = \"claude\"\n".to_owned(),
    });
    text
}

/// A list with the file that each entry comes from; an example behind a comment sign if there is none.
fn list(key: &str, lines: &[FoundLine], example: &str) -> String {
    if lines.is_empty() {
        return format!("# {key} = [{}]\n", quoted(example));
    }
    let lines: Vec<String> = lines.iter().map(|one| format!("    {}, # {}\n", quoted(&one.line), one.file)).collect();
    format!("{key} = [\n{}]\n", lines.concat())
}

/// As TOML writes a text. JSON's escapes are TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
