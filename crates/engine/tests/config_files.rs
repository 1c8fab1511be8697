//! Settings files: what is taken, what is refused, and where the mistake is said to be.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tempfile::TempDir;
use windlass_core::profile::OutputFormat;
use windlass_core::spec::GateWhen;
use windlass_engine::config::{
    ConfigError, Environment, KEYS, Options, Origin, PROFILE_FIELDS, Paths, Place, Settings, Value as _, load,
};

struct Home {
    dir: TempDir,
}

impl Home {
    fn new(config: impl AsRef<[u8]>) -> Self {
        let home = Self { dir: tempfile::tempdir().unwrap() };
        fs::write(home.file(), config).unwrap();
        home
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("config.toml")
    }

    fn load(&self) -> Result<Settings, ConfigError> {
        let paths = Paths { data: self.dir.path().join("data"), user_config: self.file(), user_config_named: true };
        load(&paths, None, &Environment::default(), Options::default())
    }

    /// The error with the file's path shortened to `config.toml`, and its hint.
    fn refused(&self) -> (String, String) {
        let error = self.load().expect_err("the file has a mistake");
        let text = error.to_string().replace(&self.file().display().to_string(), "config.toml");
        (text, error.hint().unwrap_or_default())
    }
}

fn refused(config: impl AsRef<[u8]>) -> (String, String) {
    Home::new(config).refused()
}

#[test]
fn every_key_is_taken_and_remembers_its_line() {
    let text: String = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.example)).collect();
    let home = Home::new(&text);
    let settings = home.load().unwrap();
    for (index, shown) in settings.show().iter().take(KEYS.len()).enumerate() {
        assert_eq!(shown.origin, Origin::UserFile { path: home.file(), line: index + 1 }, "{}", shown.key);
        assert!(text.lines().nth(index).unwrap().starts_with(&shown.key));
    }
}

#[test]
fn values_are_shown_as_a_file_would_have_them() {
    for (line, shown) in [
        ("duration = \"2h\"", "\"2h\""),
        ("budget_usd = 3", "3.0"),
        ("max_tokens = 1_000", "1000"),
        ("on_limit = \"pause\"", "\"pause\""),
        ("question_wait = \"30m\"", "\"30m\""),
        ("completion_promise = \"DONE\"", "\"DONE\""),
        ("gates = [\"cargo test\", 'make \"x\"']", "[\"cargo test\",\"make \\\"x\\\"\"]"),
        ("hidden_gates = [\"./hidden.sh\"]", "[\"./hidden.sh\"]"),
        ("sandbox_writable = [\"~/.tool\", \"/var/cache/tool\"]", "[\"~/.tool\",\"/var/cache/tool\"]"),
        ("disk_free = 0", "\"0\""),
        ("wake = \"every 2h\"", "\"every 2h\""),
        ("queue_keep = \"30%\"", "\"30%\""),
    ] {
        let settings = Home::new(line).load().unwrap();
        let key = line.split(' ').next().unwrap();
        let found = settings.show().into_iter().find(|row| row.key == key).unwrap();
        assert_eq!(found.text(), shown, "{line}");
    }
}

#[test]
// promise: settings-6
fn a_typo_in_every_key_names_the_place_and_the_key_that_was_meant() {
    for key in KEYS.iter().map(|key| key.name).chain(["agents"]) {
        let mut typos = vec![format!("{key}x"), key.replace('_', "-").to_uppercase()];
        let swapped: String = [&key[..1], &key[2..3], &key[1..2], &key[3..]].concat();
        typos.extend([swapped, [&key[..key.len() / 2], &key[key.len() / 2 + 1..]].concat()]);
        for typo in typos.iter().filter(|typo| *typo != key) {
            let (error, hint) = refused(format!("# first line\n\n  {typo} = 1\n"));
            assert_eq!(error, format!("config.toml:3:3: unknown key '{typo}'"));
            assert_eq!(hint, format!("did you mean '{key}'?"));
        }
    }
    let (error, hint) = refused("colour = \"red\"");
    assert_eq!(error, "config.toml:1:1: unknown key 'colour'");
    assert!(hint.starts_with("known keys: agent, recipe, ") && hint.ends_with(", agents"), "{hint}");
    let (error, _) = refused("[limits]\nmax_iterations = 3\n");
    assert_eq!(error, "config.toml:1:2: unknown key 'limits'");
}

