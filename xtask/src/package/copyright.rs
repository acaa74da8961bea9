//! The package's copyright file: our licences, and for each crate that is linked into the binaries its name, its licence and the
//! texts that its authors ship. It reads the sources that Cargo has; it downloads nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::archive;
use crate::shell::{self, cargo};

/// The packages whose dependencies are in the Debian package, by the manifest of their workspace.
const SHIPPED: [(&str, &[&str]); 2] = [
    ("Cargo.toml", &["headwater", "headwater-capi", "headwater-trace-c"]),
    (archive::MANIFEST, &["headwater-archive"]),
];

/// Makes the file.
///
/// # Errors
/// If Cargo does not know the dependencies, or one of them names no licence.
pub fn text() -> Result<String> {
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
    let mut crates = BTreeMap::new();
    for (manifest, shipped) in SHIPPED {
        let metadata = ["metadata", "--format-version", "1", "--locked", "--all-features", "--manifest-path", manifest];
        let metadata: Value = serde_json::from_str(&shell::output(&mut cargo(&metadata))?).context("cargo metadata")?;
        let linked = linked(manifest, shipped)?;
        for package in metadata["packages"].as_array().context("packages")? {
            let word = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
            if package["source"].is_null() || !linked.contains(&format!("{} v{}", word("name"), word("version"))) {
                continue;
            }
            let name = format!("{} {}", word("name"), word("version"));
            let licence = package["license"].as_str().with_context(|| format!("{name} names no licence"))?;
            crates.insert(name, (licence.to_owned(), word("manifest_path")));
        }
    }
    for (name, (licence, manifest)) in crates {
        writeln!(text, "  {name}: {licence}")?;
        add(&name, Path::new(&manifest).parent().context("a folder")?)?;
    }
    for (licence, of) in texts {
        writeln!(text, "\n{}\nOf {}:\n\n{licence}", "-".repeat(72), of.join(", "))?;
    }
    Ok(text)
}

/// `name vVERSION` of each crate that is linked, without those that only build it.
fn linked(manifest: &str, shipped: &[&str]) -> Result<BTreeSet<String>> {
    let mut arguments =
        vec!["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"];
    arguments.extend(["--manifest-path", manifest]);
    for package in shipped {
        arguments.extend(["--package", package]);
    }
    let tree = shell::output(&mut cargo(&arguments))?;
    Ok(tree.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect())
}
