//! Pull requests and issues, with stand-ins for gh, glab and tea that write down what they are given.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::*;
use windlass_testkit::World;

/// A tool that notes its words, one a line, and prints this.
fn stand_in(world: &World, name: &str, prints: &str) -> std::path::PathBuf {
    let noted = world.root().join(format!("{name}.words"));
    let script = format!("printf '%s\\n' \"$@\" > '{}'\ncat <<'END'\n{prints}\nEND", noted.display());
    world.install_script(name, &script);
    noted
}

/// A verified loop `work` in a repository whose remote has this address for reading and a directory for writing.
fn worked(world: &World, address: &str) -> std::path::PathBuf {
    let bare = world.new_dir("remote.git");
    world.repo().git(["init", "--bare", "--quiet", bare.to_str().unwrap()]);
    world.repo().git(["remote", "add", "origin", address]);
    world.repo().git(["config", &format!("url.{}.pushInsteadOf", bare.display()), address]);
    let agent = world.script("[[turn]]\nsteps = [{ write = { path = \"a\", content = \"x\\n\" } }, { say = \"<promise>COMPLETE</promise>\" }]");
    let line = agent.command_line();
    let goal = "Fix the \"login\" form\n\nIt fails for long names.";
    call(world, &["run", goal, "--name", "work", "--agent-command", &line, "--gate", "true"]).assert_code(0);
    bare
}

#[test]
// promise: cli-11
fn pr_pushes_the_branch_and_opens_a_request_with_the_proof() {
    let world = World::new();
    let bare = worked(&world, "https://github.com/me/x.git");
    let noted = stand_in(&world, "gh", "https://github.com/me/x/pull/7");
    let out = call(&world, &["pr"]);
    out.assert_code(0).assert_stdout_has("pushed windlass/work").assert_stdout_has("https://github.com/me/x/pull/7");
    let pushed = world.repo().git(["--git-dir", bare.to_str().unwrap(), "rev-parse", "windlass/work"]);
    assert_eq!(pushed, world.repo().rev("windlass/work"));
    let words = std::fs::read_to_string(noted).unwrap();
    assert!(
        words.starts_with("pr\ncreate\n--head\nwindlass/work\n--base\nmain\n--title\nFix the \"login\" form\n--body\n"),
        "{words}"
    );
    assert!(words.contains("## Windlass: work (verified)") && words.contains("hash chain"), "{words}");
}

#[test]
fn pr_without_a_tool_prints_the_exact_commands_and_pushes_nothing() {
    let world = World::new();
    let bare = worked(&world, "https://gitlab.com/me/x.git");
    let printed = call(&world, &["pr", "work", "--with", "glab", "--draft"]);
    printed.assert_code(0).assert_stdout_has("glab is not installed");
    printed.assert_stdout_has("  git push --set-upstream origin windlass/work\n");
    printed.assert_stdout_has(
        "  glab mr create --source-branch windlass/work --target-branch main --title 'Fix the \"login\" form'",
    );
    let text = Path::new(printed.stdout.split("$(cat ").nth(1).unwrap().split(')').next().unwrap());
    let mode = std::fs::metadata(text).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "the text is for this user alone");
    assert!(std::fs::read_to_string(text).unwrap().contains("## Windlass: work (verified)"));
    std::fs::remove_file(text).unwrap();
    let refs = world.repo().git(["--git-dir", bare.to_str().unwrap(), "for-each-ref"]);
    assert_eq!(refs, "", "nothing is pushed");
    let noted = stand_in(&world, "glab", "!5 https://gitlab.com/me/x/-/merge_requests/5");
    let json = call(&world, &["pr", "--with", "glab", "--json"]).assert_code(0).json();
    assert_eq!((&json["opened"], &json["url"]), (&true.into(), &"https://gitlab.com/me/x/-/merge_requests/5".into()));
    assert!(std::fs::read_to_string(noted).unwrap().starts_with("mr\ncreate\n--source-branch\nwindlass/work\n"));
}

#[test]
fn pr_of_a_loop_without_commits_is_refused() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]");
    run(&world, &agent, &[]).assert_code(0);
    call(&world, &["pr"]).assert_code(2).assert_stderr_has("work has no commits to propose");
}

#[test]
fn a_failing_tool_is_reported_with_its_own_words() {
    let world = World::new();
    worked(&world, "https://github.com/me/x.git");
    world.install_script("gh", "echo 'not logged in to any hosts' >&2; exit 4");
    let out = call(&world, &["pr", "--with", "gh"]);
    out.assert_code(2).assert_stderr_has("`gh pr create` failed").assert_stderr_has("not logged in to any hosts");
    out.assert_stderr_has("gh auth status");
}

#[test]
fn run_takes_its_goal_from_an_issue() {
    let world = World::new();
    world.repo().git(["remote", "add", "origin", "git@github.com:me/x.git"]);
    let issue = r#"{"title":"Login fails","body":"For long names.","url":"https://github.com/me/x/issues/42"}"#;
    let noted = stand_in(&world, "gh", issue);
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]").command_line();
    call(&world, &["run", "--issue", "#42", "--agent-command", &agent]).assert_code(0);
    let goal = status(&world, "login-fails")["goal"].as_str().unwrap().to_owned();
    assert_eq!(goal, "Login fails\n\nFor long names.\n\nIssue: https://github.com/me/x/issues/42");
    assert_eq!(std::fs::read_to_string(&noted).unwrap(), "issue\nview\n42\n--json\ntitle,body,url\n");
    let url = "https://gitlab.com/me/x/-/issues/3";
    let missing = call(&world, &["run", "--issue", url, "--agent-command", &agent]);
    missing.assert_code(2).assert_stderr_has("glab is not installed");
    stand_in(&world, "glab", r#"{"title":"Three","description":"D","web_url":"u"}"#);
    call(&world, &["run", "--issue", url, "--agent-command", &agent]).assert_code(0);
    assert_eq!(status(&world, "three")["goal"], "Three\n\nD\n\nIssue: u");
    call(&world, &["run", "--issue", "login", "--agent-command", &agent])
        .assert_code(2)
        .assert_stderr_has("not an issue");
}

#[test]
fn report_of_a_loop_and_over_time_in_three_formats() {
    let world = World::new();
    worked(&world, "https://github.com/me/x.git");
    let text = call(&world, &["report", "wor"]).assert_code(0).stdout.clone();
    assert!(text.starts_with("# work (✔ verified, sandbox off)\n\n> Fix the \"login\" form\n"), "{text}");
    assert!(text.contains("| ✔ passed | true |") && text.contains("| a    | +1    | -0      |"), "{text}");
    let html = call(&world, &["report", "work", "--format", "html"]).assert_code(0).stdout.clone();
    assert!(html.contains("<blockquote>Fix the &quot;login&quot; form<br>"), "{html}");
    let json = call(&world, &["report", "--json", "--since", "1d"]).assert_code(0).json();
    assert_eq!((&json["total"]["loops"], &json["total"]["verified"]), (&1.into(), &1.into()));
    assert_eq!(json["by_day"].as_array().unwrap().len(), 1);
    let text = call(&world, &["report", "--all"]).assert_code(0).stdout.clone();
    assert!(text.contains("## By agent") && text.contains("1 of 1 (100%)"), "{text}");
    let file = world.root().join("report.md");
    call(&world, &["report", "--output", file.to_str().unwrap()]).assert_code(0);
    assert!(std::fs::read_to_string(file).unwrap().starts_with("# Windlass report"));
}
