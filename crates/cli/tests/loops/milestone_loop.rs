//! Milestones by the real program: a developer builds feature by feature, an acceptor accepts.

use std::process::Command;

use crate::reviewed::says;
use crate::support::*;
use serde_json::{Value, json};
use windlass_testkit::{Output, ScriptedAgent, World};

const LOOP: &str = "milestone-search";

/// Steps of a turn that builds a feature, commits it and reports.
fn builds(feature: &str) -> String {
    let report = format!(
        "printf '## Implementation Report — Round {{{{iteration}}}}\\n\\n**Feature**: {feature}\\n**Commit**: %s\\n\
         **Tests**: 1 passed, 0 failed\\n**Lint**: clean\\n\\n### Changes\\n- log: more\\n' \"$(git rev-parse HEAD)\""
    );
    format!(
        "{{ append = {{ path = \"log\", content = \"{{{{iteration}}}}\\n\" }} }},\
         {{ git_commit = \"feat: {feature} {{{{iteration}}}}\" }}, {{ run = '''{report}''' }}"
    )
}

fn turn(steps: &str) -> String {
    format!("[[turn]]\nsteps = [{steps}]\n")
}

const COMPLETE: &str =
    "[[turn]]\nsteps = [{ say = '''## ALL_FEATURES_COMPLETE\n\nAll is done.\n\n### Summary\nAll of it.''' }]\n";

fn world_with(features: &[&str], more: &[&str]) -> World {
    let world = World::new();
    let mut args = vec!["milestone", "add", "search", "--title", "Search", "--goal", "Books can be searched"];
    for feature in features {
        args.extend(["--feature", feature]);
    }
    args.extend(["--criterion", "an empty query is an error"]);
    args.extend(more);
    call(&world, &args).assert_code(0);
    world.repo().commit("The milestone");
    world
}

fn start_command(world: &World, developer: &ScriptedAgent, acceptor: &ScriptedAgent, more: &[&str]) -> Command {
    let (developer, acceptor) = (developer.command_line(), acceptor.command_line());
    let mut args = vec!["milestone", "start", "search"];
    args.extend(["--agent-command", &developer, "--reviewer-command", &acceptor]);
    args.extend(more);
    windlass(world, &args)
}

#[track_caller]
fn start(world: &World, developer: &ScriptedAgent, acceptor: &ScriptedAgent, more: &[&str]) -> Output {
    world.run(start_command(world, developer, acceptor, more))
}

#[track_caller]
fn shown(world: &World) -> Value {
    call(world, &["milestone", "show", "search", "--json"]).assert_code(0).json()
}

#[test]
// promise: milestones-1
fn a_milestone_from_its_file_to_its_end() {
    let world = world_with(&["F1: by title (acceptance: titles are found)", "F2: by author"], &[]);
    let main = world.repo().head();
    // Started from another branch, it is still built on the default one.
    world.repo().git(["switch", "-q", "-c", "elsewhere"]);
    world.repo().write("unrelated", "x").commit("Not for the milestone");
    let elsewhere = world.repo().head();
    let developer =
        world.script(&format!("{}{}{COMPLETE}", turn(&builds("F1: by title")), turn(&builds("F2: by author"))));
    let acceptor = world.script(&says(&["ACCEPTED"]));
    assert_eq!(shown(&world)["status"], "pending");
    start(&world, &developer, &acceptor, &["--gate", "true"]).assert_code(0);
    let status = status(&world, LOOP);
    assert_eq!((&status["status"], &status["verified"]), (&json!("completed"), &json!(true)));
    assert_eq!(status["branch"], "milestone/search");
    assert_eq!(status["base_commit"], main.as_str());
    assert_eq!(status["review"]["milestone"], "search");
    let features = status["review"]["features_accepted"].as_array().unwrap();
    let ids: Vec<&Value> = features.iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["F1", "F2"]);
    // One state, however it is requested.
    let shown = shown(&world);
    assert_eq!(shown["status"], "completed");
    assert_eq!(shown["loop"], status);
    assert_eq!(call(&world, &["milestone", "list", "--json"]).json()[0]["status"], "completed");
    // The work is on its branch alone.
    let mut subjects: Vec<String> =
        world.repo().commits("main..milestone/search").into_iter().map(|one| one.subject).collect();
    subjects.reverse();
    assert_eq!(subjects, ["feat: F1: by title 1", "feat: F2: by author 2"]);
    assert_eq!(world.repo().rev("main"), main);
    assert_eq!(world.repo().head(), elsewhere);
    assert_eq!(world.repo().git(["branch", "--show-current"]), "elsewhere");
    assert_eq!(world.repo().status(), "", "the engine's own writes are not in the tree");
    assert!(!world.repo().tree_files("milestone/search").contains(&"unrelated".to_owned()));
    // Both work at the root of a tree, the acceptor in one of its own.
    let root = status["worktree"].as_str().unwrap();
    for start in &developer.turns() {
        assert_eq!(start.cwd.to_str(), Some(root));
    }
    let checkout = world.data_dir().join("judge").join(status["id"].as_str().unwrap()).join("review/tree");
    for start in &acceptor.turns() {
        assert_eq!(start.cwd, checkout);
    }
    // The acceptor sees what was really done, and what it is measured by.
    let asked = acceptor.prompts();
    assert!(asked[0].contains("titles are found") && asked[0].contains("+1"), "{}", asked[0]);
    assert!(asked[0].contains("Implementation Report"), "{}", asked[0]);
    assert!(asked[1].contains("+2") && !asked[1].contains("+1\n"), "only what is new: {}", asked[1]);
    assert!(asked[2].contains("an empty query is an error") && asked[2].contains("+1\n+2"), "{}", asked[2]);
    assert!(asked[2].contains("feat: F1: by title 1"), "every commit is told: {}", asked[2]);
    world.wait_no_processes();
}

