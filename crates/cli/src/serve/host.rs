//! What the server asks for, done with the code of the commands.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, Input, LoopState};
use windlass_core::milestone::{Criterion, Feature, FrontMatter, Milestone};
use windlass_core::spec::WorkspaceKind;
use windlass_engine::config::{self, Options};
use windlass_engine::milestones;
use windlass_engine::trust;
use windlass_engine::view::LoopView;
use windlass_server::{
    AgentReport, Agree, CallAgents, CleanLoop, CleanLoops, CleanReport, DoctorReport, Host, Kind, MergeLoop,
    MergeReport, MilestoneBoard, MilestoneOrder, MilestoneView, NewMilestone, Opening, Preview, PreviewLine, Problem,
    Revoked, RollbackReport, SettingsChange, SettingsView, StartLoop, StartMilestone, TakeoverReport, Trust,
    TrustReport,
};
use windlass_store::ListFilter;

use super::commands::{Commands, invalid, of_request, shown};
use crate::args::MergeArgs;
use crate::failure::Failure;
use crate::milestone::{self, Standing};
use crate::{agent_report, machine_report, review, run, status, work};

#[async_trait]
impl Host for Commands {
    async fn start(&self, request: StartLoop) -> Result<LoopView, Problem> {
        let agreed = request.trust.clone();
        let (prepared, settings) = self.prepare(request).await?;
        self.create(prepared, &settings, agreed).await
    }

    async fn preview(&self, request: StartLoop) -> Result<Preview, Problem> {
        let (new, settings) = self.prepare(request).await?;
        let demands = self.demands(&new, &settings).await?;
        let trust = demands.granted().is_none().then_some(demands.list);
        let name = new.name.clone();
        let branch = new.branch_template.replace("{name}", &name);
        let kind = new.spec.workspace.kind;
        let created = Event::LoopCreated {
            id: LoopId(String::new()),
            name: name.clone(),
            project: new.project.to_string_lossy().into_owned(),
            spec: Box::new(new.spec),
        };
        let state = LoopState::created(self.engine.clock.now(), &created);
        let mut rows = state.map(|state| status::plan_rows(&state)).unwrap_or_default();
        let place = match kind {
            WorkspaceKind::Clone => vec![("where", "a clone of its own".to_owned()), ("branch", branch)],
            WorkspaceKind::InPlace | WorkspaceKind::External => {
                vec![("where", format!("in your checkout {}", new.project.display()))]
            }
        };
        let after = rows.iter().position(|(label, _)| *label == "limits").unwrap_or(rows.len());
        rows.splice(after..after, place);
        let lines = rows.into_iter().map(|(label, text)| PreviewLine { label: label.to_owned(), text }).collect();
        Ok(Preview { name, lines, notes: new.notes, settings: shown(&settings), trust })
    }

    async fn open(&self, id: &LoopId, opening: Opening) -> Result<LoopView, Problem> {
        let (held, _) = match opening {
            Opening::Again { by, raise } => run::take_again(&self.context, &self.engine, id, by, raise).await?,
            Opening::Approve { reason } => review::take_ruled(&self.engine, id, &Input::Approve { reason }).await?,
            Opening::Reject { reason } => review::take_ruled(&self.engine, id, &Input::Reject { reason }).await?,
        };
        self.hand(held).await
    }

    async fn rollback(&self, id: &LoopId, to: u32) -> Result<RollbackReport, Problem> {
        self.held(id, async |held| work::take_back(&self.engine, held, to).await).await
    }

    async fn merge(&self, id: &LoopId, request: MergeLoop) -> Result<MergeReport, Problem> {
        self.held(id, async |held| {
            let args = MergeArgs {
                name: held.state.name.clone(),
                squash: request.squash,
                no_gates: request.no_gates,
                into: request.into,
                message: request.message,
                json: true,
            };
            work::bring_home(&self.engine, &held.state, &args).await
        })
        .await
    }

    async fn clean(&self, id: &LoopId, request: CleanLoop) -> Result<CleanReport, Problem> {
        let listed = self.engine.store.get(&id.0).await?.ok_or_else(|| Problem::no_loop(&id.0))?;
        let name = Some(listed.entry.name.clone());
        let days = work::retention_days(&self.context, Some(Path::new(&listed.entry.project)))?;
        self.clean_these(&[listed], name, request.branch, request.dry_run, days).await
    }

    async fn clean_all(&self, request: CleanLoops) -> Result<CleanReport, Problem> {
        let root = match &request.project {
            Some(project) => Some(self.at(project).await?.1),
            None => None,
        };
        let days = work::retention_days(&self.context, root.as_deref())?;
        let project = root.map(|root| root.to_string_lossy().into_owned());
        let listed = self.engine.store.list(ListFilter { project, ..ListFilter::default() }).await?;
        self.clean_these(&listed, None, request.branches, request.dry_run, days).await
    }

    async fn take_over(&self, id: &LoopId) -> Result<TakeoverReport, Problem> {
        Ok(review::enter(&self.engine, id).await?)
    }

    async fn milestones(&self, project: &Path) -> Result<MilestoneBoard, Problem> {
        let (_, root) = self.at(&project.to_string_lossy()).await?;
        self.board(&root).await
    }

