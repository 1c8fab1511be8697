//! What Windlass says, by code: a client shows it in its own language from the code and the parameters.
//!
//! The sentences are in `schemas/messages.json`, which the dashboard reads too. Code writes its sentences where they
//! belong, in the error types; here they are only recognized, so a sentence that is not listed has no code and is shown
//! as it is. A test holds the list against the error types.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The code of a sentence, such as `agent_unknown`, with the values in it, such as `name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coded {
    pub id: String,
    pub params: BTreeMap<String, String>,
}

/// One sentence: what is fixed, and the name of the value that follows each part but the last.
struct Sentence {
    id: String,
    fixed: Vec<String>,
    names: Vec<String>,
}

static SENTENCES: LazyLock<Vec<Sentence>> = LazyLock::new(|| {
    let list: BTreeMap<String, String> = serde_json::from_str(include_str!("../../../../schemas/messages.json"))
        .unwrap_or_else(|error| unreachable!("schemas/messages.json is part of the program: {error}"));
    let mut all: Vec<Sentence> = list.into_iter().map(|(id, text)| Sentence::new(id, &text)).collect();
    // The more of it is fixed, the surer it is the one.
    all.sort_by_key(|sentence| std::cmp::Reverse(sentence.fixed.iter().map(String::len).sum::<usize>()));
    all
});

impl Sentence {
    fn new(id: String, text: &str) -> Self {
        let (mut fixed, mut names) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some((before, name, after)) = next_place(rest) {
            fixed.push(before.to_owned());
            names.push(name.to_owned());
            rest = after;
        }
        fixed.push(rest.to_owned());
        Self { id, fixed, names }
    }

    fn read(&self, text: &str) -> Option<BTreeMap<String, String>> {
        let mut parts = self.fixed.iter();
        let mut rest = text.strip_prefix(parts.next()?.as_str())?;
        let mut params = BTreeMap::new();
        for (index, (name, fixed)) in self.names.iter().zip(parts).enumerate() {
            let last = index + 1 == self.names.len();
            let end = if last { rest.strip_suffix(fixed.as_str())?.len() } else { after_first(rest, fixed)? };
            if end == 0 {
                return None;
            }
            params.insert(name.clone(), rest.get(..end)?.to_owned());
            rest = rest.get(end + fixed.len()..)?;
        }
        rest.is_empty().then_some(params)
    }
}

/// Where the fixed part begins; the value before it has at least one character.
fn after_first(rest: &str, fixed: &str) -> Option<usize> {
    let first = rest.chars().next()?.len_utf8();
    Some(first + rest.get(first..)?.find(fixed)?)
}

fn next_place(text: &str) -> Option<(&str, &str, &str)> {
    let (before, from) = text.split_once('{')?;
    let (name, after) = from.split_once('}')?;
    Some((before, name, after))
}

/// The code of a sentence, if it has one.
pub(crate) fn coded(text: &str) -> Option<Coded> {
    SENTENCES.iter().find_map(|sentence| Some(Coded { id: sentence.id.clone(), params: sentence.read(text)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Vec<(String, String)>) {
        let coded = coded(text).unwrap_or_else(|| panic!("no code: {text}"));
        (coded.id, coded.params.into_iter().collect())
    }

    #[test]
    fn sentence_is_recognized_with_its_values() {
        assert_eq!(read("unknown agent 'codx'"), ("agent_unknown".into(), vec![("name".into(), "codx".into())]));
        let (id, params) = read("shop: npm test failed on the merge into main; merge aborted");
        assert_eq!(id, "merge_red");
        assert_eq!(params.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["npm test", "shop", "main"]);
        assert_eq!(coded("something that nobody listed"), None);
    }

    #[test]
    fn every_sentence_is_recognized_as_itself() {
        for sentence in SENTENCES.iter() {
            assert_eq!(read(&sentence.fixed.join("7")).0, sentence.id);
        }
    }

    /// The error types whose sentences a request can answer with.
    const SOURCES: [&str; 6] = [
        include_str!("../../../engine/src/config/usage.rs"),
        include_str!("../../../engine/src/config/error.rs"),
        include_str!("../../../engine/src/config/request.rs"),
        include_str!("../../../engine/src/milestones.rs"),
        include_str!("../../../core/src/machine/decide/mod.rs"),
        include_str!("../../../workspace/src/failure.rs"),
    ];

    /// A sentence as its type has it, with something in each place.
    fn filled(text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text.replace("{{", "\u{1}").replace("}}", "\u{2}");
        while let Some((before, _, after)) = next_place(&rest) {
            filled = format!("{filled}{before}7");
            rest = after.to_owned();
        }
        (filled + &rest).replace('\u{1}', "{").replace('\u{2}', "}")
    }

    #[test]
    fn every_sentence_of_the_error_types_has_a_code() {
        let mut seen = 0;
        for source in SOURCES {
            for after in source.split("#[error(").skip(1) {
                let Some(text) = after.trim_start().strip_prefix('"').and_then(|text| text.split_once('"')) else {
                    continue;
                };
                seen += 1;
                let text = filled(text.0);
                assert!(
                    coded(&text).is_some(),
                    "add to schemas/messages.json, with words in web/src/i18n/server: {text}"
                );
            }
        }
        assert!(seen > 60, "{seen} sentences found");
    }
}
