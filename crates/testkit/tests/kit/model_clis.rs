//! The real agent CLIs against the scripted model, one turn at a time: each uses its own shell tool, continues with a
//! session, and gives up at a limit in its own way. Skipped, loudly, for a CLI that is not installed.

use std::path::PathBuf;
use std::process::Command;

use windlass_testkit::clis::{Cli, Session};
use windlass_testkit::model::ModelServer;
use windlass_testkit::{Output, World};

/// A CLI in its own world, against its own server.
struct Driven {
    cli: Cli,
    program: PathBuf,
    world: World,
    server: ModelServer,
}

impl Driven {
    fn new(cli: Cli, test: &str, script: &str) -> Option<Driven> {
        let program = cli.installed_or_say_skipped(&format!("{test} with {}", cli.name()))?;
        Some(Driven { cli, program, world: World::new(), server: ModelServer::with_toml(script) })
    }

    fn turn(&self, prompt: &str, session: &Session) -> Output {
        self.world.run(self.command(prompt, session))
    }

    fn command(&self, prompt: &str, session: &Session) -> Command {
        let setup = self.cli.setup(&self.program, &self.world.home(), &self.server.url());
        setup.write_files();
        let mut command = self.world.command(&setup.program);
        command.envs(&setup.env).args(self.cli.turn(prompt, session));
        command
    }
}

/// The session that the output tells, in whichever words.
fn session_of(stdout: &str) -> Option<String> {
    let lines = stdout.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    let keys = ["session_id", "thread_id", "sessionID", "sessionId"];
    lines.filter_map(|v| keys.iter().find_map(|k| v[*k].as_str().map(str::to_owned))).next_back()
}

/// What the model said, put together where the CLI prints it piece by piece, as gemini does.
fn said(output: &Output) -> String {
    let lines = output.stdout.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    let pieces = lines.filter(|v| v["delta"] == true && v["role"] == "assistant");
    let joined: String = pieces.filter_map(|v| v["content"].as_str().map(str::to_owned)).collect();
    if joined.is_empty() { output.stdout.clone() } else { joined }
}

#[track_caller]
fn assert_said(output: &Output, text: &str) {
    assert!(said(output).contains(text), "it did not say {text:?}\n{}", output.shown());
}

fn uses_its_shell_and_resumes(cli: Cli) {
    let script = r#"
        [[turn]]
        steps = [
            { say = "I will write the file.", shell = "echo scripted > out.txt" },
            { say = "File written. <promise>COMPLETE</promise>" },
        ]
        [[turn]]
        steps = [{ shell = "echo again >> out.txt" }, { say = "The second turn is over." }]
    "#;
    let Some(driven) = Driven::new(cli, "uses its shell and resumes", script) else { return };
    let first = driven.turn("Write the file out.txt and finish.", &Session::New);
    first.assert_code(0);
    assert_said(&first, "<promise>COMPLETE</promise>");
    assert_eq!(driven.world.repo().read("out.txt"), "scripted\n");
    let session = session_of(&first.stdout).expect("it tells its session");
    let second = driven.turn("And again please.", &Session::Resume(session));
    second.assert_code(0);
    assert_said(&second, "The second turn is over.");
    assert_eq!(driven.world.repo().read("out.txt"), "scripted\nagain\n");
    let steps: Vec<(usize, usize)> = driven.server.work().iter().map(|seen| (seen.turn, seen.step)).collect();
    assert_eq!(steps, [(0, 0), (0, 1), (1, 0), (1, 1)], "{}", driven.server.summary());
    assert!(driven.server.work()[2].asked.as_ref().is_some_and(|a| a.wire == cli.wire() && a.prompts.len() == 2));
}

/// One failure is waited out by every CLI itself.
fn waits_out_one_rate_limit(cli: Cli) {
    let script = "[[turn]]\nsteps = [{ fail = { kind = \"rate_limit\", retry_after_s = 1 }, times = 1, say = \"After the limit.\" }]";
    let Some(driven) = Driven::new(cli, "waits out one rate limit", script) else { return };
    let output = driven.turn("Finish.", &Session::New);
    output.assert_code(0);
    assert_said(&output, "After the limit.");
    assert_eq!(driven.server.work().len(), 2, "{}", driven.server.summary());
}

/// A limit without end makes it fail, and say why. Not asked of qwen and opencode, which continue for minutes.
fn gives_up_at_a_rate_limit(cli: Cli) {
    let script = "[[turn]]\nsteps = [{ fail = { kind = \"rate_limit\", retry_after_s = 1 } }]";
    let Some(driven) = Driven::new(cli, "gives up at a rate limit", script) else { return };
    let output = driven.turn("Finish.", &Session::New);
    assert!(!output.success(), "{}", output.shown());
    let said = &output.stdout;
    assert!(said.contains("429") || said.contains("rate limit"), "{said}");
}

/// The CLI dies in the middle of an answer; the model is asked again in the same session. Not asked of copilot: it
/// writes its session late, and one that dies in its first seconds is unknown afterwards.
fn goes_on_after_being_killed_in_an_answer(cli: Cli) {
    let script = r#"
        [[turn]]
        steps = [{ shell = "echo one > out.txt" }, { say = ["I am about to ", { gate = "middle" }, "say more."] }]
        [[turn]]
        contains = "Go on."
        steps = [{ say = "Here I am again." }]
    "#;
    let Some(driven) = Driven::new(cli, "goes on after being killed in an answer", script) else { return };
    let id = "5d3cbb6a-0f3e-4b52-9d0e-2f6f0c7a1e11".to_owned();
    let running = driven.world.start(driven.command("Begin.", &Session::Named(id.clone())));
    driven.server.wait_reached("middle");
    running.kill();
    let killed = running.wait();
    assert_eq!(killed.signal, Some(9), "{}", killed.shown());
    let session = session_of(&killed.stdout).unwrap_or(id);
    let again = driven.turn("Go on.", &Session::Resume(session));
    again.assert_code(0);
    assert_said(&again, "Here I am again.");
    let last = driven.server.work().pop().expect("the model was asked");
    assert_eq!(last.asked.map(|a| a.prompts), Some(vec!["Begin.".to_owned(), "Go on.".to_owned()]));
}

/// Tests of these functions, in a module for each CLI.
macro_rules! with {
    ($($module:ident: $cli:ident { $($test:ident)* })*) => {$(
        mod $module {
            use super::*;
            $(#[test] fn $test() { super::$test(Cli::$cli); })*
        }
    )*};
}

with! {
    claude: Claude {
        uses_its_shell_and_resumes waits_out_one_rate_limit gives_up_at_a_rate_limit
        goes_on_after_being_killed_in_an_answer
    }
    codex: Codex {
        uses_its_shell_and_resumes waits_out_one_rate_limit gives_up_at_a_rate_limit
        goes_on_after_being_killed_in_an_answer
    }
    gemini: Gemini { uses_its_shell_and_resumes waits_out_one_rate_limit gives_up_at_a_rate_limit }
    copilot: Copilot { uses_its_shell_and_resumes waits_out_one_rate_limit gives_up_at_a_rate_limit }
    opencode: Opencode { uses_its_shell_and_resumes waits_out_one_rate_limit }
    qwen: Qwen { uses_its_shell_and_resumes waits_out_one_rate_limit }
}
