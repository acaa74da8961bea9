//! `cargo xtask deny`: whether the licences, sources and versions of all dependencies are those that `deny.toml` allows. A step of
//! `cargo xtask ci`. It reads what cargo-deny reads, and takes a second where cargo-deny takes minutes to compile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{archive, shell};

/// The workspaces, each with its own `Cargo.lock`.
const WORKSPACES: [&str; 4] = ["Cargo.toml", archive::MANIFEST, "experiments/Cargo.toml", "fuzz/Cargo.toml"];

/// What `deny.toml` allows.
#[derive(Debug, Default)]
struct Allowed {
    licences: BTreeSet<String>,
    registries: Vec<String>,
    /// Versions beside which there may be another one: `name@version`.
    skipped: BTreeSet<String>,
    targets: Vec<String>,
}

/// Checks all workspaces, and prints how many packages they have.
///
/// # Errors
/// Each package that is not allowed, and why; if `deny.toml` or Cargo's data cannot be read.
pub fn run() -> Result<()> {
    let path = shell::root().join("deny.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let allowed = Allowed::read(&text).with_context(|| path.display().to_string())?;
    let (mut wrong, mut unused) = (BTreeSet::new(), allowed.skipped.clone());
    for workspace in WORKSPACES {
        let packages = packages(workspace, &allowed.targets)?;
        wrong.extend(allowed.check(&packages, &mut unused).into_iter().map(|what| format!("{workspace}: {what}")));
        println!("deny: {workspace}: {} packages", packages.len());
    }
    wrong.extend(unused.iter().map(|skip| format!("deny.toml: {skip} is skipped, and is no second version any more")));
    if !wrong.is_empty() {
        bail!("deny.toml does not allow:\n{}", Vec::from_iter(wrong).join("\n"));
    }
    Ok(())
}

/// A package of a workspace.
#[derive(Debug)]
struct Package {
    name: String,
    version: String,
    licence: String,
    /// None: a folder of the repository.
    source: Option<String>,
}

fn packages(workspace: &str, targets: &[String]) -> Result<Vec<Package>> {
    let mut arguments = vec!["metadata", "--format-version", "1", "--locked", "--manifest-path", workspace];
    arguments.extend(targets.iter().flat_map(|target| ["--filter-platform", target]));
    let data: Value = serde_json::from_str(&shell::output(&mut shell::cargo(&arguments))?)?;
    let packages = data["packages"].as_array().context("cargo metadata has no packages")?;
    let text = |package: &Value, key: &str| package[key].as_str().map(str::to_owned);
    let of = |package: &Value| {
        let name = text(package, "name").context("a package without a name")?;
        let (version, licence) = (text(package, "version"), text(package, "license"));
        let source = text(package, "source");
        Ok(Package { name, version: version.unwrap_or_default(), licence: licence.unwrap_or_default(), source })
    };
    packages.iter().map(of).collect()
}

impl Allowed {
    fn read(text: &str) -> Result<Allowed> {
        let file: toml::Table = text.parse()?;
        let list = |section: &str, key: &str| {
            let list = file.get(section).and_then(|section| section.get(key)).and_then(toml::Value::as_array);
            list.with_context(|| format!("no {key} in [{section}]"))
        };
        let texts = |section: &str, key: &str| -> Result<Vec<String>> {
            let text =
                |value: &toml::Value| value.as_str().map(str::to_owned).with_context(|| format!("{key}: no text"));
            list(section, key)?.iter().map(text).collect()
        };
        let skip = |skip: &toml::Value| {
            let [name, reason] = ["crate", "reason"].map(|key| skip.get(key).and_then(toml::Value::as_str));
            match (name, reason) {
                (Some(name), Some(reason)) if !reason.is_empty() => Ok(name.to_owned()),
                _ => bail!("a skip without `crate` or without `reason`: {skip}"),
            }
        };
        Ok(Allowed {
            licences: texts("licenses", "allow")?.into_iter().collect(),
            registries: texts("sources", "allow-registry")?,
            skipped: list("bans", "skip")?.iter().map(skip).collect::<Result<_>>()?,
            targets: texts("graph", "targets")?,
        })
    }

    /// What is wrong with the packages of a workspace. Removes from `unused` the skips that it needs.
    fn check(&self, packages: &[Package], unused: &mut BTreeSet<String>) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for Package { name, version, licence, source } in packages {
            versions.entry(name).or_default().push(version);
            if !allows(licence, &self.licences) {
                wrong.push(format!(
                    "{name} {version}: licence {licence:?}: choose another crate, or allow it with a reason"
                ));
            }
            let is_known = |source: &String| {
                source
                    .strip_prefix("registry+")
                    .is_some_and(|source| self.registries.iter().any(|known| known == source))
            };
            if !source.as_ref().is_none_or(is_known) {
                wrong.push(format!("{name} {version}: source {source:?}: only crates.io is a source"));
            }
        }
        for (name, found) in versions.into_iter().filter(|(_, found)| found.len() > 1) {
            let is_skipped = |version: &&&str| {
                let skip = format!("{name}@{version}");
                unused.remove(&skip);
                self.skipped.contains(&skip)
            };
            let skipped = found.iter().filter(is_skipped).count();
            if found.len() - skipped > 1 {
                let versions = found.join(" and ");
                wrong.push(format!("{name} {versions}: update what needs the older one, or skip it with a reason"));
            }
        }
        wrong
    }
}

/// Whether one may choose allowed licences alone: an SPDX expression, whose AND goes before OR. `/` is an old OR.
fn allows(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let is_allowed = any(&mut words, allowed);
    is_allowed == Some(true) && words.peek().is_none()
}

type Words<'w> = std::iter::Peekable<std::str::SplitWhitespace<'w>>;

/// Alternatives. None for what is no expression.
fn any(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> Option<bool> {
    let mut done = all(words, allowed)?;
    while words.next_if_eq(&"OR").is_some() {
        done |= all(words, allowed)?;
    }
    Some(done)
}

fn all(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> Option<bool> {
    let mut done = one(words, allowed)?;
    while words.next_if_eq(&"AND").is_some() {
        done &= one(words, allowed)?;
    }
    Some(done)
}

fn one(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> Option<bool> {
    let word = words.next()?;
    if word == "(" {
        let done = any(words, allowed)?;
        return (words.next()? == ")").then_some(done);
    }
    if words.next_if_eq(&"WITH").is_some() {
        return Some(allowed.contains(&format!("{word} WITH {}", words.next()?)));
    }
    Some(allowed.contains(word))
}

#[cfg(test)]
mod tests;
