//! Programs under the names of the known agents that print what no agent should: a loop ends in a defined way, soon, and
//! says what it saw. Real processes, whole loops.

use crate::clocked::{Watched, create, engine};
use crate::support::*;
use serde_json::Value;
use windlass_core::machine::{Event, Interrupt};
use windlass_core::stop::{End, Status};
use windlass_engine::clock::ManualClock;
use windlass_engine::config::Options;
use windlass_testkit::World;

const AGENTS: [&str; 6] = ["claude", "codex", "copilot", "gemini", "opencode", "qwen"];

/// What a hostile program does, and what is said of it.
const CASES: [(&str, &str, &str); 7] = [
    ("nothing", "exit 0", "the agent printed nothing (exit code 0)"),
    ("garbage", "head -c 100000 /dev/urandom; exit 0", "the agent's output is not in its known format"),
    (
        "half",
        r#"printf '{"type":"assistant","message":{"con'; exit 0"#,
        "the agent's output is not in its known format",
    ),
    (
        "huge",
        r#"printf '{"type":"nonesuch","x":"'; head -c 10000000 /dev/zero | tr '\0' x; printf '"}\n'; exit 0"#,
        "the agent's output is not in its known format",
    ),
    (
        "endless",
        r#"printf '{"type":"nonesuch","x":"'; head -c 40000000 /dev/zero | tr '\0' x; exit 0"#,
        "the agent's output is not in its known format",
    ),
    ("older", "echo \"error: unknown option '--session-id'\" >&2; exit 1", "unknown option '--session-id'"),
    ("killed", "kill -9 $$", "killed by signal 9"),
];