#[test]
// promise: milestones-17
fn a_project_in_the_layout_of_anima_is_built_with_its_documents() {
    let world = World::new();
    for (path, text) in [
        ("VISION.md", "Every book is found."),
        (".anima/soul.md", "Never lose a book."),
        (".anima/memory/project.md", "The shelf is a list."),
        (
            ".anima/milestones/search.md",
            "# Search\n\n## Goal\nBooks are found.\n\n## Features\n- [ ] F1: by title (acceptance: titles)\n\n\
             ## Acceptance Criteria\n- [ ] it works\n",
        ),
    ] {
        world.repo().write(path, text);
    }
    world.repo().commit("The project");
    let developer = world.script(&format!("{}{COMPLETE}", turn(&builds("F1: by title"))));
    let acceptor = world.script(&says(&["ACCEPTED"]));
    start(&world, &developer, &acceptor, &[]).assert_code(0);
    for prompt in [&developer.prompts()[0], &acceptor.prompts()[0]] {
        assert!(prompt.contains("Never lose a book."), "{prompt}");
    }
    let first = &developer.prompts()[0];
    for told in ["Every book is found.", "The shelf is a list.", "F1: by title", "milestone/search"] {
        assert!(first.contains(told), "{told} is missing: {first}");
    }
}

#[test]
// promise: milestones-6
fn three_rejections_ask_a_person_who_gives_a_new_direction() {
    let world = world_with(&["F1: by title"], &[]);
    let again = turn(&builds("F1: by title"));
    let developer = world.script(&format!("{again}{again}{again}{again}{COMPLETE}"));
    let acceptor = world.script(&says(&[
        "REJECTED: no tests",
        "REJECTED: still no tests",
        "REJECTED: tests that test nothing",
        "ACCEPTED",
    ]));
    let out = start(&world, &developer, &acceptor, &[]);
    out.assert_code(6).assert_stdout_has("windlass reject");
    let status = status(&world, LOOP);
    assert_eq!(status["status"], "paused");
    assert_eq!(status["review"]["consecutive_rejections"], 3);
    let reasons = ["no tests", "still no tests", "tests that test nothing"];
    assert_eq!(status["review"]["rejection_reasons"], json!(reasons));
    let out = call(&world, &["status", LOOP]);
    for reason in reasons {
        out.assert_stdout_has(reason);
    }
    assert_eq!(call(&world, &["status", LOOP, "--exit-code"]).code, Some(6));
    assert!(developer.prompts()[1].contains("no tests"));
    assert!(developer.prompts()[2].contains("still no tests"));
    // What was rejected stays and is fixed.
    assert_eq!(world.repo().commits("main..milestone/search").len(), 3);
    call(&world, &["reject", LOOP, "--reason", "take the other test framework"]).assert_code(0);
    let prompt = &developer.prompts()[3];
    assert!(prompt.contains("take the other test framework") && !prompt.contains("tests that test nothing"));
    assert_eq!(crate::support::status(&world, LOOP)["status"], "completed");
    assert_eq!(crate::support::status(&world, LOOP)["review"]["consecutive_rejections"], 0);
}

