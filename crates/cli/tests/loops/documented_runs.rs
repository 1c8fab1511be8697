//! The commands of the documents are run as they are printed, block by block, in a world that has what they name.
//!
//! Each document has its own world, so its blocks may build on each other. A block with `<!-- checked: … -->` or
//! `<!-- not run: … -->` before it is left out; `documented_commands` says what those need.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use rustix::process::Signal;
use windlass_testkit::{Stream, World, type_in_terminal};

use super::documented_commands::{Block, blocks, commands, documents, is_marked, name_of};
use crate::support::*;

/// An agent that works like the one whose name it has: two files in each turn, of which gates need one, and a claim.
/// As a reviewer it is content.
const AGENT: &str = r###"
name=${0##*/}
case " $* " in *" --version "* | *" -V "*) echo "$name 99.0.0"; exit ;; esac
case $WINDLASS_TURN-$WINDLASS_LOOP in
*audit*) text='Fine.\n\n```windlass-review\n{\"verdict\": \"clean\", \"section_summary\": {\"done\": [\"it\"]}}\n```' ;;
*accept*) text='ACCEPTED' ;;
*coder*-milestone-*)
    if [ -f done ]; then
        text='## ALL_FEATURES_COMPLETE\n\nDone.\n\n### Commits\n- a: b\n\n### Summary\nall'
    else
        touch done; git add -A; git commit --quiet --message 'feat: x'
        text="## Implementation Report — Round 1\n\n**Feature**: F1: a\n**Commit**: $(git rev-parse --short HEAD)\n**Tests**: 1 passed, 0 failed\n**Lint**: clean"
    fi ;;
*)
    echo needed > needed; echo "$WINDLASS_TURN" > "$WINDLASS_LOOP"
    text='Done.\n\n<promise>COMPLETE</promise>' ;;
esac
case $name in
claude)
    printf '{"type":"system","subtype":"init","session_id":"s"}\n'
    printf '{"type":"assistant","session_id":"s","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"%s"}]}}\n' "$text"
    printf '{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"%s"}\n' "$text" ;;
codex) printf '{"type":"thread.started","thread_id":"s"}\n{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"%s"}}\n{"type":"turn.completed","usage":{}}\n' "$text" ;;
gemini) printf '{"type":"init","session_id":"s","model":"m"}\n{"type":"message","role":"assistant","content":"%s"}\n{"type":"result","status":"success","stats":{}}\n' "$text" ;;
*) printf "$text\n" ;;
esac
"###;

/// A repository, a home and programs as a reader of the documents has them.
fn readers_world() -> World {
    let world = World::new();
    for name in ["claude", "codex", "gemini"] {
        world.install_script(name, AGENT);
    }
    world.install_script("cargo", "exit 0");
    world.install_script(
        "gh",
        r#"echo '{"title":"An issue","body":"","url":"https://github.com/example/notes/issues/42"}'"#,
    );
    world.install_link("windlass", binary());
    let (repo, home) = (world.repo(), world.home());
    let plan = "# Plan\n\n<!-- windlass-section -->\n## Part 1\nDo it.\n";
    repo.write("plan.md", plan).write("goals.txt", "one goal\nanother goal\n").write("a.rs", "");
    repo.write("my-agent.sh", format!("#!/bin/sh\n{AGENT}"));
    std::fs::set_permissions(repo.path().join("my-agent.sh"), Permissions::from_mode(0o755)).unwrap();
    repo.write(".gitignore", "*.html\n*.proof.*\n");
    std::os::unix::fs::symlink(".", repo.path().join("your-repository")).unwrap();
    signing_key(&world);
    repo.commit("A project");
    repo.git(["remote", "add", "origin", "https://github.com/example/notes.git"]);
    // As `windlass init` would have found them.
    world.config("gates = [\"test -f needed\"]\n");
    std::fs::create_dir_all(home.join("acceptance")).unwrap();
    std::fs::write(home.join("acceptance/dates.sh"), "exit 0\n").unwrap();
    world
}

fn signing_key(world: &World) {
    let key = world.home().join(".ssh/id_ed25519");
    std::fs::create_dir_all(key.parent().unwrap()).unwrap();
    let mut command = world.command("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "you", "-f"]).arg(&key);
    world.run(command).assert_code(0);
    world.repo().git(["config", "gpg.format", "ssh"]);
    world.repo().git(["config", "user.signingkey", key.with_extension("pub").to_str().unwrap()]);
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let allowed = format!("you@example.com {public}");
    std::fs::write(key.with_file_name("allowed_signers"), &allowed).unwrap();
    world.repo().write("allowed_signers", allowed);
}

/// The loops that a document says it starts with, `<!-- given: the loops a, b -->`, and those whose work is merged, `<!-- given:
/// the merged loops c -->`. All are verified and have two iterations.
fn given<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let start = format!("<!-- given: the {kind} ");
    let lists = text.split(&start[..]).skip(1).filter_map(|rest| rest.split(" -->").next());
    lists.flat_map(|list| list.split(", ")).collect()
}

fn make(world: &World, name: &str) {
    let run = ["run", "do the work", "--name", name, "--agent", "claude", "--gate", "test -f needed"];
    // A recipe for which a second iteration is no surprise.
    call(world, &[&run[..], &["--iter", "2"]].concat()).assert_code(0);
}

/// Runs a command where the commands before it have gone; what went wrong.
fn run_as_printed(world: &World, line: &str) -> Option<String> {
    let shell = |world: &World| {
        let mut command: Command = world.command("sh");
        command.args(["-c", line]).env("CARGO_TERM_COLOR", "never");
        command
    };
    let Some(words) = shlex::split(line) else { return Some("a quote has no end".to_owned()) };
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["windlass", "top", ..] => {
            let (text, status) = type_in_terminal(shell(world), "q");
            (!status.success()).then_some(text)
        }
        ["windlass", "serve"] => {
            let mut command = world.command(binary());
            command.args(["serve", "--port", "0"]);
            let mut server = world.start(command);
            server.wait_line(Stream::Stdout, "http://");
            server.signal(Signal::INT);
            let out = server.wait();
            (out.code != Some(130) && out.code != Some(0)).then(|| out.shown())
        }
        _ => {
            let out = world.run(shell(world));
            (!out.success()).then(|| out.shown())
        }
    }
}

fn runs(block: &Block) -> bool {
    !is_marked(block) && block.holds_commands()
}

#[test]
// promise: cli-5
fn every_command_block_runs_as_printed() {
    let mut failed = Vec::new();
    let mut ran = 0;
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = name_of(&path);
        let found = blocks(&name, &text);
        if !found.iter().any(runs) {
            continue;
        }
        let world = readers_world();
        for name in given(&text, "loops") {
            make(&world, name);
        }
        for name in given(&text, "merged loops") {
            make(&world, name);
            call(&world, &["merge", name]).assert_code(0);
        }
        for block in found.iter().filter(|block| runs(block)) {
            for line in commands(block) {
                ran += 1;
                failed.extend(run_as_printed(&world, &line).map(|why| format!("{}: {line}\n{why}", block.place)));
            }
        }
    }
    assert!(failed.is_empty(), "\n{}\n", failed.join("\n\n"));
    assert!(ran > 40, "only {ran} commands ran");
}

#[test]
fn a_command_that_fails_is_noticed() {
    let world = readers_world();
    assert!(run_as_printed(&world, "windlass status nobody").is_some());
    assert_eq!(run_as_printed(&world, "windlass list"), None);
    assert_eq!(given("x\n<!-- given: the loops a, b -->\ny", "loops"), ["a", "b"]);
}
