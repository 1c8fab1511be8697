//! The routes, each once: this table makes the router and, in a test, the OpenAPI document.

mod ask;
pub(crate) mod metrics;
pub(crate) mod openapi;
mod pages;
mod sse;
mod turns;
mod watching;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use windlass_app::{
    AddAgent, AddGoals, AgentsOf, Agree, AnswerLoop, ApproveLoop, CallAgents, ChangeSettings, CheckRecipes, CleanLoop,
    CleanLoops, CompareLoops, ContinueLoop, DiffLoop, Doctor, DrainWorker, FeedPage, FeedQuery, FindGroup, FindLoop,
    ForkLoop, GateLogQuery, Health, InitProject, IssueOf, Kind, ListFleetQueue, ListGroups, ListLoops, ListProjects,
    ListQueue, ListWorkers, LoopFindings, LoopJournal, LoopPlan, LoopSizes, LoopSummary, LoopTimeline, LoopTurns,
    LoopUsage, MergeLoop, MilestoneOf, MilestoneOrder, MilestonesOf, MinimiseLoop, MinimiseSteps, MoveGoal,
    NewMilestone, OpenPull, PageQuery, PatchLoop, PauseLoop, PreviewLoop, PreviewMerge, Problem, ProveLoop,
    QueueMerges, RawQuery, RecipeOf, RecipesOf, RejectLoop, RemoveGoal, ReportLoop, ReportOutcomes, ReportUsage,
    RestartLoop, ResumeGroup, ResumeLoop, RevokeTrust, RollbackLoop, ServerView, SettingsChange, SettingsOf, ShowGroup,
    ShowLoop, ShowMerges, StartLoop, StartMilestone, StartTries, SteerLoop, StopGroup, StopLoop, StopMerges, TakeOver,
    TestHonesty, TrustOf, VerifyWork, WorkMerges,
};
use windlass_engine::feed::FeedItem;
use windlass_store::ListFilter;

use crate::access::guard;
use crate::access::login;
use crate::access::login::{LogIn, LoggedIn, LoggedOut, Ticket, WantTicket};
use crate::app::App;
use crate::http::refused::Refused;
use openapi::Route;

/// The largest body of a request.
const LARGEST_BODY: usize = 1024 * 1024;

struct Table {
    router: Router<App>,
    #[cfg(test)]
    routes: Vec<Route>,
    /// The method and path of each request, by its name.
    calls: Calls,
}

pub(crate) type Calls = BTreeMap<&'static str, (Method, &'static str)>;

impl Table {
    /// A request with its report: all that a new use case needs here.
    fn ask<R: windlass_app::Request>(self, route: Route) -> Self {
        self.called(R::NAME, route.asks::<R>(), ask::perform_body::<R>)
    }

    /// The same for a request that only reads. Its fields are text, from the path and the query.
    fn show<R: windlass_app::Request>(self, route: Route) -> Self {
        self.called(R::NAME, route.asks::<R>(), ask::perform_words::<R>)
    }

    fn called(mut self, name: &'static str, route: Route, perform: ask::Perform) -> Self {
        self.calls.insert(name, (route.method(), route.path));
        let handler = handler(route.method(), route.status(), perform);
        self.add(route, handler)
    }

    fn add(mut self, route: Route, handler: MethodRouter<App>) -> Self {
        self.router = self.router.route(route.path, handler);
        #[cfg(test)]
        self.routes.push(route);
        self
    }
}

/// The same code for every request.
fn handler(method: Method, status: StatusCode, perform: ask::Perform) -> MethodRouter<App> {
    let answer = move |app: State<App>, request: Request| ask::answer(app, status, perform, request);
    match method {
        Method::GET => get(answer),
        Method::PUT => put(answer),
        _ => post(answer),
    }
}

fn table() -> Table {
    let table = Table {
        router: Router::new(),
        #[cfg(test)]
        routes: Vec::new(),
        calls: Calls::new(),
    };
    of_groups(of_loops(of_this_machine(of_logins(table))))
}

fn of_logins(table: Table) -> Table {
    table
        .add(
            Route::post("/api/login", "Open a session with the code of a login link; requires no token")
                .takes::<LogIn>()
                .answers::<LoggedIn>(),
            post(login::log_in),
        )
        .add(Route::post("/api/logout", "End the session of this request").answers::<LoggedOut>(), post(login::log_out))
        .add(
            Route::post("/api/tickets", "A path for a single download without a header")
                .takes::<WantTicket>()
                .answers::<Ticket>(),
            post(login::ticket),
        )
}

