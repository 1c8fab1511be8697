//! The JSON Schema (draft-07) of a settings file, made from the table of settings.

use serde_json::{Map, Value as Json, json};
use windlass_core::profile::{DEFAULT_ITERATIONS, ITERATIONS};

use super::keys::KEYS;
use super::profiles::{FieldKind, PROFILE_FIELDS};

/// The fields of a profile that make it loop have a definition of their own, which other programs know.
const LOOP_FIELDS: [&str; 3] = ["loop_enabled", "max_iterations", "completion_promise"];

/// The schema as text, for `config schema` and for editors.
pub fn schema() -> String {
    format!("{:#}", schema_json())
}

fn schema_json() -> Json {
    let mut properties = Map::new();
    for key in KEYS {
        let mut schema = (key.schema)();
        schema["description"] = json!(format!("{}. Default: {}.", key.doc, key.default));
        properties.insert(key.name.to_owned(), schema);
    }
    properties.insert(
        "agents".to_owned(),
        json!({
            "type": "object",
            "description": "Agents by name. One of a built-in name changes that one field by field.",
            "additionalProperties": { "$ref": "#/definitions/AgentProfile" },
        }),
    );
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Windlass settings",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "definitions": { "AgentProfile": agent_profile(), "CopilotLoopConfig": loop_config() },
    })
}

fn agent_profile() -> Json {
    let mut properties = Map::new();
    for field in PROFILE_FIELDS {
        let schema = if LOOP_FIELDS.contains(&field.name) {
            json!({ "$ref": format!("#/definitions/CopilotLoopConfig/properties/{}", field.name) })
        } else {
            let mut schema = kind_schema(field.kind);
            schema["description"] = json!(field.doc);
            schema
        };
        properties.insert(field.name.to_owned(), schema);
    }
    json!({ "title": "AgentProfile", "type": "object", "additionalProperties": false, "properties": properties })
}

fn kind_schema(kind: FieldKind) -> Json {
    match kind {
        FieldKind::Text => json!({ "type": "string" }),
        FieldKind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        FieldKind::TextMap => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        FieldKind::Switch => json!({ "type": "boolean" }),
        FieldKind::Count => json!({ "type": "integer" }),
        FieldKind::Output => json!({ "enum": ["text", "jsonl"], "default": "text" }),
        FieldKind::Adapter => {
            let known = ["command", "claude", "codex", "copilot", "opencode", "gemini", "qwen"];
            json!({ "enum": known, "default": "command" })
        }
    }
}

fn loop_config() -> Json {
    let doc = |name: &str| PROFILE_FIELDS.iter().find(|field| field.name == name).map_or("", |field| field.doc);
    json!({
        "title": "CopilotLoopConfig",
        "type": "object",
        "properties": {
            "loop_enabled": {
                "title": "Enable Loop",
                "description": doc("loop_enabled"),
                "type": ["boolean", "null"],
                "default": false,
            },
            "max_iterations": {
                "title": "Max Iterations",
                "description": doc("max_iterations"),
                "type": ["integer", "null"],
                "minimum": ITERATIONS.start(),
                "maximum": ITERATIONS.end(),
                "default": DEFAULT_ITERATIONS,
            },
            "completion_promise": {
                "title": "Completion Promise",
                "description": doc("completion_promise"),
                "type": ["string", "null"],
                "default": null,
            },
        },
    })
}