#[test]
// promise: milestones-12
fn a_person_can_overrule_the_acceptor() {
    let world = world_with(&["F1: by title"], &[]);
    let again = turn(&builds("F1: by title"));
    let developer = world.script(&format!("{again}{again}{again}{COMPLETE}"));
    let acceptor = world.script(&says(&["REJECTED: a", "REJECTED: b", "REJECTED: c", "ACCEPTED"]));
    start(&world, &developer, &acceptor, &[]).assert_code(6);
    call(&world, &["approve", LOOP]).assert_code(0);
    let status = status(&world, LOOP);
    assert_eq!(status["review"]["features_accepted"][0]["id"], "F1");
    assert_eq!(status["status"], "completed");
    assert!(!developer.prompts()[3].contains("not accepted"), "{}", developer.prompts()[3]);
}

#[test]
// promise: milestones-8
fn claims_that_are_never_accepted_pause_at_the_limit() {
    let world = world_with(&["F1: by title"], &[]);
    let developer = world.script(&format!("{}{COMPLETE}", turn(&builds("F1: by title"))));
    let acceptor = world.script(&says(&["ACCEPTED", "REJECTED: the empty query panics"]));
    start(&world, &developer, &acceptor, &["--max-iterations", "5"]).assert_code(6);
    let ended = status(&world, LOOP);
    assert_eq!((&ended["status"], &ended["iterations"]), (&json!("paused"), &json!(5)));
    assert_eq!(ended["review"]["consecutive_rejections"], 0);
    assert!(developer.prompts()[2].contains("the empty query panics"), "{}", developer.prompts()[2]);
    assert_eq!(developer.turns().len(), 5);
    // Only a user with more room continues.
    call(&world, &["resume", LOOP]).assert_code(2).assert_stderr_has("limit");
    call(&world, &["resume", LOOP, "--max-iterations", "+1"]).assert_code(6);
    assert_eq!(developer.turns().len(), 6);
}

#[test]
// promise: milestones-10
fn a_commit_that_was_not_made_is_not_believed() {
    let world = world_with(&["F1: by title"], &[]);
    let lies = "## Implementation Report — Round 1\n\n**Feature**: F1: by title\n**Commit**: deadbeef\n\
                **Tests**: 9 passed, 0 failed\n**Lint**: clean\n";
    let works = "{ append = { path = \"log\", content = \"x\\n\" } }, { git_commit = \"feat: something\" }";
    let lie = turn(&format!("{works}, {{ say = '''{lies}''' }}"));
    let idle = turn(&format!("{{ say = '''{lies}''' }}"));
    let developer = world.script(&format!("{lie}{idle}{}{COMPLETE}", turn(&builds("F1: by title"))));
    let acceptor = world.script(&says(&["ACCEPTED"]));
    start(&world, &developer, &acceptor, &[]).assert_code(0);
    let prompts = developer.prompts();
    assert!(prompts[1].contains("the reported commit deadbeef"), "{}", prompts[1]);
    assert!(prompts[2].contains("no changes"), "{}", prompts[2]);
    assert_eq!(acceptor.turns().len(), 2, "for the third round and for the whole");
}

#[test]
fn unclear_verdict_is_asked_for_once_more_and_then_pauses_the_loop() {
    let world = world_with(&["F1: by title"], &[]);
    let developer = world.script(&format!("{}{COMPLETE}", turn(&builds("F1: by title"))));
    let acceptor = world.script(&says(&["Hm, ACCEPTED I guess", "It is fine.", "**ACCEPTED**"]));
    start(&world, &developer, &acceptor, &[]).assert_code(6);
    let paused = status(&world, LOOP);
    assert_eq!((&paused["pause"]["type"], &paused["pause"]["role"]), (&json!("reviewer"), &json!("acceptor")));
    call(&world, &["resume", LOOP]).assert_code(0);
    let feed = feed(&world, LOOP);
    assert_eq!(of_type(&feed, "answer_unreadable").len(), 2);
    let reviewed = of_type(&feed, "reviewed");
    assert!(reviewed.iter().all(|one| one["ruling"]["type"] == "accepted"), "nobody rejected the work: {reviewed:?}");
    assert!(acceptor.prompts()[1].contains("Your last answer was invalid"));
}

