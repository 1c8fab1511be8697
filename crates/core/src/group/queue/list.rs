//! Goals in a text file.

/// The goals in a text: the open items of a Markdown list if there is one, else its lines without blank ones and
/// comments (`#`). Items that are done (`- [x]`) are skipped. Indented lines belong to the item above them.
pub fn goals_in(text: &str) -> Vec<String> {
    if !text.lines().any(|line| item(line).is_some()) {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        return lines.map(str::to_owned).collect();
    }
    let mut goals: Vec<String> = Vec::new();
    // The text of a done item is skipped with it, and what is between two lists is no goal.
    let mut open = false;
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        match item(line).filter(|_| !fenced) {
            Some(Item { done, text }) => {
                open = !done && !text.is_empty();
                goals.extend(open.then(|| text.to_owned()));
            }
            None if line.trim().is_empty() => {}
            None if line.starts_with([' ', '\t']) => {
                if let Some(goal) = goals.last_mut().filter(|_| open) {
                    goal.push('\n');
                    goal.push_str(line.trim());
                }
            }
            None => open = false,
        }
    }
    goals
}

struct Item<'a> {
    done: bool,
    text: &'a str,
}

/// A line that starts an item of a list, not indented.
fn item(line: &str) -> Option<Item<'_>> {
    let bullet = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.len()).then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))).flatten()
    };
    let text = bullet.or_else(numbered)?.trim();
    let boxed = [("[ ]", false), ("[x]", true), ("[X]", true)];
    let found = boxed.iter().find_map(|(mark, done)| Some((text.strip_prefix(mark)?, *done)));
    let (text, done) = found.unwrap_or((text, false));
    Some(Item { done, text: text.trim() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_goals_and_comments_and_blank_lines_are_none() {
        assert_eq!(
            goals_in("# next week\nfix the login\n\n  add a search box  \n"),
            ["fix the login", "add a search box"]
        );
        assert!(goals_in("# only a title\n\n").is_empty());
    }

    #[test]
    fn open_items_of_a_list_are_goals_with_their_indented_lines_and_done_ones_are_skipped() {
        let text = "# Plan\n\nSome words.\n\n- [ ] fix the login\n  It fails with an empty password.\n- [x] old\n  done\n\
            - plain\n\nMore words.\n    code\n* [ ] star\n1. one\n2) two\n- [ ]\n";
        let wanted = ["fix the login\nIt fails with an empty password.", "plain", "star", "one", "two"];
        assert_eq!(goals_in(text), wanted);
    }

    #[test]
    fn items_inside_a_code_block_are_no_goals() {
        assert_eq!(goals_in("- a\n```\n- b\n```\n- c\n"), ["a", "c"]);
    }
}
