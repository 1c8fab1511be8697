//! From settings and what is said for one loop to its specification.

use std::path::PathBuf;

use windlass_core::profile::{AdapterKind, AgentProfile, ModelPrice, OutputFormat};
use windlass_core::resources::ResourceSpec;
use windlass_core::sandbox::{DockerSpec, NetworkAccess, SandboxLevel, SandboxSpec};
use windlass_core::spec::{
    CommitPolicy, ContextSpec, Done, GateSpec, GateWhen, Limits, LoopSpec, OnFailure, OnLimit, SessionPolicy,
    TimeLimits, Verify, WorkspaceKind, WorkspaceSpec,
};
use windlass_core::summary::{Protocol, SummariserKind, SummariserSettings};
use windlass_engine::config::{
    BranchTemplate, Commands, Environment, Files, Gates, Globs, Iterations, MachineFacts, Millis, Options, Origin,
    Paths, Processes, Promise, Recipes, Resolved, RunOptions, Sandbox, SandboxSupport, Setting, Settings, Size, Tokens,
    UsageError, Usd, Value, Weight, load, resolve_spec,
};
use windlass_process::{Holder, Means};

fn settings(flags: Options) -> Settings {
    let nowhere = PathBuf::from("/nonexistent");
    let paths = Paths { data: nowhere.clone(), user_config: nowhere, user_config_named: false };
    load(&paths, None, &Environment::default(), flags).unwrap()
}

/// The settings with one more agent, called `mine`, in use.
fn with_agent(flags: Options, profile: AgentProfile) -> Settings {
    let mut settings = settings(Options { agent: Some("mine".into()), ..flags });
    settings.agents.entry("mine".into()).or_default().profile = profile;
    settings
}

fn text_agent() -> AgentProfile {
    AgentProfile::of_command(vec!["agent".into()])
}

fn run() -> RunOptions {
    RunOptions {
        goal: "make it work".into(),
        name: "make-it-work".into(),
        cwd: "/repo/sub".into(),
        project_root: "/repo".into(),
        agreed_to_no_sandbox: true,
        ..RunOptions::default()
    }
}

fn resolve(flags: Options, profile: AgentProfile) -> Result<Resolved, UsageError> {
    resolve_spec(&with_agent(flags, profile), &run())
}

fn value<T: Value>(text: &str) -> Option<T> {
    Some(T::from_text(text).unwrap())
}

#[test]
fn a_plain_run_gets_the_recipes_defaults() {
    let Resolved { spec, notes } = resolve(Options::default(), text_agent()).unwrap();
    assert_eq!(
        spec,
        LoopSpec {
            fallbacks: Vec::new(),
            review: None,
            summing_up: None,
            goal: "make it work".into(),
            recipe: "promise".into(),
            agent: windlass_core::spec::AgentChoice { name: "mine".into(), profile: text_agent() },
            session: SessionPolicy::Resume,
            commit: CommitPolicy::Engine,
            done: Done::Promise { promise: Some("<promise>COMPLETE</promise>".into()) },
            gates: vec![],
            limits: Limits { max_iterations: Some(5), ..Limits::default() },
            on_limit: OnLimit::Stop,
            on_rate_limit: windlass_core::spec::OnRateLimit::Wait,
            on_failure: OnFailure::Stop,
            question_wait_ms: 0,
            time: TimeLimits { turn_timeout_ms: 3_600_000, stall_timeout_ms: 300_000, max_stalls: 3 },
            workspace: WorkspaceSpec {
                kind: WorkspaceKind::Clone,
                branch: "windlass/make-it-work".into(),
                base: None,
                allow_dirty: false,
                setup: vec![],
                setup_credentials: false,
                copy: vec![],
                baseline: true,
                verify: Verify::Clean,
                subdir: Some("sub".into()),
            },
            protect: vec![],
            secrets_allow: vec![],
            env_pass: vec![],
            summariser: SummariserSettings::default(),
            sandbox: SandboxSpec::default(),
            resources: ResourceSpec::default(),
            context: ContextSpec { plan: None, max_tokens: 8_000 },
            follow_up: "continue".into(),
            group: None,
            prompts: std::collections::BTreeMap::new(),
            parent: None,
        }
    );
    let off = "sandbox: off — the sandbox was not probed: the agent and gates run with your full permissions; \
    run 'windlass doctor'";
    assert_eq!(notes, [off]);
}

