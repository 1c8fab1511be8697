//! `windlass list`, and how every command finds its loop.

use crate::support::*;
use windlass_testkit::World;

/// One loop that is verified, one that only claims, one that changes nothing, one at its limit.
fn four_loops(world: &World) {
    let writes = world.script("[[turn]]\nsteps = [{ write = { path = \"{{loop}}\", content = \"x\\n\" } }, { say = \"<promise>COMPLETE</promise>\" }]");
    let says = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]");
    let never = world.script("[[turn]]\nsteps = [{ say = \"not yet\" }]");
    let run = |goal: &str, name: &str, agent: &windlass_testkit::ScriptedAgent, more: &[&str], code: i32| {
        let agent = agent.command_line();
        let mut args = vec!["run", goal, "--name", name, "--agent-command", &agent];
        args.extend(more);
        call(world, &args).assert_code(code);
    };
    run("Fix the login form for users with long names", "fix-login", &writes, &["--gate", "true"], 0);
    run("Describe the API", "describe-the-api", &writes, &[], 0);
    run("日本語の目標を達成する、とても長い目標です", "fix-logout", &says, &["--gate", "true"], 0);
    run("Never ends", "never", &never, &["--max-iterations", "1"], 3);
}

/// The list in so many columns, without ages, which differ.
fn listed(world: &World, columns: &str, more: &[&str]) -> String {
    let mut command = windlass(world, &["list"]);
    command.args(more).env("COLUMNS", columns);
    let out = world.run(command);
    out.assert_code(0);
    let widest = out.stdout.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap();
    assert!(widest <= columns.parse().unwrap(), "{widest} columns:\n{}", out.stdout);
    let ages = regex::Regex::new(r" \d+(\.\d)?(ms|s|m)\b").unwrap();
    ages.replace_all(&out.stdout, " AGE").into_owned()
}

#[test]
// promise: cli-6
fn list_fits_the_terminal_and_marks_verified_work() {
    let world = World::new();
    four_loops(&world);
    let narrow = listed(&world, "50", &[]);
    let usual = listed(&world, "80", &[]);
    let wide = listed(&world, "200", &[]);
    for text in [&narrow, &usual, &wide] {
        let word = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        assert!(word("fix-login ").contains("✔ verified"), "{text}");
        assert!(word("describe-the-api").contains(" claimed "), "{text}");
        assert!(word("fix-logout").contains(" unchanged "), "{text}");
        assert!(word("never").contains(" exhausted "), "{text}");
        assert_eq!(text.matches('✔').count(), 1, "{text}");
    }
    assert!(!narrow.contains("Describe") && usual.contains("Describe"), "{narrow}{usual}");
    assert!(usual.contains("Fix the login form for…") || usual.contains('…'), "{usual}");
    assert!(wide.contains("Fix the login form for users with long names"), "{wide}");
    call(&world, &["merge", "fix-login"]).assert_code(0);
    assert!(listed(&world, "80", &[]).contains("✔ merged"), "a merge shows");
}

#[test]
fn list_filters_by_status_outcome_agent_and_time() {
    let world = World::new();
    four_loops(&world);
    let names = |args: &[&str]| -> Vec<String> {
        let mut words = vec!["list", "--json"];
        words.extend(args);
        let rows = call(&world, &words).assert_code(0).json();
        rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["--status", "verified"]), ["fix-login"]);
    assert_eq!(names(&["--status", "claimed,exhausted"]), ["never", "describe-the-api"]);
    assert_eq!(names(&["--status", "completed"]), ["fix-logout", "describe-the-api", "fix-login"]);
    assert!(names(&["--status", "open"]).is_empty());
    assert!(names(&["--agent", "claude"]).is_empty());
    assert_eq!(names(&["--since", "1h"]).len(), 4);
    assert!(names(&["--since", "2999-01-01"]).is_empty());
    call(&world, &["list", "--agent", "claude"]).assert_code(0).assert_stdout_has("no loops match");
    call(&world, &["list", "--status", "verifed"]).assert_code(2).assert_stderr_has("did you mean 'verified'?");
    call(&world, &["list", "--since", "soon"]).assert_code(2).assert_stderr_has("a date such as 2026-11-01");
}

#[test]
fn list_says_how_to_see_the_next_page() {
    let world = World::new();
    four_loops(&world);
    let first = call(&world, &["list", "--limit", "3"]);
    first.assert_code(0).assert_stdout_has("1–3 of 4").assert_stdout_has("--page 2");
    let second = call(&world, &["list", "--limit", "3", "--page", "2"]);
    second.assert_code(0).assert_stdout_has("fix-login");
    assert!(!second.stdout.contains("never") && !second.stdout.contains("--page"), "{}", second.stdout);
    call(&world, &["list", "--limit", "3", "--page", "3"]).assert_code(2).assert_stderr_has("there are 2 pages");
}

#[test]
fn list_all_groups_by_project() {
    let world = World::new();
    four_loops(&world);
    call(&world, &["demo"]).assert_code(0);
    let text = listed(&world, "80", &["--all"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].ends_with("/calculator"), "{text}");
    assert!(lines[2].starts_with("demo "), "{text}");
    assert_eq!(lines[3], world.repo().path().to_str().unwrap(), "{text}");
    assert_eq!(lines.len(), 8, "{text}");
}

#[test]
// promise: cli-7
fn every_command_finds_a_loop_by_name_by_start_of_name_or_as_the_latest() {
    let world = World::new();
    four_loops(&world);
    let name = |args: &[&str]| call(&world, args).assert_code(0).json()["name"].as_str().unwrap().to_owned();
    assert_eq!(name(&["status", "--json"]), "never");
    assert_eq!(name(&["status", "des", "--json"]), "describe-the-api");
    assert_eq!(name(&["diff", "describe", "--json"]), "describe-the-api");
    assert_eq!(name(&["diff", "--json"]), "never");
    assert_eq!(name(&["status", "fix-login", "--json"]), "fix-login", "an exact name wins");
    let out = call(&world, &["merge", "fix"]);
    out.assert_code(2).assert_stderr_has("2 loops start with 'fix': fix-logout, fix-login");
    call(&world, &["logs"]).assert_code(0).assert_stdout_has("not yet");
    call(&world, &["findings"]).assert_code(0);
    call(&world, &["proof", "fix-logi"]).assert_code(0);
    call(&world, &["stop"]).assert_code(2).assert_stderr_has("never: ");
    call(&world, &["steer", "use tabs"]).assert_code(2).assert_stderr_has("never: ");
    call(&world, &["rollback", "des", "--to", "0"]).assert_code(0).assert_stdout_has("describe-the-api: ");
    call(&world, &["continue", "also the logout", "--detach"]).assert_code(2).assert_stderr_has("windlass resume");
    call(&world, &["demo"]).assert_code(0);
    assert_eq!(name(&["status", "demo", "--json"]), "demo", "a name that only another project has");
}

#[test]
fn logs_of_an_iteration_that_is_not_there_say_so() {
    let world = World::new();
    four_loops(&world);
    let out = call(&world, &["logs", "never", "--iteration", "9"]);
    out.assert_code(2).assert_stderr_has("never has 1 iteration; iteration 9 does not exist");
}
