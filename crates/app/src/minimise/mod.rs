//! `minimise`: drops what gates do not need of a loop's work, and offers the smaller commit.

mod record;
mod search;
mod steps;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::ids::LoopId;
use windlass_core::machine::{Input, LoopState, Smaller};
use windlass_core::spec::{CommitPolicy, WorkspaceKind};
use windlass_engine::driver::{Candidates, RedGate};
use windlass_engine::engine::Engine;
use windlass_engine::work::span;
use windlass_workspace::{Part, Parts, Workspace};

use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::words::one_line;
use crate::work::{at_rest, not_at_a_desk};
use record::{Record, Subject};
use search::Search;
pub use steps::{MinimiseStep, MinimiseSteps, StepsReport, Why};

/// The trailer of the smaller commit; its value is the commit that it is made of.
const TRAILER: &str = "Windlass-Minimised";
/// How long a search takes if nobody says.
const USUAL_MS: u64 = 60 * 60 * 1_000;

/// Drop what the gates do not need, and offer the smaller commit.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MinimiseLoop {
    #[schemars(skip)]
    pub id: String,
    /// Judge at most so many candidates; the next call goes on.
    pub max_runs: Option<u32>,
    /// Take at most so long; one hour if left out.
    pub duration_ms: Option<u64>,
    /// Put the smaller tree on the loop's own branch too, as a commit on top.
    pub take: bool,
}

/// What can go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MinimiseReport {
    pub name: String,
    pub base: String,
    /// The loop's last commit.
    pub head: String,
    /// Nothing that is left can be dropped alone.
    pub complete: bool,
    /// The gates pass on the base too, so they say nothing about the work.
    pub gates_need_nothing: bool,
    /// The smaller commit, if there is one.
    pub commit: Option<String>,
    /// The branch that has it.
    pub branch: Option<String>,
    /// The commit on the loop's own branch that has the same tree, if that was asked for.
    pub taken: Option<String>,
    /// Hunks and whole files of the loop's work.
    pub hunks: usize,
    pub kept: usize,
    pub dropped: Vec<DroppedHunk>,
    /// Candidates that gates judged in this call.
    pub runs: u32,
    /// Candidates that were judged before.
    pub known: u32,
    pub duration_ms: u64,
}

/// A part of the work that gates do not need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedHunk {
    pub path: String,
    /// The earlier name of a renamed file.
    pub from: Option<String>,
    /// `lines`, `added`, `deleted`, `renamed`, `mode` or `content`.
    pub kind: String,
    /// The first of its lines in the loop's last commit.
    pub line: Option<u32>,
    pub lines_added: u32,
    pub lines_removed: u32,
}

impl From<&Part> for DroppedHunk {
    fn from(part: &Part) -> Self {
        Self {
            path: part.path.to_string(),
            from: part.from.as_ref().map(ToString::to_string),
            kind: part.kind.name().to_owned(),
            line: part.line,
            lines_added: part.added,
            lines_removed: part.removed,
        }
    }
}

impl Request for MinimiseLoop {
    type Report = MinimiseReport;
    const NAME: &'static str = "minimise";

    async fn perform(self, here: &Local) -> Result<MinimiseReport, Problem> {
        let engine = here.engine().await?;
        let id = LoopId(here.found(&self.id).await?.entry.id);
        // A client that leaves must not leave the loop held.
        let work = tokio::spawn(async move {
            let mut held = engine.take(&id).await?;
            let mut done = minimised(&engine, &held.state, &self).await;
            if let Ok(MinimiseReport { taken: Some(commit), head, kept, hunks, .. }) = &done {
                let smaller = Smaller { commit: commit.clone(), head: head.clone(), kept: *kept, hunks: *hunks };
                if let Err(error) = engine.apply(&mut held, &Input::Minimised { smaller }).await {
                    done = Err(error.into());
                }
            }
            engine.release(held).await?;
            done
        });
        work.await.map_err(|error| Problem::new(Kind::Failed, error.to_string()))?
    }
}

