//! What is under way for one loop, and how it is brought in line with what is wanted.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinHandle};
use windlass_core::ids::TurnKey;
use windlass_core::machine::{Effect, GateKey, Input, LoopState, Timer};
use windlass_core::trouble::{Trouble, TroubleKind};

use super::live::LiveAgents;
use super::{DriveError, gate, judge, review, setup, summary, turn, workspace};
use crate::engine::Engine;
use crate::outside::Told;
use crate::socket::Line;

/// Which effect a task performs. A turn that runs and a turn that is being ended are the same task.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Key {
    Workspace,
    Setup,
    Summary(TurnKey),
    Turn(TurnKey),
    Checkpoint(TurnKey),
    Gate(GateKey),
    Seal(u32),
    Undo,
    Timer(Timer),
}

impl Key {
    fn of(effect: &Effect) -> Self {
        match effect {
            Effect::OpenWorkspace { .. } => Key::Workspace,
            Effect::SetUpWorkspace => Key::Setup,
            Effect::Summarise { turn } => Key::Summary(*turn),
            Effect::RunTurn { turn, .. } | Effect::EndTurn { turn } => Key::Turn(*turn),
            Effect::Checkpoint { turn } => Key::Checkpoint(*turn),
            Effect::RunGate { gate } => Key::Gate(gate.clone()),
            Effect::Seal { section } => Key::Seal(*section),
            Effect::Undo { .. } => Key::Undo,
            Effect::SetTimer { timer } => Key::Timer(*timer),
        }
    }
}

impl Key {
    /// Whether dropping it leaves nothing half done that the next driver would not find and do again.
    fn can_be_given_up(&self) -> bool {
        match self {
            Key::Workspace
            | Key::Setup
            | Key::Summary(_)
            | Key::Checkpoint(_)
            | Key::Gate(_)
            | Key::Seal(_)
            | Key::Undo => true,
            Key::Turn(_) | Key::Timer(_) => false,
        }
    }
}

pub(super) enum Report {
    /// Something on the way.
    News(Input),
    Done {
        effect: Effect,
        result: Result<Input, DriveError>,
    },
}

struct Task {
    key: Key,
    /// Set once the task has to come to an end.
    end: watch::Sender<bool>,
    /// Set once somebody waits for the loop to rest.
    hurry: watch::Sender<bool>,
    handle: JoinHandle<()>,
    /// Gives up what it does.
    abort: AbortHandle,
}

/// What a task needs to know and to say.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) engine: Arc<Engine>,
    pub(super) reports: mpsc::UnboundedSender<Report>,
    pub(super) line: Arc<Line>,
    pub(super) live: LiveAgents,
    pub(super) end: watch::Receiver<bool>,
    pub(super) hurry: watch::Receiver<bool>,
}

impl Context {
    pub(super) fn tell(&self, input: Input) {
        // The driver is gone only when the process is on its way out.
        let _ = self.reports.send(Report::News(input));
    }

    /// Returns once the task has to come to an end.
    pub(super) async fn ended(&mut self) {
        // A sender that is dropped means the same.
        let _ = self.end.wait_for(|end| *end).await;
    }

    /// Returns when a step that nobody should wait for has had its time: somebody asked the loop to stop or pause, and
    /// waits for it.
    pub(super) async fn out_of_patience(&mut self) {
        let _ = self.hurry.wait_for(|hurry| *hurry).await;
        tokio::time::sleep(PATIENCE).await;
    }
}

/// So long may a commit take once somebody waits for the loop to rest.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(2_000);

/// So long may a commit that was given up take to let go: its git is killed, and it ends with what it reads or compares.
const LETTING_GO: std::time::Duration = std::time::Duration::from_millis(300);

/// So long may a step take that is no longer wanted: a little more than a process tree that does not end by itself.
const GIVE_UP: std::time::Duration =
    std::time::Duration::from_millis(windlass_supervise::ShimSpec::DEFAULT_GRACE_MS + 500);

pub(super) struct Performing {
    engine: Arc<Engine>,
    reports: mpsc::UnboundedSender<Report>,
    line: Arc<Line>,
    live: LiveAgents,
    tasks: Vec<Task>,
}

impl Performing {
    pub(super) fn new(engine: Arc<Engine>, reports: mpsc::UnboundedSender<Report>, line: Arc<Line>) -> Self {
        Self { engine, reports, line, live: LiveAgents::default(), tasks: Vec::new() }
    }