fn of_this_machine(table: Table) -> Table {
    table
        .add(Route::get("/api/health", "Health check; requires no token").answers::<Health>(), get(health))
        .add(Route::get("/api/server", "Version and status of the server").answers::<ServerView>(), get(server))
        .add(
            Route::get("/metrics", "Loops, streams and, of a fleet, workers, queue and limits, for Prometheus").text(),
            get(metrics::metrics),
        )
        .show::<IssueOf>(Route::get("/api/issue", "An issue of the project's code host, as a goal"))
        .show::<ListProjects>(Route::get("/api/projects", "Projects with loops"))
        .show::<ListWorkers>(Route::get("/api/workers", "Workers and desks of a fleet; none on a single machine"))
        .show::<ListFleetQueue>(Route::get(
            "/api/workers/queue",
            "Loops of a fleet that wait for a worker, what they wait for, and the limits; none on a single machine",
        ))
        .ask::<DrainWorker>(Route::post("/api/workers/{id}/drain", "Let a worker finish its turns and exit"))
        .ask::<InitProject>(Route::post("/api/init", "Look at a project and write its settings file, as `init --json`"))
        .add(
            Route::get("/api/events", "Live stream of loops whenever they change, and of groups as events named `group`; `after=now` skips the current state")
                .query::<FeedQuery>()
                .streams::<LoopSummary>(),
            get(watching::events),
        )
        .show::<AgentsOf>(Route::get("/api/agents", "Installed agents, as in `agents --json`"))
        .ask::<AddAgent>(Route::post("/api/agents/add", "Add the profile of an agent to the user's settings file"))
        .ask::<CallAgents>(Route::post(
            "/api/agents/call",
            "Make one small call to each installed agent, as in `agents --call --json`",
        ))
        .ask::<TestHonesty>(Route::post(
            "/api/agents/honesty",
            "Give an agent a small impossible task, as `doctor --honesty AGENT --json`",
        ))
        .show::<TrustOf>(Route::get("/api/trust", "Commands defined in a repository, as in `trust --show --json`"))
        .ask::<Agree>(Route::post("/api/trust", "Trust these commands as shown"))
        .ask::<RevokeTrust>(Route::post("/api/trust/revoke", "Revoke trust"))
        .ask::<CleanLoops>(Route::post("/api/clean", "Remove workspaces of ended loops, as in `clean --json`"))
        .show::<Doctor>(Route::get("/api/doctor", "Check this machine, as in `doctor --json`"))
        .show::<SettingsOf>(Route::get("/api/settings", "All settings with their sources"))
        .add(
            Route::get("/api/settings/schema", "JSON Schema of a settings file")
                .answers::<serde_json::Value>()
                .of_kind("application/schema+json"),
            get(settings_schema),
        )
        .ask::<ChangeSettings>(
            Route::put("/api/settings/{layer}", "Change the settings of the user or of a project; keeps comments")
                .query::<SettingsOf>()
                .takes::<SettingsChange>(),
        )
        .show::<ReportUsage>(Route::get("/api/report", "What loops used and reached, by day, project, agent and model"))
        .show::<ReportOutcomes>(Route::get("/api/report/outcomes", "What loops come to, by agent, model and recipe"))
        .show::<RecipesOf>(Route::get("/api/recipes", "All recipes, as in `recipe list --json`"))
        .ask::<CheckRecipes>(Route::post("/api/recipes/check", "Check recipes, as in `recipe check --json`"))
        .show::<RecipeOf>(Route::get("/api/recipes/{name}", "A recipe's settings, as in `recipe show --json`"))
        .show::<MilestonesOf>(Route::get("/api/milestones", "Milestones of a project, in order"))
        .ask::<VerifyWork>(Route::post("/api/verify", "Verify a proof or a commit, as in `verify --json`"))
        .ask::<NewMilestone>(Route::post("/api/milestones", "Create a milestone"))
        .ask::<MilestoneOrder>(Route::put("/api/milestones/order", "Reorder milestones"))
        .show::<MilestoneOf>(Route::get("/api/milestones/{id}", "A milestone, as in `milestone show --json`"))
        .ask::<StartMilestone>(Route::post("/api/milestones/{id}/start", "Start a milestone").created())
        .add(Route::get("/api/openapi.json", "This document").answers::<serde_json::Value>(), get(document))
}

