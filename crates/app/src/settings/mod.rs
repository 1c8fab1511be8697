//! Settings: what they are, where they come from, and changes to their files; and recipes, which are files of them.

mod recipes;

use std::path::PathBuf;

use windlass_engine::config::{self, Options, Origin, Settings};

use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::requests::{ChangeSettings, SettingsOf};
use crate::views::{SettingView, SettingsView};

pub use recipes::*;

fn no_project() -> Problem {
    Problem::new(Kind::Invalid, "the project is missing").field("project").hint("add ?project=/path/of/it")
}

impl Request for SettingsOf {
    type Report = SettingsView;
    const NAME: &'static str = "settings";

    async fn perform(self, here: &Local) -> Result<SettingsView, Problem> {
        let project = match self.project.as_ref().filter(|said| !said.is_empty()) {
            Some(project) => Some(here.at(project).await?.1),
            None => None,
        };
        read(here, project)
    }
}

impl Request for ChangeSettings {
    type Report = SettingsView;
    const NAME: &'static str = "change_settings";

    async fn perform(self, here: &Local) -> Result<SettingsView, Problem> {
        let project = match (self.layer.as_str(), &self.project) {
            ("user", _) => None,
            ("project", Some(project)) => Some(here.at(project).await?.1),
            ("project", None) => return Err(no_project()),
            _ => return Err(Problem::new(Kind::NotFound, "use the scope `user` or `project`")),
        };
        match &project {
            Some(root) => config::edit(&root.join(config::PROJECT_FILE), &self.change, |path, line| {
                config::Origin::ProjectFile { path, line }
            }),
            None => config::edit(&here.context.paths.user_config, &self.change, |path, line| {
                config::Origin::UserFile { path, line }
            }),
        }?;
        read(here, project)
    }
}

fn read(here: &Local, project: Option<PathBuf>) -> Result<SettingsView, Problem> {
    let settings = here.context.settings(project.as_deref(), Options::default()).map_err(Problem::invalid)?;
    Ok(SettingsView {
        settings: shown(&settings),
        warnings: settings.warnings.clone(),
        user_file: here.context.paths.user_config.display().to_string(),
        project_file: project.map(|root| root.join(config::PROJECT_FILE).display().to_string()),
    })
}

pub(crate) fn shown(settings: &Settings) -> Vec<SettingView> {
    let rows = settings.show().into_iter();
    rows.map(|row| {
        let (layer, origin) = match &row.origin {
            Origin::Default => ("default", row.origin.to_string()),
            Origin::Recipe { .. } => ("recipe", row.origin.to_string()),
            Origin::UserFile { .. } => ("user", row.origin.to_string()),
            Origin::ProjectFile { .. } => ("project", row.origin.to_string()),
            Origin::Env { .. } => ("environment", row.origin.to_string()),
            // Nothing was typed here: what wins over the files came with the request.
            Origin::Flag { .. } => ("request", "request".to_owned()),
        };
        SettingView { key: row.key, value: row.value, unset: row.unset.into_owned(), layer: layer.to_owned(), origin }
    })
    .collect()
}
