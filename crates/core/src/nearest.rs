//! Which known name somebody may have meant.

/// The known name that is closest to a wrong one, if it is close enough to be a slip.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    // What nobody could mean need not be compared letter by letter.
    let name = plain(name).chars().take(64).collect::<Vec<_>>();
    let slips = |candidate: &str| distance(&name, &plain(candidate).chars().collect::<Vec<_>>());
    let (slips, candidate) =
        known.into_iter().map(|candidate| (slips(candidate), candidate)).min_by_key(|(slips, _)| *slips)?;
    (slips <= 1 + candidate.chars().count() / 4 && slips < name.len()).then_some(candidate)
}

/// Letters to add, remove, replace or swap with their neighbour.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least = (rows[i][j] + usize::from(a != b)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_name_and_a_guess_does_not() {
        let known = ["severity", "description", "line", "file"];
        assert_eq!(nearest("severty", known), Some("severity"));
        assert_eq!(nearest("Descritpion", known), Some("description"));
        assert_eq!(nearest("flie", known), Some("file"));
        assert_eq!(nearest("lines", known), Some("line"));
        assert_eq!(nearest("author", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("follow-ups", ["follow_ups"]), Some("follow_ups"));
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
        assert_eq!(nearest("a", []), None);
    }
}
