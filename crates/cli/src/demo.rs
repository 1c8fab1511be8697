//! `windlass demo`: a complete loop on a throw-away repository, with a scripted agent that is part of the program.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use windlass_app::{Context, Local};
use windlass_engine::config::{Options, Sandbox};

use crate::args::{self, Command, DemoArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run;
use crate::style::fitted;
use crate::terminal::print;

const CALCULATOR: &str = "#!/bin/sh\n# Adds its two arguments.\necho $(( $1 - $2 ))\n";
const TEST: &str = "#!/bin/sh\n# Fails while add.sh is wrong.\nfor case in '1 2 3' '20 22 42' '0 0 0'; do\n  set -- $case\n  sum=$(sh ./add.sh \"$1\" \"$2\")\n  if [ \"$sum\" != \"$3\" ]; then\n    echo \"FAIL: $1 + $2 is $3, but add.sh printed $sum\"\n    exit 1\n  fi\ndone\necho 'ok: all sums are correct'\n";
const GOAL: &str = "Make the test pass: sh ./test.sh must exit with 0. Fix add.sh and leave the test alone.";

pub async fn demo(local: &Local, demo: &DemoArgs) -> Result<Exit, Failure> {
    let context = &local.context;
    let place = context.data().demos().join(uuid::Uuid::now_v7().simple().to_string());
    // A project is called by its directory.
    let dir = place.join("calculator");
    windlass_engine::data::private_dir(&dir)?;
    std::fs::write(dir.join("add.sh"), CALCULATOR)?;
    std::fs::write(dir.join("test.sh"), TEST)?;
    let workspaces = context.workspaces()?;
    workspaces.make_repository(&dir, "a calculator with a bug").await?;
    if !demo.json {
        let text = "A small repository with a failing test, and an agent that claims to be done too early.";
        print(&format!("{}\n  {}\n\n", fitted(text, 0, 0), dir.display()));
    }
    let (sandbox, why) = sandbox(context);
    if let (Some(why), false) = (why, demo.json) {
        let text = format!(
            "No sandbox is available on this machine ({why}). The demo's agent is part of Windlass and runs without one."
        );
        print(&format!("{}\n\n", fitted(&text, 0, 0)));
    }
    let mut words = vec!["windlass", "run", GOAL, "--name", "demo", "--agent", "demo", "--gate", "sh ./test.sh"];
    words.extend(["--sandbox", sandbox]);
    if demo.json {
        words.push("--json");
    }
    let parsed = args::parse(words).map_err(|refusal| Failure::usage(refusal.text(), "this is a bug"))?;
    let Command::Run(run_args) = parsed.command else {
        return Err(Failure::usage("the demo has no run arguments", "this is a bug"));
    };
    let exit = run::run(&crate::locally(Some(&dir))?, None, &run_args).await?;
    if !demo.json {
        let text = fitted("This was real git and a real gate; it cost nothing.", 0, 0);
        print(&format!("\n{text}\nRemove it with: windlass clean demo\n"));
    }
    Ok(exit)
}

/// The sandbox of the demo, and why there is none if that is not the user's wish.
fn sandbox(context: &Context) -> (&'static str, Option<String>) {
    let wished = context.settings(None, Options::default()).ok().and_then(|settings| settings.sandbox.value);
    match (wished, windlass_supervise::probe_sandbox(&context.search_path())) {
        (Some(Sandbox::Off), _) => ("off", None),
        (_, Ok(_)) => ("workspace", None),
        (_, Err(missing)) => ("off", Some(missing.reason)),
    }
}

/// The demo's agent: claims too early, then, told that the gate failed, fixes the bug.
pub fn agent() -> ExitCode {
    let mut prompt = String::new();
    let _ = std::io::stdin().read_to_string(&mut prompt);
    let second_turn = prompt.contains("gates failed");
    let promise = prompt.lines().map(str::trim).rfind(|line| line.starts_with("<promise>"));
    let promise = promise.unwrap_or("<promise>COMPLETE</promise>");
    say(&json!({"type": "session", "id": "demo-session"}));
    if second_turn {
        say(&json!({"type": "text", "text": "The test still fails, so I was wrong. Let me look at add.sh."}));
        say(&json!({"type": "tool_use", "id": "1", "name": "read", "input": "add.sh"}));
        say(&json!({"type": "tool_result", "id": "1", "output": "echo $(( $1 - $2 ))"}));
        say(&json!({"type": "text", "text": "It subtracts. I will make it add."}));
        say(&json!({"type": "tool_use", "id": "2", "name": "write", "input": "add.sh"}));
        if let Err(error) = std::fs::write(Path::new("add.sh"), CALCULATOR.replace('-', "+")) {
            say(&json!({"type": "error", "kind": "other", "message": error.to_string()}));
            return ExitCode::FAILURE;
        }
        say(&json!({"type": "tool_result", "id": "2", "output": "written"}));
        say(&json!({"type": "text", "text": format!("add.sh adds now.\n{promise}")}));
    } else {
        say(&json!({"type": "text", "text": "I read the task. add.sh looks fine to me; the tests should pass."}));
        say(&json!({"type": "text", "text": format!("Everything is done.\n{promise}")}));
    }
    say(
        &json!({"type": "usage", "model": "demo", "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0, "messages": 2}),
    );
    say(&json!({"type": "result", "text": "", "is_error": false}));
    ExitCode::SUCCESS
}

fn say(line: &serde_json::Value) {
    print(&format!("{line}\n"));
}