#[test]
fn a_loop_takes_its_share_of_the_machine_unless_somebody_says_otherwise() {
    let held = |memory, processes| Means { memory, processes, ..Means::default() };
    let machine = MachineFacts {
        memory_bytes: Some(100 << 30),
        processes: Some(8_192),
        means: held(Holder::CgroupV1, Holder::CgroupV1),
        means_by_default: held(Holder::Watched, Holder::PidNamespace),
    };
    let resources = |flags| {
        let run = RunOptions { machine: machine.clone(), ..run() };
        resolve_spec(&with_agent(flags, text_agent()), &run).unwrap().spec.resources
    };
    let plain = resources(Options::default());
    assert_eq!((plain.memory_bytes, plain.processes), (Some(80 << 30), Some(8_192)));
    assert_eq!((plain.cpu_weight, plain.disk_bytes, plain.disk_free_bytes), (None, None, None));
    assert_eq!(plain.held_by, machine.means_by_default, "no process is moved for limits that nobody asked for");
    let said = resources(Options {
        memory_limit: value::<Size>("2GiB"),
        process_limit: value::<Processes>("64"),
        cpu_weight: value::<Weight>("10"),
        disk_limit: value::<Size>("5MiB"),
        disk_free: value::<Size>("0"),
        ..Options::default()
    });
    assert_eq!((said.memory_bytes, said.processes, said.cpu_weight), (Some(2 << 30), Some(64), Some(10)));
    assert_eq!((said.disk_bytes, said.disk_free_bytes), (Some(5 << 20), Some(0)));
    assert_eq!(said.held_by, machine.means);
    let free = resources(Options { memory_limit: value::<Size>("0"), ..Options::default() });
    assert_eq!(free.memory_bytes, None, "no limit was asked for");
}

fn sandboxed(flags: Options, support: &SandboxSupport) -> Result<Resolved, UsageError> {
    let run = RunOptions { sandbox: support.clone(), agreed_to_no_sandbox: false, ..run() };
    resolve_spec(&with_agent(flags, text_agent()), &run)
}

#[test]
fn auto_takes_the_sandbox_that_there_is_and_says_what_it_got() {
    let works = SandboxSupport::Works { backend: "bubblewrap".into() };
    let spec = sandboxed(Options::default(), &works).unwrap().spec;
    assert_eq!(spec.sandbox.level, SandboxLevel::Workspace);
    assert_eq!(spec.sandbox.backend.as_deref(), Some("bubblewrap"));
    assert_eq!(spec.workspace.kind, WorkspaceKind::Clone, "the user's repository stays out of reach");
    let missing = SandboxSupport::Missing { reason: "bubblewrap is not installed".into(), fix: "install it".into() };
    let error = sandboxed(Options::default(), &missing).unwrap_err();
    assert!(matches!(error, UsageError::Unconfined { .. }), "{error}");
    assert_eq!(error.hint(), "install it");
    let agreed = RunOptions { sandbox: missing, agreed_to_no_sandbox: true, ..run() };
    let Resolved { spec, notes } = resolve_spec(&with_agent(Options::default(), text_agent()), &agreed).unwrap();
    assert!(spec.sandbox.is_off());
    assert_eq!(spec.workspace.kind, WorkspaceKind::Clone);
    assert!(notes[0].starts_with("sandbox: off — bubblewrap is not installed:"), "{notes:?}");
    assert!(notes[0].ends_with("install it"), "{notes:?}");
    let off = sandboxed(Options { sandbox: Some(Sandbox::Off), ..Options::default() }, &works).unwrap();
    assert!(off.spec.sandbox.is_off() && off.notes.is_empty(), "{:?}", off.notes);
}

#[test]
fn a_sandbox_that_was_asked_for_and_cannot_be_had_is_an_error() {
    let missing = SandboxSupport::Missing { reason: "bubblewrap is not installed".into(), fix: "install it".into() };
    for (level, name) in
        [(Sandbox::Workspace, "workspace"), (Sandbox::ReadOnly, "read-only"), (Sandbox::Docker, "docker")]
    {
        let flags = Options { sandbox: Some(level), ..Options::default() };
        let error = sandboxed(flags, &missing).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the sandbox '{name}' is not available on this machine: bubblewrap is not installed")
        );
        assert_eq!(error.hint(), "install it");
    }
    let deny = |sandbox, support: &SandboxSupport| {
        sandboxed(Options { sandbox: Some(sandbox), network: Some(NetworkAccess::Deny), ..Options::default() }, support)
    };
    let works = SandboxSupport::Works { backend: "bubblewrap".into() };
    assert!(matches!(deny(Sandbox::Auto, &missing), Err(UsageError::NetworkOpen { .. })), "auto does not open it");
    assert!(matches!(deny(Sandbox::Off, &works), Err(UsageError::NetworkOpen { .. })));
    assert_eq!(deny(Sandbox::Auto, &works).unwrap().spec.sandbox.network, NetworkAccess::Deny);
}

