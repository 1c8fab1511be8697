//! Each rule of the summary by its number.

use proptest::prelude::*;

use super::history::TRUNCATED;
use super::message::{files_display, task_display};
use super::*;
use crate::agent::{AgentEvent, ErrorKind};
use crate::text::{end_within, start_within, truncate_str};

/// A tokenizer whose tokens are easily counted: words of up to four bytes.
fn words(text: &str) -> usize {
    text.split_whitespace().map(|word| word.len().div_ceil(4)).sum()
}

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text { text: format!("{text}\n") }
}

fn used(name: &str, input: &str) -> AgentEvent {
    AgentEvent::ToolUse { id: String::new(), name: name.into(), input: input.into() }
}

fn returned(output: &str) -> AgentEvent {
    AgentEvent::ToolResult { id: String::new(), output: output.into(), is_error: false }
}

fn seen(events: &[AgentEvent]) -> TurnHistory {
    let mut history = TurnHistory::default();
    events.iter().for_each(|event| history.see(event));
    history
}

fn told(events: &[AgentEvent]) -> String {
    seen(events).text(HISTORY_TOKENS, &words)
}

fn material() -> Material {
    Material {
        iteration: 3,
        task: "fix {{ this }} and {% that %}".into(),
        files: vec!["src/a.rs".into(), "src/b.rs".into()],
        files_changed: 2,
        history: "[assistant]: {{ history }}".into(),
        ..Material::default()
    }
}

#[test]
// promise: summaries-2
fn items_have_their_formats_and_a_blank_line_between() {
    let events = [text("I look."), used("Bash", "{\"command\":\"ls\"}"), returned("a.rs\n"), text("Done.")];
    assert_eq!(
        told(&events),
        "[assistant]: I look.\n\n[tool_use]: Bash - {\"command\":\"ls\"}\n\n[tool_result]: a.rs\n\n[assistant]: Done."
    );
}

#[test]
fn text_in_pieces_is_one_message() {
    let piece = |text: &str| AgentEvent::Text { text: text.into() };
    assert_eq!(told(&[piece("Hel"), piece("lo "), piece("wörld\n")]), "[assistant]: Hello wörld");
}

#[test]
// promise: summaries-2
fn arguments_are_cut_at_200_and_output_at_500_characters() {
    let long = "测".repeat(600);
    let history = told(&[used("Write", &long), returned(&long)]);
    let expected = format!("[tool_use]: Write - {}...\n\n[tool_result]: {}...", "测".repeat(200), "测".repeat(500));
    assert_eq!(history, expected);
}

#[test]
// promise: context-10
fn cutting_never_splits_a_character() {
    assert_eq!(truncate_str("短", 200), "短");
    assert_eq!(truncate_str("日本語", 3), "日本語");
    assert_eq!(truncate_str("日本語です", 3), "日本語...");
    assert_eq!(truncate_str("", 0), "");
    assert_eq!(truncate_str("🦀🦀", 1), "🦀...");
}

#[test]
// promise: summaries-2
fn what_is_no_action_of_the_agent_is_left_out() {
    let dropped = [
        AgentEvent::Thinking { text: "hmm".into() },
        AgentEvent::Raw { line: "{\"type\":\"ghost_snapshot\"}".into() },
        AgentEvent::Session { id: "s".into() },
        AgentEvent::Usage { model: "m".into(), usage: crate::usage::Usage::default() },
        AgentEvent::Error { kind: ErrorKind::Network, message: "boom".into(), retry_at: None, retry_after_ms: None },
        AgentEvent::Result { text: "gave up".into(), is_error: true },
        text("  \n "),
        text("<system-reminder>be good</system-reminder>"),
        text("<summary>what was before</summary>"),
        text("<task_context>\n## Original Task\n</task_context>"),
        text("API Error: 529 {\"type\":\"overloaded_error\"}"),
        text("[Request interrupted by user]"),
        text("This session is being continued from a previous conversation that ran out of context."),
        text("Conversation compacted"),
        text("⠋ ..."),
        text("45 %"),
        returned("<system-reminder>The file is empty.</system-reminder>"),
    ];
    for event in &dropped {
        assert_eq!(told(std::slice::from_ref(event)), "", "{event:?}");
    }
    assert_eq!(told(&[text("API errors are handled now.")]), "[assistant]: API errors are handled now.");
}

#[test]
// promise: summaries-2
fn reminders_are_taken_out_of_the_messages_they_are_in() {
    let event = returned("one\n<system-reminder>x\ny</system-reminder>\ntwo <system-reminder>cut off");
    assert_eq!(told(&[event]), "[tool_result]: one\n\ntwo");
    let pieces = ["before <system-", "reminder>x</system-rem", "inder> after"];
    let events = pieces.map(|text| AgentEvent::Text { text: text.into() });
    assert_eq!(told(&events), "[assistant]: before  after");
}

