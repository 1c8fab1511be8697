//! Strings that users read follow STYLE.md: no phrase of its left column, and none of the verbs that it avoids.
//!
//! Checks string literals of shipped crates, the help of commands, the texts of prompts, and the dashboard's English.

use std::ops::Range;
use std::path::Path;

use crate::source::Source;
use crate::workspace::{Crate, crates, shown, workspace_root};
use crate::{hold, is_test_file};

/// Whole words, in lower case, each with what to write instead.
const AVOID: &[(&str, &str)] = &[
    ("a person", "a user, or you"),
    ("a person asked for", "requested by a user"),
    ("anew", "again"),
    ("any more", "no longer"),
    ("as the system", "System"),
    ("asked of", "name the actor"),
    ("at all", "cut it"),
    ("at work", "running"),
    ("be had", "is not available"),
    ("by itself", "automatically, or cut it"),
    ("by themselves", "automatically, or cut it"),
    ("came to", "reached"),
    ("comes to", "reaches"),
    ("did not end well", "failed"),
    ("fails already", "already fails"),
    ("flips", "is flaky"),
    ("for good", "permanently"),
    ("go on", "continue, resume"),
    ("goes on", "continues, resumes"),
    ("going on", "continuing, resuming"),
    ("in any case", "cut it"),
    ("is no address", "is not a valid address"),
    ("leads out", "points outside"),
    ("leads to", "points to"),
    ("made again", "recreated"),
    ("means nothing", "is not recognized"),
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("names no", "reported no"),
    ("nobody agreed", "not trusted yet"),
    ("nothing said", "no output"),
    ("of its own", "separate, own"),
    ("of their own", "separate, own"),
    ("once more", "again"),
    ("put back", "restored, reverted"),
    ("read anew", "reloaded"),
    ("shows what can be said", "see … for all options"),
    ("taken back", "reverted"),
    ("takes over", "switched to"),
    ("takes up", "resumes"),
    ("tell", "report, show, send"),
    ("tells", "reports, shows, sends"),
    ("the finisher", "post-action agent"),
    ("told", "reported, shown, sent"),
    ("under way", "running"),
    ("was told to leave", "interrupted"),
    ("which is final", "already completed"),
    ("whoever", "name the actor"),
    ("without a word", "without output"),
    ("your rights", "your permissions"),
    ("your word", "your approval"),
];

/// Literals with such words that are not ours to choose, each with its reason.
const EXCEPT: &[(&str, &str)] = &[
    ("Please tell me who you are", "a message of git that Windlass recognizes"),
    ("end your answer with this on a line of its own", "the request for the promise, which users rely on"),
];

/// The ranges of string literals with at least two words, outside test modules.
fn literals(source: &Source) -> Vec<Range<usize>> {
    let tests = source.test_modules();
    let (text, code) = (source.text.as_bytes(), source.code.as_bytes());
    let mut found = Vec::new();
    let mut open: Option<usize> = None;
    // The blanked code keeps the quotes of a literal and nothing between them.
    for at in (0..code.len()).filter(|&at| code[at] == b'"' && text[at] == b'"') {
        match open.take() {
            None => open = Some(at + 1),
            Some(start) => found.push(start..at),
        }
    }
    found.retain(|range| {
        let is_prose = source.text[range.clone()].split_whitespace().count() > 1;
        is_prose && !tests.iter().any(|test| test.contains(&range.start))
    });
    found
}

/// Doc comments, which are the help of a command.
fn doc_comments(source: &Source) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in source.text.split_inclusive('\n') {
        if line.trim_start().starts_with("///") {
            found.push(start..start + line.len());
        }
        start += line.len();
    }
    found
}

/// The avoided words of a text, with what to write instead.
fn avoided(text: &str) -> Vec<(&'static str, &'static str)> {
    let joined: Vec<&str> = text.split_whitespace().filter(|word| *word != "\\" && *word != "///").collect();
    let text = joined.join(" ").to_lowercase();
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let has = |phrase: &str| {
        let mut at = text.match_indices(phrase);
        at.any(|(at, _)| !text[..at].ends_with(part) && !text[at + phrase.len()..].starts_with(part))
    };
    AVOID.iter().filter(|(phrase, _)| has(phrase)).copied().collect()
}

fn judge(broken: &mut Vec<String>, place: &str, text: &str) {
    if EXCEPT.iter().any(|(known, _)| text.contains(known)) {
        return;
    }
    broken.extend(avoided(text).into_iter().map(|(phrase, better)| format!("{place}: “{phrase}”: {better}")));
}

fn judge_source(broken: &mut Vec<String>, source: &Source) {
    let mut ranges = literals(source);
    if shown(&source.path).starts_with("crates/cli/src/args/") {
        ranges.extend(doc_comments(source));
    }
    for range in ranges {
        let place = format!("{}:{}", shown(&source.path), source.line_of(range.start));
        judge(broken, &place, &source.text[range]);
    }
}

/// Every string of a JSON document, with its path.
fn judge_json(broken: &mut Vec<String>, path: &str, value: &serde_json::Value) {
    match value {
        serde_json::Value::String(text) => judge(broken, path, text),
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                judge_json(broken, &format!("{path} {name}"), value);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| judge_json(broken, path, item)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}

#[test]
fn user_facing_strings_avoid_old_habits() {
    let root = workspace_root();
    let mut broken = Vec::new();
    let shipped = crates().into_iter().filter(|(name, _)| name != "windlass-testkit" && name != "windlass-simulate");
    let sources = shipped.flat_map(|(_, one): (String, Crate)| one.sources("src"));
    for source in sources.filter(|source| !is_test_file(&source.path)) {
        judge_source(&mut broken, &source);
    }
    for texts in ["prompt/texts", "review/texts", "summary/texts"] {
        let texts = root.join("crates/core/src").join(texts);
        for entry in std::fs::read_dir(&texts).expect("the texts of prompts").flatten() {
            let text = std::fs::read_to_string(entry.path()).expect("a text");
            judge(&mut broken, &shown(&entry.path()), &text);
        }
    }
    let english = root.join("web/src/i18n/locales/en.json");
    let strings = std::fs::read_to_string(&english).expect("the dashboard's strings");
    judge_json(&mut broken, "en.json", &serde_json::from_str(&strings).expect("JSON"));
    hold("strings that users read follow STYLE.md", &broken);
}

#[test]
fn finds_phrases_in_literals_help_and_across_lines() {
    let text = "/// Go on with it\nfn f() { g(\"told you\", \"x\", \"goes \\\n   on\"); } // told";
    let mut source = Source::new(Path::new("a.rs"), text.to_owned());
    let mut broken = Vec::new();
    judge_source(&mut broken, &source);
    assert_eq!(broken.len(), 2, "{broken:?}");
    source.path = workspace_root().join("crates/cli/src/args/a.rs");
    judge_source(&mut broken, &source);
    assert_eq!(broken.len(), 5, "{broken:?}");
}

#[test]
fn whole_words_only() {
    assert!(avoided("recommend a retold teller, and amend it").is_empty());
    assert_eq!(avoided("The loop goes on, told or not.").len(), 2);
}
