//! Ended groups of which no loop is left.

use windlass_core::group::tries::Tries;
use windlass_core::group::{GroupId, GroupKind};
use windlass_engine::engine::EngineError;
use windlass_engine::groups::TriesView;
use windlass_store::{ListFilter, Listed, Rows};

use crate::local::Local;
use crate::problem::Problem;
use crate::reports::CleanedGroup;

/// The groups to look at.
pub(super) enum Which {
    /// Of this project, or of every project.
    Of(Option<String>),
    /// Those with this loop.
    With(String),
}

/// Removes the record of each ended group once its last loop is gone; the group's page explains those loops until then.
pub(super) async fn clean_groups(
    here: &Local,
    which: &Which,
    gone: &[String],
    dry_run: bool,
) -> Result<Vec<CleanedGroup>, Problem> {
    let engine = here.engine().await?;
    let project = match which {
        Which::Of(project) => project.clone(),
        Which::With(_) => None,
    };
    let filter = ListFilter { rows: Rows::Groups, project, summaries: true, ..ListFilter::default() };
    let mut removed = Vec::new();
    for row in engine.store.list(filter).await? {
        let Some(loops) = loops_of(&row).filter(|_| !row.entry.open) else { continue };
        if matches!(which, Which::With(id) if !loops.contains(id)) {
            continue;
        }
        let left = loops.into_iter().filter(|id| !gone.contains(id)).collect();
        let left = ListFilter { ids: Some(left), limit: Some(1), ..ListFilter::default() };
        if !engine.store.list(left).await?.is_empty() {
            continue;
        }
        if !dry_run {
            match engine.take_group::<Tries>(&GroupId(row.entry.id.clone())).await {
                Ok(held) => engine.forget_group(held).await?,
                Err(EngineError::Driven { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        removed.push(CleanedGroup { id: row.entry.id, name: row.entry.name, project: row.entry.project });
    }
    Ok(removed)
}

/// The loops of a group that ends; the others are not for a number of loops.
fn loops_of(row: &Listed) -> Option<Vec<String>> {
    match GroupKind::of_name(&row.entry.kind)? {
        GroupKind::Tries => {
            let view: TriesView = serde_json::from_str(&row.entry.summary).ok()?;
            Some(view.tries.into_iter().map(|each| each.id).collect())
        }
        GroupKind::Merges | GroupKind::Queue => None,
    }
}
