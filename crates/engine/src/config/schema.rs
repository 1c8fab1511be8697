//! JSON Schemas (draft-07): of a settings file, of a profile alone and of its loop fields alone, made from the tables
//! of settings and of profile fields.

use serde_json::{Map, Value as Json, json};
use windlass_core::profile::{DEFAULT_ITERATIONS, ITERATIONS};

use super::fields::{ENDS, FieldKind, OUTPUTS, PROFILE_FIELDS, ProfileField, TableKind};
use super::keys::KEYS;

/// The loop fields of a profile, which have a separate definition for other programs.
const LOOP_FIELDS: [&str; 3] = ["loop_enabled", "max_iterations", "completion_promise"];

const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// The schema of a settings file, for `config schema` and for editors.
pub fn schema() -> String {
    format!("{:#}", settings_schema())
}

/// The schema of one agent's profile.
pub fn profile_schema() -> String {
    let mut schema = agent_profile();
    schema["$schema"] = json!(DRAFT);
    let mut definitions = definitions();
    definitions.remove(PROFILE);
    schema["definitions"] = Json::Object(definitions);
    format!("{schema:#}")
}

/// The schema of a profile's loop fields.
pub fn loop_schema() -> String {
    let mut schema = loop_config();
    schema["$schema"] = json!(DRAFT);
    format!("{schema:#}")
}

const PROFILE: &str = "AgentProfile";

fn definitions() -> Map<String, Json> {
    let tables = PROFILE_FIELDS.iter().filter_map(|field| match field.kind {
        FieldKind::Tables(kind) | FieldKind::Table(kind) | FieldKind::List(kind) => {
            Some((kind.title.to_owned(), table(kind)))
        }
        FieldKind::Text
        | FieldKind::Words
        | FieldKind::Texts
        | FieldKind::TextMap
        | FieldKind::Switch
        | FieldKind::Count
        | FieldKind::Price
        | FieldKind::Output
        | FieldKind::Adapter
        | FieldKind::EndOfTurn
        | FieldKind::Free => None,
    });
    let mut all: Map<String, Json> = tables.collect();
    all.insert(PROFILE.to_owned(), agent_profile());
    all.insert("CopilotLoopConfig".to_owned(), loop_config());
    all
}

pub(super) fn settings_schema() -> Json {
    let mut properties = Map::new();
    for key in KEYS {
        let mut schema = (key.schema)();
        schema["description"] = json!(format!("{}. Default: {}.", key.doc, key.default_words()));
        properties.insert(key.name.to_owned(), schema);
    }
    properties.insert(
        "agents".to_owned(),
        json!({
            "type": "object",
            "description": "Agent profiles by name. A profile with a built-in name overrides the built-in one field by field.",
            "additionalProperties": { "$ref": "#/definitions/AgentProfile" },
        }),
    );
    json!({
        "$schema": DRAFT,
        "title": "Windlass settings",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "definitions": definitions(),
    })
}

fn agent_profile() -> Json {
    let mut properties = Map::new();
    for field in PROFILE_FIELDS {
        let schema = if LOOP_FIELDS.contains(&field.name) {
            json!({ "$ref": format!("#/definitions/CopilotLoopConfig/properties/{}", field.name) })
        } else {
            described(&field)
        };
        properties.insert(field.name.to_owned(), schema);
    }
    json!({ "title": PROFILE, "type": "object", "additionalProperties": false, "properties": properties })
}

fn table(kind: &TableKind) -> Json {
    let properties: Map<_, _> = kind.fields.iter().map(|field| (field.name.to_owned(), described(field))).collect();
    json!({
        "title": kind.title,
        "type": "object",
        "additionalProperties": false,
        "required": kind.required,
        "properties": properties,
    })
}

fn described(field: &ProfileField) -> Json {
    let mut schema = kind_schema(field.kind);
    schema["description"] = json!(field.doc);
    schema
}

fn kind_schema(kind: FieldKind) -> Json {
    match kind {
        FieldKind::Text => json!({ "type": "string" }),
        FieldKind::Words => json!({ "type": "string", "minLength": 1 }),
        FieldKind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        FieldKind::TextMap => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        FieldKind::Switch => json!({ "type": "boolean" }),
        FieldKind::Count => json!({ "type": "integer" }),
        FieldKind::Price => json!({ "type": "number", "minimum": 0 }),
        FieldKind::Output => json!({ "enum": OUTPUTS, "default": "text" }),
        FieldKind::Adapter => json!({ "enum": windlass_agents::ADAPTERS, "default": "command" }),
        FieldKind::EndOfTurn => json!({ "enum": ENDS }),
        FieldKind::Free => json!({ "type": "object" }),
        // A description beside a reference alone would be ignored.
        FieldKind::Table(kind) => json!({ "allOf": [{ "$ref": format!("#/definitions/{}", kind.title) }] }),
        FieldKind::List(kind) => {
            json!({ "type": "array", "items": { "$ref": format!("#/definitions/{}", kind.title) } })
        }
        FieldKind::Tables(kind) => {
            json!({ "type": "object", "additionalProperties": { "$ref": format!("#/definitions/{}", kind.title) } })
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
