//! T_OPTMGMT_REQ: the loop-back transports have the sizes of their buffers as options, which can be read.

use super::answer::{answer, refuse};
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::tpi::{
    ManagementFlags, OptionStatus, Primitive, PrimitiveNumber, TransportError, TransportOption, XTI_GENERIC,
    XTI_RCVBUF, XTI_SNDBUF, options,
};

/// Bytes of options of one request at most.
pub(super) const OPTIONS_MAX: usize = 1024;

/// The name that stands for all options of a level (T_ALLOPT).
const ALL: u32 = 0;

pub(super) fn manage(queue: &mut Queue<'_, '_, '_>, list: &[u8], flags: ManagementFlags) -> Result<()> {
    let of = PrimitiveNumber::OptmgmtReq;
    let is_question =
        [ManagementFlags::NEGOTIATE, ManagementFlags::CHECK, ManagementFlags::DEFAULT, ManagementFlags::CURRENT];
    if !is_question.contains(&flags) {
        return refuse(queue, of, TransportError::BadFlag);
    }
    if list.len() > OPTIONS_MAX {
        return refuse(queue, of, TransportError::BadOptions);
    }
    let (mut answers, mut worst) = (Vec::new(), ManagementFlags::SUCCESS);
    let size = crate::limits::HIWAT.to_ne_bytes();
    let mut add = |level, name, status: OptionStatus, value: &[u8]| {
        TransportOption { level, name, status, value }.append_to(&mut answers);
        let rank = |bits: u32| [0x20, 0x100, 0x200, 0x40, 0x400].iter().position(|known| *known == bits);
        if let Some(flags) = ManagementFlags::of(status.bits()).filter(|new| rank(new.bits()) > rank(worst.bits())) {
            worst = flags;
        }
    };
    if list.is_empty() {
        // All options of the provider.
        for name in [XTI_SNDBUF, XTI_RCVBUF] {
            add(XTI_GENERIC, name, OptionStatus::SUCCESS, &size);
        }
    }
    for option in options(list) {
        let Ok(TransportOption { level: XTI_GENERIC, name, value, .. }) = option else {
            return refuse(queue, of, TransportError::BadOptions);
        };
        match name {
            XTI_SNDBUF | XTI_RCVBUF if flags == ManagementFlags::NEGOTIATE && value != size => {
                add(XTI_GENERIC, name, OptionStatus::READ_ONLY, &size);
            }
            XTI_SNDBUF | XTI_RCVBUF => add(XTI_GENERIC, name, OptionStatus::SUCCESS, &size),
            ALL => {
                for name in [XTI_SNDBUF, XTI_RCVBUF] {
                    add(XTI_GENERIC, name, OptionStatus::SUCCESS, &size);
                }
            }
            _ => add(XTI_GENERIC, name, OptionStatus::NOT_SUPPORTED, value),
        }
    }
    // No state waits for the answer: the question and the answer are one step.
    answer(queue, Primitive::OptmgmtAck { options: &answers, flags: worst })
}
