//! What a repository's own files would run, and a user's consent to it.

use std::path::Path;

use windlass_core::spec::LoopSpec;
use windlass_engine::config::{Options, Settings};
use windlass_engine::trust::{self, Consent, Demands, Seen};

use crate::context::{Context, refuse_agents};
use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::reports::TrustReport;
use crate::request::Request;
use crate::requests::{Agree, RevokeTrust, TrustOf};
use crate::views::Revoked;

impl Request for TrustOf {
    type Report = TrustReport;
    const NAME: &'static str = "trust";

    async fn perform(self, here: &Local) -> Result<TrustReport, Problem> {
        Ok(report(&of_project(here, &self.project, self.base.as_deref()).await?))
    }
}

impl Request for Agree {
    type Report = TrustReport;
    const NAME: &'static str = "agree";

    async fn perform(self, here: &Local) -> Result<TrustReport, Problem> {
        let mut demands = of_project(here, &self.project, self.base.as_deref()).await?;
        agree_to(here, &mut demands, &self.files)?;
        Ok(report(&demands))
    }
}

impl Request for RevokeTrust {
    type Report = Revoked;
    const NAME: &'static str = "revoke";

    async fn perform(self, here: &Local) -> Result<Revoked, Problem> {
        let (context, root) = here.at(&self.project).await?;
        Ok(Revoked { revoked: trust::revoke(&context.data(), &root)? })
    }
}

async fn of_project(here: &Local, project: &str, base: Option<&str>) -> Result<Demands, Problem> {
    let (context, root) = here.at(project).await?;
    demands(&context, &root, base.unwrap_or("HEAD")).await
}

/// What a loop of this project would run from its repository.
pub(crate) async fn of_loop(
    here: &Local,
    project: &Path,
    spec: &LoopSpec,
    settings: &Settings,
) -> Result<Demands, Problem> {
    let (data, workspaces) = (here.context.data(), here.context.workspaces()?);
    Ok(trust::of_loop(&data, &workspaces, project, settings, spec).await?)
}

/// The consent that a loop needs: given before, or with the request.
pub(crate) async fn consent(
    here: &Local,
    project: &Path,
    spec: &LoopSpec,
    settings: &Settings,
    agreed: Option<Vec<Seen>>,
) -> Result<Consent, Problem> {
    let mut demands = of_loop(here, project, spec, settings).await?;
    match (demands.granted(), agreed) {
        (Some(consent), _) => Ok(consent),
        (None, Some(seen)) => agree_to(here, &mut demands, &seen),
        (None, None) => {
            let message = "this repository's commands are not trusted yet";
            let details = Some(demands.list.into());
            let hint = "review the commands, then set `trust`, or run `windlass trust` on the server";
            Err(Problem { details, ..Problem::new(Kind::TrustNeeded, message).hint(hint) })
        }
    }
}

/// Takes somebody's word for what he was shown, and for nothing else.
fn agree_to(here: &Local, demands: &mut Demands, seen: &[Seen]) -> Result<Consent, Problem> {
    refuse_agents(&here.context)?;
    let other: Vec<&str> = demands.unseen(seen).map(|demand| demand.file.as_str()).collect();
    if other.is_empty() {
        return Ok(demands.agree(&here.context.data())?);
    }
    let message = format!("{} changed since you reviewed it", other.join(", "));
    let details = Some(demands.list.clone().into());
    let hint = "review the new commands and trust them again";
    Err(Problem { details, ..Problem::new(Kind::TrustNeeded, message).hint(hint) })
}

/// All that this repository's own files would run, in a revision and as they are there.
async fn demands(context: &Context, project: &Path, base: &str) -> Result<Demands, Problem> {
    let settings = context.settings(Some(project), Options::default())?;
    Ok(trust::of_repository(&context.data(), &context.workspaces()?, project, &settings, base).await?)
}

fn report(demands: &Demands) -> TrustReport {
    TrustReport { project: demands.project.clone(), trusted: demands.granted().is_some(), files: demands.list.clone() }
}

/// Agrees that loops of this project run without a sandbox if there is none.
pub async fn agree_to_no_sandbox(here: &Local) -> Result<(), Problem> {
    refuse_agents(&here.context)?;
    let root = here.context.project().await?;
    Ok(trust::agree_to_no_sandbox(&here.context.data(), &root)?)
}
