//! TypeScript types of settings and profiles, made from their JSON Schema.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::schema::settings_schema;

/// A file of declarations, for programs that write settings or profiles.
pub fn typescript() -> String {
    let schema = settings_schema();
    let mut text =
        String::from("// Made from the definitions in the program by `windlass config schema typescript`.\n");
    interface(&mut text, "WindlassSettings", &schema);
    for (name, definition) in schema["definitions"].as_object().into_iter().flatten() {
        interface(&mut text, name, definition);
    }
    text
}

fn interface(text: &mut String, name: &str, schema: &Json) {
    let _ = writeln!(text, "\nexport interface {name} {{");
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(doc) = property["description"].as_str() {
            let _ = writeln!(text, "  /** {} */", doc.replace("*/", "*\\/"));
        }
        let mark = if is_required(schema, key) { "" } else { "?" };
        let _ = writeln!(text, "  {key}{mark}: {};", type_of(property));
    }
    text.push_str("}\n");
}

fn is_required(schema: &Json, key: &str) -> bool {
    schema["required"].as_array().into_iter().flatten().any(|required| required == key)
}

fn type_of(schema: &Json) -> String {
    if let Some(target) = schema["$ref"].as_str() {
        return referred(target);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return parts.iter().map(type_of).collect::<Vec<_>>().join(" & ");
    }
    let union = |types: Vec<String>| types.join(" | ");
    if let Some(values) = schema["enum"].as_array() {
        return union(values.iter().map(Json::to_string).collect());
    }
    if let Some(kinds) = schema["anyOf"].as_array() {
        return union(kinds.iter().map(type_of).collect());
    }
    match &schema["type"] {
        Json::String(name) => named(name, schema),
        Json::Array(names) => union(names.iter().filter_map(Json::as_str).map(|name| named(name, schema)).collect()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => "unknown".to_owned(),
    }
}

/// `#/definitions/A` is `A`, and `#/definitions/A/properties/b` is `A["b"]`.
fn referred(target: &str) -> String {
    let path = target.trim_start_matches("#/definitions/");
    match path.split_once("/properties/") {
        Some((name, key)) => format!("{name}[\"{key}\"]"),
        None => path.to_owned(),
    }
}

fn named(name: &str, schema: &Json) -> String {
    match name {
        "integer" | "number" => "number".to_owned(),
        "array" => format!("Array<{}>", type_of(&schema["items"])),
        "object" if schema["properties"].is_object() => inline(schema),
        "object" if schema["additionalProperties"].is_object() => {
            format!("Record<string, {}>", type_of(&schema["additionalProperties"]))
        }
        "object" => "Record<string, unknown>".to_owned(),
        name => name.to_owned(),
    }
}

fn inline(schema: &Json) -> String {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let fields = properties.map(|(key, property)| {
        let mark = if is_required(schema, key) { "" } else { "?" };
        format!("{key}{mark}: {}", type_of(property))
    });
    format!("{{ {} }}", fields.collect::<Vec<_>>().join("; "))
}
