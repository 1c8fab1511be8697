//! What a shell gets: completions and man pages.

use crate::support::*;
use windlass_testkit::World;

/// What a real bash offers for a command line, the last word being typed.
fn completed(world: &World, words: &[&str]) -> Vec<String> {
    let script = r#"
        source <(windlass completions bash)
        COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMP_TYPE=9
        _clap_complete_windlass windlass "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut command = world.command("bash");
    let dir = binary().parent().unwrap();
    let path =
        std::env::join_paths([dir.into()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())));
    command.args(["--norc", "-c", script, "bash"]).args(words).env("PATH", path.unwrap());
    let out = world.run(command);
    out.assert_code(0);
    out.stdout.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
// promise: cli-10
fn bash_completes_loops_agents_recipes_and_milestones() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]").command_line();
    for name in ["fix-login", "fix-logout", "other"] {
        call(&world, &["run", "x", "--name", name, "--agent-command", &agent]).assert_code(0);
    }
    world.repo().write(".windlass/milestones/search.md", "");
    let add = ["milestone", "add", "page", "--title", "T", "--goal", "G", "--feature", "F", "--criterion", "C"];
    call(&world, &add).assert_code(0);
    for command in ["status", "logs", "merge", "steer", "clean", "proof"] {
        assert_eq!(completed(&world, &["windlass", command, "fix"]), ["fix-logout", "fix-login"], "{command}");
    }
    assert_eq!(completed(&world, &["windlass", "run", "--agent", "cla"]), ["claude"]);
    assert_eq!(completed(&world, &["windlass", "run", "--recipe", "au"]), ["audited"]);
    assert_eq!(completed(&world, &["windlass", "milestone", "start", "pa"]), ["page"]);
    for command in ["get", "set", "unset"] {
        assert_eq!(completed(&world, &["windlass", "config", command, "max_it"]), ["max_iterations"], "{command}");
    }
    assert!(completed(&world, &["windlass", "sta"]).contains(&"status".to_owned()));
}

#[test]
fn man_pages_cover_every_command() {
    let world = World::new();
    let dir = world.new_dir("man");
    call(&world, &["man", dir.to_str().unwrap()]).assert_code(0);
    let page = std::fs::read_to_string(dir.join("windlass-run.1")).unwrap();
    assert!(page.contains(".TH windlass-run 1"), "{page}");
    assert!(page.contains(".SH SYNOPSIS\n.nf\nwindlass run [OPTIONS] [GOAL]\n"), "{page}");
    assert!(page.contains(".SH EXAMPLES\n  windlass run ") && !page.contains("EXTRA"), "{page}");
    for name in ["windlass.1", "windlass-list.1", "windlass-milestone-start.1", "windlass-config-set.1"] {
        assert!(dir.join(name).is_file(), "{name}");
    }
    assert!(!dir.join("windlass-drive.1").exists(), "hidden commands have no page");
}