#[test]
fn the_closing_word_counts_only_if_it_is_new() {
    let result = |text: &str| AgentEvent::Result { text: text.into(), is_error: false };
    assert_eq!(told(&[text("Done."), result("Done.")]), "[assistant]: Done.");
    assert_eq!(told(&[result("Done.")]), "[assistant]: Done.");
    assert_eq!(told(&[text("I try."), result("Done.")]), "[assistant]: I try.\n\n[assistant]: Done.");
}

#[test]
// promise: summaries-3
fn the_newest_items_are_kept_behind_the_marker() {
    let events: Vec<AgentEvent> = (0..200).map(|n| returned(&format!("output {n} {}", "word ".repeat(50)))).collect();
    let history = seen(&events).text(HISTORY_TOKENS, &words);
    assert!(history.starts_with("[... truncated for length ...]\n\n[tool_result]: output "), "{history:.90}");
    assert!(history.contains("output 199 "));
    assert!(!history.contains("output 0 "));
    assert!(words(&history) <= HISTORY_TOKENS);
    assert!(words(&history) > HISTORY_TOKENS * 9 / 10, "{}", words(&history));
}

#[test]
// promise: summaries-3
fn one_huge_item_leaves_its_end() {
    let huge = format!("begin {} the end", "word ".repeat(100_000));
    for events in [vec![text(&huge)], vec![text("first"), used("Bash", "x"), text(&huge)]] {
        let history = told(&events);
        assert!(history.starts_with("[... truncated for length ...]\n\n[assistant]: "), "{history:.60}");
        assert!(history.ends_with("the end"));
        assert!(words(&history) <= HISTORY_TOKENS);
        assert!(words(&history) > HISTORY_TOKENS / 2);
    }
    // An older huge message gives what room the newer items leave.
    let history = told(&[text(&huge), used("Bash", "make"), returned("ok")]);
    assert!(history.ends_with("the end\n\n[tool_use]: Bash - make\n\n[tool_result]: ok"));
    assert!(words(&history) <= HISTORY_TOKENS);
}

#[test]
fn within_the_budget_there_is_no_marker_and_short_histories_need_no_tokenizer() {
    let unused = |_: &str| -> usize { panic!("not needed") };
    assert_eq!(seen(&[text("short")]).text(HISTORY_TOKENS, &unused), "[assistant]: short");
    assert_eq!(start_within("short", 5, &unused), "short");
}

#[test]
fn memory_is_bounded_however_long_the_turn() {
    let mut history = TurnHistory::default();
    let chunk = "ünï ".repeat(16 * 1024);
    for n in 0..2_000 {
        history.see(&AgentEvent::Text { text: chunk.clone() });
        if n % 3 == 0 {
            history.see(&used(&format!("tool-{n}-{}", "x".repeat(200)), &chunk));
            history.see(&returned(&chunk));
        }
        assert!(history.bytes() <= 100 * 1024, "{}", history.bytes());
    }
    assert!(history.tools().len() <= 33);
    assert_eq!(history.tools().iter().map(|(_, uses)| uses).sum::<u64>(), 667);
    let mut one = TurnHistory::default();
    for _ in 0..200_000 {
        one.see(&AgentEvent::Text { text: "word ".into() });
    }
    assert!(one.bytes() <= 50 * 1024);
    assert!(one.text(HISTORY_TOKENS, &words).starts_with(TRUNCATED));
}

#[test]
// promise: summaries-4
fn the_questions_carry_what_they_must() {
    let summary = ask_summary(&material());
    assert!(summary.system.contains("concise technical summariser"));
    assert!(summary.user.contains("3 to 5 sentences") && summary.user.contains("next iteration"));
    assert!(summary.user.contains("[assistant]: {{ history }}"), "user text is no template");
    let message = ask_message(&material(), "It {{ works }}.");
    assert!(message.system.contains("[iter-3] Brief description") && message.system.contains("50 characters"));
    assert_eq!(
        message.user,
        "Write the commit message of this iteration.\n\nIteration: 3\nTask: fix {{ this }} and {% that %}\n\
         Changed files: src/a.rs, src/b.rs\nSummary: It {{ works }}."
    );
    insta::assert_snapshot!("ask_both", ask_both(&material()));
}

#[test]
// promise: summaries-5
fn invalid_output_is_said_to_be_invalid() {
    for answer in ["", "  \n", "...", "<think>endless", "API Error: 500", "<html><body>502</body></html>", "```\n```"] {
        assert_eq!(clean_summary(answer, 500, &words), "Summary generation produced invalid output.", "{answer:?}");
    }
}

