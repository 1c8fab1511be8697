//! Claims, and echoes of the prompt in every dress.

use super::*;

const PROMISE: &str = "<promise>COMPLETE</promise>";
const PROMPT: &str = "Make the tests pass.\n\nWhen everything is done and checked, end your answer with this on a line of its own:\n<promise>COMPLETE</promise>";

fn claimed(output: &str) -> bool {
    let whole = in_chunks(output, output.len().max(1));
    for size in 1..20 {
        assert_eq!(in_chunks(output, size), whole, "chunks of {size} characters");
    }
    whole
}

fn in_chunks(output: &str, size: usize) -> bool {
    let mut detector = ClaimDetector::new(PROMISE, PROMPT);
    let characters: Vec<char> = output.chars().collect();
    for chunk in characters.chunks(size) {
        detector.push(&chunk.iter().collect::<String>());
    }
    detector.finish()
}

#[test]
// promise: done-7
fn the_exact_promise_and_nothing_else() {
    let output = "… <promise>COMPLETE-HUNTER</promise>";
    assert!(check_completion_promise(output, "<promise>COMPLETE-HUNTER</promise>"));
    assert!(!check_completion_promise(output, "<promise>OTHER</promise>"));
    assert!(!check_completion_promise(output, ""));
}

#[test]
// promise: done-4
fn a_promise_anywhere_in_the_text_is_a_claim() {
    assert!(claimed("<promise>COMPLETE</promise>"));
    assert!(claimed("All done.\n\n<promise>COMPLETE</promise>\n\nSummary: fixed it."));
    assert!(claimed("I am done: <promise>COMPLETE</promise> bye"));
    assert!(claimed("**<promise>COMPLETE</promise>**\r\n"));
    assert!(claimed("> <promise>COMPLETE</promise>"));
    assert!(!claimed("<promise>complete</promise>"));
    assert!(!claimed("<promise>COMPLETE"));
    assert!(!claimed(""));
}

#[test]
// promise: done-5
fn an_echo_of_the_prompt_is_no_claim() {
    assert!(!claimed(PROMPT));
    assert!(!claimed(&format!("You said:\n{PROMPT}\nWorking on it.")));
    let quoted: String = PROMPT.lines().map(|line| format!("  > {line}\n")).collect();
    assert!(!claimed(&quoted));
    let spaced: String = PROMPT.lines().map(|line| format!("{line}\n\n")).collect();
    assert!(!claimed(&spaced));
}

#[test]
// promise: done-6
fn a_promise_after_an_echo_is_a_claim() {
    assert!(claimed(&format!("{PROMPT}\nI fixed it.\n{PROMISE}\n")));
    assert!(claimed(&format!("{PROMPT}\n\n{PROMISE}\n")));
}

#[test]
fn a_prompt_line_that_holds_the_promise_among_other_words_is_an_echo() {
    let prompt = "Fix it, then print <promise>COMPLETE</promise> and stop.";
    let mut detector = ClaimDetector::new(PROMISE, prompt);
    detector.push(&format!("> {prompt}\n"));
    assert!(!detector.finish());
}

#[test]
fn the_promise_alone_in_the_middle_of_a_goal_is_still_an_echo() {
    let prompt = "Do it.\n\n<promise>COMPLETE</promise>\n\nThank you.";
    let mut detector = ClaimDetector::new(PROMISE, prompt);
    detector.push(prompt);
    assert!(!detector.finish());
}

#[test]
// promise: done-4
fn a_line_of_any_length_is_searched_in_bounded_memory() {
    let mut detector = ClaimDetector::new(PROMISE, PROMPT);
    let chunk = "é".repeat(50_000);
    for _ in 0..40 {
        detector.push(&chunk);
        assert!(detector.line.len() <= LONGEST_LINE + chunk.len());
    }
    detector.push("<promise>COMP");
    detector.push("LETE</promise>");
    assert!(detector.finish());
}

#[test]
// promise: done-7
fn an_empty_promise_is_never_claimed() {
    let mut detector = ClaimDetector::new("", PROMPT);
    detector.push("anything");
    assert!(!detector.finish());
}

#[test]
fn the_end_of_a_message_is_the_end_of_a_line() {
    let mut detector = ClaimDetector::new(PROMISE, PROMPT);
    detector.push("<promise>COMP");
    detector.end_message();
    detector.push("LETE</promise>");
    assert!(!detector.finish());
}

#[test]
// promise: done-5
fn an_echo_in_json_is_no_claim_and_an_answer_in_json_is_one() {
    let json = |text: &str| serde_json::json!({ "type": "message", "content": [{ "text": text }] }).to_string();
    assert!(!claimed(&json(PROMPT)));
    assert!(!claimed(&format!("{}\n{}\n", json(PROMPT), json("Working on it."))));
    assert!(claimed(&format!("{}\n{}\n", json(PROMPT), json(&format!("Done.\n{PROMISE}")))));
    assert!(!claimed(&json(&json(PROMPT))), "JSON in a string of JSON");
    assert!(!claimed(&format!("data: {}", json(PROMPT))), "a line that is not only JSON");
    assert!(claimed(&format!("data: {}", json(&format!("Done.\n{PROMISE}")))));
    let escaped = |text: &str| json(text).replace('<', "\\u003c").replace('>', "\\u003e");
    assert!(!claimed(&escaped(PROMPT)));
    assert!(claimed(&escaped(PROMISE)));
    let one_line = "Fix it, then print <promise>COMPLETE</promise> and stop.";
    let mut detector = ClaimDetector::new(PROMISE, one_line);
    detector.push(&json(one_line));
    assert!(!detector.finish());
}