#[test]
fn the_hosts_of_models_are_those_of_profiles_too_but_not_of_a_projects() {
    let works = SandboxSupport::Works { backend: "bubblewrap".into() };
    let hosts = |listed: &str, origin: Option<Origin>| {
        let options =
            Options { network: Some(NetworkAccess::List), network_hosts: value(listed), ..Options::default() };
        let mut profile = text_agent();
        profile.about = serde_json::from_value(serde_json::json!({ "hosts": ["api.example"] })).ok();
        let mut settings = with_agent(options, profile);
        let mine = settings.agents.get_mut("mine").unwrap();
        mine.origins.extend(origin.map(|origin| ("about", origin)));
        let run = RunOptions { sandbox: works.clone(), ..run() };
        resolve_spec(&settings, &run).unwrap().spec.sandbox.hosts
    };
    let has = |hosts: Vec<String>| hosts.iter().any(|host| host == "api.example");
    assert!(has(hosts("@models", None)));
    assert!(!has(hosts("@registries", None)));
    let project = Origin::ProjectFile { path: "config.toml".into(), line: 1 };
    assert!(!has(hosts("@models", Some(project))));
}

#[test]
fn a_container_is_part_of_the_loop() {
    let docker = DockerSpec { image: "debian:12".into(), socket: "/run/docker.sock".into(), rootless: true };
    let flags = Options { sandbox: Some(Sandbox::Docker), ..Options::default() };
    let spec = sandboxed(flags, &SandboxSupport::Docker(docker.clone())).unwrap().spec;
    assert_eq!((spec.sandbox.level, spec.sandbox.docker), (SandboxLevel::Docker, Some(docker)));
    assert_eq!(spec.workspace.kind, WorkspaceKind::Clone, "the user's repository stays out of reach");
}

#[test]
fn everything_that_is_said_is_in_the_specification() {
    let flags = Options {
        max_iterations: value::<Iterations>("9"),
        duration: value::<Millis>("2h"),
        max_tokens: value::<Tokens>("50"),
        budget_usd: value::<Usd>("1.5"),
        completion_promise: value::<Promise>("DONE"),
        gates: Some(Gates::new(vec!["a".into(), "b".into()]).unwrap()),
        gate_timeout: value::<Millis>("1m"),
        turn_timeout: value::<Millis>("2m"),
        stall_timeout: value::<Millis>("3m"),
        session: Some(SessionPolicy::Fresh),
        commit: Some(CommitPolicy::Off),
        branch: value::<BranchTemplate>("x/{name}"),
        sandbox: Some(Sandbox::Off),
        language: Some("zh-Hant".into()),
        ..Options::default()
    };
    let profile = AgentProfile { output: Some(OutputFormat::Jsonl), ..text_agent() };
    let run = RunOptions { base: Some("main".into()), ..run() };
    let Resolved { spec, notes } = resolve_spec(&with_agent(flags, profile), &run).unwrap();
    assert_eq!(
        spec.limits,
        Limits { max_iterations: Some(9), duration_ms: Some(7_200_000), budget_usd: Some(1.5), max_tokens: Some(50) }
    );
    assert_eq!(spec.done.promise(), Some("DONE"));
    let gate =
        |command: &str| GateSpec { command: command.into(), timeout_ms: 60_000, when: GateWhen::Turn, hidden: false };
    assert_eq!(spec.gates, [gate("a"), gate("b")]);
    assert_eq!((spec.time.turn_timeout_ms, spec.time.stall_timeout_ms), (120_000, 180_000));
    assert_eq!((spec.session, spec.commit), (SessionPolicy::Fresh, CommitPolicy::Off));
    assert_eq!((spec.workspace.branch.as_str(), spec.workspace.base.as_deref()), ("x/make-it-work", Some("main")));
    assert_eq!(spec.follow_up, "繼續");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("the budget and the token limit can stop a turn midway"), "{notes:?}");
}

#[test]
fn a_reviewer_in_the_settings_is_for_the_recipes_that_have_one() {
    let mut settings = with_agent(Options::default(), text_agent());
    settings.reviewer =
        Setting { value: Some("mine".into()), origin: Origin::Env { name: "WINDLASS_REVIEWER".into() } };
    assert_eq!(resolve_spec(&settings, &run()).unwrap().spec.review, None);
    settings.reviewer.origin = Origin::Flag { name: "--reviewer".into() };
    assert!(matches!(resolve_spec(&settings, &run()), Err(UsageError::ReviewerUnused { .. })));
}

#[test]
fn a_goal_without_words_and_a_bad_name_are_refused() {
    let settings = with_agent(Options::default(), text_agent());
    for goal in ["", " \n\t", "\u{a0}"] {
        assert_eq!(resolve_spec(&settings, &RunOptions { goal: goal.into(), ..run() }), Err(UsageError::EmptyGoal));
    }
    let nul = RunOptions { goal: "a\0b".into(), ..run() };
    assert_eq!(resolve_spec(&settings, &nul), Err(UsageError::GoalHasNul));
    let named = RunOptions { name: "Bad Name".into(), ..run() };
    assert!(matches!(resolve_spec(&settings, &named), Err(UsageError::Name { .. })));
    let shouting = RunOptions { goal: "  $(rm -rf /) `x` \"q\" {{goal}}\n".into(), ..run() };
    assert_eq!(resolve_spec(&settings, &shouting).unwrap().spec.goal, shouting.goal, "a goal is never interpreted");
}

