//! A real CLI as an agent of Windlass, in a world and against a model server of its own.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;
use windlass_testkit::clis::{Cli, CliSetup};
use windlass_testkit::model::ModelServer;
use windlass_testkit::{HUNG, Output, Running, World};

use crate::support::{call, feed, of_type, status, windlass};

pub struct Driven {
    setup: CliSetup,
    pub world: World,
    pub server: ModelServer,
}

impl Driven {
    /// None, after saying so loudly, where the CLI is not installed.
    pub fn new(cli: Cli, case: &str, script: &str) -> Option<Driven> {
        Driven::set_up(cli, case, script, |setup| setup)
    }

    pub fn set_up(cli: Cli, case: &str, script: &str, change: impl Fn(CliSetup) -> CliSetup) -> Option<Driven> {
        let program = cli.installed_or_say_skipped(&format!("{case} with {}", cli.name()))?;
        Some(Driven::in_world(crate::world(), cli, &program, script, change))
    }

    /// With this program of the CLI, in a world that was made ready for it.
    pub fn in_world(
        world: World,
        cli: Cli,
        program: &Path,
        script: &str,
        change: impl Fn(CliSetup) -> CliSetup,
    ) -> Driven {
        let server = ModelServer::with_toml(script);
        let setup = change(cli.setup(program, &world.home(), &server.url()));
        setup.write_files();
        let env: Vec<String> = setup.env.iter().map(|(name, value)| format!("{name:?} = {value:?}")).collect();
        // OpenCode names a model with its provider, which its settings do here already.
        let model = if cli == Cli::Opencode { String::new() } else { format!("model = {:?}\n", cli.model()) };
        // A profile without an adapter has arguments in its command.
        let built_in = windlass_engine::config::built_in_agents();
        let arguments =
            built_in.get(cli.name()).into_iter().flat_map(|profile| profile.command.iter().skip(1).cloned());
        let command: Vec<String> = std::iter::once(program.to_string_lossy().into_owned()).chain(arguments).collect();
        world.config(&format!(
            "agent = {name:?}\n[agents.{name}]\ncommand = {command:?}\n{model}env = {{ {env} }}\n",
            name = cli.name(),
            env = env.join(", ")
        ));
        Driven { setup, world, server }
    }

    /// The files that point the CLI at the server.
    pub fn write_agent_files(&self) {
        self.setup.write_files();
    }

    /// `windlass run` of a loop called `work`.
    pub fn command(&self, more: &[&str]) -> Command {
        let mut args = vec!["run", GOAL, "--name", "work", "--no-baseline"];
        args.extend(more);
        windlass(&self.world, &args)
    }

    #[track_caller]
    pub fn run(&self, more: &[&str]) -> Output {
        self.world.run(self.command(more))
    }

    pub fn start(&self, more: &[&str]) -> Running {
        self.world.start(self.command(more))
    }

    /// Runs a loop whose model stops at the gate `middle`, and asks it to pause there.
    #[track_caller]
    pub fn pause_in_the_answer(&self) -> Output {
        let running = self.start(&["--gate", "test -f out.txt"]);
        self.server.wait_reached("middle");
        call(&self.world, &["pause", "work"]).assert_code(0);
        self.server.open_gate("middle");
        running.wait()
    }

    #[track_caller]
    pub fn resume(&self) -> Output {
        call(&self.world, &["resume", "work"])
    }

    #[track_caller]
    pub fn status(&self) -> Value {
        status(&self.world, "work")
    }

    #[track_caller]
    pub fn assert_completed(&self, output: &Output) {
        let status = self.status();
        assert_eq!(status["status"], "completed", "{}\n{}", output.shown(), self.server.summary());
        assert_eq!(status["verified"], true, "{}", output.shown());
        self.world.wait_no_processes();
    }

    /// The outcome of every turn that has ended.
    #[track_caller]
    pub fn outcomes(&self) -> Vec<Value> {
        let feed = feed(&self.world, "work");
        of_type(&feed, "turn_ended").iter().map(|item| item["report"]["outcome"].clone()).collect()
    }

    /// How each turn got its session: `fresh`, `resume` …
    #[track_caller]
    pub fn sessions(&self) -> Vec<String> {
        let feed = feed(&self.world, "work");
        let starts = of_type(&feed, "turn_started");
        starts.iter().map(|item| item["session"]["type"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The prompts in the session of the last request for work: more than one where a session went on.
    pub fn prompts_of_last_request(&self) -> Vec<String> {
        let last = self.server.work().pop().and_then(|seen| seen.asked);
        last.map(|asked| asked.prompts).unwrap_or_default()
    }
}

/// What every loop here is for.
pub const GOAL: &str = "Write the file out.txt.";

/// Whatever the agent is asked, it writes the file and claims to be done.
pub const COMPLETES: &str = r#"
    [[turn]]
    steps = [{ shell = "echo scripted > out.txt" }, { say = "Written.\n<promise>COMPLETE</promise>" }]
"#;

/// A pipe with a name that shell commands of an agent hold open: the test hears of their start and of their end.
pub struct Held {
    heard: Receiver<&'static str>,
}

/// Says that it has started and then sleeps for ten minutes, in a child too.
pub const HELD_SLEEP: &str = "exec 9> $HOME/held; echo here >&9; sleep 600 & sleep 600; wait";

impl Held {
    pub fn new(world: &World) -> Held {
        let path = world.home().join("held");
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo starts");
        assert!(made.success(), "no pipe at {}", path.display());
        let (say, heard) = channel();
        std::thread::spawn(move || {
            let Ok(mut pipe) = File::open(path) else { return };
            let started = pipe.read(&mut [0; 64]).is_ok_and(|read| read > 0);
            let _ = say.send(if started { "started" } else { "ended without a word" });
            let _ = pipe.read_to_end(&mut Vec::new());
            let _ = say.send("ended");
        });
        Held { heard }
    }

    /// Blocks until the command runs.
    #[track_caller]
    pub fn wait_started(&self) {
        assert_eq!(self.heard.recv_timeout(HUNG), Ok("started"), "the agent's command never started");
    }

    /// Blocks until every process of the command has ended.
    #[track_caller]
    pub fn wait_ended(&self) {
        assert_eq!(self.heard.recv_timeout(HUNG), Ok("ended"), "the agent's command still runs");
    }
}