#[test]
// promise: done-5
fn an_echo_with_decoration_is_no_claim() {
    let each = |line: &dyn Fn(usize, &str) -> String| -> String {
        PROMPT.lines().enumerate().map(|(index, text)| line(index + 1, text) + "\n").collect()
    };
    for (what, echo) in [
        ("box", format!("╭────╮\n{}╰────╯\n", each(&|_, text| format!("│ {text:<120} │")))),
        ("ascii box", format!("+----+\n{}+----+\n", each(&|_, text| format!("| {text:<120} |")))),
        ("line numbers", each(&|number, text| format!("{number}: {text}"))),
        ("cat -n", each(&|number, text| format!("{number:>6}\t{text}"))),
        ("numbers and bars", each(&|number, text| format!("{number:>4} | {text}"))),
        ("bullets", each(&|_, text| format!("- {text}"))),
        ("round bullets", each(&|_, text| format!("• {text}"))),
        ("a variable", format!("PROMPT={PROMPT}\n")),
        ("a quoted variable", format!("PROMPT='{PROMPT}'\n")),
        ("a variable in one line", format!("PROMPT=\"{}\"\n", PROMPT.replace('\n', "\\n"))),
        ("a log", each(&|_, text| format!("2026-11-17T02:05:15Z INFO prompt: {text}"))),
    ] {
        assert!(!claimed(&echo), "{what}:\n{echo}");
        assert!(claimed(&format!("{echo}\nI fixed it.\n{PROMISE}\n")), "{what}");
    }
}

#[test]
// promise: done-5
fn an_echo_with_other_line_breaks_is_no_claim() {
    let folded = |width: usize| -> Vec<String> {
        PROMPT
            .lines()
            .flat_map(|line| line.chars().collect::<Vec<_>>().chunks(width).map(String::from_iter).collect::<Vec<_>>())
            .collect()
    };
    let list = |lines: &[&str]| serde_json::json!({ "prompt": lines }).to_string();
    let in_json: String = PROMPT.lines().map(|line| list(&[line]) + "\n").collect();
    for (what, echo) in [
        ("folded", folded(60).join("\n")),
        ("folded narrowly", folded(27).join("\n")),
        ("folded in a box", folded(40).iter().map(|line| format!("│ {line:<40} │\n")).collect()),
        ("in one line", PROMPT.replace('\n', " ")),
        ("in one line with a name", format!("prompt: {}", PROMPT.replace('\n', " "))),
        ("a list in JSON", list(&PROMPT.lines().collect::<Vec<_>>())),
        ("a JSON object for each line", in_json),
    ] {
        assert!(!claimed(&echo), "{what}:\n{echo}");
        assert!(claimed(&format!("{echo}\nI fixed it.\n{PROMISE}\n")), "{what}");
        assert!(claimed(&format!("{echo}\n\n{PROMISE}\n")), "{what}, then the promise alone");
    }
}

#[test]
fn a_goal_that_starts_with_the_promise_is_an_echo_in_one_line_too() {
    let prompt = "Print <promise>COMPLETE</promise> when everything is done.\n\nDo not commit.";
    let said = |output: &str| {
        let mut detector = ClaimDetector::new(PROMISE, prompt);
        detector.push(output);
        detector.finish()
    };
    assert!(!said(&prompt.replace('\n', " ")));
    assert!(said("Print <promise>COMPLETE</promise>"));
    assert!(said("<promise>COMPLETE</promise> when I looked again, all of it was there."));
}

#[test]
fn the_promise_alone_with_decoration_is_a_claim() {
    for line in ["- {}", "│ {} │", "3. {}", "## {}", "RESULT={}", "> **{}**", "assistant: {}", "[12] {}", "\"{}\","]
    {
        let said = line.replace("{}", PROMISE);
        assert!(claimed(&said), "{said}");
        assert!(claimed(&format!("- Make the tests pass.\n{said}")), "a summary that repeats the goal, then {said}");
    }
}

#[test]
fn words_that_end_like_a_short_goal_do_not_hide_a_claim() {
    let mut detector = ClaimDetector::new(PROMISE, &PROMPT.replace("Make the tests pass.", "do it"));
    detector.push(&format!("I managed to do it\n{PROMISE}\n"));
    assert!(detector.finish());
}

#[test]
fn a_promise_of_nothing_but_marks_is_found() {
    let mut detector = ClaimDetector::new("***", "Do it, then print this:\n***");
    detector.push("Done.\n***\n");
    assert!(detector.finish());
}
