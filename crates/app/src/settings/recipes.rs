//! Recipes: which there are, what one says, and whether their files are sound.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::nearest::nearest;
use windlass_core::prompt::TEXTS;
use windlass_engine::config::{ConfigError, Recipe, RecipeEntry, Recipes};

use crate::local::Local;
use crate::loops::page;
use crate::problem::{Kind, Problem};
use crate::request::Request;

/// Every recipe, those of a project first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecipesOf {
    /// The project's directory.
    pub project: Option<String>,
    /// Leave out so many: a page begins where the one before it ended.
    pub after: usize,
    /// At most so many; all if not said.
    pub limit: Option<usize>,
}

/// One recipe, with all that it extends.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecipeOf {
    #[schemars(skip)]
    pub name: String,
    /// The project's directory.
    pub project: Option<String>,
}

/// Whether recipes can be used: those of the project and of the user, or only some.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CheckRecipes {
    /// The project's directory.
    pub project: Option<String>,
    /// Only these; all that are not built in if empty.
    pub names: Vec<String>,
}

/// A recipe in a list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RecipeRow {
    pub name: String,
    pub about: String,
    /// `built_in`, `user` or `project`.
    pub source: String,
    /// Its file; none for a built-in one.
    pub file: Option<String>,
    pub extends: Option<String>,
    /// `goal`, `target`, `plan` or `milestone`, if it is used for that when nobody names a recipe.
    pub default_for: Option<String>,
    /// Another recipe of this name wins over it.
    pub hidden: bool,
    /// Why it cannot be used.
    pub fault: Option<RecipeFault>,
}

/// What is wrong with a recipe.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RecipeFault {
    /// With the file, the line and the column.
    pub message: String,
    pub hint: Option<String>,
}

/// What a recipe says.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RecipeView {
    #[serde(flatten)]
    pub row: RecipeRow,
    /// Policies and settings, each with the recipe that says it.
    pub values: Vec<RecipeValue>,
    /// Every text of a prompt.
    pub prompts: Vec<PromptView>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RecipeValue {
    pub key: String,
    pub value: serde_json::Value,
    /// The recipe that says it.
    pub recipe: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PromptView {
    pub name: String,
    /// When an agent gets it.
    pub about: String,
    pub text: String,
    /// The values that the text may use.
    pub values: Vec<String>,
    /// The recipe that replaces it.
    pub recipe: Option<String>,
}

impl Request for RecipesOf {
    type Report = Vec<RecipeRow>;
    const NAME: &'static str = "recipes";

    async fn perform(self, here: &Local) -> Result<Vec<RecipeRow>, Problem> {
        let recipes = find(here, self.project.as_deref()).await?;
        let mut rows: Vec<RecipeRow> = recipes.entries().iter().map(|entry| row(&recipes, entry)).collect();
        page(&mut rows, self.after, self.limit);
        Ok(rows)
    }
}

impl Request for RecipeOf {
    type Report = RecipeView;
    const NAME: &'static str = "recipe";

    async fn perform(self, here: &Local) -> Result<RecipeView, Problem> {
        let recipes = find(here, self.project.as_deref()).await?;
        let entry = named(&recipes, &self.name)?;
        let recipe = recipes.resolve(entry).map_err(|error| Problem::from(error).invalid())?;
        Ok(RecipeView { row: row(&recipes, entry), values: values(&recipe), prompts: prompts(&recipe) })
    }
}

impl Request for CheckRecipes {
    type Report = Vec<RecipeRow>;
    const NAME: &'static str = "check_recipes";

    async fn perform(self, here: &Local) -> Result<Vec<RecipeRow>, Problem> {
        let recipes = find(here, self.project.as_deref()).await?;
        let wanted: Vec<&RecipeEntry> = match self.names.is_empty() {
            true => recipes.entries().iter().filter(|entry| !entry.is_built_in()).collect(),
            false => self.names.iter().map(|name| named(&recipes, name)).collect::<Result<_, _>>()?,
        };
        Ok(wanted.into_iter().map(|entry| row(&recipes, entry)).collect())
    }
}

async fn find(here: &Local, project: Option<&str>) -> Result<Recipes, Problem> {
    let context = here.there(project)?;
    let root = context.project_if_any().await;
    Ok(Recipes::find(&context.paths, root.as_deref())?)
}

fn named<'a>(recipes: &'a Recipes, name: &str) -> Result<&'a RecipeEntry, Problem> {
    recipes.named(name).ok_or_else(|| {
        let known = recipes.names();
        let hint = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("known recipes: {}", known.join(", ")),
        };
        Problem::new(Kind::NotFound, format!("unknown recipe '{}'", name.escape_debug())).hint(hint)
    })
}

fn row(recipes: &Recipes, entry: &RecipeEntry) -> RecipeRow {
    let own = entry.read();
    let (extends, default_for) = match &own {
        Ok(file) => (file.policies.extends.clone(), file.policies.default_for.map(|what| what.name().to_owned())),
        Err(_) => (None, None),
    };
    let fault = |error: ConfigError| RecipeFault { hint: error.hint(), message: error.to_string() };
    let (about, fault) = match recipes.resolve(entry) {
        Ok(recipe) => (recipe.about, None),
        Err(error) => (String::new(), Some(fault(error))),
    };
    RecipeRow {
        name: entry.name.clone(),
        about,
        source: entry.source.name().to_owned(),
        file: (!entry.is_built_in()).then(|| shown(&entry.path)),
        extends,
        default_for,
        hidden: recipes.named(&entry.name) != Some(entry),
        fault,
    }
}

fn values(recipe: &Recipe) -> Vec<RecipeValue> {
    let mut all: Vec<RecipeValue> = Vec::new();
    for file in &recipe.files {
        let inherited = ["about", "extends", "default_for"];
        let policies = file.policies.to_json().into_iter().filter(|(key, _)| !inherited.contains(key));
        for (key, value) in policies.chain(file.setting_values()) {
            all.retain(|said| said.key != key);
            all.push(RecipeValue { key: key.to_owned(), value, recipe: file.name.clone() });
        }
    }
    all
}

fn prompts(recipe: &Recipe) -> Vec<PromptView> {
    let of = |name: &str| recipe.files.iter().rev().find_map(|file| Some((file.prompts.get(name)?, file.name.clone())));
    let views = TEXTS.iter().map(|text| {
        let replaced = of(text.name);
        PromptView {
            name: text.name.to_owned(),
            about: text.about.to_owned(),
            text: replaced.as_ref().map_or(text.built_in, |((own, _), _)| own.as_str()).to_owned(),
            values: text.values.iter().map(|value| (*value).to_owned()).collect(),
            recipe: replaced.map(|(_, recipe)| recipe),
        }
    });
    views.collect()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
