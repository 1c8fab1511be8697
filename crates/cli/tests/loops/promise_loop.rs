//! The promise loop by the real program: an agent claims, gates judge, work is committed.

use crate::support::*;
use windlass_testkit::Stream;

const FIXES_IT: &str = r#"
    [[turn]]
    steps = [{ write = { path = "state", content = "fixed\n" } }, { say = "Done.\n<promise>COMPLETE</promise>" }]
"#;

/// Claims nothing, then claims.
const SECOND_TIME: &str = r#"
    [[turn]]
    steps = [{ append = { path = "log", content = "{{iteration}}\n" } }, { say = "Not yet." }]
    [[turn]]
    steps = [{ append = { path = "log", content = "{{iteration}}\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

#[test]
// promise: done-1
fn a_claim_that_the_gate_confirms_completes_the_loop() {
    let world = crate::world();
    let agent = world.script(FIXES_IT);
    let out = run(&world, &agent, &["--gate", "grep -q fixed state"]);
    out.assert_code(0).assert_stdout_has("completed: verified, all gates passed on the recorded commit");
    out.assert_stdout_has("git diff").assert_stdout_has("windlass/work");
    let status = status(&world, "work");
    assert_eq!(status["status"], "completed");
    assert_eq!(status["verified"], true);
    assert_eq!(status["stop_reason"]["type"], "completed");
    assert_eq!(status["iterations"], 1);
    assert_eq!(status["claims"], serde_json::json!({"made": 1, "refused": 0}));
    let gate = &status["gates"][0];
    assert_eq!(gate["command"], "grep -q fixed state");
    assert_eq!(gate["verdict"], "pass");
    assert_eq!(gate["exit_code"], 0);
    assert_eq!(gate["commit"], status["head_commit"]);
    assert!(gate["duration_ms"].is_u64());
    let commits = commits(&world, "work");
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].id, status["head_commit"]);
    assert_eq!(commits[0].trailer("Windlass-Loop"), Some("work"));
    assert_eq!(commits[0].trailer("Windlass-Iteration"), Some("1"));
    assert_eq!(commits[0].trailer("Windlass-Turn"), agent.turns()[0].turn.as_deref());
    out.assert_stdout_has(&commits[0].id[..10]);
    // The user's own checkout is as it was.
    assert_eq!(world.repo().status(), "");
    assert_eq!(world.repo().git(["branch", "--show-current"]), "main");
    world.wait_no_processes();
}

#[test]
// promise: usage-4
fn status_has_every_field_of_the_contract() {
    let world = crate::world();
    let agent = world.script(FIXES_IT);
    run(&world, &agent, &["--gate", "true", "--max-iterations", "4", "--duration", "90m"]).assert_code(0);
    let status = status(&world, "work");
    let fields = [
        "id",
        "name",
        "project",
        "goal",
        "recipe",
        "status",
        "phase",
        "waiting_until",
        "stop_reason",
        "verified",
        "iterations",
        "limits",
        "branch",
        "worktree",
        "base_commit",
        "head_commit",
        "agent",
        "session_policy",
        "claims",
        "gates",
        "usage",
        "created_at",
        "started_at",
        "stopped_at",
    ];
    let object = status.as_object().unwrap();
    for field in fields {
        assert!(object.contains_key(field), "no {field}: {status}");
    }
    assert_eq!(
        status["limits"],
        serde_json::json!({"max_iterations": 4, "duration_ms": 5_400_000, "budget_usd": null, "max_tokens": null})
    );
    for field in ["command", "verdict", "exit_code", "commit", "tree", "duration_ms"] {
        assert!(!status["gates"][0][field].is_null(), "no gate {field}: {status}");
    }
    let usage = status["usage"].as_object().unwrap();
    for field in [
        "input_tokens",
        "output_tokens",
        "reasoning_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost_usd",
        "messages",
        "by_model",
        "by_role",
    ] {
        assert!(usage.contains_key(field), "no usage {field}: {status}");
    }
    let listed = call(&world, &["list", "--json"]).assert_code(0).json();
    assert_eq!(listed[0], status, "a row of the list is the status");
    assert_eq!(
        std::fs::canonicalize(status["worktree"].as_str().unwrap()).unwrap().to_str(),
        status["worktree"].as_str()
    );
}

#[test]
// promise: done-8
fn without_a_gate_a_completed_loop_is_claimed_and_not_verified() {
    let world = crate::world();
    let agent = world.script(FIXES_IT);
    run(&world, &agent, &[]).assert_code(0).assert_stdout_has("claimed, not verified");
    assert_eq!(status(&world, "work")["verified"], false);
}

#[test]
fn a_gate_that_fits_the_project_is_suggested() {
    let world = crate::world();
    world.repo().write("Cargo.toml", "[package]\n").commit("A crate");
    let agent = world.script(FIXES_IT);
    run(&world, &agent, &[]).assert_code(0).assert_stdout_has("cargo test");
}

#[test]
// promise: done-2
fn a_refused_claim_is_fed_back_and_the_next_one_accepted() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ write = { path = "state", content = "broken\n" } }, { say = "<promise>COMPLETE</promise>" }]
        [[turn]]
        steps = [{ write = { path = "state", content = "fixed\n" } }, { say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    let gate = "cat state; grep -q fixed state";
    run(&world, &agent, &["--gate", gate]).assert_code(0).assert_stdout_has("claim refused");
    let status = status(&world, "work");
    assert_eq!(status["claims"], serde_json::json!({"made": 2, "refused": 1}));
    assert_eq!(committed_iterations(&world, "work"), ["1", "2"]);
    let prompts = agent.prompts();
    assert!(!prompts[0].contains("broken"));
    assert!(prompts[1].contains(gate) && prompts[1].contains("broken"), "the gate's output is told: {}", prompts[1]);
    let feed = feed(&world, "work");
    assert_eq!(of_type(&feed, "claim_refused").len(), 1);
}

#[test]
// promise: done-3
fn an_agent_that_lies_every_time_is_never_believed() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ append = { path = "lies", content = "{{iteration}}\n" } }, { say = "<promise>COMPLETE</promise>" }]
    "#,
    );
    let out = run(&world, &agent, &["--gate", "false", "--max-iterations", "3"]);
    out.assert_code(3).assert_stdout_has("reached the limit of 3 iterations");
    let status = status(&world, "work");
    assert_eq!(status["status"], "exhausted");
    assert_eq!(status["stop_reason"], serde_json::json!({"type": "max_iterations", "max": 3}));
    assert_eq!(status["verified"], false);
    assert_eq!(status["claims"], serde_json::json!({"made": 3, "refused": 3}));
    assert_eq!(agent.turns().len(), 3);
}

