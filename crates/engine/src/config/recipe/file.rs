//! One recipe file: policies, settings and texts of prompts, each with its line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml_edit::{Item, Key as TomlKey};
use windlass_core::prompt::{TEXTS, Text};

use super::RecipeSource;
use super::policies::{POLICY_KEYS, Policies};
use crate::config::error::ConfigError;
use crate::config::file::{self, Source, entries, plain_value, span_of, unknown, wrong_type};
use crate::config::keys::{InProject, KEYS, Misread};
use crate::config::origin::{Layer, Origin, Place};
use crate::config::values::value::ValueError;

/// Settings of the program or of a project, which no loop takes from its recipe.
pub(super) const NOT_IN_RECIPE: [&str; 17] = [
    "recipe",
    "auto_start",
    "wake",
    "retention_days",
    "merge_returns",
    "max_running",
    "queue_per_project",
    "queue_per_account",
    "queue_tokens_per_hour",
    "queue_usd_per_hour",
    "queue_keep",
    "queue_merge",
    "notify_command",
    "notify_webhook",
    "notify_webhook_secret_env",
    "notify_desktop",
    "notify_on",
];

const PROMPTS: &str = "prompts";

/// A recipe as one file has it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecipeFile {
    pub name: String,
    pub source: RecipeSource,
    pub path: PathBuf,
    /// As it was read.
    pub text: String,
    pub policies: Policies,
    /// The texts of prompts that it replaces, by name, with their lines.
    pub prompts: BTreeMap<&'static str, (String, usize)>,
    pub(super) settings: Layer,
    /// Where `extends` is.
    pub(super) extends_at: Place,
}

impl RecipeFile {
    /// Each setting that it has, with its value.
    pub fn setting_values(&self) -> impl Iterator<Item = (&'static str, serde_json::Value)> {
        self.settings().into_iter().map(|(key, _, value)| (key, value))
    }

    /// Each setting that it has, with its line and its value.
    pub fn settings(&self) -> Vec<(&'static str, usize, serde_json::Value)> {
        let mut values = self.settings.options.to_json();
        let lines = self.settings.origins.iter().map(|(key, origin)| match origin {
            Origin::Recipe { line, .. } => (*key, *line),
            Origin::Default | Origin::UserFile { .. } | Origin::ProjectFile { .. } => (*key, 0),
            Origin::Env { .. } | Origin::Flag { .. } => (*key, 0),
        });
        lines.filter_map(|(key, line)| Some((key, line, values.remove(key)?))).collect()
    }

    pub(super) fn read(name: &str, source: RecipeSource, path: &Path, text: String) -> Result<Self, ConfigError> {
        let place = Source { path, text: &text };
        let document = file::parse(&place)?;
        let mut policies = Policies::default();
        let mut settings = Layer::default();
        let mut prompts = BTreeMap::new();
        let mut extends_at = place.place_of(None);
        for (key, item) in entries(document.as_table()) {
            let at = place.place_of(key.span());
            if key.get() == PROMPTS {
                prompts = read_prompts(&place, item)?;
            } else if let Some(known) = POLICY_KEYS.iter().find(|known| known.name == key.get()) {
                let (value, at) = plain_value(&place, key, item, known.expected, known.example)?;
                if known.name == "extends" {
                    extends_at = at.clone();
                }
                policies.read_toml(known.name, &value).map_err(|misread| match misread {
                    Misread::Type => wrong_type(at, known.name, known.expected, known.example, item),
                    Misread::Value(error) => ConfigError::Value { place: at, key: known.name.to_owned(), error },
                })?;
            } else if let Some(known) = KEYS.iter().find(|known| known.name == key.get()) {
                if NOT_IN_RECIPE.contains(&known.name) {
                    return Err(ConfigError::NotInRecipe { place: at, key: known.name });
                }
                if known.in_project == InProject::Refused && source == RecipeSource::Project {
                    return Err(ConfigError::NotInProject { place: at, key: known.name });
                }
                let line = place.line_of(key.span());
                let origin = match source {
                    // Nobody wrote it for this machine: it is what holds if nobody says anything.
                    RecipeSource::BuiltIn => Origin::Default,
                    RecipeSource::User | RecipeSource::Project => Origin::Recipe { path: path.to_owned(), line },
                };
                file::read_setting(&mut settings, &place, known, key, item, origin)?;
            } else {
                return Err(unknown(at, "", key.get(), known_keys().collect()));
            }
        }
        Ok(Self { name: name.to_owned(), source, path: path.to_owned(), policies, prompts, settings, extends_at, text })
    }
}

/// Every key that a recipe may have.
fn known_keys() -> impl Iterator<Item = &'static str> {
    let settings = KEYS.iter().map(|key| key.name).filter(|name| !NOT_IN_RECIPE.contains(name));
    POLICY_KEYS.iter().map(|key| key.name).chain([PROMPTS]).chain(settings)
}

fn read_prompts(source: &Source<'_>, item: &Item) -> Result<BTreeMap<&'static str, (String, usize)>, ConfigError> {
    let Some(table) = item.as_table_like() else {
        let place = source.place_of(item.span());
        return Err(wrong_type(place, PROMPTS, "a table of texts", "{ goal = \"{{ goal }}\" }", item));
    };
    let mut prompts = BTreeMap::new();
    for (key, item) in entries(table) {
        let full = format!("{PROMPTS}.{}", key.get());
        let Some(text) = Text::named(key.get()) else {
            let known = TEXTS.iter().map(|text| text.name).collect();
            return Err(unknown(source.place_of(key.span()), PROMPTS, key.get(), known));
        };
        let Some(own) = item.as_str() else {
            let place = source.place_of(span_of(key, item));
            return Err(wrong_type(place, &full, "a text", "\"{{ goal }}\"", item));
        };
        text.check(own).map_err(|error| ConfigError::Value {
            place: place_in_text(source, key, item, error.line),
            key: full,
            error: ValueError::new(error.problem, error.hint),
        })?;
        prompts.insert(text.name, (own.to_owned(), source.line_of(key.span())));
    }
    Ok(prompts)
}

/// Where a line of a text is in its file.
fn place_in_text(source: &Source<'_>, key: &TomlKey, item: &Item, line: Option<usize>) -> Place {
    let span = span_of(key, item);
    let raw = span.clone().and_then(|span| source.text.get(span)).unwrap_or_default();
    let opens_with_a_line = ["\"\"\"\n", "'''\n"].iter().any(|quote| raw.starts_with(quote));
    match (source.place_of(span), line) {
        (Place::File { path, line: first, .. }, Some(line)) if line > 1 || opens_with_a_line => {
            Place::File { path, line: first + line - usize::from(!opens_with_a_line), column: 1 }
        }
        (place, _) => place,
    }
}
