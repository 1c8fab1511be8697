//! Settings from six layers: built-in defaults, the recipe, the user's file, the project's file, the environment, flags.
//!
//! Invariant: a higher layer wins key by key, every value remembers where it came from, and nothing unknown or
//! misread is passed over in silence. Nothing here reads the process's own environment: it is handed in, so the
//! same input gives the same settings.

pub(crate) mod environment;
pub(crate) mod fields;
pub(crate) mod file;
pub(crate) mod keys;
pub(crate) mod layer;
pub(crate) mod paths;
pub(crate) mod profiles;
pub(crate) mod recipe;
pub(crate) mod request;

use std::path::Path;

use crate::error::ConfigError;
use crate::origin::Origin;
use environment::{Environment, language};
use keys::{Options, Settings};
use layer::Layer;
use paths::Paths;
use recipe::{DefaultFor, Recipe, Recipes};

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
    settings.overlay(Layer::of_defaults(Options { recipe: Some(recipe.clone()), ..Options::defaults() }));
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
