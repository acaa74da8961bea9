//! The structure of `<sys/sad.h>`: what the ioctls of `sad` hand over and return.

use crate::error::{Errno, Error, Result, fixed};
use crate::limits::AUTOPUSH_MODULES;
use crate::process::autopush::table::{Autopush, Minors};

/// FMNAMESZ and a byte for the end.
pub(super) const NAME: usize = 9;
/// Where the names begin, behind five words.
const LIST: usize = 20;

/// What an ioctl of `sad` configures (`sap_cmd`), with the values of SVR4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SadCommand {
    /// Removes an entry.
    #[doc(alias = "SAP_CLEAR")]
    Clear = 0,
    /// One minor device.
    #[doc(alias = "SAP_ONE")]
    One = 1,
    /// From one minor number to another.
    #[doc(alias = "SAP_RANGE")]
    Range = 2,
    /// All minor devices.
    #[doc(alias = "SAP_ALL")]
    All = 3,
}

/// What an ioctl of `sad` hands over, or returns (`struct strapush`): 92 bytes, in the machine's order of bytes.
///
/// | byte | field | C name | bytes |
/// |---|---|---|---|
/// | 0 | the [`SadCommand`] | `sap_cmd` | 4 |
/// | 4 | `major` | `sap_major` | 4 |
/// | 8 | `minor` | `sap_minor` | 4 |
/// | 12 | `last_minor` | `sap_lastminor` | 4 |
/// | 16 | how many modules | `sap_npush` | 4 |
/// | 20 | `modules`, 9 bytes each, filled up with zeros | `sap_list` | 72 |
///
/// ```
/// use headwater_streams::drivers::{major, sad::{SadCommand, SadRequest}};
///
/// let request = SadRequest::new(SadCommand::Range, major("echo")).minors(2, 5).modules(["srvmod"]);
/// assert_eq!(SadRequest::of(&request.bytes()?)?, request);
/// # Ok::<(), headwater_streams::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "strapush")]
pub struct SadRequest {
    /// The number of the [`SadCommand`].
    pub command: u32,
    /// The driver's [`major`](crate::drivers::major) number.
    pub major: u32,
    /// The minor number, or the first one of a range.
    pub minor: u32,
    /// The last one of a range.
    pub last_minor: u32,
    /// The modules, the one that is pushed first first.
    pub modules: Vec<String>,
}

impl SadRequest {
    /// Length in bytes.
    pub const LEN: usize = LIST + AUTOPUSH_MODULES * NAME;

    /// For a driver, with minor numbers 0 and no module.
    pub fn new(command: SadCommand, major: u32) -> SadRequest {
        SadRequest { command: command as u32, major, minor: 0, last_minor: 0, modules: Vec::new() }
    }

    /// Sets the first and the last minor number.
    #[must_use]
    pub fn minors(self, minor: u32, last_minor: u32) -> SadRequest {
        SadRequest { minor, last_minor, ..self }
    }

    /// Sets the modules.
    #[must_use]
    pub fn modules(self, modules: impl IntoIterator<Item = impl Into<String>>) -> SadRequest {
        SadRequest { modules: modules.into_iter().map(Into::into).collect(), ..self }
    }

    /// As the ioctl hands it over.
    ///
    /// # Errors
    /// `EINVAL` for more than [`limits::AUTOPUSH_MODULES`](crate::limits::AUTOPUSH_MODULES); `EOVERFLOW` for a name of more than 8
    /// bytes.
    pub fn bytes(&self) -> Result<[u8; SadRequest::LEN]> {
        if self.modules.len() > AUTOPUSH_MODULES {
            return Err(fixed!(Inval, "a strapush has room for 8 modules"));
        }
        let mut bytes = [0; SadRequest::LEN];
        let words = [self.command, self.major, self.minor, self.last_minor, self.modules.len() as u32];
        for (at, word) in words.into_iter().enumerate() {
            bytes[4 * at..][..4].copy_from_slice(&word.to_ne_bytes());
        }
        for (at, module) in self.modules.iter().enumerate() {
            if module.len() >= NAME {
                let why = format!("a strapush has room for names of 8 bytes, and '{module}' has {}", module.len());
                return Err(Error::new(Errno::Overflow, why));
            }
            bytes[LIST + at * NAME..][..module.len()].copy_from_slice(module.as_bytes());
        }
        Ok(bytes)
    }

    /// Reads what was handed over, or returned.
    ///
    /// # Errors
    /// `EINVAL` for fewer bytes, for more modules than there is room for, and for a name without an end.
    #[doc(alias = "sap_list")]
    pub fn of(bytes: &[u8]) -> Result<SadRequest> {
        let short = || fixed!(Inval, "a strapush has 92 bytes");
        let bytes = bytes.first_chunk::<{ SadRequest::LEN }>().ok_or_else(short)?;
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[4 * at + byte]));
        let [command, major, minor, last_minor, count] = std::array::from_fn(word);
        if count as usize > AUTOPUSH_MODULES {
            return Err(fixed!(Inval, "a strapush has room for 8 modules"));
        }
        let (names, _) = bytes[LIST..].as_chunks::<NAME>();
        let modules = names[..count as usize].iter().map(name).collect::<Result<Vec<String>>>()?;
        Ok(SadRequest { command, major, minor, last_minor, modules })
    }

    /// What `sap_cmd` asks for. Errors: `EINVAL` for another number.
    pub(super) fn command(&self) -> Result<SadCommand> {
        let commands = [SadCommand::Clear, SadCommand::One, SadCommand::Range, SadCommand::All];
        let found = commands.into_iter().find(|command| *command as u32 == self.command);
        found.ok_or_else(|| fixed!(Inval, "sap_cmd is none of SAP_CLEAR, SAP_ONE, SAP_RANGE and SAP_ALL"))
    }

    /// As an entry is returned.
    pub(super) fn of_entry(entry: &Autopush) -> SadRequest {
        let (command, minor, last_minor) = match entry.minors {
            Minors::One(minor) => (SadCommand::One, minor, 0),
            Minors::Range(first, last) => (SadCommand::Range, first, last),
            Minors::All => (SadCommand::All, 0, 0),
        };
        let modules = entry.modules.clone();
        SadRequest { modules, ..SadRequest::new(command, super::super::major(&entry.driver)).minors(minor, last_minor) }
    }
}

/// A name that is filled up with zeros, at least one.
pub(super) fn name(bytes: &[u8; NAME]) -> Result<String> {
    let len = bytes.iter().position(|byte| *byte == 0).filter(|len| *len > 0);
    let text = len.and_then(|len| std::str::from_utf8(&bytes[..len]).ok());
    text.map(str::to_owned).ok_or_else(|| fixed!(Inval, "a module's name has 1 to 8 bytes and then a 0"))
}
