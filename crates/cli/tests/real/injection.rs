//! What a loop gives a real agent CLI reaches the model, and leaves no trace: not in the user's configuration of that
//! agent, not in the workspace. Against the scripted model on loopback; a CLI that is not installed is skipped, loudly.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use crate::support::*;
use serde_json::Value;
use windlass_agents::{LaunchFacts, TurnRequest, built_in_profiles, launch_with, takes};
use windlass_core::profile::McpServer;
use windlass_core::spec::AgentChoice;
use windlass_testkit::clis::{Cli, CliSetup};
use windlass_testkit::model::ModelServer;
use windlass_testkit::{World, mcp_probe};

const SYSTEM_PROMPT: &str = "Obey the rule of the seventh bell.";
const TOLD: &str = "the word is heron and the key is dove";

/// A CLI in a world, with a model of its own and files that its user wrote.
struct Driven {
    cli: Cli,
    world: World,
    server: ModelServer,
    setup: CliSetup,
}

impl Driven {
    fn new(cli: Cli, test: &str, script: &str) -> Option<Driven> {
        let program = cli.installed_or_say_skipped(&format!("{test} with {}", cli.name()))?;
        let world = World::new();
        let server = ModelServer::with_toml(script);
        let mut setup = cli.setup(&program, &world.home(), &server.url());
        setup.files.values_mut().for_each(|content| *content = migrated(content));
        let (path, content) = own_file(cli);
        setup.files.entry(world.home().join(path)).or_insert_with(|| content.to_owned());
        setup.write_files();
        Some(Driven { cli, world, server, setup })
    }

    /// The agent as a table of the settings, with more lines in it.
    fn configure(&self, more: &str) {
        let env: Vec<String> =
            self.setup.env.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value))).collect();
        self.world.config(&format!(
            "[agents.{}]\ncommand = [{}]\n{}env = {{ {} }}\n{more}",
            self.cli.name(),
            quoted(&self.setup.program.to_string_lossy()),
            self.model().map_or(String::new(), |model| format!("model = {}\n", quoted(model))),
            env.join(", ")
        ));
    }

    fn model(&self) -> Option<&'static str> {
        match self.cli {
            // It names a model with its provider, which its settings do here already.
            Cli::Opencode => None,
            // Of a model that it knows it expects to search for tools, which the scripted one does not.
            Cli::Codex => Some("scripted"),
            Cli::Claude
            | Cli::Copilot
            | Cli::Gemini
            | Cli::Qwen
            | Cli::Pi
            | Cli::Cline
            | Cli::Aider
            | Cli::Vibe
            | Cli::Goose
            | Cli::Kimi
            | Cli::ClaudeAcp
            | Cli::CodexAcp => Some(self.cli.model()),
        }
    }

    fn run(&self) -> Command {
        let args = ["run", "Tell the word.", "--name", "work", "--agent", self.cli.name(), "--max-iterations", "1"];
        windlass(&self.world, &args)
    }

    /// Starts the CLI as the engine would, with these facts.
    fn turn(&self, facts: LaunchFacts) -> Command {
        let mut profile = built_in_profiles().remove(self.cli.name()).unwrap();
        profile.command = vec![self.setup.program.to_string_lossy().into_owned()];
        profile.env = self.setup.env.clone();
        profile.model = self.model().map(str::to_owned);
        let agent = AgentChoice { name: self.cli.name().to_owned(), profile };
        let turn = self.world.new_dir("turn");
        let prompt_file = turn.join("prompt.md");
        std::fs::write(&prompt_file, "Do it.").unwrap();
        let request = TurnRequest {
            agent: &agent,
            prompt: "Do it.",
            prompt_file: prompt_file.clone(),
            session: None,
            cwd: self.world.repo().path().to_owned(),
            env: BTreeMap::new(),
            own_program: PathBuf::from("/nonexistent"),
        };
        let launch = launch_with(&request, &LaunchFacts { as_root: true, ..facts }).unwrap();
        windlass_engine::data::private_files(&launch.files).unwrap();
        let mut command = self.world.command(&launch.command.program);
        command.args(&launch.command.args).envs(&launch.command.env);
        command.stdin(std::fs::File::open(prompt_file).unwrap());
        command
    }

    /// Everything the model was sent, as one text.
    fn heard(&self) -> String {
        self.server.requests().iter().map(|seen| seen.body.to_string()).collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn assert_users_files_untouched(&self) {
        for (path, content) in &self.setup.files {
            let now = std::fs::read_to_string(path).unwrap_or_default();
            assert_eq!(&now, content, "{} was changed", path.display());
        }
    }
}

