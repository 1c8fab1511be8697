//! Loops side by side: how each ended, what it cost, and how their work differs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::machine::Claims;
use windlass_core::spec::Parent;
use windlass_core::stop::Outcome;
use windlass_engine::view::{GateView, LoopView};
use windlass_workspace::DiffTo;

use crate::diff;
use crate::local::Local;
use crate::loops::ShowLoop;
use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::requests::DiffLoop;
use crate::views::FileDiff;

/// Compare loops.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CompareLoops {
    /// The IDs of two loops or more, separated by commas.
    pub loops: String,
    /// With the diff from the first loop's work to that of each other one.
    pub diff: bool,
    /// The diff file by file, and bounded, instead of as one patch.
    pub files: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    pub loops: Vec<ComparedLoop>,
    /// If they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
}

/// One of them. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedLoop {
    pub id: String,
    pub name: String,
    pub goal: String,
    pub agent: String,
    pub model: Option<String>,
    pub recipe: String,
    pub parent: Option<Parent>,
    pub status: String,
    /// Of a completed loop.
    pub outcome: Option<Outcome>,
    pub verified: bool,
    /// Whether Windlass merged its work.
    pub merged: bool,
    /// The verdicts on its last commit, hidden gates included.
    pub gates: Vec<GateView>,
    pub claims: Claims,
    /// Of a reviewed loop.
    pub findings_open: Option<usize>,
    pub findings_resolved: Option<usize>,
    pub iterations: u32,
    /// `null` if it is not known.
    pub cost_usd: Option<f64>,
    pub tokens: u64,
    pub elapsed_ms: u64,
    /// What differs from its base; `null` if the commits are gone.
    pub changes: Option<ChangeSize>,
    pub base_commit: Option<String>,
    pub head_commit: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeSize {
    pub files: u64,
    pub added: u64,
    pub removed: u64,
}

/// From one loop's work to another's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    pub from: String,
    pub to: String,
    /// Empty if the files were asked for.
    pub patch: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileDiff>,
    /// Files that are not shown because the diff is too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Request for CompareLoops {
    type Report = Compared;
    const NAME: &'static str = "compare";

    async fn perform(self, here: &Local) -> Result<Compared, Problem> {
        let mut ids: Vec<&str> = Vec::new();
        for id in self.loops.split(',').map(str::trim).filter(|id| !id.is_empty()) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        if ids.len() < 2 {
            return Err(Problem::new(Kind::Invalid, "comparing requires two different loops")
                .field("loops")
                .hint("name at least two loops"));
        }
        let mut views = Vec::new();
        for id in ids {
            views.push(ShowLoop { id: id.to_owned() }.perform(here).await?);
        }
        if let Some(other) = views.iter().find(|view| view.project != views[0].project) {
            return Err(Problem::new(
                Kind::Invalid,
                format!("{} and {} are loops of different projects", views[0].name, other.name),
            )
            .field("loops")
            .hint("compare loops of one project"));
        }
        let differences = match self.diff || self.files {
            true => differences(here, &views, self.files).await?,
            false => Vec::new(),
        };
        let mut loops = Vec::new();
        for view in views {
            let changes = changes(here, &view).await;
            loops.push(ComparedLoop::of(view, changes));
        }
        Ok(Compared { loops, differences })
    }
}

impl ComparedLoop {
    fn of(view: LoopView, changes: Option<ChangeSize>) -> Self {
        let review = view.review.as_ref();
        Self {
            findings_open: review.map(|review| review.findings_open),
            findings_resolved: review.map(|review| review.findings_resolved),
            cost_usd: view.usage.total.cost_usd,
            tokens: view.usage.total.tokens(),
            merged: view.merged.is_some(),
            id: view.id,
            name: view.name,
            goal: view.goal,
            agent: view.agent,
            model: view.model,
            recipe: view.recipe,
            parent: view.parent,
            status: view.status,
            outcome: view.outcome,
            verified: view.verified,
            gates: view.gates,
            claims: view.claims,
            iterations: view.iterations,
            elapsed_ms: view.elapsed_ms,
            changes,
            base_commit: view.base_commit,
            head_commit: view.head_commit,
        }
    }
}

/// The size of a loop's work. A branch that is gone has none, and its loop can still be compared.
async fn changes(here: &Local, view: &LoopView) -> Option<ChangeSize> {
    if view.base_commit == view.head_commit {
        return view.base_commit.as_ref().map(|_| ChangeSize { files: 0, added: 0, removed: 0 });
    }
    let diff = DiffLoop { id: view.id.clone(), ..DiffLoop::default() }.perform(here).await.ok()?;
    Some(ChangeSize {
        files: (diff.files.len() + diff.files_left_out) as u64,
        added: diff.files.iter().map(|file| file.added).sum(),
        removed: diff.files.iter().map(|file| file.removed).sum(),
    })
}

/// From the first loop's work to that of each other one.
async fn differences(here: &Local, views: &[LoopView], by_file: bool) -> Result<Vec<Difference>, Problem> {
    let head = |view: &LoopView| {
        view.head_commit.clone().ok_or_else(|| {
            Problem::refused(format!("{}: the loop has no commits yet", view.name), "compare it without --diff")
        })
    };
    let engine = here.readable().await?;
    let workspace = engine.workspace(&here.state_of(&views[0].id).await?)?;
    let from = head(&views[0])?;
    let mut differences = Vec::new();
    for view in &views[1..] {
        let to = DiffTo::Commit(head(view)?);
        let patch = engine.workspaces.diff(&workspace, &from, &to).await;
        let patch = patch.map_err(|error| Problem { code: Kind::Failed, ..error.into() })?;
        let (files, files_left_out) = if by_file { diff::files(&patch) } else { (Vec::new(), 0) };
        let patch = if by_file { String::new() } else { String::from_utf8_lossy(&patch).into_owned() };
        let (from, to) = (views[0].name.clone(), view.name.clone());
        differences.push(Difference { from, to, patch, files, files_left_out });
    }
    Ok(differences)
}
