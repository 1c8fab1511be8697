//! What a CLI needs to run against the scripted model: environment and files, in its own home.
//!
//! Invariant: nothing here reaches beyond loopback: updates, telemetry and downloads are off wherever they can be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Cli;
use super::places::{cache_dir, node};

/// The key that every CLI is given; no service knows it.
pub const KEY: &str = "test-key";

/// How to start one CLI against one model server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliSetup {
    pub program: PathBuf,
    /// On top of the environment of a [`crate::World`]; an agent profile of Windlass can carry it as it is.
    pub env: BTreeMap<String, String>,
    /// Files to write first, with their content.
    pub files: BTreeMap<PathBuf, String>,
}

impl CliSetup {
    /// # Panics
    /// If a file cannot be written.
    pub fn write_files(&self) {
        for (path, content) in &self.files {
            let dir = path.parent().expect("a file is in a directory");
            std::fs::create_dir_all(dir)
                .and_then(|()| std::fs::write(path, content))
                .unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
        }
    }

    /// As on a subscription instead of a key, where the CLI tells the two apart: claude then reports the marks of a
    /// used-up allowance, and when it resets.
    #[must_use]
    pub fn on_subscription(mut self) -> CliSetup {
        if self.env.remove("ANTHROPIC_API_KEY").is_some() {
            self.set("CLAUDE_CODE_OAUTH_TOKEN", KEY);
        }
        self
    }

    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.env.insert(name.to_owned(), value.into());
    }

    fn set_all(&mut self, on: &[(&str, &str)]) {
        for (name, value) in on {
            self.set(name, *value);
        }
    }
}

impl Cli {
    /// What this CLI needs to talk to a [`crate::model::ModelServer`] at `url`, with everything of it below `home`.
    pub fn setup(self, program: &Path, home: &Path, url: &str) -> CliSetup {
        let mut setup = CliSetup { program: program.to_owned(), env: BTreeMap::new(), files: BTreeMap::new() };
        let below = |path: &str| home.join(path).to_string_lossy().into_owned();
        setup.set("HOME", home.to_string_lossy());
        setup.set("XDG_CONFIG_HOME", below(".config"));
        setup.set("XDG_DATA_HOME", below(".local/share"));
        setup.set("XDG_CACHE_HOME", below(".cache"));
        setup.set("XDG_STATE_HOME", below(".local/state"));
        setup.set_all(&[("NO_COLOR", "1"), ("TERM", "dumb")]);
        if let Some(path) = path_with_node() {
            setup.set("PATH", path);
        }
        match self {
            Cli::Claude | Cli::ClaudeAcp => claude(&mut setup, url),
            Cli::Codex | Cli::CodexAcp => codex(&mut setup, home, url, self.model()),
            Cli::Opencode => opencode(&mut setup, url),
            Cli::Gemini => gemini(&mut setup, home, url),
            Cli::Copilot => copilot(&mut setup, home, url, self.model()),
            Cli::Qwen => qwen(&mut setup, home, url, self.model()),
            Cli::Pi => pi(&mut setup, home, url),
            Cli::Cline => cline(&mut setup, home, url, self.model()),
            Cli::Aider => aider(&mut setup, home, url, self.model()),
            Cli::Vibe => vibe(&mut setup, home, url, self.model()),
            Cli::Goose => goose(&mut setup, url, self.model()),
            Cli::Kimi => kimi(&mut setup, home, url, self.model()),
        }
        setup
    }
}

/// A search path with node, if node is not where a [`crate::World`] looks anyway.
fn path_with_node() -> Option<String> {
    let dir = node()?.parent()?.to_string_lossy().into_owned();
    let known = ["/usr/bin", "/bin"].contains(&dir.as_str());
    (!known).then(|| format!("{dir}:/usr/bin:/bin"))
}

fn claude(setup: &mut CliSetup, url: &str) {
    setup.set("ANTHROPIC_BASE_URL", url);
    setup.set("ANTHROPIC_API_KEY", KEY);
    setup.set_all(&[
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        // It refuses to run as root without permission prompts, which is how containers run tests.
        ("IS_SANDBOX", "1"),
    ]);
}

