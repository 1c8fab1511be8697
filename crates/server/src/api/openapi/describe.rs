//! Makes the OpenAPI document from the routes and the types that they take and answer.
//!
//! OpenAPI 3.1 takes JSON Schema as it is, which is what `schemars` makes of the types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use windlass_app::ErrorBody;

use super::Route;

pub(super) type Described = fn(&mut SchemaGenerator) -> Value;

pub(super) fn type_of<T: JsonSchema>() -> Described {
    described::<T>
}

fn described<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

/// The document, which is checked in as `schemas/openapi.json`.
pub(super) fn document(routes: Vec<Route>) -> Value {
    let settings = |mut settings: SchemaSettings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        settings
    };
    // What is answered has every field; what is taken may leave out those with a default.
    let mut answers = settings(SchemaSettings::draft2020_12().for_serialize()).into_generator();
    let mut takes = settings(SchemaSettings::draft2020_12().for_deserialize()).into_generator();
    let failed = described::<ErrorBody>(&mut answers);
    let mut paths = Map::new();
    for route in routes {
        let operation = operation(&route, &mut answers, &mut takes, &failed);
        let path = paths.entry(route.path.to_owned()).or_insert_with(|| json!({}));
        path[route.method] = operation;
    }
    let webhooks = json!({ "notification": { "post": webhook(&mut answers) } });
    let mut schemas = answers.take_definitions(true);
    for (name, schema) in takes.take_definitions(true) {
        schemas.entry(name).or_insert(schema);
    }
    schemas.values_mut().for_each(say_both);
    keep_used(&mut schemas, &[&json!(paths), &webhooks]);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Windlass",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The API of `windlass serve`. Fields are only ever added.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:4747", "description": "`windlass serve` on this machine" }],
        "security": [{ "bearer": [] }],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// Takes out schemas that nothing leads to: those of requests that are all query or path.
fn keep_used(schemas: &mut Map<String, Value>, roots: &[&Value]) {
    let mut used = std::collections::BTreeSet::new();
    let mut todo: Vec<Value> = roots.iter().map(|root| (*root).clone()).collect();
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(fields) => {
                let name = fields.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
                if let Some(name) = name
                    && used.insert(name.to_owned())
                {
                    todo.extend(schemas.get(name).cloned());
                }
                todo.extend(fields.into_iter().map(|(_, value)| value));
            }
            Value::Array(items) => todo.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    schemas.retain(|name, _| used.contains(name));
}

/// What `notify_webhook` is sent; docs/notifications.md has the details.
fn webhook(answers: &mut SchemaGenerator) -> Value {
    let body = described::<windlass_engine::notify::Notification<'_>>(answers);
    json!({
        "operationId": "webhook_notification",
        "summary": "A loop needs a user, completed, stopped or waits; sent to the address in `notify_webhook`",
        "security": [],
        "parameters": [
            { "name": "X-Windlass-Event", "in": "header", "required": true, "schema": { "type": "string" } },
            {
                "name": "X-Windlass-Signature", "in": "header", "required": false, "schema": { "type": "string" },
                "description": "`sha256=` and the HMAC-SHA256 of the body in hex, if a secret is set",
            },
        ],
        "requestBody": { "required": true, "content": { "application/json": { "schema": body } } },
        "responses": {
            "200": { "description": "Received" },
            "4XX": { "description": "Given up, except 408, 425 and 429, which are tried twice more" },
        },
    })
}

/// Expresses fields next to a choice (a flattened enum) as `allOf`: generators read fields and `anyOf` side by
/// side as "one of them". A field that can be anything is `{}`: generators do not read `true`.
fn say_both(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(say_both);
            let fields = object.get_mut("properties").and_then(Value::as_object_mut);
            for field in
                fields.into_iter().flat_map(|fields| fields.values_mut()).filter(|field| **field == json!(true))
            {
                *field = json!({});
            }
            if object.contains_key("properties")
                && let Some(choice) = object.remove("anyOf")
            {
                let taken = ["type", "properties", "required", "additionalProperties"];
                let fields: Map<String, Value> =
                    taken.into_iter().filter_map(|key| Some((key.to_owned(), object.remove(key)?))).collect();
                object.insert("allOf".to_owned(), json!([fields, { "anyOf": choice }]));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(say_both),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Those that need no token.
fn is_open(route: &Route) -> bool {
    matches!(route.path, "/api/health" | "/api/login")
}

/// What a client has to expect; `default` has the rest.
fn refusals(route: &Route) -> Vec<(&'static str, &'static str)> {
    let mut codes = vec![("400", "The request is not understood")];
    if !is_open(route) {
        codes.push(("401", "No token, or a wrong one"));
    }
    if route.path.contains('{') {
        codes.push(("404", "There is no such thing"));
    }
    if route.method != "get" {
        codes.push(("409", "That is not possible now, or a user must give consent first"));
        codes.push(("429", "Too many changes at once"));
    }
    codes
}

/// Any JSON is `true` to JSON Schema, which generators do not read; what we answer so is an object.
fn any_object(schema: Value) -> Value {
    if schema == json!(true) { json!({ "type": "object" }) } else { schema }
}

fn operation(route: &Route, answers: &mut SchemaGenerator, takes: &mut SchemaGenerator, failed: &Value) -> Value {
    let mut parameters: Vec<Value> = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    if let Some(query) = route.query {
        parameters.extend(query_parameters(&query(takes), takes));
    }
    let content = match route.answer {
        Some(answer) => json!({ route.kind: { "schema": any_object(answer(answers)) } }),
        None => json!({ route.kind: {} }),
    };
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "responses": {
            route.status: { "description": route.summary, "content": content },
            "default": { "description": "Error", "content": { "application/json": { "schema": failed } } },
        },
    });
    for (code, description) in refusals(route) {
        operation["responses"][code] =
            json!({ "description": description, "content": { "application/json": { "schema": failed } } });
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = route.body.map(|body| body(takes)).filter(|body| has_fields(body, takes)) {
        operation["requestBody"] = json!({ "content": { "application/json": { "schema": body } } });
    }
    if is_open(route) {
        operation["security"] = json!([]);
    }
    operation
}

/// Whether the request has a body: a request with only a loop ID has everything in its path.
fn has_fields(schema: &Value, takes: &mut SchemaGenerator) -> bool {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let schema = takes.definitions().get(name).unwrap_or(schema);
    let fields = schema["properties"].as_object().is_some_and(|fields| !fields.is_empty());
    fields || schema.get("additionalProperties").is_none_or(|more| *more != json!(false))
}

/// `POST /api/loops/{id}/stop` is `post_loops_id_stop`.
fn operation_id(route: &Route) -> String {
    let words = route.path.trim_start_matches("/api/").split(['/', '.', '{', '}']).filter(|word| !word.is_empty());
    std::iter::once(route.method).chain(words).collect::<Vec<_>>().join("_")
}

fn query_parameters(reference: &Value, takes: &mut SchemaGenerator) -> Vec<Value> {
    let name = reference["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let Some(schema) = takes.definitions().get(name) else { return Vec::new() };
    let fields = schema["properties"].as_object().cloned().unwrap_or_default();
    let needed = schema["required"].as_array().cloned().unwrap_or_default();
    fields
        .into_iter()
        .map(|(name, mut schema)| {
            let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            let required = needed.iter().any(|needed| *needed == name);
            let mut parameter = json!({ "name": name, "in": "query", "required": required, "schema": schema });
            if let Some(description) = description {
                parameter["description"] = description;
            }
            parameter
        })
        .collect()
}