#[test]
fn a_wrong_type_names_key_place_and_what_is_expected() {
    let cases = [
        (
            "max_iterations = \"five\"",
            "config.toml:1:18: 'max_iterations' must be an integer from 1 to 100, not a string",
        ),
        ("max_iterations = 5.5", "config.toml:1:18: 'max_iterations' must be an integer from 1 to 100, not a float"),
        ("duration = 90", "config.toml:1:12: 'duration' must be a duration, not an integer"),
        ("gates = \"cargo test\"", "config.toml:1:9: 'gates' must be a list of commands, not a string"),
        ("in_place = \"yes\"", "config.toml:1:12: 'in_place' must be true or false, not a string"),
        ("budget_usd = \"2\"", "config.toml:1:14: 'budget_usd' must be an amount of US dollars, not a string"),
        ("agent = [\"a\"]", "config.toml:1:9: 'agent' must be a string, not a list"),
        ("agent = 2026-01-01", "config.toml:1:9: 'agent' must be a string, not a date"),
        ("[agent]\nx = 1", "config.toml:1:2: 'agent' must be a string, not a table"),
        ("[[agent]]\nx = 1", "config.toml:1:3: 'agent' must be a string, not a list of tables"),
        ("agents = 3", "config.toml:1:10: 'agents' must be a table of agents, not an integer"),
        ("[agents]\nmine = \"x\"", "config.toml:2:8: 'agents.mine' must be a table, not a string"),
        (
            "[agents.mine]\ncommand = \"x y\"",
            "config.toml:2:11: 'agents.mine.command' must be a list of strings, not a string",
        ),
        (
            "[agents.mine]\nloop_enabled = 1",
            "config.toml:2:16: 'agents.mine.loop_enabled' must be true or false, not an integer",
        ),
        (
            "[agents.mine]\nmax_iterations = \"3\"",
            "config.toml:2:18: 'agents.mine.max_iterations' must be an integer, not a string",
        ),
        ("[agents.mine]\nenv = [\"A=1\"]", "config.toml:2:7: 'agents.mine.env' must be a table of strings, not a list"),
    ];
    for (text, says) in cases {
        let (error, hint) = refused(text);
        assert_eq!(error, says);
        assert!(hint.starts_with("for example: "), "{text}: {hint}");
    }
    assert_eq!(refused("duration = 90").1, "for example: duration = \"90m\"");
    for key in KEYS {
        let (error, hint) = refused(format!("{} = {{ x = 1 }}", key.name));
        assert!(error.ends_with(&format!("'{}' must be {}, not a table", key.name, key.expected)), "{error}");
        let example = hint.strip_prefix("for example: ").unwrap();
        Home::new(example).load().unwrap_or_else(|error| panic!("the example '{example}' does not work: {error}"));
    }
}

