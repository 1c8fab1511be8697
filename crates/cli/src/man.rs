//! Man pages, one per command, made from the same definitions as the help.

use std::fs;
use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;

/// Writes the pages of all commands that are shown.
pub fn write(mut definition: Command, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    definition.build();
    of_command(&mut definition, to)
}

fn of_command(command: &mut Command, to: &Path) -> io::Result<()> {
    for sub in command.get_subcommands_mut().filter(|sub| !sub.is_hide_set()) {
        of_command(sub, to)?;
    }
    // As in the help. The library's own synopsis leaves out what options take.
    let usage = command.render_usage().to_string();
    let page =
        Man::new(command.clone()).source(concat!("windlass ", env!("CARGO_PKG_VERSION"))).manual("Windlass Manual");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    text.extend(synopsis(&usage).into_bytes());
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    if command.get_after_help().is_some() {
        page.render_extra_section(&mut text)?;
    }
    fs::write(to.join(page.get_filename()), named(&String::from_utf8_lossy(&text)))
}

fn synopsis(usage: &str) -> String {
    let lines = usage.trim_start_matches("Usage:").lines().map(|line| line.trim().replace('-', "\\-"));
    format!(".SH SYNOPSIS\n.nf\n{}\n.fi\n", lines.collect::<Vec<_>>().join("\n"))
}

/// The library calls the text after the options "EXTRA". It begins with examples.
fn named(page: &str) -> String {
    page.replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n").replace(".SH EXTRA\n", ".SH NOTES\n")
}
