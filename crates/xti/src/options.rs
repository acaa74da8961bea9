//! Lists of options, for requests and answers.

use headwater_streams::tpi::{self, OptionStatus, TransportOption};

/// The name that stands for all options of a level.
#[doc(alias = "T_ALLOPT")]
pub const ALL_OPTIONS: u32 = 0;

/// A list of options, in the form that a call takes and returns: t_opthdr structures, each followed by its value and aligned.
///
/// ```
/// use headwater_streams::tpi::{XTI_GENERIC, XTI_SNDBUF};
/// use headwater_xti::OptionList;
///
/// let list = OptionList::new().with(XTI_GENERIC, XTI_SNDBUF, &4096u32.to_ne_bytes());
/// let option = list.iter().next().expect("one").expect("well formed");
/// assert_eq!((option.name, option.value), (XTI_SNDBUF, &4096u32.to_ne_bytes()[..]));
/// ```
///
/// Source: XNS 5.2, the use of options in XTI.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[doc(alias = "t_opthdr")]
pub struct OptionList {
    bytes: Vec<u8>,
}

impl OptionList {
    /// Makes a list without options.
    pub const fn new() -> OptionList {
        OptionList { bytes: Vec::new() }
    }

    /// Appends an option.
    #[must_use]
    pub fn with(mut self, level: u32, name: u32, value: &[u8]) -> OptionList {
        TransportOption { level, name, status: OptionStatus::NONE, value }.append_to(&mut self.bytes);
        self
    }

    /// Appends a request for all options of a level (T_ALLOPT).
    #[must_use]
    pub fn with_all(self, level: u32) -> OptionList {
        self.with(level, ALL_OPTIONS, &[])
    }

    /// Returns the list as bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the options in order. The iterator ends after a malformed one.
    pub fn iter(&self) -> impl Iterator<Item = Result<TransportOption<'_>, tpi::Malformed>> {
        tpi::options(&self.bytes)
    }
}

impl From<Vec<u8>> for OptionList {
    fn from(bytes: Vec<u8>) -> OptionList {
        OptionList { bytes }
    }
}