#[test]
// promise: bounds-1
fn there_is_no_unlimited_loop() {
    let zero = || Options { max_iterations: value::<Iterations>("0"), ..Options::default() };
    let error = resolve(zero(), text_agent()).unwrap_err();
    assert_eq!(error, UsageError::Unbounded);
    for way_out in ["--max-iterations to 1–100", "--duration", "--budget-usd", "--max-tokens"] {
        assert!(error.hint().contains(way_out), "{way_out}");
    }
    let timed = Options { duration: value::<Millis>("1h"), ..zero() };
    let limits = resolve(timed, text_agent()).unwrap().spec.limits;
    assert_eq!((limits.max_iterations, limits.duration_ms), (None, Some(3_600_000)));

    let tokens = || Options { max_tokens: value::<Tokens>("9"), ..zero() };
    assert_eq!(resolve(tokens(), text_agent()).unwrap_err(), UsageError::NoTokens { agent: "mine".into() });
    let counting = AgentProfile { usage_pattern: Some("tokens: (?<output>\\d+)".into()), ..text_agent() };
    assert!(resolve(tokens(), counting).is_ok());
    let also = Options { max_tokens: value::<Tokens>("9"), ..Options::default() };
    assert!(resolve(also, text_agent()).unwrap().notes.iter().any(|note| note.contains("max_tokens has no effect")));
}

#[test]
fn keep_alive_needs_an_agent_that_takes_turn_after_turn() {
    let keep = || Options { session: Some(SessionPolicy::KeepAlive), ..Options::default() };
    let error = resolve(keep(), text_agent()).unwrap_err();
    assert_eq!(error.to_string(), "the agent 'mine' does not support keep_alive sessions");
    assert!(error.hint().starts_with("use resume or fresh instead of keep_alive (--session)"), "{}", error.hint());
    assert!(error.hint().contains("claude"), "{}", error.hint());
    let claude = AgentProfile { adapter: Some(AdapterKind::Claude), ..text_agent() };
    assert_eq!(resolve(keep(), claude).unwrap().spec.session, SessionPolicy::KeepAlive);
}

#[test]
fn a_budget_needs_an_agent_that_says_what_it_spends() {
    let budget = || Options { budget_usd: value::<Usd>("2"), ..Options::default() };
    let error = resolve(budget(), text_agent()).unwrap_err();
    assert_eq!(error.to_string(), "the agent 'mine' does not report its cost, so a budget of $2 cannot be enforced");
    assert!(error.hint().contains("--budget-usd"), "{}", error.hint());
    let pattern = |pattern: &str| AgentProfile { usage_pattern: Some(pattern.into()), ..text_agent() };
    assert!(resolve(budget(), pattern("in (?P<input>\\d+)")).is_err());
    assert!(resolve(budget(), pattern("cost (?P<cost>[\\d.]+)")).is_ok());
    assert!(resolve(budget(), pattern("cost (?<cost>[\\d.]+)")).is_ok());
    assert!(resolve(budget(), AgentProfile { output: Some(OutputFormat::Jsonl), ..text_agent() }).is_ok());
}

#[test]
// promise: bounds-7
fn a_budget_needs_a_model_with_a_price() {
    let budget = || Options { budget_usd: value::<Usd>("2"), ..Options::default() };
    let codex = |model: Option<&str>| AgentProfile {
        adapter: Some(AdapterKind::Codex),
        model: model.map(Into::into),
        ..text_agent()
    };
    let error = resolve(budget(), codex(Some("unheard-of"))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the price of the model 'unheard-of' is unknown, so a budget of $2 cannot be enforced"
    );
    assert!(error.hint().contains("[agents.mine.prices.\"unheard-of\"]"), "{}", error.hint());
    let error = resolve(budget(), codex(None)).unwrap_err();
    assert!(error.to_string().contains("its model is unknown"), "{error}");
    assert!(error.hint().contains("--model"), "{}", error.hint());
    assert!(resolve(budget(), codex(Some("gpt-5-codex"))).is_ok());
    let price = ModelPrice { input: 1.0, output: 2.0, ..ModelPrice::default() };
    let priced = AgentProfile { prices: [("unheard-of".to_owned(), price)].into(), ..codex(Some("unheard-of")) };
    assert!(resolve(budget(), priced).is_ok());
    // It names the cost itself.
    assert!(resolve(budget(), AgentProfile { adapter: Some(AdapterKind::Claude), ..text_agent() }).is_ok());
}

