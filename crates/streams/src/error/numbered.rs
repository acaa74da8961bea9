//! Errors that name a value: a fixed text with one or two numbers in it, which fit into the error's one word. Nothing
//! is allocated: the failing call may be in a signal handler.

use std::fmt;

use headwater_os::one_word::NUMBER_BITS;

use super::{Errno, Error};
use crate::limits::{HIWAT_MAX, STRMSGSZ_MAX};

/// Bits of the number of a text.
const TEXT_BITS: u32 = 5;
/// Bits of the first value where there are two, and of the second, which is a limit of the stream. A value alone has
/// both. A larger value is shown as the largest that fits.
const FIRST_BITS: u32 = 28;
const SECOND_BITS: u32 = 29;

const _: () = assert!(TEXT_BITS + FIRST_BITS + SECOND_BITS == NUMBER_BITS);
const _: () = assert!(2 * (STRMSGSZ_MAX as u64) <= 1 << SECOND_BITS && (HIWAT_MAX as u64) < 1 << SECOND_BITS);

/// Makes the texts. `{a}` and `{b}` stand for the values, `{x}` for the first in hexadecimal digits.
macro_rules! texts {
    ($($name:ident = $errno:ident, $text:literal;)*) => {
        /// The texts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Text {
            $(#[doc = $text] $name,)*
        }

        const ALL: &[(Text, Errno, &str)] = &[$((Text::$name, Errno::$errno, $text),)*];
    };
}

texts! {
    ControlTooLong = Range, "a control part of {a} bytes exceeds strctlsz {b}";
    DataTooLong = Range, "a data part of {a} bytes exceeds maxpsz {b}";
    DataTooShort = Range, "{a} bytes of data are less than minpsz {b}";
    DataOutOfRange = Range, "{a} bytes of data exceed maxpsz {b}, and are not cut where there is a minpsz";
    MinpszAboveMaxpsz = Inval, "a minpsz of {a} is above maxpsz {b}";
    DataAloneTooLong = Range, "a data part of {a} bytes exceeds {b}: strmsgsz, or the messages of maxpsz into which data alone is cut";
    MessageTooLong = Range, "a message of {a} bytes exceeds the {b} that this stream takes";
    NoMemory = Nosr, "the stream has no memory left for a message of {a} bytes";
    TooMuchAtOnce = Nosr, "modules send more than the stream's {a} bytes of room";
    TooManyAtOnce = Nosr, "modules send more than the stream's {a} messages at a time";
    SignalBits = Inval, "I_SETSIG has no bits {x}";
    AllRegistered = Again, "{a} processes are registered, which is the limit";
    IoctlTooLong = Inval, "an ioctl's data of {a} bytes exceed strmsgsz {b}";
    CopyTooLong = Inval, "a copy of {a} bytes for an ioctl exceeds strmsgsz {b}";
    HiwatRange = Inval, "hiwat is {a}, and must be from 1 to {b} here";
    LowatAboveHiwat = Inval, "lowat {a} is above hiwat {b}";
    ReadOptionBits = Inval, "read options have no bits {x}";
    WriteOptionBits = Inval, "write options have no bits {x}";
    NamePlace = Inval, "a stream's name cannot be put at byte {a} of a control part of {b}";
    Raised = Io, "a module or driver raised error {a}";
    IoctlRefused = Io, "the ioctl was refused, with error {a}";
    IoctlFailed = Io, "the ioctl has failed, with error {a}";
}

const _: () = {
    let mut at = 0;
    while at < ALL.len() {
        assert!(ALL[at].0 as usize == at && at < 1 << TEXT_BITS);
        at += 1;
    }
};

/// An error with a text and its values, as it lies in one word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbered(pub usize);

impl Error {
    /// An error with that text and its two values; the second is 0 where the text has one.
    #[cold]
    pub(crate) fn numbered(text: Text, a: u64, b: u64) -> Error {
        let fit = |value: u64, bits: u32| value.min((1 << bits) - 1) as usize;
        let word = match text.has_two() {
            true => fit(b, SECOND_BITS) << FIRST_BITS | fit(a, FIRST_BITS),
            false => fit(a, FIRST_BITS + SECOND_BITS),
        };
        Error::of_number(word << TEXT_BITS | text as usize)
    }
}

impl Text {
    fn has_two(self) -> bool {
        ALL[self as usize].2.contains("{b}")
    }

    /// Whether the value is the error number itself.
    fn is_of_number(self) -> bool {
        matches!(self, Text::Raised | Text::IoctlRefused | Text::IoctlFailed)
    }
}

impl Numbered {
    fn text(self) -> (Text, Errno, &'static str) {
        ALL[self.0 % (1 << TEXT_BITS)]
    }

    fn values(self) -> [u64; 2] {
        let word = (self.0 >> TEXT_BITS) as u64;
        if self.text().0.has_two() { [word & ((1 << FIRST_BITS) - 1), word >> FIRST_BITS] } else { [word, 0] }
    }

    pub fn errno(self) -> Errno {
        let (text, errno, _) = self.text();
        if text.is_of_number() { Errno::new(self.values()[0] as i32) } else { errno }
    }
}

impl fmt::Display for Numbered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut rest, [a, b]) = (self.text().2, self.values());
        while let Some(at) = rest.find('{') {
            formatter.write_str(&rest[..at])?;
            match rest.as_bytes()[at + 1] {
                b'a' => write!(formatter, "{a}")?,
                b'x' => write!(formatter, "{a:#x}")?,
                _ => write!(formatter, "{b}")?,
            }
            rest = &rest[at + 3..];
        }
        formatter.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_its_values_and_its_errno() {
        let error = Error::numbered(Text::ControlTooLong, 70_000, 1024);
        assert_eq!(error.errno(), Errno::Range);
        assert_eq!(error.to_string(), "a control part of 70000 bytes exceeds strctlsz 1024");
        let error = Error::numbered(Text::Raised, 77, 0);
        assert_eq!((error.errno(), error.is_held(), error.is_fatal()), (Errno::new(77), false, false));
        assert_eq!(error.to_string(), "a module or driver raised error 77");
        // The last text, and values that do not fit.
        let error = Error::numbered(Text::IoctlFailed, 5, 0);
        assert_eq!(error.errno(), Errno::Io);
        let error = Error::numbered(Text::MessageTooLong, u64::MAX, u64::MAX);
        assert_eq!(error.to_string(), "a message of 268435455 bytes exceeds the 536870911 that this stream takes");
        let error = Error::numbered(Text::SignalBits, 0x8000_0400, 0);
        assert_eq!(error.to_string(), "I_SETSIG has no bits 0x80000400");
    }
}
