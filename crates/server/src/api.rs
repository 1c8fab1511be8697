//! The routes, each once: the router and the OpenAPI document are both made from this table.

use axum::Json;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use windlass_engine::feed::FeedItem;
use windlass_engine::view::{LoopView, UsageView};
use windlass_store::ListFilter;

use crate::app::App;
use crate::login::{LogIn, LoggedIn, LoggedOut, Ticket, WantTicket};
use crate::openapi::{Document, Route};
use crate::problem::{Kind, Problem};
use crate::reports::{
    AgentReport, CleanReport, DoctorReport, MergeReport, MilestoneView, RollbackReport, TakeoverReport, TrustReport,
};
use crate::requests::{
    Agree, CallAgents, CleanLoop, CleanLoops, DiffQuery, FeedQuery, ListQuery, MergeLoop, MilestoneOrder, NewMilestone,
    OpenLoop, PageQuery, PauseLoop, ProjectQuery, RawQuery, RollbackLoop, RuleLoop, SettingsChange, StartLoop,
    StartMilestone, SteerLoop, Trust,
};
use crate::timeline::{Mark, Timeline};
use crate::turns::TurnView;
use crate::views::{
    DiffView, FeedPage, FindingsView, Health, LoopList, LoopSummary, MilestoneBoard, PatchView, PlanView, Preview,
    ProjectView, Revoked, ServerView, SettingsView,
};
use crate::{board, diff, guard, login, loops, machine, pages, sse, timeline, turns};

/// The largest body of a request.
const LARGEST_BODY: usize = 1024 * 1024;

struct Table {
    router: Router<App>,
    document: Document,
}

impl Table {
    fn add(mut self, route: Route, handler: MethodRouter<App>) -> Self {
        self.router = self.router.route(route.path, handler);
        self.document.add(route);
        self
    }
}

fn table() -> Table {
    let table = Table { router: Router::new(), document: Document::new() };
    of_loops(of_this_machine(of_logins(table)))
}

fn of_logins(table: Table) -> Table {
    table
        .add(
            Route::post("/api/login", "Open a session with the code of a login link; needs no token")
                .takes::<LogIn>()
                .answers::<LoggedIn>(),
            post(login::log_in),
        )
        .add(Route::post("/api/logout", "End the session of this request").answers::<LoggedOut>(), post(login::log_out))
        .add(
            Route::post("/api/tickets", "A path that downloads one file once, without a header")
                .takes::<WantTicket>()
                .answers::<Ticket>(),
            post(login::ticket),
        )
}