#[test]
fn it_is_said_before_the_start_when_a_limit_of_usage_is_looked_at() {
    let of = |adapter, model: &str| AgentProfile {
        adapter: Some(adapter),
        display_name: Some("It".into()),
        model: Some(model.into()),
        ..text_agent()
    };
    let notes = |flags, profile| resolve(flags, profile).unwrap().notes.join("\n");
    let budget = || Options { budget_usd: value::<Usd>("2"), ..Options::default() };
    let tokens = || Options { max_tokens: value::<Tokens>("1000"), ..Options::default() };
    let inside = "can stop a turn midway: It reports usage while it works";
    let between = "applies only between turns: It reports usage at the end of a turn";
    for (adapter, model, expected) in [
        (AdapterKind::Claude, "claude-sonnet-4-5", inside),
        (AdapterKind::Claude, "opus", inside),
        (AdapterKind::Claude, "claude-unheard-of", between),
        (AdapterKind::Opencode, "x/y", inside),
        (AdapterKind::Qwen, "x", inside),
        (AdapterKind::Codex, "gpt-5", between),
        (AdapterKind::Copilot, "gpt-5", between),
        (AdapterKind::Gemini, "gemini-2.5-pro", between),
    ] {
        let said = notes(tokens(), of(adapter, model));
        assert!(said.contains(&format!("the token limit {expected}")), "{adapter:?} {model}: {said}");
    }
    let said = notes(budget(), of(AdapterKind::Codex, "gpt-5"));
    assert!(said.contains(&format!("the budget {between}")), "{said}");
    assert!(said.contains("costs are estimated from tokens at the list price of gpt-5"), "{said}");
    assert!(!notes(budget(), of(AdapterKind::Claude, "opus")).contains("list price"));
    assert!(!notes(Options::default(), of(AdapterKind::Codex, "gpt-5")).contains("a turn midway"));
    let jsonl = AgentProfile { output: Some(OutputFormat::Jsonl), display_name: Some("It".into()), ..text_agent() };
    assert!(notes(budget(), jsonl).contains(inside));
}

#[test]
fn the_profiles_limit_and_promise_hold_unless_somebody_says_otherwise() {
    let profile =
        |max| AgentProfile { max_iterations: Some(max), completion_promise: Some("OWN".into()), ..text_agent() };
    for (max, clamped) in [(0, 1), (7, 7), (900, 100)] {
        let spec = resolve(Options::default(), profile(max)).unwrap().spec;
        assert_eq!(spec.limits.max_iterations, Some(clamped));
        assert_eq!(spec.done.promise(), Some("OWN"));
    }
    let flags = Options {
        max_iterations: value::<Iterations>("3"),
        completion_promise: value::<Promise>("FLAG"),
        ..Options::default()
    };
    let spec = resolve(flags, profile(7)).unwrap().spec;
    assert_eq!((spec.limits.max_iterations, spec.done.promise()), (Some(3), Some("FLAG")));

    let none = Options { completion_promise: value::<Promise>(""), ..Options::default() };
    let Resolved { spec, notes } = resolve(none, profile(7)).unwrap();
    assert_eq!(spec.done, Done::Promise { promise: None });
    assert!(notes.iter().any(|note| note.contains("only a limit ends this loop")), "{notes:?}");

    let empty = AgentProfile { completion_promise: Some(String::new()), ..text_agent() };
    assert_eq!(
        resolve(Options::default(), empty).unwrap().spec.done.promise(),
        Some("<promise>COMPLETE</promise>"),
        "an empty one in a profile is an unset one"
    );
    let lines = AgentProfile { completion_promise: Some("a\nb".into()), ..text_agent() };
    assert!(matches!(resolve(Options::default(), lines), Err(UsageError::Promise { .. })));
}

#[test]
// promise: control-8
fn without_a_loop_there_is_one_turn_and_the_gates() {
    let single =
        |flags, profile, no_loop| resolve_spec(&with_agent(flags, profile), &RunOptions { no_loop, ..run() }).unwrap();
    let off = || AgentProfile { loop_enabled: Some(false), max_iterations: Some(9), ..text_agent() };
    let by_flag = single(Options::default(), text_agent(), true);
    let by_profile = single(Options::default(), off(), false);
    for resolved in [&by_flag, &by_profile] {
        assert_eq!(resolved.spec.done, Done::Gates);
        assert_eq!(resolved.spec.limits.max_iterations, Some(1));
    }
    assert!(by_profile.notes[0].contains("loop_enabled = false"));
    let flags = Options { max_iterations: value::<Iterations>("3"), ..Options::default() };
    assert!(single(flags, off(), false).notes[0].ends_with("--max-iterations is ignored"));
    let unset = single(Options::default(), AgentProfile { loop_enabled: None, ..text_agent() }, false);
    assert_eq!(unset.spec.limits.max_iterations, Some(5), "only an explicit false is one");
}

