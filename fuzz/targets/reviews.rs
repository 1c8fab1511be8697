//! What reviewers and coders answer: blocks, verdicts, reports, decisions. Nothing panics, and an echoed prompt accepts nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_core::review::{Report, Verdict, coder_decisions, read_acceptance, read_audit, section_summary};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (prompt, answer) = text.split_once('\0').unwrap_or(("", &text));
    let _ = read_audit(answer);
    let _ = read_acceptance(answer);
    let _ = coder_decisions(answer);
    let _ = section_summary(answer);
    let _ = Report::read(answer, prompt);
    let verdict = Verdict::read(answer, prompt);
    if matches!(verdict, Verdict::Accepted) {
        assert!(answer.contains("ACCEPTED"), "accepted without the word");
    }
});
