//! One loop by its name.

use windlass_engine::engine::Engine;
use windlass_engine::view::LoopView;
use windlass_store::{ListFilter, Listed};

use crate::local::{Local, settled};
use crate::loops::view;
use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::requests::FindLoop;

impl Request for FindLoop {
    type Report = LoopView;
    const NAME: &'static str = "find";

    async fn perform(self, here: &Local) -> Result<LoopView, Problem> {
        let project = self.project.as_deref();
        let (Some(engine), name) = (here.reader().await?, self.name) else {
            let hint = "start one with `windlass run`, or watch `windlass demo`";
            return Err(Problem::refused("there are no loops yet", hint));
        };
        let found = match &name {
            Some(name) => named(&engine, project, name).await?,
            None => latest(&engine, project).await?,
        };
        view(&settled(&engine, found).await?)
    }
}

async fn latest(engine: &Engine, project: Option<&str>) -> Result<Listed, Problem> {
    let filter = ListFilter { project: project.map(str::to_owned), limit: Some(1), ..ListFilter::default() };
    let first = engine.store.list(filter).await?.into_iter().next();
    let first = first.ok_or_else(|| {
        let hint = "start one with `windlass run`; `windlass list --all` shows the loops of every project";
        Problem::refused("there are no loops in this project", hint)
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
                format!("run this inside the project, or give the loop's id, such as {}", first.entry.id),
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
    Problem::refused(message, "give more of the name")
}

fn not_found(name: &str, here: &[&Listed]) -> Problem {
    let hint = match windlass_core::nearest::nearest(name, here.iter().map(|listed| listed.entry.name.as_str())) {
        Some(nearest) => format!("did you mean '{nearest}'? `windlass list` shows all"),
        None => "`windlass list` shows the loops of this project, `windlass list --all` those of every project".into(),
    };
    Problem::new(Kind::NotFound, format!("there is no loop '{name}' here")).hint(hint)
}