#[test]
fn agents_are_found_by_name_or_made_from_a_command() {
    let named = |agent: Option<&str>, run: RunOptions| {
        resolve_spec(&settings(Options { agent: agent.map(Into::into), ..Options::default() }), &run)
    };
    assert_eq!(named(None, run()).unwrap_err(), UsageError::NoAgent);
    let error = named(Some("dmo"), run()).unwrap_err();
    assert_eq!(error.to_string(), "unknown agent 'dmo'");
    assert!(error.hint().starts_with("did you mean 'demo'?"), "{}", error.hint());
    let hint = named(Some("zzz"), run()).unwrap_err().hint();
    assert!(hint.starts_with("known agents: aider, claude, ") && hint.contains("demo"), "{hint}");
    let demo = named(Some("demo"), run()).unwrap().spec.agent;
    assert_eq!((demo.display_name(), demo.profile.command[0].as_str()), ("Demo", "{self}"));
    let installed = RunOptions { installed_agent: Some("demo".into()), ..run() };
    assert_eq!(named(None, installed).unwrap().spec.agent.name, "demo");

    let command = |words: &str| named(Some("demo"), RunOptions { agent_command: Some(words.into()), ..run() });
    let agent = command("./my-agent.sh --say 'a b' {prompt} $HOME `x`").unwrap().spec.agent;
    assert_eq!(agent.name, "my-agent.sh");
    assert_eq!(
        agent.profile.command,
        ["/repo/sub/my-agent.sh", "--say", "a b", "{prompt}", "$HOME", "`x`"],
        "words are split, nothing else; a relative program is meant from where the user is"
    );
    assert_eq!(command("agent").unwrap().spec.agent.profile.command, ["agent"], "looked up in PATH");
    assert_eq!(command("/a/b c").unwrap().spec.agent.profile.command, ["/a/b", "c"]);
    assert_eq!(command("agent 'open").unwrap_err(), UsageError::UnclosedQuote);
    for empty in ["", "  ", "''"] {
        assert_eq!(command(empty).unwrap_err(), UsageError::EmptyCommand, "{empty:?}");
    }

    let relative = AgentProfile::of_command(vec!["tools/agent".into()]);
    assert_eq!(resolve(Options::default(), relative).unwrap().spec.agent.profile.command, ["/repo/tools/agent"]);
    let error = resolve(Options::default(), AgentProfile::default()).unwrap_err();
    assert_eq!(error, UsageError::NoCommand { name: "mine".into() });
}

#[test]
fn a_pattern_that_is_none_is_refused_with_its_key() {
    for (key, profile) in [
        ("session_pattern", AgentProfile { session_pattern: Some("(".into()), ..text_agent() }),
        ("usage_pattern", AgentProfile { usage_pattern: Some("[".into()), ..text_agent() }),
        ("answer_pattern", AgentProfile { answer_pattern: Some("*".into()), ..text_agent() }),
        ("noise_pattern", AgentProfile { noise_pattern: Some("(?<".into()), ..text_agent() }),
    ] {
        let error = resolve(Options::default(), profile).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{key} of the agent 'mine' is not a regular expression: ")));
        assert!(!error.to_string().contains('\n'), "{error}");
        assert!(error.hint().contains("[agents.mine]"));
    }
}

#[test]
fn the_model_goes_where_the_command_has_a_place_for_it() {
    let agent = || AgentProfile {
        command: vec!["agent".into(), "--model={model}".into()],
        resume_args: vec!["{model}".into()],
        ..AgentProfile::default()
    };
    let model = |name: &str| Options { model: Some(name.into()), ..Options::default() };
    let profile = resolve(model("m1"), agent()).unwrap().spec.agent.profile;
    assert_eq!((profile.command[1].as_str(), profile.resume_args[0].as_str()), ("--model=m1", "m1"));
    assert_eq!(profile.model.as_deref(), Some("m1"));
    let own = AgentProfile { model: Some("own".into()), ..agent() };
    assert_eq!(resolve(Options::default(), own).unwrap().spec.agent.profile.command[1], "--model=own");
    assert_eq!(resolve(Options::default(), agent()).unwrap_err(), UsageError::NoModel { agent: "mine".into() });
    assert_eq!(resolve(model("m1"), text_agent()).unwrap_err(), UsageError::ModelUnused { agent: "mine".into() });
    let mut from_file = with_agent(model("m1"), text_agent());
    from_file.model.origin = windlass_engine::config::Origin::Env { name: "WINDLASS_MODEL".into() };
    let notes = resolve_spec(&from_file, &run()).unwrap().notes;
    assert!(notes[0].contains("ignoring the setting 'model'"), "a general setting is no mistake: {notes:?}");
}

#[test]
fn a_recipe_that_is_not_there_names_those_that_are() {
    let recipe = |name: &str| resolve(Options { recipe: Some(name.into()), ..Options::default() }, text_agent());
    let error = recipe("promis").unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.hint().as_str()),
        ("unknown recipe 'promis'", "did you mean 'promise'?")
    );
    let hint = recipe("xyzzy").unwrap_err().hint();
    for name in Recipes::built_in().names() {
        assert!(hint.contains(&name), "{hint}");
    }
}

