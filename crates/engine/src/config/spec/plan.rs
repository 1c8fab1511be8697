//! The plan of a loop: a file that is named, or the newest one in the folders for plans.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::config::keys::Settings;
use crate::config::origin::Origin;
use crate::config::recipe::DoneKind;
use crate::config::usage::UsageError;

/// More than this is no plan, and would never fit a prompt.
const LARGEST: u64 = 1024 * 1024;

/// What a loop is given to work along.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// As it is frozen in the loop's specification.
    pub text: Option<String>,
    /// What the user should know: which file it was, or why one was passed over.
    pub notes: Vec<String>,
}

/// Reads the plan of a loop that is to be made. A plan that was named must be readable; one that was merely found is
/// passed over with a word.
pub fn read_plan(settings: &Settings, cwd: &Path, project: &Path) -> Result<Plan, UsageError> {
    let takes_plan = settings.in_use.as_ref().is_some_and(|recipe| match recipe.done {
        DoneKind::Target | DoneKind::FindingsClear => true,
        DoneKind::Promise | DoneKind::Gates | DoneKind::Verdict => false,
    });
    let by_flag = matches!(settings.plan.origin, Origin::Flag { .. });
    match &settings.plan.value {
        Some(_) if !takes_plan && by_flag => {
            Err(UsageError::PlanUnused { recipe: settings.recipe.value.clone().unwrap_or_default() })
        }
        _ if !takes_plan => Ok(Plan::default()),
        Some(named) => {
            let path = if by_flag { cwd } else { project }.join(named);
            let text = read(&path).map_err(|problem| UsageError::Plan { path: named.clone(), problem })?;
            Ok(Plan { text: Some(text), notes: Vec::new() })
        }
        None => Ok(found(settings, project)),
    }
}

fn found(settings: &Settings, project: &Path) -> Plan {
    let folders = settings.plan_dirs.value.clone().unwrap_or_default();
    let Some(path) = newest(folders.get(), project) else { return Plan::default() };
    let shown = path.strip_prefix(project).unwrap_or(&path).display().to_string();
    match read(&path) {
        Ok(text) => {
            let note = format!("using the newest plan, {shown}; use --plan to select another");
            Plan { text: Some(text), notes: vec![note] }
        }
        Err(problem) => Plan { text: None, notes: vec![format!("ignoring the plan {shown}: {problem}")] },
    }
}

/// The newest Markdown file; of two of the same time the first by name, so that the answer is always the same.
fn newest(folders: &[String], project: &Path) -> Option<PathBuf> {
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(project.join(folder)).into_iter().flatten());
    let mut plans: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md")))
        .filter_map(|path| {
            let data = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some((data.modified().unwrap_or(SystemTime::UNIX_EPOCH), path))
        })
        .collect();
    plans.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    plans.into_iter().next().map(|(_, path)| path)
}

fn read(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("larger than {LARGEST} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "not valid UTF-8".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).trim_end();
    if text.trim().is_empty() { Err("empty".to_owned()) } else { Ok(text.to_owned()) }
}