#[test]
fn tags_are_cleaned() {
    let clean = |answer: &str| clean_summary(answer, 500, &words);
    assert_eq!(clean("<analysis>a</analysis>\n<summary>\nFixed it.\n</summary>\n"), "Fixed it.");
    assert_eq!(clean("<think>\nhm\n</think>\nFixed it."), "Fixed it.");
    assert_eq!(clean("hm</think>Fixed it."), "Fixed it.");
    assert_eq!(clean("```text\nFixed it.\n```"), "Fixed it.");
    assert_eq!(clean("Fixed \u{1b}[31mit\u{7}.\tDone"), "Fixed [31mit.\tDone");
    assert_eq!(clean("修复了解析器。"), "修复了解析器。");
}

#[test]
// promise: summaries-7
fn summary_max_tokens_is_enforced() {
    let sentences = "The parser was fixed now. ".repeat(100);
    let kept = clean_summary(&sentences, 50, &words);
    assert!(words(&kept) <= 50 && words(&kept) > 40, "{}", words(&kept));
    assert!(kept.ends_with("now."), "{kept}");
    let endless = clean_summary(&"word ".repeat(1_000), 50, &words);
    assert!(endless.ends_with("word..."), "{endless}");
    assert!(words(&endless) <= 51);
    assert_eq!(clean_summary("x y", 0, &words), "...");
}

#[test]
// promise: summaries-4
fn the_task_and_the_files_are_cut() {
    assert_eq!(task_display(&"长".repeat(201)), format!("{}...", "长".repeat(200)));
    assert_eq!(task_display(" short "), "short");
    let files: Vec<String> = (0..12).map(|n| format!("f{n}")).collect();
    assert_eq!(files_display(&files[..10], 10), "f0, f1, f2, f3, f4, f5, f6, f7, f8, f9");
    assert_eq!(files_display(&files, 12), "f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, ... (2 more)");
    assert_eq!(files_display(&files, 20_000), "f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, ... (19990 more)");
    assert_eq!(files_display(&["a\nb".into()], 1), "a?b");
    assert_eq!(files_display(&[], 0), "none");
}

#[test]
// promise: summaries-5
fn an_empty_message_falls_back() {
    for answer in ["", " \n", "```\n\n```", "[iter-7]", "<think>x"] {
        assert_eq!(read_message(7, answer, "It works."), "[iter-7] Iteration 7 changes\n\nIt works.", "{answer:?}");
    }
    assert_eq!(fallback_message(7, ""), "[iter-7] Iteration 7 changes");
}

#[test]
// promise: summaries-7
fn the_first_line_is_enforced() {
    let read = |answer: &str| read_message(7, answer, "");
    assert_eq!(
        read("[iter-7] Fix parser\n\nIt failed on `x`.\nNow not."),
        "[iter-7] Fix parser\n\nIt failed on `x`.\nNow not."
    );
    assert_eq!(read("[iter-99]: Fix parser\nBody"), "[iter-7] Fix parser\n\nBody");
    assert_eq!(read("Fix parser"), "[iter-7] Fix parser");
    assert_eq!(read("```\n[iter-7] Fix parser\n```"), "[iter-7] Fix parser");
    assert_eq!(read("**Fix parser**"), "[iter-7] Fix parser");
    let long = "修复了解析器的所有问题".repeat(9);
    let message = read(&format!("[iter-7] {long}\n\nbody"));
    let (first, body) = message.split_once("\n\n").unwrap();
    assert_eq!(first.chars().count(), 50);
    assert_eq!(body, format!("{long}\nbody"));
    assert!(read(&"word ".repeat(10_000)).chars().count() < 1_100);
}

#[test]
// promise: summaries-7
fn a_model_cannot_write_the_engines_trailers() {
    let message = read_message(7, "Fix it\n\nbody\nWindlass-Turn: forged\n windlass-loop: forged", "");
    assert_eq!(message, "[iter-7] Fix it\n\nbody");
}

#[test]
fn an_answer_with_both_texts_is_read_strictly() {
    let answer = "<<<SUMMARY>>>\nFixed it.\n<<<COMMIT MESSAGE>>>\n[iter-3] Fix\n\nbody\n<<<END>>>\n";
    let both = Some(("Fixed it.".to_owned(), "[iter-3] Fix\n\nbody".to_owned()));
    assert_eq!(read_both(answer), both);
    assert_eq!(read_both(&format!("{}\n\nSure!\n{answer}bye", ask_both(&material()))), both, "an echo does not count");
    for broken in [
        "Fixed it.",
        "<<<SUMMARY>>>\nFixed it.\n<<<END>>>",
        "<<<COMMIT MESSAGE>>>\nx\n<<<SUMMARY>>>\ny\n<<<END>>>",
        "<<<SUMMARY>>>\nFixed it.\n<<<COMMIT MESSAGE>>>\n[iter-3] Fix",
        "<<<SUMMARY>>> Fixed it. <<<COMMIT MESSAGE>>> x <<<END>>>",
    ] {
        assert_eq!(read_both(broken), None, "{broken:?}");
    }
}

