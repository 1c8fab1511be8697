//! What a loop gives an agent beside the prompt: for each adapter and each fact the words, variables and files that
//! are different from a plain start.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::{Map, Value, json};
use windlass_agents::{
    Launch, LaunchError, LaunchFacts, TurnRequest, built_in_profiles, launch_with, not_taken, takes,
};
use windlass_core::profile::{AdapterKind, AgentProfile, McpServer};
use windlass_core::spec::AgentChoice;

const AGENTS: [&str; 6] = ["claude", "codex", "copilot", "gemini", "opencode", "qwen"];

fn choice(agent: &str, change: impl FnOnce(&mut AgentProfile)) -> AgentChoice {
    let mut profile = built_in_profiles().remove(agent).unwrap();
    change(&mut profile);
    AgentChoice { name: agent.into(), profile }
}

fn start(agent: &AgentChoice, env: &[(&str, &str)], facts: &LaunchFacts) -> Result<Launch, LaunchError> {
    let request = TurnRequest {
        agent,
        prompt: "do it",
        prompt_file: PathBuf::from("/turn/prompt.md"),
        session: None,
        cwd: PathBuf::from("/tree"),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        own_program: PathBuf::from("/bin/windlass"),
    };
    launch_with(&request, facts)
}

fn server() -> McpServer {
    McpServer {
        command: "/opt/probe".into(),
        args: vec!["--say".into(), "a \"b\"".into()],
        env: BTreeMap::from([("KEY".into(), "secret".into())]),
    }
}

fn table(json: Value) -> Map<String, Value> {
    json.as_object().cloned().unwrap()
}

/// What the launch has that the plain one has not, and the other way round.
fn difference(plain: &Launch, with: &Launch) -> String {
    let words = |launch: &Launch| launch.command.args.iter().cloned().collect::<BTreeSet<_>>();
    let mut lines: Vec<String> = words(plain).difference(&words(with)).map(|word| format!("- {word}")).collect();
    let mut before = plain.command.args.clone();
    for word in &with.command.args {
        match before.iter().position(|known| known == word) {
            Some(at) => drop(before.remove(at)),
            None => lines.push(format!("+ {word}")),
        }
    }
    for (name, value) in &with.command.env {
        if plain.command.env.get(name) != Some(value) {
            lines.push(format!("{name}={value}"));
        }
    }
    for file in &with.files {
        assert!(file.path.starts_with("/turn"), "{} is not beside the prompt", file.path.display());
        lines.push(format!("{}: {}", file.path.display(), file.content.trim_end()));
    }
    lines.join("\n")
}

#[test]
fn each_fact_in_the_words_of_each_agent() {
    let none = LaunchFacts::default;
    let facts = [
        ("mcp_servers", LaunchFacts { mcp_servers: BTreeMap::from([("probe".into(), server())]), ..none() }),
        ("system_prompt", LaunchFacts { system_prompt: Some("Say \"yes\".\nAlways.".into()), ..none() }),
        ("denied_tools", LaunchFacts { denied_tools: vec!["one".into(), "two(git *)".into()], ..none() }),
        ("read_only", LaunchFacts { read_only: true, ..none() }),
        (
            "settings",
            LaunchFacts { settings: table(json!({ "a": { "b": true, "c": ["x"] }, "d": { "e.f": 1.5 } })), ..none() },
        ),
    ];
    for agent in AGENTS {
        let agent = choice(agent, |_| {});
        let plain = start(&agent, &[], &none()).unwrap();
        let shown = facts.iter().map(|(what, facts)| {
            let shown = match start(&agent, &[], facts) {
                Ok(launch) => difference(&plain, &launch),
                Err(error) => format!("{error} ({})", error.hint()),
            };
            format!("# {what}\n{shown}")
        });
        assert_snapshot!(agent.name.clone(), shown.collect::<Vec<_>>().join("\n\n"));
    }
}

