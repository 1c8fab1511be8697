//! `windlass config get|set|unset|edit`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_app::{App, ChangeSettings, Local, SettingView, SettingsOf, SettingsView};
use windlass_engine::config::{self, KEYS, Options, nearest};

use super::editor;
use crate::args::{EditArgs, GetArgs, SetArgs, UnsetArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{json_line, warn};
use crate::terminal::print;

pub async fn get(app: &App, dir: Option<&Path>, args: &GetArgs) -> Result<Exit, Failure> {
    let view = app.run(SettingsOf { project: project(app, dir).await }).await?;
    let row = row(&view, &args.key)?;
    print(&match (args.json, &row.value) {
        (true, _) => json_line(&json!({ "key": row.key, "value": row.value, "origin": row.origin })),
        (false, Value::Null) => return Ok(Exit::Failed),
        (false, Value::String(text)) => format!("{text}\n"),
        (false, Value::Array(items)) => items.iter().map(|item| format!("{}\n", plain(item))).collect(),
        (false, value) => format!("{value}\n"),
    });
    Ok(Exit::Completed)
}

pub async fn set(app: &App, dir: Option<&Path>, args: &SetArgs) -> Result<Exit, Failure> {
    let value = value(&args.key, &args.values)?;
    change(app, dir, args.project, &args.key, value, args.json).await
}

pub async fn unset(app: &App, dir: Option<&Path>, args: &UnsetArgs) -> Result<Exit, Failure> {
    let before = app.run(SettingsOf { project: project(app, dir).await }).await?;
    let layer = layer(args.project);
    if !in_profile(&args.key) && row(&before, &args.key)?.layer == "default" {
        let hint = format!("see where it comes from with `windlass config get {} --json`", args.key);
        return Err(Failure::usage(format!("'{}' is not set in the {layer} settings", args.key), hint));
    }
    change(app, dir, args.project, &args.key, Value::Null, args.json).await
}

pub async fn edit(local: &Local, args: &EditArgs) -> Result<Exit, Failure> {
    let root = local.context.project_if_any().await;
    let file: PathBuf = match (args.project, &root) {
        (false, _) => local.context.paths.user_config.clone(),
        (true, Some(root)) => root.join(config::PROJECT_FILE),
        (true, None) => return Err(Failure::usage("this is no git repository", "run this inside the project")),
    };
    if !file.exists() {
        config::write(&file, "# Windlass settings. `windlass config show` lists every setting.\n")?;
    }
    editor::open(&file)?;
    local.context.settings(root.as_deref(), Options::default())?;
    print(&format!("{} is valid\n", file.display()));
    Ok(Exit::Completed)
}

async fn project(app: &App, dir: Option<&Path>) -> Option<String> {
    match app {
        App::Here(local) => local.context.project_if_any().await.map(|root| root.to_string_lossy().into_owned()),
        App::There(_) => dir.map(|dir| dir.to_string_lossy().into_owned()),
    }
}

fn layer(project: bool) -> &'static str {
    if project { "project" } else { "user" }
}

async fn change(
    app: &App,
    dir: Option<&Path>,
    in_project: bool,
    key: &str,
    value: Value,
    as_json: bool,
) -> Result<Exit, Failure> {
    let layer = layer(in_project);
    let project = project(app, dir).await;
    let request =
        ChangeSettings { layer: layer.to_owned(), project: project.clone(), change: nested(key, value.clone()) };
    app.run(request).await?;
    // The file is one layer; what holds in this project may come from another.
    let view = app.run(SettingsOf { project }).await?;
    let file = if in_project { view.project_file.clone().unwrap_or_default() } else { view.user_file.clone() };
    let row = row(&view, key).ok();
    if let Some(row) = row.filter(|row| !value.is_null() && row.layer != layer) {
        warn(format!("{key} is also set elsewhere, which wins: {}", row.origin));
    }
    print(&match (as_json, value.is_null()) {
        (true, _) => json_line(&json!({ "key": key, "value": value, "file": file })),
        (false, true) => format!("removed {key} from {file}\n"),
        (false, false) => format!("{key} = {value} in {file}\n"),
    });
    Ok(Exit::Completed)
}

/// `agents.claude.model` names a field of a profile; every other key is one of the file's own.
fn nested(key: &str, value: Value) -> BTreeMap<String, Value> {
    let mut parts = key.split('.');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest: Vec<&str> = parts.collect();
    let inner = rest.iter().rev().fold(value, |inner, part| json!({ *part: inner }));
    BTreeMap::from([(first, inner)])
}

fn in_profile(key: &str) -> bool {
    key.split('.').next() == Some("agents")
}

fn row<'a>(view: &'a SettingsView, key: &str) -> Result<&'a SettingView, Failure> {
    let known = || view.settings.iter().map(|row| row.key.as_str());
    view.settings.iter().find(|row| row.key == key).ok_or_else(|| unknown(key, known()))
}

fn unknown<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let hint = match nearest(key, known) {
        Some(near) => format!("did you mean '{near}'?"),
        None => "`windlass config show` lists them".to_owned(),
    };
    Failure::usage(format!("there is no setting '{key}'"), hint)
}

/// The value that the words mean for this key: a number or a list where the key takes one, else a text.
fn value(key: &str, words: &[String]) -> Result<Value, Failure> {
    let read = |word: &String| serde_json::from_str::<Value>(word).ok();
    let text = |word: &String| Value::String(word.clone());
    let list = Value::Array(words.iter().map(text).collect());
    let Some(known) = KEYS.iter().find(|known| known.name == key) else {
        return match words {
            _ if !in_profile(key) => Err(unknown(key, KEYS.iter().map(|known| known.name))),
            [word] => Ok(read(word).unwrap_or_else(|| text(word))),
            _ => Ok(list),
        };
    };
    let mut candidates: Vec<Value> = match words {
        [word] => read(word).into_iter().chain([text(word), list]).collect(),
        _ => vec![list],
    };
    if known.expected.starts_with("a list") {
        candidates.retain(Value::is_array);
    }
    let mut wrong = None;
    for candidate in candidates {
        match Options::from_json(&BTreeMap::from([(key.to_owned(), candidate.clone())])) {
            Ok(_) => return Ok(candidate),
            Err(error) => wrong = wrong.or(Some(error)),
        }
    }
    Err(match wrong {
        Some(error) => windlass_app::Problem::from(error).into(),
        None => Failure::usage(format!("'{key}' needs a value"), "see `windlass config set --help`"),
    })
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
