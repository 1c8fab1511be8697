//! The message of a checkpoint commit, from what is known without asking anybody.

/// The message of a commit whose work has a name, such as a milestone's feature.
pub(crate) fn titled(iteration: u32, name: &str) -> String {
    let subject = first_line(iteration, name.lines().next().unwrap_or_default());
    if subject.ends_with('…') { format!("{subject}\n\n{}\n", name.trim()) } else { format!("{subject}\n") }
}

/// What was said without the blocks that are meant for Windlass (`<!-- name:start -->` to `<!-- name:end -->`). Of a text
/// whose beginning is missing, a block may be there only in part.
fn without_blocks(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let mark = line.trim();
        let is_mark = |end: &str| mark.starts_with("<!--") && mark.ends_with(end);
        if is_mark(":end -->") {
            if !inside {
                kept.clear();
            }
            inside = false;
        } else if is_mark(":start -->") {
            inside = true;
        } else if !inside {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// What was said as one line without markup, of at most 100 characters; nothing if no words are left.
pub fn summary_line(words: &str, promise: Option<&str>) -> Option<String> {
    const LONGEST: usize = 100;
    let words = without_blocks(words);
    let wanted = |line: &&str| promise.is_none_or(|promise| !line.contains(promise));
    let plain = |line: &str| line.trim().trim_matches(['#', '*', '-', '>', ' ', '`', '|']).to_owned();
    let line = words.lines().filter(wanted).map(plain).find(|line| line.chars().any(char::is_alphanumeric))?;
    let short: String = line.chars().take(LONGEST).collect();
    Some(if short == line { line } else { format!("{}…", short.trim_end()) })
}

/// First line `[iter-N] …` of at most 50 characters, a blank line, then what the agent said last.
pub fn compose(iteration: u32, last_words: &str, promise: Option<&str>) -> String {
    const BODY: usize = 1_000;
    let words = without_blocks(last_words);
    let said: Vec<&str> =
        words.lines().map(str::trim).filter(|line| promise.is_none_or(|promise| !line.contains(promise))).collect();
    let body = said.join("\n").trim().chars().take(BODY).collect::<String>();
    let first = body.lines().find(|line| !line.is_empty()).unwrap_or_default();
    let subject = first_line(iteration, first);
    if body.is_empty() { format!("{subject}\n") } else { format!("{subject}\n\n{body}\n") }
}

/// `[iter-N] …` of at most 50 characters from the beginning of some words.
pub(crate) fn first_line(iteration: u32, words: &str) -> String {
    const SUBJECT: usize = 50;
    let words = words.trim_start_matches(['#', '*', '-', '>', ' ']).trim_end_matches(['*', ' ']);
    let prefix = format!("[iter-{iteration}] ");
    let room = SUBJECT.saturating_sub(prefix.chars().count());
    if words.is_empty() {
        format!("{prefix}Iteration {iteration} changes")
    } else if words.chars().count() <= room {
        format!("{prefix}{words}")
    } else {
        let cut: String = words.chars().take(room.saturating_sub(1)).collect();
        format!("{prefix}{}…", cut.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_short_whatever_was_said() {
        for said in
            ["", "Fixed it.", &"long words ".repeat(40), "修复了所有的测试。".repeat(20).as_str(), "\n\n## Done\n"]
        {
            let message = compose(12, said, None);
            let first = message.lines().next().unwrap();
            assert!(first.starts_with("[iter-12] "), "{first}");
            assert!(first.chars().count() <= 50, "{first}");
        }
    }

    #[test]
    fn blocks_for_windlass_are_not_part_of_the_message() {
        let block = "<!-- coder-decisions:start -->\n### Decisions\n- one\n<!-- coder-decisions:end -->";
        assert_eq!(compose(1, &format!("Fixed it.\n{block}\nBye."), None), "[iter-1] Fixed it.\n\nFixed it.\nBye.\n");
        assert_eq!(compose(1, "- one\n<!-- coder-decisions:end -->\nBye.", None), "[iter-1] Bye.\n\nBye.\n");
        assert_eq!(compose(1, "Fixed it.\n<!-- x:start -->\n- one", None), "[iter-1] Fixed it.\n\nFixed it.\n");
    }

    #[test]
    fn a_summary_is_one_plain_line() {
        let said = "<!-- x:start -->\n- raw\n<!-- x:end -->\n<p>\n---\n## **Fixed the parser**\nmore";
        assert_eq!(summary_line(said, Some("<p>")).as_deref(), Some("Fixed the parser"));
        assert_eq!(summary_line("<p>\n***", Some("<p>")), None);
        assert_eq!(summary_line(&"ä".repeat(200), None).map(|line| line.chars().count()), Some(101));
    }

    #[test]
    fn the_promise_is_not_part_of_the_message() {
        assert_eq!(
            compose(1, "Fixed the parser.\n<promise>COMPLETE</promise>", Some("<promise>COMPLETE</promise>")),
            "[iter-1] Fixed the parser.\n\nFixed the parser.\n"
        );
        assert_eq!(compose(2, "<p>", Some("<p>")), "[iter-2] Iteration 2 changes\n");
    }
}
