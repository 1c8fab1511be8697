//! `windlass mcp` in a turn: its tools, served by the driver of a real loop.

use crate::support::*;
use serde_json::{Value, json};
use windlass_testkit::{Mcp, World};

use crate::tools::{mcp_of, socket_of, start, tools_of, waiting_agent, working_agent};

fn bug(line: u32) -> Value {
    json!({ "file": "out.txt", "line": line, "severity": "bug", "description": "The line says nothing." })
}
#[test]
// promise: findings-2
fn an_auditor_writes_resolves_and_rules_through_its_tools() {
    let world = World::new();
    let (coder, auditor) = (working_agent(&world), waiting_agent(&world, &["", "", "", ""]));
    let plan = "<!-- windlass-section -->\n## One\nWrite a line.\n<!-- windlass-section -->\n## Two\nAnother.\n";
    world.repo().write("plan.md", plan).commit("A plan");
    let running = start(&world, "audited", &coder, &auditor, &["--plan", "plan.md"]);

    auditor.wait_touched("there-1");
    let mut tools = tools_of(&world, "auditor");
    let all = ["ask", "plan-adjust", "review-delete", "review-read", "review-write", "section-read", "verdict"];
    assert_eq!(tools.tools(), all);
    assert_eq!(tools.call("review-read", &json!({})).json()["findings"], json!([]));
    assert_eq!(tools.call("review-write", &bug(1)).ok(), "written as f1");
    let warning = json!({ "file": "GOAL", "severity": "warning", "description": "Nobody is told." });
    assert_eq!(tools.call("review-write", &warning).ok(), "written as f2");
    let twice = tools.call("review-write", &bug(1)).err();
    assert!(twice.contains("f1 is already open at out.txt:1"), "{twice}");
    let bare = tools.call("verdict", &json!({ "verdict": "clean" })).err();
    assert!(bare.contains("requires a summary"), "{bare}");
    let early = tools.call("verdict", &json!({ "verdict": "clean", "summary": { "done": ["all"] } })).ok();
    assert!(early.contains("blocking findings are open: f1"), "{early}");
    tools.call("verdict", &json!({ "verdict": "dirty" })).ok();
    assert!(tools.close().success());
    auditor.open_gate("go-1");

    auditor.wait_touched("there-2");
    let mut tools = tools_of(&world, "auditor");
    let found = tools.call("review-read", &json!({ "search": "SAYS nothing" })).json();
    assert_eq!(found["findings"][0]["place"], "out.txt:1");
    assert_eq!(found["findings"][0]["open_in_audits"], 1);
    assert_eq!(found["open_in_all"], 2);
    let none = tools.call("review-read", &json!({ "regex": "^f9 ", "scope": "current_section" })).json();
    assert_eq!(none["findings"], json!([]));
    assert_eq!(tools.call("review-delete", &json!({ "finding": "out.txt:1" })).ok(), "f1 is resolved");
    let again = tools.call("review-delete", &json!({ "finding": "f1" })).err();
    assert!(again.contains("f1 is already resolved"), "{again}");
    let all = tools.call("review-read", &json!({ "status": "all" })).json();
    assert_eq!(all["findings"][0]["status"], "resolved");
    assert_eq!(all["findings"][0]["resolved_in"], "2.auditor.1");
    let summary = json!({ "done": ["the line"], "deviations": [], "follow_ups": [] });
    tools.call("verdict", &json!({ "verdict": "clean", "summary": summary })).ok();
    auditor.open_gate("go-2");

    auditor.wait_touched("there-3");
    let mut tools = tools_of(&world, "auditor");
    let plan = tools.call("section-read", &json!({})).json();
    assert_eq!(plan["sections"][0]["status"], "done");
    assert_eq!(plan["sections"][0]["summary"]["done"], json!(["the line"]));
    assert_eq!(plan["sections"][1]["status"], "current");
    tools.call("verdict", &json!({ "verdict": "clean", "summary": { "done": ["another"] } })).ok();
    auditor.open_gate("go-3");

    auditor.wait_touched("there-4");
    let mut tools = tools_of(&world, "auditor");
    let nowhere = tools.call("review-read", &json!({ "scope": "current_section" })).err();
    assert!(nowhere.contains("scope all"), "{nowhere}");
    tools.call("verdict", &json!({ "verdict": "clean" })).ok();
    auditor.open_gate("go-4");

    running.wait().assert_code(0);
    let status = status(&world, "work");
    assert_eq!(status["status"], "completed");
    let items = feed(&world, "work");
    assert_eq!(of_type(&items, "finding_written").len(), 2);
    assert_eq!(of_type(&items, "finding_resolved").len(), 1);
    assert_eq!(of_type(&items, "section_finished").len(), 2);
    assert_eq!(of_type(&items, "answer_unreadable").len(), 0);
    let kept = call(&world, &["findings", "work", "--all", "--json"]).assert_code(0).json();
    assert_eq!(kept.as_array().map(Vec::len), Some(2));
}
#[test]
// promise: plan-5
fn an_auditor_reads_sections_and_adjusts_what_is_to_come() {
    let world = World::new();
    let plan = "# Objective\nTwo files.\n\n<!-- windlass-section -->\n## One\nWrite one.\n\n<!-- windlass-section -->\n## Two\nWrite two.\n\n## Verification\nLook.\n";
    world.repo().write("plan.md", plan).commit("A plan");
    let (coder, auditor) = (working_agent(&world), waiting_agent(&world, &["", "", ""]));
    let running = start(&world, "audited", &coder, &auditor, &["--plan", "plan.md"]);

    auditor.wait_touched("there-1");
    let mut tools = tools_of(&world, "auditor");
    let whole = tools.call("section-read", &json!({})).json();
    let states: Vec<&Value> = whole["sections"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
    assert_eq!(states, ["current", "to_come"]);
    assert!(whole["for_all_sections"][0].as_str().unwrap().contains("Look."), "{whole}");
    let change = json!({ "section": 2, "text": "## Two\nWrite two, in capitals.", "rationale": "It has to be read." });
    tools.call("plan-adjust", &change).ok();
    let changed = tools.call("section-read", &json!({ "section": 2 })).json();
    assert!(changed["text"].as_str().unwrap().contains("in capitals"), "{changed}");
    let verification = json!({ "section": 2, "text": "## Two\nx\n## Verification\nNone.", "rationale": "Easier." });
    let refused = tools.call("plan-adjust", &verification).err();
    assert!(refused.contains("Verification"), "{refused}");
    let missing = tools.call("section-read", &json!({ "section": 3 })).err();
    assert!(missing.contains("sections 1 to 2"), "{missing}");
    tools.call("verdict", &json!({ "verdict": "clean", "summary": { "done": ["one"] } })).ok();
    auditor.open_gate("go-1");

    auditor.wait_touched("there-2");
    let mut tools = tools_of(&world, "auditor");
    let past = json!({ "section": 1, "text": "## One\nNothing.", "rationale": "Late." });
    assert!(tools.call("plan-adjust", &past).err().contains("section 1"));
    tools.call("verdict", &json!({ "verdict": "clean", "summary": { "done": ["two"] } })).ok();
    auditor.open_gate("go-2");
    auditor.wait_touched("there-3");
    tools_of(&world, "auditor").call("verdict", &json!({ "verdict": "clean" })).ok();
    auditor.open_gate("go-3");

    running.wait().assert_code(0);
    assert!(coder.prompts()[1].contains("in capitals"), "{}", coder.prompts()[1]);
}

#[test]
fn a_plan_too_long_for_one_answer_is_read_section_by_section() {
    let world = World::new();
    let section = |n| format!("<!-- windlass-section -->\n## Part {n}\n{}\n", "A line of it.\n".repeat(4_000));
    world.repo().write("plan.md", (1..=2).map(section).collect::<String>()).commit("A plan");
    let (coder, auditor) = (waiting_agent(&world, &[""]), waiting_agent(&world, &[""]));
    let running = start(&world, "audited", &coder, &auditor, &["--plan", "plan.md"]);
    coder.wait_touched("there-1");
    let mut tools = tools_of(&world, "coder");
    let contents = tools.call("section-read", &json!({})).json();
    assert_eq!(contents["sections"][1]["title"], "Part 2");
    assert!(contents["left_out"].as_str().unwrap().contains("one by one"), "{contents}");
    assert!(tools.call("section-read", &json!({ "section": 2 })).ok().len() > 50_000);
    call(&world, &["stop", "work"]).assert_code(0);
    running.wait().assert_code(4);
}

#[test]
// promise: findings-3
fn who_has_not_the_right_or_not_the_turn_is_refused() {
    let world = World::new();
    let (coder, auditor) =
        (waiting_agent(&world, &["{ write = { path = \"a\", content = \"a\" } },"]), waiting_agent(&world, &["", ""]));
    let running = start(&world, "audited", &coder, &auditor, &[]);

    coder.wait_touched("there-1");
    let mut of_coder = tools_of(&world, "coder");
    assert_eq!(of_coder.tools(), ["ask", "report", "review-read", "section-read"]);
    let refused = of_coder.call("verdict", &json!({ "verdict": "clean" })).err();
    assert_eq!(refused, "the coder is not allowed to do that");
    assert_eq!(of_coder.call("review-write", &bug(1)).err(), "the coder is not allowed to do that");
    // A turn that is not there yet, in a role that might.
    let early = world.run(mcp_of(&world, "auditor"));
    early.assert_code(1).assert_stderr_has("has ended or has not started");
    let told = of_coder.call("ask", &json!({ "question": "Tabs or spaces?", "default": "spaces" })).ok();
    assert!(told.contains("Nobody is available") && told.contains("spaces") && told.contains("recorded"), "{told}");
    assert!(of_coder.call("ask", &json!({ "question": " " })).err().contains("empty"));
    let report = of_coder.call("report", &json!({ "report": "**Feature**: x" })).err();
    assert!(report.contains("no milestone"), "{report}");
    coder.open_gate("go-1");

    auditor.wait_touched("there-1");
    // The tools end with the turn, even for a client that is still connected.
    assert!(!socket_of(&world, "coder").exists());
    assert!(of_coder.wait_ended().success());
    tools_of(&world, "auditor").call("verdict", &json!({ "verdict": "clean" })).ok();
    auditor.open_gate("go-1");
    running.wait().assert_code(0);
    let items = feed(&world, "work");
    let asked = of_type(&items, "question_asked");
    assert_eq!(asked.len(), 1, "the question is kept");
    assert_eq!(asked[0]["default"], "spaces");
    let sockets = socket_of(&world, "auditor");
    assert!(!sockets.ancestors().nth(2).unwrap().exists(), "nothing is left of the loop's sockets");
}

/// An agent's process may live through several turns, and its server with it.
#[test]
fn the_tools_of_a_kept_process_follow_it_from_turn_to_turn() {
    let world = World::new();
    let turns: String = (1..=2)
        .map(|n| {
            format!(
                "[[turn]]\nsteps = [{{ touch = \"there-{n}\" }}, {{ wait_for = \"go-{n}\" }}, {{ append = {{ path = \
                 \"out.txt\", content = \"more\\n\" }} }}, {{ say = \"Done.\" }}]\n"
            )
        })
        .collect();
    let coder = world.script(&format!("protocol = \"claude\"\n{turns}"));
    let auditor = waiting_agent(&world, &["", ""]);
    let words: Vec<String> = coder.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!("[agents.live]\nadapter = \"claude\"\ncommand = [{}]\n", words.join(", ")));
    let reviewer = auditor.command_line();
    let mut args = vec!["run", "do the work", "--name", "work", "--recipe", "audited", "--session", "keep_alive"];
    args.extend(["--commit", "engine", "--agent", "live", "--reviewer-command", &reviewer]);
    let running = world.start(windlass(&world, &args));

    coder.wait_touched("there-1");
    let mut of_coder = tools_of(&world, "coder");
    of_coder.call("ask", &json!({ "question": "First?" })).ok();
    coder.open_gate("go-1");
    auditor.wait_touched("there-1");
    let late = of_coder.call("ask", &json!({ "question": "Late?" })).err();
    assert!(late.contains("no turn of the coder is running"), "{late}");
    // Reading stays possible.
    assert_eq!(of_coder.call("section-read", &json!({})).json()["sections"][0]["status"], "current");
    let mut of_auditor = tools_of(&world, "auditor");
    of_auditor.call("review-write", &bug(1)).ok();
    of_auditor.call("verdict", &json!({ "verdict": "dirty" })).ok();
    auditor.open_gate("go-1");
    coder.wait_touched("there-2");
    of_coder.call("ask", &json!({ "question": "Second?" })).ok();
    coder.open_gate("go-2");
    auditor.wait_touched("there-2");
    let mut of_auditor = tools_of(&world, "auditor");
    of_auditor.call("review-delete", &json!({ "finding": "f1" })).ok();
    of_auditor.call("verdict", &json!({ "verdict": "clean" })).ok();
    auditor.open_gate("go-2");
    running.wait().assert_code(0);
    let items = feed(&world, "work");
    let asked: Vec<_> =
        of_type(&items, "question_asked").iter().map(|item| item["turn"]["iteration"].clone()).collect();
    assert_eq!(asked, [1, 2]);
    assert!(of_coder.wait_ended().success());
}

