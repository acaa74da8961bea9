//! The differences between two environments, which a comparison shows before any figure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::schema::Environment;

/// A fact that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The path of the fact: `cpu governor`, `sysctl net.core.rmem_max`.
    pub what: String,
    /// Its value in the first environment; `absent` if that machine did not provide it.
    pub before: String,
    /// Its value in the second environment, likewise.
    pub after: String,
}

/// Facts that change by themselves, or identify the machine, and say nothing about the configuration.
const MOVING: [&str; 3] = ["load", "memory available_bytes", "machine"];

/// Returns the facts that differ, by path. Load, pressure, steal and available memory are ignored.
pub fn differences(before: &Environment, after: &Environment) -> Vec<Difference> {
    differing(&facts(before), &facts(after))
}

/// Returns the facts that differ, by name.
pub(crate) fn differing(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<Difference> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let value = |facts: &BTreeMap<String, String>, name| facts.get(name).map_or("absent", String::as_str).to_owned();
    let differ = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    differ
        .map(|name| Difference { what: name.clone(), before: value(before, name), after: value(after, name) })
        .collect()
}

/// Returns every fact by its path. It is taken from the stored form, so that a new field of the schema is included
/// automatically.
pub(crate) fn facts(environment: &Environment) -> BTreeMap<String, String> {
    let document = serde_json::to_value(environment).expect("an environment is plain data with text keys");
    let mut facts = BTreeMap::new();
    flatten("", &document, &mut facts);
    facts.retain(|name, _| !MOVING.iter().any(|moving| name == moving || name.starts_with(&format!("{moving} "))));
    facts
}

fn flatten(place: &str, value: &Value, facts: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                // `limits` only groups; the usual name is `sysctl net.core.rmem_max`.
                let place =
                    if place.is_empty() || place == "limits" { name.clone() } else { format!("{place} {name}") };
                flatten(&place, value, facts);
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(text).collect();
            facts.insert(place.to_owned(), items.join(","));
        }
        Value::Null => {}
        value => {
            facts.insert(place.to_owned(), text(value));
        }
    }
}

/// Returns a value without the quotes of JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
