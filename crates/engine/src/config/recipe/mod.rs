//! Recipes: files of defaults for how a loop goes. Those of the program, of the user and of the project are read alike.
//!
//! A recipe extends another one, or says everything. A file extends only recipes of its own place or of one below
//! (project, user, built in), so that a repository cannot change what a user's recipe means.

mod file;
mod policies;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_core::ids::is_valid_name;
use windlass_core::spec::{OnFailure, ReviewKind, ReviewSpec};

use super::error::ConfigError;
use super::file::read_text;
use super::origin::{Layer, Place};
use super::paths::Paths;
use windlass_core::nearest::nearest;

pub use file::RecipeFile;
pub use policies::{DefaultFor, DoneKind, Policies, PolicyKey};

/// The project's recipes, seen from the root of its checkout. The user's are in the folder of the same name beside the
/// user's settings.
pub const PROJECT_RECIPES: &str = ".windlass/recipes";
const USER_RECIPES: &str = "recipes";

const BUILT_IN: &[(&str, &str)] = &[
    ("promise", include_str!("../../../recipes/promise.toml")),
    ("refine", include_str!("../../../recipes/refine.toml")),
    ("audited", include_str!("../../../recipes/audited.toml")),
    ("milestone", include_str!("../../../recipes/milestone.toml")),
];

/// Settings that every recipe must have or inherit.
const REQUIRED: [&str; 6] = ["session", "commit", "max_iterations", "on_limit", "turn_timeout", "stall_timeout"];

/// Who wrote a recipe; a later one wins over an earlier one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecipeSource {
    BuiltIn,
    User,
    Project,
}

impl RecipeSource {
    pub fn name(self) -> &'static str {
        match self {
            RecipeSource::BuiltIn => "built_in",
            RecipeSource::User => "user",
            RecipeSource::Project => "project",
        }
    }
}

/// A recipe with everything it inherits.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    pub name: String,
    pub about: String,
    pub default_for: Option<DefaultFor>,
    pub done: DoneKind,
    pub review: Option<ReviewKind>,
    pub on_failure: OnFailure,
    pub max_stalls: u32,
    pub max_rejections: u32,
    /// Its own file last, after those that it extends.
    pub files: Vec<RecipeFile>,
}

impl Recipe {
    /// The texts that it replaces, by name.
    pub fn prompts(&self) -> BTreeMap<String, String> {
        let all = self.files.iter().flat_map(|file| &file.prompts);
        all.map(|(name, (text, _))| ((*name).to_owned(), text.clone())).collect()
    }

    /// Its settings, what it extends first.
    pub(super) fn layers(&self) -> impl Iterator<Item = Layer> {
        self.files.iter().map(|file| file.settings.clone())
    }

    /// The file that has the recipe's name.
    pub fn own(&self) -> &RecipeFile {
        self.files.last().unwrap_or_else(|| unreachable!("a recipe is made of at least one file"))
    }
}

/// A recipe that can be named.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub name: String,
    pub source: RecipeSource,
    pub path: PathBuf,
}

impl Entry {
    pub fn is_built_in(&self) -> bool {
        self.source == RecipeSource::BuiltIn
    }

    pub fn read(&self) -> Result<RecipeFile, ConfigError> {
        let text = match self.source {
            RecipeSource::BuiltIn => {
                BUILT_IN.iter().find(|(name, _)| *name == self.name).map(|(_, text)| (*text).to_owned())
            }
            RecipeSource::User | RecipeSource::Project => {
                self.check_name()?;
                read_text(&self.path)?
            }
        };
        RecipeFile::read(&self.name, self.source, &self.path, text.unwrap_or_default())
    }

    fn check_name(&self) -> Result<(), ConfigError> {
        let fault = |problem: String, hint: &str| {
            Err(ConfigError::Recipe { place: top(&self.path), problem, hint: hint.to_owned() })
        };
        if BUILT_IN.iter().any(|(name, _)| *name == self.name) {
            let problem = format!("'{}' is the name of a built-in recipe", self.name);
            let hint = format!("rename the file, and add extends = \"{}\"", self.name);
            return fault(problem, &hint);
        }
        if !is_valid_name(&self.name) {
            let problem = format!("'{}' is not a valid recipe name", self.name.escape_debug());
            return fault(problem, "use a-z, 0-9, -, and _, at most 64 characters, not starting with -");
        }
        Ok(())
    }
}

