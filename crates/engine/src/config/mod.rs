//! Settings from six layers: built-in defaults, the recipe, the user's file, the project's file, the environment, flags.
//!
//! Invariant: a higher layer wins key by key, every value remembers where it came from, and nothing unknown or
//! misread is passed over in silence. Nothing here reads the process's own environment: it is handed in, so the
//! same input gives the same settings.

mod environment;
mod error;
mod fields;
mod file;
mod keys;
mod origin;
mod paths;
mod profiles;
mod recipe;
mod request;
mod schema;
mod spec;
mod typescript;
mod usage;
mod values;

use std::path::Path;

pub use windlass_core::nearest::nearest;

pub use environment::{Environment, Variable, environment};
pub use error::ConfigError;
pub use fields::{FieldKind, PROFILE_FIELDS, ProfileField, TableKind};
pub use keys::{Completes, Flag, InProject, KEYS, Key, Options, Settings, Takes, Unsaid};
pub use origin::{Origin, Place, Setting, Shown};
pub use paths::Paths;
pub use profiles::{Profile, built_in_agents, profile_in};
pub(crate) use recipe::PROJECT_RECIPES;
pub use recipe::{
    DefaultFor, DoneKind, Entry as RecipeEntry, Policies, PolicyKey, Recipe, RecipeFile, RecipeSource, Recipes,
};
pub use request::{RequestError, append, edit, write};
pub use schema::{loop_schema, profile_schema, schema};
pub use spec::{
    FoundPlan as Plan, MachineFacts, Resolved, RunOptions, SandboxSupport, asked_container, read_plan, resolve_spec,
    resources,
};
pub use typescript::typescript;
pub use usage::UsageError;
pub use values::{
    BranchTemplate, Commands, Files, Gate, Gates, Globs, Iterations, Locations, MergeBy, Millis, Names, Occasion,
    Percent, Processes, Promise, Sandbox, Size, Slots, Tokens, Usd, Value, ValueError, Wait, Weight,
};

use environment::language;
use origin::Layer;

/// The project's file, seen from the root of its checkout.
pub const PROJECT_FILE: &str = ".windlass/config.toml";

/// Puts the layers on top of each other.
///
/// A file that does not exist says nothing; a file that cannot be read is an error, because settings that a person
/// wrote down must not be lost without a word.
pub fn load(
    paths: &Paths,
    project_root: Option<&Path>,
    env: &Environment,
    flags: Options,
) -> Result<Settings, ConfigError> {
    let mut warnings = environment::warnings(env);
    let mut layers = Vec::new();
    match file::read(&paths.user_config, |path, line| Origin::UserFile { path, line })? {
        Some(layer) => layers.push(layer),
        None if paths.user_config_named => warnings.push(format!(
            "WINDLASS_CONFIG names {}, which does not exist: no user settings are read",
            paths.user_config.display()
        )),
        None => {}
    }
    let project_file = project_root.map(|root| root.join(PROJECT_FILE));
    let project_text = project_file.as_deref().map(file::read_text).transpose()?.flatten();
    if let (Some(path), Some(text)) = (&project_file, &project_text) {
        layers.push(file::read_layer(path, text, |path, line| Origin::ProjectFile { path, line })?);
    }
    layers.push(environment::layer(env)?);
    layers.push(Layer::of_flags(flags));

    let mut settings = Settings { agents: profiles::built_in(), warnings, project_text, ..Settings::default() };
    let recipes = Recipes::find(paths, project_root)?;
    let named = layers.iter().rev().find_map(|layer| layer.options.recipe.clone());
    let recipe = named.unwrap_or_else(|| recipes.default_for(DefaultFor::Goal));
    settings.overlay(Layer::of_defaults(Options {
        recipe: Some(recipe.clone()),
        language: Some("en".to_owned()),
        ..Options::defaults()
    }));
    settings.overlay(language(env));
    // One that is not known adds nothing; it is refused when a loop is made, so that a mistake in it does not keep `list`
    // or `config show` from working.
    settings.in_use = recipes.get(&recipe)?;
    settings.recipes = recipes;
    for layer in settings.in_use.iter().flat_map(Recipe::layers).collect::<Vec<_>>() {
        settings.overlay(layer);
    }
    for layer in layers {
        profiles::overlay(&mut settings.agents, &layer);
        settings.overlay(layer);
    }
    Ok(settings)
}

/// For the fuzzer.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use super::recipe::fuzzing::read_recipe;
    use super::{ConfigError, Origin, Path, file};

    /// Reads the text of a project's settings.
    pub fn read_settings(text: &str) -> Result<(), ConfigError> {
        file::read_layer(Path::new("fuzzed.toml"), text, |path, line| Origin::ProjectFile { path, line }).map(drop)
    }
}
