//! The tools for the agent that a person talks to: start loops, look after them, end them.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_app::{App, Context, ListLoops};
use windlass_engine::view::LoopView;

use super::execute::{self, ExecutePlan};
use super::findings::{self, ReadFindings, ReadStatus};
use super::own;
use super::protocol::{JsonObject, Tool};
use super::server::{Told, ToolError, Toolbox, input, tool};
use crate::failure::Failure;
use crate::here;

#[derive(Debug)]
pub struct PersonTools {
    app: App,
    context: Context,
    /// The loop whose own session this is.
    inside: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    ExecutePlan,
    LoopStatus,
    LoopCancel,
    Findings,
    Steer,
    Continue,
}

impl Kind {
    const ALL: [Kind; 6] =
        [Kind::ExecutePlan, Kind::LoopStatus, Kind::LoopCancel, Kind::Findings, Kind::Steer, Kind::Continue];

    fn name(self) -> &'static str {
        match self {
            Kind::ExecutePlan => "execute-plan",
            Kind::LoopStatus => "loop-status",
            Kind::LoopCancel => "loop-cancel",
            Kind::Findings => "findings",
            Kind::Steer => "steer",
            Kind::Continue => "continue",
        }
    }

    fn offered(self) -> Tool {
        match self {
            Kind::ExecutePlan => tool::<ExecutePlan>(
                self.name(),
                "Run a plan: start a loop of coding agents in the background that works until the result is verified. Returns \
                 immediately.",
            ),
            Kind::LoopStatus => tool::<LoopStatus>(
                self.name(),
                "Show the status of this project's loops, or of one loop in full; with restart, restart a stopped loop.",
            ),
            Kind::LoopCancel => tool::<LoopCancel>(
                self.name(),
                "Stop a loop: the only active one, or the one whose name contains the given text. Keeps its work.",
            ),
            Kind::Findings => tool::<FindingsOf>(self.name(), "List the findings of a loop's reviewers."),
            Kind::Steer => tool::<Steer>(self.name(), "Send a message to a loop's agent for its next turn."),
            Kind::Continue => tool::<Continue>(
                self.name(),
                "Continue a completed loop in the background, on the same branch after merging the target into it: for \
                 more work, or to resolve merge conflicts.",
            ),
        }
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoopStatus {
    /// The loop's name; without it, all loops of the project
    #[serde(default)]
    name: Option<String>,
    /// Restart this loop in the background, with a new agent session
    #[serde(default)]
    restart: bool,
    /// With restart: stop it first if it is running
    #[serde(default)]
    force: bool,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoopCancel {
    /// The loop's name or a part of it; without it, the only active loop
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindingsOf {
    /// The loop's name
    name: String,
    /// Only findings whose text contains this
    #[serde(default)]
    search: Option<String>,
    /// Include resolved findings
    #[serde(default)]
    all: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Steer {
    /// The loop's name
    name: String,
    message: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Continue {
    /// The loop's name
    name: String,
    /// The new goal; without it, the current one
    #[serde(default)]
    goal: Option<String>,
}

#[async_trait]
impl Toolbox for PersonTools {
    fn instructions(&self) -> String {
        "Windlass runs coding agents in a loop until the work is verified. Start one with execute-plan when the user \
         asks for it, and check it with loop-status."
            .to_owned()
    }

    fn tools(&self) -> Vec<Tool> {
        Kind::ALL.into_iter().map(Kind::offered).collect()
    }

    async fn call(&self, name: &str, given: JsonObject) -> Option<Told> {
        match Kind::ALL.into_iter().find(|kind| kind.name() == name) {
            Some(kind) => Some(self.perform(kind, given).await),
            // What the tools of a turn are called; here nobody would ever see the question.
            None if name == "ask" => Some(self.allowed().and_then(|()| Err(ToolError::new("ask the user directly")))),
            None => None,
        }
    }
}

impl PersonTools {
    pub fn new(app: App) -> Result<Self, Failure> {
        let context = here(&app, "mcp")?.context.clone();
        let env = context.env.texts();
        let inside = ["WINDLASS_LOOP", "WINDLASS_TURN"].into_iter().find_map(|name| env.get(name));
        let inside = inside.filter(|name| !name.is_empty()).cloned();
        Ok(Self { app, context, inside })
    }

    async fn perform(&self, kind: Kind, given: JsonObject) -> Told {
        match kind {
            Kind::ExecutePlan => {
                self.allowed()?;
                execute::execute(&self.context, input(given)?).await
            }
            Kind::LoopStatus => self.status(input(given)?).await,
            Kind::LoopCancel => {
                self.allowed()?;
                self.cancel(input(given)?).await
            }
            Kind::Findings => self.findings(input(given)?).await,
            Kind::Steer => {
                self.allowed()?;
                let Steer { name, message } = input(given)?;
                own::run(&self.context, &words(&["steer", "--", &name, &message]), "").await
            }
            Kind::Continue => {
                self.allowed()?;
                let Continue { name, goal } = input(given)?;
                let given = [&["continue", "--detach", "--json", "--", &name][..], goal.as_deref().as_slice()].concat();
                own::run(&self.context, &words(&given), "").await?;
                Ok(json!({ "continued": name }).to_string())
            }
        }
    }

    /// An agent of a loop starts no loops and ends none, its own least of all.
    fn allowed(&self) -> Result<(), ToolError> {
        match &self.inside {
            None => Ok(()),
            Some(name) => Err(ToolError(format!(
                "this session belongs to the unattended loop {name}: it can read loops, but cannot start, stop, or message \
                 them; decide yourself and continue your task"
            ))),
        }
    }

    async fn status(&self, wanted: LoopStatus) -> Told {
        let Some(name) = &wanted.name else {
            if wanted.restart {
                return Err(ToolError::new("give the name of the loop to restart"));
            }
            let rows: Vec<Value> = self.listed(None).await?.iter().map(in_short).collect();
            return Ok(Value::Array(rows).to_string());
        };
        if wanted.restart {
            self.allowed()?;
            return self.restart(name, wanted.force).await;
        }
        Ok(json!(self.found(name).await?).to_string())
    }

    async fn restart(&self, name: &str, force: bool) -> Told {
        let word = self.found(name).await?.status;
        if matches!(word.as_str(), "running" | "waiting") {
            if !force {
                return Err(ToolError(format!("{name} is {word}; use force to stop and restart it")));
            }
            own::run(&self.context, &words(&["stop", "--", name]), "").await?;
        }
        own::run(&self.context, &words(&["restart", "--detach", "--json", "--", name]), "").await?;
        Ok(json!({ "restarted": name, "was": word }).to_string())
    }

    async fn cancel(&self, wanted: LoopCancel) -> Told {
        let active = self.listed(Some("open")).await?;
        let name = wanted.name.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let matching: Vec<&LoopView> = match name {
            None => active.iter().collect(),
            Some(name) => match active.iter().find(|listed| listed.name == name) {
                Some(exact) => vec![exact],
                None => active.iter().filter(|listed| listed.name.contains(name)).collect(),
            },
        };
        match matching[..] {
            [] => Err(ToolError(match name {
                Some(name) => format!("no active loop in this project has a name that contains {name}"),
                None => "no active loop in this project".to_owned(),
            })),
            [one] => own::run(&self.context, &words(&["stop", "--", &one.name]), "").await,
            _ => {
                let candidates: Vec<Value> = matching.into_iter().map(in_short).collect();
                let said = json!({ "which_one": candidates, "nothing_was_done": true });
                Err(ToolError(said.to_string()))
            }
        }
    }

    async fn findings(&self, wanted: FindingsOf) -> Told {
        let (state, _) = self.app.state(&self.found(&wanted.name).await?.id).await?;
        let status = if wanted.all { ReadStatus::All } else { ReadStatus::Open };
        findings::read(&state, &ReadFindings { search: wanted.search, status, ..ReadFindings::default() })
    }

    async fn found(&self, name: &str) -> Result<LoopView, ToolError> {
        Ok(self.app.find(Some(name)).await?)
    }

    /// The loops of this project, or of all where we are in none.
    async fn listed(&self, status: Option<&str>) -> Result<Vec<LoopView>, ToolError> {
        let project = self.context.project_if_any().await.map(|path| path.to_string_lossy().into_owned());
        let request =
            ListLoops { project, status: status.map(str::to_owned), limit: Some(1000), ..ListLoops::default() };
        Ok(self.app.run(request).await?.loops.into_iter().map(|row| row.view).collect())
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn in_short(view: &LoopView) -> Value {
    json!({
        "name": view.name,
        "status": view.status,
        "goal": view.goal,
        "recipe": view.recipe,
        "iterations": view.iterations,
        "stop_reason": view.stop_reason.as_ref().map(|reason| reason.name()),
        "waiting_for": view.waiting_for,
        "project": view.project,
    })
}