/// Settings as the newest version writes them: gemini and qwen rewrite older ones by themselves.
fn migrated(content: &str) -> String {
    let Ok(mut settings) = serde_json::from_str::<Value>(content) else { return content.to_owned() };
    settings["general"] = serde_json::json!({ "enableAutoUpdate": false, "enableAutoUpdateNotification": false });
    settings["$version"] = 4.into();
    settings.to_string()
}

/// A file of the user's own configuration that the CLI reads.
fn own_file(cli: Cli) -> (&'static str, &'static str) {
    match cli {
        Cli::Claude | Cli::ClaudeAcp => (".claude/settings.json", "{ \"cleanupPeriodDays\": 30 }\n"),
        Cli::Codex | Cli::CodexAcp => (".codex/AGENTS.md", "Be brief.\n"),
        Cli::Copilot => (".copilot/mcp-config.json", "{ \"mcpServers\": {} }\n"),
        Cli::Gemini => (".gemini/GEMINI.md", "Be brief.\n"),
        Cli::Opencode => (
            ".config/opencode/opencode.json",
            "{ \"$schema\": \"https://opencode.ai/config.json\", \"username\": \"me\" }\n",
        ),
        Cli::Qwen => (".qwen/QWEN.md", "Be brief.\n"),
        Cli::Pi => (".pi/agent/AGENTS.md", "Be brief.\n"),
        Cli::Cline => (".cline/rules/brief.md", "Be brief.\n"),
        Cli::Aider => (".aider.conf.yml", "dark-mode: true\n"),
        Cli::Vibe => (".vibe/AGENTS.md", "Be brief.\n"),
        Cli::Kimi => (".kimi-code/AGENTS.md", "Be brief.\n"),
        Cli::Goose => (".config/goose/.goosehints", "Be brief.\n"),
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn probe() -> McpServer {
    McpServer {
        command: mcp_probe().to_string_lossy().into_owned(),
        args: vec!["heron".into()],
        env: BTreeMap::from([("PROBE_KEY".into(), "dove".into())]),
    }
}

fn server_tools(server: &ModelServer) -> Vec<String> {
    let asked = server.requests().into_iter().filter_map(|seen| seen.asked);
    asked.flat_map(|asked| asked.tools).map(|tool| tool.name).collect()
}

fn offers(server: &ModelServer, tool: &str) -> bool {
    server_tools(server).iter().any(|offered| offered.ends_with(tool))
}

/// By these names the scripted model knows a tool that writes files.
const WRITE_TOOLS: [&str; 5] = ["Write", "write", "write_file", "create", "apply_patch"];

const ASKS_THE_SERVER: &str = r#"
    [[turn]]
    steps = [
        { say = "I ask.", tool = { name = "tell_the_word", input = { loudly = true } } },
        { say = "It was told.\n<promise>COMPLETE</promise>" },
    ]
"#;

/// A whole loop: the profile's server is offered and answers, the system prompt arrives, and nothing is left behind.
fn a_loop_injects_and_leaves_no_trace(cli: Cli) {
    let Some(driven) = Driven::new(cli, "a loop injects and leaves no trace", ASKS_THE_SERVER) else { return };
    let server = probe();
    let servers = format!(
        "[agents.{}.mcp_servers.probe]\ncommand = {}\nargs = [\"heron\"]\nenv = {{ PROBE_KEY = \"dove\" }}\n",
        cli.name(),
        quoted(&server.command),
    );
    driven.configure(&format!("system_prompt = {}\n{servers}", quoted(SYSTEM_PROMPT)));
    driven.world.run(driven.run()).assert_code(0);
    assert!(offers(&driven.server, "tell_the_word"), "{}", driven.server.summary());
    let heard = driven.heard();
    assert!(heard.contains(TOLD), "the server's answer did not come back\n{}", driven.server.summary());
    assert!(heard.contains(SYSTEM_PROMPT), "the system prompt did not arrive\n{}", driven.server.summary());
    driven.assert_no_trace();
}

/// The same for an agent that takes no servers.
fn a_loop_gives_its_system_prompt_and_leaves_no_trace(cli: Cli) {
    let script = "[[turn]]\nsteps = [{ say = \"Done.\\n<promise>COMPLETE</promise>\" }]";
    let Some(driven) = Driven::new(cli, "a loop gives its system prompt", script) else { return };
    driven.configure(&format!("system_prompt = {}\n", quoted(SYSTEM_PROMPT)));
    driven.world.run(driven.run()).assert_code(0);
    assert!(driven.heard().contains(SYSTEM_PROMPT), "{}", driven.server.summary());
    driven.assert_no_trace();
}

impl Driven {
    #[track_caller]
    fn assert_no_trace(&self) {
        self.assert_users_files_untouched();
        let status: Value = status(&self.world, "work");
        let worktree = status["worktree"].as_str().unwrap();
        let mut git = self.world.command("git");
        git.args(["status", "--porcelain", "--ignored"]).current_dir(worktree);
        assert_eq!(self.world.run(git).assert_code(0).stdout, "", "the workspace has more than the work");
        let files = self.world.repo().git(["diff", "--name-only", "main", "windlass/work"]);
        assert_eq!(files, "", "the branch has more than the work");
        self.world.wait_no_processes();
    }
}

/// A turn that only looks: the tool that writes files is not there or refuses, an MCP server still answers.
fn a_read_only_turn_writes_nothing_and_still_has_its_server(cli: Cli) {
    let script = r#"
        [[turn]]
        steps = [
            { say = "I write.", write = { path = "evil.txt", content = "x" } },
            { say = "I ask.", tool = { name = "tell_the_word", input = { loudly = true } } },
            { say = "It is over." },
        ]
    "#;
    let Some(driven) = Driven::new(cli, "a read-only turn", script) else { return };
    let serves = takes(built_in_profiles()[cli.name()].adapter(), "mcp_servers");
    let mcp_servers = if serves { BTreeMap::from([("probe".into(), probe())]) } else { BTreeMap::new() };
    let output = driven.world.run(driven.turn(LaunchFacts { read_only: true, mcp_servers, ..LaunchFacts::default() }));
    assert_eq!(driven.heard().contains(TOLD), serves, "{}\n{}", output.shown(), driven.server.summary());
    // Where the tool is not even offered, the scripted model takes the shell instead, which nobody denied.
    let offered = server_tools(&driven.server).iter().any(|name| WRITE_TOOLS.contains(&name.as_str()));
    let written = driven.world.repo().path().join("evil.txt").exists();
    assert!(!(offered && written), "{}", output.shown());
    driven.assert_users_files_untouched();
}

/// What is denied is not done.
fn a_denied_tool_is_not_used(cli: Cli, tool: &str) {
    let script = "[[turn]]\nsteps = [{ shell = \"echo x > shell.txt\" }, { say = \"It is over.\" }]";
    let Some(driven) = Driven::new(cli, "a denied tool", script) else { return };
    let plain = driven.world.run(driven.turn(LaunchFacts::default()));
    assert!(driven.world.repo().path().join("shell.txt").exists(), "it can: {}", plain.shown());
    std::fs::remove_file(driven.world.repo().path().join("shell.txt")).unwrap();
    let facts = LaunchFacts { denied_tools: vec![tool.to_owned()], ..LaunchFacts::default() };
    let denied = driven.world.run(driven.turn(facts));
    assert!(!driven.world.repo().path().join("shell.txt").exists(), "{}", denied.shown());
}

/// Settings in the agent's own format change what it does, for this turn only.
fn settings_of_the_agent_take_effect(cli: Cli, settings: Value, seen: &str) {
    let script = "[[turn]]\nsteps = [{ shell = \"env\" }, { say = \"It is over.\" }]";
    let Some(driven) = Driven::new(cli, "settings of the agent", script) else { return };
    driven.world.repo().write("SETTINGS.md", "From the settings: magpie.\n");
    let facts = LaunchFacts { settings: settings.as_object().cloned().unwrap(), ..LaunchFacts::default() };
    let output = driven.world.run(driven.turn(facts));
    assert!(driven.heard().contains(seen), "{}\n{}", output.shown(), driven.server.summary());
    driven.assert_users_files_untouched();
}

/// `agents --call` tells one that answers from one whose key is refused.
fn a_call_tells_whether_it_is_logged_in(cli: Cli) {
    for (script, result) in [
        ("[[turn]]\nsteps = [{ say = \"OK\" }]", "ok"),
        ("apart_fail = \"auth\"\n[[turn]]\nsteps = [{ fail = \"auth\" }]", "not_logged_in"),
    ] {
        let Some(driven) = Driven::new(cli, "a call tells whether it is logged in", script) else { return };
        driven.configure("");
        let output = call(&driven.world, &["agents", "--call", "--json"]);
        let reports = output.assert_code(0).json();
        let report = reports.as_array().unwrap().iter().find(|report| report["name"] == cli.name()).unwrap();
        assert_eq!(report["call"]["result"], result, "{report}\n{}", driven.server.summary());
        driven.world.wait_no_processes();
    }
}

/// Tests of these functions, in a module for each CLI.
macro_rules! with {
    ($($module:ident: $cli:ident { $($test:ident $(($($more:expr),*))?)* })*) => {$(
        mod $module {
            use super::*;
            $(#[test] fn $test() { super::$test(Cli::$cli $(, $($more),*)?); })*
        }
    )*};
}

with! {
    claude: Claude {
        a_call_tells_whether_it_is_logged_in
        a_loop_injects_and_leaves_no_trace
        a_read_only_turn_writes_nothing_and_still_has_its_server
        a_denied_tool_is_not_used("Bash")
        settings_of_the_agent_take_effect(serde_json::json!({ "env": { "FROM_SETTINGS": "magpie" } }), "FROM_SETTINGS=magpie")
    }
    codex: Codex {
        a_call_tells_whether_it_is_logged_in
        a_loop_injects_and_leaves_no_trace
        a_read_only_turn_writes_nothing_and_still_has_its_server
        settings_of_the_agent_take_effect(
            serde_json::json!({ "shell_environment_policy": { "set": { "FROM_SETTINGS": "magpie" } } }),
            "FROM_SETTINGS=magpie"
        )
    }
    copilot: Copilot {
        a_call_tells_whether_it_is_logged_in
        a_loop_injects_and_leaves_no_trace
        a_read_only_turn_writes_nothing_and_still_has_its_server
        a_denied_tool_is_not_used("shell")
    }
    gemini: Gemini {
        a_call_tells_whether_it_is_logged_in
        a_loop_gives_its_system_prompt_and_leaves_no_trace
        a_read_only_turn_writes_nothing_and_still_has_its_server
        a_denied_tool_is_not_used("run_shell_command")
    }
    opencode: Opencode {
        a_call_tells_whether_it_is_logged_in
        a_loop_injects_and_leaves_no_trace
        a_read_only_turn_writes_nothing_and_still_has_its_server
        a_denied_tool_is_not_used("bash")
        settings_of_the_agent_take_effect(
            serde_json::json!({ "instructions": ["SETTINGS.md"] }),
            "settings: magpie"
        )
    }
    qwen: Qwen {
        a_call_tells_whether_it_is_logged_in
        a_loop_injects_and_leaves_no_trace
        a_read_only_turn_writes_nothing_and_still_has_its_server
        a_denied_tool_is_not_used("run_shell_command")
        settings_of_the_agent_take_effect(serde_json::json!({ "context": { "fileName": "SETTINGS.md" } }), "settings: magpie")
    }
}
