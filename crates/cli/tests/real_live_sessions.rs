//! Whole loops with real agent CLIs whose process lives from turn to turn, against the scripted model on loopback. A
//! CLI that is not installed is skipped, loudly; `cargo run -p windlass-testkit --bin agent-clis -- install` installs
//! all of them.

mod support;

use std::process::Command;

use support::*;
use windlass_testkit::World;
use windlass_testkit::clis::Cli;
use windlass_testkit::model::ModelServer;

/// A CLI as an agent of Windlass, in a world and against a server of its own.
struct Driven {
    cli: Cli,
    world: World,
    server: ModelServer,
}

impl Driven {
    /// `profile` is what the agent's profile says besides its command and environment; `words` follow the program.
    fn new(cli: Cli, test: &str, profile: &str, words: &[&str], script: &str) -> Option<Driven> {
        let program = cli.installed_or_say_skipped(&format!("{test} with {}", cli.name()))?;
        let world = World::new();
        let server = ModelServer::with_toml(script);
        let setup = cli.setup(&program, &world.home(), &server.url());
        setup.write_files();
        let env: Vec<String> = setup.env.iter().map(|(name, value)| format!("{name:?} = {value:?}")).collect();
        let command: Vec<String> =
            [&*program.to_string_lossy()].iter().chain(words).map(|word| format!("{word:?}")).collect();
        let (command, env) = (command.join(", "), env.join(", "));
        world.config(&format!("[agents.live]\n{profile}\ncommand = [{command}]\nenv = {{ {env} }}\n"));
        Some(Driven { cli, world, server })
    }

    fn run(&self, more: &[&str]) -> Command {
        let mut args = vec!["run", "Write the file out.txt.", "--name", "work", "--agent", "live"];
        args.extend(more);
        windlass(&self.world, &args)
    }

    /// Whether the same process took both turns.
    #[track_caller]
    fn stayed(&self) -> bool {
        let who = file_at_branch(&self.world, "work", "who");
        let who: Vec<&str> = who.lines().collect();
        assert_eq!(who.len(), 2, "{who:?}");
        who[0] == who[1]
    }

    /// The most prompts that the model was sent in one conversation.
    fn prompts(&self) -> Option<usize> {
        self.server.work().iter().filter_map(|seen| seen.asked.as_ref()).map(|asked| asked.prompts.len()).max()
    }
}

/// The agent claims too early; told that the gate failed, it writes the file and claims again. In both turns its shell
/// says whose child it is.
const TOO_EARLY: &str = r#"
    [[turn]]
    contains = "gates failed"
    steps = [
        { say = "I will write the file.", shell = "echo scripted > out.txt; echo $(readlink /proc/self/ns/pid) $PPID >> who", usage = { input = 100, output = 10 } },
        { say = "The file is written.\n<promise>COMPLETE</promise>" },
    ]
    [[turn]]
    steps = [
        { say = "I will look.", shell = "echo $(readlink /proc/self/ns/pid) $PPID >> who" },
        { say = "Nothing to do.\n<promise>COMPLETE</promise>" },
    ]
"#;

const GATED: [&str; 5] = ["--gate", "test -f out.txt", "--no-baseline", "--max-iterations", "4"];

#[track_caller]
fn assert_completed_in_two(driven: &Driven, output: &windlass_testkit::Output) {
    output.assert_code(0);
    let status = status(&driven.world, "work");
    let shown = || format!("{}: {}\n{}", driven.cli.name(), output.shown(), driven.server.summary());
    assert_eq!(status["status"], "completed", "{}", shown());
    assert_eq!(status["verified"], true);
    assert_eq!(status["iterations"], 2, "{}", shown());
    assert_eq!(status["claims"]["refused"], 1);
    assert_eq!(driven.world.repo().file_at("windlass/work", "out.txt"), "scripted\n");
    driven.world.wait_no_processes();
}

#[test]
fn claude_is_kept_alive_through_a_promise_loop() {
    let model = format!("adapter = \"claude\"\nmodel = {:?}", Cli::Claude.model());
    let Some(driven) = Driven::new(Cli::Claude, "a loop that keeps it alive", &model, &[], TOO_EARLY) else { return };
    let mut args = GATED.to_vec();
    args.extend(["--session", "keep_alive"]);
    let output = driven.world.run(driven.run(&args));
    assert_completed_in_two(&driven, &output);
    assert!(driven.stayed());
    assert_eq!(driven.prompts(), Some(2), "{}", driven.server.summary());
    let feed = feed(&driven.world, "work");
    let sessions: Vec<_> = of_type(&feed, "turn_ended").iter().map(|item| item["report"]["session"].clone()).collect();
    assert_eq!(sessions[0], sessions[1]);
    // The second turn has its own figures, not those of the whole life of the process.
    let second = of_type(&feed, "turn_ended")[1]["report"]["usage"].clone();
    assert!(second.to_string().contains("output_tokens"), "{second}");
}