fn of_this_machine(table: Table) -> Table {
    table
        .add(Route::get("/api/health", "Whether the server answers; needs no token").answers::<Health>(), get(health))
        .add(Route::get("/api/server", "What runs here").answers::<ServerView>(), get(server))
        .add(
            Route::get("/api/projects", "Projects that have loops").answers::<Vec<ProjectView>>(),
            get(loops::projects),
        )
        .add(
            Route::get(
                "/api/events",
                "The Loops page, live: a loop whenever it changes; `after=now` leaves out what is",
            )
            .query::<FeedQuery>()
            .streams::<LoopSummary>(),
            get(board::events),
        )
        .add(
            Route::get("/api/agents", "Which agents are installed, as `agents --json`")
                .query::<ProjectQuery>()
                .answers::<Vec<AgentReport>>(),
            get(machine::agents),
        )
        .add(
            Route::post("/api/agents/call", "One tiny call to each installed agent, as `agents --call --json`")
                .takes::<CallAgents>()
                .answers::<Vec<AgentReport>>(),
            post(machine::call_agents),
        )
        .add(
            Route::get("/api/trust", "What a repository's own files would run, as `trust --show --json`")
                .query::<Trust>()
                .answers::<TrustReport>(),
            get(machine::trust).post(machine::agree),
        )
        .document_only(
            Route::post("/api/trust", "Agree to it, as it was shown").takes::<Agree>().answers::<TrustReport>(),
        )
        .add(
            Route::post("/api/trust/revoke", "Agree to nothing of it any more").takes::<Trust>().answers::<Revoked>(),
            post(machine::revoke),
        )
        .add(
            Route::post("/api/clean", "Clear away workspaces of ended loops, as `clean --json`")
                .takes::<CleanLoops>()
                .answers::<CleanReport>(),
            post(machine::clean_all),
        )
        .add(
            Route::get("/api/doctor", "What a loop needs on this machine, as `doctor --json`")
                .query::<ProjectQuery>()
                .answers::<DoctorReport>(),
            get(machine::doctor),
        )
        .add(
            Route::get("/api/settings", "Every setting with where it comes from")
                .query::<ProjectQuery>()
                .answers::<SettingsView>(),
            get(machine::settings),
        )
        .add(
            Route::get("/api/settings/schema", "The JSON Schema of a settings file").answers::<serde_json::Value>(),
            get(machine::settings_schema),
        )
        .add(
            Route::put("/api/settings/{layer}", "Change the settings of the user or of a project; comments stay")
                .query::<ProjectQuery>()
                .takes::<SettingsChange>()
                .answers::<SettingsView>(),
            put(machine::change_settings),
        )
        .add(
            Route::get("/api/milestones", "A project's milestones in their order")
                .query::<ProjectQuery>()
                .answers::<MilestoneBoard>(),
            get(machine::milestones).post(machine::add_milestone),
        )
        .document_only(Route::post("/api/milestones", "Make one").takes::<NewMilestone>().answers::<MilestoneBoard>())
        .add(
            Route::put("/api/milestones/order", "Put them in order")
                .takes::<MilestoneOrder>()
                .answers::<MilestoneBoard>(),
            put(machine::order_milestones),
        )
        .add(
            Route::get("/api/milestones/{id}", "One of them, as `milestone show --json`")
                .query::<ProjectQuery>()
                .answers::<MilestoneView>(),
            get(machine::milestone),
        )
        .add(
            Route::post("/api/milestones/{id}/start", "Start one").takes::<StartMilestone>().answers::<LoopView>(),
            post(machine::start_milestone),
        )
        .add(Route::get("/api/openapi.json", "This document").answers::<serde_json::Value>(), get(openapi))
}