/// Every recipe that can be named here, those that win first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recipes(Vec<Entry>);

impl Recipes {
    pub fn built_in() -> Self {
        let entry = |(name, _): (&str, &str)| Entry {
            name: name.to_owned(),
            source: RecipeSource::BuiltIn,
            path: PathBuf::from(format!("{name}.toml")),
        };
        Self(BUILT_IN.iter().copied().map(entry).collect())
    }

    /// Those of the project, of the user, and the built-in ones.
    pub fn find(paths: &Paths, project: Option<&Path>) -> Result<Self, ConfigError> {
        let mut all = Vec::new();
        if let Some(root) = project {
            all.extend(in_folder(&root.join(PROJECT_RECIPES), RecipeSource::Project)?);
        }
        if let Some(beside) = paths.user_config.parent() {
            all.extend(in_folder(&beside.join(USER_RECIPES), RecipeSource::User)?);
        }
        all.extend(Self::built_in().0);
        Ok(Self(all))
    }

    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The names, each once.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for entry in &self.0 {
            if !names.contains(&entry.name) {
                names.push(entry.name.clone());
            }
        }
        names
    }

    /// The recipe of that name; `None` if there is none.
    pub fn get(&self, name: &str) -> Result<Option<Recipe>, ConfigError> {
        self.named(name).map(|entry| self.resolve(entry)).transpose()
    }

    /// Which one a name means.
    pub fn named(&self, name: &str) -> Option<&Entry> {
        self.named_below(name, RecipeSource::Project, &[])
    }

    /// The same among those of a place and below it. No file takes the name of a built-in one.
    fn named_below(&self, name: &str, most: RecipeSource, passed: &[&Entry]) -> Option<&Entry> {
        let fits = |entry: &&Entry| entry.name == name && entry.source <= most && !passed.contains(entry);
        self.0.iter().find(|entry| fits(entry) && entry.is_built_in()).or_else(|| self.0.iter().find(fits))
    }

    /// The name of the default recipe. Ignores files that cannot be read.
    pub fn default_for(&self, what: DefaultFor) -> String {
        let is_it = |entry: &&Entry| entry.read().is_ok_and(|file| file.policies.default_for == Some(what));
        let found = self.0.iter().find(is_it).or_else(|| self.0.last());
        found.map(|entry| entry.name.clone()).unwrap_or_default()
    }

    /// A recipe with everything it inherits.
    pub fn resolve(&self, entry: &Entry) -> Result<Recipe, ConfigError> {
        let mut passed = vec![entry];
        let mut files = vec![entry.read()?];
        while let Some(file) = files.last()
            && let Some(base) = &file.policies.extends
        {
            let Some(next) = self.named_below(base, file.source, &passed) else {
                let below = self.0.iter().filter(|entry| entry.source <= file.source);
                let known: Vec<&str> = below.map(|entry| entry.name.as_str()).collect();
                let place = file.extends_at.clone();
                return Err(match passed.iter().any(|entry| entry.name == *base) {
                    true => ConfigError::Recipe {
                        place,
                        problem: format!("recipe extends itself through '{base}'"),
                        hint: "extend a built-in recipe, or remove extends".to_owned(),
                    },
                    false => ConfigError::Recipe {
                        place,
                        problem: format!("unknown recipe '{}' in extends", base.escape_debug()),
                        hint: match nearest(base, known.iter().copied()) {
                            Some(near) => format!("did you mean '{near}'?"),
                            None => format!("known recipes: {}", known.join(", ")),
                        },
                    },
                });
            };
            passed.push(next);
            files.push(next.read()?);
        }
        files.reverse();
        complete(files)
    }
}

