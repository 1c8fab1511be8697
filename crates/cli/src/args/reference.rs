//! The reference in `docs/cli.md`, made from the same definitions as the parser.

use std::fmt::Write as _;

/// The whole page, as Markdown.
pub fn reference() -> String {
    let mut page = String::from(
        "# Command line\n\n\
         Generated from the program's definitions by `UPDATE=1 cargo test -p windlass --test loops usage_reference`.\n\n",
    );
    let mut root = super::definition().term_width(100);
    root.build();
    command(&mut page, "windlass", &mut root);
    page.push_str(
        "## Settings\n\n[configuration.md](configuration.md) lists every setting and environment variable.\n",
    );
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