fn codex(setup: &mut CliSetup, home: &Path, url: &str, model: &str) {
    let dir = home.join(".codex");
    setup.set("CODEX_HOME", dir.to_string_lossy());
    setup.set("LOCAL_KEY", KEY);
    let config = format!(
        r#"model = "{model}"
model_provider = "local"
check_for_update_on_startup = false

[model_providers.local]
name = "local"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false

[analytics]
enabled = false

[feedback]
enabled = false

[features]
plugins = false
unbounded_connection_retries = false
"#
    );
    setup.files.insert(dir.join("config.toml"), config);
}

fn opencode(setup: &mut CliSetup, url: &str) {
    let model = json!({
        "name": "scripted", "tool_call": true, "limit": { "context": 128_000, "output": 8192 },
        "cost": { "input": 3, "output": 15, "cache_read": 0.3 },
    });
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible", "name": "local",
        "options": { "baseURL": format!("{url}/v1"), "apiKey": KEY }, "models": { "scripted": model },
    });
    let permission = json!({ "edit": "allow", "bash": "allow", "webfetch": "deny" });
    let config = json!({
        "autoupdate": false, "share": "disabled", "model": "local/scripted", "small_model": "local/scripted",
        "enabled_providers": ["local"], "permission": permission, "provider": { "local": provider },
    });
    setup.set("OPENCODE_CONFIG_CONTENT", config.to_string());
    setup.set_all(&[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ("OPENCODE_DISABLE_SHARE", "1"),
    ]);
}

/// The settings that gemini and qwen share.
fn settings(auth: &str) -> Value {
    json!({
        "security": { "auth": { "selectedType": auth }, "folderTrust": { "enabled": false } },
        "general": { "disableAutoUpdate": true, "disableUpdateNag": true, "enableAutoUpdate": false,
            "enableAutoUpdateNotification": false, "maxAttempts": 3 },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        // A sub-agent of qwen that takes notes after a turn, with prompts of its own.
        "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false },
    })
}

fn gemini(setup: &mut CliSetup, home: &Path, url: &str) {
    setup.set("GOOGLE_GEMINI_BASE_URL", url);
    setup.set("GEMINI_API_KEY", KEY);
    setup.set_all(&[("GEMINI_CLI_TRUST_WORKSPACE", "true"), ("GEMINI_CLI_NO_RELAUNCH", "true")]);
    setup.files.insert(home.join(".gemini/settings.json"), settings("gemini-api-key").to_string());
}

fn copilot(setup: &mut CliSetup, home: &Path, url: &str, model: &str) {
    setup.set("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1"));
    setup.set("COPILOT_PROVIDER_API_KEY", KEY);
    setup.set("COPILOT_MODEL", model);
    setup.set("COPILOT_HOME", home.join(".copilot").to_string_lossy());
    // It unpacks 235 MB into its cache when it first runs: once for all tests, not once for each.
    setup.set("XDG_CACHE_HOME", cache_dir().join("copilot-unpacked").to_string_lossy());
    setup.set_all(&[
        ("COPILOT_PROVIDER_TYPE", "openai"),
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
    ]);
}

fn qwen(setup: &mut CliSetup, home: &Path, url: &str, model: &str) {
    setup.set("OPENAI_BASE_URL", format!("{url}/v1"));
    setup.set("OPENAI_API_KEY", KEY);
    setup.set("OPENAI_MODEL", model);
    setup.set("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1");
    let mut settings = settings("openai");
    // By itself it asks each time that often, and that eleven times.
    settings["model"] = json!({ "generationConfig": { "maxRetries": 1 } });
    setup.files.insert(home.join(".qwen/settings.json"), settings.to_string());
}

fn pi(setup: &mut CliSetup, home: &Path, url: &str) {
    let model = json!({
        "id": "scripted", "contextWindow": 128_000, "maxTokens": 8192,
        "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 0 },
    });
    let provider = json!({
        "baseUrl": format!("{url}/v1"), "api": "openai-completions", "apiKey": KEY, "models": [model],
    });
    setup.set_all(&[("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0")]);
    let dir = home.join(".pi/agent");
    setup.files.insert(dir.join("models.json"), json!({ "providers": { "local": provider } }).to_string());
    // By itself it asks up to three times more, after 2, 4 and 8 seconds.
    let retry = json!({ "enabled": true, "maxRetries": 1, "baseDelayMs": 100 });
    setup.files.insert(dir.join("settings.json"), json!({ "retry": retry }).to_string());
}

