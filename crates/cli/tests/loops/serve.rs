//! `windlass serve`: loops that nobody watches.

use crate::support::*;
use windlass_testkit::World;

const DEVELOPER: &str = r##"#!/bin/sh
cat > /dev/null
if [ -f done.txt ]; then
  printf '## ALL_FEATURES_COMPLETE\n\nDone.\n\n### Commits\n- a: b\n\n### Summary\nall\n'
  exit
fi
echo x > done.txt
git add -A
git commit --quiet --message "feat: x"
printf '## Implementation Report — Round 1\n\n**Feature**: F1: a\n**Commit**: %s\n' "$(git rev-parse --short HEAD)"
printf '**Tests**: 1 passed, 0 failed\n**Lint**: clean\n'
"##;

/// A project whose milestones start by themselves, with an acceptor that says this.
fn project(world: &World, says: &str) {
    let developer = world.install_script("developer", DEVELOPER);
    let acceptor = world.install_script("acceptor", &format!("#!/bin/sh\ncat > /dev/null\necho '{says}'\n"));
    world.config(&format!(
        "auto_start = true\nagent = \"developer\"\nreviewer = \"acceptor\"\n\
         [agents.developer]\ncommand = [{developer:?}]\n[agents.acceptor]\ncommand = [{acceptor:?}]\n"
    ));
}

fn add(world: &World, id: &str, more: &[&str]) {
    let words = ["milestone", "add", id, "--title", id, "--goal", "g", "--feature", "F1: a", "--criterion", "b"];
    call(world, &[&words[..], more].concat()).assert_code(0);
}

fn standing(world: &World) -> Vec<(String, String)> {
    let listed = call(world, &["milestone", "list", "--json"]).assert_code(0).json();
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
    listed.as_array().unwrap().iter().map(|row| (text(row, "id"), text(row, "status"))).collect()
}

#[test]
// promise: milestones-13
fn pending_milestones_start_by_themselves_in_their_order() {
    let world = World::new();
    project(&world, "ACCEPTED");
    add(&world, "later", &["--order", "2"]);
    add(&world, "first", &["--order", "1"]);
    let out = call(&world, &["serve", "--once"]);
    out.assert_code(0);
    let started: Vec<&str> = out.stdout.lines().filter(|line| line.starts_with("started")).collect();
    assert!(started[0].contains("milestone first") && started[1].contains("milestone later"), "{started:?}");
    let completed = |id: &str| (id.to_owned(), "completed".to_owned());
    assert_eq!(standing(&world), [completed("first"), completed("later")]);
    // What a milestone and its loop say agrees.
    let shown = call(&world, &["milestone", "show", "first", "--json"]).assert_code(0).json();
    assert_eq!(shown["loop"], status(&world, "milestone-first"));
    world.wait_no_processes();
}

#[test]
// promise: milestones-13
fn a_milestone_that_waits_for_a_person_keeps_the_next_one_back() {
    let world = World::new();
    project(&world, "ACCEPTED");
    add(&world, "first", &["--order", "1", "--human-review"]);
    add(&world, "later", &["--order", "2"]);
    call(&world, &["serve", "--once"]).assert_code(0);
    let is = |id: &str, status: &str| (id.to_owned(), status.to_owned());
    assert_eq!(standing(&world), [is("first", "awaiting_review"), is("later", "pending")]);
    call(&world, &["approve", "milestone-first"]).assert_code(0);
    call(&world, &["serve", "--once"]).assert_code(0);
    assert_eq!(standing(&world), [is("first", "completed"), is("later", "completed")]);
}

#[test]
// promise: milestones-13
fn nothing_starts_by_itself_where_nobody_asked_for_it() {
    let world = World::new();
    add(&world, "first", &[]);
    call(&world, &["serve", "--once"]).assert_code(0);
    assert_eq!(standing(&world), [("first".to_owned(), "pending".to_owned())]);
}

#[test]
// promise: api-4
fn a_start_of_the_server_changes_no_loop() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ touch = \"reached\" }, \"hang\"]");
    let running = start(&world, &agent, &[]);
    agent.wait_touched("reached");
    running.kill();
    running.wait_ended();
    world.wait_no_processes();
    let before = (status(&world, "work"), feed(&world, "work"));
    assert_eq!(before.0["status"], "interrupted");
    call(&world, &["serve", "--once"]).assert_code(0);
    assert_eq!((status(&world, "work"), feed(&world, "work")), before);
    assert_eq!(agent.turns().len(), 1);
}

