//! Layers on top of each other, the environment, and where the files are.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;
use windlass_core::spec::{CommitPolicy, SessionPolicy};
use windlass_engine::config::{
    ConfigError, Environment, Gates, Iterations, KEYS, Options, Origin, Paths, Settings, environment, load, schema,
};

struct World {
    dir: TempDir,
    env: Vec<(OsString, OsString)>,
}

impl World {
    fn new(user: &str, project: &str) -> Self {
        let world = Self { dir: tempfile::tempdir().unwrap(), env: Vec::new() };
        fs::write(world.user(), user).unwrap();
        fs::create_dir_all(world.project().parent().unwrap()).unwrap();
        fs::write(world.project(), project).unwrap();
        world
    }

    fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    fn user(&self) -> PathBuf {
        self.dir.path().join("user.toml")
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("repo/.windlass/config.toml")
    }

    fn load(&self, flags: Options) -> Result<Settings, ConfigError> {
        let paths = Paths { data: self.dir.path().into(), user_config: self.user(), user_config_named: false };
        let env = self.env.iter().cloned().collect();
        load(&paths, Some(&self.dir.path().join("repo")), &env, flags)
    }
}

fn origin_of(settings: &Settings, key: &str) -> Origin {
    settings.show().into_iter().find(|shown| shown.key == key).unwrap().origin
}

#[test]
// promise: settings-5
fn each_layer_wins_over_those_below_it_key_by_key() {
    let user = "agent = \"user\"\nmodel = \"user\"\nmax_iterations = 1\ngates = [\"user\"]\n";
    let world = World::new(user, "model = \"project\"\nmax_iterations = 2\ngates = [\"project\"]\n")
        .env("WINDLASS_MAX_ITERATIONS", "3")
        .env("WINDLASS_GATES", "env a\n\nenv b\n");
    let flags = Options { gates: Some(Gates::new(vec!["flag".into()]).unwrap()), ..Options::default() };
    let settings = world.load(flags).unwrap();

    assert_eq!(settings.commit.value, Some(CommitPolicy::Engine));
    assert_eq!(settings.commit.origin, Origin::Default);
    assert_eq!(settings.agent.value.as_deref(), Some("user"));
    assert_eq!(settings.agent.origin, Origin::UserFile { path: world.user(), line: 1 });
    assert_eq!(settings.model.value.as_deref(), Some("project"));
    assert_eq!(settings.model.origin, Origin::ProjectFile { path: world.project(), line: 1 });
    assert_eq!(settings.max_iterations.value.unwrap().get(), Some(3));
    assert_eq!(settings.max_iterations.origin, Origin::Env { name: "WINDLASS_MAX_ITERATIONS".into() });
    assert_eq!(settings.gates.value.as_ref().unwrap().commands(), ["flag"], "lists are replaced, not joined");
    assert_eq!(settings.gates.origin, Origin::Flag { name: "--gate".into() });

    let settings = world.load(Options::default()).unwrap();
    assert_eq!(settings.gates.value.unwrap().commands(), ["env a", "env b"]);
}

#[test]
// promise: settings-5
fn every_key_can_be_set_by_every_layer() {
    // What a project's file may not have is refused there, and tested with the files.
    for key in KEYS.iter().filter(|key| key.name != "hidden_gates") {
        let example = key.example;
        let text = serde_json::from_str::<serde_json::Value>(example).unwrap();
        let first = text.as_array().map_or(&text, |items| &items[0]);
        let in_env = first.as_str().map_or_else(|| first.to_string(), str::to_owned);
        let line = format!("{} = {example}\n", key.name);
        let user = World::new(&line, "");
        let project = World::new("", &line);
        let env = World::new("", "").env(key.env, in_env);
        let project_origin = Origin::ProjectFile { path: project.project(), line: 1 };
        let user_origin = Origin::UserFile { path: user.user(), line: 1 };
        let [user, project, env] = [user, project, env].map(|world| world.load(Options::default()).unwrap());
        assert_eq!(origin_of(&user, key.name), user_origin);
        assert_eq!(origin_of(&project, key.name), project_origin);
        assert_eq!(origin_of(&env, key.name), Origin::Env { name: key.env.into() });
        let values = [user, project, env].map(|s| s.show().into_iter().find(|s| s.key == key.name).unwrap().value);
        assert!(values[0] == values[1] && values[1] == values[2] && !values[0].is_null(), "{}: {values:?}", key.name);
        assert_eq!(key.env, format!("WINDLASS_{}", key.name.to_uppercase()));
    }
}

