//! A whole audited loop with the real Claude Code as coder and as auditor, who uses the tools that it is given.

use crate::driven::Driven;
use crate::support::{call, feed, of_type};
use windlass_testkit::clis::Cli;

/// The first audit finds a bug, the second resolves it and finds the section clean, the third is of the other section,
/// the fourth is the last.
const AUDITED: &str = r###"
    select = "starts"
    [[turn]]
    steps = [{ shell = "echo half > out.txt" }, { say = "Written." }]
    [[turn]]
    steps = [
        { tool = { name = "windlass__section-read", input = {} } },
        { tool = { name = "windlass__review-read", input = {} } },
        { tool = { name = "windlass__review-write", input = { file = "out.txt", line = 1, severity = "bug", description = "It says half; it has to say whole. Check: grep whole out.txt" } } },
        { tool = { name = "windlass__verdict", input = { verdict = "dirty" } } },
        { say = "There is a bug." },
    ]
    [[turn]]
    steps = [{ shell = "echo whole > out.txt" }, { say = "Mended." }]
    [[turn]]
    steps = [
        { tool = { name = "windlass__review-delete", input = { finding = "out.txt:1" } } },
        { tool = { name = "windlass__verdict", input = { verdict = "clean", summary = { done = ["the file says whole"] } } } },
        { say = "It is clean." },
    ]
    [[turn]]
    steps = [{ shell = "echo two > two.txt" }, { say = "Written." }]
    [[turn]]
    steps = [
        { tool = { name = "windlass__verdict", input = { verdict = "clean", summary = { done = ["two"] } } } },
        { say = "It is clean." },
    ]
    [[turn]]
    steps = [
        { tool = { name = "windlass__verdict", input = { verdict = "clean" } } },
        { say = "All of it is clean." },
    ]
"###;

#[test]
fn claude_codes_and_audits_with_the_tools() {
    let Some(driven) = Driven::new(Cli::Claude, "an audited loop with tools", AUDITED) else { return };
    let plan =
        "<!-- windlass-section -->\n## The file\nout.txt says whole.\n<!-- windlass-section -->\n## Two\nMore.\n";
    driven.world.repo().write("plan.md", plan).commit("A plan");
    let output = driven.run(&["--recipe", "audited", "--plan", "plan.md", "--gate", "test -f out.txt"]);
    let shown = || format!("{}\n{}", output.shown(), driven.server.summary());
    assert_eq!(driven.status()["status"], "completed", "{}", shown());
    output.assert_code(0);
    let items = feed(&driven.world, "work");
    assert_eq!(of_type(&items, "verdict_given").len(), 4, "{}", shown());
    assert_eq!(of_type(&items, "answer_unreadable").len(), 0, "{}", shown());
    let sealed = of_type(&items, "section_finished");
    assert_eq!(sealed.len(), 2, "{}", shown());
    let found = call(&driven.world, &["findings", "work", "--all", "--json"]).json();
    assert_eq!(found[0]["status"]["type"], "resolved", "{found}");
    assert_eq!(driven.world.repo().file_at("windlass/work", "out.txt"), "whole\n");
    driven.world.wait_no_processes();
}
