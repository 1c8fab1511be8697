//! Settings and recipes: what a user says in files, variables and flags, and the specification of a loop that follows.
//!
//! Nothing here runs a program, reads the process's own environment or knows the engine.

mod error;
mod origin;
mod published;
mod settings;
mod spec;
mod usage;
mod values;

pub use error::ConfigError;
pub use origin::{Origin, Place, Setting, Shown};
pub use published::schema::{loop_schema, profile_schema, schema};
pub use published::typescript::typescript;
pub use settings::environment::{Environment, Variable, environment};
pub use settings::fields::{FieldKind, PROFILE_FIELDS, ProfileField};
pub use settings::keys::{About, KEYS, Key, NeedsConsent, Options, Settings};
pub use settings::paths::Paths;
pub use settings::profiles::{Profile, built_in_agents};
pub use settings::recipe::{
    DefaultFor, DoneKind, Entry as RecipeEntry, POLICY_KEYS, PROJECT_RECIPES, Policies, PolicyKey, Recipe, RecipeFile,
    RecipeSource, Recipes,
};
pub use settings::request::{RequestError, edit, write};
pub use settings::{PROJECT_FILE, load};
pub use spec::plan::{Plan, read_plan};
pub use spec::resources::{MachineFacts, resources};
pub use spec::sandbox::{SandboxSupport, asked_container};
pub use spec::{Resolved, RunOptions, resolve_spec};
pub use usage::UsageError;
pub use values::amounts::{Days, Iterations, Millis, Processes, Size, Slots, Times, Tokens, Usd, Weight};
pub use values::gates::{Gate, Gates};
pub use values::lists::{Commands, Files, Folders, Globs, Hosts, Locations, Names, Occasions, Wishes};
pub use values::occasion::Occasion;
pub use values::wake::Wake;
pub use values::words::{BranchTemplate, Sandbox};
pub use values::{Promise, Value, ValueError};