#[test]
fn defaults_are_those_of_the_contract() {
    let settings = World::new("", "").load(Options::default()).unwrap();
    let shown: BTreeMap<String, String> = settings.show().iter().map(|s| (s.key.clone(), s.text())).collect();
    let expected = [
        ("agent", "(the first installed one)"),
        ("recipe", "\"promise\""),
        ("model", "(the agent's default)"),
        ("fallbacks", "(none)"),
        ("reviewer", "(the same agent, in a separate session)"),
        ("reviewer_fallbacks", "(none)"),
        ("reviewer_budget_usd", "(no separate limit)"),
        ("warnings_block", "(false)"),
        ("plan_first", "(false)"),
        ("human_review", "(false)"),
        ("auto_start", "(false)"),
        ("wake", "(manual)"),
        ("recover", "(true for milestones)"),
        ("vision", "(VISION.md)"),
        ("soul", "(.windlass/soul.md)"),
        ("memory", "(.windlass/memory.md)"),
        ("post_action", "(none)"),
        ("post_action_skill", "(none)"),
        ("max_iterations", "5"),
        ("duration", "(no limit)"),
        ("budget_usd", "(no limit)"),
        ("max_tokens", "(no limit)"),
        ("on_limit", "\"stop\""),
        ("on_rate_limit", "\"wait\""),
        ("question_wait", "\"0\""),
        ("completion_promise", "\"<promise>COMPLETE</promise>\""),
        ("gates", "[]"),
        ("hidden_gates", "[]"),
        ("verify", "\"clean\""),
        ("gate_timeout", "\"10m\""),
        ("baseline", "true"),
        ("protect", "[]"),
        ("turn_timeout", "\"1h\""),
        ("stall_timeout", "\"5m\""),
        ("session", "\"resume\""),
        ("commit", "\"engine\""),
        ("branch", "\"windlass/{name}\""),
        ("in_place", "false"),
        ("setup", "[]"),
        ("setup_credentials", "false"),
        ("copy", "[]"),
        ("secrets_allow", "[]"),
        ("env_pass", "[]"),
        ("sandbox", "\"auto\""),
        ("docker_image", "(none)"),
        ("docker_host", "(DOCKER_HOST, or Docker's default socket)"),
        ("network", "\"allow\""),
        ("network_hosts", "[\"@models\",\"@registries\"]"),
        ("sandbox_readable", "(none)"),
        ("sandbox_writable", "(none)"),
        ("sandbox_denied", "(none)"),
        ("sandbox_sockets", "(none)"),
        ("memory_limit", "(80% of the machine's memory)"),
        ("process_limit", "(a quarter of the machine's limit, at most 16384)"),
        ("cpu_weight", "100"),
        ("disk_limit", "(no limit)"),
        ("disk_free", "(1GiB, or 5% of a small disk)"),
        ("plan", "(the newest one in plan_dirs)"),
        ("plan_dirs", "[\".windlass/plans\",\".claude/plans\"]"),
        ("context_tokens", "8000"),
        ("summariser", "\"deterministic\""),
        ("summariser_agent", "(the loop's agent)"),
        ("summariser_url", "(none)"),
        ("summariser_model", "(none)"),
        ("summariser_protocol", "\"openai\""),
        ("summariser_key_env", "(none)"),
        ("summariser_timeout", "\"1m\""),
        ("generate_summary", "true"),
        ("summary_max_tokens", "500"),
        ("commit_message_model", "(the summariser's)"),
        ("retention_days", "14"),
        ("follow_up", "(\"continue\" in the configured language)"),
        ("language", "\"en\""),
        ("notify_command", "(none)"),
        ("notify_webhook", "(none)"),
        ("notify_webhook_secret_env", "(none (not signed))"),
        ("notify_desktop", "false"),
        ("notify_on", "[\"needs_person\",\"completed\",\"stopped\"]"),
        ("merge_returns", "2"),
        ("max_running", "8"),
        ("queue_per_project", "2"),
        ("queue_per_account", "2"),
        ("queue_tokens_per_hour", "(none)"),
        ("queue_usd_per_hour", "(none)"),
        ("queue_merge", "false"),
        ("queue_keep", "\"20%\""),
    ];
    for (key, text) in expected {
        assert_eq!(shown[key], text, "{key}");
    }
    assert!(settings.show().iter().all(|shown| shown.origin == Origin::Default));
}

#[test]
fn an_unknown_recipe_does_not_keep_the_settings_from_being_shown() {
    let settings = World::new("recipe = \"nonsense\"", "").load(Options::default()).unwrap();
    assert_eq!(settings.session.value, None::<SessionPolicy>);
    assert_eq!(settings.recipe.value.as_deref(), Some("nonsense"));
}

