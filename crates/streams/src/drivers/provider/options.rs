//! The answer to T_OPTMGMT_REQ: the options with their results, and the worst of these.

use super::answer::refuse;
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::tpi::{ManagementFlags, OptionStatus, PrimitiveNumber, TransportError, TransportOption};

/// Bytes of options of one request at most.
pub(in crate::drivers) const OPTIONS_MAX: usize = 1024;

/// The name that stands for all options of a level (T_ALLOPT).
pub(in crate::drivers) const ALL: u32 = 0;

/// Checks what every provider refuses: several questions at once, and too many options. False: it was answered.
pub(in crate::drivers) fn check(queue: &mut Queue<'_, '_, '_>, list: &[u8], flags: ManagementFlags) -> Result<bool> {
    let of = PrimitiveNumber::OptmgmtReq;
    let questions =
        [ManagementFlags::NEGOTIATE, ManagementFlags::CHECK, ManagementFlags::DEFAULT, ManagementFlags::CURRENT];
    if !questions.contains(&flags) {
        return refuse(queue, of, TransportError::BadFlag).map(|()| false);
    }
    if list.len() > OPTIONS_MAX {
        return refuse(queue, of, TransportError::BadOptions).map(|()| false);
    }
    Ok(true)
}

/// The options of an answer.
#[derive(Debug)]
pub(in crate::drivers) struct Answers {
    pub list: Vec<u8>,
    /// The worst result.
    pub worst: ManagementFlags,
}

impl Answers {
    pub fn new() -> Answers {
        Answers { list: Vec::new(), worst: ManagementFlags::SUCCESS }
    }

    pub fn add(&mut self, level: u32, name: u32, status: OptionStatus, value: &[u8]) {
        TransportOption { level, name, status, value }.append_to(&mut self.list);
        let rank = |bits: u32| RANKS.iter().position(|known| *known == bits);
        if let Some(new) = ManagementFlags::of(status.bits()).filter(|new| rank(new.bits()) > rank(self.worst.bits())) {
            self.worst = new;
        }
    }
}

/// Results from the best to the worst, as XNS 5.2 ranks them for the flags of the answer.
const RANKS: [u32; 5] = [
    OptionStatus::SUCCESS.bits(),
    OptionStatus::PARTIAL.bits(),
    OptionStatus::READ_ONLY.bits(),
    OptionStatus::FAILURE.bits(),
    OptionStatus::NOT_SUPPORTED.bits(),
];