#[test]
// promise: settings-6
fn a_value_that_cannot_be_says_why_and_where() {
    let cases = [
        ("max_iterations = 101", "'max_iterations': 101 iterations are out of range: 1–100"),
        ("max_iterations = -1", "'max_iterations': -1 iterations are out of range: 1–100"),
        ("max_tokens = 0", "'max_tokens': the number of tokens must be more than zero"),
        ("max_running = 0", "'max_running': the number of running loops must be more than zero"),
        ("max_running = 99999999999", "'max_running': '99999999999' is not a positive integer"),
        ("budget_usd = nan", "'budget_usd': $NaN is not a valid budget"),
        ("budget_usd = -0.5", "'budget_usd': $-0.5 is not a valid budget"),
        ("duration = \"90\"", "'duration': `90` is not a duration"),
        ("duration = \"0s\"", "'duration': a duration must be more than zero"),
        ("session = \"resum\"", "'session': 'resum' is not a known session policy"),
        ("network_hosts = [\"@all\"]", "'network_hosts': unknown host list '@all'; use @models or @registries"),
        (
            "network_hosts = [\"a b\"]",
            "'network_hosts': 'a b' is not a valid host; use example.org, example.org:8443, *.example.org, or an IP address",
        ),
        ("memory_limit = \"8 gigs\"", "'memory_limit': `8 gigs` is not a size"),
        ("disk_limit = 8", "'disk_limit': `8` is not a size"),
        ("process_limit = 2", "'process_limit': 2 is out of range for a number of processes"),
        ("cpu_weight = 0", "'cpu_weight': 0 is out of range for a weight"),
        ("network = \"none\"", "'network': 'none' is not a known network access"),
        ("sandbox_writable = [\"relative\"]", "'sandbox_writable': 'relative' is not an absolute path"),
        ("sandbox = \"podman\"", "'sandbox': 'podman' is not a known sandbox"),
        ("gates = [\"ok\", 3]", "'gates': item 2 of the list is neither a string nor a table"),
        ("gates = [\"\"]", "'gates': a gate is blank"),
        ("gates = [{ timeout = \"1m\" }]", "'gates': item 1 of the list has no command"),
        ("gates = [{ command = \"x\", whem = 1 }]", "'gates': item 1 of the list has an unknown key 'whem'"),
        ("gates = [{ command = \"x\", when = \"now\" }]", "'gates': item 1 of the list has an unknown 'when'"),
        ("gates = [{ command = \"x\", timeout = \"1\" }]", "'gates': `1` is not a duration"),
        ("gates = [{ command = 1 }]", "'gates': item 1 of the list has a command that is not a string"),
        ("protect = [\"/etc/*\"]", "'protect': '/etc/*' is not a path inside the repository"),
        ("protect = [\":(top)x\"]", "'protect': ':(top)x' is not a path inside the repository"),
        ("env_pass = [\"A B\"]", "'env_pass': 'A B' is not the name of an environment variable"),
        ("env_pass = [\"*\"]", "'env_pass': '*' is not the name of an environment variable"),
        ("copy = [\"../x\"]", "'copy': '../x' is not a path inside the repository"),
        ("copy = [\".git/config\"]", "'copy': '.git/config' is not a path inside the repository"),
        ("setup = [\" \"]", "'setup': a command is blank"),
        ("summariser = \"agents\"", "'summariser': 'agents' is not a known summariser"),
        ("retention_days = -1", "'retention_days': -1 days are out of range"),
        ("agent = \" \"", "'agent': the value is blank"),
        ("branch = \"a b\"", "'branch': 'a b' is not a valid branch name"),
        ("completion_promise = \"a\\nb\"", "'completion_promise': the completion promise spans more than one line"),
        ("[agents.x]\noutput = \"json\"", "'agents.x.output': 'json' is not a known output"),
        ("[agents.x]\ncommand = [\"a\", 1]", "'agents.x.command': item 2 of the list is not a string"),
        ("[agents.x.env]\nA = 1", "'agents.x.env': 'A' is not a string"),
    ];
    for (text, says) in cases {
        let (error, _) = refused(text);
        let (place, rest) = error.split_once(": ").unwrap();
        assert!(place.starts_with("config.toml:"), "{error}");
        let says = says.strip_prefix("'").unwrap();
        assert_eq!(rest.strip_prefix("'").unwrap(), says, "{text}");
    }
    let hint = refused("session = \"resum\"").1;
    assert_eq!(hint, "did you mean 'resume'? possible values: resume, fresh, keep_alive");
}

#[test]
fn a_gate_can_say_more_than_its_command() {
    let inline = "gates = [\"a\", { command = \"b\", timeout = \"2m\", when = \"claim\" }]";
    let tables = "[[gates]]\ncommand = \"a\"\n\n[[gates]]\ncommand = \"b\"\ntimeout = \"2m\"\nwhen = \"claim\"\n";
    let read = |text: &str| Home::new(text).load().unwrap().gates.value.unwrap();
    assert_eq!(read(inline), read(tables));
    let gates = read(inline);
    assert_eq!(gates.commands(), ["a", "b"]);
    assert_eq!((gates.get()[0].when, gates.get()[0].timeout), (GateWhen::Turn, None));
    assert_eq!(gates.get()[1].when, GateWhen::Claim);
    assert_eq!(gates.get()[1].timeout.unwrap().get(), 120_000);
    let again = format!("gates = {}", toml_of(&gates.json()));
    assert_eq!(read(&again), gates, "what is shown can be written");
}

