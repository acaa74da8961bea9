//! The table of autopush: which modules are pushed on which devices, and the text in which it is stored. Pure.

use std::fmt;

use crate::error::{Errno, Error, Result};
use crate::limits::{AUTOPUSH_ENTRIES, AUTOPUSH_MODULES, NAME_MAX};

/// The minor devices of a driver that an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[doc(alias = "sap_cmd")]
pub enum Minors {
    /// One of them (SAP_ONE).
    #[doc(alias = "SAP_ONE")]
    One(u32),
    /// All from the first to the last number, which is above the first (SAP_RANGE).
    #[doc(alias = "SAP_RANGE")]
    Range(u32, u32),
    /// All (SAP_ALL).
    #[doc(alias = "SAP_ALL")]
    All,
}

impl Minors {
    /// The first number and the last.
    fn bounds(self) -> (u32, u32) {
        match self {
            Minors::One(minor) => (minor, minor),
            Minors::Range(first, last) => (first, last),
            Minors::All => (0, u32::MAX),
        }
    }

    fn overlaps(self, other: Minors) -> bool {
        let ((first, last), (other_first, other_last)) = (self.bounds(), other.bounds());
        first <= other_last && other_first <= last
    }
}

/// Modules that are pushed on devices of a driver when they are opened. Its text is a line of a configuration file.
///
/// ```
/// use headwater_streams::autopush::{Autopush, Minors};
///
/// let entry = Autopush::new("echo", Minors::Range(0, 7), ["nullmod", "srvmod"]);
/// assert_eq!(entry.to_string(), "echo 0 7 nullmod srvmod");
/// assert_eq!("echo -1 0 nullmod".parse::<Autopush>()?.minors, Minors::All);
/// # Ok::<(), headwater_streams::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "strapush")]
pub struct Autopush {
    /// The driver.
    pub driver: String,
    /// Which of its minor devices.
    pub minors: Minors,
    /// The modules, the one that is pushed first first.
    pub modules: Vec<String>,
}

impl Autopush {
    /// An entry that is not yet checked.
    #[doc = include_str!("../../../doc/autopush.md")]
    pub fn new(
        driver: impl Into<String>,
        minors: Minors,
        modules: impl IntoIterator<Item = impl Into<String>>,
    ) -> Autopush {
        Autopush { driver: driver.into(), minors, modules: modules.into_iter().map(Into::into).collect() }
    }

    /// Errors: `EINVAL` for names that are none, and for no module or too many; `ERANGE` for a range that does not rise.
    pub(crate) fn check(&self) -> Result<()> {
        let count = self.modules.len();
        if count == 0 || count > AUTOPUSH_MODULES {
            let why = format!("1 to {AUTOPUSH_MODULES} modules are pushed on a device, and not {count}");
            return Err(Error::new(Errno::Inval, why));
        }
        for name in self.modules.iter().chain([&self.driver]) {
            check_name(name)?;
        }
        match self.minors {
            Minors::Range(first, last) if first >= last => {
                Err(Error::new(Errno::Range, format!("a range of minor numbers from {first} to {last} does not rise")))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a driver or module can have the name, and a line can tell it.
fn check_name(name: &str) -> Result<()> {
    let is_one = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
    if name.is_empty() || name.len() > NAME_MAX || name.starts_with(['.', '#', '-']) || !name.bytes().all(is_one) {
        let why =
            format!("{name:?} is no name of a driver or module: 1 to {NAME_MAX} letters, digits and signs, no '/'");
        return Err(Error::new(Errno::Inval, why));
    }
    Ok(())
}

impl fmt::Display for Autopush {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Autopush { driver, minors, modules } = self;
        match minors {
            Minors::One(minor) => write!(formatter, "{driver} {minor} 0")?,
            Minors::Range(first, last) => write!(formatter, "{driver} {first} {last}")?,
            Minors::All => write!(formatter, "{driver} -1 0")?,
        }
        modules.iter().try_for_each(|module| write!(formatter, " {module}"))
    }
}

impl std::str::FromStr for Autopush {
    type Err = Error;

    /// Reads a line of a configuration file, as autopush(1M) has them: driver, minor number, last minor number, modules. A minor
    /// number of -1 stands for all; a last one of 0 for the minor number alone.
    fn from_str(line: &str) -> Result<Autopush> {
        let bad =
            |what: &str| Error::new(Errno::Inval, format!("{what} in {line:?}: driver, minor, last minor, modules"));
        let mut words = line.split_ascii_whitespace();
        let driver = words.next().ok_or_else(|| bad("no driver"))?;
        let mut number = || words.next().ok_or_else(|| bad("a number is missing"));
        let (minor, last) = (number()?, number()?);
        let parsed = |text: &str| text.parse::<u32>().map_err(|_| bad("no minor number"));
        let minors = match (minor, parsed(last)?) {
            ("-1", 0) => Minors::All,
            ("-1", _) => return Err(bad("a last minor number of all")),
            (minor, 0) => Minors::One(parsed(minor)?),
            (minor, last) => Minors::Range(parsed(minor)?, last),
        };
        let entry = Autopush::new(driver, minors, words);
        entry.check()?;
        Ok(entry)
    }
}

/// Reads the lines of a configuration file. Empty ones are left out, and so is what follows a `#` at the beginning of a word.
///
/// ```
/// use headwater_streams::autopush;
///
/// let entries = autopush::parse("# a comment\n\necho 0 0 nullmod  # another\n")?;
/// assert_eq!(entries.len(), 1);
/// assert!(autopush::parse("echo 0 0").unwrap_err().to_string().starts_with("line 1: "));
/// # Ok::<(), headwater_streams::Error>(())
/// ```
///
/// # Errors
/// `EINVAL` and `ERANGE` for a line that makes no sense, with its number.
pub fn parse(text: &str) -> Result<Vec<Autopush>> {
    let mut entries = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let words = line.split_ascii_whitespace().take_while(|word| !word.starts_with('#'));
        let line = words.collect::<Vec<_>>().join(" ");
        if !line.is_empty() {
            let numbered = |error: Error| Error::new(error.errno(), format!("line {}: {error}", at + 1));
            entries.push(line.parse().map_err(numbered)?);
        }
    }
    Ok(entries)
}

/// The first line of a stored table. It shows that the rest is of this format.
const FIRST_LINE: &str = "# headwater autopush 1";
/// The last one. It shows that nothing is missing.
const LAST_LINE: &str = "# end";

/// All entries of a directory of devices; no two are for the same device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Table {
    pub entries: Vec<Autopush>,
}

impl Table {
    /// Longest text in bytes.
    pub const LEN_MAX: usize = 64 + AUTOPUSH_ENTRIES * (32 + (AUTOPUSH_MODULES + 1) * (NAME_MAX + 1));

