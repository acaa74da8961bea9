//! The package's copyright file: our licences, and for each crate that is linked into the binaries its name, its licence and the
//! texts that its authors ship. It reads the sources that Cargo has; it downloads nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell::{self, cargo};

/// The packages whose dependencies are in the Debian package.
const SHIPPED: [&str; 3] = ["headwater", "headwater-capi", "headwater-trace-c"];

/// Makes the file.
///
/// # Errors
/// If Cargo does not know the dependencies, or one of them names no licence.
pub fn text() -> Result<String> {
    let metadata = shell::output(&mut cargo(&["metadata", "--format-version", "1", "--locked", "--all-features"]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata")?;
    let linked = linked()?;
    let mut text =
        String::from("Headwater is licensed under the MIT licence or the Apache License 2.0, at your choice.\n");
    let mut texts = BTreeMap::<String, Vec<String>>::new();
    let mut add = |name: &str, folder: &Path| -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            if path.is_file()
                && ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"].iter().any(|start| file.starts_with(start))
            {
                texts.entry(fs::read_to_string(&path)?.trim().to_owned()).or_default().push(name.to_owned());
            }
        }
        Ok(())
    };
    add("headwater", shell::root())?;
    writeln!(text, "\nThe binaries contain the Rust standard library (MIT OR Apache-2.0) and these crates:\n")?;
    for package in metadata["packages"].as_array().context("packages")? {
        let word = |key: &str| package[key].as_str().unwrap_or_default();
        if package["source"].is_null() || !linked.contains(&format!("{} v{}", word("name"), word("version"))) {
            continue;
        }
        let name = format!("{} {}", word("name"), word("version"));
        let licence = package["license"].as_str().with_context(|| format!("{name} names no licence"))?;
        writeln!(text, "  {name}: {licence}")?;
        add(&name, Path::new(word("manifest_path")).parent().context("a folder")?)?;
    }
    for (licence, of) in texts {
        writeln!(text, "\n{}\nOf {}:\n\n{licence}", "-".repeat(72), of.join(", "))?;
    }
    Ok(text)
}

/// `name vVERSION` of each crate that is linked, without those that only build it.
fn linked() -> Result<BTreeSet<String>> {
    let mut arguments =
        vec!["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"];
    for package in SHIPPED {
        arguments.extend(["--package", package]);
    }
    let tree = shell::output(&mut cargo(&arguments))?;
    Ok(tree.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect())
}
