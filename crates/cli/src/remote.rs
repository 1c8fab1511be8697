//! Commands about loops on another machine, asked of the server there (`--server`).
//!
//! What is shown is shown by the very code that shows loops of this machine: a loop's state is made of its journal,
//! wherever that comes from.

mod session;
mod work;

use windlass_core::ids::LoopId;
use windlass_core::machine::{LoopState, Raise, evolve};
use windlass_engine::feed::News;
use windlass_engine::view::LoopView;
use windlass_server::{
    Client, ClientError, Kind, LoopSummary, OpenLoop, PauseLoop, RaiseLimits, RuleLoop, SteerLoop, Until,
};

use crate::args::{Command, ListArgs, LogsArgs, ServeArgs, ServeCommand, StatusArgs};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::follow::{Follower, Only};
use crate::run::{Watching, print};
use crate::style::Style;
use crate::{list, show, status};

pub async fn perform(context: &Context, server: &str, command: &Command) -> Result<Exit, Failure> {
    let place = session::Place::of(context, server)?;
    if let Command::Serve(ServeArgs { command: Some(ServeCommand::Logout { json }), .. }) = command {
        return place.log_out(*json).await;
    }
    let there = There { client: place.client().await? };
    match command {
        Command::List(args) => there.list(args).await,
        Command::Status(args) => there.status(args).await,
        Command::Logs(args) => there.logs(args).await,
        Command::Stop(args) => there.tell(&args.name, "stop", &(), "stopped: nothing of it runs any more").await,
        Command::Pause(args) => {
            let done = if args.now { "paused" } else { "pauses after the current turn" };
            there.tell(&args.name, "pause", &PauseLoop { now: args.now }, done).await
        }
        Command::Steer(args) => {
            let body = SteerLoop { message: args.message.clone(), now: args.now };
            there.tell(&args.name, "steer", &body, "the next turn gets the message").await
        }
        Command::Resume(args) => {
            let watching = Watching { json: args.json, detach: args.detach };
            there.open(&args.name, "resume", &again(&args.raise.raise()), watching).await
        }
        Command::Restart(args) => {
            let watching = Watching { json: args.json, detach: args.detach };
            there.open(&args.name, "restart", &again(&args.raise.raise()), watching).await
        }
        Command::Approve(args) => {
            there.open(&args.name, "approve", &RuleLoop { reason: args.reason.clone() }, args.watching()).await
        }
        Command::Reject(args) => {
            let body = RuleLoop { reason: Some(args.reason.clone()) };
            there.open(&args.name, "reject", &body, args.watching()).await
        }
        Command::Findings(args) => there.findings(args).await,
        Command::Takeover(args) => there.take_over(args).await,
        Command::Diff(args) => there.diff(args).await,
        Command::Rollback(args) => there.rollback(args).await,
        Command::Merge(args) => there.merge(args).await,
        Command::Clean(args) => there.clean(args).await,
        Command::Agents(args) => there.agents(args).await,
        Command::Doctor(args) if args.sandbox.is_none() => there.doctor(args).await,
        // What is left is about files and a terminal of the machine it is typed on, or asks for one.
        Command::Run(_)
        | Command::Demo(_)
        | Command::Milestone(_)
        | Command::Doctor(_)
        | Command::Trust(_)
        | Command::Serve(_)
        | Command::Mcp(_)
        | Command::Config(_)
        | Command::Completions(_)
        | Command::EscapeAttempts(_)
        | Command::Drive(_)
        | Command::DemoAgent => Err(Failure::usage(
            "this command works on its own machine only",
            "--server is for list, status, logs, stop, pause, resume, restart, steer, approve, reject, findings, \
             takeover, diff, rollback, merge, clean, agents, doctor and serve logout; the dashboard there has the rest",
        )),
    }
}

fn again(raise: &Raise) -> OpenLoop {
    OpenLoop {
        raise: RaiseLimits {
            max_iterations: raise.max_iterations,
            duration_ms: raise.duration_ms,
            budget_usd: raise.budget_usd,
            max_tokens: raise.max_tokens,
            disk_bytes: raise.disk_bytes,
        },
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(problem) => {
                let failed = matches!(problem.code, Kind::Failed | Kind::TooMany);
                let exit = if failed { Exit::Failed } else { Exit::Usage };
                let hint = if problem.code == Kind::Unauthorized {
                    Some(format!(
                        "run `windlass serve link` there and give the link to --server, or set {}",
                        session::TOKEN
                    ))
                } else {
                    problem.hint
                };
                Failure { exit, message: problem.message, causes: problem.causes, hint }
            }
            ClientError::Address { .. } => {
                let hint = "such as https://build.example:4747, or a link from `windlass serve link` there";
                Failure::of(Exit::Usage, &error, Some(hint.to_owned()))
            }
            ClientError::Unreachable { .. } => {
                let hint = "is `windlass serve` running there? Through SSH: ssh -L 4747:127.0.0.1:4747 HOST";
                Failure::of(Exit::Failed, &error, Some(hint.to_owned()))
            }
            ClientError::Odd { .. } => Failure::of(Exit::Failed, &error, Some("compare the versions".to_owned())),
        }
    }
}

