//! Makes a loop: its name, its workspace, its first events.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, Input, LoopState, Opener, Raise, Refusal, decide, evolve};
use windlass_core::spec::{LoopSpec, WorkspaceKind};
use windlass_faults as faults;
use windlass_store::{Create, StoreError};
use windlass_workspace::WorkspaceError;

use super::creating::{self, Creating};
use crate::copilot_loop;
use crate::engine::{Engine, EngineError, Held, Submission};
use crate::journal;
use crate::loop_log;
use crate::trust::Consent;
use crate::view::catalogue_entry;

/// A new loop.
#[derive(Debug, Clone)]
pub struct NewLoop {
    /// Decided by the group that makes the loop; a new one otherwise.
    pub id: Option<LoopId>,
    pub project: PathBuf,
    /// With `numbered`, `-2`, `-3` … is put behind it when it is taken.
    pub name: String,
    pub numbered: bool,
    pub spec: LoopSpec,
    /// Where `{name}` stands in the branch, the name is put.
    pub branch_template: String,
    /// Whoever wants the loop agrees to what the repository's own files run.
    pub consent: Consent,
}

impl Engine {
    /// Creates a loop with its workspace and holds it. Nothing is left behind when that fails.
    pub async fn create(self: &Arc<Self>, mut new: NewLoop) -> Result<Held, EngineError> {
        creating::sweep(&self.data, self.store.as_ref(), &self.workspaces).await;
        let wanted = new.name.clone();
        let own_branch = new.spec.workspace.kind != WorkspaceKind::InPlace;
        let mut number = 1;
        loop {
            new.name = self.free_name(&new, &wanted, &mut number).await?;
            if own_branch {
                new.spec.workspace.branch = new.branch_template.replace("{name}", &new.name);
            }
            match self.create_named(new.clone()).await {
                // Taken by another process since, or the branch is there without a loop.
                Err(
                    EngineError::Store(StoreError::NameTaken { .. })
                    | EngineError::Workspace(WorkspaceError::BranchExists { .. }),
                ) if new.numbered && new.branch_template.contains("{name}") => number += 1,
                created => return created,
            }
        }
    }

    async fn create_named(self: &Arc<Self>, mut new: NewLoop) -> Result<Held, EngineError> {
        self.copy_dependencies(&mut new).await?;
        let secrets = self.secrets_of(&new.spec, &new.project);
        secrets.clean_spec(&mut new.spec);
        let project = self.project_name(&new.project)?;
        let holder = self.holder()?;
        let token = holder.token.clone();
        let id = new.id.unwrap_or_else(|| LoopId(Uuid::now_v7().to_string()));
        let now = self.clock.now();
        let created = Event::LoopCreated { id: id.clone(), name: new.name.clone(), project, spec: Box::new(new.spec) };
        let mut state = LoopState::created(now, &created).unwrap_or_else(|| unreachable!("a loop begins with that"));
        let mut events = vec![created];
        let mut take = |state: &mut LoopState, input: &Input| -> Result<(), Refusal> {
            for event in secrets.clean(decide(state, input, now)?) {
                *state = evolve(state.clone(), now, &event);
                events.push(event);
            }
            Ok(())
        };
        take(&mut state, &Input::Open { by: Opener::Start, raise: Raise::default() })?;
        if let Some(station) = &self.station {
            take(&mut state, &Input::Queue { max_running: self.places.max() })?;
            return self.submit(station.as_ref(), Submission { dir: &new.project, state, events, holder }).await;
        }
        let request = crate::driver::workspace_request(self, &state);
        let creating = Creating::begin(&self.data, &request).map_err(EngineError::Data)?;
        let opened = match self.workspaces.create(&request).await {
            Ok(opened) => opened,
            Err(error) => {
                // Wrong use is found before anything is made.
                if error.is_wrong_use() {
                    creating.done();
                }
                return Err(error.into());
            }
        };
        let (workspace, start) = (opened.workspace.clone(), opened.head_commit.clone());
        faults::point("create.before");
        let opening = crate::driver::workspace_opening(self, &state, opened).await?;
        take(&mut state, &Input::WorkspaceOpened { opening })?;
        let written = self
            .store
            .create(Create {
                entry: catalogue_entry(&state),
                events: events.iter().map(|event| journal::encode(now, event)).collect(),
                holder: Some(holder),
            })
            .await;
        if let Err(error) = written {
            // Nobody has worked there yet.
            match self.workspaces.remove(&workspace, Some(&start)).await {
                Ok(_) => creating.done(),
                Err(error) => tracing::warn!(%error, "cannot remove the workspace of a loop that was not created"),
            }
            return Err(error.into());
        }
        faults::point("create.after");
        creating.done();
        self.hub()?.open_line(&state.id.0);
        copilot_loop::log(&state, &events);
        loop_log::append(&self.data, &state, now, &events);
        Ok(Held { state, token })
    }

    /// Without a set-up, packages that are installed in the user's checkout are copied.
    async fn copy_dependencies(&self, new: &mut NewLoop) -> Result<(), EngineError> {
        let spec = &mut new.spec.workspace;
        match spec.kind {
            WorkspaceKind::InPlace | WorkspaceKind::External => return Ok(()),
            WorkspaceKind::Clone => {}
        }
        if spec.setup.is_empty() && self.station.is_none() {
            let found = self.workspaces.dependencies(&new.project).await?;
            let known = |dir: &String| spec.copy.iter().any(|path| Path::new(dir).starts_with(path));
            let more: Vec<String> = found.into_iter().filter(|dir| !known(dir)).collect();
            spec.copy.extend(more);
        }
        Ok(())
    }

    /// The wanted name, or that with the first number from `number` on that makes it free.
    async fn free_name(&self, new: &NewLoop, wanted: &str, number: &mut u32) -> Result<String, EngineError> {
        let project = self.project_name(&new.project)?;
        loop {
            let name = if *number == 1 { wanted.to_owned() } else { format!("{wanted}-{number}") };
            if self.store.find(&project, &name).await?.is_none() {
                return Ok(name);
            }
            if !new.numbered {
                return Err(StoreError::NameTaken { name }.into());
            }
            *number += 1;
        }
    }
}
