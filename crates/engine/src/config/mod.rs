//! Settings from six layers: built-in defaults, the recipe, the user's file, the project's file, the environment, flags.
//!
//! Invariant: a higher layer wins key by key, every value remembers where it came from, and nothing unknown or
//! misread is passed over in silence. Nothing here reads the process's own environment: it is handed in, so the
//! same input gives the same settings.

mod amounts;
mod environment;
mod error;
mod fields;
mod file;
mod gates;
mod keys;
mod lists;
mod money;
mod origin;
mod paths;
mod plan;
mod profiles;
mod recipe;
mod request;
mod resources;
mod review;
mod sandbox;
mod schema;
mod spec;
mod summaries;
mod target;
mod typescript;
mod usage;
mod value;
mod wake;
mod words;

use std::path::Path;

use windlass_core::group::queue::QueueLimits;
pub use windlass_core::nearest::nearest;
use windlass_core::sandbox::NetworkAccess;
use windlass_core::spec::{ContextSpec, OnRateLimit, Verify};
use windlass_core::summary::{Protocol, SummariserSettings};

pub use amounts::{Days, Iterations, Millis, Percent, Processes, Returns, Size, Slots, Tokens, Usd, Wait, Weight};
pub use environment::{Environment, Variable, environment};
pub use error::ConfigError;
pub use fields::{FieldKind, PROFILE_FIELDS, ProfileField, TableKind};
pub use gates::{Gate, Gates};
pub use keys::{KEYS, Key, NOT_IN_PROJECT, Options, Settings};
pub use lists::{Commands, Files, Folders, Globs, Hosts, Locations, Names, Occasions, Wishes};
pub use origin::{Origin, Place, Setting, Shown};
pub use paths::Paths;
pub use plan::{Plan, read_plan};
pub use profiles::{Profile, TEMPLATES, built_in_agents, profile_in};
pub use recipe::{
    DefaultFor, DoneKind, Entry as RecipeEntry, POLICY_KEYS, PROJECT_RECIPES, Policies, PolicyKey, Recipe, RecipeFile,
    RecipeSource, Recipes,
};
pub use request::{RequestError, append, edit, write};
pub use resources::{MachineFacts, resources};
pub use sandbox::{SandboxSupport, asked_container};
pub use schema::{loop_schema, profile_schema, schema};
pub use spec::{DEFAULT_PROMISE, Resolved, RunOptions, resolve_spec};
pub use typescript::typescript;
pub use usage::UsageError;
pub use value::{Promise, Value, ValueError};
pub use wake::Wake;
pub use words::{BranchTemplate, MergeBy, Sandbox};

use environment::language;
use origin::Layer;

use crate::notify::Occasion;
use crate::places::DEFAULT_MAX_RUNNING;

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
    settings.overlay(Layer::of_defaults(Options { recipe: Some(recipe.clone()), ..defaults() }));
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

const DEFAULT_GATE_TIMEOUT_MS: u64 = 10 * 60 * 1_000;
/// What everything else on the machine has.
const DEFAULT_CPU_WEIGHT: u32 = 100;
const DEFAULT_RETENTION_DAYS: u32 = 14;
const PLAN_DIRS: [&str; 2] = [".windlass/plans", ".claude/plans"];

/// What holds when nobody says anything.
fn defaults() -> Options {
    let summary = SummariserSettings::default();
    Options {
        gates: Some(Gates::default()),
        gate_timeout: Some(Millis::of_known(DEFAULT_GATE_TIMEOUT_MS)),
        branch: Some(BranchTemplate::default()),
        in_place: Some(false),
        sandbox: Some(Sandbox::Auto),
        network: Some(NetworkAccess::default()),
        network_hosts: Some(Hosts::ready()),
        cpu_weight: Some(Weight::of_known(DEFAULT_CPU_WEIGHT)),
        language: Some("en".to_owned()),
        merge_returns: Some(Returns::of_known(2)),
        max_running: Some(Slots::of_known(DEFAULT_MAX_RUNNING)),
        queue_per_project: Some(Slots::of_known(QueueLimits::default().per_project)),
        queue_per_account: Some(Slots::of_known(QueueLimits::default().per_account)),
        merge: Some(MergeBy::Off),
        queue_keep: Some(Percent::of_known(20)),
        completion_promise: Some(Promise::of_known(DEFAULT_PROMISE)),
        baseline: Some(true),
        verify: Some(Verify::default()),
        on_rate_limit: Some(OnRateLimit::default()),
        question_wait: Some(Wait::default()),
        protect: Some(Globs::default()),
        secrets_allow: Some(Globs::default()),
        env_pass: Some(Names::default()),
        setup: Some(Commands::default()),
        hidden_gates: Some(Commands::default()),
        setup_credentials: Some(false),
        copy: Some(Files::default()),
        plan_dirs: Some(Folders::of_known(&PLAN_DIRS)),
        context_tokens: Some(Tokens::of_known(ContextSpec::default().max_tokens as u64)),
        summariser: Some(summary.kind),
        summariser_protocol: Some(Protocol::default()),
        summariser_timeout: Some(Millis::of_known(summary.timeout_ms)),
        generate_summary: Some(summary.generate_summary),
        summary_max_tokens: Some(Tokens::of_known(u64::from(summary.summary_max_tokens))),
        notify_desktop: Some(false),
        notify_on: Some(Occasions::of_known(&[Occasion::NeedsPerson, Occasion::Completed, Occasion::Stopped])),
        retention_days: Some(Days::of_known(DEFAULT_RETENTION_DAYS)),
        ..Options::default()
    }
}

/// For the fuzzer.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use super::recipe::fuzzing::read_recipe;
}
