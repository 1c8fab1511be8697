//! What a turn did, in the words of the loop's own agent or of a model behind an endpoint.
//!
//! Invariant: nothing that goes wrong here costs the commit; it is told, and plain facts stand in.

use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use windlass_agents::{LaunchFacts, SessionFacts, TurnRequest};
use windlass_core::agent::{AgentEvent, TurnOutcome};
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{Input, LoopState, SummaryReport};
use windlass_core::summary::SummariserKind;
use windlass_core::usage::UsageByModel;
use windlass_supervise::{ContainmentRequest, Ended, ShimSpec};

use super::performing::Context;
use super::{DriveError, ground, transcript_error, workspace};
use crate::data::{TurnFiles, private_files};
use crate::sandbox::Confined;
use crate::summariser::{self, Material, TurnHistory, Written};
use crate::tokens;
use crate::transcript::exchange::{self, Exchange};
use crate::transcript::{TranscriptReader, TurnWatcher};

/// A short extra turn needs no longer.
const LONGEST_TURN_MS: i64 = 5 * 60 * 1_000;

pub(super) async fn run(mut context: Context, state: &LoopState, turn: TurnKey) -> Result<Input, DriveError> {
    let material = material(&context, state, turn).await?;
    let settings = &state.spec.summariser;
    let (written, usage) = match settings.kind {
        SummariserKind::Agent => by_agent(&mut context, state, turn, &material).await?,
        SummariserKind::Endpoint | SummariserKind::Deterministic => {
            let mut stopped = context.clone();
            let written = tokio::select! {
                written = summariser::write(settings, &material) => written,
                () = stopped.ended() => summariser::settle(&material, Ok(summariser::deterministic(&material))),
            };
            (written, UsageByModel::new())
        }
    };
    let Written { summary, commit_message, warnings } = written;
    let problem = (!warnings.is_empty()).then(|| warnings.join("; "));
    let summary = SummaryReport { summary, commit_message: Some(commit_message), problem, usage };
    Ok(Input::Summarised { turn, summary })
}

/// What the turn left behind: its transcript read again, and the files that changed.
async fn material(context: &Context, state: &LoopState, turn: TurnKey) -> Result<Material, DriveError> {
    let files = context.engine.data.turn(&state.id, turn);
    let mut transcript = TranscriptReader::new(&files, &state.agent(turn.role).profile, &SessionFacts::default());
    let mut history = TurnHistory::default();
    loop {
        let batch = transcript.read().map_err(|source| transcript_error(&files.dir, source))?;
        batch.events.iter().for_each(|event| history.see(event));
        if !batch.progressed {
            break;
        }
    }
    transcript.finish().iter().for_each(|event| history.see(event));
    let changed = workspace::changed(context, state).await?;
    Ok(Material {
        task: state.spec.goal.clone(),
        files_changed: changed.len() as u64,
        files: changed,
        promise: state.spec.done.promise().map(str::to_owned),
        ..Material::from_turn(turn.iteration, &history).with_history(&history, &tokens::count)
    })
}

async fn by_agent(
    context: &mut Context,
    state: &LoopState,
    turn: TurnKey,
    material: &Material,
) -> Result<(Written, UsageByModel), DriveError> {
    let settings = &state.spec.summariser;
    let key = TurnKey { role: Role::Summariser, ..turn };
    let files = context.engine.data.new_run(&state.id, &key.to_string());
    let files = files.map_err(|source| transcript_error(&context.engine.data.transcripts(&state.id), source))?;
    let (answer, usage) = ask(context, state, key, &files, &summariser::ask(material)).await?;
    let attempt = match answer {
        Ok(answer) => summariser::read_answer(settings, material, &answer),
        Err(why) => Err(summariser::SummaryError::Summary(summariser::CallError::Agent(why))),
    };
    Ok((summariser::settle(material, attempt), usage))
}

/// What such a process is to a sandbox.
const WHO: &str = "summary";