#[test]
// promise: review-1
fn what_an_acceptor_changes_is_undone() {
    let world = world_with(&["F1: by title"], &[]);
    let developer = world.script(&format!("{}{COMPLETE}", turn(&builds("F1: by title"))));
    let acceptor = world.script(
        "[[turn]]\nsteps = [{ write = { path = \"log\", content = \"mine\" } }, { git_commit = \"by the acceptor\" }, { say = \"ACCEPTED\" }]",
    );
    start(&world, &developer, &acceptor, &[]).assert_code(0).assert_stdout_has("reverted changes of a read-only role");
    assert_eq!(world.repo().file_at("milestone/search", "log"), "1\n");
    assert_eq!(world.repo().commits("main..milestone/search").len(), 1);
}

#[test]
// promise: milestones-14
fn an_edited_file_is_shown_and_taken_by_a_restart() {
    let world = world_with(&["F1: by title"], &[]);
    let developer = world.script(&format!("{}{COMPLETE}", turn(&builds("F1: by title"))));
    let acceptor = world.script(&says(&["ACCEPTED", "REJECTED: no", "ACCEPTED"]));
    start(&world, &developer, &acceptor, &["--max-iterations", "2"]).assert_code(6);
    assert_eq!(shown(&world)["edited"], false);
    let file = ".windlass/milestones/search.md";
    let text = world.repo().read(file).replace("an empty query is an error", "an empty query lists everything");
    world.repo().write(file, text).commit("Changed my mind");
    assert_eq!(shown(&world)["edited"], true);
    call(&world, &["milestone", "show", "search"]).assert_stdout_has("windlass restart milestone-search");
    call(&world, &["restart", LOOP, "--max-iterations", "+2"]).assert_code(0);
    let prompt = developer.prompts().pop().unwrap();
    assert!(prompt.contains("lists everything") && !prompt.contains("is an error"), "{prompt}");
    assert!(prompt.contains("F1: by title ("), "what was accepted stays: {prompt}");
    assert!(acceptor.prompts().pop().unwrap().contains("lists everything"));
    assert_eq!(shown(&world)["edited"], false);
}

/// Kills a loop in the developer's second round, in the middle of a file, and resumes it.
fn killed_in_the_second_round(world: &World, developer: &ScriptedAgent, command: Command) {
    let running = world.start(command);
    developer.wait_touched("at");
    running.kill();
    running.wait_ended();
    world.wait_no_processes();
    assert_eq!(status(world, LOOP)["status"], "interrupted");
    assert_eq!(shown(world)["status"], "interrupted");
    call(world, &["resume", LOOP]).assert_code(0);
    assert_eq!(status(world, LOOP)["iterations"], 3);
    assert!(developer.prompts()[2].contains("F1: by title ("), "what is done is told: {}", developer.prompts()[2]);
}

fn half_done() -> String {
    let half = "{ say = \"session: dev-1\" }, { append = { path = \"log\", content = \"half\\n\" } }, \
                { touch = \"at\" }, { wait_for = \"go\" }";
    format!("{}{}{}{COMPLETE}", turn(&builds("F1: by title")), turn(half), turn(&builds("F2: by author")))
}

#[test]
// promise: recovery-4
fn killed_in_a_developers_turn_it_goes_on_in_its_session_and_is_told_of_the_tree() {
    let world = world_with(&["F1: by title", "F2: by author"], &[]);
    let developer = world.script(&half_done());
    let acceptor = world.script(&says(&["ACCEPTED"]));
    let words: Vec<String> = developer.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!(
        "[agents.dev]\ncommand = [{}]\nsession_pattern = \"session: (\\\\S+)\"\nresume_args = [\"--resume\", \"{{session}}\"]\n",
        words.join(", ")
    ));
    let acceptor = acceptor.command_line();
    let args = ["milestone", "start", "search", "--agent", "dev", "--reviewer-command", &acceptor];
    killed_in_the_second_round(&world, &developer, windlass(&world, &args));
    let prompt = &developer.prompts()[2];
    assert!(prompt.contains("The previous turn was interrupted") && prompt.contains("git status"), "{prompt}");
    assert!(developer.turns()[2].args.contains(&"dev-1".to_owned()), "{:?}", developer.turns()[2].args);
    assert_eq!(world.repo().file_at("milestone/search", "log"), "1\nhalf\n2\n", "what it had done is there");
}

