//! What other programs read: schemas and types, checked in and never stale.

use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_engine::config::{
    FieldKind, InProject, KEYS, PROFILE_FIELDS, ProfileField, TableKind, environment, loop_schema, profile_schema,
    schema, typescript,
};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

#[test]
// promise: settings-7
fn the_files_are_what_the_program_says() {
    let files = [
        ("schemas/config.schema.json", schema()),
        ("schemas/agent-profile.schema.json", profile_schema()),
        ("schemas/copilot-loop-config.schema.json", loop_schema()),
        ("schemas/windlass.d.ts", typescript()),
        ("docs/configuration.md", configuration_page()),
    ];
    for (name, said) in files {
        let said = format!("{}\n", said.trim_end());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(file(name), &said).unwrap();
        }
        let written = std::fs::read_to_string(file(name)).unwrap_or_default();
        assert!(
            written == said,
            "{name} is out of date; run: UPDATE=1 cargo test -p windlass-engine --test config_schemas"
        );
    }
}

const PAGE_HEAD: &str = "\
# Configuration

Generated from the program's definitions by `UPDATE=1 cargo test -p windlass-engine --test config_schemas`.

Settings are TOML, in two files: yours (`$WINDLASS_CONFIG`, or `windlass/config.toml` in the platform's settings directory) and the
project's (`.windlass/config.toml`). Both accept every key, except that keys marked *never* are for your file only.

Later sources override earlier ones: the recipe and built-in defaults, your file, the project's file, environment variables, flags.
Lists are replaced, not merged. An empty variable counts as unset. A list in a variable has one item per line. An unknown key is an
error with a suggestion. `windlass config show` prints every setting with its value and source; `windlass config schema` prints the
JSON Schema.

A project's file comes with the repository. Settings marked *trust* can run something, reveal something, or weaken a protection, so
they take effect only after `windlass trust` ([trust.md](trust.md)). Settings marked *inside* require trust only for paths outside
the repository.

## Settings
";

/// The page about the settings, from the tables that the program reads them with.
fn configuration_page() -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('<', "&lt;").replace('>', "&gt;");
    let mut page = format!(
        "{PAGE_HEAD}\n| setting | flag | variable | default | project's file | meaning |\n|---|---|---|---|---|---|\n"
    );
    for key in KEYS {
        let flag = key.flag_name().map(|flag| format!("`{flag}`")).unwrap_or_default();
        let consent = match key.in_project {
            InProject::Refused => "never",
            InProject::Harmless => "",
            InProject::Inside => "inside",
            InProject::NeedsConsent => "trust",
        };
        page.push_str(&format!(
            "| `{}` | {flag} | `{}` | {} | {consent} | {} |\n",
            key.name,
            key.env,
            cell(&key.default_words()),
            cell(key.doc)
        ));
    }
    page.push_str(
        "\n## Agents\n\nA profile is a table `[agents.NAME]`. It adds to the built-in profile of that name, field by field.\n\n",
    );
    page.push_str("| field | meaning |\n|---|---|\n");
    let row = |name: &str, doc: &str| format!("| `{name}` | {} |\n", cell(doc));
    for field in PROFILE_FIELDS {
        page.push_str(&row(field.name, field.doc));
        let mut inside = |tables: &TableKind, between: &str| {
            let inner = |inner: &ProfileField| row(&format!("{}{between}{}", field.name, inner.name), inner.doc);
            page.extend(tables.fields.iter().map(inner));
        };
        if let FieldKind::Tables(tables) = field.kind {
            inside(tables, ".NAME.");
        } else if let FieldKind::Table(tables) = field.kind {
            inside(tables, ".");
        } else if let FieldKind::List(tables) = field.kind {
            inside(tables, "[].");
        }
    }
    page.push_str("\n## Other environment variables\n\n| variable | meaning |\n|---|---|\n");
    let general = environment().filter(|variable| KEYS.iter().all(|key| key.env != variable.name));
    page.extend(general.map(|variable| row(variable.name, variable.doc)));
    page
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

#[test]
// promise: settings-2
fn the_loop_fields_stand_alone_too() {
    let schema: Value = serde_json::from_str(&loop_schema()).unwrap();
    assert_eq!(schema["title"], "CopilotLoopConfig");
    let fields = schema["properties"].as_object().unwrap();
    let titles: Vec<_> = fields.values().map(|field| field["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Completion Promise", "Enable Loop", "Max Iterations"]);
    assert_eq!(fields["max_iterations"]["default"], 5);
}

#[test]
// promise: settings-3
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
