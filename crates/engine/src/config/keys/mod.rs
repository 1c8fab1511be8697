//! Settings: each is one row of `table.rs`, with its type, default, flag, trust, place in the spec, and help text.
//!
//! The layers, the resolved settings, the command line, the schema, and the documented variables are all made from that
//! table, so they cannot disagree about a key.

mod flag;

use std::borrow::Cow;

use super::origin::Shown;
use crate::config::values::value::ValueError;

pub use flag::{Completes, Flag, Takes};
pub use table::{KEYS, Options, Settings};

/// One setting, as people know it.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    /// The environment variable that sets it.
    pub env: &'static str,
    /// The flag that sets it, where there is one.
    pub flag: Option<Flag>,
    /// `--` and the key with dashes.
    dashed: &'static str,
    pub default: Unsaid,
    /// What happens if it stands in a project's file.
    pub in_project: InProject,
    pub doc: &'static str,
    /// What a value must be, in words.
    pub expected: &'static str,
    /// An example value in TOML syntax.
    pub example: &'static str,
    /// The words that it can be, if it is one of a few.
    pub words: &'static [&'static str],
    /// Its JSON Schema.
    pub schema: fn() -> serde_json::Value,
}

/// What holds if nobody sets a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsaid {
    /// This value, as it would be in the environment.
    Value(&'static str),
    /// No value; in words.
    Words(&'static str),
}

/// What happens if a project's file has the setting. Users who clone the project have not read that file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InProject {
    /// It may run or reveal something: somebody has to agree.
    NeedsConsent,
    /// A path that is read into prompts: harmless inside the repository.
    Inside,
    /// It runs nothing, reveals nothing, and weakens no protection.
    Harmless,
    /// It is refused, because agents can read that file.
    Refused,
}

impl Key {
    pub fn of(name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The flag's name, with its dashes.
    pub fn flag_name(&self) -> Option<&'static str> {
        self.flag.map(|flag| flag.name.unwrap_or(self.dashed))
    }

    /// The help of the flag, with the default.
    pub fn flag_help(&self) -> Option<String> {
        let flag = self.flag?;
        let help = flag.help.unwrap_or(self.doc);
        let default = self.default_words();
        let says_all = matches!(flag.takes, Takes::Nothing(_)) || help.contains("[default: ");
        if says_all || matches!(default.as_ref(), "none" | "no limit") {
            return Some(help.to_owned());
        }
        Some(format!("{help} [default: {default}]"))
    }

    /// The default, in words.
    pub fn default_words(&self) -> Cow<'static, str> {
        match self.default {
            Unsaid::Value("") => "none".into(),
            Unsaid::Value(text) => text.replace('\n', ", ").into(),
            Unsaid::Words(words) => words.into(),
        }
    }
}

/// `WINDLASS_` and the key in capitals.
const fn variable<const N: usize>(key: &str) -> [u8; N] {
    let (prefix, key) = ("WINDLASS_".as_bytes(), key.as_bytes());
    let mut name = [0; N];
    let mut at = 0;
    while at < N {
        name[at] = if at < prefix.len() { prefix[at] } else { key[at - prefix.len()].to_ascii_uppercase() };
        at += 1;
    }
    name
}

/// `--` and the key with dashes.
const fn dashed<const N: usize>(key: &str) -> [u8; N] {
    let key = key.as_bytes();
    let mut name = [b'-'; N];
    let mut at = 0;
    while at < key.len() {
        if key[at] != b'_' {
            name[at + 2] = key[at];
        }
        at += 1;
    }
    name
}

const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a key is an identifier"),
    }
}

/// Why a value in a file is invalid.
#[derive(Debug)]
pub(in crate::config) enum Misread {
    Type,
    Value(ValueError),
}

macro_rules! one {
    () => {
        None
    };
    ($flag:expr) => {
        Some($flag)
    };
}

macro_rules! unsaid {
    ($value:literal,) => {
        Unsaid::Value($value)
    };
    (, $words:literal) => {
        Unsaid::Words($words)
    };
}

macro_rules! project {
    () => {
        InProject::NeedsConsent
    };
    ($trust:ident) => {
        InProject::$trust
    };
}

