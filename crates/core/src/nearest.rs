//! The known name that somebody may have meant.

/// Below this two names have nothing to do with each other.
const ALIKE: f64 = 0.8;
/// No known name is longer.
const LONGEST: usize = 64;

/// The most similar of the known names, if any is similar. Case, spaces and the kind of dash make no difference.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    // What nobody could mean need not be compared letter by letter.
    let name: String = plain(name).chars().take(LONGEST).collect();
    known
        .into_iter()
        .map(|candidate| (likeness(&name, &plain(candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        // The first of equals, so that the answer does not depend on how the search walks.
        .fold(None, |best: Option<(f64, &str)>, found| match best {
            Some(best) if best.0 >= found.0 => Some(best),
            _ => Some(found),
        })
        .map(|(_, candidate)| candidate)
}

/// Jaro–Winkler favours a common start; the edit distance finds a name whose first letters are the wrong ones. One slip
/// in a word of three letters is much of the word, but still one slip.
fn likeness(name: &str, candidate: &str) -> f64 {
    let likeness = strsim::jaro_winkler(name, candidate).max(strsim::normalized_damerau_levenshtein(name, candidate));
    let one_slip = candidate.len() >= 3 && strsim::damerau_levenshtein(name, candidate) == 1;
    if one_slip { likeness.max(ALIKE) } else { likeness }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name_and_nonsense_finds_none() {
        let known = ["max_iterations", "max_tokens", "gates", "gate_timeout"];
        assert_eq!(nearest("max-iteration", known), Some("max_iterations"));
        assert_eq!(nearest("MAX_TOKEN", known), Some("max_tokens"));
        assert_eq!(nearest("gate", known), Some("gates"));
        assert_eq!(nearest("rn", ["stop", "run"]), Some("run"));
        assert_eq!(nearest("xyzzy", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("gates", []), None);
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }

    #[test]
    fn swapped_and_missing_letters_find_the_name_and_a_guess_does_not() {
        let known = ["severity", "description", "line", "file"];
        assert_eq!(nearest("severty", known), Some("severity"));
        assert_eq!(nearest("Descritpion", known), Some("description"));
        assert_eq!(nearest("flie", known), Some("file"));
        assert_eq!(nearest("lines", known), Some("line"));
        assert_eq!(nearest("author", known), None);
        assert_eq!(nearest("follow-ups", ["follow_ups"]), Some("follow_ups"));
    }
}
