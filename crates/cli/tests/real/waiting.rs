//! Limits of a provider and broken connections: the loop waits and goes on by itself, also under another engine.
//! The engine runs in this process on a clock that is moved by hand; CLI, model server and git are real.

use std::sync::Arc;

use jiff::Timestamp;
use windlass_core::machine::Event;
use windlass_core::stop::{End, Status};
use windlass_engine::clock::{Clock, ManualClock};
use windlass_engine::config::Options;
use windlass_engine::engine::Engine;
use windlass_engine::journal;
use windlass_testkit::clis::{Cli, CliSetup};
use windlass_testkit::model::Answered;
use windlass_testkit::{HUNG, watch};

use crate::clocked::Watched;
use crate::driven::{COMPLETES, Driven};
use crate::support::call;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;

/// A loop under way on a clock of its own.
struct Clocked {
    driven: Driven,
    clock: ManualClock,
    engine: Arc<Engine>,
    watched: Watched,
}

impl Clocked {
    async fn start(driven: Driven) -> Clocked {
        // Providers name times of the real clock.
        let clock = ManualClock::at(Timestamp::now());
        let engine = crate::clocked::engine(&driven.world, &clock);
        let held = crate::clocked::create(&engine, &driven.world, None, Options::default()).await;
        let watched = Watched::drive(&engine, held);
        Clocked { driven, clock, engine, watched }
    }

    /// Waits for the first wait of the loop: when it began and how long it is to be.
    async fn waits(&mut self) -> (Timestamp, i64) {
        self.watched.until(1, |event| matches!(event, Event::WaitStarted { .. })).await;
        self.wait_in_journal().await.expect("it waits")
    }

    async fn wait_in_journal(&self) -> Option<(Timestamp, i64)> {
        let stored = self.engine.store.read(&self.watched.id.0, 0, 10_000).await.unwrap();
        stored.iter().find_map(|one| {
            let Event::WaitStarted { until, .. } = journal::decode(&self.watched.id, one).unwrap() else { return None };
            Some((until, until.as_millisecond() - one.at.as_millisecond()))
        })
    }

    /// The engine leaves and another one goes on with the loop.
    async fn restart(self) -> Clocked {
        let state = self.watched.leave().await;
        let engine = crate::clocked::engine(&self.driven.world, &self.clock);
        let mut held = engine.take(&state.id).await.unwrap();
        engine.attach(&mut held).await.unwrap();
        let watched = Watched::drive(&engine, held);
        Clocked { engine, watched, ..self }
    }

    fn move_to(&self, time: Timestamp) {
        self.clock.advance_ms(time.as_millisecond() - self.clock.now().as_millisecond());
    }

    /// The model is well from here on, and the wait comes to its end.
    async fn completes(self, attempts: u32) {
        self.driven.server.change_script(COMPLETES);
        let (until, _) = self.wait_in_journal().await.expect("it waits");
        self.move_to(until);
        let state = self.watched.rested().await;
        assert_eq!(state.status(), Status::Ended { end: End::Completed }, "{}", self.driven.server.summary());
        assert_eq!(state.iteration, 1, "waiting consumes no iteration");
        assert_eq!(state.last_turn.map(|last| last.key.attempt), Some(attempts));
        self.driven.world.wait_no_processes();
    }

    /// The agent waits by itself and has said so; five minutes of silence later it is ended.
    async fn stalls_after(&mut self, words: &str) {
        // Its transcript is there by then.
        self.driven.server.wait_request(|seen| seen.answer == Answered::Fail);
        let state = self.watched.state().await;
        let files = self.engine.data.turn(&state.id, state.turn().expect("a turn is under way").key);
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let said = || (read(files.stdout()) + &read(files.stderr())).contains(words);
        assert!(watch::wait_until(&files.stdout(), Some(HUNG), said).unwrap(), "it never said {words:?}");
        // The clock may run past the wait that follows, so the next turn may come at once.
        self.driven.server.change_script(COMPLETES);
        let ended = |event: &Event| matches!(event, Event::TurnInterrupted { .. });
        while !self.watched.events().await.iter().any(ended) {
            self.clock.advance_ms(5 * MINUTE + SECOND);
            // Words that are heard only now begin the five minutes again, and are news.
            self.watched.driving.news.changed().await.expect("the driver has left");
        }
    }
}

fn in_a_runtime(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap().block_on(test);
}

fn failing(failure: &str) -> String {
    format!("[[turn]]\nsteps = [{{ fail = {failure} }}]\n")
}

/// How a CLI is told of a limit, and what Windlass comes to know of it.
struct Limit {
    failure: &'static str,
    /// What the agent says before it waits in silence; none if it gives up soon. A bare number would also be found in
    /// the ids it prints.
    before_silence: Option<&'static str>,
    /// The wait that follows.
    wait: i64,
}

