//! Man pages, generated from the command's definition, and the scripts of the shells.

use std::io::Write;
use std::path::Path;

use super::complete::Shell;
use super::output::raw;
use super::{command, help, status};
use crate::replace;
use anyhow::Context;

/// Returns every man page: file name and text.
pub fn man_pages() -> Vec<(String, Vec<u8>)> {
    let mut root = help::fitted(command(), usize::MAX);
    root.build();
    let mut pages = Vec::new();
    add_pages(&root, "headwater", &mut pages);
    pages
}

/// The page of a command, and those of its subcommands.
fn add_pages(command: &clap::Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) {
    pages.push(page(command.clone(), name));
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        if subcommand.get_name() != "help" {
            add_pages(subcommand, &format!("{name}-{}", subcommand.get_name()), pages);
        }
    }
}

fn page(command: clap::Command, name: &str) -> (String, Vec<u8>) {
    let mut text = Vec::new();
    // A program's name is 'static to clap; there are some twenty of them.
    let title: &'static str = Box::leak(name.to_owned().into_boxed_str());
    let man = clap_mangen::Man::new(command.name(title)).title(name.to_uppercase()).section("1");
    man.render(&mut text).expect("writing to memory does not fail");
    (format!("{name}.1"), text)
}

/// Returns the completions of every shell: file name and text.
pub fn completions() -> Vec<(String, Vec<u8>)> {
    Shell::TABLE.iter().map(|(_, name, script)| ((*name).to_owned(), script.as_bytes().to_vec())).collect()
}

pub(super) fn print_completions(shell: Shell) -> anyhow::Result<u8> {
    raw().write_all(shell.script().as_bytes())?;
    Ok(status::OK)
}

pub(super) fn write_man_pages(directory: &Path) -> anyhow::Result<u8> {
    for (name, text) in man_pages() {
        let path = directory.join(name);
        replace::write(&path, &text).with_context(|| format!("{}", path.display()))?;
    }
    Ok(status::OK)
}
