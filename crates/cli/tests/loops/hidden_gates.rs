//! Gates that judge a claim without the agent's knowledge: who sees what.

use crate::reviewed::*;
use crate::support::*;

/// Passes from the second claim on, and prints.
const HIDDEN: &str = "echo hidden-output; test \"$(wc -l < w)\" -ge 2 # hidden-marker";

const CLAIMS: &str = "[[turn]]\nsteps = [{ append = { path = \"w\", content = \"1\\n\" } }, { say = \
                      \"<promise>COMPLETE</promise>\" }]\n";

#[test]
// promise: gates-12
fn person_sees_the_hidden_gate_and_the_agent_only_that_it_failed() {
    let world = crate::world();
    let agent = world.script(CLAIMS);
    let out = run(&world, &agent, &["--gate", "test -f w", "--hidden-gate", HIDDEN, "--no-baseline"]);
    out.assert_code(0)
        .assert_stdout_has("✗ hidden gate echo hidden-output")
        .assert_stdout_has("1 claim passed the visible gates and failed a hidden one");
    let prompts = agent.prompts();
    assert!(prompts[1].contains("a hidden gate failed"), "{}", prompts[1]);
    assert!(prompts.iter().all(|prompt| !prompt.contains("hidden-")), "{prompts:?}");
    let status = status(&world, "work");
    assert_eq!((&status["verified"], &status["claims"]["failed_hidden"]), (&true.into(), &1.into()));
    assert_eq!((&status["gates"][1]["command"], &status["gates"][1]["hidden"]), (&HIDDEN.into(), &true.into()));
    let items = feed(&world, "work");
    let failed: Vec<_> =
        of_type(&items, "gate_ended").into_iter().filter(|item| item["report"]["hidden"] == true).collect();
    assert_eq!(failed.len(), 2);
    assert!(failed[0]["report"]["output_tail"].as_str().unwrap().contains("hidden-output"));
    call(&world, &["status", "work"]).assert_code(0).assert_stdout_has("failed a hidden one");
}

#[test]
// promise: gates-12
fn reviewed_loop_tells_neither_agent_of_the_hidden_gate() {
    let world = crate::world();
    plan(&world, 1);
    let coder = world.script(WORKS);
    let auditor = world.script(&audits(&[CLEAN]));
    let hidden = "echo hidden-output; test \"$(wc -l < coder.txt)\" -ge 2 # hidden-marker";
    audited(&world, &coder, &auditor, &["--plan", "plan.md", "--gate", "true", "--hidden-gate", hidden]).assert_code(0);
    assert_eq!(status(&world, "work")["claims"]["failed_hidden"], 1);
    assert!(coder.prompts()[1].contains("a hidden gate failed"), "{:?}", coder.prompts());
    for prompt in coder.prompts().iter().chain(&auditor.prompts()) {
        assert!(!prompt.contains("hidden-"), "{prompt}");
    }
}

#[test]
fn merge_runs_hidden_gates_too() {
    let world = crate::world();
    let agent = world.script(CLAIMS);
    run(&world, &agent, &["--hidden-gate", "test ! -f other # hidden-marker"]).assert_code(0);
    world.repo().write("other", "x\n").commit("Something else");
    let before = world.repo().head();
    call(&world, &["merge", "work"]).assert_code(1).assert_stderr_has("hidden-marker");
    assert_eq!(world.repo().head(), before);
}

#[test]
fn hidden_gates_without_a_checkout_of_their_own_are_refused() {
    for (with, named) in [
        (&["--in-place"][..], "--in-place"),
        (&["--commit", "off"], "--commit off"),
        (&["--verify", "warm"], "--verify warm"),
    ] {
        let world = crate::world();
        let agent = world.script(CLAIMS);
        let mut args = vec!["--hidden-gate", "true"];
        args.extend(with);
        run(&world, &agent, &args)
            .assert_code(2)
            .assert_stderr_has("hidden gates cannot be used with")
            .assert_stderr_has(named);
        assert!(agent.turns().is_empty());
        assert_eq!(call(&world, &["list", "--json"]).assert_code(0).json(), serde_json::json!([]));
    }
}
