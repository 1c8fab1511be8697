//! Commands on loops of which something is gone: files, branch, repository, transcripts.

use std::path::PathBuf;

use crate::support::*;
use windlass_testkit::World;

const GONE: [&[&str]; 7] = [
    &["workspace"],
    &["engine_git"],
    &["workspace", "engine_git"],
    &["branch"],
    &["workspace", "branch"],
    &["repository"],
    &["transcripts", "workspace"],
];

/// Nothing is left that the loop could go on with.
fn is_hopeless(gone: &[&str]) -> bool {
    gone.contains(&"repository") || (gone.contains(&"workspace") && gone.contains(&"branch"))
}

/// Takes it all away. Later commands run somewhere else and name the loop by its id.
fn lose(world: &World, gone: &[&str]) -> String {
    let status = status(world, "work");
    let workspace = PathBuf::from(status["worktree"].as_str().unwrap());
    for what in gone {
        match *what {
            "workspace" => std::fs::remove_dir_all(&workspace).unwrap(),
            "engine_git" => std::fs::remove_dir_all(workspace.with_extension("git")).unwrap(),
            "branch" => drop(world.repo().git(["update-ref", "-d", "refs/heads/windlass/work"])),
            "repository" => std::fs::remove_dir_all(world.repo().path()).unwrap(),
            "transcripts" => std::fs::remove_dir_all(world.data_dir().join("transcripts")).unwrap(),
            other => panic!("{other}"),
        }
    }
    status["id"].as_str().unwrap().to_owned()
}

fn at_root(world: &World, args: &[&str]) -> windlass_testkit::Output {
    let mut command = windlass(world, args);
    command.current_dir(world.root());
    world.run(command)
}

fn standing(world: &World, id: &str) -> (String, String) {
    let status = at_root(world, &["status", id, "--json"]).assert_code(0).json();
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    (word(&status["status"]), word(&status["stop_reason"]["type"]))
}

#[test]
// promise: control-11
fn interrupted_loop_is_paused_stopped_and_cleaned_whatever_is_gone() {
    for gone in GONE {
        for first in ["pause", "stop"] {
            let world = World::new();
            let agent = world.script("[[turn]]\nsteps = [{ touch = \"at\" }, \"hang\"]");
            let running = start(&world, &agent, &[]);
            agent.wait_touched("at");
            running.kill();
            running.wait_ended();
            world.wait_no_processes();
            let id = lose(&world, gone);
            if first == "pause" {
                at_root(&world, &["pause", &id]).assert_code(0);
                assert_eq!(standing(&world, &id).0, "paused", "{gone:?}");
            }
            at_root(&world, &["stop", &id]).assert_code(0);
            assert_eq!(standing(&world, &id), ("cancelled".into(), "cancelled".into()), "{gone:?}");
            at_root(&world, &["clean", &id]).assert_code(0);
        }
    }
}

#[test]
// promise: control-11
fn ended_loop_goes_on_or_stays_as_it_ended_whatever_is_gone() {
    for gone in GONE {
        for opener in ["resume", "restart"] {
            let world = World::new();
            let agent = world.script(
                "[[turn]]\nsteps = [{ write = { path = \"a\", content = \"1\" } }, { say = \"more\" }]\n\
                 [[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]",
            );
            run(&world, &agent, &["--max-iterations", "1", "--gate", "test -f a"]).assert_code(3);
            let id = lose(&world, gone);
            let out = at_root(&world, &[opener, &id, "--max-iterations", "+1"]);
            if is_hopeless(gone) {
                out.assert_code(2).assert_stderr_has(" missing").assert_stderr_has("hint: ");
                assert_eq!(standing(&world, &id), ("exhausted".into(), "max_iterations".into()), "{gone:?}");
                assert_eq!(agent.turns().len(), 1);
            } else {
                out.assert_code(0);
                assert_eq!(file_at_branch(&world, "work", "a"), "1", "{gone:?}: the work is there");
            }
            let cleaned = at_root(&world, &["clean", &id, "--json"]).assert_code(0).json();
            if gone.contains(&"repository") {
                let note = cleaned["removed"][0]["notes"][0].as_str().unwrap();
                let kept = PathBuf::from(note.rsplit(" at ").next().unwrap());
                assert_eq!(std::fs::read_to_string(kept.join("a")).unwrap(), "1", "{note}");
            }
        }
    }
}

/// Brings a loop called `work` to a rest of this kind.
fn rested(world: &World, state: &str) {
    let claims =
        "[[turn]]\nsteps = [{ write = { path = \"a\", content = \"1\" } }, { say = \"<promise>COMPLETE</promise>\" }]";
    match state {
        "completed" => drop(run(world, &world.script(claims), &["--gate", "test -f a"]).assert_code(0)),
        "errored" => drop(run(world, &world.script("[[turn]]\nsteps = [{ exit = 1 }]"), &[]).assert_code(7)),
        "paused" | "cancelled" => {
            let agent = world.script(
                "[[turn]]\nsteps = [{ write = { path = \"a\", content = \"1\" } }, { touch = \"at\" }, \"hang\"]",
            );
            let running = start(world, &agent, &[]);
            agent.wait_touched("at");
            let rest: &[&str] = if state == "paused" { &["pause", "work", "--now"] } else { &["stop", "work"] };
            call(world, rest).assert_code(0);
            running.wait_ended();
        }
        other => panic!("{other}"),
    }
}

#[test]
// promise: control-11
fn every_command_answers_in_every_rest_whatever_is_gone() {
    const COMMANDS: [&[&str]; 9] = [
        &["pause"],
        &["diff"],
        &["logs"],
        &["merge"],
        &["rollback", "--to", "0"],
        &["continue", "--detach"],
        &["proof"],
        &["stop"],
        &["status"],
    ];
    for state in ["paused", "cancelled", "completed", "errored"] {
        for gone in GONE {
            let world = World::new();
            rested(&world, state);
            let id = lose(&world, gone);
            for command in COMMANDS {
                // While its commits are there, a completed loop goes on.
                if command[0] == "continue" && !gone.contains(&"repository") {
                    continue;
                }
                let args = [&[command[0], id.as_str()], &command[1..]].concat();
                let out = at_root(&world, &args);
                let code = out.code.unwrap_or(-1);
                assert!((0..=9).contains(&code), "{state}, without {gone:?}: {}", out.shown());
                assert!(code == 0 || out.stderr.contains("error: "), "{state}, without {gone:?}: {}", out.shown());
                assert!(!out.stderr.contains("panicked"), "{state}, without {gone:?}: {}", out.shown());
                if gone.contains(&"repository") {
                    assert!(code == 0 || out.stderr.contains("hint: "), "{state}, without {gone:?}: {}", out.shown());
                }
            }
            let now = standing(&world, &id).0;
            let expected = if state == "paused" { "cancelled" } else { state };
            assert_eq!(now, expected, "without {gone:?}: a stop ends what rests, and nothing else changed its end");
            at_root(&world, &["clean", &id]).assert_code(0);
            world.wait_no_processes();
        }
    }
}