/// JSON's lists and texts are TOML's; only a table looks different.
fn toml_of(json: &serde_json::Value) -> String {
    match json {
        serde_json::Value::Object(fields) => {
            let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        serde_json::Value::Array(items) => format!("[{}]", items.iter().map(toml_of).collect::<Vec<_>>().join(", ")),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => json.to_string(),
    }
}

#[test]
fn profiles_name_their_unknown_keys_too() {
    for field in PROFILE_FIELDS {
        let typo = format!("{}s", field.name);
        let (error, hint) = refused(format!("[agents.mine]\n{typo} = 1\n"));
        assert_eq!(error, format!("config.toml:2:1: unknown key 'agents.mine.{typo}'"));
        assert_eq!(hint, format!("did you mean '{}'?", field.name));
    }
}

#[test]
fn the_table_of_profile_fields_is_the_profile() {
    let error = serde_json::from_str::<windlass_core::profile::AgentProfile>("{\"?\": 1}").unwrap_err().to_string();
    let listed = error.split_once("expected one of ").unwrap().1;
    let fields: Vec<_> = listed.split('`').skip(1).step_by(2).collect();
    assert_eq!(fields, PROFILE_FIELDS.map(|field| field.name));
}

#[test]
fn what_a_loop_gives_its_agent_is_read_in_every_form_of_toml() {
    let inline = r#"
        [agents.claude]
        mcp_servers = { probe = { command = "probe", args = ["-x"], env = { K = "v" } } }
        settings = { a = { b = [1, 2.5, true], when = 2026-01-02 }, list = [{ c = "d" }] }
        prices = { "my/model" = { input = 1, output = 2.5, cache_read = 0.1 } }
        denied_tools = ["WebFetch"]
        config_dir = "~/other"
        system_prompt = "Be kind."
    "#;
    let tables = r#"
        [agents.claude]
        denied_tools = ["WebFetch"]
        config_dir = "~/other"
        system_prompt = "Be kind."
        [agents.claude.mcp_servers.probe]
        command = "probe"
        args = ["-x"]
        env.K = "v"
        [agents.claude.settings.a]
        b = [1, 2.5, true]
        when = 2026-01-02
        [[agents.claude.settings.list]]
        c = "d"
        [agents.claude.prices."my/model"]
        input = 1
        output = 2.5
        cache_read = 0.1
    "#;
    let read = |text: &str| Home::new(text).load().unwrap().agents["claude"].profile.clone();
    let profile = read(inline);
    assert_eq!(read(tables), profile);
    assert_eq!(profile.mcp_servers["probe"].env["K"], "v");
    let settings = serde_json::json!({ "a": { "b": [1, 2.5, true], "when": "2026-01-02" }, "list": [{ "c": "d" }] });
    assert_eq!(serde_json::Value::Object(profile.settings), settings);
    let price = profile.prices["my/model"];
    assert_eq!((price.input, price.output, price.cache_read, price.cache_write), (1.0, 2.5, Some(0.1), None));
    assert_eq!(profile.config_dir.as_deref(), Some("~/other"));
}

#[test]
fn a_mistake_deep_in_a_profile_names_the_key_and_what_it_should_be() {
    let cases = [
        ("mcp_servers.p.comand = \"x\"", "unknown key 'agents.a.mcp_servers.p.comand'", "did you mean 'command'?"),
        ("mcp_servers.p.args = [\"x\"]", "'agents.a.mcp_servers.p': command is missing", "for example: { NAME = {"),
        ("mcp_servers.p.command = 3", "'agents.a.mcp_servers.p.command' must be a string, not an integer", "text"),
        ("mcp_servers.p.command = \" \"", "'agents.a.mcp_servers.p.command': the value is blank", "enter a value"),
        ("mcp_servers.p = \"x\"", "'agents.a.mcp_servers.p' must be a table, not a string", "for example"),
        ("mcp_servers = [\"x\"]", "'agents.a.mcp_servers' must be a table of MCP servers, not a list", "NAME"),
        ("mcp_servers.\"a b\".command = \"x\"", "'a b' is not a valid name for an MCP server", "letters"),
        ("mcp_servers.windlass.command = \"x\"", "reserved for Windlass's own MCP server", "another name"),
        ("prices.m.inptu = 1", "unknown key 'agents.a.prices.m.inptu'", "did you mean 'input'?"),
        ("prices.m = { input = 1 }", "'agents.a.prices.m': output is missing", "for example"),
        ("prices.m = { input = -1, output = 1 }", "$-1 is not a valid price", "zero or more"),
        ("prices.m = { input = nan, output = 1 }", "$NaN is not a valid price", "zero or more"),
        ("prices.m = { input = \"1\", output = 1 }", "must be a number of US dollars, not a string", "2.5"),
        ("settings = \"x\"", "'agents.a.settings' must be a table, not a string", "key"),
        ("denied_tools = \"x\"", "'agents.a.denied_tools' must be a list of strings, not a string", "argument"),
        ("config_dir = \"\"", "'agents.a.config_dir': the value is blank", "enter a value"),
        ("system_prmpt = \"x\"", "unknown key 'agents.a.system_prmpt'", "did you mean 'system_prompt'?"),
    ];
    for (line, problem, hint) in cases {
        let (error, said) = refused(format!("[agents.a]\n{line}\n"));
        assert!(error.starts_with("config.toml:2:"), "{line}: {error}");
        assert!(error.contains(problem), "{line}: {error}");
        assert!(said.contains(hint), "{line}: {said}");
    }
}

#[test]
fn a_mistake_in_the_projects_file_is_found_as_in_the_users() {
    let home = Home::new("");
    let root = home.dir.path().join("project");
    fs::create_dir_all(root.join(".windlass")).unwrap();
    fs::write(root.join(".windlass/config.toml"), "[agents.a]\nmax_iteration = 3\n").unwrap();
    let paths = Paths { data: home.dir.path().join("data"), user_config: home.file(), user_config_named: true };
    let error = load(&paths, Some(&root), &Environment::default(), Options::default()).unwrap_err();
    assert!(error.to_string().ends_with(".windlass/config.toml:2:1: unknown key 'agents.a.max_iteration'"), "{error}");
    assert_eq!(error.hint().unwrap(), "did you mean 'max_iterations'?");
}

#[test]
fn hidden_gates_in_the_projects_file_are_an_error_that_says_why() {
    let home = Home::new("hidden_gates = [\"./hidden.sh\"]\n");
    assert!(home.load().is_ok(), "the user's own file may have them");
    let root = home.dir.path().join("project");
    fs::create_dir_all(root.join(".windlass")).unwrap();
    fs::write(root.join(".windlass/config.toml"), "hidden_gates = [\"./hidden.sh\"]\n").unwrap();
    let paths = Paths { data: home.dir.path().join("data"), user_config: home.file(), user_config_named: true };
    let error = load(&paths, Some(&root), &Environment::default(), Options::default()).unwrap_err();
    assert!(error.to_string().contains("config.toml:1:1: 'hidden_gates' cannot be set in a project's file"), "{error}");
    assert!(error.hint().unwrap().starts_with("set it in your own settings"));
}

#[test]
fn profiles_can_be_written_in_every_form_of_toml() {
    for text in [
        "[agents.mine]\ncommand = [\"a\", \"b\"]\noutput = \"jsonl\"\nenv = { K = \"v\" }\n",
        "[agents.mine]\ncommand = [\"a\", \"b\"]\noutput = \"jsonl\"\n[agents.mine.env]\nK = \"v\"\n",
        "agents.mine.command = [\"a\", \"b\"]\nagents.mine.output = \"jsonl\"\nagents.mine.env.K = \"v\"\n",
        "agents = { mine = { command = [\"a\", \"b\"], output = \"jsonl\", env = { K = \"v\" } } }\n",
    ] {
        let settings = Home::new(text).load().unwrap();
        let profile = &settings.agents["mine"].profile;
        assert_eq!(profile.command, ["a", "b"], "{text}");
        assert_eq!(profile.output, Some(OutputFormat::Jsonl));
        assert_eq!(profile.env["K"], "v");
    }
}

#[test]
// promise: bounds-4
fn iterations_of_a_profile_are_clamped_whatever_the_number() {
    for (text, expected) in [("-5", 1), ("0", 1), ("1", 1), ("100", 100), ("101", 100), ("9000000000000000000", 100)] {
        let settings = Home::new(format!("[agents.mine]\nmax_iterations = {text}\n")).load().unwrap();
        assert_eq!(settings.agents["mine"].profile.iterations(), expected, "{text}");
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    let text = "\u{feff}agent = \"a\"\r\n# comment\r\nmax_iterations = 3\r\n";
    let home = Home::new(text);
    let settings = home.load().unwrap();
    assert_eq!(settings.agent.value.as_deref(), Some("a"));
    assert_eq!(settings.max_iterations.origin, Origin::UserFile { path: home.file(), line: 3 });
    assert_eq!(refused("\u{feff}agnet = 1\r\n").0, "config.toml:1:1: unknown key 'agnet'");
    assert_eq!(refused("\u{feff}\r\nagent = 1\r\n").0, "config.toml:2:9: 'agent' must be a string, not an integer");
}

#[test]
fn columns_count_characters() {
    assert_eq!(
        refused("agents.\"修复\".command = 3").0,
        "config.toml:1:23: 'agents.修复.command' must be a list of strings, not an integer"
    );
}

#[test]
fn broken_toml_names_the_place() {
    for (text, place) in [
        ("agent = \"a\nmax_tokens = 3\n", "config.toml:1:"),
        ("agent = \"a\"\nagent = \"b\"\n", "config.toml:2:1: "),
        ("[agents.x]\nmodel = \"a\"\n[agents.x]\nmodel = \"b\"\n", "config.toml:3:"),
        ("gates = [\"a\"\n", "config.toml:"),
        ("= 3\n", "config.toml:1:1: "),
        ("agent\n", "config.toml:1:"),
        ("<<<<<<< HEAD\n", "config.toml:1:"),
    ] {
        let (error, hint) = refused(text);
        assert!(error.starts_with(place), "{text:?}: {error}");
        assert!(!error.contains('\n'), "{error}");
        assert!(hint.contains("TOML"), "{hint}");
    }
}

#[test]
fn a_file_cut_off_anywhere_is_read_or_refused_but_never_a_panic() {
    let text = "agent = \"修\"\ngates = [\"a\", 'b']\n[agents.\"x y\"]\ncommand = [\"a\"]\nenv = { A = \"1\" }\n# 复\n"
        .as_bytes();
    for end in 0..text.len() {
        if let Err(error) = Home::new(&text[..end]).load() {
            assert!(error.to_string().contains("config.toml:"), "{error}");
        }
    }
    let deep = format!("gates = {}", "[".repeat(50_000));
    assert!(matches!(Home::new(deep).load(), Err(ConfigError::Syntax { .. })));
}

#[test]
fn a_file_that_is_not_text_names_the_first_bad_byte() {
    let (error, hint) = refused(b"agent = \"a\"\nmodel = \"\xff\"\n");
    assert_eq!((error.as_str(), hint.as_str()), ("config.toml:2:10 is not valid UTF-8", "save the file as UTF-8"));
    assert!(matches!(
        Home::new(b"\xff\xfea\0").load(),
        Err(ConfigError::NotText { place: Place::File { line: 1, column: 1, .. } })
    ));
}

#[test]
fn a_missing_file_says_nothing_and_an_unreadable_one_is_an_error() {
    let home = Home::new("");
    assert!(home.load().unwrap().warnings.is_empty(), "an empty file is fine");
    fs::remove_file(home.file()).unwrap();
    let settings = home.load().unwrap();
    assert_eq!(settings.warnings.len(), 1);
    assert!(
        settings.warnings[0].starts_with("WINDLASS_CONFIG names "),
        "a missing file that was named is worth a word"
    );

    fs::create_dir(home.file()).unwrap();
    let error = home.load().unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }), "{error:?}");
    assert!(std::error::Error::source(&error).is_some());

    let home = Home::new(vec![b'#'; 2 << 20]);
    assert!(matches!(home.load(), Err(ConfigError::TooLarge { .. })));

    // Nobody writes to this pipe, so reading it would not end.
    let home = Home::new("");
    fs::remove_file(home.file()).unwrap();
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, home.file(), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(matches!(home.load(), Err(ConfigError::Unreadable { .. })));

    let home = Home::new("agent = \"a\"");
    fs::set_permissions(home.file(), fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything, so there the file counts as readable.
    if fs::read(home.file()).is_err() {
        assert!(matches!(home.load(), Err(ConfigError::Unreadable { .. })));
    }
}
