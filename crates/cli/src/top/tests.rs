//! The view without a terminal: keys and events in, requests and screens out.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

use super::model::{Ask, Key, Model, Wish};
use super::*;

/// A row as a server sends it.
fn row(name: &str, status: &str, more: Value) -> LoopSummary {
    let at = "2026-01-01T00:00:00Z";
    let mut row = json!({
        "id": name, "name": name, "project": "/repo", "goal": format!("Goal of {name}"), "recipe": "promise",
        "status": status, "phase": null, "waiting_until": null, "waiting_for": null, "stop_reason": null,
        "verified": false, "iterations": 2, "limits": { "max_iterations": 5 }, "branch": null, "worktree": null,
        "base_commit": null, "head_commit": null, "agent": "claude", "session_policy": "resume",
        "claims": { "made": 0, "refused": 0 },
        "gates": [
            { "command": "a", "verdict": "pass", "exit_code": 0, "commit": null, "tree": null, "duration_ms": 1 },
            { "command": "b", "verdict": "fail", "exit_code": 1, "commit": null, "tree": null, "duration_ms": 1 },
        ],
        "usage": { "input_tokens": 1, "output_tokens": 1, "cost_usd": 0.5, "by_model": [], "by_role": [] },
        "steering": [], "history": [], "elapsed_ms": 90_000, "created_at": at, "started_at": at, "stopped_at": null,
        "updated_at": at, "activity": [], "last_activity_at": at, "driven": status == "running",
    });
    let (Some(row_fields), Value::Object(more)) = (row.as_object_mut(), more) else { unreachable!() };
    row_fields.extend(more);
    serde_json::from_value(row).unwrap_or_else(|error| panic!("{error}"))
}

fn question() -> Value {
    json!({ "questions": [{
        "id": "q1", "turn": { "iteration": 1, "role": "coder", "attempt": 1 }, "question": "Which database?",
        "default": "SQLite", "asked_at": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:30:00Z", "open": true,
        "answer": null, "answered_by": null, "answered_at": null,
    }] })
}

fn model() -> Model {
    let mut model = Model { now: "2026-01-01T00:00:10Z".parse().unwrap(), ..Model::default() };
    model.listed(vec![
        row("old", "completed", json!({ "verified": true, "outcome": "verified" })),
        row("works", "running", json!({})),
        row("review", "awaiting_review", json!({ "waiting_for": "your review is needed" })),
        row("asks", "waiting", question()),
    ]);
    model
}

fn press(model: &mut Model, keys: &str) -> Vec<Ask> {
    keys.chars().flat_map(|letter| model.key(Key::Char(letter))).collect()
}

fn select(model: &mut Model, id: &str) {
    model.selected = Some(id.to_owned());
}

fn screen(model: &mut Model, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::draw(frame, model)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect()
}

#[test]
// promise: top-1
fn the_list_shows_what_needs_somebody_first_and_hides_what_has_ended() {
    let mut model = model();
    let names = |model: &Model| model.shown().iter().map(|row| row.view.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&model), ["review", "asks", "works"]);
    press(&mut model, "e");
    assert_eq!(names(&model), ["review", "asks", "works", "old"]);
    let shown = screen(&mut model, 100, 24);
    assert_eq!(shown[0], "windlass top · 1 running · 1 open · 2 need you · $2.00 of 4 loops");
    assert_eq!(
        shown[1].split_whitespace().collect::<Vec<_>>().join(" "),
        "name status iter gates cost time last words"
    );
    let line = |at: usize| shown[at].split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(line(2), "review needs review 2/5 ✓1 ✗1 $0.50 1m your review is needed");
    assert_eq!(line(3), "asks needs answer 2/5 ✓1 ✗1 $0.50 1m asks: Which database?");
    assert_eq!(line(4), "works running 2/5 ✓1 ✗1 $0.50 1m Goal of works");
    assert_eq!(line(5), "old ✔ verified 2/5 ✓1 ✗1 $0.50 1m Goal of old");
    assert!(shown[23].starts_with("Enter feed · / filter"), "{}", shown[23]);
}

#[test]
fn the_selection_stays_on_its_loop_when_the_list_changes() {
    let mut model = model();
    select(&mut model, "works");
    model.listed(vec![row("new", "awaiting_review", json!({})), row("works", "running", json!({}))]);
    assert_eq!(model.selected.as_deref(), Some("works"));
    model.listed(vec![row("new", "running", json!({}))]);
    assert_eq!(model.selected.as_deref(), Some("new"), "what is gone gives way to what is at its place");
    model.listed(Vec::new());
    assert_eq!(model.selected, None);
    assert_eq!(press(&mut model, "jkGgmspraxw"), []);
}

#[test]
// promise: top-2
fn keys_ask_for_what_they_say() {
    let mut model = model();
    select(&mut model, "works");
    assert_eq!(press(&mut model, "p"), [Ask::Wish(Wish::Pause { id: "works".into() })]);
    assert_eq!(press(&mut model, "r"), [Ask::Wish(Wish::Resume { id: "works".into() })]);
    assert_eq!(press(&mut model, "sn"), [], "a stop is confirmed");
    assert_eq!(press(&mut model, "sy"), [Ask::Wish(Wish::Stop { id: "works".into() })]);
    assert_eq!(press(&mut model, "mquit? no"), [], "letters are text while a message is typed");
    let sent = model.key(Key::Enter);
    assert_eq!(sent, [Ask::Wish(Wish::Steer { id: "works".into(), message: "quit? no".into() })]);
    press(&mut model, "m ");
    assert_eq!(model.key(Key::Enter), [], "an empty message is not sent");
    assert!(model.message.as_ref().is_some_and(|message| message.failed));
    assert_eq!(press(&mut model, "a"), [], "nothing to approve");
    select(&mut model, "asks");
    press(&mut model, "wuse SQL");
    model.pasted("ite\n3");
    let text = "use SQLite 3".to_owned();
    assert_eq!(model.key(Key::Enter), [Ask::Wish(Wish::Answer { id: "asks".into(), question: "q1".into(), text })]);
    assert_eq!(press(&mut model, "q"), [Ask::Quit]);
    press(&mut model, "m");
    assert_eq!(model.key(Key::Interrupt), [Ask::Quit], "Ctrl-C quits wherever somebody types");
}

