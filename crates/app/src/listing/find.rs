//! One loop by its name.

use windlass_engine::engine::Engine;
use windlass_engine::view::LoopView;
use windlass_store::{LOOP, ListFilter, Listed};

use crate::local::{Local, settled};
use crate::loops::whole_view;
use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::requests::FindLoop;

impl Request for FindLoop {
    type Report = LoopView;
    const NAME: &'static str = "find";

    async fn perform(self, here: &Local) -> Result<LoopView, Problem> {
        let project = self.project.as_deref();
        let Some(engine) = here.reader().await? else {
            let hint = "start one with `windlass run`, or try `windlass demo`";
            let message = match self.name {
                Some(name) => format!("loop '{name}' not found: there are no loops yet"),
                None => "there are no loops yet".to_owned(),
            };
            return Err(Problem::refused(message, hint));
        };
        let found = match &self.name {
            Some(name) => named(&engine, project, name).await?,
            None => latest(&engine, project).await?,
        };
        if found.entry.kind != LOOP {
            return Err(Problem::group(&found.entry));
        }
        whole_view(&engine, &settled(&engine, found).await?).await
    }
}

async fn latest(engine: &Engine, project: Option<&str>) -> Result<Listed, Problem> {
    let filter = ListFilter { project: project.map(str::to_owned), limit: Some(1), ..ListFilter::default() };
    let first = engine.store.list(filter).await?.into_iter().next();
    let first = first.ok_or_else(|| {
        let hint = "start one with `windlass run`, or see all projects with `windlass list --all`";
        Problem::refused("no loops in this project", hint)
    })?;
    with_summary(engine, &first).await
}

/// The exact name in this project, an id, the exact name in another project, then the start of a name in this one.
async fn named(engine: &Engine, project: Option<&str>, name: &str) -> Result<Listed, Problem> {
    if let Some(project) = project
        && let Some(listed) = engine.store.find(project, name).await?
    {
        return Ok(listed);
    }
    if let Some(listed) = engine.store.get(name).await? {
        return Ok(listed);
    }
    let all = engine.store.list(ListFilter::default()).await?;
    let exact: Vec<&Listed> = all.iter().filter(|listed| listed.entry.name == name).collect();
    match exact[..] {
        [] => {}
        [one] => return with_summary(engine, one).await,
        [first, ..] => {
            return Err(Problem::refused(
                format!("more than one project has a loop '{name}'"),
                format!("run this inside the project, or use the loop's ID, such as {}", first.entry.id),
            ));
        }
    }
    let here: Vec<&Listed> =
        all.iter().filter(|listed| project.is_none_or(|project| listed.entry.project == project)).collect();
    let matching = here.iter().filter(|listed| !name.is_empty() && listed.entry.name.starts_with(name));
    match matching.copied().collect::<Vec<_>>()[..] {
        [] => Err(not_found(name, &here)),
        [one] => with_summary(engine, one).await,
        ref several => Err(ambiguous(name, several)),
    }
}

async fn with_summary(engine: &Engine, listed: &Listed) -> Result<Listed, Problem> {
    let id = &listed.entry.id;
    engine.store.get(id).await?.ok_or_else(|| Problem::no_loop(id))
}

fn ambiguous(name: &str, several: &[&Listed]) -> Problem {
    const SHOWN: usize = 5;
    let mut names: Vec<&str> = several.iter().take(SHOWN).map(|listed| listed.entry.name.as_str()).collect();
    if several.len() > SHOWN {
        names.push("…");
    }
    let message = format!("{} loops start with '{name}': {}", several.len(), names.join(", "));
    Problem::refused(message, "type more of the name")
}

fn not_found(name: &str, here: &[&Listed]) -> Problem {
    let hint = match windlass_engine::config::nearest(name, here.iter().map(|listed| listed.entry.name.as_str())) {
        Some(nearest) => format!("did you mean '{nearest}'? see `windlass list`"),
        None => "see `windlass list` for this project's loops, or `windlass list --all` for all".into(),
    };
    Problem::new(Kind::NotFound, format!("loop '{name}' not found in this project")).hint(hint)
}
