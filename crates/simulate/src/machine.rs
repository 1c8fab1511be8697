//! A simulated machine: workspaces with commits, gates, set-ups, and the processes of one engine on it.

use std::any::Any;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use windlass_core::ids::TurnKey;
use windlass_core::machine::{
    Activity, ChangedFile, CheckpointReport, Doing, Effect, GateKey, GateOn, GateReport, Input, LoopState, Restore,
    SummaryReport, Verdict, WorkspaceOpening,
};
use windlass_core::residue::Leftover;
use windlass_core::spec::CommitPolicy;
use windlass_core::trouble::{Trouble, TroubleKind};
use windlass_engine::driver::DriveError;
use windlass_engine::outside::{Outside, Told};
use windlass_engine::socket::Listening;
use windlass_store::Seat;

use crate::dice::{Bug, Fault, Stream};
use crate::world::{Files, Life, Repo, Tree, World};

#[derive(Debug)]
pub(crate) struct SimMachine {
    pub world: Arc<World>,
    pub process: u64,
    pub machine: u64,
}

/// Makes the repository of a loop with its base, and its files on a machine.
pub(crate) fn new_workspace(repo: &mut Repo, machine: u64) -> WorkspaceOpening {
    let tree = repo.new_tree(false);
    repo.files.insert(machine, Files { exist: true, tree, branch: Vec::new() });
    let base = repo.commit(machine, tree, None);
    opening(&base, &base, tree)
}

fn opening(base: &str, head: &str, tree: Tree) -> WorkspaceOpening {
    WorkspaceOpening {
        dir: "/dev/null/simulated".into(),
        branch: Some("windlass/feature".into()),
        base_commit: Some(base.to_owned()),
        head_commit: Some(head.to_owned()),
        tree: tree_name(tree),
        base_tree: None,
        saved: None,
        snapshot: None,
        notes: Vec::new(),
        recreated: false,
        target: None,
        handle: serde_json::Value::Null,
    }
}

pub(crate) fn tree_name(tree: Tree) -> String {
    format!("tree-{}", tree.number)
}

impl SimMachine {
    pub async fn pass(&self) {
        self.world.pass(self.process).await;
    }

    pub async fn spend(&self, most_ms: u64) {
        let ms = 1 + self.world.lock().dice.throw(Stream::Time, most_ms);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        self.pass().await;
    }

    pub fn whom(&self, state: &LoopState) -> String {
        format!("p{}, {}", self.process, state.id)
    }

    pub fn repo<T>(&self, state: &LoopState, use_it: impl FnOnce(&mut Repo) -> T) -> T {
        use_it(self.world.lock().repos.entry(state.id.0.clone()).or_default())
    }

    fn open(&self, state: &LoopState, restore: &Restore) -> Input {
        let machine = self.machine;
        let opening = self.repo(state, |repo| {
            let (base, head) = known(repo, state);
            let tree_of = |repo: &Repo, commit: &str| {
                repo.commits.get(commit).map_or(Tree { number: 0, good: false }, |c| c.tree)
            };
            let recreated = recreate(repo, machine, &head);
            let mut saved = None;
            if let Restore::Reset { commit, cut_turn, moved: _ } = restore {
                let tree = tree_of(repo, commit);
                if let Some(files) = repo.files.get_mut(&machine)
                    && files.tree != tree
                {
                    files.tree = tree;
                    saved = Some(format!("refs/windlass/{}/cut/{cut_turn}", state.id));
                }
            }
            WorkspaceOpening { recreated, saved, ..opening(&base, &head, tree_of(repo, &head)) }
        });
        Input::WorkspaceOpened { opening }
    }

    /// Finds the commit that closes the turn, or makes it.
    fn close(&self, state: &LoopState, closes: &str) -> CheckpointReport {
        let machine = self.machine;
        let off = state.spec.commit == CommitPolicy::Off;
        self.repo(state, |repo| {
            let (_, head) = known(repo, state);
            recreate(repo, machine, &head);
            let files = repo.files[&machine].clone();
            let closing = |id: &&String| repo.commits.get(*id).is_some_and(|c| c.closes.as_deref() == Some(closes));
            let made = files.branch.iter().rev().find(closing).cloned();
            let before = repo.commits.get(&head).map(|commit| commit.tree);
            let changed = before != Some(files.tree);
            let (commit, created) = match made {
                _ if off => (head.clone(), false),
                Some(made) => (made, true),
                None if !changed => (head.clone(), false),
                None => (repo.commit(machine, files.tree, Some(closes.to_owned())), true),
            };
            let tree = if off { files.tree } else { repo.commits.get(&commit).map_or(files.tree, |c| c.tree) };
            let file = ChangedFile { path: "src/lib.rs".into(), change: "modified".into() };
            CheckpointReport {
                commit: (!off).then_some(commit),
                tree: tree_name(tree),
                files: changed.then_some(file).into_iter().collect(),
                files_changed: u64::from(changed),
                created,
                restored: Vec::new(),
                held_back: Vec::new(),
                agent_commits: Vec::new(),
                ignored_new: Vec::new(),
                ignored_new_count: 0,
                moved_refs: Vec::new(),
                notes: Vec::new(),
            }
        })
    }