#[test]
// promise: recovery-11
fn a_wait_whose_driver_was_killed_goes_on_by_itself() {
    let limited = "{ type = \"error\", kind = \"rate_limit\", message = \"slow down\", retry_after_ms = 1 }";
    let script = format!(
        "[[turn]]\nsteps = [{{ event = {limited} }}, {{ exit = 1 }}]\n\
         [[turn]]\nsteps = [{{ event = {{ type = \"text\", text = \"<promise>COMPLETE</promise>\" }} }}]\n"
    );
    // Killed after each append in turn, until it is the one that started the wait.
    for append in 1..20 {
        let world = World::new();
        let agent = world.script(&script);
        let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
        world.config(&format!("[agents.limited]\noutput = \"jsonl\"\ncommand = [{}]\n", words.join(", ")));
        let mut command = windlass(&world, &["run", "x", "--name", "work", "--agent", "limited"]);
        command.env("WINDLASS_TEST_FAULT", format!("append.after:{append}"));
        assert_eq!(world.run(command).signal, Some(9), "no append began a wait");
        world.wait_no_processes();
        let seen = feed(&world, "work");
        if of_type(&seen, "wait_started").is_empty() {
            continue;
        }
        assert!(of_type(&seen, "wait_ended").is_empty(), "{seen:?}");
        call(&world, &["serve", "--once"]).assert_code(0);
        assert_eq!(status(&world, "work")["status"], "completed");
        assert_eq!(agent.turns().len(), 2);
        return;
    }
    panic!("no append began a wait");
}

#[test]
// promise: recovery-7
fn a_milestone_that_was_cut_off_goes_on_and_a_paused_one_does_not() {
    let world = World::new();
    project(&world, "ACCEPTED");
    add(&world, "first", &[]);
    let mut command = windlass(&world, &["serve", "--once"]);
    command.env("WINDLASS_TEST_FAULT", "turn.started:1");
    assert_eq!(world.run(command).signal, Some(9));
    world.wait_no_processes();
    assert_eq!(status(&world, "milestone-first")["status"], "interrupted");
    call(&world, &["pause", "milestone-first", "--now"]).assert_code(0);
    call(&world, &["serve", "--once"]).assert_code(0);
    assert_eq!(status(&world, "milestone-first")["status"], "paused", "a person paused it");

    let world = World::new();
    project(&world, "ACCEPTED");
    add(&world, "first", &[]);
    let mut command = windlass(&world, &["serve", "--once"]);
    command.env("WINDLASS_TEST_FAULT", "turn.started:1");
    assert_eq!(world.run(command).signal, Some(9));
    world.wait_no_processes();
    call(&world, &["serve", "--once"]).assert_code(0);
    assert_eq!(status(&world, "milestone-first")["status"], "completed");
}

/// Builds the part that its milestone is named after; the second part needs the first.
const BUILDER: &str = r##"#!/bin/sh
part=$(grep -o 'part-[0-9]' | head -1)
[ "$part" = part-1 ] || [ -f part-1.txt ] || exit 1
if [ -f "$part.txt" ]; then
  printf '## ALL_FEATURES_COMPLETE\n\nDone.\n\n### Commits\n- a: b\n\n### Summary\nall\n'
  exit
fi
echo x > "$part.txt"
git add -A
git commit --quiet --message "feat: x"
printf '## Implementation Report — Round 1\n\n**Feature**: F1: a\n**Commit**: %s\n' "$(git rev-parse --short HEAD)"
printf '**Tests**: 1 passed, 0 failed\n**Lint**: clean\n'
"##;

/// Two milestones in a row, merged by the queue.
fn parts(world: &World) {
    project(world, "ACCEPTED");
    let builder = world.install_script("developer", BUILDER);
    let acceptor = world.bin_dir().join("acceptor");
    world.config(&format!(
        "auto_start = true\nmerge = \"queue\"\nagent = \"developer\"\nreviewer = \"acceptor\"\ngates = [\"test -f part-1.txt\"]\n\
         [agents.developer]\ncommand = [{builder:?}]\n[agents.acceptor]\ncommand = [{acceptor:?}]\n"
    ));
    add(world, "part-1", &["--order", "1"]);
    add(world, "part-2", &["--order", "2"]);
    world.repo().git(["add", "-A"]);
    world.repo().git(["commit", "-qm", "Plan"]);
}

#[test]
// promise: milestones-18
fn milestones_in_a_row_build_on_each_other_by_the_merge_queue() {
    let world = World::new();
    parts(&world);
    call(&world, &["serve", "--once"]).assert_code(0);
    for name in ["milestone-part-1", "milestone-part-2"] {
        assert_eq!(status(&world, name)["merged"]["target"], "main", "{name}");
    }
    assert!(["part-1.txt", "part-2.txt"].iter().all(|file| world.repo().path().join(file).exists()));
    assert_eq!(world.repo().status(), "");
    world.wait_no_processes();
}

#[test]
// promise: milestones-18
fn milestone_that_is_not_merged_keeps_the_next_one_back() {
    let world = World::new();
    parts(&world);
    world.repo().write("mine", "not committed\n");
    let out = call(&world, &["serve", "--once"]);
    out.assert_code(0).assert_stderr_has("milestone part-1").assert_stderr_has("the merge queue is paused");
    let is = |id: &str, status: &str| (id.to_owned(), status.to_owned());
    assert_eq!(standing(&world), [is("part-1", "completed"), is("part-2", "pending")]);
    std::fs::remove_file(world.repo().path().join("mine")).unwrap();
    call(&world, &["merge", "--queue"]).assert_code(0);
    call(&world, &["serve", "--once"]).assert_code(0);
    assert_eq!(status(&world, "milestone-part-2")["merged"]["target"], "main");
}
