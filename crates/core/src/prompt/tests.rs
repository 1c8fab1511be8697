//! The builder's small parts: follow-up words, display of iterations, what is cut.

use super::task_context::{commit_status, files_display, summary};
use super::*;
use crate::ids::{Role, TurnKey};
use crate::machine::IterationRecord;
use crate::machine::{ChangedFile, CheckpointReport};

#[test]
// promise: context-1
fn the_follow_up_is_the_goal_a_blank_line_and_the_word() {
    let prompt = build_follow_up_prompt("Build the feature", follow_up_word("zh-Hant"));
    assert_eq!(prompt, "Build the feature\n\n繼續");
}

#[test]
// promise: context-1
fn the_word_is_in_the_language_of_the_locale() {
    for locale in ["zh-Hant", "zh-Hant-TW", "zh_TW.UTF-8", "zh-HK", "ZH-MO"] {
        assert_eq!(follow_up_word(locale), "繼續", "{locale}");
    }
    for locale in ["zh", "zh-Hans", "zh_CN.UTF-8", "zh-SG", "zh_Hans_CN@pinyin"] {
        assert_eq!(follow_up_word(locale), "继续", "{locale}");
    }
    for locale in ["", "C", "en_GB.UTF-8", "de", "zha", "xx-hant"] {
        assert_eq!(follow_up_word(locale), "continue", "{locale}");
    }
}

fn record(commit: Option<&str>, files: u64) -> IterationRecord {
    let file = |n| ChangedFile { path: format!("f{n}"), change: "modified".into() };
    IterationRecord {
        iteration: 1,
        turn: TurnKey::first(1, Role::Coder),
        success: true,
        claim: false,
        checkpoint: CheckpointReport {
            commit: commit.map(Into::into),
            tree: String::new(),
            // The report names the first files only.
            files: (1..=files.min(6)).map(file).collect(),
            files_changed: files,
            created: true,
            restored: Vec::new(),
            held_back: Vec::new(),
            agent_commits: vec![],
            ignored_new: vec![],
            ignored_new_count: 0,
            moved_refs: vec![],
            notes: vec![],
        },
        summary: String::new(),
        gates: vec![],
        usage: crate::usage::Usage::default(),
        at: jiff::Timestamp::UNIX_EPOCH,
        duration_ms: 0,
        undone: false,
    }
}

#[test]
// promise: context-10
fn a_commit_is_told_by_its_first_seven_characters() {
    assert_eq!(commit_status(&record(Some("0123456789"), 1)), "commit 0123456");
    assert_eq!(commit_status(&record(Some("0123456789"), 0)), "no changes");
    assert_eq!(commit_status(&record(None, 0)), "no changes");
    assert_eq!(commit_status(&record(None, 1)), "not committed");
}

#[test]
// promise: context-10
fn five_files_are_named_and_the_rest_counted() {
    assert_eq!(files_display(&record(None, 0)), "none");
    assert_eq!(files_display(&record(None, 5)), "f1, f2, f3, f4, f5");
    assert_eq!(files_display(&record(None, 250)), "f1, f2, f3, f4, f5, ... (245 more)");
}

#[test]
fn a_turn_without_words_has_a_summary_and_a_failed_one_says_so() {
    let mut record = record(None, 0);
    assert_eq!(summary(&record, 600), "No significant actions in this iteration.");
    record.summary = " Did it.\nAll of it. ".into();
    record.success = false;
    assert_eq!(summary(&record, 600), "Did it. All of it. (this turn failed)");
}

#[test]
fn the_end_of_a_long_text_is_kept_and_no_character_is_cut() {
    assert_eq!(last_chars("繼續繼續", 4), "繼續繼續");
    assert_eq!(last_chars("繼續繼續", 3), "[…] 續繼續");
}

#[test]
fn output_with_a_fence_in_it_gets_a_longer_one() {
    assert_eq!(fence_around("plain"), "```");
    assert_eq!(fence_around("```\ncode\n````"), "`````");
}