    /// Adds an entry.
    ///
    /// Errors: `EINVAL`, `ERANGE` for one that makes no sense; `EEXIST` if there is one for a device of it; `ENOSR` if the table is
    /// full.
    pub fn add(&mut self, entry: Autopush) -> Result<()> {
        entry.check()?;
        let same = |other: &&Autopush| other.driver == entry.driver && other.minors.overlaps(entry.minors);
        if let Some(other) = self.entries.iter().find(same) {
            return Err(Error::new(Errno::Exist, format!("there is an entry for these devices: {other}")));
        }
        if self.entries.len() >= AUTOPUSH_ENTRIES {
            return Err(Error::new(Errno::Nosr, format!("there are {AUTOPUSH_ENTRIES} entries already")));
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Removes the entry that begins with a minor device; one for all begins with 0.
    ///
    /// Errors: `ENODEV` if there is none for the device; `ERANGE` if it begins with another one.
    pub fn remove(&mut self, driver: &str, minor: u32) -> Result<Autopush> {
        let at = self.position(driver, minor).ok_or_else(|| not_configured(driver, minor))?;
        let entry = &self.entries[at];
        let first = entry.minors.bounds().0;
        if first != minor {
            let why = format!("the entry for this device begins with minor number {first}: {entry}");
            return Err(Error::new(Errno::Range, why));
        }
        Ok(self.entries.remove(at))
    }

    /// The entry for a device.
    pub fn find(&self, driver: &str, minor: u32) -> Option<&Autopush> {
        self.position(driver, minor).map(|at| &self.entries[at])
    }

    fn position(&self, driver: &str, minor: u32) -> Option<usize> {
        let is_for = |entry: &Autopush| entry.driver == driver && entry.minors.overlaps(Minors::One(minor));
        self.entries.iter().position(is_for)
    }

    /// As it is stored.
    pub fn text(&self) -> String {
        let lines: String = self.entries.iter().map(|entry| format!("{entry}\n")).collect();
        format!("{FIRST_LINE}\n{lines}{LAST_LINE}\n")
    }

    /// Reads what was stored.
    ///
    /// Errors: `EPROTO` for something else.
    pub fn of(bytes: &[u8]) -> Result<Table> {
        let strange = |why: String| Error::new(Errno::Proto, why);
        let text = std::str::from_utf8(bytes).map_err(|_| strange("it is no text".to_owned()))?;
        let lines = text.strip_prefix(FIRST_LINE).and_then(|rest| rest.strip_prefix('\n'));
        let lines = lines.and_then(|rest| rest.strip_suffix('\n')).and_then(|rest| rest.strip_suffix(LAST_LINE));
        let lines = lines.filter(|lines| lines.is_empty() || lines.ends_with('\n'));
        let lines = lines.ok_or_else(|| strange("its first or last line is missing".to_owned()))?;
        let mut table = Table::default();
        for line in lines.lines() {
            let added = line.parse().and_then(|entry| table.add(entry));
            added.map_err(|error| strange(format!("an entry makes no sense: {error}")))?;
        }
        Ok(table)
    }
}

/// The error where no entry is.
pub(crate) fn not_configured(driver: &str, minor: u32) -> Error {
    Error::new(Errno::Nodev, format!("no modules are configured for '{driver}' {minor}"))
}

#[cfg(test)]
mod tests;
