//! Bounds that the real program keeps in real time. What depends on long times is tested on a clock moved by hand.

use crate::support::*;
use windlass_testkit::{ScriptedAgent, World};

fn jsonl(world: &World, agent: &ScriptedAgent) {
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!("[agents.scripted]\ncommand = [{}]\noutput = \"jsonl\"\n", words.join(", ")));
}

const HANGS: &str = "[[turn]]\nsteps = [{ write = { path = \"half\", content = \"1\" } }, { say = \"x\" }, { hang = { ignore_signals = true } }]";

#[test]
// promise: bounds-5
fn a_duration_ends_the_loop_inside_a_turn() {
    let world = World::new();
    let agent = world.script(HANGS);
    run(&world, &agent, &["--duration", "1s"])
        .assert_code(3)
        .assert_stdout_has("time limit")
        .assert_stdout_has("windlass resume work --duration +30m");
    let status = status(&world, "work");
    assert_eq!(status["status"], "exhausted");
    assert_eq!(status["stop_reason"]["type"], "duration");
    assert_eq!(file_at_branch(&world, "work", "half"), "1", "the work is committed");
    world.wait_no_processes();
    call(&world, &["resume", "work"]).assert_code(2).assert_stderr_has("limit");
}

#[test]
fn a_turn_that_takes_too_long_is_ended() {
    let world = World::new();
    let agent = world.script(HANGS);
    run(&world, &agent, &["--turn-timeout", "1s"]).assert_code(7);
    let status = status(&world, "work");
    assert_eq!(status["stop_reason"]["type"], "agent_failed");
    assert_eq!(file_at_branch(&world, "work", "half"), "1");
    world.wait_no_processes();
}

#[test]
// promise: bounds-11
fn the_third_stall_in_a_row_ends_the_loop() {
    let world = World::new();
    let agent = world.script(HANGS);
    run(&world, &agent, &["--stall-timeout", "1s"]).assert_code(5).assert_stdout_has("stalled 3 times");
    let status = status(&world, "work");
    assert_eq!(status["status"], "stalled");
    assert_eq!(status["stop_reason"], serde_json::json!({"type": "stall", "stalls": 3}));
    assert_eq!(starts(&agent), [(1, 1), (1, 2), (1, 3)]);
    world.wait_no_processes();
}

#[test]
// promise: bounds-13
fn a_gate_that_takes_too_long_has_failed() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]");
    run(&world, &agent, &["--gate", "sleep 1000 & sleep 1000", "--gate-timeout", "1s", "--max-iterations", "1"])
        .assert_code(3);
    assert_eq!(status(&world, "work")["gates"][0]["verdict"], "timed_out");
    world.wait_no_processes();
}

#[test]
// promise: bounds-6
fn tokens_and_budget_end_a_turn_in_the_middle() {
    let script = r#"
        [[turn]]
        steps = [
            { event = { type = "usage", model = "m", input_tokens = 600, output_tokens = 500, cost_usd = 1.25 } },
            { write = { path = "half", content = "1" } },
            "hang",
        ]
    "#;
    for (limit, reason) in [(["--max-tokens", "1000"], "tokens"), (["--budget-usd", "1"], "budget")] {
        let world = World::new();
        let agent = world.script(script);
        jsonl(&world, &agent);
        let mut args = vec!["run", "x", "--name", "work", "--agent", "scripted"];
        args.extend(limit);
        call(&world, &args).assert_code(3);
        let status = status(&world, "work");
        assert_eq!(status["stop_reason"]["type"], reason, "{status}");
        assert_eq!(status["usage"]["input_tokens"], 600);
        assert_eq!(status["usage"]["cost_usd"], 1.25);
        assert_eq!(status["usage"]["cost_basis"], "agent");
        assert_eq!(agent.turns().len(), 1);
        world.wait_no_processes();
    }
}

#[test]
// promise: bounds-6, usage-5
fn usage_streamed_in_a_turn_shows_while_it_runs_and_survives_kill_9() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ event = { type = "usage", model = "m", input_tokens = 600, cost_usd = 0.25 } }, "hang"]
        [[turn]]
        steps = [
            { event = { type = "usage", model = "m", input_tokens = 10, cost_usd = 0.5 } },
            { event = { type = "text", text = "<promise>COMPLETE</promise>" } },
        ]
    "#,
    );
    jsonl(&world, &agent);
    let words = ["run", "x", "--name", "work", "--agent", "scripted", "--json"];
    let mut running = world.start(windlass(&world, &words));
    running.wait_line(windlass_testkit::Stream::Stdout, "usage_reported");
    let shown = status(&world, "work");
    assert_eq!((&shown["status"], &shown["usage"]["cost_usd"]), (&"running".into(), &0.25.into()));
    call(&world, &["list"]).assert_code(0).assert_stdout_has("$0.25");
    running.kill();
    running.wait_ended();
    let shown = status(&world, "work");
    assert_eq!((&shown["status"], &shown["usage"]["cost_usd"]), (&"interrupted".into(), &0.25.into()));
    call(&world, &["resume", "work"]).assert_code(0);
    let shown = status(&world, "work");
    assert_eq!(shown["usage"]["cost_usd"], 0.75, "each turn counts once");
    assert_eq!(shown["usage"]["input_tokens"], 610);
}