#[test]
fn profiles_are_overlaid_field_by_field_with_origins() {
    let world = World::new(
        "[agents.mine]\ncommand = [\"user\"]\nmodel = \"m\"\nenv = { A = \"1\", B = \"1\" }\n[agents.demo]\nmax_iterations = 9\n",
        "[agents.mine]\ncommand = [\"project\"]\nenv = { B = \"2\" }\n",
    );
    let settings = world.load(Options::default()).unwrap();
    let mine = &settings.agents["mine"].profile;
    assert_eq!((mine.command[0].as_str(), mine.model.as_deref()), ("project", Some("m")));
    assert_eq!((mine.env["A"].as_str(), mine.env["B"].as_str()), ("1", "2"));
    assert_eq!(origin_of(&settings, "agents.mine.command"), Origin::ProjectFile { path: world.project(), line: 2 });
    assert_eq!(origin_of(&settings, "agents.mine.model"), Origin::UserFile { path: world.user(), line: 3 });
    let demo = &settings.agents["demo"].profile;
    assert_eq!((demo.command.join(" ").as_str(), demo.max_iterations), ("{self} demo-agent", Some(9)));
    assert_eq!(origin_of(&settings, "agents.demo.command"), Origin::Default);
    assert_eq!(origin_of(&settings, "agents.demo.max_iterations"), Origin::UserFile { path: world.user(), line: 6 });
}

#[test]
fn a_mistake_in_the_environment_names_the_variable() {
    let error = World::new("", "").env("WINDLASS_MAX_ITERATIONS", "500").load(Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the environment variable WINDLASS_MAX_ITERATIONS: 'max_iterations': 500 iterations are out of range: 1–100"
    );
    let bytes = OsString::from_vec(vec![b'a', 0xff]);
    let error = World::new("", "").env("WINDLASS_AGENT", bytes.clone()).load(Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "the environment variable WINDLASS_AGENT is not valid UTF-8");
    assert!(error.hint().unwrap().contains("WINDLASS_AGENT"));

    let world = World::new("", "").env("OTHER", bytes.clone()).env(bytes, "x");
    world.load(Options::default()).expect("what is not ours may hold any bytes");
}

#[test]
fn an_empty_variable_is_not_set() {
    let settings = World::new("agent = \"a\"", "").env("WINDLASS_AGENT", "").load(Options::default()).unwrap();
    assert_eq!(settings.agent.value.as_deref(), Some("a"));
}

#[test]
fn switches_in_the_environment_take_the_usual_words() {
    for (text, expected) in [("1", true), ("true", true), ("YES", true), ("on", true), ("0", false), ("off", false)] {
        let settings = World::new("", "").env("WINDLASS_IN_PLACE", text).load(Options::default()).unwrap();
        assert_eq!(settings.in_place.value, Some(expected), "{text}");
    }
    assert!(World::new("", "").env("WINDLASS_IN_PLACE", "perhaps").load(Options::default()).is_err());
}

#[test]
fn an_unknown_variable_of_ours_is_a_warning_with_the_nearest_name() {
    let world = World::new("", "")
        .env("WINDLASS_MAX_ITERATION", "3")
        .env("WINDLASS_CONFGI", "x")
        .env("WINDLASS_XYZZY", "x")
        .env("WINDLASS_LOOP", "id")
        .env("WINDLASS_TURN", "id.1.coder.1")
        .env("WINDLASS_TEST_WORLD", "x")
        .env("WINDLASS_SANDBOX", "off")
        .env("WINDLASSO", "x");
    assert_eq!(
        world.load(Options::default()).unwrap().warnings,
        [
            "environment variable WINDLASS_CONFGI is not recognized; did you mean WINDLASS_CONFIG?",
            "environment variable WINDLASS_MAX_ITERATION is not recognized; did you mean WINDLASS_MAX_ITERATIONS?",
            "environment variable WINDLASS_XYZZY is not recognized",
        ]
    );
}