    async fn milestone(&self, project: &Path, id: &str) -> Result<MilestoneView, Problem> {
        let (_, root) = self.at(&project.to_string_lossy()).await?;
        let found = milestones::load(&root, id).map_err(Failure::from)?;
        let standing = Standing::of(Some(&self.engine), &root.to_string_lossy(), found).await?;
        let state = standing.state(Some(&self.engine)).await?;
        Ok(MilestoneView { milestone: standing.report(), edited: standing.is_edited(state.as_ref()) })
    }

    async fn add_milestone(&self, request: NewMilestone) -> Result<MilestoneBoard, Problem> {
        let (_, root) = self.at(&request.project).await?;
        let features = request.features.iter().map(|text| Feature::read(text)).collect::<Result<_, _>>();
        let features = features.map_err(|error| {
            Problem::new(Kind::Invalid, error.what.to_string()).field("features").hint(error.hint.to_string())
        })?;
        let criteria = request.criteria.into_iter().map(|text| Criterion { text, done: false }).collect();
        let milestone = Milestone {
            id: request.id,
            title: request.title,
            goal: request.goal,
            features,
            acceptance_criteria: criteria,
            constraints: request.constraints,
            front_matter: FrontMatter {
                requires_human_review: request.human_review.then_some(true),
                order: request.order,
                ..FrontMatter::default()
            },
        };
        milestones::add(&root, &milestone).map_err(|error| invalid(Failure::from(error)))?;
        self.board(&root).await
    }

    async fn order_milestones(&self, request: MilestoneOrder) -> Result<MilestoneBoard, Problem> {
        let (_, root) = self.at(&request.project).await?;
        milestones::reorder(&root, &request.ids).map_err(|error| invalid(Failure::from(error)))?;
        self.board(&root).await
    }

    async fn start_milestone(&self, id: &str, request: StartMilestone) -> Result<LoopView, Problem> {
        let (context, root) = self.at(&request.project).await?;
        let found = milestones::load(&root, id).map_err(Failure::from)?;
        let name = milestones::loop_name(id);
        if self.engine.store.find(&root.to_string_lossy(), &name).await?.is_some() {
            return Err(Problem::new(Kind::Refused, format!("the milestone '{id}' was started already"))
                .hint("resume its loop, or restart it to take an edited file into account"));
        }
        let options = Options::from_json(&request.settings).map_err(|error| of_request(&error))?;
        let options = milestone::of_milestone(&found.milestone, options);
        let settings = context.settings(Some(&root), options).map_err(invalid)?;
        let prepared = milestone::prepare(&context, &root, &settings, found, (None, None)).await?;
        self.create(prepared, &settings, request.trust).await
    }

    async fn agents(&self, project: Option<&Path>) -> Result<Vec<AgentReport>, Problem> {
        Ok(agent_report::look(&self.there(project), None).await?)
    }

    async fn call_agents(&self, request: CallAgents) -> Result<Vec<AgentReport>, Problem> {
        let context = match &request.project {
            Some(project) => self.at(project).await?.0,
            None => self.context.clone(),
        };
        let timeout = Duration::from_millis(request.timeout_ms.unwrap_or(120_000));
        Ok(agent_report::look(&context, Some(timeout)).await?)
    }

    async fn trust(&self, request: Trust) -> Result<TrustReport, Problem> {
        Ok(crate::trust::report(&self.demands_of(&request.project, request.base.as_deref()).await?))
    }

    async fn agree(&self, request: Agree) -> Result<TrustReport, Problem> {
        let mut demands = self.demands_of(&request.project, request.base.as_deref()).await?;
        self.agree_to(&mut demands, &request.files)?;
        Ok(crate::trust::report(&demands))
    }

    async fn revoke(&self, request: Trust) -> Result<Revoked, Problem> {
        let (_, root) = self.at(&request.project).await?;
        Ok(Revoked { revoked: trust::revoke(&self.engine.data, &root).map_err(Failure::from)? })
    }

    async fn doctor(&self, project: Option<&Path>) -> Result<DoctorReport, Problem> {
        // No calls: they may cost something.
        Ok(machine_report::look(&self.there(project), None).await)
    }

    async fn settings(&self, project: Option<&Path>) -> Result<SettingsView, Problem> {
        let project = match project {
            Some(project) => Some(self.at(&project.to_string_lossy()).await?.1),
            None => None,
        };
        let settings = self.context.settings(project.as_deref(), Options::default()).map_err(invalid)?;
        Ok(SettingsView {
            settings: shown(&settings),
            warnings: settings.warnings.clone(),
            user_file: self.context.paths.user_config.display().to_string(),
            project_file: project.map(|root| root.join(config::PROJECT_FILE).display().to_string()),
        })
    }

    async fn change_settings(&self, project: Option<&Path>, change: SettingsChange) -> Result<SettingsView, Problem> {
        let file = match project {
            Some(project) => self.at(&project.to_string_lossy()).await?.1.join(config::PROJECT_FILE),
            None => self.context.paths.user_config.clone(),
        };
        config::edit(&file, &change).map_err(|error| of_request(&error))?;
        self.settings(project).await
    }

    fn driving(&self) -> usize {
        self.driving.load(Ordering::Relaxed)
    }
}
