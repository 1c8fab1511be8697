//! The command lines of the adapters, word by word.

use std::collections::BTreeMap;
use std::path::PathBuf;

use insta::assert_snapshot;
use windlass_agents::{
    Launch, LaunchError, LaunchFacts, TurnRequest, built_in_profiles, chosen_session, launch, launch_with, usage_file,
};
use windlass_core::profile::{AdapterKind, AgentProfile};
use windlass_core::spec::AgentChoice;
use windlass_process::Stdin;

fn choice(agent: &str, change: impl FnOnce(&mut AgentProfile)) -> AgentChoice {
    let mut profile = built_in_profiles().remove(agent).unwrap();
    change(&mut profile);
    AgentChoice { name: agent.into(), profile }
}

fn request<'a>(agent: &'a AgentChoice, session: Option<&'a str>) -> TurnRequest<'a> {
    TurnRequest {
        agent,
        prompt: "do it",
        prompt_file: PathBuf::from("/turn/prompt.md"),
        session,
        cwd: PathBuf::from("/tree"),
        env: BTreeMap::new(),
        own_program: PathBuf::from("/bin/windlass"),
    }
}

fn facts() -> LaunchFacts {
    LaunchFacts { turn_id: "loop/1-coder-1".into(), ..LaunchFacts::default() }
}

fn shown(launch: &Launch) -> String {
    let spec = &launch.command;
    assert_eq!(spec.stdin, Stdin::File { path: "/turn/prompt.md".into() }, "the prompt comes on standard input");
    let env = spec.env.iter().map(|(name, value)| format!("{name}={value}"));
    env.chain([spec.program.clone()])
        .chain(spec.args.iter().map(|arg| format!("  {arg}")))
        .chain(launch.files.iter().map(|file| format!("{}: {}", file.path.display(), file.content.trim_end())))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn first_turns_resumed_turns_and_everything_at_once() {
    for agent in ["claude", "codex", "copilot", "gemini", "opencode", "qwen"] {
        let plain = choice(agent, |_| {});
        let first = launch_with(&request(&plain, None), &facts()).unwrap();
        let resumed = launch_with(&request(&plain, Some("the-session")), &facts()).unwrap();
        let full = choice(agent, |profile| {
            profile.command = vec!["/opt/node".into(), format!("/opt/{agent}.js")];
            profile.args = vec!["--extra".into(), "value".into()];
            profile.model = Some("the/model".into());
            profile.env = BTreeMap::from([("OWN".into(), "1".into())]);
        });
        let everything = LaunchFacts {
            as_root: true,
            allow_push: true,
            system_prompt: Some("Say \"yes\".\nAlways.".into()),
            ..facts()
        };
        let everything = launch_with(&request(&full, None), &everything).unwrap();
        let shown = [("first", first), ("resumed", resumed), ("everything", everything)]
            .map(|(what, spec)| format!("# {what}\n{}", shown(&spec)));
        assert_snapshot!(format!("{agent}"), shown.join("\n\n"));
    }
}

#[test]
fn what_the_user_has_set_stays() {
    let agent = choice("claude", |profile| {
        profile.env = BTreeMap::from([("IS_SANDBOX".into(), "own".into())]);
    });
    let mut request = request(&agent, None);
    request.env = BTreeMap::from([("DISABLE_AUTOUPDATER".into(), "0".into()), ("CLAUDECODE".into(), "1".into())]);
    let spec = launch_with(&request, &LaunchFacts { as_root: true, ..facts() }).unwrap();
    let env = BTreeMap::from([("DISABLE_AUTOUPDATER".into(), "0".into()), ("IS_SANDBOX".into(), "own".into())]);
    assert_eq!(spec.command.env, env);
}

#[test]
fn without_a_turn_id_the_agent_chooses_its_session() {
    for agent in ["claude", "copilot", "gemini", "qwen"] {
        let agent = choice(agent, |_| {});
        let spec = launch(&request(&agent, None)).unwrap();
        assert!(!spec.command.args.iter().any(|arg| arg.starts_with("--session-id")), "{:?}", spec.command.args);
        let id = chosen_session(&agent.profile, "loop/1-coder-1").unwrap();
        let spec = launch_with(&request(&agent, None), &facts()).unwrap();
        assert!(spec.command.args.iter().any(|arg| arg.ends_with(&id)), "{:?}", spec.command.args);
    }
    assert_eq!(chosen_session(&choice("codex", |_| {}).profile, "loop/1-coder-1"), None);
}

#[test]
fn the_usage_file_is_the_one_named_on_the_command_line() {
    let agent = choice("copilot", |_| {});
    let request = request(&agent, None);
    let file = usage_file(&agent.profile, &request.prompt_file).unwrap();
    let spec = launch(&request).unwrap();
    assert!(spec.command.args.contains(&file.to_string_lossy().into_owned()));
    assert_eq!(usage_file(&choice("claude", |_| {}).profile, &request.prompt_file), None);
}

#[test]
fn what_no_argument_can_carry_is_refused() {
    let agent = choice("claude", |_| {});
    let with = |prompt: String| LaunchFacts { system_prompt: Some(prompt), ..facts() };
    let long = launch_with(&request(&agent, None), &with("x".repeat(200_000)));
    assert!(matches!(long, Err(LaunchError::PromptTooLong { bytes: 200_000, .. })));
    let nul = launch_with(&request(&agent, None), &with("a\0b".into()));
    assert_eq!(nul, Err(LaunchError::PromptHasNul));
}

#[test]
fn codex_has_no_sandbox_of_its_own_inside_ours() {
    let agent = choice("codex", |_| {});
    let args = |read_only, confined| {
        let facts = LaunchFacts { read_only, confined, ..facts() };
        launch_with(&request(&agent, None), &facts).unwrap().command.args.join(" ")
    };
    let off = "--dangerously-bypass-approvals-and-sandbox";
    assert!(args(true, true).contains(off) && args(false, true).contains(off) && args(false, false).contains(off));
    assert!(!args(true, true).contains("read-only"));
    assert!(args(true, false).contains("sandbox_mode=\"read-only\""), "without ours its own is all there is");
    let mode = |command: &str, confined| {
        let acp = AgentProfile {
            adapter: Some(AdapterKind::Acp),
            command: vec![command.to_owned()],
            ..AgentProfile::default()
        };
        let agent = AgentChoice { name: "talker".into(), profile: acp };
        let launch =
            launch_with(&request(&agent, None), &LaunchFacts { read_only: true, confined, ..facts() }).unwrap();
        launch.command.env.get("INITIAL_AGENT_MODE").cloned()
    };
    assert_eq!(mode("codex-acp", true).as_deref(), Some("agent-full-access"));
    assert_eq!(mode("codex-acp", false), None);
    assert_eq!(mode("gemini", true), None);
}
