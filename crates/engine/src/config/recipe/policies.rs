//! The keys of a recipe that are not settings: when a loop is done, who reviews, what a failure does.

use serde_json::{Value as Json, json};
use toml_edit::Value as Toml;
use windlass_core::spec::{OnFailure, ReviewKind};

use crate::config::keys::Misread;
use crate::config::values::amounts::Times;
use crate::config::values::value::{Value, ValueError};
use crate::config::values::words::{unknown_word, words};

/// Which claim ends the loop; its parameters come from the loop's own options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoneKind {
    Promise,
    Gates,
    Target,
    /// The auditor has nothing left that blocks.
    FindingsClear,
    /// The acceptor says accepted.
    Verdict,
}

/// What a recipe is the default for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultFor {
    /// `windlass run "GOAL"`.
    Goal,
    /// `windlass run --iter` and `--time`.
    Target,
    /// A plan that another agent wrote.
    Plan,
    /// `windlass milestone start`.
    Milestone,
}

impl DefaultFor {
    pub fn name(self) -> &'static str {
        match self {
            DefaultFor::Goal => "goal",
            DefaultFor::Target => "target",
            DefaultFor::Plan => "plan",
            DefaultFor::Milestone => "milestone",
        }
    }
}

words!(DoneKind, "promise, gates, target, findings_clear, or verdict", "\"promise\"", "kind of done", [
    "promise" => DoneKind::Promise,
    "gates" => DoneKind::Gates,
    "target" => DoneKind::Target,
    "findings_clear" => DoneKind::FindingsClear,
    "verdict" => DoneKind::Verdict,
]);
words!(DefaultFor, "goal, target, plan, or milestone", "\"goal\"", "occasion", [
    "goal" => DefaultFor::Goal,
    "target" => DefaultFor::Target,
    "plan" => DefaultFor::Plan,
    "milestone" => DefaultFor::Milestone,
]);
words!(ReviewKind, "audit or acceptance", "\"audit\"", "kind of review", [
    "audit" => ReviewKind::Audit,
    "acceptance" => ReviewKind::Acceptance,
]);

impl Value for OnFailure {
    const EXPECTED: &'static str = "stop, continue, count_as_rejection, or a table { retry = 3 }";
    const EXAMPLE: &'static str = "{ retry = 3 }";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        if let Some(word) = value.as_str() {
            return Some(Self::from_text(word));
        }
        let table = value.as_inline_table()?;
        let times = table.get("retry").and_then(Toml::as_integer).and_then(|times| u32::try_from(times).ok());
        Some(match (times, table.len()) {
            (Some(times), 1) => Ok(OnFailure::Retry { times }),
            _ => Err(ValueError::new("the table has no 'retry'", "write { retry = 3 }")),
        })
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        match text {
            "stop" => Ok(OnFailure::Stop),
            "continue" => Ok(OnFailure::Continue),
            "count_as_rejection" => Ok(OnFailure::CountAsRejection),
            _ => Err(unknown_word("failure policy", text, &["stop", "continue", "count_as_rejection"], Self::EXPECTED)),
        }
    }

    fn json(&self) -> Json {
        match self {
            OnFailure::Stop => json!("stop"),
            OnFailure::Continue => json!("continue"),
            OnFailure::Retry { times } => json!({ "retry": times }),
            OnFailure::CountAsRejection => json!("count_as_rejection"),
        }
    }

    fn schema() -> Json {
        let retry = json!({ "type": "object", "properties": { "retry": { "type": "integer", "minimum": 0 } },
            "required": ["retry"], "additionalProperties": false });
        json!({ "anyOf": [{ "enum": ["stop", "continue", "count_as_rejection"] }, retry] })
    }
}

/// One key of a recipe that is not a setting.
#[derive(Debug, Clone, Copy)]
pub struct PolicyKey {
    pub name: &'static str,
    pub doc: &'static str,
    /// What a value must be, in words.
    pub expected: &'static str,
    /// A value as it stands in a file.
    pub example: &'static str,
}

macro_rules! policies {
    ($($key:ident: $type:ty, $doc:literal;)*) => {
        /// Every key of a recipe that is not a setting, except the table `prompts`.
        pub const POLICY_KEYS: &[PolicyKey] = &[$(PolicyKey {
            name: stringify!($key),
            doc: $doc,
            expected: <$type as Value>::EXPECTED,
            example: <$type as Value>::EXAMPLE,
        }),*];

        /// What one file sets; `None` if unset.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Policies {
            $(#[doc = $doc] pub $key: Option<$type>,)*
        }

        impl Policies {
            /// Takes a value out of a file. The key must be one of the table.
            pub(super) fn read_toml(&mut self, key: &str, value: &Toml) -> Result<(), Misread> {
                match key {
                    $(stringify!($key) => match <$type as Value>::from_toml(value) {
                        Some(read) => self.$key = Some(read.map_err(Misread::Value)?),
                        None => return Err(Misread::Type),
                    },)*
                    other => unreachable!("`{other}` is not in the table of policies"),
                }
                Ok(())
            }

            /// These with those of `over` on top.
            pub(super) fn overlaid(self, over: &Self) -> Self {
                Self { $($key: over.$key.clone().or(self.$key),)* }
            }

            /// What is set, by key.
            pub fn to_json(&self) -> Vec<(&'static str, Json)> {
                let mut said = Vec::new();
                $(if let Some(value) = &self.$key {
                    said.push((stringify!($key), Value::json(value)));
                })*
                said
            }
        }
    };
}

policies! {
    about: String, "Description, one line";
    extends: String, "Recipe to inherit from; without it, the recipe must set everything";
    default_for: DefaultFor, "Use this recipe by default: for a goal, for --iter and --time (target), for a plan \
        handed over by another agent, or for a milestone. Not inherited";
    done: DoneKind, "Condition that completes the loop";
    review: ReviewKind, "Reviewer in addition to gates: an auditor that writes findings, or an acceptor";
    on_failure: OnFailure, "What to do after a failed turn; rate limits are not failures";
    max_stalls: Times, "Consecutive silent turns after which the loop stops";
    max_rejections: Times, "Consecutive rejections after which Windlass asks a user";
}
