//! Which lines of an answer only repeat the prompt, by the rule of the completion promise.

use crate::promise::{PromptLines, Repeated, Trail, undecorated};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Echo {
    /// The agent's own words.
    No,
    /// Equals a line of the prompt, but the lines around it do not: an echo, unless it is all that was requested.
    Single,
    /// Part of a run of lines of the prompt, or what the prompt continues with after the words before it.
    Run,
}

impl Echo {
    /// Whether what the line says is said by the agent; `alone` if the line is exactly what was requested.
    pub fn is_said(self, alone: bool) -> bool {
        match self {
            Echo::No => true,
            Echo::Single => alone,
            Echo::Run => false,
        }
    }
}

/// One for each line. Blank lines are nobody's words and count as `No`.
pub(super) fn echoes(answer: &str, prompt: &str) -> Vec<Echo> {
    let prompt = PromptLines::of(prompt);
    let mut found: Vec<Echo> = Vec::new();
    let mut run: Vec<usize> = Vec::new();
    let (mut last, mut blank_since): (Option<Repeated>, bool) = (None, false);
    let (mut trail, mut rewrapped) = (Trail::default(), Vec::new());
    for (index, line) in answer.lines().enumerate() {
        found.push(Echo::No);
        if undecorated(line).is_empty() {
            blank_since = true;
            continue;
        }
        if prompt.continues(&trail, undecorated(line)) {
            rewrapped.push(index);
        }
        trail.push(undecorated(line));
        // Words before it make it the agent's own line.
        let repeated = prompt.repeated(line, "").filter(|repeated| !repeated.is_tail());
        let goes_on =
            last.as_ref().zip(repeated.as_ref()).is_some_and(|(last, line)| prompt.goes_on(last, blank_since, line));
        if !goes_on {
            close(&mut run, &mut found);
        }
        if repeated.is_some() {
            run.push(index);
        }
        (last, blank_since) = (repeated, false);
    }
    close(&mut run, &mut found);
    for index in rewrapped {
        found[index] = Echo::Run;
    }
    found
}

fn close(run: &mut Vec<usize>, found: &mut [Echo]) {
    let echo = if run.len() > 1 { Echo::Run } else { Echo::Single };
    for index in run.drain(..) {
        found[index] = echo;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::promise::ClaimDetector;

    #[test]
    fn a_run_is_an_echo_and_a_single_line_may_be_one() {
        let prompt = "Do it.\n\nSay ACCEPTED or\nREJECTED: reason\n";
        let of = |answer| echoes(answer, prompt);
        assert_eq!(of("> Do it.\n>\n> Say ACCEPTED or"), [Echo::Run, Echo::No, Echo::Run]);
        assert_eq!(of("Do it.\nmine\nREJECTED: reason"), [Echo::Single, Echo::No, Echo::Single]);
        assert_eq!(of("REJECTED: reason\n\nDo it."), [Echo::Single, Echo::No, Echo::Single]);
        assert_eq!(of(""), []);
        let long = "Look at the commit and say whether it is done:\nACCEPTED\n";
        assert_eq!(
            echoes("Look at the commit and say wh\nether it is done:\nACCEPTED", long),
            [Echo::No, Echo::Run, Echo::Run]
        );
        assert_eq!(echoes("I looked at the commit, it is done:\nACCEPTED", long), [Echo::No, Echo::Single]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_rule_is_the_one_of_the_promise(
            prompt in prop::collection::vec(0..5_usize, 0..6),
            answer in prop::collection::vec(0..6_usize, 0..10),
        ) {
            const LINES: [&str; 6] = ["DONE", "", "one", "two", "three", "other"];
            let text = |lines: Vec<usize>| lines.into_iter().map(|line| LINES[line]).collect::<Vec<_>>().join("\n");
            let (prompt, answer) = (text(prompt), text(answer));
            let mut detector = ClaimDetector::new("DONE", &prompt);
            detector.push(&answer);
            let said = echoes(&answer, &prompt).into_iter().zip(answer.lines()).any(|(echo, line)| line == "DONE" && echo.is_said(true));
            prop_assert_eq!(detector.finish(), said, "{:?} {:?}", prompt, answer);
        }
    }
}
