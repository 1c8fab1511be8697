//! Verdicts as acceptors write them, and what is none.

use proptest::prelude::*;

use super::*;

const PROMPT: &str = "Review it.\n\nYour answer is one of these:\nACCEPTED\nREJECTED: what is not met\n";

fn read(answer: &str) -> Verdict {
    Verdict::read(answer, PROMPT)
}

fn rejected(reason: &str) -> Verdict {
    Verdict::Rejected { reason: reason.to_owned() }
}

#[track_caller]
fn assert_unclear(answer: &str) {
    assert!(matches!(read(answer), Verdict::Unclear { .. }), "{answer:?} is {:?}", read(answer));
}

#[test]
fn accepted() {
    for answer in [
        "ACCEPTED",
        "  ACCEPTED\r\n",
        "ACCEPTED.",
        "ACCEPTED!",
        "ACCEPTED。",
        "I looked at the commit.\n\nACCEPTED\n\nThe tests cover the change.",
        "accepted",
        "Accepted.",
        "**ACCEPTED**",
        "**Accepted**",
        "## ACCEPTED",
        "### Verdict: ACCEPTED",
        "**Verdict:** ACCEPTED",
        "**Final verdict**: **ACCEPTED**",
        "结论：ACCEPTED",
        "`ACCEPTED`",
        "✅ ACCEPTED",
        "ACCEPTED ✅",
        "## ✔️ ACCEPTED",
        "👍🏽 ACCEPTED 🎉",
        "ACCEPTED\n\nAgain: fine.\n\nACCEPTED",
        "```\nACCEPTED\n```",
        "```windlass-review\n{\"verdict\": \"accepted\"}\n```",
        "ACCEPTED\n\n```windlass-review\n{\"verdict\": \"accepted\"}\n```",
        "{\"verdict\": \"accepted\"}",
        "```json\n{\"verdict\": \"ACCEPTED\"}\n```",
        "{\"verdict\": \"Accepted\", \"confidence\": 1}",
        "I looked.\n\n```json\n{\"Verdict\": \"accepted\"}\n```\nThat is all.",
        "```windlass-review\n{\"verdict\": \"accepted\"}\n```\nand more",
    ] {
        assert_eq!(read(answer), Verdict::Accepted, "{answer:?}");
    }
}

#[test]
fn rejected_with_its_reason() {
    for (answer, reason) in [
        ("REJECTED: no tests", "no tests"),
        ("REJECTED： 没有测试", "没有测试"),
        ("rejected: no tests", "no tests"),
        ("Rejected：no tests", "no tests"),
        ("**REJECTED**: no tests", "no tests"),
        ("**REJECTED: no tests**", "no tests"),
        ("**REJECTED:** no tests", "no tests"),
        ("## Verdict: REJECTED: no tests", "no tests"),
        ("❌ REJECTED: no tests", "no tests"),
        ("REJECTED: the page shows ✅ for ~~old~~ loops", "the page shows ✅ for ~~old~~ loops"),
        (
            "Looked at it.\n\nREJECTED: two things\n- a is wrong\n\n- b is ACCEPTED but slow\n",
            "two things\n- a is wrong\n\n- b is ACCEPTED but slow",
        ),
        ("REJECTED\n\nThere are no tests.", "There are no tests."),
        ("There are no tests.\n\nREJECTED", "There are no tests."),
        ("REJECTED: a\nREJECTED: b", "a\nREJECTED: b"),
        ("REJECTED: `f` prints\n```\nACCEPTED\n```", "`f` prints\n```\nACCEPTED\n```"),
        ("```windlass-review\n{\"verdict\": \"rejected\", \"reason\": \"no tests\"}\n```", "no tests"),
    ] {
        assert_eq!(read(answer), rejected(reason), "{answer:?}");
    }
}