/// Layers the files of a recipe, and checks that nothing is missing.
fn complete(files: Vec<RecipeFile>) -> Result<Recipe, ConfigError> {
    let all = files.iter().fold(Policies::default(), |below, file| below.overlaid(&file.policies));
    let Some(own) = files.last() else { unreachable!("a recipe is made of at least one file") };
    let place = || top(&own.path);
    let missing = |key: &str| ConfigError::Recipe {
        place: place(),
        problem: format!("'{key}' is missing"),
        hint: format!("add {key}, or extend a recipe that has it: extends = \"{}\"", BUILT_IN[0].0),
    };
    let has = |key: &str| files.iter().any(|file| file.settings.options.to_json().contains_key(key));
    if let Some(key) = REQUIRED.iter().find(|key| !has(key)) {
        return Err(missing(key));
    }
    let done = all.done.ok_or_else(|| missing("done"))?;
    let fits = match done {
        DoneKind::FindingsClear => all.review == Some(ReviewKind::Audit),
        DoneKind::Verdict => all.review == Some(ReviewKind::Acceptance),
        DoneKind::Promise | DoneKind::Gates | DoneKind::Target => all.review.is_none(),
    };
    if !fits {
        return Err(ConfigError::Recipe {
            place: place(),
            problem: "'done' and 'review' do not match".to_owned(),
            hint:
                "findings_clear requires review = \"audit\", verdict requires \"acceptance\", and all others allow no review"
                    .into(),
        });
    }
    let default_for = own.policies.default_for;
    let serves = match default_for {
        Some(DefaultFor::Target) => done == DoneKind::Target,
        Some(DefaultFor::Milestone) => done == DoneKind::Verdict,
        Some(DefaultFor::Goal | DefaultFor::Plan) | None => true,
    };
    if !serves {
        return Err(ConfigError::Recipe {
            place: place(),
            problem: "'done' does not match 'default_for'".to_owned(),
            hint: "default_for = \"target\" requires done = \"target\", and \"milestone\" requires done = \"verdict\""
                .to_owned(),
        });
    }
    Ok(Recipe {
        name: own.name.clone(),
        about: all.about.clone().unwrap_or_default(),
        default_for,
        done,
        review: all.review,
        on_failure: all.on_failure.clone().ok_or_else(|| missing("on_failure"))?,
        max_stalls: all.max_stalls.ok_or_else(|| missing("max_stalls"))?.get(),
        max_rejections: all.max_rejections.map_or(ReviewSpec::DEFAULT_REJECTIONS, |times| times.get()),
        files,
    })
}

/// The recipes of a folder in the order of their names; none if there is no such folder.
fn in_folder(folder: &Path, source: RecipeSource) -> Result<Vec<Entry>, ConfigError> {
    let unreadable = |error| ConfigError::Unreadable { path: folder.to_owned(), source: error };
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(unreadable(error)),
    };
    let mut entries = Vec::new();
    for file in listed {
        let path = file.map_err(unreadable)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            entries.push(Entry { name, source, path });
        }
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

fn top(path: &Path) -> Place {
    Place::File { path: path.to_owned(), line: 1, column: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_recipe_is_complete_and_one_serves_each_occasion() {
        let recipes = Recipes::built_in();
        for entry in recipes.entries() {
            let recipe = recipes.resolve(entry).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            assert!(!recipe.about.is_empty() && recipe.files.len() == 1, "{}", entry.name);
        }
        for (what, name) in [
            (DefaultFor::Goal, "promise"),
            (DefaultFor::Target, "refine"),
            (DefaultFor::Plan, "audited"),
            (DefaultFor::Milestone, "milestone"),
        ] {
            assert_eq!(recipes.default_for(what), name);
        }
    }

    #[test]
    fn a_users_recipe_does_not_extend_one_of_the_project() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("user/recipes/mine.toml", "extends = \"base\"\n");
        write("repo/.windlass/recipes/base.toml", "extends = \"promise\"\n");
        let user_config = dir.path().join("user/config.toml");
        let paths = Paths { data: dir.path().into(), user_config, user_config_named: false };
        let recipes = Recipes::find(&paths, Some(&dir.path().join("repo"))).unwrap();
        let error = recipes.get("mine").unwrap_err().to_string();
        assert!(error.contains("unknown recipe 'base' in extends"), "{error}");
        write("user/recipes/base.toml", "extends = \"refine\"\nmax_iterations = 8\n");
        let recipes = Recipes::find(&paths, Some(&dir.path().join("repo"))).unwrap();
        assert_eq!(recipes.get("mine").unwrap().unwrap().done, DoneKind::Target);
        assert_eq!(recipes.get("base").unwrap().unwrap().done, DoneKind::Promise);
    }
}

#[cfg(fuzzing)]
pub mod fuzzing {
    use super::{ConfigError, Path, RecipeFile, RecipeSource};

    /// Reads the text of a user's recipe.
    pub fn read_recipe(text: &str) -> Result<RecipeFile, ConfigError> {
        RecipeFile::read("fuzzed", RecipeSource::User, Path::new("fuzzed.toml"), text.to_owned())
    }
}
