//! Simulated agents: they behave, lie, crash, hang, flood, hit limits, ask, and judge.

use std::time::Duration;

use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{Input, LoopState};
use windlass_core::review::{FeatureReport, MarkedQuestion, Report, Verdict};
use windlass_core::usage::{Usage, UsageByModel};
use windlass_engine::outside::Told;

use crate::dice::{Fault, Stream};
use crate::machine::SimMachine;
use crate::violation::Invariant;

/// How an agent spends its turn.
enum Way {
    Works { good: bool, claims: bool },
    Crashes,
    Hangs,
    Floods,
    Limited,
    Fails(ErrorKind),
    Missing,
}

impl SimMachine {
    /// Runs the turn, or, if it ran before, reports what became of it.
    pub(crate) async fn turn(&self, told: &mut Told, state: &LoopState, turn: TurnKey) -> Input {
        let id = state.turn_id(turn);
        let machine = self.machine;
        let began = self.repo(state, |repo| repo.started.contains_key(&id));
        if began || state.turn().is_some_and(|running| running.moved) {
            return self.recover(state, turn);
        }
        let twice = self.repo(state, |repo| repo.started.insert(id.clone(), machine).is_some());
        if twice {
            self.world.violate(Invariant::NothingDoubled, format!("the agent of {id} is started twice"));
        }
        self.world.tell(|| format!("p{} starts the agent of {id}", self.process));
        let report = self.work(told, state, turn).await;
        self.pass().await;
        // The exit record is written before anybody reads it.
        self.repo(state, |repo| repo.ended.insert(id.clone(), report.clone()));
        if self.world.fault(Fault::KillAfterEffect, 120, &id) {
            self.world.die(self.process).await;
        }
        Input::turn_ended(turn, report)
    }

    /// What became of a turn that somebody else ran, or that was asked to end.
    pub(crate) fn recover(&self, state: &LoopState, turn: TurnKey) -> Input {
        let id = state.turn_id(turn);
        let recorded = self.repo(state, |repo| repo.ended.get(&id).cloned());
        let outcome = if state.turn().is_some_and(|running| running.interrupt.is_some()) {
            TurnOutcome::Interrupted
        } else {
            TurnOutcome::CutOff
        };
        Input::turn_ended(turn, recorded.unwrap_or_else(|| TurnReport::bare(outcome)))
    }

    fn way(&self, state: &LoopState) -> Way {
        let whom = self.whom(state);
        let fault = |fault, sides| self.world.fault(fault, sides, &whom);
        if fault(Fault::AgentCrashes, 20) {
            return Way::Crashes;
        }
        if fault(Fault::AgentHangs, 30) {
            return Way::Hangs;
        }
        if fault(Fault::AgentFloods, 30) {
            return Way::Floods;
        }
        if fault(Fault::AgentLimited, 25) {
            return Way::Limited;
        }
        if fault(Fault::AgentFails, 20) {
            let kinds = [
                ErrorKind::Overloaded,
                ErrorKind::Network,
                ErrorKind::ContextOverflow,
                ErrorKind::Auth,
                ErrorKind::Billing,
                ErrorKind::ModelNotFound,
                ErrorKind::UnknownSession,
                ErrorKind::ResourceLimit,
            ];
            let kind = self.world.lock().dice.pick(Stream::Agent, &kinds);
            let missing = self.world.lock().dice.one_in(Stream::Agent, 8);
            return if missing { Way::Missing } else { Way::Fails(kind) };
        }
        let lies = fault(Fault::AgentLies, 6);
        let mut world = self.world.lock();
        let good = world.dice.calm || world.dice.one_in(Stream::Agent, 2);
        let claims = lies || (good && (world.dice.calm || !world.dice.one_in(Stream::Agent, 4)));
        Way::Works { good: good && !lies, claims }
    }

    /// One step of an agent; `false` if the turn has to end.
    async fn step(&self, told: &mut Told, ms: u64) -> bool {
        let goes_on = tokio::select! {
            biased;
            () = told.ended() => false,
            () = tokio::time::sleep(Duration::from_millis(ms)) => true,
        };
        self.pass().await;
        goes_on
    }

    async fn work(&self, told: &mut Told, state: &LoopState, turn: TurnKey) -> TurnReport {
        let way = self.way(state);
        let mut usage = UsageByModel::new();
        let session = format!("session-{turn}");
        let report = |outcome, usage: &UsageByModel| TurnReport {
            session: Some(session.clone()),
            usage: usage.clone(),
            last_words: "words".into(),
            duration_ms: 60_000,
            ..TurnReport::bare(outcome)
        };
        if let Way::Missing = way {
            return TurnReport::bare(TurnOutcome::NotStarted { message: "no such program".into(), missing: true });
        }
        let steps = 1 + self.world.lock().dice.throw(Stream::Agent, 3);
        for _ in 0..steps {
            let ms = 1 + self.world.lock().dice.throw(Stream::Time, 200_000);
            if !self.step(told, ms).await {
                return report(TurnOutcome::Interrupted, &usage);
            }
            if self.world.fault(Fault::KillInEffect, 150, &self.whom(state)) {
                self.world.die(self.process).await;
            }
            self.spent(&mut usage);
            told.tell(Input::SessionSeen { turn, session: session.clone() });
            told.tell(Input::UsageSeen { turn, usage: usage.clone() });
            if turn.role == Role::Coder || turn.role == Role::Finisher {
                let good = matches!(way, Way::Works { good: true, .. });
                self.change(state, turn, good);
            }
        }
        match way {
            Way::Works { good, claims } => {
                let report = report(TurnOutcome::Finished, &usage);
                self.says(state, turn, report, good, claims)
            }
            Way::Crashes => report(TurnOutcome::Failed { kind: ErrorKind::Other, message: "crashed".into() }, &usage),
            Way::Fails(kind) => report(TurnOutcome::Failed { kind, message: "failed".into() }, &usage),
            Way::Limited => {
                let after = self.world.lock().dice.throw(Stream::Agent, 7_200);
                let after = jiff::SignedDuration::from_secs(i64::try_from(after).unwrap_or(0));
                let until = self.world.now().checked_add(after).ok();
                report(TurnOutcome::RateLimited { until, message: "later".into() }, &usage)
            }
            Way::Floods => {
                for _ in 0..100 {
                    self.spent(&mut usage);
                    told.tell(Input::UsageSeen { turn, usage: usage.clone() });
                }
                let goes_on = self.step(told, 1_000).await;
                report(if goes_on { TurnOutcome::Finished } else { TurnOutcome::Interrupted }, &usage)
            }
            Way::Hangs => {
                let stall = state.spec.time.stall_timeout_ms;
                if self.step(told, stall).await {
                    told.tell(Input::Stalled { turn });
                    told.ended().await;
                    self.pass().await;
                }
                report(TurnOutcome::Interrupted, &usage)
            }
            Way::Missing => TurnReport::bare(TurnOutcome::Interrupted),
        }
    }