#[test]
// promise: top-2
fn an_approval_shows_what_changed_first() {
    let mut model = model();
    select(&mut model, "review");
    assert_eq!(press(&mut model, "a"), [Ask::DiffStat { id: "review".into() }]);
    assert!(screen(&mut model, 80, 24).join("\n").contains("Reading what changed"));
    model.diffstat("other", vec!["wrong".into()]);
    model.diffstat("review", vec!["modified src/lib.rs  +3 -1".into(), "1 files changed, +3 -1".into()]);
    let shown = screen(&mut model, 80, 24);
    assert!(shown[21].contains("modified src/lib.rs  +3 -1") && shown[22].contains("1 files changed"), "{shown:#?}");
    assert!(shown[23].starts_with("approve review? y approves"));
    assert_eq!(press(&mut model, "y"), [Ask::Wish(Wish::Approve { id: "review".into() })]);
    assert_eq!(press(&mut model, "xtoo long"), [Ask::DiffStat { id: "review".into() }]);
    let reason = "too long".to_owned();
    assert_eq!(model.key(Key::Enter), [Ask::Wish(Wish::Reject { id: "review".into(), reason })]);
}

#[test]
fn a_filter_narrows_the_list_while_it_is_typed() {
    let mut model = model();
    press(&mut model, "/ASK");
    assert_eq!(model.shown().len(), 1);
    assert_eq!(model.selected.as_deref(), Some("asks"));
    assert_eq!(screen(&mut model, 80, 24)[23], "filter: ASK▏");
    model.key(Key::Enter);
    assert!(screen(&mut model, 80, 24)[0].ends_with("filter: ASK"));
    model.key(Key::Escape);
    assert_eq!(model.shown().len(), 3);
}

#[test]
// promise: top-3
fn a_feed_follows_stays_where_somebody_reads_and_obeys_no_escape() {
    let mut model = model();
    select(&mut model, "works");
    assert_eq!(model.key(Key::Enter), [Ask::OpenFeed { id: "works".into() }]);
    assert!(screen(&mut model, 80, 24)[2].contains("No output yet"));
    model.fed("works", (1..=100).map(|n| format!("line {n}")));
    model.fed("other", ["not mine".to_owned()]);
    assert_eq!(screen(&mut model, 80, 24)[22], "line 100");
    model.key(Key::PageUp);
    let before = screen(&mut model, 80, 24)[22].clone();
    model.fed("works", ["more".to_owned()]);
    assert_eq!(screen(&mut model, 80, 24)[22], before, "new lines do not move what somebody reads");
    model.key(Key::End);
    model.fed("works", ["\u{1b}]52;c;eA==\u{7}\u{1b}[2J\u{1b}[31mred\u{202e}".to_owned()]);
    let last = screen(&mut model, 80, 24)[22].clone();
    assert!(last.chars().all(|c| !c.is_control()) && last.contains("^[]52;c") && last.contains("<U+202E>"), "{last:?}");
    model.fed("works", (0..5_000).map(|n| format!("flood {n}")));
    assert_eq!(model.feed.as_ref().unwrap().lines.len(), 2_000, "what is kept is bounded");
    assert_eq!(model.key(Key::Escape), [Ask::CloseFeed]);
    assert_eq!(model.selected.as_deref(), Some("works"));
}

#[test]
fn a_long_line_is_broken_and_wide_characters_are_not_cut() {
    assert_eq!(draw::wrapped("abcdef", 4), ["abcd", "ef"]);
    assert_eq!(draw::wrapped("界界界", 5), ["界界", "界"]);
    assert_eq!(draw::wrapped("", 5), [""]);
}

#[test]
// promise: top-4
fn a_terminal_that_is_too_small_is_told_so() {
    let mut model = model();
    for (width, height) in [(79, 24), (80, 23), (50, 20), (20, 5), (1, 1)] {
        let shown = screen(&mut model, width, height).join(" ");
        assert!(width < 20 || shown.contains("needs"), "{width}×{height}: {shown}");
    }
    assert!(screen(&mut model, 50, 20).join(" ").contains("at least 80×24; this one is 50×20"));
    assert_eq!(press(&mut model, "q"), [Ask::Quit]);
}

#[test]
fn every_size_is_drawn_with_a_hundred_loops_and_the_selection_in_sight() {
    let mut model = model();
    model.listed((0..100).map(|n| row(&format!("loop-{n:03}"), "running", json!({}))).collect());
    for (width, height) in [(80, 24), (120, 40), (300, 100)] {
        for key in [Key::Home, Key::PageDown, Key::PageDown, Key::End, Key::PageUp] {
            model.key(key);
            let selected = model.selected.clone().unwrap();
            let shown = screen(&mut model, width, height);
            assert!(shown.iter().any(|line| line.starts_with(&selected)), "{selected} at {width}×{height}");
        }
    }
}

#[test]
fn help_is_closed_by_any_key_and_asks_for_nothing() {
    let mut model = model();
    press(&mut model, "?");
    assert!(screen(&mut model, 80, 24).join("\n").contains("quit; loops keep running"));
    assert_eq!(press(&mut model, "q"), []);
    assert!(!model.help);
}
