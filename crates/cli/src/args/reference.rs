//! The reference in `docs/cli.md`, made from the same definitions as the parser.

use std::fmt::Write as _;

use windlass_engine::config::{KEYS, PROFILE_FIELDS, environment};

/// The whole page, as Markdown.
pub fn reference() -> String {
    let mut page = String::from(
        "# Command line\n\n\
         Made from the definitions in the program by `UPDATE=1 cargo test -p windlass --test loops usage_reference`.\n\n",
    );
    let mut root = super::definition().term_width(100);
    root.build();
    command(&mut page, "windlass", &mut root);
    settings(&mut page);
    page
}

fn command(page: &mut String, path: &str, definition: &mut clap::Command) {
    let help = definition.clone().term_width(100).render_long_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "## {path}\n\n```text\n{}\n```\n\n", help.join("\n").trim_end());
    for sub in definition.get_subcommands_mut().filter(|sub| !sub.is_hide_set()) {
        let path = format!("{path} {}", sub.get_name());
        command(page, &path, sub);
    }
}

fn settings(page: &mut String) {
    page.push_str(
        "## Settings\n\n\
         From low to high: built-in defaults, the user's file (`$WINDLASS_CONFIG`, else `windlass/config.toml` in the\n\
         platform's directory for settings), the project's `.windlass/config.toml`, the environment, flags. A higher one\n\
         replaces the value of a lower one, lists included. `windlass config show` names where each value came from.\n\n\
         | key | flag | default | meaning |\n|---|---|---|---|\n",
    );
    for key in KEYS {
        let flag = key.flag.map_or(String::new(), |flag| format!("`{flag}`"));
        let _ = writeln!(page, "| `{}` | {flag} | {} | {} |", key.name, cell(key.default), cell(key.doc));
    }
    page.push_str("\nA table `[agents.NAME]` describes an agent:\n\n| key | meaning |\n|---|---|\n");
    for field in PROFILE_FIELDS {
        let _ = writeln!(page, "| `{}` | {} |", field.name, cell(field.doc));
    }
    page.push_str(
        "\n## Environment\n\nAn empty variable counts as one that is not set: a flag or a file switches the completion promise off.\n\
         Lists, such as `WINDLASS_GATES`, hold one item a line.\n\n\
         | variable | meaning |\n|---|---|\n",
    );
    for variable in environment() {
        let _ = writeln!(page, "| `{}` | {} |", variable.name, cell(variable.doc));
    }
}

/// Text in a table: nothing that Markdown or HTML would read as its own.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('>', "&gt;")
}