    fn judge(&self, state: &LoopState, gate: &GateKey) -> GateReport {
        let whom = self.whom(state);
        let not_started = self.world.fault(Fault::GateNotStarted, 40, &whom);
        let flaky = self.world.fault(Fault::FlakyGate, 15, &whom);
        let wrong = self.world.lock().dice.planted() == Some(Bug::WrongCommit);
        let (machine, off) = (self.machine, state.spec.commit == CommitPolicy::Off);
        let spec = state.spec.gates.get(gate.index);
        self.repo(state, |repo| {
            let (base, head) = known(repo, state);
            let named = if gate.on == GateOn::Base { base.clone() } else { head.clone() };
            // The planted defect judges another commit than the one it names.
            let commit = if wrong && gate.on != GateOn::Base { base } else { named.clone() };
            let tree = match repo.files.get(&machine).filter(|_| off && gate.on != GateOn::Base) {
                Some(files) => files.tree,
                None => repo.commits.get(&commit).map_or(Tree { number: 0, good: false }, |commit| commit.tree),
            };
            let verdict = match (not_started, (tree.good || wrong) != flaky) {
                (true, _) => Verdict::NotStarted,
                (false, true) => Verdict::Pass,
                (false, false) => Verdict::Fail,
            };
            if verdict.passed() {
                repo.passed.insert((commit, gate.index));
            }
            GateReport {
                command: spec.map(|spec| spec.command.clone()).unwrap_or_default(),
                hidden: spec.is_some_and(|spec| spec.hidden),
                verdict,
                exit_code: Some(i32::from(!verdict.passed())),
                commit: (!off).then_some(named),
                tree: tree_name(tree),
                duration_ms: 1_000,
                output_tail: "output".into(),
                output_sha256: None,
                changed: Vec::new(),
            }
        })
    }

    async fn done(&self, told: &mut Told, state: &LoopState, effect: Effect) -> Result<Input, DriveError> {
        match effect {
            Effect::OpenWorkspace { restore } => Ok(self.open(state, &restore)),
            Effect::SetUpWorkspace => Ok(Input::SetUp),
            Effect::RunTurn { turn, .. } => Ok(self.turn(told, state, turn).await),
            Effect::EndTurn { turn } => Ok(self.recover(state, turn)),
            Effect::Summarise { turn } => {
                let usage = std::collections::BTreeMap::new();
                let summary =
                    SummaryReport { summary: "what was done".into(), commit_message: None, problem: None, usage };
                Ok(Input::Summarised { turn, summary })
            }
            Effect::Checkpoint { turn } => {
                if self.world.lock().dice.planted() == Some(Bug::LoseOutcome) {
                    told.ended().await;
                    return std::future::pending().await;
                }
                let checkpoint = self.close(state, &state.turn_id(turn));
                Ok(Input::Checkpointed { turn, checkpoint })
            }
            Effect::Seal { section } => {
                let checkpoint = self.close(state, &format!("section {section} of {}", state.iteration));
                Ok(Input::Sealed { section, checkpoint })
            }
            Effect::Undo { commit } => {
                let (machine, head) = (self.machine, commit.clone());
                let tree = self.repo(state, |repo| {
                    recreate(repo, machine, &head);
                    let tree = repo.commits.get(&head).map_or(Tree { number: 0, good: false }, |commit| commit.tree);
                    if let Some(files) = repo.files.get_mut(&machine) {
                        files.tree = tree;
                        files.branch.push(head.clone());
                    }
                    tree
                });
                Ok(Input::Undone { commit, tree: tree_name(tree), saved: None })
            }
            Effect::RunGate { gate } => Ok(Input::GateEnded { report: self.judge(state, &gate), gate }),
            Effect::SetTimer { timer } => Ok(Input::TimerFired { timer: timer.kind }),
        }
    }
}

/// The base and the head by the journal.
fn known(repo: &Repo, state: &LoopState) -> (String, String) {
    let first = repo.commits.keys().next().cloned().unwrap_or_default();
    let base = state.workspace.as_ref().and_then(|known| known.base_commit.clone()).unwrap_or(first);
    let head = state.head_commit().map_or_else(|| base.clone(), str::to_owned);
    (base, head)
}

/// Makes the files again, from the last commit, if they are gone.
fn recreate(repo: &mut Repo, machine: u64, head: &str) -> bool {
    if repo.files.get(&machine).is_some_and(|files| files.exist) {
        return false;
    }
    let tree = repo.commits.get(head).map_or(Tree { number: 0, good: false }, |commit| commit.tree);
    let mut branch = repo.files.get(&machine).map(|files| files.branch.clone()).unwrap_or_default();
    branch.push(head.to_owned());
    repo.files.insert(machine, Files { exist: true, tree, branch });
    true
}

