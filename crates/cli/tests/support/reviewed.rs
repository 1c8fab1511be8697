//! Loops in which one scripted agent works and another judges.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::process::Command;

use windlass_testkit::{Output, ScriptedAgent, World};

use crate::support::windlass;

/// A coder that adds a line to a file, named after its role, in every turn.
pub const WORKS: &str = r#"
    [[turn]]
    steps = [{ append = { path = "{{role}}.txt", content = "{{iteration}}\n" } }, { say = "Done." }]
"#;

pub const CLEAN: &str = r#"{"verdict": "clean", "section_summary": {"done": ["it"]}}"#;

/// A script of a reviewer that says one answer after the other; the last one again and again.
pub fn says(answers: &[&str]) -> String {
    answers.iter().map(|answer| format!("[[turn]]\nsteps = [{{ say = '''{answer}''' }}]\n")).collect()
}

/// An auditor's answer with its block.
pub fn block(json: &str) -> String {
    format!("I looked at it.\n\n```windlass-review\n{json}\n```")
}

/// A script of an auditor that gives one block after the other.
pub fn audits(blocks: &[&str]) -> String {
    let answers: Vec<String> = blocks.iter().map(|json| block(json)).collect();
    says(&answers.iter().map(String::as_str).collect::<Vec<_>>())
}

pub fn audited_command(world: &World, coder: &ScriptedAgent, auditor: &ScriptedAgent, more: &[&str]) -> Command {
    let (coder, auditor) = (coder.command_line(), auditor.command_line());
    let mut args = vec!["run", "do the work", "--name", "work", "--recipe", "audited"];
    args.extend(["--agent-command", &coder, "--reviewer-command", &auditor]);
    args.extend(more);
    windlass(world, &args)
}

#[track_caller]
pub fn audited(world: &World, coder: &ScriptedAgent, auditor: &ScriptedAgent, more: &[&str]) -> Output {
    world.run(audited_command(world, coder, auditor, more))
}

/// A plan of so many sections, as a file of the repository.
pub fn plan(world: &World, sections: usize) {
    let section = |n: usize| format!("<!-- windlass-section -->\n## Part {n}\nDo part {n}.\n\n");
    let text: String = (1..=sections).map(section).collect();
    world.repo().write("plan.md", format!("# Objective\n\n{text}")).commit("The plan");
}
