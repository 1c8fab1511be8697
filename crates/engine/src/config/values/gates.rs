//! The gates as settings: commands, or tables that say more about one.

use serde_json::{Value as Json, json};
use toml_edit::Value as Toml;
use windlass_core::spec::GateWhen;

use super::amounts::Millis;
use super::value::{Value, ValueError, command};
use windlass_core::nearest::nearest;

/// One gate, as far as somebody said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    pub command: String,
    /// The setting `gate_timeout`, if not said.
    pub timeout: Option<Millis>,
    pub when: GateWhen,
}

/// Commands that judge the work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates(Vec<Gate>);

const FIELDS: [&str; 3] = ["command", "timeout", "when"];
const TABLE: &str = "{ command = \"cargo test\", timeout = \"20m\", when = \"claim\" }";

impl Gates {
    pub fn new(commands: Vec<String>) -> Result<Self, ValueError> {
        commands.into_iter().map(|text| Gate::of(&text)).collect::<Result<_, _>>().map(Self)
    }

    pub fn get(&self) -> &[Gate] {
        &self.0
    }

    pub fn commands(&self) -> Vec<&str> {
        self.0.iter().map(|gate| gate.command.as_str()).collect()
    }
}

impl Gate {
    fn of(text: &str) -> Result<Self, ValueError> {
        let command = command(text, "gate", "write a command, such as \"cargo test\"")?;
        Ok(Self { command, timeout: None, when: GateWhen::default() })
    }

    fn read(place: usize, item: &Toml) -> Result<Self, ValueError> {
        if let Some(text) = item.as_str() {
            return Self::of(text);
        }
        let wrong = |what: &str| ValueError::new(format!("item {place} of the list {what}"), format!("write {TABLE}"));
        let table = item.as_inline_table().ok_or_else(|| {
            ValueError::new(
                format!("item {place} of the list is neither a string nor a table"),
                format!("put the command in quotes, or write {TABLE}"),
            )
        })?;
        if let Some((unknown, _)) = table.iter().find(|(key, _)| !FIELDS.contains(key)) {
            let hint = match nearest(unknown, FIELDS) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("known keys: {}", FIELDS.join(", ")),
            };
            return Err(ValueError::new(
                format!("item {place} of the list has an unknown key '{}'", unknown.escape_debug()),
                hint,
            ));
        }
        let text = table.get("command").ok_or_else(|| wrong("has no command"))?;
        let mut gate = Self::of(text.as_str().ok_or_else(|| wrong("has a command that is not a string"))?)?;
        if let Some(timeout) = table.get("timeout") {
            gate.timeout =
                Some(Millis::from_toml(timeout).unwrap_or_else(|| Err(wrong("has a timeout that is not a duration")))?);
        }
        if let Some(when) = table.get("when") {
            gate.when = match when.as_str() {
                Some("turn") => GateWhen::Turn,
                Some("claim") => GateWhen::Claim,
                _ => {
                    return Err(ValueError::new(
                        format!("item {place} of the list has an unknown 'when'"),
                        "use \"turn\" (after every turn) or \"claim\" (only when the agent claims to be done)",
                    ));
                }
            };
        }
        Ok(gate)
    }

    /// A plain command stays a text.
    fn json(&self) -> Json {
        if self.timeout.is_none() && self.when == GateWhen::default() {
            return json!(self.command);
        }
        let mut table = json!({ "command": self.command, "when": self.when });
        if let Some(timeout) = &self.timeout {
            table["timeout"] = timeout.json();
        }
        table
    }
}

impl Value for Gates {
    const EXPECTED: &'static str = "a list of commands";
    const EXAMPLE: &'static str = "[\"cargo test\"]";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        let items = value.as_array()?.iter().enumerate();
        Some(items.map(|(index, item)| Gate::read(index + 1, item)).collect::<Result<_, _>>().map(Self))
    }

    /// One command a line, because commands hold every other character.
    fn from_text(text: &str) -> Result<Self, ValueError> {
        Self::new(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
    }

    fn from_items(items: Vec<String>) -> Result<Self, ValueError> {
        Self::new(items)
    }

    fn json(&self) -> Json {
        self.0.iter().map(Gate::json).collect()
    }

    fn schema() -> Json {
        let table = json!({
            "type": "object",
            "required": ["command"],
            "additionalProperties": false,
            "properties": {
                "command": { "type": "string", "minLength": 1 },
                "timeout": Millis::schema(),
                "when": { "enum": ["turn", "claim"], "default": "turn" },
            },
        });
        json!({ "type": "array", "items": { "anyOf": [{ "type": "string", "minLength": 1 }, table] } })
    }
}