#[test]
// promise: bounds-7
fn a_budget_for_an_agent_that_tells_no_cost_is_wrong_use() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"x\" }]");
    run(&world, &agent, &["--budget-usd", "1"]).assert_code(2);
    assert!(agent.turns().is_empty());
    assert_eq!(world.repo().branches(), ["main"]);
}

#[test]
// promise: failures-4
fn a_rate_limit_is_waited_for_and_the_loop_goes_on_by_itself() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { event = { type = "error", kind = "rate_limit", message = "slow down", retry_after_ms = 300 } },
            { exit = 1 },
        ]
        [[turn]]
        steps = [{ event = { type = "text", text = "<promise>COMPLETE</promise>" } }]
    "#,
    );
    jsonl(&world, &agent);
    let out = call(&world, &["run", "x", "--name", "work", "--agent", "scripted"]);
    out.assert_code(0).assert_stdout_has("slow down");
    let feed = feed(&world, "work");
    let order: Vec<&str> = types(&feed).into_iter().filter(|kind| kind.starts_with("wait_")).collect();
    assert_eq!(order, ["wait_started", "wait_ended"]);
    assert_eq!(status(&world, "work")["iterations"], 1, "not another iteration");
}

#[test]
// promise: failures-12
fn rate_limit_pauses_or_hands_over_where_the_loop_wants_that() {
    let limited = r#"
        [[turn]]
        steps = [
            { event = { type = "error", kind = "rate_limit", message = "slow down", retry_after_ms = 3_600_000 } },
            { exit = 1 },
        ]
    "#;
    let world = World::new();
    let agent = world.script(limited);
    let other = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]");
    jsonl(&world, &agent);
    let words = |agent: &ScriptedAgent| {
        agent.command_line().split(' ').map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
    };
    world.config(&format!(
        "[agents.scripted]\ncommand = [{}]\noutput = \"jsonl\"\n[agents.other]\ncommand = [{}]\n",
        words(&agent),
        words(&other)
    ));
    let run = |name: &str, more: &[&str]| {
        call(&world, &[&["run", "x", "--name", name, "--agent", "scripted"], more].concat())
    };
    run("asks", &["--on-rate-limit", "pause"]).assert_code(6).assert_stdout_has("slow down");
    assert_eq!(status(&world, "asks")["pause"]["type"], "provider_limit");
    run("other", &["--on-rate-limit", "fallback", "--fallback", "other"]).assert_code(0).assert_stdout_has("switched");
    run("none", &["--on-rate-limit", "fallback"]).assert_code(2).assert_stderr_has("--fallback");
    run("typo", &["--on-rate-limit", "wiat"]).assert_code(2).assert_stderr_has("wait");
    run("typo", &["--on-limit", "stopp"]).assert_code(2).assert_stderr_has("stop");
    assert_eq!(call(&world, &["list", "--json"]).json().as_array().unwrap().len(), 2);
}

#[test]
// promise: bounds-10
fn limit_of_a_loop_pauses_it_where_it_wants_that() {
    let world = World::new();
    let agent = world.script(
        "[[turn]]\nsteps = [{ say = \"more\" }]\n[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]",
    );
    run(&world, &agent, &["--max-iterations", "1", "--on-limit", "pause"]).assert_code(6);
    let paused = status(&world, "work");
    assert_eq!((&paused["status"], &paused["pause"]["type"]), (&"paused".into(), &"limit".into()));
    assert_eq!(paused["pause"]["limit"]["type"], "max_iterations");
    call(&world, &["resume", "work"]).assert_code(2);
    call(&world, &["resume", "work", "--max-iterations", "+1"]).assert_code(0);
}

#[test]
// promise: failures-4
fn a_wait_is_shown_survives_kill_9_and_can_be_stopped() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { event = { type = "error", kind = "rate_limit", message = "slow down", retry_after_ms = 3_600_000 } },
            { exit = 1 },
        ]
    "#,
    );
    jsonl(&world, &agent);
    let begin = |words: &[&str]| {
        let mut running = world.start(windlass(&world, words));
        running.wait_line(windlass_testkit::Stream::Stdout, "\"type\":");
        running
    };
    let mut running = begin(&["run", "x", "--name", "work", "--agent", "scripted", "--json"]);
    running.wait_line(windlass_testkit::Stream::Stdout, "wait_started");
    let waiting = status(&world, "work");
    assert_eq!(waiting["status"], "waiting");
    let until = waiting["waiting_until"].as_str().unwrap().to_owned();
    call(&world, &["status", "work", "--exit-code"]).assert_code(10);
    running.kill();
    running.wait_ended();
    assert_eq!(status(&world, "work")["status"], "interrupted");
    let mut running = begin(&["resume", "work", "--json"]);
    let _ = &mut running;
    let again = status(&world, "work");
    assert_eq!(again["status"], "waiting");
    assert_eq!(again["waiting_until"], until, "the same wait goes on");
    assert_eq!(agent.turns().len(), 1);
    call(&world, &["stop", "work"]).assert_code(0);
    running.wait().assert_code(4);
}
