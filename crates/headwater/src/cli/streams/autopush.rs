//! `headwater streams autopush`: which modules are pushed on devices when they are opened, as autopush(1M) of SVR4.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use headwater_os::plain_file;
use headwater_streams::autopush::{self, Autopush};
use headwater_streams::drivers::major;
use headwater_streams::{DeviceOptions, known_drivers, known_modules};

use crate::cli::output::{note, out};
use crate::cli::status;

/// Print or change which modules are pushed on devices when they are opened
///
/// A line of the configuration has a driver, a minor number, a last minor number, and up to 8 modules, the one that is pushed first
/// first. A last number of 0 stands for the one minor number, a minor number of -1 for all: `echo 0 7 nullmod srvmod`,
/// `nuls -1 0 bufmod`. What is configured stays until it is removed. It is of one directory of devices, that of the
/// user unless HEADWATER_RUNTIME_DIR or --directory names another.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater streams autopush                      all entries, as --file reads them
  headwater streams autopush --file devices.conf  add the entries of a file
  headwater streams autopush --get --major echo --minor 3      the entry for a device
  headwater streams autopush --remove --major echo --minor 0   remove the entry that begins with a device

The letters of autopush(1M) are accepted too: -f, -g, -r, -M and -m.

Exit status: 0 all done, 2 wrong usage or file, or an entry was refused.")]
pub(super) struct AutopushArguments {
    /// Add the entries of a file; - is standard input
    #[arg(long, short_alias = 'f', value_name = "FILE", conflicts_with_all = ["get", "remove", "major", "minor"])]
    file: Option<PathBuf>,

    /// Print the entry for a device
    #[arg(long, short_alias = 'g', requires = "major", conflicts_with = "remove")]
    get: bool,

    /// Remove an entry: --minor is its first minor number, 0 for one of all
    #[arg(long, short_alias = 'r', requires = "major")]
    remove: bool,

    /// The driver, by its name or its major number
    #[arg(long, short_alias = 'M', value_name = "DRIVER")]
    major: Option<String>,

    /// The minor number
    #[arg(long, short_alias = 'm', value_name = "NUMBER", default_value_t = 0)]
    minor: u32,

    /// The directory of devices [default: the user's own]
    #[arg(short, long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(super) fn autopush(arguments: &AutopushArguments) -> anyhow::Result<u8> {
    let mut options = DeviceOptions::new();
    options.directory.clone_from(&arguments.directory);
    if let Some(file) = &arguments.file {
        return add(&options, file);
    }
    let driver = arguments.major.as_deref().map(driver).transpose()?;
    let minor = arguments.minor;
    match driver {
        Some(driver) if arguments.remove => {
            autopush::clear(&options, &driver, minor)?;
        }
        Some(driver) if arguments.get => writeln!(out(), "{}", autopush::get(&options, &driver, minor)?)?,
        Some(_) => bail!("--major goes along with --get or --remove"),
        None => {
            let mut out = out();
            autopush::list(&options)?.iter().try_for_each(|entry| writeln!(out, "{entry}"))?;
        }
    }
    Ok(status::OK)
}

/// The name of a driver that is given by its name or its major number.
fn driver(text: &str) -> anyhow::Result<String> {
    match text.parse::<u32>() {
        Err(_) => Ok(text.to_owned()),
        Ok(number) => {
            let found = known_drivers().into_iter().find(|name| major(name) == number);
            found.map(str::to_owned).with_context(|| format!("no driver of this program has major number {number}"))
        }
    }
}

/// Adds the entries of a file. One that is refused is reported, and the others are added.
fn add(options: &DeviceOptions, file: &Path) -> anyhow::Result<u8> {
    /// A table has a line for a device; SVR4's had a hundred entries.
    const BYTES_MAX: u64 = 4 << 20;
    let text = match file == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin().take(BYTES_MAX)),
        false => plain_file::read_text(file, BYTES_MAX),
    };
    let entries = text.map_err(anyhow::Error::from).and_then(|text| Ok(autopush::parse(&text)?));
    let mut status = status::OK;
    for mut entry in entries.with_context(|| file.display().to_string())? {
        entry.driver = driver(&entry.driver)?;
        note_unknown(&entry);
        let line = entry.to_string();
        if let Err(error) = autopush::configure(options, entry) {
            note!("headwater: {}: '{line}': {error}", file.display());
            status = status::USAGE;
        }
    }
    Ok(status)
}

/// Says which names this program does not know: they may be mistakes.
fn note_unknown(entry: &Autopush) {
    if !known_drivers().contains(&entry.driver.as_str()) {
        note!("headwater: note: '{}' is no driver that this program knows", entry.driver);
    }
    for module in entry.modules.iter().filter(|module| !known_modules().contains(&module.as_str())) {
        note!("headwater: note: '{module}' is no module that this program knows: where it is not known, opens fail");
    }
}
