//! `cargo xtask docs`: writes the generated files of docs/. `tidy` calls the same function and compares, so that a
//! generated file is never edited and always up to date.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use headwater::cli::generate;
use headwater_results::json_schema::{event_schema, run_schema};
use headwater_results::schema::SCHEMA_VERSION;
use serde_json::Value;

use crate::shell;

/// The folders that contain only generated files.
pub const FOLDERS: [&str; 3] = ["docs/schema", "docs/man", "docs/completions"];

/// The schema of `run.json`, as a path in the repository.
pub fn run_schema_path() -> String {
    format!("docs/schema/run-v{SCHEMA_VERSION}.schema.json")
}

/// The schema of a line of `run.jsonl`, as a path in the repository.
pub fn event_schema_path() -> String {
    format!("docs/schema/event-v{SCHEMA_VERSION}.schema.json")
}

/// Writes every generated file, and removes other files from their folders.
pub fn run() -> Result<()> {
    let generated = generated()?;
    for folder in FOLDERS {
        let Ok(entries) = fs::read_dir(shell::root().join(folder)) else { continue };
        for entry in entries {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if !generated.contains_key(&path) {
                fs::remove_file(entry.path()).with_context(|| path.clone())?;
                println!("removed {path}");
            }
        }
    }
    for (path, bytes) in &generated {
        let file = shell::root().join(path);
        if fs::read(&file).is_ok_and(|old| old == *bytes) {
            continue;
        }
        let folder = file.parent().expect("a generated file has a folder");
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        fs::write(&file, bytes).with_context(|| path.clone())?;
        println!("wrote {path}");
    }
    Ok(())
}

/// Returns the contents of every generated file, by path in the repository.
pub fn generated() -> Result<BTreeMap<String, Vec<u8>>> {
    let mut generated =
        BTreeMap::from([(run_schema_path(), pretty(run_schema())?), (event_schema_path(), pretty(event_schema())?)]);
    generated.extend(generate::man_pages().into_iter().map(|(name, text)| (format!("docs/man/{name}"), text)));
    generated
        .extend(generate::completions().into_iter().map(|(name, text)| (format!("docs/completions/{name}"), text)));
    generated.insert("docs/published.md".to_owned(), headwater_report::published_markdown().into_bytes());
    Ok(generated)
}

fn pretty(mut schema: Value) -> Result<Vec<u8>> {
    // The order of a map depends on the features of serde_json that other packages of the build enable.
    schema.sort_all_objects();
    let mut bytes = serde_json::to_vec_pretty(&schema)?;
    bytes.push(b'\n');
    Ok(bytes)
}