#[test]
// promise: done-5
fn an_agent_that_repeats_its_prompt_claims_nothing() {
    for style in
        ["\"echo_prompt\"", "{ echo_prompt = { style = \"quoted\" } }", "{ echo_prompt = { style = \"indented\" } }"]
    {
        let world = crate::world();
        let agent = world.script(&format!("[[turn]]\nsteps = [{style}, {{ say = \"I will look into it.\" }}]"));
        run(&world, &agent, &["--max-iterations", "2"]).assert_code(3);
        assert_eq!(status(&world, "work")["claims"]["made"], 0, "{style}");
        assert!(agent.prompts()[0].contains(PROMISE), "the prompt asks for it");
    }
}

#[test]
// promise: done-6
fn an_agent_that_repeats_its_prompt_and_then_claims_is_done() {
    let world = crate::world();
    let agent =
        world.script(&format!("[[turn]]\nsteps = [\"echo_prompt\", {{ say = \"\\nAll is done.\\n{PROMISE}\" }}]"));
    run(&world, &agent, &[]).assert_code(0);
}

/// Each of these ways to say it is a claim.
#[test]
// promise: done-4
fn a_promise_counts_however_it_is_said() {
    let ways = [
        ("bold", r#"[{ say = "**<promise>COMPLETE</promise>**" }]"#),
        ("in a sentence", r#"[{ say = "So: <promise>COMPLETE</promise>, at last" }]"#),
        ("before a summary", r#"[{ say = "<promise>COMPLETE</promise>\nI changed two files." }]"#),
        ("split", r#"[{ split = { chunks = ["<prom", "ise>COMP", "LETE</promi", "se>"] } }]"#),
        ("without a line end", r#"[{ print = "<promise>COMPLETE</promise>" }]"#),
        ("coloured", r#"[{ print = "\u001b[1;32m<promise>\u001b[0mCOMPLETE</promise>\u001b[0m\r\n" }]"#),
        (
            "after other encodings",
            r#"[{ shift_jis = "日本語 テスト" }, { bytes = { hex = "ff fe 00 c3 28 0a" } }, { say = "<promise>COMPLETE</promise>" }]"#,
        ),
        ("after half a character", r#"[{ bytes = { hex = "e3 81" } }, { say = "<promise>COMPLETE</promise>" }]"#),
    ];
    for (way, steps) in ways {
        let world = crate::world();
        let agent = world.script(&format!("[[turn]]\nsteps = {steps}"));
        let out = run(&world, &agent, &["--max-iterations", "1"]);
        assert_eq!(out.code, Some(0), "{way}\n{}", out.shown());
        let raw = call(&world, &["logs", "work", "--raw"]).assert_code(0).stdout_bytes.clone();
        assert!(!raw.is_empty(), "{way}");
        feed(&world, "work");
    }
}

/// None of these is one.
#[test]
// promise: done-5
fn a_promise_elsewhere_than_in_the_assistants_text_does_not_count() {
    let ways = [
        ("on standard error", r#"[{ stderr = "<promise>COMPLETE</promise>\n" }]"#),
        ("in other case", r#"[{ say = "<promise>complete</promise>" }]"#),
        ("cut off", r#"[{ print = "<promise>COMPLETE</promise" }]"#),
    ];
    for (way, steps) in ways {
        let world = crate::world();
        let agent = world.script(&format!("[[turn]]\nsteps = {steps}"));
        let out = run(&world, &agent, &["--max-iterations", "1"]);
        assert_eq!(out.code, Some(3), "{way}\n{}", out.shown());
    }
}

#[test]
fn in_json_lines_only_text_is_the_assistants_word() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { event = { type = "tool_use", id = "t1", name = "Bash", input = "echo '<promise>COMPLETE</promise>'" } },
            { event = { type = "tool_result", id = "t1", output = "<promise>COMPLETE</promise>" } },
            { event = { type = "thinking", text = "<promise>COMPLETE</promise>" } },
            { json = { type = "of_tomorrow", text = "<promise>COMPLETE</promise>" } },
            { event = { type = "text", text = "Nothing yet." } },
        ]
        [[turn]]
        steps = [
            { event = { type = "text", text = "All is well.\n<promise>COMPLETE</promise>" } },
            { event = { type = "usage", model = "m", input_tokens = 10, output_tokens = 5, cost_usd = 0.25 } },
        ]
    "#,
    );
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!("[agents.scripted]\ncommand = [{}]\noutput = \"jsonl\"\n", words.join(", ")));
    call(&world, &["run", "do it", "--name", "work", "--agent", "scripted"]).assert_code(0);
    let status = status(&world, "work");
    assert_eq!(status["iterations"], 2);
    assert_eq!(status["usage"]["cost_usd"], 0.25);
    assert_eq!(status["usage"]["by_model"][0]["model"], "m");
    assert_eq!(status["usage"]["by_role"][0]["role"], "coder");
    let feed = feed(&world, "work");
    for kind in ["tool_use", "tool_result", "thinking", "text", "usage"] {
        assert!(types(&feed).contains(&kind), "no {kind} in {:?}", types(&feed));
    }
}

#[test]
// promise: bounds-3
fn a_promise_on_the_last_allowed_iteration_counts() {
    let world = crate::world();
    let agent = world.script(SECOND_TIME);
    run(&world, &agent, &["--max-iterations=2", "--gate", "true"]).assert_code(0);
    assert_eq!(status(&world, "work")["iterations"], 2);
}

#[test]
// promise: bounds-2
fn max_iterations_counts_every_run_of_the_coder() {
    for (flag, runs) in
        [(vec!["--max-iterations", "1"], 1), (vec!["--max-iterations=3"], 3), (vec!["--max-iterations", "3"], 3)]
    {
        let world = crate::world();
        let agent =
            world.script("[[turn]]\nsteps = [{ append = { path = \"log\", content = \"x\\n\" } }, { say = \"more\" }]");
        run(&world, &agent, &flag).assert_code(3);
        assert_eq!(agent.turns().len(), runs, "{flag:?}");
        assert_eq!(committed_iterations(&world, "work").len(), runs);
    }
}

#[test]
// promise: bounds-4
fn a_hundred_iterations_are_allowed_and_a_hundred_and_one_are_not() {
    let world = crate::world();
    let agent = world.script(
        r#"
        select = "iteration"
        [[turn]]
        steps = [{ append = { path = "log", content = "{{iteration}}\n" } }, { say = "more" }]
    "#,
    );
    run(&world, &agent, &["--max-iterations", "101"]).assert_code(2).assert_stderr_has("100");
    assert!(agent.turns().is_empty());
    assert_eq!(world.repo().branches(), ["main"]);
    run(&world, &agent, &["--max-iterations", "100"]).assert_code(3);
    assert_eq!(agent.turns().len(), 100);
    let prompts = agent.prompts();
    let told = |text: &str| prompts[99].contains(text);
    assert!(prompts[99].len() < 4 * 8_000, "the prompt keeps to its tokens: {} bytes", prompts[99].len());
    assert!(told("Iteration 1 ") && told("Iteration 99 "), "{}", prompts[99]);
}

#[test]
// promise: failures-1
fn a_failed_run_ends_a_promise_loop_and_its_work_is_committed() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { write = { path = "half", content = "done\n" } },
            { stderr = "panic: out of cheese\n" },
            { say = "<promise>COMPLETE</promise>" },
            { exit = 1 },
        ]
    "#,
    );
    let out = run(&world, &agent, &["--gate", "true"]);
    out.assert_code(7);
    let status = status(&world, "work");
    assert_eq!(status["status"], "errored");
    assert_eq!(status["stop_reason"]["type"], "agent_failed");
    let message = status["stop_reason"]["message"].as_str().unwrap();
    assert!(message.contains('1') && message.contains("out of cheese"), "{message}");
    assert_eq!(file_at_branch(&world, "work", "half"), "done\n");
    assert_eq!(status["verified"], false);
}

#[test]
fn an_agent_that_is_killed_by_a_signal_has_failed() {
    let world = crate::world();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }, { kill_self = \"SEGV\" }]");
    run(&world, &agent, &[]).assert_code(7);
    assert_eq!(status(&world, "work")["stop_reason"]["type"], "agent_failed");
}

#[test]
// promise: failures-8
fn a_missing_agent_is_named_with_a_way_out() {
    let world = crate::world();
    let out = call(&world, &["run", "x", "--name", "work", "--agent-command", "no-such-agent --flag"]);
    out.assert_code(7).assert_stderr_has("no program 'no-such-agent' on PATH").assert_stderr_has("windlass agents");
    let detached = call(&world, &["run", "x", "--detach", "--agent-command", "no-such-agent"]);
    detached.assert_code(7);
    call(&world, &["run", "x", "--agent", "codex"]).assert_code(7).assert_stderr_has("npm install -g @openai/codex");
    assert_eq!(call(&world, &["list", "--json"]).json(), serde_json::json!([]), "nothing is made");
    assert_eq!(world.repo().branches(), ["main"]);
}

#[test]
// promise: failures-8
fn an_agent_that_is_not_executable_is_an_error_that_says_so() {
    let world = crate::world();
    world.repo().write("agent.sh", "#!/bin/sh\necho hi\n").commit("An agent");
    let out = call(&world, &["run", "x", "--name", "work", "--agent-command", "./agent.sh"]);
    out.assert_code(7);
    let said = format!("{}{}", out.stdout, out.stderr);
    assert!(said.contains("agent.sh") && said.to_lowercase().contains("permi"), "{}", out.shown());
    world.repo().write("agent.sh", format!("#!/bin/sh\necho '{PROMISE}'\n"));
    let mut chmod = world.command("chmod");
    chmod.args(["755", "agent.sh"]);
    world.run(chmod).assert_code(0);
    call(&world, &["run", "x", "--name", "work", "--agent-command", "./agent.sh"]).assert_code(0);
}

#[test]
// promise: work-5
fn commits_that_the_agent_makes_are_found_and_recorded() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { write = { path = "mine", content = "1\n" } },
            { git_commit = "Done by the agent" },
            { write = { path = "left", content = "2\n" } },
            { say = "<promise>COMPLETE</promise>" },
        ]
    "#,
    );
    run(&world, &agent, &["--gate", "test -f mine -a -f left"]).assert_code(0);
    let commits = commits(&world, "work");
    assert_eq!(commits.len(), 2);
    assert_eq!(commits[0].subject, "Done by the agent");
    assert_eq!(commits[1].trailer("Windlass-Iteration"), Some("1"));
    let feed = feed(&world, "work");
    let checkpoint = &of_type(&feed, "checkpointed")[0]["checkpoint"];
    assert_eq!(checkpoint["agent_commits"], serde_json::json!([commits[0].id]));
}

