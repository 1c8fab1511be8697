//! `windlass recipe`.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use windlass_app::{App, CheckRecipes, PromptView, RecipeOf, RecipeRow, RecipeView, RecipesOf};
use windlass_core::nearest::nearest;

use crate::args::{RecipeArgs, RecipeCheckArgs, RecipeCommand, RecipeShowArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{Style, json_line};
use crate::terminal::print;

pub async fn recipe(app: &App, dir: Option<&Path>, args: &RecipeArgs) -> Result<Exit, Failure> {
    let project = match app {
        App::Here(local) => Some(local.context.cwd.to_string_lossy().into_owned()),
        App::There(_) => dir.map(|dir| dir.to_string_lossy().into_owned()),
    };
    match &args.command {
        RecipeCommand::List(args) => {
            let rows = app.run(RecipesOf { project, ..RecipesOf::default() }).await?;
            print(&if args.json { json_line(&json!(rows)) } else { listed(&rows, Style::for_stdout()) });
            Ok(Exit::Completed)
        }
        RecipeCommand::Show(args) => show(app, project, args).await,
        RecipeCommand::Check(args) => check(app, project, args).await,
    }
}

fn listed(rows: &[RecipeRow], style: Style) -> String {
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let from = match (row.source.as_str(), row.hidden) {
            ("built_in", _) => "built in",
            (_, true) => "hidden",
            (source, false) => source,
        };
        let what = match &row.fault {
            Some(fault) => style.bad(&fault.message),
            None => row.about.clone(),
        };
        let used = row.default_for.as_ref().map_or(String::new(), |what| format!("  (default for a {what})"));
        let _ =
            writeln!(text, "{:<width$}  {}  {what}{}", row.name, style.dim(&format!("{from:<8}")), style.dim(&used));
    }
    text
}

async fn show(app: &App, project: Option<String>, args: &RecipeShowArgs) -> Result<Exit, Failure> {
    let view = app.run(RecipeOf { name: args.name.clone(), project }).await?;
    if args.json {
        print(&json_line(&json!(view)));
        return Ok(Exit::Completed);
    }
    if let Some(name) = &args.prompt {
        print(&format!("{}\n", prompt(&view, name)?.text.trim_end()));
        return Ok(Exit::Completed);
    }
    print(&shown(&view, Style::for_stdout()));
    Ok(Exit::Completed)
}

fn prompt<'a>(view: &'a RecipeView, name: &str) -> Result<&'a PromptView, Failure> {
    view.prompts.iter().find(|prompt| prompt.name == name).ok_or_else(|| {
        let known = || view.prompts.iter().map(|prompt| prompt.name.as_str());
        let hint = match nearest(name, known()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("known texts: {}", known().collect::<Vec<_>>().join(", ")),
        };
        Failure::usage(format!("unknown prompt text '{name}'"), hint)
    })
}

fn shown(view: &RecipeView, style: Style) -> String {
    let row = &view.row;
    let mut text = format!("{}  {}\n", style.bold(&row.name), row.about);
    let _ = writeln!(text, "{}", style.dim(row.file.as_deref().unwrap_or("built in")));
    let width = view.values.iter().map(|value| value.key.len()).max().unwrap_or(0);
    for value in &view.values {
        let from = if value.recipe == row.name { String::new() } else { format!("  # {}", value.recipe) };
        let _ = writeln!(text, "{:<width$} = {}{}", value.key, value.value, style.dim(&from));
    }
    let replaced: Vec<&str> =
        view.prompts.iter().filter(|prompt| prompt.recipe.is_some()).map(|prompt| prompt.name.as_str()).collect();
    let replaced = if replaced.is_empty() { "none".to_owned() } else { replaced.join(", ") };
    let _ = writeln!(text, "replaced prompts: {replaced}");
    text
}

async fn check(app: &App, project: Option<String>, args: &RecipeCheckArgs) -> Result<Exit, Failure> {
    let rows = app.run(CheckRecipes { project, names: args.names.clone() }).await?;
    let sound = rows.iter().all(|row| row.fault.is_none());
    if args.json {
        print(&json_line(&json!(rows)));
    } else {
        print(&checked(&rows, Style::for_stdout()));
    }
    Ok(if sound { Exit::Completed } else { Exit::Usage })
}

fn checked(rows: &[RecipeRow], style: Style) -> String {
    if rows.is_empty() {
        return "only built-in recipes found\n".to_owned();
    }
    let mut text = String::new();
    for row in rows {
        match &row.fault {
            None => {
                let file = row.file.as_deref().unwrap_or("built in");
                let _ = writeln!(text, "{} {}  {}", style.good("✓"), row.name, style.dim(file));
            }
            Some(fault) => {
                let _ = writeln!(text, "{} {}  {}", style.bad("✗"), row.name, fault.message);
                if let Some(hint) = &fault.hint {
                    let _ = writeln!(text, "  hint: {hint}");
                }
            }
        }
    }
    text
}
