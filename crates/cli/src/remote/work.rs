//! The work of loops on another machine, and what that machine has. The server does it with the code of the commands;
//! its report is shown here as they show theirs.

use windlass_engine::view::LoopView;
use windlass_server::{
    AgentReport, CallAgents, CleanLoop, CleanLoops, CleanReport, DoctorReport, MergeLoop, MergeReport, PatchView,
    RollbackLoop, RollbackReport, TakeoverReport,
};

use super::There;
use crate::args::{AgentsArgs, CleanArgs, DiffArgs, DoctorArgs, FindingsArgs, LoopArgs, MergeArgs, RollbackArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::print;
use crate::{agent_report, machine_report, review, work};

impl There {
    pub(super) async fn findings(&self, args: &FindingsArgs) -> Result<Exit, Failure> {
        let (state, _) = self.state(&self.find(&args.name).await?).await?;
        print(&review::findings_shown(&state, args));
        Ok(Exit::Completed)
    }

    pub(super) async fn take_over(&self, args: &LoopArgs) -> Result<Exit, Failure> {
        let id = self.find(&args.name).await?;
        let report: TakeoverReport = self.client.tell(&id, "takeover", &()).await?;
        print(&review::takeover_words(&report));
        Ok(Exit::Completed)
    }

    pub(super) async fn diff(&self, args: &DiffArgs) -> Result<Exit, Failure> {
        let id = self.find(&args.name).await?;
        let iteration = args.iteration.map(|iteration| iteration.to_string());
        let mut query: Vec<(&str, &str)> = iteration.iter().map(|number| ("iteration", number.as_str())).collect();
        if args.worktree {
            query.push(("worktree", "true"));
        }
        let view: PatchView = self.client.get(&format!("/api/loops/{id}/patch"), &query).await?;
        if args.json {
            print(&format!("{}\n", serde_json::json!(view)));
        } else {
            work::show_diff(&args.name, view.patch.into_bytes());
        }
        Ok(Exit::Completed)
    }

    pub(super) async fn rollback(&self, args: &RollbackArgs) -> Result<Exit, Failure> {
        let id = self.find(&args.name).await?;
        let report: RollbackReport = self.client.tell(&id, "rollback", &RollbackLoop { to: args.to }).await?;
        let view: LoopView = self.client.show(&id).await?;
        print(&work::rollback_shown(&report, &view.status, args));
        Ok(Exit::Completed)
    }

    pub(super) async fn merge(&self, args: &MergeArgs) -> Result<Exit, Failure> {
        let id = self.find(&args.name).await?;
        let (into, message) = (args.into.clone(), args.message.clone());
        let body = MergeLoop { into, squash: args.squash, no_gates: args.no_gates, message };
        let report: MergeReport = self.client.tell(&id, "merge", &body).await?;
        work::show_merge(report, args)
    }

    pub(super) async fn clean(&self, args: &CleanArgs) -> Result<Exit, Failure> {
        let report: CleanReport = match &args.name {
            Some(name) => {
                let body = CleanLoop { branch: args.branches, dry_run: args.dry_run };
                self.client.tell(&self.find(name).await?, "clean", &body).await?
            }
            None if args.all => {
                let body = CleanLoops { project: None, branches: args.branches, dry_run: args.dry_run };
                self.client.post("/api/clean", &body).await?
            }
            None => {
                let hint = "name a loop, or say --all for those of every project there";
                return Err(Failure::usage("which loops of that machine?", hint));
            }
        };
        work::show_cleaned(&report, args.json);
        Ok(Exit::Completed)
    }

    pub(super) async fn agents(&self, args: &AgentsArgs) -> Result<Exit, Failure> {
        let reports: Vec<AgentReport> = match args.calls() {
            Some(limit) => {
                let timeout_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
                self.client.post("/api/agents/call", &CallAgents { project: None, timeout_ms }).await?
            }
            None => self.client.get("/api/agents", &[]).await?,
        };
        print(&agent_report::shown(&reports, args));
        Ok(Exit::Completed)
    }

    pub(super) async fn doctor(&self, args: &DoctorArgs) -> Result<Exit, Failure> {
        if args.agents.call {
            let hint = "leave out --call; `windlass agents --call` with the same --server calls them";
            return Err(Failure::usage("the server makes no calls for `doctor`", hint));
        }
        let report: DoctorReport = self.client.get("/api/doctor", &[]).await?;
        Ok(machine_report::doctor_shown(&report, args.agents.json))
    }
}