/// Inside ours its own cannot be made, every command fails, and the turn ends as if all were well.
#[test]
fn codex_in_our_sandbox_has_none_of_its_own_not_even_as_a_reviewer() {
    for read_only in [false, true] {
        let facts = LaunchFacts { read_only, confined: true, ..LaunchFacts::default() };
        let words = start(&choice("codex", |_| {}), &[], &facts).unwrap().command.args;
        assert!(words.contains(&"--dangerously-bypass-approvals-and-sandbox".to_owned()), "{words:?}");
        assert!(!words.iter().any(|word| word.contains("sandbox_mode")), "{words:?}");
    }
}

#[test]
// promise: settings-8
fn what_the_profile_says_is_the_same_as_what_the_engine_says() {
    for agent in AGENTS {
        let adapter = choice(agent, |_| {}).profile.adapter();
        let facts = LaunchFacts {
            mcp_servers: if takes(adapter, "mcp_servers") {
                BTreeMap::from([("probe".into(), server())])
            } else {
                BTreeMap::new()
            },
            system_prompt: Some("Be kind.".into()),
            denied_tools: if takes(adapter, "denied_tools") { vec!["one".into()] } else { Vec::new() },
            settings: if takes(adapter, "settings") { table(json!({ "a": 1 })) } else { Map::new() },
            ..LaunchFacts::default()
        };
        let own = choice(agent, |profile| {
            profile.mcp_servers = facts.mcp_servers.clone();
            profile.system_prompt = facts.system_prompt.clone();
            profile.denied_tools = facts.denied_tools.clone();
            profile.settings = facts.settings.clone();
        });
        assert_eq!(not_taken(&own.profile), None, "{agent}");
        let by_profile = start(&own, &[], &LaunchFacts::default()).unwrap();
        let by_engine = start(&choice(agent, |_| {}), &[], &facts).unwrap();
        assert_eq!(by_profile, by_engine, "{agent}");
    }
}

#[test]
fn both_speak_and_neither_is_lost() {
    let agent = choice("claude", |profile| {
        profile.system_prompt = Some("Mine.".into());
        profile.denied_tools = vec!["Task".into()];
        profile.mcp_servers = BTreeMap::from([("mine".into(), server())]);
    });
    let facts = LaunchFacts {
        system_prompt: Some("Theirs.".into()),
        denied_tools: vec!["WebFetch".into()],
        mcp_servers: BTreeMap::from([("theirs".into(), server())]),
        ..LaunchFacts::default()
    };
    let launch = start(&agent, &[], &facts).unwrap();
    let args = &launch.command.args;
    assert!(args.contains(&"Mine.\n\nTheirs.".to_owned()), "{args:?}");
    assert!(args.contains(&"AskUserQuestion,Bash(git push:*),Task,WebFetch".to_owned()), "{args:?}");
    let servers: Value = serde_json::from_str(&launch.files[0].content).unwrap();
    assert_eq!(servers["mcpServers"].as_object().unwrap().keys().collect::<Vec<_>>(), ["mine", "theirs"]);
}

#[test]
fn two_servers_of_one_name_are_an_error() {
    for agent in AGENTS {
        let servers = BTreeMap::from([("probe".to_owned(), server())]);
        let own = choice(agent, |profile| profile.mcp_servers = servers.clone());
        let facts = LaunchFacts { mcp_servers: servers, ..LaunchFacts::default() };
        let error = start(&own, &[], &facts).unwrap_err();
        assert_eq!(error, LaunchError::ServerTwice { agent: agent.into(), server: "probe".into() });
    }
}

#[test]
// promise: settings-8
fn what_an_agent_has_no_way_for_is_said_and_not_dropped() {
    let refused = |agent: &str, change: fn(&mut AgentProfile)| not_taken(&choice(agent, change).profile);
    assert_eq!(refused("codex", |profile| profile.denied_tools = vec!["x".into()]), Some("denied_tools"));
    let serves = |profile: &mut AgentProfile| profile.mcp_servers = BTreeMap::from([("probe".into(), server())]);
    assert_eq!(refused("gemini", serves), Some("mcp_servers"));
    assert_eq!(refused("copilot", |profile| profile.settings = table(json!({ "a": 1 }))), Some("settings"));
    let command = AgentProfile { config_dir: Some("/x".into()), ..AgentProfile::of_command(vec!["sh".into()]) };
    assert_eq!(not_taken(&command), None, "it says where the program keeps its own files");
    for key in ["mcp_servers", "system_prompt", "denied_tools", "settings"] {
        assert!(!takes(AdapterKind::Command, key), "{key}");
        assert!(takes(AdapterKind::Claude, key), "{key}");
    }
    let agent = AgentChoice { name: "sh".into(), profile: AgentProfile::of_command(vec!["sh".into()]) };
    let facts = LaunchFacts { system_prompt: Some("x".into()), ..LaunchFacts::default() };
    let error = start(&agent, &[], &facts).unwrap_err();
    assert_eq!(error, LaunchError::NoWay { agent: "sh".into(), key: "system_prompt" });
    // To be told to look only is advice, which may be lost.
    assert!(start(&agent, &[], &LaunchFacts { read_only: true, ..LaunchFacts::default() }).is_ok());
}