#[test]
fn two_servers_at_once_lose_nothing() {
    let world = World::new();
    let (coder, auditor) = (working_agent(&world), waiting_agent(&world, &[""]));
    let running = start(&world, "audited", &coder, &auditor, &[]);
    auditor.wait_touched("there-1");
    let mut servers = [tools_of(&world, "auditor"), tools_of(&world, "auditor")];
    let long = |line| {
        let mut finding = bug(line);
        finding["description"] = json!("It goes on and on. ".repeat(400));
        finding
    };
    let mut calls = Vec::new();
    for line in 1..=20 {
        for (index, server) in servers.iter_mut().enumerate() {
            // Every place is requested by both: one writes it, the other is told so.
            calls.push((index, line, server.begin("review-write", &long(line))));
        }
    }
    let mut written = Vec::new();
    let mut refused = 0;
    for (index, line, id) in calls {
        let answer = servers[index].finish(id);
        if answer.is_error {
            assert!(answer.text.contains(&format!("already open at out.txt:{line}")), "{}", answer.text);
            refused += 1;
        } else {
            written.push(answer.text);
        }
    }
    written.sort();
    written.dedup();
    assert_eq!((written.len(), refused), (20, 20));
    let seen = servers[0].call("review-read", &json!({})).json();
    assert_eq!(seen["open_in_all"], 20);
    let listed = seen["findings"].as_array().map_or(0, Vec::len);
    assert!((1..20).contains(&listed), "an agent gets no more than it can take: {listed}");
    assert!(seen["left_out"].as_str().unwrap().starts_with(&format!("{} more", 20 - listed)), "{}", seen["left_out"]);
    call(&world, &["stop", "work"]).assert_code(0);
    running.wait().assert_code(4);
    for server in servers {
        assert!(server.wait_ended().success());
    }
}

