//! What is declared of each case and CLI, and the table that is made of it.
//!
//! Invariant: a cell of the table is a test of that name; what is not run has no word but a dash.

use std::fmt::Write as _;

use windlass_testkit::clis::Cli;

/// One row.
#[derive(Debug)]
pub struct Case {
    pub name: &'static str,
    pub title: &'static str,
    pub runs: &'static [(Cli, Verdict)],
}

/// What the test of a case with a CLI proves.
#[derive(Debug, Clone, Copy)]
pub enum Verdict {
    Works,
    /// The loop comes to the same end in another way.
    Differs(&'static str),
    /// The loop does not come to that end; the test proves what happens instead.
    #[allow(dead_code, reason = "all is well where no case needs it")]
    Not(&'static str),
}

const START: &str = "<!-- conformance:start -->";
const END: &str = "<!-- conformance:end -->";

/// The document with this table in it.
pub fn put_into(document: &str, cases: &[Case]) -> String {
    let (before, rest) = document.split_once(START).expect("the document has a place for the table");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    format!("{before}{START}\n\n{}\n{END}{after}", table(cases))
}

fn table(cases: &[Case]) -> String {
    let mut text = "| case | ".to_owned();
    let heads: Vec<String> = Cli::AGENTS.map(|cli| format!("{} {}", cli.name(), cli.version())).into();
    let _ = writeln!(text, "{} |\n|---|{}", heads.join(" | "), "---|".repeat(heads.len()));
    let mut notes: Vec<&str> = Vec::new();
    for case in cases {
        let cells = Cli::AGENTS.map(|cli| cell(case, cli, &mut notes));
        let _ = writeln!(text, "| `{}` {} | {} |", case.name, case.title, cells.join(" | "));
    }
    text.push('\n');
    for (index, note) in notes.iter().enumerate() {
        let _ = writeln!(text, "{}. {note}", index + 1);
    }
    text
}

fn cell(case: &Case, cli: Cli, notes: &mut Vec<&'static str>) -> String {
    let Some((_, verdict)) = case.runs.iter().find(|(of, _)| *of == cli) else { return "–".to_owned() };
    let (word, note) = match verdict {
        Verdict::Works => return "works".to_owned(),
        Verdict::Differs(note) => ("differently", *note),
        Verdict::Not(note) => ("not", *note),
    };
    let number = notes.iter().position(|known| *known == note).unwrap_or_else(|| {
        notes.push(note);
        notes.len() - 1
    });
    format!("{word} ({})", number + 1)
}

#[test]
fn cells_say_what_was_declared_and_nothing_of_what_was_not() {
    let case = Case {
        name: "a",
        title: "is done",
        runs: &[
            (Cli::Claude, Verdict::Works),
            (Cli::Codex, Verdict::Differs("later")),
            (Cli::Qwen, Verdict::Not("never")),
            (Cli::Gemini, Verdict::Differs("later")),
        ],
    };
    let text = put_into(&format!("x\n{START}\nold\n{END}\ny\n"), &[case]);
    let row = "| `a` is done | works | differently (1) | – | differently (1) | – | not (2) | – | – | – | – | – | – |\n";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("1. later\n2. never\n") && !text.contains("old"), "{text}");
}
