//! The published JSON Schemas, derived from the types. Used by `xtask`, to write and to check docs/schema.

use serde_json::{Map, Value, json};

use crate::schema::{Event, Run, SCHEMA_VERSION};

/// Returns the schema of one line of `run.jsonl`, and of `headwater run --json`.
pub fn event_schema() -> Value {
    published(schemars::schema_for!(Event), "event", "An event of a run: one line of run.jsonl")
}

/// Returns the schema of `run.json`.
pub fn run_schema() -> Value {
    published(schemars::schema_for!(Run), "run", "A run with its estimates: run.json")
}

/// Adds the schema's name, title and version.
fn published(schema: schemars::Schema, name: &str, title: &str) -> Value {
    let mut published = Map::new();
    published.insert("$id".to_owned(), json!(format!("urn:headwater:schema:{name}:{SCHEMA_VERSION}")));
    published.insert("title".to_owned(), json!(title));
    published.insert("version".to_owned(), json!(SCHEMA_VERSION));
    let Value::Object(derived) = schema.to_value() else { unreachable!("a struct or an enum has an object schema") };
    for (key, value) in derived {
        published.entry(key).or_insert(value);
    }
    let mut published = Value::Object(published);
    pin_version(&mut published);
    forbid_null(&mut published);
    published
}

/// Absent values are omitted, never null: a schema that permitted null would accept a NaN as a number.
fn forbid_null(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
                choices.retain(|choice| choice["type"] != "null");
            }
            members.values_mut().for_each(forbid_null);
        }
        Value::Array(elements) => elements.iter_mut().for_each(forbid_null),
        _ => {}
    }
}

/// Requires the exact version of a document.
fn pin_version(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(version)) = members.get_mut("schema_version") {
                version.insert("const".to_owned(), json!(SCHEMA_VERSION));
            }
            members.values_mut().for_each(pin_version);
        }
        Value::Array(elements) => elements.iter_mut().for_each(pin_version),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