#[test]
// promise: review-6
fn what_is_unclear_is_no_acceptance() {
    for answer in [
        "",
        " \n\t",
        "Looks good to me.",
        "The work is ACCEPTED",
        "It was not rejected.",
        "REJECTED",
        "REJECTED:",
        "{\"verdict\": \"rejected\", \"reason\": \" \"}",
        "NOT REJECTED",
        "ACCEPTED\n\nREJECTED: on second thoughts",
        "ACCEPTED: nothing was REJECTED",
        "ACCEPTED: but only if the tests are fixed",
        "ACCEPTED: every criterion is met",
        "ACCEPTED - not",
        "ACCEPTED — tests pass",
        "ACCEPTED! All criteria hold.",
        "ACCEPTED：全部满足",
        "**ACCEPTED**: fine",
        "ACCEPTED\n\nAccepted: but the docs are missing",
        "REJECTED — no tests",
        "REJECTED because there are no tests",
        "NOT ACCEPTED: no tests",
        "**Not accepted**: no tests",
        "ACCEPTED\n\nNOT ACCEPTED",
        "ACCEPTED or REJECTED: reason",
        "ACCEPTED / REJECTED",
        "ACCEPTED, but the tests fail",
        "ACCEPTED with reservations",
        "ACCEPTED (if the tests are fixed)",
        "ACCEPTED?",
        "❌ ACCEPTED",
        "ACCEPTED ❌",
        "🚫 **ACCEPTED**",
        "⚠️ ACCEPTED",
        "👎 accepted",
        "~~ACCEPTED~~",
        "## Verdict: ~~ACCEPTED~~",
        "✅ REJECTED",
        "~~REJECTED: no tests~~",
        "ACCEPTED\n\nACCEPTED only if the docs follow",
        "ACCEPTED_CRITERIA are in the file",
        "ACCEPTEDLY",
        "ACCEPTED.md is missing",
        "accepted formats are JSON and XML",
        "Accepted: yes",
        "> ACCEPTED",
        "\"ACCEPTED\"",
        "“ACCEPTED”",
        "- ACCEPTED\n- REJECTED: b",
        "1. ACCEPTED",
        "The rule:\n\n    ACCEPTED\n",
        "The rule:\n```\nACCEPTED\n```",
        "```\nACCEPTED",
        "<!--\nACCEPTED\n-->",
        "{\"verdict\": \"accepted\", \"verdict\": \"rejected\"}",
        "{\"verdict\": \"accepted, mostly\"}",
        "{\"verdict\": \"accepted\"",
        "REJECTED: no\n\n```windlass-review\n{\"verdict\": \"accepted\"}\n```",
        "ACCEPTED\n\n```windlass-review\n{\"verdict\": \"rejected\"}\n```",
    ] {
        assert_unclear(answer);
    }
}

#[test]
// promise: review-6
fn an_echo_of_the_prompt_is_no_verdict() {
    assert_unclear(PROMPT);
    let quoted: String = PROMPT.lines().map(|line| format!("> {line}\n")).collect();
    assert_unclear(&quoted);
    assert_unclear("REJECTED: what is not met");
    assert_eq!(read(&format!("{PROMPT}\nSo:\n\nREJECTED: no tests")), rejected("no tests"));
    assert_eq!(read(&format!("{quoted}\nI read the diff.\n\nACCEPTED")), Verdict::Accepted);
}

#[test]
fn a_long_reason_is_cut_between_characters() {
    let Verdict::Rejected { reason } = read(&format!("REJECTED: {}", "错".repeat(20_000))) else { panic!() };
    assert_eq!(reason.chars().count(), LONGEST_REASON + 3);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_accepted_without_the_word_and_any_text_is_read(answer in "\\PC{0,80}") {
        let accepted = read(&answer) == Verdict::Accepted;
        prop_assert!(!accepted || answer.to_lowercase().contains("accepted"));
    }

    #[test]
    // promise: review-6
    fn a_rejection_and_an_acceptance_are_never_an_acceptance(
        before in prop::sample::select(vec!["", "# ", "**", "Verdict: ", "✅ "]),
        between in "[a-z \n.]{0,30}",
        first in any::<bool>(),
    ) {
        let (accepted, rejected) = (format!("{before}ACCEPTED\n"), format!("{before}REJECTED: x\n"));
        let answer = if first { format!("{accepted}{between}\n{rejected}") } else { format!("{rejected}{between}\n{accepted}") };
        let unclear = matches!(read(&answer), Verdict::Unclear { .. });
        prop_assert!(unclear, "{}", answer);
    }
}