macro_rules! settings {
    ($($key:ident: $type:ty {
        $(default: $default:literal,)?
        $(unset: $unset:literal,)?
        $(flag: $flag:expr,)?
        $(project: $project:ident,)?
        $(spec: $spec:expr,)?
        doc: $doc:literal,
    })*) => {
        use std::collections::BTreeMap;

        use windlass_core::spec::LoopSpec;

        use super::{InProject, Key, Misread, Unsaid};
        use crate::config::origin::{Layer, Setting, Shown};
        use crate::config::profiles::Profile;
        use crate::config::recipe::{Recipe, Recipes};
        use crate::config::values::value::{Value, ValueError};

        /// Every setting.
        pub const KEYS: &[Key] = &[$(Key {
            name: stringify!($key),
            env: {
                const NAME: [u8; "WINDLASS_".len() + stringify!($key).len()] = super::variable(stringify!($key));
                super::text(&NAME)
            },
            flag: one!($($flag)?),
            dashed: {
                const NAME: [u8; "--".len() + stringify!($key).len()] = super::dashed(stringify!($key));
                super::text(&NAME)
            },
            default: unsaid!($($default)?, $($unset)?),
            in_project: project!($($project)?),
            doc: $doc,
            expected: <$type as Value>::EXPECTED,
            example: <$type as Value>::EXAMPLE,
            words: <$type as Value>::WORDS,
            schema: <$type as Value>::schema,
        }),*];

        /// The settings of one layer; `None` if the layer does not set a key.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Options {
            $(#[doc = $doc] pub $key: Option<$type>,)*
        }

        /// The resolved settings, each value with its origin.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Settings {
            $(#[doc = $doc] pub $key: Setting<$type>,)*
            /// All agent profiles, by name.
            pub agents: BTreeMap<String, Profile>,
            /// Warnings about ignored input.
            pub warnings: Vec<String>,
            /// The project's file, as it was read.
            pub project_text: Option<String>,
            /// Every recipe that can be named.
            pub recipes: Recipes,
            /// The recipe that is in use; none if it is not known.
            pub in_use: Option<Recipe>,
        }

        impl Options {
            /// Reads a value from a file. The key must be in the table.
            pub(in crate::config) fn read_toml(&mut self, key: &str, value: &toml_edit::Value) -> Result<(), Misread> {
                match key {
                    $(stringify!($key) => match <$type as Value>::from_toml(value) {
                        Some(read) => self.$key = Some(read.map_err(Misread::Value)?),
                        None => return Err(Misread::Type),
                    },)*
                    other => unreachable!("`{other}` is not in the table of settings"),
                }
                Ok(())
            }

            /// This layer as JSON, in the format that `from_json` reads.
            pub fn to_json(&self) -> BTreeMap<String, serde_json::Value> {
                let mut said = BTreeMap::new();
                $(if let Some(value) = &self.$key {
                    said.insert(stringify!($key).to_owned(), Value::json(value));
                })*
                said
            }

            /// Reads a value from the environment. The key must be in the table.
            pub(in crate::config) fn read_text(&mut self, key: &str, text: &str) -> Result<(), ValueError> {
                match key {
                    $(stringify!($key) => self.$key = Some(<$type as Value>::from_text(text)?),)*
                    other => unreachable!("`{other}` is not in the table of settings"),
                }
                Ok(())
            }
        }

        impl Options {
            /// Reads what a flag was given, item by item.
            pub fn read_items(&mut self, key: &str, items: Vec<String>) -> Result<(), ValueError> {
                match key {
                    $(stringify!($key) => self.$key = Some(<$type as Value>::from_items(items)?),)*
                    other => unreachable!("`{other}` is not in the table of settings"),
                }
                Ok(())
            }

            /// What holds if nobody says anything; a test reads each.
            pub(in crate::config) fn defaults() -> Self {
                let mut options = Self::default();
                $($(options.$key = <$type as Value>::from_text($default).ok();)?)*
                options
            }
        }

        impl Settings {
            /// Puts every setting that only has to be copied into its place in the spec.
            pub(in crate::config) fn put_into(&self, spec: &mut LoopSpec) {
                $($(if let Some(value) = &self.$key.value {
                    let put: fn(&mut LoopSpec, &$type) = $spec;
                    put(spec, value);
                })?)*
            }

            /// Applies a higher layer.
            pub(in crate::config) fn overlay(&mut self, mut layer: Layer) {
                let mut keys = KEYS.iter();
                $({
                    let key = keys.next().unwrap_or_else(|| unreachable!("the table has every key"));
                    if let Some(value) = layer.options.$key.take() {
                        self.$key = Setting { value: Some(value), origin: layer.origin(key) };
                    }
                })*
            }

            pub(super) fn show_keys(&self) -> Vec<Shown> {
                let mut keys = KEYS.iter();
                vec![$({
                    let key = keys.next().unwrap_or_else(|| unreachable!("the table has every key"));
                    Shown {
                        key: key.name.to_owned(),
                        value: self.$key.value.as_ref().map_or(serde_json::Value::Null, Value::json),
                        unset: key.default_words(),
                        origin: self.$key.origin.clone(),
                    }
                }),*]
            }
        }
    };
}

mod table;

impl Settings {
    /// Every setting with its value and origin; agent profiles come last.
    pub fn show(&self) -> Vec<Shown> {
        let mut shown = self.show_keys();
        for (name, profile) in &self.agents {
            shown.extend(profile.show(name));
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::group::queue::QueueLimits;
    use windlass_core::spec::ContextSpec;
    use windlass_core::summary::SummariserSettings;

    use super::*;

    #[test]
    fn every_default_is_a_value() {
        let read = Options::defaults().to_json();
        for key in KEYS {
            let stated = matches!(key.default, Unsaid::Value(_));
            assert_eq!(read.contains_key(key.name), stated, "{}: {:?}", key.name, key.default);
        }
    }

    #[test]
    fn defaults_are_those_of_who_uses_them() {
        let defaults = Options::defaults();
        let (queue, summary) = (QueueLimits::default(), SummariserSettings::default());
        assert_eq!(defaults.max_running.unwrap().get(), crate::places::DEFAULT_MAX_RUNNING);
        assert_eq!(defaults.queue_per_project.unwrap().get(), queue.per_project);
        assert_eq!(defaults.queue_per_account.unwrap().get(), queue.per_account);
        assert_eq!(defaults.context_tokens.unwrap().get(), ContextSpec::default().max_tokens as u64);
        assert_eq!(defaults.summariser, Some(summary.kind));
        assert_eq!(defaults.summariser_timeout.unwrap().get(), summary.timeout_ms);
        assert_eq!(defaults.generate_summary, Some(summary.generate_summary));
        assert_eq!(defaults.summary_max_tokens.unwrap().get(), u64::from(summary.summary_max_tokens));
    }

    #[test]
    fn variables_and_flags_are_named_after_their_keys() {
        let key = Key::of("gate_timeout").unwrap();
        assert_eq!((key.env, key.flag_name().unwrap()), ("WINDLASS_GATE_TIMEOUT", "--gate-timeout"));
        assert_eq!(Key::of("baseline").unwrap().flag_name().unwrap(), "--no-baseline");
    }
}
