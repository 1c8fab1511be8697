//! Reports as developers write them, and what is none.

use proptest::prelude::*;

use super::*;
use crate::review::ask_report;

fn prompt() -> String {
    format!("Build the next feature.\n\n{}\n", ask_report(3))
}

fn read(answer: &str) -> Report {
    Report::read(answer, &prompt())
}

#[track_caller]
fn feature_report(answer: &str) -> FeatureReport {
    let report = read(answer);
    let Report::Feature(report) = report else { panic!("{answer:?} is {report:?}") };
    report
}

const WHOLE: &str = "\
I built it.

## Implementation Report — Round 3

**Feature**: F2: log out
**Commit**: `1a2b3c4d`
**Tests**: 12 passed, 1 failed
**Lint**: 2 issues

### Changes
- src/a.rs: the button
- `src/b.rs`：the session
- wrote docs as well

### Notes
Feature flags: none.

Commit later.
";

#[test]
// promise: milestones-4
fn a_whole_report_is_read() {
    let change = |file: &str, what: &str| Change { file: file.into(), what: what.into() };
    let expected = FeatureReport {
        round: Some(3),
        feature: "log out".into(),
        feature_id: Some("F2".into()),
        commit: Some("1a2b3c4d".into()),
        tests: Some(TestCounts { passed: 12, failed: 1 }),
        lint: Some(Lint::Issues { count: 2 }),
        changes: vec![
            change("src/a.rs", "the button"),
            change("src/b.rs", "the session"),
            change("", "wrote docs as well"),
        ],
        notes: Some("Feature flags: none.\n\nCommit later.".into()),
    };
    assert_eq!(feature_report(WHOLE), expected);
    assert_eq!(feature_report(&format!("```markdown\n{WHOLE}```")), expected);
    assert_eq!(feature_report(&format!("Here:\n\n```\n{WHOLE}```\n\nBye.")), expected);
    assert_eq!(feature_report(&WHOLE.replace('\n', "\r\n")), expected);
}

#[test]
fn a_report_is_read_however_its_fields_are_written() {
    for answer in [
        "# Implementation Report - Round 3\nFeature: F2 log out\nCommit: 1A2B3C4D\nTests: 12 passed\nLint: clean",
        "**Implementation Report — Round 3**\n- **Feature:** [F2] log out\n- **Commit:** 1a2b3c4d (HEAD)\n- **Tests:** passed: 12, failed: 0\n- **Lint:** no issues",
        "## Implementation Report：Round 3\n**Feature**： F2：log out\n**Commit**： 1a2b3c4d\n**Tests**： 12 通过，0 失败\n**Lint**： 0 issues",
        "## 实现报告 — 第 3 轮\n**功能**：log out（F2）\n**提交**：1a2b3c4d\n**测试**：12 通过\n**Lint**：clean",
    ] {
        let report = feature_report(answer);
        assert_eq!(report.round, Some(3), "{answer}");
        assert_eq!((report.feature_id.as_deref(), report.feature.as_str()), (Some("F2"), "log out"), "{answer}");
        assert_eq!(report.commit.as_deref(), Some("1a2b3c4d"), "{answer}");
        assert_eq!(report.tests, Some(TestCounts { passed: 12, failed: 0 }), "{answer}");
        assert_eq!(report.lint, Some(Lint::Clean), "{answer}");
    }
}

#[test]
// promise: milestones-4
fn what_is_missing_is_missing_and_not_made_up() {
    let report = feature_report("**Feature**: login\n**Commit**: pending\n**Tests**: all of them\n**Lint**: who knows");
    assert_eq!(report, FeatureReport { feature: "login".into(), ..FeatureReport::default() });
    let report = feature_report("## Implementation Report\n**Feature**: F1\n**Lint**: clean / {n} issues");
    assert_eq!((report.feature_id.as_deref(), report.feature.as_str(), report.lint), (Some("F1"), "", None));
    for answer in [
        "",
        "I did it.",
        "## Implementation Report — Round 3\n\n**Commit**: 1a2b3c4d",
        "## Implementation Report\n**Feature**:",
        "## Implementation Report\n**Feature**: {id and text}",
        "> **Feature**: login",
        "```\n**Feature**: login\n```\nwords",
    ] {
        assert!(matches!(read(answer), Report::Unparsed { .. }), "{answer}");
    }
}

#[test]
fn the_last_of_several_reports_counts() {
    let two = format!("{WHOLE}\n## Implementation Report — Round 4\n**Feature**: F3: more\n");
    assert_eq!(feature_report(&two).feature_id.as_deref(), Some("F3"));
    let first = format!("## Implementation Report — Round 2\n{WHOLE}");
    assert_eq!(feature_report(&first).round, Some(3));
    let empty = format!("{WHOLE}\n## Implementation Report — Round 4\n");
    assert_eq!(feature_report(&empty).feature_id.as_deref(), Some("F2"));
}