#[test]
fn killed_in_a_developers_turn_without_a_session_it_begins_at_the_last_commit() {
    let world = world_with(&["F1: by title", "F2: by author"], &[]);
    let developer = world.script(&half_done());
    let acceptor = world.script(&says(&["ACCEPTED"]));
    killed_in_the_second_round(&world, &developer, start_command(&world, &developer, &acceptor, &[]));
    assert_eq!(world.repo().file_at("milestone/search", "log"), "1\n2\n");
    let cut = world.repo().refs("refs/windlass/").into_iter().find(|name| name.contains("/cut/"));
    assert_eq!(world.repo().file_at(&cut.unwrap(), "log"), "1\nhalf\n", "nothing is lost");
}

#[test]
fn rejections_are_remembered_over_a_kill_and_a_paused_loop_stays_paused() {
    let world = world_with(&["F1: by title"], &[]);
    let again = turn(&builds("F1: by title"));
    let waits = turn("{ touch = \"at\" }, { wait_for = \"go\" }");
    let developer = world.script(&format!("{again}{again}{waits}{again}"));
    let acceptor = world.script(&says(&["REJECTED: a", "REJECTED: b", "REJECTED: c"]));
    let running = world.start(start_command(&world, &developer, &acceptor, &[]));
    developer.wait_touched("at");
    running.kill();
    running.wait_ended();
    world.wait_no_processes();
    assert_eq!(status(&world, LOOP)["review"]["consecutive_rejections"], 2);
    call(&world, &["resume", LOOP]).assert_code(6);
    let paused = status(&world, LOOP);
    assert_eq!(paused["review"]["rejection_reasons"], json!(["a", "b", "c"]));
    for args in [&["list"][..], &["status", LOOP], &["milestone", "list"], &["logs", LOOP]] {
        call(&world, args).assert_code(0);
    }
    assert_eq!(status(&world, LOOP), paused, "nothing goes on by itself");
    assert_eq!(developer.turns().len(), 4);
}

#[test]
// promise: milestones-11
fn a_milestone_that_requires_a_person_awaits_one() {
    let world = world_with(&["F1: by title"], &["--human-review"]);
    let developer = world.script(&format!("{}{COMPLETE}", turn(&builds("F1: by title"))));
    let acceptor = world.script(&says(&["ACCEPTED"]));
    start(&world, &developer, &acceptor, &[]).assert_code(6);
    assert_eq!(shown(&world)["status"], "awaiting_review");
    call(&world, &["approve", LOOP]).assert_code(0);
    assert_eq!(shown(&world)["status"], "completed");
}

#[test]
// promise: milestones-2
fn a_branch_of_that_name_is_refused_before_anything_is_made() {
    for existing in ["milestone/search", "milestone", "milestone/search/old"] {
        let world = world_with(&["F1: by title"], &[]);
        world.repo().git(["branch", existing]);
        let developer = world.script(COMPLETE);
        let acceptor = world.script(&says(&["ACCEPTED"]));
        start(&world, &developer, &acceptor, &[]).assert_code(2).assert_stderr_has(existing);
        assert_eq!(shown(&world)["status"], "pending", "{existing}");
        assert_eq!(developer.turns().len(), 0);
        world.repo().git(["branch", "-D", existing]);
        start(&world, &developer, &acceptor, &["--max-iterations", "1"]).assert_code(6);
    }
}

#[test]
// promise: milestones-2
fn a_milestone_is_started_once_and_unknown_or_broken_ones_are_told() {
    let world = world_with(&["F1: by title"], &[]);
    let developer = world.script(&format!("{}{COMPLETE}", turn(&builds("F1: by title"))));
    let acceptor = world.script(&says(&["ACCEPTED"]));
    start(&world, &developer, &acceptor, &[]).assert_code(0);
    start(&world, &developer, &acceptor, &[]).assert_code(2).assert_stderr_has("already started");
    call(&world, &["milestone", "start", "nope"]).assert_code(2).assert_stderr_has("search");
    call(&world, &["milestone", "start", "../x"]).assert_code(2);
    world.repo().write(".windlass/milestones/broken.md", "no headings at all");
    call(&world, &["milestone", "start", "broken"]).assert_code(2).assert_stderr_has("broken.md");
    call(&world, &["milestone", "list"]).assert_code(0).assert_stdout_has("search").assert_stderr_has("broken.md");
}