fn of_groups(table: Table) -> Table {
    table
        .ask::<StartTries>(Route::post("/api/groups/tries", "Start the same goal several times").created())
        .show::<ListGroups>(Route::get("/api/groups", "Groups of loops, newest first"))
        .show::<FindGroup>(Route::get("/api/groups/find", "Find a group by name or ID"))
        .show::<ShowGroup>(Route::get("/api/groups/{id}", "A group with the comparison of its tries"))
        .ask::<StopGroup>(Route::post("/api/groups/{id}/stop", "Stop a group and its loops"))
        .ask::<ResumeGroup>(Route::post("/api/groups/{id}/resume", "Resume a group that was interrupted or is paused"))
        .show::<ListQueue>(Route::get("/api/queue", "The queue of goals in its order, as in `queue list --json`"))
        .ask::<AddGoals>(Route::post("/api/queue", "Add goals to the queue; all of them or none").created())
        .ask::<MoveGoal>(Route::post("/api/queue/{id}/move", "Move a goal before another one, or to either end"))
        .ask::<RemoveGoal>(Route::post("/api/queue/{id}/remove", "Remove a goal that has not started or has ended"))
        .show::<ShowMerges>(Route::get("/api/merges", "The merge queue of a project, as in `merge --queue --json`"))
        .ask::<QueueMerges>(Route::post("/api/merges", "Add verified loops to the merge queue, or remove them"))
        .ask::<WorkMerges>(Route::post("/api/merges/work", "Work off the merge queue of a project in the background"))
        .ask::<StopMerges>(Route::post("/api/merges/{id}/stop", "Stop a merge queue"))
}

fn of_loops(table: Table) -> Table {
    table
        .show::<ListLoops>(Route::get("/api/loops", "Loops, newest first"))
        .ask::<StartLoop>(Route::post("/api/loops", "Start a loop").created())
        .ask::<PreviewLoop>(Route::post("/api/loops/preview", "Preview a loop without starting it"))
        .show::<FindLoop>(Route::get("/api/loops/find", "Find a loop by name or ID, or the latest one"))
        .show::<CompareLoops>(Route::get("/api/loops/compare", "Loops side by side, as in `compare --json`"))
        .show::<ShowLoop>(Route::get("/api/loops/{id}", "A loop, as in `status --json`"))
        .add(
            Route::get("/api/loops/{id}/events", "The loop's feed, live and resumable")
                .query::<FeedQuery>()
                .streams::<FeedItem>(),
            get(sse::events),
        )
        .add(
            Route::get("/api/loops/{id}/feed", "The feed in reverse order, page by page")
                .query::<PageQuery>()
                .answers::<FeedPage>(),
            get(sse::page),
        )
        .show::<LoopJournal>(Route::get("/api/loops/{id}/journal", "All events of its journal"))
        .show::<LoopTimeline>(Route::get(
            "/api/loops/{id}/iterations",
            "Its history: iterations, turns, verdicts, waits",
        ))
        .show::<DiffLoop>(Route::get("/api/loops/{id}/diff", "Its changes"))
        .show::<LoopSizes>(Route::get("/api/loops/{id}/sizes", "Files and lines that each iteration changed"))
        .show::<PatchLoop>(Route::get("/api/loops/{id}/patch", "Its changes in one document, as in `diff --json`"))
        .show::<LoopFindings>(Route::get("/api/loops/{id}/findings", "Its reviewers' findings"))
        .show::<LoopPlan>(Route::get("/api/loops/{id}/plan", "Its plan and sections"))
        .show::<LoopUsage>(Route::get("/api/loops/{id}/usage", "Tokens and cost by role and model"))
        .show::<ProveLoop>(Route::get("/api/loops/{id}/proof", "Evidence of its work, as in `proof`"))
        .show::<ReportLoop>(Route::get("/api/loops/{id}/report", "What it did, in short, as `report NAME --json`"))
        .show::<LoopTurns>(Route::get("/api/loops/{id}/turns", "Its turns"))
        .add(Route::get("/api/loops/{id}/turns/{turn}/prompt", "A prompt, exactly as sent").text(), get(turns::prompt))
        .add(
            Route::get("/api/loops/{id}/turns/{turn}/stdout", "A turn's standard output").query::<RawQuery>().bytes(),
            get(turns::stdout),
        )
        .add(
            Route::get("/api/loops/{id}/turns/{turn}/stderr", "A turn's standard error").query::<RawQuery>().bytes(),
            get(turns::stderr),
        )
        .add(
            Route::get(
                "/api/loops/{id}/gates/{iteration}/{gate}/stdout",
                "All that a gate printed; 1 is the first gate",
            )
            .query::<GateLogQuery>()
            .bytes(),
            get(turns::gate_log),
        )
        .ask::<StopLoop>(Route::post("/api/loops/{id}/stop", "Stop it immediately"))
        .ask::<PauseLoop>(Route::post("/api/loops/{id}/pause", "Pause it"))
        .ask::<ResumeLoop>(Route::post("/api/loops/{id}/resume", "Resume it, optionally with raised limits"))
        .ask::<RestartLoop>(Route::post("/api/loops/{id}/restart", "Restart it with a new agent session"))
        .ask::<ContinueLoop>(Route::post("/api/loops/{id}/continue", "Continue it after completion"))
        .ask::<ForkLoop>(Route::post("/api/loops/{id}/fork", "Start a new loop from one of its checkpoints").created())
        .ask::<SteerLoop>(Route::post("/api/loops/{id}/steer", "Send a message to its agent"))
        .ask::<AnswerLoop>(Route::post("/api/loops/{id}/answer", "Answer a question of its agent"))
        .ask::<ApproveLoop>(Route::post("/api/loops/{id}/approve", "Approve its work"))
        .ask::<RejectLoop>(Route::post("/api/loops/{id}/reject", "Reject its work, with a reason"))
        .ask::<RollbackLoop>(Route::post("/api/loops/{id}/rollback", "Roll back to an iteration"))
        .show::<PreviewMerge>(Route::get(
            "/api/loops/{id}/merge",
            "What a merge would do, as in `merge --dry-run --json`",
        ))
        .ask::<MergeLoop>(Route::post("/api/loops/{id}/merge", "Merge its branch, as in `merge --json`"))
        .show::<MinimiseSteps>(Route::get("/api/loops/{id}/minimise", "Steps of `minimise`, as they are recorded"))
        .ask::<MinimiseLoop>(Route::post(
            "/api/loops/{id}/minimise",
            "Drop what its gates do not need, and offer the smaller commit, as `minimise --json`",
        ))
        .ask::<OpenPull>(Route::post("/api/loops/{id}/pr", "Push its branch and open a pull or merge request"))
        .ask::<CleanLoop>(Route::post("/api/loops/{id}/clean", "Remove its workspace, as in `clean --json`"))
        .ask::<TakeOver>(Route::post(
            "/api/loops/{id}/takeover",
            "Pause it and show how to open its workspace and session",
        ))
}

