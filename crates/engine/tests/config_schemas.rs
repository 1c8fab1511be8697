//! What other programs read: schemas and types, checked in and never stale.

use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_engine::config::{loop_schema, profile_schema, schema, typescript};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(name)
}

#[test]
fn the_files_are_what_the_program_says() {
    let files = [
        ("config.schema.json", schema()),
        ("agent-profile.schema.json", profile_schema()),
        ("copilot-loop-config.schema.json", loop_schema()),
        ("windlass.d.ts", typescript()),
    ];
    for (name, said) in files {
        let said = format!("{}\n", said.trim_end());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(file("")).unwrap();
            std::fs::write(file(name), &said).unwrap();
        }
        let written = std::fs::read_to_string(file(name)).unwrap_or_default();
        assert!(
            written == said,
            "schemas/{name} is not what the program says; run: UPDATE=1 cargo test -p windlass-engine --test config_schemas"
        );
    }
}

#[test]
fn every_reference_in_a_schema_leads_somewhere() {
    for text in [schema(), profile_schema(), loop_schema()] {
        let schema: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
        let mut found = 0;
        walk(&schema, &mut |target| {
            found += 1;
            assert!(schema.pointer(target.strip_prefix('#').unwrap()).is_some(), "{target}");
        });
        assert!(found > 0 || schema["title"] == "CopilotLoopConfig");
    }
}

fn walk(value: &Value, see: &mut impl FnMut(&str)) {
    if let Some(target) = value["$ref"].as_str() {
        see(target);
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, see)),
        Value::Object(fields) => fields.values().for_each(|field| walk(field, see)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

// promise: settings-2
#[test]
fn the_loop_fields_stand_alone_too() {
    let schema: Value = serde_json::from_str(&loop_schema()).unwrap();
    assert_eq!(schema["title"], "CopilotLoopConfig");
    let fields = schema["properties"].as_object().unwrap();
    let titles: Vec<_> = fields.values().map(|field| field["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Completion Promise", "Enable Loop", "Max Iterations"]);
    assert_eq!(fields["max_iterations"]["default"], 5);
}

// promise: settings-3
#[test]
fn the_types_have_the_loop_fields_optional_and_nullable() {
    let types = typescript();
    for line in
        ["loop_enabled?: boolean | null;", "max_iterations?: number | null;", "completion_promise?: string | null;"]
    {
        assert!(types.contains(line), "{line}\n{types}");
    }
    assert!(types.contains("mcp_servers?: Record<string, McpServer>;"));
    assert!(types.contains("  command: string;"), "what is required is not optional");
}