    /// Where news of the loop are told.
    pub(super) fn reports(&self) -> mpsc::UnboundedSender<Report> {
        self.reports.clone()
    }

    pub(super) fn forget(&mut self, effect: &Effect) {
        let key = Key::of(effect);
        self.tasks.retain(|task| task.key != key);
    }

    pub(super) fn runs(&self, effect: &Effect) -> bool {
        let key = Key::of(effect);
        self.tasks.iter().any(|task| task.key == key)
    }

    /// A loop that goes on in the middle of an iteration finds its workspace as it left it.
    pub(super) async fn ensure_workspace(&self, state: &LoopState) -> Result<Option<Input>, DriveError> {
        match &self.engine.outside {
            Some(outside) => outside.ensure_workspace(state).await,
            None => workspace::ensure(&self.engine, state).await,
        }
    }

    /// Ends what is unwanted, then starts what is missing.
    pub(super) async fn reconcile(&mut self, state: &LoopState, wanted: &[Effect]) {
        let keys: Vec<Key> = wanted.iter().map(Key::of).collect();
        let (kept, unwanted): (Vec<Task>, Vec<Task>) =
            std::mem::take(&mut self.tasks).into_iter().partition(|task| keys.contains(&task.key));
        self.tasks = kept;
        if state.wish.is_some() {
            for task in &self.tasks {
                task.hurry.send_replace(true);
            }
        }
        end(unwanted).await;
        for effect in wanted {
            match (self.tasks.iter().find(|task| task.key == Key::of(effect)), effect) {
                (Some(task), Effect::EndTurn { .. }) => {
                    task.end.send_replace(true);
                }
                (Some(_), _) => {}
                (None, effect) => self.start(state, effect),
            }
        }
    }

    pub(super) async fn end_all(&mut self) {
        end(std::mem::take(&mut self.tasks)).await;
        self.live.end_all().await;
    }

    fn start(&mut self, state: &LoopState, effect: &Effect) {
        let key = Key::of(effect);
        let (end, ended) = watch::channel(false);
        let (hurry, hurried) = watch::channel(state.wish.is_some());
        let context = Context {
            engine: Arc::clone(&self.engine),
            reports: self.reports.clone(),
            line: Arc::clone(&self.line),
            live: self.live.clone(),
            end: ended,
            hurry: hurried,
        };
        let state = state.clone();
        let effect = effect.clone();
        let reported = effect.clone();
        let reports = self.reports.clone();
        let performing = tokio::spawn(perform(context, state, effect));
        let abort = performing.abort_handle();
        let handle = tokio::spawn(async move {
            let result = match performing.await {
                Ok(result) => result,
                // Nobody wants its answer.
                Err(given_up) if given_up.is_cancelled() => return,
                // An effect that panics must not leave the loop waiting for its answer.
                Err(panic) => Err(DriveError::Lost(panic.to_string())),
            };
            let _ = reports.send(Report::Done { effect: reported, result });
        });
        self.tasks.push(Task { key, end, hurry, handle, abort });
    }
}

/// The same for a machine that is simulated.
fn told(context: Context) -> Told {
    let end = context.end.clone();
    Told::new(move |input| context.tell(input), end)
}

async fn perform(context: Context, state: LoopState, effect: Effect) -> Result<Input, DriveError> {
    if let Some(outside) = context.engine.outside.clone()
        && !matches!(effect, Effect::SetTimer { .. })
    {
        return outside.perform(told(context), &state, effect).await;
    }
    if context.engine.station.is_none() || !may_commit(&effect) {
        return perform_here(context, state, effect).await;
    }
    let done = perform_here(context.clone(), state.clone(), effect.clone()).await?;
    let engine = Arc::clone(&context.engine);
    in_time(context, async move {
        engine.publish(&state).await?;
        if let Effect::Checkpoint { .. } = effect {
            engine.remove_snapshots(&state).await;
        }
        Ok(done)
    })
    .await
}

/// Whether it may move the loop's branch.
fn may_commit(effect: &Effect) -> bool {
    match effect {
        Effect::OpenWorkspace { .. } | Effect::Seal { .. } | Effect::Undo { .. } | Effect::Checkpoint { .. } => true,
        Effect::SetUpWorkspace
        | Effect::RunTurn { .. }
        | Effect::EndTurn { .. }
        | Effect::Summarise { .. }
        | Effect::RunGate { .. }
        | Effect::SetTimer { .. } => false,
    }
}

