//! The ids of features: `F1`, `B12`, `AUTH-3`.

/// Whether a word can be an id: a letter and a number, or capital letters, a dash and a number.
pub(crate) fn is_id(word: &str) -> bool {
    let number = |digits: &str| (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    match word.split_once('-') {
        Some((letters, digits)) => {
            (1..=12).contains(&letters.len()) && letters.bytes().all(|byte| byte.is_ascii_uppercase()) && number(digits)
        }
        None => word.strip_prefix(|c: char| c.is_ascii_alphabetic()).is_some_and(number),
    }
}

fn split_word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(text.len()))
}

/// `F1: text` as id and text.
pub(crate) fn before_colon(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches(['*', '_', '`', '[']);
    let (word, rest) = split_word(text);
    let rest = rest.trim_start_matches(['*', '_', '`', ']']);
    let after = rest.strip_prefix([':', '：']).or_else(|| rest.is_empty().then_some(rest))?;
    is_id(word).then(|| (word.to_ascii_uppercase(), after.trim_start_matches(['*', '_', '`']).trim()))
}

/// The id that a report names, and the words without it. Reports write it in more ways than milestones do:
/// `[F1] text`, `F1 — text`, `F1 text`, `text (F1)`.
pub(crate) fn in_report(text: &str) -> (Option<String>, &str) {
    let text = text.trim();
    let start = text.trim_start_matches(['*', '_', '`', '[', '(', '（', '【']);
    let (word, rest) = split_word(start);
    let word = word.trim_end_matches('-');
    let separated = rest.is_empty() || !rest.starts_with(|c: char| c.is_alphanumeric());
    if is_id(word) && separated {
        let marks = |c: char| c.is_whitespace() || "*_`])）】:：.-—–、".contains(c);
        return (Some(word.to_ascii_uppercase()), start[word.len()..].trim_start_matches(marks));
    }
    let end = text.strip_suffix([')', '）', ']', '】']).and_then(|text| {
        let at = text.rfind(['(', '（', '[', '【'])?;
        let (words, id) = text.split_at(at);
        let id = id.trim_start_matches(['(', '（', '[', '【']).trim();
        is_id(id).then(|| (Some(id.to_ascii_uppercase()), words.trim_end()))
    });
    end.unwrap_or((None, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_letter_or_letters_with_a_dash_and_a_number() {
        for id in ["F1", "f12", "B3", "AUTH-12"] {
            assert!(is_id(id), "{id}");
        }
        for word in ["", "F", "1", "FF1", "auth-1", "A-", "-1", "F1x", "F1234567", "HTTP2", "é1"] {
            assert!(!is_id(word), "{word}");
        }
    }

    #[test]
    fn a_report_names_an_id_in_many_ways() {
        for text in [
            "F1: login",
            "F1 login",
            "[F1] login",
            "F1 — login",
            "**F1**: login",
            "(f1) login",
            "login (F1)",
            "login【F1】",
            "F1：login",
            "F1. login",
            "F1 - login",
            "F1- login",
        ] {
            assert_eq!(in_report(text), (Some("F1".to_owned()), "login"), "{text}");
        }
        assert_eq!(in_report("F1"), (Some("F1".to_owned()), ""));
        for text in ["login", "login (fast)", "", "F1x login", "HTTP2: more"] {
            assert_eq!(in_report(text), (None, text), "{text}");
        }
    }

    #[test]
    fn a_milestone_names_it_before_a_colon() {
        assert_eq!(before_colon("F1: a"), Some(("F1".to_owned(), "a")));
        assert_eq!(before_colon("**f2**： b"), Some(("F2".to_owned(), "b")));
        assert_eq!(before_colon("[AUTH-1]: c"), Some(("AUTH-1".to_owned(), "c")));
        assert_eq!(before_colon("F1 a"), None);
        assert_eq!(before_colon("Note: a"), None);
    }
}