/// Where the record of a loop is.
fn record_file(engine: &Engine, id: &LoopId) -> PathBuf {
    engine.data.transcripts(id).join("minimise.jsonl")
}

/// Whether a commit is the smaller one that was offered for this head.
pub(crate) fn is_offered(engine: &Engine, id: &LoopId, head: &str, facts: &windlass_workspace::CommitFacts) -> bool {
    facts.trailer(TRAILER) == Some(head) && record::was_offered(&record_file(engine, id), &facts.commit)
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Whether there is anything to minimise.
fn fit(state: &LoopState) -> Result<(), Problem> {
    let name = &state.name;
    at_rest(state)?;
    let own = match state.spec.workspace.kind {
        WorkspaceKind::Clone => state.spec.commit != CommitPolicy::Off,
        WorkspaceKind::InPlace | WorkspaceKind::External => false,
    };
    if !own {
        return Err(Problem::refused(
            format!("{name}: the loop has no commits"),
            "use minimise with a loop that has a separate workspace and branch",
        ));
    }
    if state.spec.gates.is_empty() {
        return Err(Problem::refused(
            format!("{name}: the loop has no gates, so nothing shows what is needed"),
            "start the next loop with --gate",
        ));
    }
    Ok(())
}

/// One search.
struct Minimising<'a> {
    engine: &'a Arc<Engine>,
    state: &'a LoopState,
    workspace: Workspace,
    parts: Parts,
    base: String,
    candidates: Candidates,
    record: Record,
    scratch: PathBuf,
    started: Instant,
    time: Duration,
    most_runs: u32,
    runs: u32,
    known: u32,
    /// Hunks of the smallest candidate that passed so far.
    smallest: usize,
    /// The gate that failed last.
    red: Option<RedGate>,
}

/// A part of the work.
#[derive(Debug)]
struct Candidate {
    tree: String,
    hunks: usize,
    why: Why,
}

/// What is known of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Passes,
    Fails,
    /// There are no runs or there is no time left.
    Unknown,
}

async fn minimised(engine: &Arc<Engine>, state: &LoopState, wanted: &MinimiseLoop) -> Result<MinimiseReport, Problem> {
    not_at_a_desk(engine, state, "minimise")?;
    fit(state)?;
    let started = Instant::now();
    let nothing = || Problem::refused(format!("{}: the loop changed nothing", state.name), "there is nothing to drop");
    let range = span(state, None).map_err(|_| nothing())?;
    let workspace = engine.workspace(state)?;
    let parts = engine.workspaces.parts(&workspace, &range.from, &range.to, &state.spec.protect).await?;
    if parts.list().is_empty() {
        return Err(nothing());
    }
    let subject = Subject {
        base: range.from.clone(),
        head: range.to.clone(),
        gates: state.spec.gates.iter().map(|gate| gate.command.clone()).collect(),
        protect: state.spec.protect.clone(),
    };
    let file = record_file(engine, &state.id);
    windlass_engine::data::private_dir(&engine.data.transcripts(&state.id))?;
    let record = Record::open(&file, &subject)?;
    record.step(MinimiseStep::Started { hunks: parts.list().len(), known: record.known() })?;
    let candidates = Candidates::open(engine, state).await?.map_err(|message| {
        Problem::new(Kind::Failed, format!("{}: the set-up fails on the base: {message}", state.name))
    })?;
    let mut minimising = Minimising {
        engine,
        state,
        workspace,
        parts,
        base: range.from,
        candidates,
        record,
        scratch: file.with_extension("index"),
        started,
        time: Duration::from_millis(wanted.duration_ms.unwrap_or(USUAL_MS)),
        most_runs: wanted.max_runs.unwrap_or(u32::MAX).max(1),
        runs: 0,
        known: 0,
        smallest: 0,
        red: None,
    };
    let found = minimising.run(&range.to, wanted.take).await;
    let _ = std::fs::remove_file(&minimising.scratch);
    let Minimising { candidates, .. } = minimising;
    candidates.close(state)?;
    found
}