#[test]
// promise: milestones-4
fn all_features_complete() {
    let answer = "## ALL_FEATURES_COMPLETE\n\nEverything is built.\n\n### Commits\n- 1a2b3c4: feat: login\n- `5d6e7f8a` — fix: logout\n- deadbeefzz: no hash\n- later\n\n### Summary\nTwo features.\n";
    let commit = |hash: &str, message: &str| ReportedCommit { hash: hash.into(), message: message.into() };
    assert_eq!(
        read(answer),
        Report::AllFeaturesComplete {
            commits: vec![commit("1a2b3c4", "feat: login"), commit("5d6e7f8a", "fix: logout")],
            summary: "Two features.".into()
        }
    );
    let short = Report::AllFeaturesComplete { commits: Vec::new(), summary: "Everything is built.".into() };
    for answer in [
        "ALL_FEATURES_COMPLETE\n\nEverything is built.",
        "**ALL_FEATURES_COMPLETE**\nEverything is built.",
        "Well.\n\n# ALL_FEATURES_COMPLETE:\n\nEverything is built.",
        "```\n## ALL_FEATURES_COMPLETE\n\nEverything is built.\n```",
        "## ALL_FEATURES_COMPLETE ##\r\n### Summary\r\nEverything is built.",
        "`ALL_FEATURES_COMPLETE`\n\n### Commits\n### 总结：\nEverything is built.",
    ] {
        assert_eq!(read(answer), short, "{answer}");
    }
    let both = format!("{WHOLE}\n## ALL_FEATURES_COMPLETE\n\nEverything is built.");
    assert_eq!(read(&both), short);
}

#[test]
// promise: milestones-4
fn the_word_elsewhere_claims_nothing() {
    for answer in [
        "I will say ALL_FEATURES_COMPLETE when I am done.",
        "Not yet ALL_FEATURES_COMPLETE\n",
        "- ALL_FEATURES_COMPLETE",
        "> ALL_FEATURES_COMPLETE",
        "The format:\n```\n## ALL_FEATURES_COMPLETE\n```\nis for later.",
        "The format:\n\n    ALL_FEATURES_COMPLETE\n",
        "<!--\nALL_FEATURES_COMPLETE\n-->",
        "all_features_complete",
        "ALL_FEATURES_COMPLETED",
        "## ALL_FEATURES_COMPLETE?",
    ] {
        assert!(matches!(read(answer), Report::Unparsed { .. }), "{answer}");
    }
}

#[test]
fn an_echo_of_the_prompt_claims_and_reports_nothing() {
    let prompt = "Do it.\nAt the end say\n## ALL_FEATURES_COMPLETE\nand stop.\n\n## Implementation Report — Round 1\n**Feature**: the feature\n";
    for answer in [prompt.to_owned(), prompt.lines().map(|line| format!("> {line}\n")).collect()] {
        assert!(matches!(Report::read(&answer, prompt), Report::Unparsed { .. }), "{answer}");
    }
    let after = format!("{prompt}\nDone.\n\n## ALL_FEATURES_COMPLETE\n\nAll of it.");
    assert!(matches!(Report::read(&after, prompt), Report::AllFeaturesComplete { .. }));
    let after = format!("{prompt}\nDone.\n\n## Implementation Report — Round 1\n\n**Feature**: F1: login");
    assert!(matches!(Report::read(&after, prompt), Report::Feature(report) if report.feature == "login"));
}

#[test]
fn a_report_of_any_size_is_bounded() {
    let long = format!(
        "## Implementation Report\n**Feature**: {0}\n### Changes\n{1}### Notes\n{0}",
        "界".repeat(20_000),
        "- a: b\n".repeat(2_000)
    );
    let report = feature_report(&long);
    assert_eq!(report.changes.len(), MOST_ITEMS);
    assert_eq!(report.feature.chars().count(), LONGEST_TEXT + 3);
    assert_eq!(report.notes.unwrap().chars().count(), LONGEST_TEXT + 3);
    let many = "## Implementation Report\n".repeat(50_000);
    assert!(matches!(read(&many), Report::Unparsed { .. }));
    let tests = "## Implementation Report\n**Feature**: x\n**Tests**: 99999999999 passed";
    assert_eq!(feature_report(tests).tests, None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_and_claims_nothing_without_the_word(answer in "\\PC{0,80}", rest in "[-*:： a1F#\n`]{0,60}") {
        for answer in [answer.clone(), format!("## Implementation Report\n{rest}"), format!("Feature: {answer}\n{rest}")] {
            let claimed = matches!(read(&answer), Report::AllFeaturesComplete { .. });
            prop_assert!(!claimed, "{}", answer);
        }
    }
}

#[test]
fn a_feature_gets_the_id_that_the_milestone_has_for_it() {
    let milestone = |text: &str| {
        Milestone::parse("m", &format!("# M\n\n## Goal\nG\n\n## Features\n{text}\n\n## Acceptance Criteria\n- c\n"))
            .unwrap()
    };
    let two = milestone("- F1: search by title\n- F2: search by author");
    let id = |feature: &str, milestone: &Milestone, accepted: &[&str]| {
        let report = Report::Feature(FeatureReport {
            feature: feature.to_owned(),
            feature_id: feature_id::in_report(feature).0,
            ..FeatureReport::default()
        });
        match report.of_milestone(milestone, |id| accepted.contains(&id)) {
            Report::Feature(report) => report.feature_id,
            Report::AllFeaturesComplete { .. } | Report::Unparsed { .. } => None,
        }
    };
    assert_eq!(id("F2", &two, &[]).as_deref(), Some("F2"));
    assert_eq!(id("Search by author.", &two, &[]).as_deref(), Some("F2"), "by its text");
    assert_eq!(id("something else", &two, &[]), None, "either of them");
    assert_eq!(id("something else", &two, &["F1"]).as_deref(), Some("F2"), "the only one that is left");
    assert_eq!(id("F9: new", &two, &["F1"]).as_deref(), Some("F9"), "what it says stands");
}
