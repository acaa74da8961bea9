use super::*;

/// Returns every object in a schema, at any depth.
fn objects(schema: &Value) -> Vec<&Map<String, Value>> {
    match schema {
        Value::Object(members) => std::iter::once(members).chain(members.values().flat_map(objects)).collect(),
        Value::Array(elements) => elements.iter().flat_map(objects).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn schemas_have_name_title_and_version() {
    for (schema, id) in [(event_schema(), "urn:headwater:schema:event:3"), (run_schema(), "urn:headwater:schema:run:3")]
    {
        assert_eq!(schema["$id"], id);
        assert_eq!(schema["version"], SCHEMA_VERSION);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(schema["title"].as_str().is_some_and(|title| title.ends_with(".json") || title.ends_with(".jsonl")));
        let pinned = objects(&schema).into_iter().filter(|object| object.get("const") == Some(&json!(SCHEMA_VERSION)));
        assert_eq!(pinned.count(), 1, "the document's own version, once");
    }
}

#[test]
fn a_number_is_a_number() {
    for schema in [event_schema(), run_schema()] {
        let floats: Vec<_> =
            objects(&schema).into_iter().filter(|object| object.get("format") == Some(&json!("double"))).collect();
        assert!(floats.len() > 5);
        for float in floats {
            assert_eq!(float["type"], "number", "{float:?}");
        }
    }
}

#[test]
fn null_is_not_permitted() {
    for schema in [event_schema(), run_schema()] {
        let mut types = objects(&schema).into_iter().filter_map(|object| object.get("type"));
        // The standing "null" is a string: only types count.
        assert!(!types.any(|kind| kind.to_string().contains("null")));
    }
}