#[test]
// promise: done-4
fn fifty_megabytes_in_one_line_with_the_promise_at_its_end() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ flood = { bytes = 50_000_000 } }, { print = "<promise>COMPLETE</promise>" }]
    "#,
    );
    run(&world, &agent, &["--max-iterations", "1"]).assert_code(0);
    let raw = call(&world, &["logs", "work", "--raw"]).stdout_bytes.len();
    assert_eq!(raw, 50_000_000 + PROMISE.len());
}

#[test]
fn a_flood_costs_neither_memory_nor_the_promise_after_it() {
    let world = crate::world();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { flood = { bytes = 200_000_000, line = 120 } },
            { say = "\nafter the flood" },
            { wait_for = "go" },
            { say = "<promise>COMPLETE</promise>" },
        ]
    "#,
    );
    let mut running = start(&world, &agent, &["--max-iterations", "1"]);
    running.wait_line(Stream::Stdout, "after the flood");
    let peak = peak_memory_mb(running.pid());
    agent.open_gate("go");
    running.wait().assert_code(0);
    assert!(peak <= 64, "{peak} MB");
}

#[test]
// promise: api-2
fn the_feed_of_run_is_the_feed_of_logs_and_ends_with_the_end() {
    let world = crate::world();
    let agent = world.script(SECOND_TIME);
    let out = run(&world, &agent, &["--gate", "true", "--json"]);
    out.assert_code(0);
    let live = out.json_lines();
    check_feed(&live);
    assert_eq!(live, feed(&world, "work"));
    let last = live.last().unwrap();
    assert_eq!(last["type"], "loop_stopped");
    for field in ["status", "stop_reason", "iterations", "head_commit", "usage"] {
        assert!(!last[field].is_null(), "no {field}: {last}");
    }
    assert_eq!(last["status"], "completed");
    assert_eq!(last["iterations"], 2);
    assert_eq!(last["head_commit"], status(&world, "work")["head_commit"]);
    // What an agent said lies between the start and the end of its turn; the gates judged the base before.
    let shown = ["turn_started", "text", "turn_ended", "checkpointed", "gate_ended"];
    let kinds: Vec<&str> = types(&live).into_iter().filter(|kind| shown.contains(kind)).collect();
    assert_eq!(kinds, [&["gate_ended"][..], &shown, &shown].concat());
    // One iteration only.
    let second = call(&world, &["logs", "work", "--json", "--iteration", "2"]).json_lines();
    let text: Vec<&str> = of_type(&second, "text").iter().filter_map(|item| item["text"].as_str()).collect();
    assert_eq!(text.concat().trim(), PROMISE);
    assert_eq!(call(&world, &["logs", "work", "--raw", "--iteration", "1"]).stdout, "Not yet.\n");
}

