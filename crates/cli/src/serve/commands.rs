//! What the server asks for, before it is done: where, with which settings, and whether somebody agreed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::mpsc;
use windlass_core::ids::LoopId;
use windlass_core::stop::Status;
use windlass_engine::config::{Options, Origin, RequestError, RunOptions, Settings};
use windlass_engine::engine::{Engine, Held};
use windlass_engine::milestones;
use windlass_engine::trust::{self, Consent, Demands, Seen};
use windlass_engine::view::LoopView;
use windlass_server::{CleanReport, Kind, MilestoneBoard, Problem, SettingView, StartLoop};
use windlass_store::Listed;

use crate::args::CleanArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::milestone::Standing;
use crate::run::Prepared;
use crate::{run, work};

/// Loops that somebody opened over the API, on their way to be driven.
pub type Handed = mpsc::UnboundedSender<Held>;

#[derive(Debug)]
pub struct Commands {
    pub context: Context,
    pub engine: Arc<Engine>,
    pub handed: Handed,
    pub driving: Arc<AtomicUsize>,
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let code = if failure.exit == Exit::Usage { Kind::Refused } else { Kind::Failed };
        Self { hint: failure.hint, causes: failure.causes, ..Problem::new(code, failure.message) }
    }
}

pub(super) fn of_request(error: &RequestError) -> Problem {
    let code = if matches!(error, RequestError::Write { .. }) { Kind::Failed } else { Kind::Invalid };
    let causes = std::error::Error::source(error).map(ToString::to_string).into_iter().collect();
    let field = error.key().map(str::to_owned);
    Problem { hint: error.hint(), field, causes, ..Problem::new(code, error.to_string()) }
}

/// A mistake in what was asked for, rather than a loop that does not take it.
pub(super) fn invalid(problem: impl Into<Problem>) -> Problem {
    let problem = problem.into();
    let code = if problem.code == Kind::Refused { Kind::Invalid } else { problem.code };
    Problem { code, ..problem }
}

impl Commands {
    /// As if the command was typed in that directory.
    pub(super) async fn at(&self, project: &str) -> Result<(Context, PathBuf), Problem> {
        let dir = Path::new(project);
        if !dir.is_absolute() || !dir.is_dir() {
            return Err(Problem::new(Kind::Invalid, format!("there is no directory {}", dir.display()))
                .field("project")
                .hint("give the absolute path of the project"));
        }
        let context = self.context.at(dir);
        let root = context.project().await.map_err(|failure| invalid(failure).field("project"))?;
        Ok((context.at(&root), root))
    }

    pub(super) fn there(&self, project: Option<&Path>) -> Context {
        project.map_or_else(|| self.context.clone(), |project| self.context.at(project))
    }

    pub(super) async fn prepare(&self, request: StartLoop) -> Result<(Prepared, Settings), Problem> {
        let (context, root) = self.at(&request.project).await?;
        let options = Options::from_json(&request.settings).map_err(|error| of_request(&error))?;
        let settings = context.settings(Some(&root), options).map_err(invalid)?;
        if request.goal.trim().is_empty() {
            return Err(Problem::new(Kind::Invalid, "the goal is empty").field("goal").hint("say what is to be done"));
        }
        let wanted = RunOptions {
            goal: request.goal,
            name: request.name.unwrap_or_default(),
            agent_command: request.agent_command,
            reviewer_command: request.reviewer_command,
            base: request.base,
            allow_dirty: request.allow_dirty,
            ..RunOptions::default()
        };
        let prepared = run::prepare(&context, root, &settings, wanted).map_err(invalid)?;
        Ok((prepared, settings))
    }

    pub(super) async fn demands(&self, prepared: &Prepared, settings: &Settings) -> Result<Demands, Problem> {
        let (data, workspaces) = (&self.engine.data, &self.engine.workspaces);
        let demands = trust::of_loop(data, workspaces, &prepared.project, settings, &prepared.spec).await;
        Ok(demands.map_err(Failure::from)?)
    }