#[async_trait]
impl Outside for SimMachine {
    async fn perform(&self, mut told: Told, state: &LoopState, effect: Effect) -> Result<Input, DriveError> {
        let whom = self.whom(state);
        self.spend(5_000).await;
        if self.world.fault(Fault::KillInEffect, 150, &whom) {
            self.world.die(self.process).await;
        }
        let turn = matches!(effect, Effect::RunTurn { .. } | Effect::EndTurn { .. });
        if !turn && self.world.fault(Fault::Trouble, 50, &whom) {
            let trouble = Trouble { kind: TroubleKind::Git, message: "cannot run git".into() };
            return Err(DriveError::NotTried(trouble));
        }
        let input = self.done(&mut told, state, effect).await?;
        self.spend(2_000).await;
        if self.world.fault(Fault::KillAfterEffect, 150, &whom) {
            self.world.die(self.process).await;
        }
        if self.world.fault(Fault::DoubledOutcome, 30, &whom) {
            told.tell(input.clone());
        }
        if self.world.fault(Fault::StaleOutcome, 40, &whom) {
            let turn = TurnKey {
                iteration: state.iteration.saturating_sub(1),
                role: windlass_core::ids::Role::Coder,
                attempt: 1,
            };
            told.tell(Input::Checkpointed { turn, checkpoint: self.stale(state) });
        }
        Ok(input)
    }

    async fn files_are_lost(&self, state: &LoopState) -> bool {
        self.pass().await;
        let machine = self.machine;
        let closes =
            if let Activity::Running(Doing::Summarise { turn } | Doing::Checkpoint { turn, .. }) = &state.activity {
                Some(state.turn_id(turn.key))
            } else {
                None
            };
        state.can_move()
            && self.repo(state, |repo| {
                let Some(files) = repo.files.get(&machine) else { return true };
                let closing = |id: &String| repo.commits.get(id).is_some_and(|commit| commit.closes == closes);
                let is_closed = closes.is_some() && files.branch.iter().any(closing);
                !files.exist && !is_closed
            })
    }

    async fn ensure_workspace(&self, state: &LoopState) -> Result<Option<Input>, DriveError> {
        self.pass().await;
        if !matches!(state.activity, Activity::Running(Doing::OpenWorkspace { .. })) && state.workspace.is_some() {
            let machine = self.machine;
            self.repo(state, |repo| {
                let (_, head) = known(repo, state);
                recreate(repo, machine, &head);
            });
        }
        Ok(None)
    }

    async fn residue(&self, _: &LoopState) -> Vec<Leftover> {
        self.pass().await;
        Vec::new()
    }

    fn turn_began(&self, state: &LoopState, turn: TurnKey) -> bool {
        self.repo(state, |repo| repo.started.contains_key(&state.turn_id(turn)))
    }

    fn seat(&self) -> Seat {
        Seat::Worker { id: self.process.to_string(), name: format!("p{}", self.process) }
    }

    async fn listen(&self, seat: &Seat, loop_id: &str) -> io::Result<Listening> {
        self.pass().await;
        let gone = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let Seat::Worker { id, .. } = seat else { return Err(gone()) };
        let number: u64 = id.parse().map_err(|_| gone())?;
        let engine = {
            let world = self.world.lock();
            let here = |process: &&crate::world::Process| process.machine == self.machine && process.life != Life::Dead;
            let process = world.processes.get(&number).filter(here).ok_or_else(gone)?;
            process.engine.upgrade().ok_or_else(gone)?
        };
        let line = engine.line(loop_id).ok_or_else(gone)?;
        if self.world.fault(Fault::DelayedWake, 20, loop_id) {
            self.spend(60_000).await;
        }
        if !self.world.fault(Fault::LostWake, 20, loop_id) {
            line.wake.notify_one();
        }
        let (tell, told) = watch::channel(0);
        let mut news = line.news.subscribe();
        drop(line);
        let world = Arc::clone(&self.world);
        // As a socket does, it closes with the process.
        tokio::spawn(async move {
            while world.life(number) != Life::Dead && !tell.is_closed() {
                match news.has_changed() {
                    Ok(true) => tell.send_modify(|count| *count += 1),
                    Ok(false) => {}
                    Err(_) => return,
                }
                news.mark_unchanged();
                let _ = tokio::time::timeout(Duration::from_secs(2), world.written.notified()).await;
                // The driver tells of a write after it is durable.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        Ok(Listening::here(told))
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.world.changes()
    }

    fn take_place(&self) -> Option<Box<dyn Any + Send + Sync>> {
        self.world.take_slot(self.process)
    }

    async fn wait_for_place(&self) -> Box<dyn Any + Send + Sync> {
        self.world.wait_for_slot(self.process).await
    }
}

impl SimMachine {
    fn stale(&self, state: &LoopState) -> CheckpointReport {
        let (commit, tree) = self.repo(state, |repo| {
            let (base, _) = known(repo, state);
            let tree = repo.commits.get(&base).map_or(Tree { number: 0, good: false }, |commit| commit.tree);
            (base, tree)
        });
        CheckpointReport {
            commit: Some(commit),
            tree: tree_name(tree),
            files: Vec::new(),
            files_changed: 0,
            created: false,
            restored: Vec::new(),
            held_back: Vec::new(),
            agent_commits: Vec::new(),
            ignored_new: Vec::new(),
            ignored_new_count: 0,
            moved_refs: Vec::new(),
            notes: Vec::new(),
        }
    }
}
