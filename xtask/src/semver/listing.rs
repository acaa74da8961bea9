//! The listing of an API: a line for each public item with its signature, and for each automatic trait that a type has. Called
//! by [`super::run`].

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use public_api::Builder;

use super::rustdoc::Api;
use crate::shell;

/// Automatic traits of the compiler that no program can name.
const UNNAMEABLE: [&str; 2] = ["core::marker::Freeze", "core::marker::UnsafeUnpin"];

/// How two listings differ.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    /// Lines of the accepted listing that the present one lacks.
    pub gone: Vec<String>,
    /// Lines of the present listing that the accepted one lacks.
    pub new: Vec<String>,
}

/// Returns the lines, each once, in alphabetical order.
///
/// # Errors
/// If rustdoc writes another version of its format than `public-api` reads.
pub fn lines(api: &Api) -> Result<BTreeSet<String>> {
    let path = shell::target_directory().join("semver/listing.json");
    api.write(&path)?;
    let builder = Builder::from_rustdoc_json(&path).omit_blanket_impls(true).include_function_parameter_names(false);
    let listed = builder.build().with_context(|| {
        format!(
            "rustdoc writes version {} of its format, and this check reads version 57, of Rust 1.93 to 1.95: run \
             `cargo +1.95.0 xtask semver`, or raise the version of public-api",
            api.format()
        )
    })?;
    let is_nameable = |line: &String| !UNNAMEABLE.iter().any(|name| line.contains(name));
    Ok(listed.items().map(|item| item.to_string()).filter(is_nameable).collect())
}

/// The listing as a file.
pub fn text(lines: &BTreeSet<String>) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Compares the accepted listing to the present lines.
pub fn compare(accepted: &str, present: &BTreeSet<String>) -> Change {
    let accepted: BTreeSet<&str> = accepted.lines().collect();
    let gone = accepted.iter().filter(|line| !present.contains(**line)).map(|line| (*line).to_owned());
    let new = present.iter().filter(|line| !accepted.contains(line.as_str())).cloned();
    Change { gone: gone.collect(), new: new.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_or_different_is_told_from_what_is_new() {
        let present = ["pub fn a()", "pub fn b(u8)", "pub fn d()"].map(str::to_owned).into();
        let change = compare("pub fn a()\npub fn b()\npub fn c()\n", &present);
        assert_eq!(change.gone, ["pub fn b()", "pub fn c()"]);
        assert_eq!(change.new, ["pub fn b(u8)", "pub fn d()"]);
        assert_eq!(compare(&text(&present), &present), Change { gone: vec![], new: vec![] });
    }
}