    /// Makes a loop and hands it over, if somebody agrees to what the project's own files run.
    pub(super) async fn create(
        &self,
        prepared: Prepared,
        settings: &Settings,
        agreed: Option<Vec<Seen>>,
    ) -> Result<LoopView, Problem> {
        let mut demands = self.demands(&prepared, settings).await?;
        let consent = match (demands.granted(), agreed) {
            (Some(consent), _) => consent,
            (None, Some(seen)) => self.agree_to(&mut demands, &seen)?,
            (None, None) => {
                let message = "nobody agreed yet to what this repository's own files would run";
                let details = Some(demands.list.into());
                let hint = "read what would run, then start it with `trust`, or run `windlass trust` there";
                return Err(Problem { details, ..Problem::new(Kind::TrustNeeded, message).hint(hint) });
            }
        };
        let held = self.engine.create(prepared.agreed(consent)).await.map_err(Failure::from)?;
        self.hand(held).await
    }

    /// Takes somebody's word for what he was shown, and for nothing else.
    pub(super) fn agree_to(&self, demands: &mut Demands, seen: &[Seen]) -> Result<Consent, Problem> {
        let other: Vec<&str> = demands.unseen(seen).map(|demand| demand.file.as_str()).collect();
        if other.is_empty() {
            return Ok(demands.agree(&self.engine.data).map_err(Failure::from)?);
        }
        let message = format!("not what was shown: {} would run something else by now", other.join(", "));
        let details = Some(demands.list.clone().into());
        let hint = "read what would run now, and agree to that";
        Err(Problem { details, ..Problem::new(Kind::TrustNeeded, message).hint(hint) })
    }

    /// Hands a loop to the driver of this process, if there is anything to drive.
    pub(super) async fn hand(&self, held: Held) -> Result<LoopView, Problem> {
        let view = LoopView::of(&held.state);
        let drives = matches!(held.state.status, Status::Running | Status::Waiting { .. });
        if !drives {
            self.engine.release(held).await?;
            return Ok(view);
        }
        if let Err(mpsc::error::SendError(held)) = self.handed.send(held) {
            self.engine.release(held).await?;
            return Err(Problem::new(Kind::Failed, "the server is about to leave").hint("ask again when it is back"));
        }
        Ok(view)
    }

    pub(super) async fn held<T>(
        &self,
        id: &LoopId,
        work: impl AsyncFnOnce(&mut Held) -> Result<T, Failure>,
    ) -> Result<T, Problem> {
        let mut held = self.engine.take(id).await?;
        let done = work(&mut held).await;
        self.engine.release(held).await?;
        Ok(done?)
    }

    pub(super) async fn clean_these(
        &self,
        listed: &[Listed],
        name: Option<String>,
        branches: bool,
        dry_run: bool,
        days: u32,
    ) -> Result<CleanReport, Problem> {
        let args = CleanArgs { all: name.is_none(), name, dry_run, branches, json: true };
        let (rows, residue, warnings) = work::clean_these(&self.engine, listed, &args, days).await?;
        Ok(work::clean_report(rows, residue, warnings, dry_run, days))
    }

    pub(super) async fn demands_of(&self, project: &str, base: Option<&str>) -> Result<Demands, Problem> {
        let (context, root) = self.at(project).await?;
        Ok(crate::trust::demands(&context, &root, base.unwrap_or("HEAD")).await?)
    }

    pub(super) async fn board(&self, project: &Path) -> Result<MilestoneBoard, Problem> {
        let mut board = MilestoneBoard { milestones: Vec::new(), broken: Vec::new() };
        for found in milestones::list(project) {
            match found {
                Ok(found) => {
                    let standing = Standing::of(Some(&self.engine), &project.to_string_lossy(), found).await?;
                    board.milestones.push(standing.report());
                }
                Err(error) => board.broken.push(error.to_string()),
            }
        }
        Ok(board)
    }
}

pub(super) fn shown(settings: &Settings) -> Vec<SettingView> {
    let rows = settings.show().into_iter();
    rows.map(|row| {
        let (layer, origin) = match &row.origin {
            Origin::Default => ("default", row.origin.to_string()),
            Origin::UserFile { .. } => ("user", row.origin.to_string()),
            Origin::ProjectFile { .. } => ("project", row.origin.to_string()),
            Origin::Env { .. } => ("environment", row.origin.to_string()),
            // Nothing was typed here: what wins over the files came with the request.
            Origin::Flag { .. } => ("request", "request".to_owned()),
        };
        SettingView { key: row.key, value: row.value, unset: row.unset.to_owned(), layer: layer.to_owned(), origin }
    })
    .collect()
}
