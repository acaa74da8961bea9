//! What a crate offers, as rustdoc writes it in JSON: made from the sources, or read from the baseline. Called by
//! [`super::run`].
//!
//! Only what users see is in it: no private item, and none that is `#[doc(hidden)]`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

use crate::shell;

/// As much as is reasonable for a compressed file that changes seldom.
const LEVEL: u8 = 9;

/// The documentation of a crate.
#[derive(Debug)]
pub struct Api(Value);

impl Api {
    /// Makes the documentation of a crate of the workspace, with every feature.
    ///
    /// # Errors
    /// If the crate does not compile.
    pub fn present(package: &str) -> Result<Api> {
        // Apart from what `cargo doc` and the tests build, which other flags would make stale.
        let target = shell::target_directory().join("semver");
        let mut command =
            shell::cargo(&["rustdoc", "--quiet", "--locked", "--lib", "--all-features", "--package", package]);
        command.arg("--target-dir").arg(&target);
        command.args(["--", "-Zunstable-options", "--output-format", "json", "--cap-lints", "allow"]);
        // JSON is an unstable option of a stable rustdoc; cargo-semver-checks enables it in the same way.
        shell::run(command.env("RUSTC_BOOTSTRAP", "1"))?;
        let path = target.join(format!("doc/{}.json", package.replace('-', "_")));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(Api(without_the_machine(serde_json::from_str(&text)?)))
    }

    /// Reads what [`Api::store`] has written.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub fn stored(path: &Path) -> Result<Api> {
        let bytes = fs::read(path).with_context(|| path.display().to_string())?;
        let text = miniz_oxide::inflate::decompress_to_vec_zlib(&bytes)
            .map_err(|error| anyhow!("{}: {error}", path.display()))?;
        Ok(Api(serde_json::from_slice(&text)?))
    }

    /// Writes it compressed (zlib).
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn store(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_vec(&self.0)?;
        fs::write(path, miniz_oxide::deflate::compress_to_vec_zlib(&text, LEVEL))
            .with_context(|| path.display().to_string())
    }

    /// Writes it as other tools read it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        fs::write(path, serde_json::to_vec(&self.0)?).with_context(|| path.display().to_string())
    }

    /// The version of the crate.
    pub fn version(&self) -> &str {
        self.0["crate_version"].as_str().unwrap_or_default()
    }

    /// The version of the JSON format, which rustdoc raises with some releases.
    pub fn format(&self) -> u64 {
        self.0["format_version"].as_u64().unwrap_or_default()
    }
}

/// Drops paths of the machine, prose, and any order that changes by chance: the same sources give the same bytes.
fn without_the_machine(mut api: Value) -> Value {
    let each = |api: &mut Value, part: &str, change: fn(&mut Value)| {
        api[part].as_object_mut().into_iter().flat_map(|all| all.values_mut()).for_each(change);
    };
    each(&mut api, "external_crates", |external| external["path"] = "".into());
    each(&mut api, "index", |item| {
        item["docs"] = Value::Null;
        item["links"] = Value::Object(serde_json::Map::new());
    });
    api.sort_all_objects();
    api
}
