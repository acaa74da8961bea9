//! T_OPTMGMT_REQ: the loop-back transports have the sizes of their buffers as options, which can be read.

use crate::drivers::provider::answer::{answer, refuse};
use crate::drivers::provider::options::{ALL, Answers, check};
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::tpi::{
    ManagementFlags, OptionStatus, Primitive, PrimitiveNumber, TransportError, TransportOption, XTI_GENERIC,
    XTI_RCVBUF, XTI_SNDBUF, options,
};

pub(super) fn manage(queue: &mut Queue<'_, '_, '_>, list: &[u8], flags: ManagementFlags) -> Result<()> {
    if !check(queue, list, flags)? {
        return Ok(());
    }
    let (mut answers, size) = (Answers::new(), crate::limits::HIWAT.to_ne_bytes());
    if list.is_empty() {
        // All options of the provider.
        for name in [XTI_SNDBUF, XTI_RCVBUF] {
            answers.add(XTI_GENERIC, name, OptionStatus::SUCCESS, &size);
        }
    }
    for option in options(list) {
        let Ok(TransportOption { level: XTI_GENERIC, name, value, .. }) = option else {
            return refuse(queue, PrimitiveNumber::OptmgmtReq, TransportError::BadOptions);
        };
        match name {
            XTI_SNDBUF | XTI_RCVBUF if flags == ManagementFlags::NEGOTIATE && value != size => {
                answers.add(XTI_GENERIC, name, OptionStatus::READ_ONLY, &size);
            }
            XTI_SNDBUF | XTI_RCVBUF => answers.add(XTI_GENERIC, name, OptionStatus::SUCCESS, &size),
            ALL => {
                for name in [XTI_SNDBUF, XTI_RCVBUF] {
                    answers.add(XTI_GENERIC, name, OptionStatus::SUCCESS, &size);
                }
            }
            _ => answers.add(XTI_GENERIC, name, OptionStatus::NOT_SUPPORTED, value),
        }
    }
    // No state waits for the answer: the question and the answer are one step.
    answer(queue, Primitive::OptmgmtAck { options: &answers.list, flags: answers.worst })
}
