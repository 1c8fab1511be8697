//! The reference in the docs is the program's own.

use std::path::Path;

#[test]
// promise: cli-4
fn the_reference_is_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let said = windlass::args::reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &said).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == said,
        "docs/cli.md is out of date; run: UPDATE=1 cargo test -p windlass --test loops usage_reference"
    );
}

/// Every command that users see, by its words, with its definition.
fn commands(path: &str, definition: &clap::Command, found: &mut Vec<(String, clap::Command)>) {
    for sub in definition.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let path = format!("{path} {}", sub.get_name()).trim().to_owned();
        commands(&path, sub, found);
        found.push((path, sub.clone()));
    }
}

fn all_commands() -> Vec<(String, clap::Command)> {
    let mut found = Vec::new();
    let mut root = windlass::args::definition();
    root.build();
    commands("", &root, &mut found);
    found
}

#[test]
// promise: cli-4
fn every_command_and_argument_has_help() {
    for (path, command) in all_commands() {
        assert!(command.get_about().is_some(), "{path}");
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some_and(|help| !help.to_string().is_empty()), "{path}: {}", arg.get_id());
        }
    }
}

#[test]
fn every_command_that_reports_something_prints_json_on_request() {
    // They print one format of their own, talk to a person, or run until they are stopped.
    // The two of a fleet hand everything over to another program.
    const OTHERWISE: [&str; 11] = [
        "completions",
        "config edit",
        "config schema",
        "fleet",
        "man",
        "mcp",
        "milestone",
        "proof",
        "serve",
        "top",
        "worker",
    ];
    for (path, command) in all_commands() {
        let has = command.get_arguments().any(|arg| arg.get_long() == Some("json"));
        let group = command.is_subcommand_required_set();
        assert_eq!(has, !group && !OTHERWISE.contains(&path.as_str()), "{path}");
    }
}