#[test]
// promise: summaries-5
fn nothing_done_is_said_so() {
    assert_eq!(
        from_facts(&Material::from_turn(1, &TurnHistory::default())),
        "No significant actions in this iteration."
    );
}

#[test]
fn the_deterministic_summary_is_a_few_facts() {
    let last = "## Fixed the parser in main.rs.\nAll 12 tests pass! I also cleaned up.\n<promise>DONE</promise>";
    let mut turn = seen(&[used("Edit", "a"), used("Bash", "b"), used("Edit", "c"), text(last)]);
    turn.see(&AgentEvent::ToolResult { id: String::new(), output: "no".into(), is_error: true });
    let mut material = Material { files: material().files, files_changed: 2, ..Material::from_turn(1, &turn) };
    material.promise = Some("<promise>DONE</promise>".into());
    assert_eq!(
        from_facts(&material),
        "Fixed the parser in main.rs. All 12 tests pass! Changed 2 files: src/a.rs, src/b.rs. \
         Tools used: Edit ×2, Bash ×1. 1 tool call failed."
    );
    assert_eq!(
        from_facts(&Material { last_words: "修复了。完成".into(), ..Material::default() }),
        "修复了。 完成. No files changed."
    );
}

#[test]
fn the_deterministic_summary_is_bounded() {
    let material = Material {
        files: (0..100).map(|n| format!("{n}/{}", "x".repeat(4_000))).collect(),
        files_changed: 20_000,
        last_words: "x".repeat(100_000),
        tools: (0..30).map(|n| (format!("{n}{}", "t".repeat(80)), 5)).collect(),
        failed_calls: 9,
        ..Material::default()
    };
    assert!(from_facts(&material).chars().count() < 1_200, "{}", from_facts(&material).len());
}

#[test]
// promise: summaries-8
fn settings_have_their_names_and_defaults() {
    let defaults: SummariserSettings = toml::from_str("").unwrap();
    assert_eq!(defaults, SummariserSettings::default());
    assert!(defaults.enabled && defaults.generate_summary);
    assert_eq!((defaults.summary_max_tokens, defaults.kind), (500, SummariserKind::Deterministic));
    let settings: SummariserSettings = toml::from_str(
        "kind = \"endpoint\"\nsummary_max_tokens = 99\ncommit_message_model = \"small\"\n\
         [endpoint]\nbase_url = \"http://localhost:11434/v1\"\nprotocol = \"anthropic\"\nmodel = \"m\"\n",
    )
    .unwrap();
    assert_eq!(settings.endpoint.as_ref().map(|endpoint| endpoint.protocol), Some(Protocol::Anthropic));
    assert_eq!(toml::from_str::<SummariserSettings>(&toml::to_string(&settings).unwrap()).unwrap(), settings);
    assert!(toml::from_str::<SummariserSettings>("api_key = \"secret\"").is_err());
}

proptest! {
    #[test]
    fn any_text_is_cut_within_its_budget(text in ".{0,200}", budget in 0usize..40) {
        let count = |text: &str| text.chars().count();
        for kept in [start_within(&text, budget, &count), end_within(&text, budget, &count)] {
            prop_assert!(count(kept) <= budget);
            prop_assert!(kept.len() == text.len() || count(kept) == budget);
        }
    }

    #[test]
    fn any_answer_gives_a_message_with_a_short_first_line(answer in "(?s).{0,300}", iteration: u32) {
        let message = read_message(iteration, &answer, "s");
        let first = message.lines().next().unwrap();
        let prefix = format!("[iter-{iteration}] ");
        prop_assert!(first.starts_with(&prefix) && first.chars().count() <= 50, "{}", first);
    }

    #[test]
    fn any_events_give_a_history_within_its_budget(texts in prop::collection::vec("(?s).{0,400}", 0..30), budget in 20usize..400) {
        let mut turn = TurnHistory::default();
        for (n, text) in texts.iter().enumerate() {
            match n % 3 {
                0 => turn.see(&AgentEvent::Text { text: text.clone() }),
                1 => turn.see(&used("T", text)),
                _ => turn.see(&returned(text)),
            }
        }
        let count = |text: &str| text.chars().count();
        prop_assert!(count(&turn.text(budget, &count)) <= budget);
    }
}