/// One request to the loop's agent, in its own directory so that it finds nothing to change.
async fn ask(
    context: &mut Context,
    state: &LoopState,
    turn: TurnKey,
    files: &TurnFiles,
    prompt: &str,
) -> Result<(Result<String, String>, UsageByModel), DriveError> {
    let engine = Arc::clone(&context.engine);
    let scratch = files.dir.join("scratch");
    let written = std::fs::create_dir(&scratch).and_then(|()| std::fs::write(files.prompt(), prompt));
    written.map_err(|source| transcript_error(&files.dir, source))?;
    let (spec, transcript) = match shim(&engine, state, turn, files, &scratch, prompt) {
        Ok(prepared) => prepared,
        Err(why) => return Ok((Err(why), UsageByModel::new())),
    };
    let limit = SignedDuration::from_millis(LONGEST_TURN_MS);
    let deadline = engine.clock.now().checked_add(limit).unwrap_or(Timestamp::MAX);
    let running = engine.launcher.start(&spec).await?;
    let mut watcher = TurnWatcher::new(None, prompt);
    // The watcher keeps only the end of what was said, and the answer's first mark is at its beginning.
    let mut said = TurnHistory::default();
    let mut exchange = Exchange::new(running, transcript, |event: &AgentEvent| {
        watcher.see(event);
        said.see(event);
    });
    let mut ending = false;
    let unreadable = |source| transcript_error(&files.dir, source);
    let record = loop {
        tokio::select! {
            happened = exchange.next() => {
                if let Some(record) = happened.map_err(unreadable)? {
                    break record;
                }
            }
            () = context.ended(), if !ending => { ending = true; exchange.stop(); }
            () = engine.clock.sleep_until(deadline), if !ending => { ending = true; exchange.stop(); }
        }
    };
    let transcript = exchange.finish().await.map_err(unreadable)?;
    ground(&engine, state).keep_logins(WHO);
    let exit = record.as_ref().and_then(|record| match &record.ended {
        Ended::Exited { code } => Some(windlass_agents::Exit::Code(*code)),
        Ended::Signaled { signal } => Some(windlass_agents::Exit::Signal(*signal)),
        Ended::TurnOver => Some(windlass_agents::Exit::Waits),
        Ended::SpawnFailed(_) | Ended::WriteFailed { .. } => None,
    });
    let outcome = exit.map(|exit| transcript.outcome(exit, engine.clock.now()));
    let report = watcher.report(TurnOutcome::Finished, exit, 0);
    let answer = match outcome {
        Some(TurnOutcome::Finished) if !ending => Ok(said.last_words()),
        Some(outcome) => Err(format!("the agent did not respond: {outcome:?}")),
        None => Err("could not run the agent".to_owned()),
    };
    Ok((answer, report.usage))
}

fn shim(
    engine: &crate::engine::Engine,
    state: &LoopState,
    turn: TurnKey,
    files: &TurnFiles,
    scratch: &Path,
    prompt: &str,
) -> Result<(ShimSpec, TranscriptReader), String> {
    let mut agent = state.agent(Role::Summariser).clone();
    if let Some(model) = &state.spec.summariser.commit_message_model {
        agent.profile.model = Some(model.clone());
    }
    let request = TurnRequest {
        agent: &agent,
        prompt,
        prompt_file: files.prompt(),
        session: None,
        cwd: scratch.to_owned(),
        env: engine.agent_environment(state, turn),
        own_program: engine.own_program.clone(),
    };
    let facts = LaunchFacts {
        turn_id: state.turn_id(turn),
        as_root: rustix::process::geteuid().is_root(),
        confined: !state.spec.sandbox.is_off(),
        ..LaunchFacts::default()
    };
    let mut launch = windlass_agents::launch_with(&request, &facts).map_err(|error| error.to_string())?;
    let transcript = exchange::reader(&request, &facts, files).map_err(|error| error.to_string())?;
    private_files(&launch.files).map_err(|error| error.to_string())?;
    let confined = Confined {
        who: WHO,
        // Its directory is its own, so it may write there.
        writes: state.spec.sandbox.writes(),
        dir: scratch,
        judge: None,
        files: &files.dir,
        shown: Vec::new(),
        result: windlass_agents::usage_file(&agent.profile, &files.prompt()),
        own_places: windlass_agents::own_places(&agent.profile, &launch.command.env, &launch.command.cwd),
        credentials: false,
    };
    let ground = ground(engine, state);
    let sandbox = ground.confine(&mut launch.command, confined).map_err(|error| error.to_string())?;
    let spec = ShimSpec {
        command: launch.command,
        stdout: files.stdout(),
        stderr: files.stderr(),
        times: None,
        exit_record: files.exit_record(),
        secrets: engine.secrets(state).known.clone(),
        cap_bytes: None,
        grace_ms: ShimSpec::DEFAULT_GRACE_MS,
        containment: ContainmentRequest::Auto,
        sandbox,
        limits: crate::limits::of_tree(state),
    };
    Ok((spec, transcript))
}