fn of_loops(table: Table) -> Table {
    table
        .add(
            Route::get("/api/loops", "Loops, newest first").query::<ListQuery>().answers::<LoopList>(),
            get(loops::list).post(loops::start),
        )
        .document_only(Route::post("/api/loops", "Start a loop").takes::<StartLoop>().creates::<LoopView>())
        .add(
            Route::post("/api/loops/preview", "What a loop would be; makes nothing")
                .takes::<StartLoop>()
                .answers::<Preview>(),
            post(loops::preview),
        )
        .add(Route::get("/api/loops/{id}", "A loop, as `status --json`").answers::<LoopView>(), get(loops::show))
        .add(
            Route::get("/api/loops/{id}/events", "The loop's feed, live and resumable")
                .query::<FeedQuery>()
                .streams::<FeedItem>(),
            get(sse::events),
        )
        .add(
            Route::get("/api/loops/{id}/feed", "The feed read backwards, page by page")
                .query::<PageQuery>()
                .answers::<FeedPage>(),
            get(sse::page),
        )
        .add(
            Route::get("/api/loops/{id}/journal", "Every event of its journal, from which its state follows")
                .answers::<Vec<Mark>>(),
            get(timeline::journal),
        )
        .add(
            Route::get("/api/loops/{id}/iterations", "How it went: iterations, turns, verdicts, waits")
                .answers::<Timeline>(),
            get(timeline::timeline),
        )
        .add(
            Route::get("/api/loops/{id}/diff", "What it changed").query::<DiffQuery>().answers::<DiffView>(),
            get(diff::diff),
        )
        .add(
            Route::get("/api/loops/{id}/patch", "The same in one piece, as `diff --json`")
                .query::<DiffQuery>()
                .answers::<PatchView>(),
            get(diff::patch),
        )
        .add(
            Route::get("/api/loops/{id}/findings", "What its reviewer found").answers::<FindingsView>(),
            get(loops::findings),
        )
        .add(Route::get("/api/loops/{id}/plan", "Its plan and sections").answers::<PlanView>(), get(loops::plan))
        .add(
            Route::get("/api/loops/{id}/usage", "Tokens and cost by role and model").answers::<UsageView>(),
            get(loops::usage),
        )
        .add(Route::get("/api/loops/{id}/turns", "Its turns").answers::<Vec<TurnView>>(), get(turns::list))
        .add(
            Route::get("/api/loops/{id}/turns/{turn}/prompt", "A prompt exactly as it was sent").text(),
            get(turns::prompt),
        )
        .add(
            Route::get("/api/loops/{id}/turns/{turn}/stdout", "A turn's output, byte for byte")
                .query::<RawQuery>()
                .bytes(),
            get(turns::stdout),
        )
        .add(
            Route::get("/api/loops/{id}/turns/{turn}/stderr", "The same of standard error").query::<RawQuery>().bytes(),
            get(turns::stderr),
        )
        .add(Route::post("/api/loops/{id}/stop", "Stop it now").answers::<LoopView>(), post(loops::stop))
        .add(
            Route::post("/api/loops/{id}/pause", "Pause it").takes::<PauseLoop>().answers::<LoopView>(),
            post(loops::pause),
        )
        .add(
            Route::post("/api/loops/{id}/resume", "Go on, with limits raised")
                .takes::<OpenLoop>()
                .answers::<LoopView>(),
            post(loops::resume),
        )
        .add(
            Route::post("/api/loops/{id}/restart", "Go on with a fresh agent session")
                .takes::<OpenLoop>()
                .answers::<LoopView>(),
            post(loops::restart),
        )
        .add(
            Route::post("/api/loops/{id}/steer", "Give it a message for its next turn")
                .takes::<SteerLoop>()
                .answers::<LoopView>(),
            post(loops::steer),
        )
        .add(
            Route::post("/api/loops/{id}/approve", "Agree to its work").takes::<RuleLoop>().answers::<LoopView>(),
            post(loops::approve),
        )
        .add(
            Route::post("/api/loops/{id}/reject", "Send it back, with a reason")
                .takes::<RuleLoop>()
                .answers::<LoopView>(),
            post(loops::reject),
        )
        .add(
            Route::post("/api/loops/{id}/rollback", "Go back to an iteration")
                .takes::<RollbackLoop>()
                .answers::<RollbackReport>(),
            post(loops::rollback),
        )
        .add(
            Route::post("/api/loops/{id}/merge", "Merge its branch, as `merge --json`")
                .takes::<MergeLoop>()
                .answers::<MergeReport>(),
            post(loops::merge),
        )
        .add(
            Route::post("/api/loops/{id}/clean", "Remove its workspace, as `clean --json`")
                .takes::<CleanLoop>()
                .answers::<CleanReport>(),
            post(loops::clean),
        )
        .add(
            Route::post("/api/loops/{id}/takeover", "Pause it, and say how a person enters its place")
                .answers::<TakeoverReport>(),
            post(loops::take_over),
        )
}

impl Table {
    /// The other method of a path that has its handler already.
    fn document_only(mut self, route: Route) -> Self {
        self.document.add(route);
        self
    }
}

pub(crate) fn document() -> serde_json::Value {
    table().document.json()
}

pub(crate) fn router(app: App) -> Router {
    table()
        .router
        .fallback(fallback)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::from_fn_with_state(app.clone(), guard::guard))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(app)
}

async fn wrong_method() -> Response {
    let problem = Problem::new(Kind::Invalid, "the route does not take this method");
    (StatusCode::METHOD_NOT_ALLOWED, problem).into_response()
}

async fn fallback(request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Problem::new(Kind::NotFound, "there is no such route").into_response();
    }
    pages::page(request.uri().clone()).await
}

async fn health(State(app): State<App>) -> Json<Health> {
    Json(Health { status: "ok".to_owned(), version: app.facts.version.clone() })
}

async fn server(State(app): State<App>) -> Result<Json<ServerView>, Problem> {
    let all = app.engine.store.list(ListFilter::default()).await?;
    Ok(Json(ServerView {
        version: app.facts.version.clone(),
        data_dir: app.engine.data.root().display().to_string(),
        address: app.facts.address.clone(),
        started_at: app.facts.started_at,
        project: app.facts.project.as_ref().map(|path| path.display().to_string()),
        loops: all.len(),
        open: all.iter().filter(|listed| listed.entry.open).count(),
        driving: app.host.driving(),
        subscribers: app.subscribers(),
        sandbox: app.facts.sandbox.clone(),
    }))
}

async fn openapi() -> Response {
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (headers, document().to_string()).into_response()
}