fn limit_that_names_its_end(cli: Cli) -> Limit {
    let in_90_minutes = r#"{ kind = "usage_limit", reset_in_s = 5400, retry_after_s = 1 }"#;
    let told = |failure, wait| Limit { failure, before_silence: None, wait };
    match cli {
        Cli::Claude => told(r#"{ kind = "usage_limit", reset_in_s = 5400 }"#, 90 * MINUTE),
        Cli::Copilot => told(in_90_minutes, 90 * MINUTE),
        Cli::Codex => told(in_90_minutes, 5 * MINUTE),
        Cli::Opencode | Cli::Gemini => told(r#"{ kind = "rate_limit", retry_after_s = 1 }"#, SECOND),
        Cli::Qwen => Limit { failure: in_90_minutes, before_silence: Some("API Error: 429"), wait: 5 * MINUTE },
        Cli::Pi | Cli::Cline | Cli::Aider | Cli::Vibe | Cli::Goose | Cli::Kimi => unreachable!("they name no end"),
        Cli::ClaudeAcp | Cli::CodexAcp => unreachable!("they are no agents of their own"),
    }
}

fn limit_that_does_not(cli: Cli) -> Limit {
    let (failure, before_silence) = match cli {
        Cli::Claude | Cli::Pi | Cli::Cline | Cli::Aider | Cli::Vibe | Cli::Goose | Cli::Kimi => {
            (r#""rate_limit""#, None)
        }
        Cli::Copilot => (r#"{ kind = "rate_limit", retry_after_s = 1 }"#, None),
        Cli::Gemini => (r#""usage_limit""#, None),
        // They would be silent for that hour.
        Cli::Codex => (r#"{ kind = "rate_limit", retry_after_s = 3600 }"#, Some("429 Too Many Requests")),
        Cli::Opencode => (r#"{ kind = "rate_limit", retry_after_s = 3600 }"#, Some("rate limit")),
        Cli::Qwen | Cli::ClaudeAcp | Cli::CodexAcp => unreachable!("as with a time: it is never told"),
    };
    Limit { failure, before_silence, wait: 5 * MINUTE }
}

/// The loop waits until the limit is over, under another engine by then, and has used no iteration for it.
pub fn limit_with_a_reset(cli: Cli) {
    let limit = limit_that_names_its_end(cli);
    let script = failing(limit.failure);
    let Some(driven) = Driven::set_up(cli, "a limit with a reset", &script, CliSetup::on_subscription) else { return };
    in_a_runtime(async {
        let mut run = Clocked::start(driven).await;
        if let Some(words) = limit.before_silence {
            run.stalls_after(words).await;
        }
        let (until, wait) = run.waits().await;
        // The clock stands still while the agent works, so an end that it names may be that much further away; and it
        // names a whole second, which may be nearer by less than one.
        assert!((limit.wait - SECOND..limit.wait + 2 * MINUTE).contains(&wait), "{wait} ms");
        if limit.before_silence.is_some() {
            return run.completes(2).await;
        }
        assert_shown_until(&run, until);
        let run = run.restart().await;
        run.move_to(until - jiff::SignedDuration::from_millis(500));
        assert!(matches!(run.watched.state().await.status(), Status::Waiting { until: same, .. } if same == until));
        run.completes(attempts(cli)).await;
    });
}

/// Gemini keeps no session in which nothing was answered yet, so the second attempt finds none and the third is fresh.
fn attempts(cli: Cli) -> u32 {
    if cli == Cli::Gemini { 3 } else { 2 }
}

/// Other processes see until when it waits.
#[track_caller]
fn assert_shown_until(run: &Clocked, until: Timestamp) {
    let status = run.driven.status();
    assert_eq!(status["status"], "waiting");
    assert_eq!(status["waiting_until"].as_str().map(|at| at.parse().unwrap()), Some(until));
    let time = until.strftime("%H:%M").to_string();
    call(&run.driven.world, &["status", "work"]).assert_code(0).assert_stdout_has(&time);
    call(&run.driven.world, &["list"]).assert_code(0).assert_stdout_has(&time);
}

/// Nobody says when it is over: five minutes, then longer.
pub fn limit_without_a_reset(cli: Cli) {
    let limit = limit_that_does_not(cli);
    let Some(driven) = Driven::new(cli, "a limit without a reset", &failing(limit.failure)) else { return };
    in_a_runtime(async {
        let mut run = Clocked::start(driven).await;
        if let Some(words) = limit.before_silence {
            run.stalls_after(words).await;
        }
        let (_, wait) = run.waits().await;
        assert_eq!(wait, limit.wait);
        run.completes(attempts(cli)).await;
    });
}

/// The connection breaks in every answer: the loop backs off and asks again.
pub fn connection_cut(cli: Cli) {
    let script = "[[turn]]\nsteps = [{ say = 'I was going to say', cut = true }]\n";
    let Some(driven) = Driven::new(cli, "the connection is cut", script) else { return };
    if cli == Cli::Opencode {
        return asks_again_by_itself(&driven);
    }
    in_a_runtime(async {
        let mut run = Clocked::start(driven).await;
        let (_, wait) = run.waits().await;
        assert_eq!(wait, 10 * SECOND);
        run.completes(attempts(cli)).await;
    });
}

/// The loop hears of nothing and has nothing to wait for.
fn asks_again_by_itself(driven: &Driven) {
    let running = driven.start(&["--gate", "test -f out.txt"]);
    driven.server.wait_request(|seen| seen.answer == Answered::Reply);
    driven.server.change_script(COMPLETES);
    let output = running.wait();
    output.assert_code(0);
    driven.assert_completed(&output);
    assert_eq!(driven.sessions(), ["fresh"]);
}