async fn perform_here(mut context: Context, state: LoopState, effect: Effect) -> Result<Input, DriveError> {
    match effect {
        Effect::OpenWorkspace { restore } => workspace::open(context, &state, restore).await,
        Effect::SetUpWorkspace => setup::run(context, &state).await,
        Effect::RunTurn { turn, session } => {
            let ended = turn::run(context.clone(), &state, turn, &session).await?;
            put_back_after(&context, &state, ended).await
        }
        Effect::EndTurn { turn } => {
            let ended = turn::recover(context.clone(), &state, turn).await?;
            put_back_after(&context, &state, ended).await
        }
        Effect::Seal { section } => {
            in_time(context.clone(), async move { review::seal(context, &state, section).await }).await
        }
        Effect::Undo { commit } => {
            in_time(context.clone(), async move { review::undo(context, &state, commit).await }).await
        }
        Effect::Summarise { turn } => summary::run(context, &state, turn).await,
        Effect::Checkpoint { turn } => {
            in_time(context.clone(), async move { workspace::checkpoint(context, &state, turn).await }).await
        }
        Effect::RunGate { gate } => gate::run(context, &state, gate).await,
        Effect::SetTimer { timer } => {
            let clock = Arc::clone(&context.engine.clock);
            // A stale timer fires too early, which the machine refuses.
            tokio::select! {
                biased;
                () = clock.sleep_until(timer.at) => {}
                () = context.ended() => {}
            }
            Ok(Input::TimerFired { timer: timer.kind })
        }
    }
}

/// Performs a step that changes commits or files on a thread of its own, so that very many files block nobody. Gives it up if
/// it takes too long while somebody waits for the loop to stop or pause: nothing was tried then, and the step is
/// performed when the loop resumes.
async fn in_time(
    mut context: Context,
    step: impl Future<Output = Result<Input, DriveError>> + Send + 'static,
) -> Result<Input, DriveError> {
    let (wanted, given_up) = oneshot::channel::<()>();
    let runtime = tokio::runtime::Handle::current();
    let mut working = tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            tokio::select! {
                biased;
                // Nothing is ever sent: it is closed when this effect is dropped too.
                _ = given_up => None,
                done = step => Some(done),
            }
        })
    });
    let done = tokio::select! {
        done = &mut working => Some(done),
        () = context.out_of_patience() => {
            drop(wanted);
            tokio::time::timeout(LETTING_GO, working).await.ok()
        }
    };
    match done {
        Some(Ok(Some(done))) => done,
        Some(Err(panic)) => Err(DriveError::Lost(panic.to_string())),
        Some(Ok(None)) | None => {
            let message = "interrupted; it is done when the loop is resumed".to_owned();
            Err(DriveError::NotTried(Trouble { kind: TroubleKind::Git, message }))
        }
    }
}

/// Nobody changes what git runs or follows, and who only reads leaves nothing behind at all: it is undone before the
/// turn counts as ended.
async fn put_back_after(context: &Context, state: &LoopState, mut ended: Input) -> Result<Input, DriveError> {
    if let Input::TurnEnded { turn, report, .. } = &mut ended {
        let mut waiting = context.clone();
        let files = context.engine.data.turn(&state.id, *turn);
        report.put_back = workspace::put_back_git_settings(files, waiting.out_of_patience()).await;
        if turn.role.only_reads() {
            report.put_back.extend(judge::put_back_after(context, state, turn.role).await?);
        }
        // Whoever reads that the turn ended finds all of its output.
        context.engine.flush_turn(state, *turn).await?;
    }
    Ok(ended)
}

/// Asks tasks to end and waits until they have: their process trees are gone then, a commit that was under way is
/// made. A step over very many files that takes too long is given up, which ends its git and its walks; a process tree is
/// always waited for.
async fn end(tasks: Vec<Task>) {
    for task in &tasks {
        task.end.send_replace(true);
    }
    let deadline = tokio::time::Instant::now() + GIVE_UP;
    for mut task in tasks {
        if task.key.can_be_given_up() {
            if tokio::time::timeout_at(deadline, &mut task.handle).await.is_ok() {
                continue;
            }
            task.abort.abort();
        }
        let _ = task.handle.await;
    }
}