#[cfg(test)]
pub(crate) fn routes() -> Vec<Route> {
    table().routes
}

/// How each request is made over HTTP.
pub(crate) fn calls() -> Calls {
    table().calls
}

pub(crate) fn router(app: App) -> Router {
    table()
        .router
        .fallback(fallback)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app.guard), guard::guard))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(app)
}

async fn wrong_method() -> Response {
    let problem = Problem::new(Kind::Invalid, "method not allowed");
    (StatusCode::METHOD_NOT_ALLOWED, Refused(problem)).into_response()
}

async fn fallback(request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Refused(Problem::new(Kind::NotFound, "route not found")).into_response();
    }
    pages::page(request.uri().clone()).await
}

async fn health(State(app): State<App>) -> Json<Health> {
    Json(Health { status: "ok".to_owned(), version: app.facts.version.clone() })
}

async fn server(State(app): State<App>) -> Result<Json<ServerView>, Refused> {
    let all = app.engine.store.list(ListFilter::default()).await?;
    Ok(Json(ServerView {
        version: app.facts.version.clone(),
        data_dir: app.engine.data.root().display().to_string(),
        address: app.facts.address.clone(),
        started_at: app.facts.started_at,
        project: app.facts.project.as_ref().map(|path| path.display().to_string()),
        loops: all.len(),
        open: all.iter().filter(|listed| listed.entry.open).count(),
        driving: app.driving.load(Ordering::Relaxed),
        subscribers: app.subscribers(),
        sandbox: app.facts.sandbox.clone(),
    }))
}

async fn document() -> Response {
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (headers, openapi::text()).into_response()
}

async fn settings_schema() -> Response {
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static("application/schema+json"))];
    (headers, windlass_engine::config::schema()).into_response()
}
