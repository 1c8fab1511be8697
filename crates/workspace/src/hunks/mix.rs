//! Hunks of a patch, and a text with some of them.

use std::collections::HashMap;

/// Lines of the old text that lines of the new one replace: the first one, from 1 on, and how many. With none, the first is the
/// line after which the others go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) old: (u32, u32),
    pub(super) new: (u32, u32),
}

/// The ids of a file's two sides, as a patch names them.
pub(super) fn pair(old: Option<&str>, new: Option<&str>) -> (String, String) {
    let nothing = "0".repeat(old.or(new).map_or(40, str::len));
    (old.map_or(nothing.clone(), str::to_owned), new.map_or(nothing, str::to_owned))
}

/// How many lines edits add and remove.
pub(super) fn lines(edits: &[Edit]) -> (u32, u32) {
    edits.iter().fold((0, 0), |(added, removed), edit| (added + edit.new.1, removed + edit.old.1))
}

/// The edits of a patch with `-U0 --full-index`, by the ids of both sides, which decide them.
pub(super) fn read_patch(patch: &[u8]) -> HashMap<(String, String), Vec<Edit>> {
    let mut all: HashMap<(String, String), Vec<Edit>> = HashMap::new();
    let mut ids = None;
    // Lines of files start with a sign or a blank, so what is read here is git's.
    for line in patch.split(|&byte| byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            ids = None;
        } else if let Some(rest) = line.strip_prefix(b"index ") {
            let rest = String::from_utf8_lossy(rest);
            let both = rest.split(' ').next().and_then(|both| both.split_once(".."));
            ids = both.map(|(old, new)| (old.to_owned(), new.to_owned()));
            // The same two sides under another name.
            if let Some(ids) = &ids {
                all.remove(ids);
            }
        } else if let (Some(ids), Some(edit)) = (&ids, read_header(line)) {
            all.entry(ids.clone()).or_default().push(edit);
        }
    }
    all
}

/// `@@ -3,0 +4,2 @@ …`
fn read_header(line: &[u8]) -> Option<Edit> {
    let text = String::from_utf8_lossy(line.strip_prefix(b"@@ -")?).into_owned();
    let (old, rest) = text.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| -> Option<(u32, u32)> {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    Some(Edit { old: range(old)?, new: range(new)? })
}

/// The old text with these edits, in their order.
pub(super) fn mixed(old: &[u8], new: &[u8], edits: &[Edit]) -> Vec<u8> {
    let (old, new) = (whole_lines(old), whole_lines(new));
    let mut text = Vec::new();
    let mut at = 0;
    let mut take = |lines: &[&[u8]]| lines.iter().for_each(|line| text.extend_from_slice(line));
    for edit in edits {
        let from = start(edit.old);
        take(old.get(at..from).unwrap_or_default());
        let added = start(edit.new);
        take(new.get(added..added + edit.new.1 as usize).unwrap_or_default());
        at = from + edit.old.1 as usize;
    }
    take(old.get(at..).unwrap_or_default());
    text
}

/// The index of a range's first line.
fn start((first, count): (u32, u32)) -> usize {
    (if count == 0 { first } else { first.saturating_sub(1) }) as usize
}

/// Lines with their ends.
fn whole_lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &[u8] =
        b"diff --git a/f b/f\nindex 1111..2222 100644\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-a\n+A\n+index 9..8\n\
        @@ -3,0 +5 @@ fn x() {\n+new\n@@ -5,2 +7,0 @@\n-e\n-f\n";

    #[test]
    fn text_with_some_edits_is_the_old_one_elsewhere() {
        let edits = read_patch(PATCH).remove(&("1111".to_owned(), "2222".to_owned())).unwrap();
        assert_eq!(edits.len(), 3, "{edits:?}");
        let (old, new) = (b"a\nb\nc\nd\ne\nf\n", b"A\nindex 9..8\nb\nc\nnew\nd\n");
        assert_eq!(mixed(old, new, &edits), new);
        assert_eq!(mixed(old, new, &[]), old);
        assert_eq!(mixed(old, new, &edits[1..2]), b"a\nb\nc\nnew\nd\ne\nf\n");
        assert_eq!(mixed(old, new, &[edits[0], edits[2]]), b"A\nindex 9..8\nb\nc\nd\n");
        assert_eq!(lines(&edits), (3, 3));
    }

    #[test]
    fn last_line_without_an_end_is_kept_as_it_is() {
        let edits = read_patch(b"index 1..2\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+B\n")
            .remove(&("1".to_owned(), "2".to_owned()));
        assert_eq!(mixed(b"a\nb", b"a\nB\n", &edits.unwrap()), b"a\nB\n");
        assert_eq!(mixed(b"a\nb", b"a\nB\n", &[]), b"a\nb");
    }
}