#[test]
fn a_driver_that_is_killed_takes_the_tools_along_and_leaves_a_whole_journal() {
    let world = World::new();
    let (coder, auditor) = (working_agent(&world), waiting_agent(&world, &["", "", ""]));
    let running = start(&world, "audited", &coder, &auditor, &[]);
    auditor.wait_touched("there-1");
    let mut tools = tools_of(&world, "auditor");
    tools.call("review-write", &bug(1)).ok();
    running.signal(rustix::process::Signal::STOP);
    tools.begin("review-write", &bug(2));
    running.kill();
    running.wait();
    assert!(tools.wait_ended().success());

    // What was not answered is not done, and the loop continues.
    let resumed = world.start(windlass(&world, &["resume", "work"]));
    auditor.wait_touched("there-2");
    let mut tools = tools_of(&world, "auditor");
    let found = tools.call("review-read", &json!({})).json();
    assert_eq!(found["findings"].as_array().map(Vec::len), Some(1), "{found}");
    tools.call("review-delete", &json!({ "finding": "f1" })).ok();
    tools.call("verdict", &json!({ "verdict": "clean" })).ok();
    auditor.open_gate("go-2");
    resumed.wait().assert_code(0);
    feed(&world, "work");
}

/// The server in the place where agents start it: inside the turn's own process tree.
#[test]
// promise: tools-4
fn the_tools_work_from_within_the_agents_process_tree() {
    let world = World::new();
    let said = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"verdict","arguments":{"verdict":"clean","summary":{"done":["it"]}}}}"#,
    ];
    let words = world.root().join("words");
    std::fs::write(&words, said.join("\n") + "\n").unwrap();
    let script =
        format!("exec {} mcp < {} > {}/answers 2>&1", binary().display(), words.display(), world.root().display());
    let inside = world.install_script("inside", &script);
    let coder = working_agent(&world);
    let auditor = world
        .script(&format!("[[turn]]\nsteps = [{{ run = {:?} }}, {{ say = \"Done.\" }}]", inside.display().to_string()));
    let output = start(&world, "audited", &coder, &auditor, &[]).wait();
    let answers = std::fs::read_to_string(world.root().join("answers")).unwrap_or_default();
    assert!(answers.contains("recorded: clean"), "{answers}\n{}", output.shown());
    output.assert_code(0);
    assert_eq!(of_type(&feed(&world, "work"), "verdict_given").len(), 1);
}