#[test]
// promise: bounds-8
fn before_it_starts_run_says_what_will_happen() {
    let world = crate::world();
    let agent = world.script(FIXES_IT);
    let out = run(&world, &agent, &["--gate", "grep -q fixed state", "--max-iterations", "4"]);
    let before = out.stdout.split("iteration 1 of 4").next().unwrap().to_owned();
    for said in ["do the work", "windlass-scripted-agent", "windlass/work", "4 iterations", "grep -q fixed state"] {
        assert!(before.contains(said), "{said} is not said before the start\n{}", out.shown());
    }
}

#[test]
// promise: work-6
fn commit_off_judges_the_tree_and_commits_nothing() {
    let world = crate::world();
    let agent = world.script(FIXES_IT);
    run(&world, &agent, &["--gate", "grep -q fixed state", "--commit", "off"]).assert_code(0);
    let status = status(&world, "work");
    assert_eq!(
        (&status["verified"], &status["outcome"]),
        (&serde_json::json!(false), &serde_json::json!("checked_in_place"))
    );
    assert!(status["gates"][0]["commit"].is_null(), "{status}");
    assert!(status["gates"][0]["tree"].as_str().is_some_and(|tree| tree.len() >= 40), "{status}");
    assert!(commits(&world, "work").is_empty());
}

