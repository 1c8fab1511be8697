//! Finding loops, and how they stand.

use std::sync::Arc;

use windlass_core::ids::LoopId;
use windlass_engine::engine::{Engine, is_alive, status_word};
use windlass_store::{ListFilter, Listed};

use crate::failure::Failure;

/// The loop of this name, in this project if we are in one, else in any.
pub async fn find(engine: &Arc<Engine>, project: Option<&str>, name: &str) -> Result<Listed, Failure> {
    if let Some(project) = project
        && let Some(listed) = engine.store.find(project, name).await?
    {
        return Ok(listed);
    }
    let all = engine.store.list(ListFilter { summaries: true, ..ListFilter::default() }).await?;
    if project.is_none() {
        let mut named = all.iter().filter(|listed| listed.entry.name == name || listed.entry.id == name);
        if let Some(found) = named.next() {
            return match named.next() {
                None => Ok(found.clone()),
                Some(_) => Err(Failure::usage(
                    format!("more than one project has a loop '{name}'"),
                    "run this inside the project, or name it with -C",
                )),
            };
        }
    }
    Err(not_found(name, project, &all))
}

fn not_found(name: &str, project: Option<&str>, all: &[Listed]) -> Failure {
    let here = all.iter().filter(|listed| project.is_none_or(|project| listed.entry.project == project));
    let names: Vec<&str> = here.map(|listed| listed.entry.name.as_str()).collect();
    let hint = match windlass_engine::config::nearest(name, names.iter().copied()) {
        Some(nearest) => format!("did you mean '{nearest}'? `windlass list` shows all"),
        None => "`windlass list` shows the loops of this project, `windlass list --all` those of every project".into(),
    };
    Failure::usage(format!("there is no loop '{name}' here"), hint)
}

/// The status word of a loop as it is now. A driver's last act is to write the end and to leave, so one that is gone
/// is looked at again before its loop is called interrupted.
pub async fn settled(engine: &Arc<Engine>, listed: Listed) -> Result<Listed, Failure> {
    let gone = listed.holder.as_ref().is_some_and(|holder| !is_alive(holder));
    if !gone {
        return Ok(listed);
    }
    let again = engine.store.get(&listed.entry.id).await?;
    Ok(again.unwrap_or(listed))
}

pub fn word(listed: &Listed) -> &str {
    status_word(listed)
}

pub fn id(listed: &Listed) -> LoopId {
    LoopId(listed.entry.id.clone())
}