impl Minimising<'_> {
    async fn run(&mut self, head: &str, take: bool) -> Result<MinimiseReport, Problem> {
        let all: BTreeSet<usize> = (0..self.parts.list().len()).collect();
        let green = self.head_is_green(&all).await?;
        let pinned: BTreeSet<usize> = all.iter().copied().filter(|&part| self.parts.list()[part].protected).collect();
        let (kept, complete) = match green {
            Answer::Passes => self.smallest(&pinned).await?,
            Answer::Fails | Answer::Unknown => (all.clone(), false),
        };
        let need_nothing = kept.is_subset(&pinned);
        let (mut commit, mut branch, mut taken) = (None, None, None);
        if kept != all && !need_nothing {
            let base = self.base.clone();
            let made = self.commit(&kept, &base, head).await?;
            let name = format!("{}-minimised", self.workspace.branch);
            let ours = |message: &str| message.lines().any(|line| line.starts_with(&format!("{TRAILER}:")));
            self.engine.workspaces.offer_branch(&self.workspace, &name, &made, ours).await?;
            self.record.offered(&made)?;
            (commit, branch) = (Some(made), Some(name));
            if take {
                let on_top = self.commit(&kept, head, head).await?;
                self.record.offered(&on_top)?;
                self.engine.take_smaller(self.state, &on_top).await?;
                taken = Some(on_top);
            }
        }
        let dropped = all.difference(&kept).map(|&part| DroppedHunk::from(&self.parts.list()[part])).collect();
        Ok(MinimiseReport {
            name: self.state.name.clone(),
            base: self.base.clone(),
            head: head.to_owned(),
            complete,
            gates_need_nothing: need_nothing,
            commit,
            branch,
            taken,
            hunks: all.len(),
            kept: kept.len(),
            dropped,
            runs: self.runs,
            known: self.known,
            duration_ms: millis(self.started),
        })
    }

    /// The loop's last commit has to pass, twice: what a flaky gate says of a smaller one means nothing.
    async fn head_is_green(&mut self, all: &BTreeSet<usize>) -> Result<Answer, Problem> {
        self.smallest = all.len();
        let whole = self.candidate(all, Why::Whole).await?;
        while self.record.runs(&whole.tree).0 + self.record.runs(&whole.tree).1 < 2 {
            if self.judged(&whole, 0).await? == Answer::Unknown {
                return Ok(Answer::Unknown);
            }
        }
        match self.record.runs(&whole.tree) {
            (_, 0) => Ok(Answer::Passes),
            (passed, _) => Err(self.not_green(passed > 0)),
        }
    }

    fn not_green(&self, flaky: bool) -> Problem {
        let command = self.red.as_ref().map_or("a gate".to_owned(), |red| one_line(&red.command, 120));
        let what = if flaky { "passes and fails on the same commit" } else { "fails on the loop's last commit" };
        let lines = self.red.as_ref().map(|red| red.output_tail.as_str()).unwrap_or_default();
        let lines: Vec<&str> = lines.lines().filter(|line| !line.trim().is_empty()).collect();
        let causes = lines[lines.len().saturating_sub(5)..].iter().map(|line| one_line(line, 200)).collect();
        let hint = "minimise needs gates that pass reliably on the whole work";
        Problem { causes, ..Problem::refused(format!("{}: {command} {what}", self.state.name), hint) }
    }

    /// The smallest set of parts that passes, confirmed by a second run; and whether the search came to its end.
    async fn smallest(&mut self, pinned: &BTreeSet<usize>) -> Result<(BTreeSet<usize>, bool), Problem> {
        let files = self.parts.by_file();
        'again: loop {
            let mut search = Search::new(&files, pinned.clone());
            let mut complete = true;
            self.smallest = self.parts.list().len();
            while let Some(question) = search.question() {
                let candidate = self.candidate(&question, Why::Smaller).await?;
                // One run is left to confirm what was found.
                match self.answer(&candidate, 1).await? {
                    Answer::Unknown => {
                        complete = false;
                        break;
                    }
                    answer @ (Answer::Passes | Answer::Fails) => search.answer(answer == Answer::Passes),
                }
            }
            let kept = search.kept().clone();
            if kept.is_subset(pinned) || kept.len() == self.parts.list().len() {
                return Ok((kept, complete));
            }
            let found = self.candidate(&kept, Why::Confirm).await?;
            while self.record.runs(&found.tree).0 < 2 {
                match self.judged(&found, 0).await? {
                    Answer::Passes => {}
                    // A flaky gate: what it said once is believed no more.
                    Answer::Fails => continue 'again,
                    Answer::Unknown => return Ok(((0..self.parts.list().len()).collect(), false)),
                }
            }
            return Ok((kept, complete));
        }
    }

    async fn tree(&self, kept: &BTreeSet<usize>) -> Result<String, Problem> {
        Ok(self.engine.workspaces.tree_with(&self.workspace, &self.parts, kept, &self.scratch).await?)
    }

    async fn candidate(&self, kept: &BTreeSet<usize>, why: Why) -> Result<Candidate, Problem> {
        Ok(Candidate { tree: self.tree(kept).await?, hunks: kept.len(), why })
    }

    /// The verdict, from the record if it has one.
    async fn answer(&mut self, candidate: &Candidate, reserved: u32) -> Result<Answer, Problem> {
        match self.record.verdict(&candidate.tree) {
            Some(passes) => {
                self.known += 1;
                Ok(self.answered(candidate, passes))
            }
            None => self.judged(candidate, reserved).await,
        }
    }

    /// Runs the gates on a candidate. So many runs stay for later.
    async fn judged(&mut self, candidate: &Candidate, reserved: u32) -> Result<Answer, Problem> {
        let left = self.time.saturating_sub(self.started.elapsed());
        if self.runs + reserved >= self.most_runs || left.is_zero() {
            return Ok(Answer::Unknown);
        }
        let Candidate { tree, hunks, why } = candidate;
        let (run, hunks, why) = (self.runs + 1, *hunks, *why);
        self.record.step(MinimiseStep::Judging { run, why, hunks })?;
        let began = Instant::now();
        let message = format!("windlass: a part of {}\n", self.state.name);
        let commit = self.engine.workspaces.commit_of(&self.workspace, tree, &self.base, &message).await?;
        let judged = self.candidates.judge(self.state, &commit, left).await?;
        let Some(red) = judged else { return Ok(Answer::Unknown) };
        self.runs = run;
        let passed = red.is_none();
        let answer = self.answered(candidate, passed);
        let (smallest, duration_ms) = (self.smallest, millis(began));
        self.record.judged(tree, passed, MinimiseStep::Judged { run, why, hunks, passed, smallest, duration_ms })?;
        self.red = red.or(self.red.take());
        Ok(answer)
    }

    fn answered(&mut self, candidate: &Candidate, passes: bool) -> Answer {
        if !passes {
            return Answer::Fails;
        }
        self.smallest = self.smallest.min(candidate.hunks);
        Answer::Passes
    }

    async fn commit(&self, kept: &BTreeSet<usize>, parent: &str, head: &str) -> Result<String, Problem> {
        let tree = self.tree(kept).await?;
        let (name, goal) = (&self.state.name, self.state.spec.goal.trim());
        let text = match parent == head {
            true => format!("Drop what the gates of {name} do not need"),
            false => {
                let subject = one_line(goal, 72);
                if subject == goal { subject } else { format!("{subject}\n\n{goal}") }
            }
        };
        let message = format!(
            "{text}\n\nThe gates pass with {} of {} hunks.\n\nWindlass-Loop: {name}\n{TRAILER}: {head}\n",
            kept.len(),
            self.parts.list().len()
        );
        Ok(self.engine.workspaces.commit_of(&self.workspace, &tree, parent, &message).await?)
    }
}