#[test]
// promise: gates-6
fn what_a_gate_changes_is_put_back_and_reported() {
    let world = crate::world();
    let agent = world.script(FIXES_IT);
    let out = run(&world, &agent, &["--gate", "echo rubbish > rubbish; echo x >> state; true"]);
    out.assert_code(0).assert_stdout_has("reverted files that the gate changed");
    let worktree = world.repo().at(status(&world, "work")["worktree"].as_str().unwrap().as_ref());
    assert_eq!(worktree.status(), "");
    assert_eq!(worktree.read("state"), "fixed\n");
}

#[test]
// promise: control-8
fn one_turn_without_a_loop_ends_after_the_gates() {
    let world = crate::world();
    let agent =
        world.script("[[turn]]\nsteps = [{ write = { path = \"state\", content = \"fixed\\n\" } }, { say = \"ok\" }]");
    run(&world, &agent, &["--no-loop", "--gate", "grep -q fixed state"]).assert_code(0);
    assert_eq!(agent.turns().len(), 1);
    assert_eq!(status(&world, "work")["verified"], true);
}

#[test]
// promise: done-8
fn doing_nothing_with_a_green_gate_completes_as_unchanged() {
    let world = crate::world();
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]\n");
    run(&world, &agent, &["--gate", "true"]).assert_code(0).assert_stdout_has("completed: no changes");
    let status = status(&world, "work");
    assert_eq!((status["verified"].as_bool(), status["outcome"].as_str()), (Some(false), Some("unchanged")));
}