fn hostile(agent: &str) {
    let world = World::new();
    for (case, body, said) in CASES {
        // The prompt may never be read at all.
        world.install_script(agent, &format!("[ \"$1\" = --version ] && {{ echo 0.0.1; exit 0; }}\n{body}"));
        let output = call(&world, &["run", "do it", "--name", case, "--agent", agent, "--max-iterations", "2"]);
        output.assert_code(7);
        let status = status(&world, case);
        assert_eq!(status["status"], "errored", "{agent} {case}: {status}");
        assert_eq!(status["stop_reason"]["type"], "agent_failed", "{agent} {case}: {status}");
        let message = status["stop_reason"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{agent} {case}: {message}");
        assert!(message.len() < 5_000, "{agent} {case}: {} bytes", message.len());
        assert!(!message.contains(|c: char| c.is_control() && c != '\n'), "{agent} {case}: {message:?}");
        assert_eq!(status["iterations"], 1, "{agent} {case}: it is not tried again and again");
        assert_eq!(status["usage"]["cost_usd"], Value::Null, "{agent} {case}: unknown is not 0");
        if case == "older" {
            // Shown where people look, with what to try.
            assert!(output.stdout.contains("unknown option '--session-id'"), "{}", output.shown());
            assert!(output.stdout.contains("0.0.1 is older than the tested versions"), "{}", output.shown());
            assert!(output.stdout.contains("windlass agents --call"), "{}", output.shown());
        }
    }
    world.wait_no_processes();
}

#[test]
// promise: failures-10
fn under_the_name_of_claude() {
    hostile(AGENTS[0]);
}

#[test]
fn under_the_name_of_codex() {
    hostile(AGENTS[1]);
}

#[test]
fn under_the_name_of_copilot() {
    hostile(AGENTS[2]);
}

#[test]
fn under_the_name_of_gemini() {
    hostile(AGENTS[3]);
}

#[test]
fn under_the_name_of_opencode() {
    hostile(AGENTS[4]);
}

#[test]
fn under_the_name_of_qwen() {
    hostile(AGENTS[5]);
}

/// A program that is not there, cannot run, or has no interpreter: said at once, with a way out.
#[test]
// promise: failures-8
fn an_agent_that_cannot_be_started_is_named() {
    let world = World::new();
    world.install_script("claude", "#!/nonexistent/interpreter\n");
    let output = call(&world, &["run", "do it", "--name", "work", "--agent", "claude"]);
    output.assert_code(7);
    assert_eq!(status(&world, "work")["stop_reason"]["type"], "agent_missing");
    assert!(output.stdout.contains("cannot start the agent"), "{}", output.shown());
    assert!(output.stdout.contains("windlass agents"), "{}", output.shown());
}

/// The loop waits until just the moment that claude names, and goes on by itself.
#[tokio::test]
async fn a_limit_of_claude_that_ends_in_90_seconds_is_waited_for() {
    let world = World::new();
    let start: jiff::Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let reset = start.as_second() + 90;
    let went_on = world.root().join("went-on");
    let limit = format!(
        r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":{reset},"rateLimitType":"five_hour"}}}}"#
    );
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You have hit your limit","session_id":"s"}"#;
    let done = r#"{"type":"assistant","message":{"id":"m","model":"claude-opus-5","content":[{"type":"text","text":"<promise>COMPLETE</promise>"}],"usage":{"input_tokens":1,"output_tokens":1}},"session_id":"s"}"#;
    let closed = r#"{"type":"result","subtype":"success","is_error":false,"result":"","session_id":"s"}"#;
    world.install_script(
        "claude",
        &format!(
            "if [ -e '{0}' ]; then echo '{done}'; echo '{closed}'; exit 0; fi\ntouch '{0}'\necho '{limit}'\necho '{failed}'\nexit 1",
            went_on.display()
        ),
    );
    let clock = ManualClock::at(start);
    let engine = engine(&world, &clock);
    let options = Options { agent: Some("claude".to_owned()), ..Options::default() };
    let held = create(&engine, &world, None, options).await;
    let mut watched = Watched::drive(&engine, held);
    watched.until(1, |event| matches!(event, Event::WaitStarted { .. })).await;
    let Status::Waiting { until, .. } = watched.state().await.status() else { panic!("it waits") };
    assert_eq!(until.as_second(), reset);
    clock.advance_ms(89_000);
    assert!(matches!(watched.state().await.status(), Status::Waiting { .. }));
    clock.advance_ms(2_000);
    let state = watched.rested().await;
    assert_eq!(state.status(), Status::Ended { end: End::Completed });
    assert_eq!(state.iteration, 1, "the limit costs no iteration");
}

#[test]
// promise: work-11
fn an_agent_that_removes_its_own_workspace_ends_no_loop_unless_the_branch_is_gone_too() {
    let world = World::new();
    let run = |name: &str, script: &str, iterations: &str| {
        let agent = world.install_script(name, &format!("{script}\necho '{PROMISE}'"));
        let agent = agent.to_string_lossy().into_owned();
        call(&world, &["run", "x", "--name", name, "--agent-command", &agent, "--max-iterations", iterations])
    };
    let once = world.root().join("once");
    let script = format!("[ -e '{0}' ] || {{ touch '{0}'; echo 1 > new; rm -rf \"$PWD\"; }}", once.display());
    let removed = run("removed", &script, "2");
    removed.assert_code(0);
    assert!(removed.stdout.contains("recreated the missing workspace"), "{}", removed.shown());
    removed.assert_stdout_has("held back: the changes of this turn (the workspace was removed");
    removed.assert_stdout_has("iteration 2 of 2");
    let deleted = "objects=$(cat .git/objects/info/alternates)\n\
        git --git-dir=\"${objects%/objects}\" branch -qD windlass/gone\nrm -rf \"$PWD\"";
    run("gone", deleted, "1").assert_code(7);
    let before = status(&world, "gone");
    assert_eq!(before["stop_reason"]["type"], "workspace_missing");
    // Nothing can be resumed, and trying changes nothing; it can be cleaned all the same.
    call(&world, &["resume", "gone"]).assert_code(2).assert_stderr_has("are missing");
    assert_eq!(status(&world, "gone"), before);
    call(&world, &["clean", "gone"]).assert_code(0);
}

/// It would print the error and ask again for ever; here it is capped, and then waits.
#[test]
fn an_agent_that_meets_the_same_error_again_and_again_is_ended_with_the_reason() {
    let world = World::new();
    let again = r#"{"type":"step_start","sessionID":"s","part":{}}"#;
    let error = r#"{"type":"error","sessionID":"s","error":{"name":"UnknownError","data":{"message":"no such tide"}}}"#;
    let script = format!("for i in $(seq 300); do echo '{again}'; echo '{error}'; done\nsleep 600 &\nwait");
    world.install_script("opencode", &format!("[ \"$1\" = --version ] && {{ echo 1.18.33; exit 0; }}\n{script}"));
    let output = call(&world, &["run", "do it", "--name", "work", "--agent", "opencode", "--max-iterations", "2"]);
    output.assert_code(7);
    let reason = &status(&world, "work")["stop_reason"];
    let message = reason["message"].as_str().unwrap();
    assert!(message.contains("times with the same error") && message.contains("no such tide"), "{reason}");
    world.wait_no_processes();
}

/// Signs of life keep no agent from being stalled that does nothing.
#[tokio::test]
// promise: bounds-11
async fn heartbeats_of_claude_do_not_put_off_the_stall_limit() {
    let world = World::new();
    let start: jiff::Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let (go, beaten) = (world.root().join("go"), world.root().join("beaten"));
    let init = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
    let beat = r#"{"type":"tool_progress","tool_use_id":"t","elapsed_time_seconds":200}"#;
    world.install_script(
        "claude",
        &format!(
            "echo '{init}'\nuntil [ -e '{}' ]; do sleep 0.05; done\necho '{beat}'\ntouch '{}'\nsleep 600 &\nwait",
            go.display(),
            beaten.display()
        ),
    );
    let clock = ManualClock::at(start);
    let engine = engine(&world, &clock);
    let options = Options { agent: Some("claude".to_owned()), ..Options::default() };
    let held = create(&engine, &world, None, options).await;
    let mut watched = Watched::drive(&engine, held);
    watched.until(1, |event| matches!(event, Event::SessionFound { .. })).await;
    clock.advance_ms(200_000);
    std::fs::write(&go, "").unwrap();
    let seen = tokio::task::spawn_blocking(move || windlass_testkit::watch::wait_exists(&beaten, None));
    seen.await.unwrap().unwrap();
    clock.advance_ms(150_000);
    watched.until(1, |event| matches!(event, Event::TurnInterrupted { why: Interrupt::Stall, .. })).await;
}

/// Without a sandbox an agent reaches the user's own repository. Nobody but the user knows which of it is wanted.
#[test]
fn refs_that_move_in_the_users_repository_are_told_with_their_old_values_and_stay_there() {
    let world = World::new();
    let before = world.repo().head();
    world.repo().git(["branch", "side"]);
    world.repo().write("more", "1").commit("More");
    let now = world.repo().head();
    let repo = world.repo().path().display().to_string();
    let moves = format!(
        "cd '{repo}' && git branch -qf side main && git tag evil && git update-ref refs/remotes/origin/main {before} && git \
         checkout -q --detach"
    );
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ run = {moves:?} }}, {{ append = {{ path = \"w\", content = \"1\" }} }}, {{ say = \"{PROMISE}\" }}]"
    ));
    let out = run(&world, &agent, &["--gate", "true"]);
    let told = format!("refs/heads/side was {before}, is {now}");
    out.assert_code(0).assert_stdout_has(&told).assert_stdout_has("HEAD was refs/heads/main");
    out.assert_stdout_has(&format!("refs/remotes/origin/main is new, at {before} (a push or a fetch)"));
    out.assert_stdout_has("refs/tags/evil is new");
    let status = status(&world, "work");
    let notes = status["history"][0]["checkpoint"]["notes"].to_string();
    assert!(notes.contains(&told) && !notes.contains("windlass/work"), "{notes}");
    assert_eq!(world.repo().rev("side"), now, "Windlass moves nothing back");
    call(&world, &["status", "work"]).assert_stdout_has(&told);
}

#[test]
fn editable_install_of_the_checkout_is_told_before_the_first_turn_without_a_sandbox() {
    let world = World::new();
    world.repo().write(".gitignore", ".venv\n").commit("Ignore");
    world.repo().write(".venv/pyvenv.cfg", "");
    let source = format!("{}/src\n", world.repo().path().display());
    world.repo().write(".venv/lib/python3.12/site-packages/thing.pth", source);
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"1\" }} }}, {{ say = \"{PROMISE}\" }}]"
    ));
    run(&world, &agent, &["--gate", "true"]).assert_code(0).assert_stdout_has(
        "gates may read your files instead of the committed ones: .venv/lib/python3.12/site-packages/thing.pth",
    );
}