fn cline(setup: &mut CliSetup, home: &Path, url: &str, model: &str) {
    setup.set_all(&[("CLINE_SESSION_BACKEND_MODE", "local"), ("CLINE_NO_AUTO_UPDATE", "1")]);
    let name = "openai-compatible";
    let settings = json!({ "provider": name, "apiKey": KEY, "model": model, "baseUrl": format!("{url}/v1") });
    let provider = json!({ "settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual" });
    let all = json!({ "version": 1, "lastUsedProvider": name, "modes": {}, "providers": { name: provider } });
    setup.files.insert(home.join(".cline/data/settings/providers.json"), all.to_string());
}

fn aider(setup: &mut CliSetup, home: &Path, url: &str, model: &str) {
    setup.set("OPENAI_API_BASE", format!("{url}/v1"));
    setup.set("OPENAI_API_KEY", KEY);
    setup.set_all(&[("COLUMNS", "4000"), ("BROWSER", "true"), ("LITELLM_LOCAL_MODEL_COST_MAP", "True")]);
    // Or it would look them up in a list that it fetches.
    let known = json!({
        "max_input_tokens": 128_000, "max_output_tokens": 8192, "litellm_provider": "openai", "mode": "chat",
        "input_cost_per_token": 0.000_003, "output_cost_per_token": 0.000_015,
    });
    let models = json!({ model: known.clone(), "openai/other": known });
    setup.files.insert(home.join(".aider.model.metadata.json"), models.to_string());
}

fn vibe(setup: &mut CliSetup, home: &Path, url: &str, model: &str) {
    setup.set("LOCAL_KEY", KEY);
    // By itself it asks again for five minutes.
    setup.set_all(&[("VIBE_API_RETRY_MAX_ELAPSED_TIME", "2")]);
    setup.set_all(&[("VIBE_ENABLE_UPDATE_CHECKS", "false"), ("VIBE_ENABLE_TELEMETRY", "false")]);
    let models: String = [model, "other"]
        .iter()
        .map(|name| format!("\n[[models]]\nname = {name:?}\nprovider = \"local\"\nalias = {name:?}\n"))
        .collect();
    let config = format!(
        r#"active_model = "{model}"

[[providers]]
name = "local"
api_base = "{url}/v1"
api_key_env_var = "LOCAL_KEY"
{models}"#
    );
    setup.files.insert(home.join(".vibe/config.toml"), config);
}

fn goose(setup: &mut CliSetup, url: &str, model: &str) {
    setup.set("GOOSE_PROVIDER", "openai");
    setup.set("GOOSE_MODEL", model);
    setup.set("OPENAI_HOST", url);
    setup.set("OPENAI_API_KEY", KEY);
    setup.set_all(&[("GOOSE_MODE", "auto"), ("GOOSE_TELEMETRY_OFF", "1"), ("GOOSE_DISABLE_SESSION_NAMING", "true")]);
    setup.set("GOOSE_DISABLE_KEYRING", "1");
}

fn kimi(setup: &mut CliSetup, home: &Path, url: &str, model: &str) {
    let node = Cli::Kimi.dir().join(format!("node_modules/node-{}/bin", super::places::platform()));
    setup.set("PATH", format!("{}:/usr/bin:/bin", node.display()));
    let models: String = [model, "other"]
        .iter()
        .map(|name| format!("\n[models.{name}]\nprovider = \"local\"\nmodel = {name:?}\nmax_context_size = 128000\n"))
        .collect();
    let provider = format!("[providers.local]\ntype = \"openai\"\nbase_url = \"{url}/v1\"\napi_key = {KEY:?}\n");
    let config = format!("default_model = {model:?}\n\n{provider}{models}");
    setup.files.insert(home.join(".kimi-code/config.toml"), config);
}