struct There {
    client: Client,
}

impl There {
    async fn list(&self, args: &ListArgs) -> Result<Exit, Failure> {
        const ALL: usize = 1000;
        let limit = if args.json { ALL } else { list::SHOWN + 1 };
        let views: Vec<LoopView> = self.client.loops("", limit).await?.loops.into_iter().map(|row| row.view).collect();
        print(&if args.json { format!("{}\n", serde_json::json!(views)) } else { list::table(&views) });
        Ok(Exit::Completed)
    }

    /// The loop of this name or id.
    async fn find(&self, name: &str) -> Result<LoopId, Failure> {
        let rows = self.client.loops("", 1000).await?.loops;
        let mut named = rows.iter().filter(|row| row.view.name == name || row.view.id == name);
        let Some(found) = named.next() else { return Err(self.not_found(name, &rows)) };
        if named.next().is_some() {
            return Err(Failure::usage(
                format!("more than one project there has a loop '{name}'"),
                format!("give its id, such as {}; `windlass list --json` has them", found.view.id),
            ));
        }
        Ok(LoopId(found.view.id.clone()))
    }

    fn not_found(&self, name: &str, rows: &[LoopSummary]) -> Failure {
        let nearest = windlass_engine::config::nearest(name, rows.iter().map(|row| row.view.name.as_str()));
        let hint = match nearest {
            Some(nearest) => format!("did you mean '{nearest}'? `windlass list` shows all"),
            None => "`windlass list` with the same --server shows all".to_owned(),
        };
        Failure::usage(format!("there is no loop '{name}' at {}", self.client.address()), hint)
    }

    /// The state of a loop, from its journal; with the number of its last event.
    async fn state(&self, id: &LoopId) -> Result<(LoopState, u64), Failure> {
        let mut marks = self.client.journal(id).await?.into_iter();
        let begun = marks.next().and_then(|mark| Some((LoopState::created(mark.at, &mark.event)?, mark.seq)));
        let begun = begun.ok_or_else(|| Failure::usage("the loop has no beginning", "compare the versions"))?;
        Ok(marks.fold(begun, |(state, _), mark| (evolve(state, mark.at, &mark.event), mark.seq)))
    }

    async fn status(&self, args: &StatusArgs) -> Result<Exit, Failure> {
        let id = match &args.name {
            Some(name) => self.find(name).await?,
            None => {
                let latest = self.client.loops("", 1).await?.loops.into_iter().next();
                let none = || Failure::usage("there are no loops there yet", "start one with `windlass run` there");
                LoopId(latest.ok_or_else(none)?.view.id)
            }
        };
        let view = self.client.show(&id).await?;
        if args.json {
            print(&format!("{}\n", serde_json::json!(view)));
        } else {
            print(&show::in_full(&self.state(&id).await?.0, &view.status));
        }
        Ok(if args.exit_code { Exit::of_status(&view.status) } else { Exit::Completed })
    }

    async fn logs(&self, args: &LogsArgs) -> Result<Exit, Failure> {
        if args.raw {
            return Err(Failure::usage(
                "--raw works on its own machine only",
                "leave it out, or use the dashboard there",
            ));
        }
        let id = self.find(&args.name).await?;
        let until = if args.follow { Until::Rest } else { Until::Now };
        let only = Only { iteration: args.iteration, role: args.role };
        let feed = self.client.feed(&id, 0, until);
        Follower::remote(feed, args.json, args.follow).only(only).follow(&mut News::None).await?;
        if !args.follow {
            return Ok(Exit::Completed);
        }
        Ok(Exit::of_status(&self.client.show(&id).await?.status))
    }

    async fn tell(&self, name: &str, what: &str, body: &impl serde::Serialize, done: &str) -> Result<Exit, Failure> {
        let id = self.find(name).await?;
        self.client.tell::<LoopView>(&id, what, body).await?;
        print(&format!("{name}: {done}\n"));
        Ok(Exit::Completed)
    }

    /// Has a loop go on there, and follows it.
    async fn open(
        &self,
        name: &str,
        what: &str,
        body: &impl serde::Serialize,
        watching: Watching,
    ) -> Result<Exit, Failure> {
        let id = self.find(name).await?;
        let (_, seen) = self.state(&id).await?;
        let opened: LoopView = self.client.tell(&id, what, body).await?;
        let goes_on = matches!(opened.status.as_str(), "running" | "waiting");
        if watching.detach && goes_on {
            return Ok(crate::run::started_elsewhere(&id, name, watching.json));
        }
        if goes_on {
            let feed = self.client.feed(&id, seen, Until::Rest);
            Follower::remote(feed, watching.json, true).follow(&mut News::None).await?;
        }
        let view = self.client.show(&id).await?;
        if !watching.json {
            print(&status::summary(&self.state(&id).await?.0, &view.status, Style::for_stdout()));
        } else if !goes_on {
            print(&format!("{}\n", serde_json::json!(view)));
        }
        Ok(Exit::of_status(&view.status))
    }
}