/// Questions, and the acceptor's and developer's tools.
#[test]
fn an_acceptor_rejects_and_accepts_and_a_developer_reports() {
    let world = World::new();
    let more = "{ append = { path = \"out.txt\", content = \"more {{count}}\\n\" } },";
    let (coder, acceptor) = (waiting_agent(&world, &[more, more, more]), waiting_agent(&world, &["", "", ""]));
    let running = start(&world, "milestone", &coder, &acceptor, &[]);

    coder.wait_touched("there-1");
    let mut tools = tools_of(&world, "coder");
    let unread = tools.call("report", &json!({ "report": "I did things." })).err();
    assert!(unread.contains("cannot parse the report"), "{unread}");
    tools.call("report", &json!({ "report": "**Feature**: the first" })).ok();
    coder.open_gate("go-1");
    acceptor.wait_touched("there-1");
    let mut tools = tools_of(&world, "acceptor");
    assert_eq!(tools.tools(), ["ask", "review-read", "verdict"]);
    let why = tools.call("verdict", &json!({ "verdict": "rejected", "reason": " " })).err();
    assert!(why.contains("requires a reason"), "{why}");
    assert!(tools.call("verdict", &json!({ "verdict": "clean" })).err().contains("invalid input"));
    tools.call("verdict", &json!({ "verdict": "rejected", "reason": "no second line" })).ok();
    acceptor.open_gate("go-1");

    coder.wait_touched("there-2");
    tools_of(&world, "coder").call("report", &json!({ "report": "**Feature**: the first, again" })).ok();
    coder.open_gate("go-2");
    acceptor.wait_touched("there-2");
    tools_of(&world, "acceptor").call("verdict", &json!({ "verdict": "accepted" })).ok();
    acceptor.open_gate("go-2");

    coder.wait_touched("there-3");
    tools_of(&world, "coder").call("report", &json!({ "report": "## ALL_FEATURES_COMPLETE" })).ok();
    coder.open_gate("go-3");
    acceptor.wait_touched("there-3");
    tools_of(&world, "acceptor").call("verdict", &json!({ "verdict": "accepted" })).ok();
    acceptor.open_gate("go-3");
    running.wait().assert_code(0);
    assert!(coder.prompts()[1].contains("no second line"), "{}", coder.prompts()[1]);
}

