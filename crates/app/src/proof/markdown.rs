//! A proof for the people who read a pull request.

use std::fmt::Write;

use windlass_core::machine::Verdict;
use windlass_core::sandbox::SandboxLevel;

use crate::words::count;

use super::statement::{Judgement, Statement};

/// Lines of a gate's output that are shown.
const SHOWN_LINES: usize = 20;

/// The statement as Markdown. Its numbers are those of the JSON; the JSON is what can be checked.
pub fn markdown(statement: &Statement) -> String {
    let proof = &statement.predicate;
    let mut text = String::new();
    let outcome = proof.outcome.map_or(proof.status.clone(), |outcome| outcome.name().to_owned());
    line(&mut text, format_args!("## Windlass: {} ({outcome})\n", inline(&proof.r#loop.name)));
    for quoted in proof.goal.trim().lines() {
        line(&mut text, format_args!("> {}", quoted.trim_end()));
    }
    line(&mut text, format_args!("\n| | |\n|---|---|"));
    let mut row = |name: &str, value: String| line(&mut text, format_args!("| {name} | {value} |"));
    row("base", code(&proof.base.commit));
    row(
        "head",
        format!(
            "{} on {}",
            code(&proof.head.commit),
            code(statement.subject.first().map_or("", |subject| &subject.name))
        ),
    );
    row(
        "iterations",
        format!("{}, {}, {} refused", proof.r#loop.iterations, count(proof.claims.made, "claim"), proof.claims.refused),
    );
    for agent in &proof.agents {
        let model = agent.model.as_ref().map_or(String::new(), |model| format!(" ({})", inline(model)));
        row(&agent.role.to_string(), format!("{}{model}", inline(&agent.name)));
    }
    let models: Vec<String> = proof.usage.by_model.iter().map(|used| inline(&used.model)).collect();
    row("models", if models.is_empty() { "unknown".to_owned() } else { models.join(", ") });
    row("cost", proof.usage.total.cost_usd.map_or("unknown".to_owned(), |usd| format!("${usd:.2}")));
    row(
        "sandbox",
        match proof.sandbox.level {
            SandboxLevel::Off => "off: the result may depend on other files of the machine".to_owned(),
            level @ (SandboxLevel::Workspace | SandboxLevel::ReadOnly | SandboxLevel::Docker) => {
                format!("{}, network {}", level.name(), word(&proof.sandbox.network))
            }
        },
    );
    row("gates start from", word(&proof.verify));
    let protected: Vec<String> = proof.protected_paths.iter().map(|glob| code(glob)).collect();
    row("protected paths", if protected.is_empty() { "none".to_owned() } else { protected.join(", ") });
    if !proof.restored.is_empty() {
        let restored: Vec<String> = proof.restored.iter().map(|file| code(file)).collect();
        row("restored", restored.join(", "));
    }
    row("journal", format!("{} events, hash chain at {}", proof.journal.events, code(&proof.journal.head)));
    gates(&mut text, statement);
    findings(&mut text, statement);
    line(&mut text, format_args!("\n### Commits\n"));
    for commit in proof.commits.iter().filter(|commit| !commit.undone) {
        let files =
            if commit.files_changed == 1 { "1 file".to_owned() } else { format!("{} files", commit.files_changed) };
        line(&mut text, format_args!("- {} iteration {}, {files}", code(&commit.commit), commit.iteration));
    }
    text
}

fn gates(text: &mut String, statement: &Statement) {
    line(text, format_args!("\n### Gates\n"));
    let runs = statement.final_judgements();
    if runs.is_empty() {
        line(text, format_args!("No gate ran on the last commit."));
    }
    for run in runs {
        let mark = if run.verdict.passed() { "✓" } else { "✗" };
        let seconds = run.duration_ms as f64 / 1000.0;
        line(text, format_args!("- {mark} {}: {}, {seconds:.1} s", code(&run.command), how(run)));
        let lines: Vec<&str> = run.output_tail.lines().collect();
        if !lines.is_empty() {
            let shown = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
            let fence = fence(&shown);
            let digest = run.output_sha256.as_deref().unwrap_or("unknown");
            line(
                text,
                format_args!(
                    "\n  <details><summary>Output (SHA-256 {digest})</summary>\n\n{fence}\n{shown}\n{fence}\n\n  </details>\n"
                ),
            );
        }
    }
}

fn findings(text: &mut String, statement: &Statement) {
    let findings = &statement.predicate.findings;
    if findings.is_empty() {
        return;
    }
    line(text, format_args!("\n### Findings\n"));
    for finding in findings {
        let place = finding.line.map_or(finding.file.clone(), |line| format!("{}:{line}", finding.file));
        let state = if finding.open { "open" } else { "resolved" };
        let severity = word(&finding.severity);
        line(text, format_args!("- {severity}, {state}, {}: {}", code(&place), inline(&finding.description)));
    }
}

fn how(run: &Judgement) -> String {
    match (run.verdict, run.exit_code) {
        (Verdict::TimedOut, _) => "timed out".to_owned(),
        (Verdict::NotStarted, _) => "could not be started".to_owned(),
        (Verdict::Pass | Verdict::Fail, Some(code)) => format!("exit code {code}"),
        (Verdict::Pass | Verdict::Fail, None) => "killed by a signal".to_owned(),
    }
}

fn line(text: &mut String, words: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{words}");
}

/// A value by the word that JSON has for it.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::json!(value).as_str().unwrap_or_default().to_owned()
}

/// One line that no mark of Markdown or HTML breaks out of.
fn inline(text: &str) -> String {
    let mut plain = String::new();
    for c in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '@' | '!') {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

/// The same, as code.
fn code(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    let ticks = "`".repeat(longest_run(&text, '`') + 1);
    match ticks.len() {
        1 => format!("`{text}`"),
        _ => format!("{ticks} {text} {ticks}"),
    }
}

fn fence(text: &str) -> String {
    "`".repeat(longest_run(text, '`').max(2) + 1)
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_stay_words() {
        assert_eq!(inline("a | b\n<script> @you"), "a \\| b \\<script\\> \\@you");
        assert_eq!(code("grep `x` | wc"), "`` grep `x` \\| wc ``");
        assert_eq!(fence("a\n````\nb"), "`````");
    }
}
