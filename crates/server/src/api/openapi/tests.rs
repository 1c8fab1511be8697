//! The checked-in OpenAPI document is the one that the code makes: `UPDATE=1` writes it again.

use std::path::Path;

use serde_json::Value;

#[test]
// promise: api-1
fn the_checked_in_document_is_the_codes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/openapi.json");
    let made = serde_json::to_string_pretty(&super::describe::document(crate::api::routes())).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == made, "UPDATE=1 cargo test -p windlass-server --lib openapi writes schemas/openapi.json again");
}

#[test]
fn the_served_document_is_the_checked_in_one() {
    assert!(
        super::text() == include_str!("../../../../../schemas/openapi.json"),
        "build.rs compressed another document"
    );
}

#[test]
fn every_reference_leads_somewhere() {
    let document: Value = serde_json::from_str(&super::text()).unwrap();
    let mut todo = vec![&document];
    let mut seen = 0;
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(path) = fields.get("$ref").and_then(|path| path.as_str()) {
                    let pointer = path.strip_prefix('#').unwrap_or_else(|| panic!("{path} is elsewhere"));
                    assert!(document.pointer(pointer).is_some(), "{path} is not there");
                    seen += 1;
                }
                todo.extend(fields.values());
            }
            Value::Array(items) => todo.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    assert!(seen > 50, "only {seen} references");
}