#[test]
fn garbage_wrong_names_and_endless_lines_end_nothing_but_their_own_connection() {
    let world = World::new();
    let (coder, auditor) = (working_agent(&world), waiting_agent(&world, &[""]));
    let running = start(&world, "audited", &coder, &auditor, &[]);
    auditor.wait_touched("there-1");
    let mut tools = tools_of(&world, "auditor");
    tools.send_raw(b"this is no JSON\n{\"jsonrpc\":\"2.0\",\"id\":7\n\xff\xfe\n[]\n");
    tools.send_raw(&[b"{\"x\":\"".as_slice(), &vec![b'a'; 2_000_000], b"\"}\n"].concat());
    let unknown = tools.request("tools/call", &json!({ "name": "review-burn", "arguments": {} }));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("review-burn"), "{unknown}");
    let wrong = tools.call("review-write", &json!({ "file": 1 })).err();
    assert!(wrong.contains("invalid input"), "{wrong}");
    assert!(tools.call("review-read", &json!({ "regex": "(" })).is_error);

    // Who never ends a line is cut off, and takes no memory of the driver's.
    let mut endless = std::os::unix::net::UnixStream::connect(socket_of(&world, "auditor")).unwrap();
    let block = vec![b'a'; 1_000_000];
    let cut_off = (0..1_000).any(|_| std::io::Write::write_all(&mut endless, &block).is_err());
    assert!(cut_off, "the driver reads a line without end");
    // Who leaves silently wanted nothing.
    assert!(Mcp::start_silent(mcp_of(&world, "auditor")).close().success());
    // Many at once wait for each other, and the first is still served.
    let socket = socket_of(&world, "auditor");
    let many: Vec<_> = (0..40).map(|_| std::os::unix::net::UnixStream::connect(&socket).unwrap()).collect();
    tools.call("verdict", &json!({ "verdict": "clean" })).ok();
    drop(many);
    assert!(tools.close().success());
    auditor.open_gate("go-1");
    running.wait().assert_code(0);
}