#[test]
fn every_variable_is_declared_once_with_a_word_on_it() {
    let mut names: Vec<_> = environment().map(|variable| variable.name).collect();
    for name in ["WINDLASS_HOME", "WINDLASS_CONFIG", "RUST_LOG", "NO_COLOR", "WINDLASS_SANDBOX"] {
        assert!(names.contains(&name), "{name}");
    }
    assert!(environment().all(|variable| !variable.doc.is_empty()));
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn the_language_is_the_locales_unless_a_file_says_otherwise() {
    let language = |world: World| world.load(Options::default()).unwrap().language;
    let found = language(World::new("", "").env("LANG", "zh_TW.UTF-8"));
    assert_eq!((found.value.as_deref(), found.origin), (Some("zh-TW"), Origin::Env { name: "LANG".into() }));
    let found = language(World::new("", "").env("LANG", "zh_TW.UTF-8").env("LC_ALL", "C"));
    assert_eq!((found.value.as_deref(), found.origin), (Some("en"), Origin::Default));
    let found = language(World::new("language = \"de\"", "").env("LANG", "zh_TW.UTF-8"));
    assert_eq!(found.value.as_deref(), Some("de"));
}

#[test]
#[cfg(not(target_os = "macos"))]
fn paths_follow_the_environment() {
    let paths = |vars: &[(&str, &str)]| Paths::from_env(&vars.iter().copied().collect(), Path::new("/cwd"));
    let both = |vars: &[(&str, &str)]| paths(vars).map(|paths| (paths.data, paths.user_config)).unwrap();
    let expect = |data: &str, config: &str| (PathBuf::from(data), PathBuf::from(config));
    assert_eq!(both(&[("HOME", "/h")]), expect("/h/.local/share/windlass", "/h/.config/windlass/config.toml"));
    assert_eq!(
        both(&[("HOME", "/h"), ("XDG_DATA_HOME", "/d"), ("XDG_CONFIG_HOME", "/c")]),
        expect("/d/windlass", "/c/windlass/config.toml")
    );
    assert_eq!(
        both(&[("HOME", "/h"), ("XDG_DATA_HOME", "relative"), ("XDG_CONFIG_HOME", "")]),
        expect("/h/.local/share/windlass", "/h/.config/windlass/config.toml"),
        "a relative or empty XDG directory is ignored"
    );
    assert_eq!(both(&[("WINDLASS_HOME", "data"), ("WINDLASS_CONFIG", "/x.toml")]), expect("/cwd/data", "/x.toml"));
    let error = paths(&[]).unwrap_err();
    assert_eq!(error.to_string(), "cannot find the directory for data: neither HOME nor WINDLASS_HOME is set");
    assert_eq!(error.hint().unwrap(), "set HOME, or WINDLASS_HOME");

    let odd = OsString::from_vec(b"/h\xff".to_vec());
    let env: Environment = [(OsString::from("HOME"), odd.clone())].into_iter().collect();
    let data = Paths::from_env(&env, Path::new("/")).unwrap().data;
    assert_eq!(data, PathBuf::from(odd).join(".local/share/windlass"), "a home of any bytes is a home");
}

#[test]
// promise: settings-2
fn the_schema_has_the_loop_fields_of_a_profile() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    let definition = &schema["definitions"]["CopilotLoopConfig"];
    assert_eq!(definition["title"], "CopilotLoopConfig");
    let fields = &definition["properties"];
    let of = |field: &str, key: &str| fields[field][key].clone();
    assert_eq!(of("loop_enabled", "title"), "Enable Loop");
    assert_eq!(of("loop_enabled", "type"), json!(["boolean", "null"]));
    assert_eq!(of("loop_enabled", "default"), json!(false));
    assert_eq!(of("loop_enabled", "description"), "Enable automatic loop until task completion");
    assert_eq!(of("max_iterations", "title"), "Max Iterations");
    assert_eq!(of("max_iterations", "type"), json!(["integer", "null"]));
    assert_eq!((of("max_iterations", "minimum"), of("max_iterations", "maximum")), (json!(1), json!(100)));
    assert_eq!(of("max_iterations", "default"), json!(5));
    assert_eq!(of("max_iterations", "description"), "Maximum number of loop iterations");
    assert_eq!(of("completion_promise", "title"), "Completion Promise");
    assert_eq!(of("completion_promise", "type"), json!(["string", "null"]));
    assert!(fields["completion_promise"].as_object().unwrap()["default"].is_null());
    let description = of("completion_promise", "description");
    assert!(description.as_str().unwrap().starts_with("Exact string that signals task completion"));
    assert!(description.as_str().unwrap().contains("<promise>COMPLETE</promise>"));

    let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
    for key in KEYS {
        assert!(keys.contains(&key.name.to_owned()), "{}", key.name);
    }
    assert_eq!(keys.len(), KEYS.len() + 1);
    for (field, profile) in schema["definitions"]["AgentProfile"]["properties"].as_object().unwrap() {
        if let Some(target) = profile["$ref"].as_str() {
            assert!(schema.pointer(target.strip_prefix('#').unwrap()).is_some(), "{field}: {target}");
        }
    }
    assert_eq!(schema["additionalProperties"], false);
    assert!(Iterations::new(100).is_ok() && Iterations::new(101).is_err());
}