#[test]
fn the_directory_of_the_agents_own_configuration() {
    let variables = [
        ("claude", "CLAUDE_CONFIG_DIR"),
        ("codex", "CODEX_HOME"),
        ("copilot", "COPILOT_HOME"),
        ("gemini", "GEMINI_CLI_HOME"),
        ("opencode", "OPENCODE_CONFIG_DIR"),
        ("qwen", "QWEN_HOME"),
    ];
    for (agent, variable) in variables {
        let agent = choice(agent, |profile| profile.config_dir = Some("~/work-login".into()));
        let launch = start(&agent, &[("HOME", "/home/me"), (variable, "/inherited")], &LaunchFacts::default());
        assert_eq!(launch.unwrap().command.env[variable], "/home/me/work-login");
        let mut acp = agent.clone();
        acp.profile.adapter = Some(AdapterKind::Acp);
        let launch = start(&acp, &[("HOME", "/home/me")], &LaunchFacts::default());
        assert_eq!(launch.unwrap().command.env[variable], "/home/me/work-login", "over ACP too");
    }
}

#[test]
fn what_the_user_has_in_a_variable_is_added_to_and_never_replaced() {
    let opencode = choice("opencode", |_| {});
    let facts = LaunchFacts {
        system_prompt: Some("x".into()),
        read_only: true,
        mcp_servers: BTreeMap::from([("probe".into(), server())]),
        ..LaunchFacts::default()
    };
    let env = [
        (
            "OPENCODE_CONFIG_CONTENT",
            r#"{"model": "a/b", "instructions": ["mine.md"], "mcp": {"mine": {"enabled": true}}}"#,
        ),
        ("OPENCODE_PERMISSION", r#"{"bash": "ask"}"#),
    ];
    let launch = start(&opencode, &env, &facts).unwrap();
    let config: Value = serde_json::from_str(&launch.command.env["OPENCODE_CONFIG_CONTENT"]).unwrap();
    assert_eq!(config["model"], "a/b");
    assert_eq!(config["instructions"], json!(["mine.md", "/turn/agent_instructions.md"]));
    assert_eq!(config["mcp"].as_object().unwrap().len(), 2);
    let permission: Value = serde_json::from_str(&launch.command.env["OPENCODE_PERMISSION"]).unwrap();
    assert_eq!(permission, json!({ "bash": "ask", "edit": "deny" }));

    let copilot = choice("copilot", |_| {});
    let launch = start(&copilot, &[("COPILOT_CUSTOM_INSTRUCTIONS_DIRS", "/mine")], &facts).unwrap();
    assert_eq!(launch.command.env["COPILOT_CUSTOM_INSTRUCTIONS_DIRS"], "/mine,/turn/agent_instructions");

    for broken in ["[1]", "{", "no json"] {
        let error = start(&opencode, &[("OPENCODE_CONFIG_CONTENT", broken)], &facts).unwrap_err();
        assert!(matches!(error, LaunchError::VariableNotJson { .. }), "{error}");
    }
    let qwen = choice("qwen", |profile| profile.settings = table(json!({ "a": 1 })));
    let error = start(&qwen, &[("QWEN_CODE_SYSTEM_SETTINGS_PATH", "/etc/mine.json")], &facts).unwrap_err();
    assert!(matches!(error, LaunchError::VariableTaken { .. }), "{error}");
}