    fn spent(&self, usage: &mut UsageByModel) {
        let mut world = self.world.lock();
        let (tokens, cost) = (world.dice.throw(Stream::Agent, 200), world.dice.throw(Stream::Agent, 100));
        let sum = usage.entry("model".to_owned()).or_default();
        let cost_usd = sum.cost_usd.unwrap_or(0.0) + cost as f64 / 1_000.0;
        *sum = Usage { output_tokens: sum.output_tokens + tokens, cost_usd: Some(cost_usd), ..sum.clone() };
    }

    fn change(&self, state: &LoopState, turn: TurnKey, good: bool) {
        let idle = {
            let mut world = self.world.lock();
            !world.dice.calm && world.dice.one_in(Stream::Agent, 4)
        };
        let (machine, agents) = (self.machine, state.spec.commit == windlass_core::spec::CommitPolicy::Agent);
        let commits = agents && self.world.lock().dice.one_in(Stream::Agent, 2);
        self.repo(state, |repo| {
            let tree = repo.new_tree(good);
            let Some(files) = repo.files.get_mut(&machine).filter(|files| files.exist) else { return };
            // A finisher that leaves the work alone keeps what was agreed to.
            if idle || turn.role == Role::Finisher && files.tree.good {
                return;
            }
            files.tree = tree;
            if commits {
                repo.commit(machine, tree, None);
            }
        });
    }

    fn head_is_good(&self, state: &LoopState) -> bool {
        let head = state.head_commit().unwrap_or_default();
        self.repo(state, |repo| repo.commits.get(head).is_some_and(|commit| commit.tree.good))
    }

    /// What the agent of a role says at its end.
    fn says(&self, state: &LoopState, turn: TurnKey, mut report: TurnReport, good: bool, claims: bool) -> TurnReport {
        report.claim = claims;
        let reviews = turn.role.only_reads();
        let nonsense = reviews && self.world.fault(Fault::ReviewerNonsense, 12, &self.whom(state));
        let agrees =
            reviews && !nonsense && (self.head_is_good(state) || (good && claims && self.world.lock().dice.calm));
        if agrees && let Some(head) = state.head_commit() {
            self.repo(state, |repo| repo.agreed.insert(head.to_owned()));
        }
        let asks = turn.role == Role::Coder && self.world.fault(Fault::AgentAsks, 15, &self.whom(state));
        if asks {
            let question = format!("which of {turn}?");
            report.questions = vec![MarkedQuestion { question, default: Some("that".into()) }];
        }
        if state.review.is_none() {
            return report;
        }
        let said = match turn.role {
            _ if nonsense => "not a verdict".to_owned(),
            Role::Auditor => block(&audit(state, agrees)),
            Role::Planner => "<!-- windlass-section -->\n## Part 1\nDo it.\n\n".to_owned(),
            Role::Acceptor if agrees => "ACCEPTED".to_owned(),
            Role::Acceptor => "REJECTED: not yet".to_owned(),
            Role::Coder | Role::Summariser | Role::Finisher => "I did it.".to_owned(),
        };
        report.verdict = (turn.role == Role::Acceptor).then(|| Verdict::read(&said, ""));
        report.developer = (turn.role == Role::Coder).then(|| Box::new(self.developer(state, claims)));
        report.answer = Some(said);
        report
    }

    fn developer(&self, state: &LoopState, claims: bool) -> Report {
        let first = self.world.lock().dice.one_in(Stream::Agent, 2);
        if claims && (state.iteration > 2 || self.world.lock().dice.calm) {
            return Report::AllFeaturesComplete { commits: Vec::new(), summary: "All of it.".into() };
        }
        let id = if first { "F1" } else { "F2" };
        Report::Feature(FeatureReport {
            feature: format!("{id}: a feature"),
            feature_id: Some(id.into()),
            ..FeatureReport::default()
        })
    }
}

fn block(json: &str) -> String {
    format!("Looked.\n\n```windlass-review\n{json}\n```\n")
}

fn audit(state: &LoopState, agrees: bool) -> String {
    let open = state.review.iter().flat_map(|review| review.findings().open());
    let resolved: Vec<String> = open.map(|finding| format!("\"{}\"", finding.id)).collect();
    if agrees {
        let resolved = resolved.join(", ");
        return format!(r#"{{"verdict": "clean", "resolved": [{resolved}], "section_summary": {{"done": ["it"]}}}}"#);
    }
    r#"{"verdict": "dirty", "findings": [{"file": "a.rs", "line": 1, "severity": "bug", "description": "wrong"}]}"#
        .to_owned()
}