fn refined(iter: Option<&str>, time: Option<&str>, flags: Options) -> Result<Resolved, UsageError> {
    let settings = with_agent(Options { recipe: Some("refine".into()), ..flags }, text_agent());
    resolve_spec(&settings, &RunOptions { iter: iter.map(Into::into), time: time.map(Into::into), ..run() })
}

#[test]
fn a_target_belongs_to_a_recipe_that_has_one() {
    let settings = with_agent(Options::default(), text_agent());
    let target = |iter: Option<&str>, time: Option<&str>| {
        let run = RunOptions { iter: iter.map(Into::into), time: time.map(Into::into), ..run() };
        resolve_spec(&settings, &run).unwrap_err()
    };
    assert_eq!(target(Some("3"), Some("5m")).to_string(), "Cannot specify both --iter and --time");
    assert!(matches!(target(Some("3"), None), UsageError::NoTarget { .. }));
    assert!(target(Some("3"), None).hint().contains("promise"));
}

#[test]
fn a_target_that_is_none_says_what_would_be_one() {
    let iter = |text: &str| refined(Some(text), None, Options::default()).unwrap_err();
    let time = |text: &str| refined(None, Some(text), Options::default()).unwrap_err();
    for text in ["", "abc", "5m", "５", "五", "1.5", "--5", "5 6"] {
        assert_eq!(
            iter(text).to_string(),
            format!(
                "Invalid loop condition: '{text}'. Expected iterations (e.g., '5') or duration (e.g., '1h', '30m', '5s')"
            )
        );
        assert!(!iter(text).hint().is_empty());
    }
    assert_eq!(iter("5m").hint(), "for a duration, use --time 5m");
    for text in ["0", "-1", "101", "99999999999999999999"] {
        assert_eq!(iter(text).to_string(), format!("--iter {text} is out of range: 1–100"));
    }
    for text in ["", "5", "-5m", "5分", "1h30m", "m"] {
        assert!(time(text).to_string().starts_with(&format!("Invalid loop condition: '{text}'. ")), "{text}");
    }
    assert_eq!(time("5").hint(), "for iterations, use --iter 5; for a duration, add a unit: --time 5m");
    assert_eq!(time("0s").to_string(), "--time: a duration must be more than zero");
    assert!(time("99999999999999999999d").to_string().contains("is too long"));
    assert_eq!(refined(Some("3"), Some("5m"), Options::default()).unwrap_err(), UsageError::BothTargets);
}

#[test]
fn the_target_of_a_refine_loop_is_its_limit() {
    let spec = |iter, time, flags| refined(iter, time, flags).unwrap().spec;
    let limits = |max_iterations, duration_ms| Limits { max_iterations, duration_ms, ..Limits::default() };

    let default = spec(None, None, Options::default());
    assert_eq!(default.done, Done::Count { iterations: 5 });
    assert_eq!(default.limits, limits(Some(5), None));
    assert_eq!((default.session, default.on_failure), (SessionPolicy::Fresh, OnFailure::Continue));

    let counted = spec(Some(" 12 "), None, Options::default());
    assert_eq!((counted.done, counted.limits), (Done::Count { iterations: 12 }, limits(Some(12), None)));
    let timed = spec(None, Some("90m"), Options::default());
    assert_eq!((timed.done, timed.limits), (Done::Duration { ms: 5_400_000 }, limits(None, Some(5_400_000))));

    let fewer = Options { max_iterations: value::<Iterations>("3"), ..Options::default() };
    assert_eq!(spec(Some("12"), None, fewer.clone()).limits, limits(Some(3), None));
    assert_eq!(spec(None, Some("1h"), fewer).limits, limits(Some(3), Some(3_600_000)));
    let none = Options { max_iterations: value::<Iterations>("0"), ..Options::default() };
    assert_eq!(spec(Some("12"), None, none).limits, limits(Some(12), None), "the target bounds it");
}

#[test]
fn what_is_said_of_gates_workspace_and_context_is_in_the_specification() {
    let flags = Options {
        baseline: Some(false),
        protect: value::<Globs>("tests/**\nCargo.lock"),
        setup: value::<Commands>("npm ci"),
        copy: value::<Files>(".env"),
        context_tokens: value::<Tokens>("3000"),
        ..Options::default()
    };
    let run = RunOptions { plan: Some("1. do it".into()), ..run() };
    let spec = resolve_spec(&with_agent(flags, text_agent()), &run).unwrap().spec;
    assert_eq!(spec.protect, ["tests/**", "Cargo.lock"]);
    assert_eq!((spec.workspace.setup, spec.workspace.copy), (vec!["npm ci".to_owned()], vec![".env".to_owned()]));
    assert!(!spec.workspace.baseline);
    assert_eq!(spec.context, ContextSpec { plan: Some("1. do it".into()), max_tokens: 3000 });
    assert_eq!(spec.summariser, SummariserSettings::default());
}

#[test]
fn an_endpoint_needs_an_address_and_a_model() {
    let endpoint = || Options { summariser: Some(SummariserKind::Endpoint), ..Options::default() };
    let missing = resolve(endpoint(), text_agent()).unwrap_err();
    assert!(missing.to_string().contains("summariser_url") && missing.hint().contains("summariser_url = "));
    let at = |url: &str| Options { summariser_url: Some(url.into()), ..endpoint() };
    assert!(resolve(at("http://x/v1"), text_agent()).unwrap_err().to_string().contains("summariser_model"));
    assert_eq!(resolve(at("ftp://x"), text_agent()).unwrap_err(), UsageError::EndpointAddress);
    let whole = Options {
        summariser_model: Some("small".into()),
        summariser_key_env: Some("MY_KEY".into()),
        summariser_protocol: Some(Protocol::Anthropic),
        summary_max_tokens: value::<Tokens>("200"),
        commit_message_model: Some("tiny".into()),
        generate_summary: Some(false),
        ..at("http://x/v1")
    };
    let told = resolve(whole, text_agent()).unwrap().spec.summariser;
    let endpoint = told.endpoint.unwrap();
    assert_eq!((endpoint.base_url.as_str(), endpoint.model.as_str()), ("http://x/v1", "small"));
    assert_eq!((endpoint.api_key_env.as_deref(), endpoint.protocol), (Some("MY_KEY"), Protocol::Anthropic));
    assert_eq!((told.kind, told.summary_max_tokens, told.generate_summary), (SummariserKind::Endpoint, 200, false));
    assert_eq!(told.commit_message_model.as_deref(), Some("tiny"));
}

#[test]
fn in_place_the_loop_stays_on_the_checkouts_branch() {
    let flags = Options {
        in_place: Some(true),
        setup: value::<Commands>("make"),
        setup_credentials: Some(true),
        copy: value::<Files>(".env"),
        ..Options::default()
    };
    let run = RunOptions { allow_dirty: true, ..run() };
    let workspace = resolve_spec(&with_agent(flags, text_agent()), &run).unwrap().spec.workspace;
    assert_eq!(
        workspace,
        WorkspaceSpec {
            kind: WorkspaceKind::InPlace,
            branch: String::new(),
            base: None,
            allow_dirty: true,
            setup: vec![],
            setup_credentials: false,
            copy: vec![],
            baseline: true,
            verify: Verify::Clean,
            subdir: Some("sub".into()),
        },
        "the user's checkout is ready as it is, and has its files"
    );
}

#[test]
fn every_usage_error_has_a_way_out() {
    for error in [UsageError::EmptyGoal, UsageError::NoAgent, UsageError::UnclosedQuote, UsageError::BothTargets] {
        assert!(!error.hint().is_empty());
        assert!(!error.to_string().ends_with('.'));
    }
}

#[test]
fn what_an_agent_cannot_be_given_is_refused_before_the_loop_is_made() {
    let table = |json: serde_json::Value| json.as_object().cloned().unwrap();
    let of =
        |adapter| AgentProfile { adapter: Some(adapter), command: vec!["agent".into()], ..AgentProfile::default() };
    let cases = [
        (AgentProfile { system_prompt: Some("x".into()), ..of(AdapterKind::Command) }, "system_prompt"),
        (AgentProfile { denied_tools: vec!["x".into()], ..of(AdapterKind::Codex) }, "denied_tools"),
        (AgentProfile { settings: table(serde_json::json!({ "a": 1 })), ..of(AdapterKind::Copilot) }, "settings"),
    ];
    for (profile, key) in cases {
        let error = resolve(Options::default(), profile).unwrap_err();
        assert_eq!(error, UsageError::NotTaken { agent: "mine".into(), key });
        assert!(error.hint().contains(&format!("move {key} from [agents.mine]")), "{}", error.hint());
    }
    let claude = AgentProfile { settings: table(serde_json::json!({ "a": 1 })), ..of(AdapterKind::Claude) };
    assert!(resolve(Options::default(), claude).is_ok());
}

#[test]
fn a_directory_of_the_agents_configuration_is_meant_from_the_project() {
    for (written, meant) in [("logins/a", "/repo/logins/a"), ("/abs", "/abs"), ("~/b", "~/b")] {
        let profile =
            AgentProfile { adapter: Some(AdapterKind::Claude), config_dir: Some(written.into()), ..text_agent() };
        let spec = resolve(Options::default(), profile).unwrap().spec;
        assert_eq!(spec.agent.profile.config_dir.as_deref(), Some(meant));
    }
}
