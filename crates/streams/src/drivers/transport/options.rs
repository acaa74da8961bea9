//! T_OPTMGMT_REQ: the loop-back transports have the sizes of their buffers as options, which can be read.

use crate::drivers::provider::answer::{answer, refuse};
use crate::drivers::provider::options::{ALL, Answers, check};
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::tpi::{
    ManagementFlags, OptionStatus, Primitive, PrimitiveNumber, TransportError, TransportOption, XTI_GENERIC,
    XTI_RCVBUF, XTI_SNDBUF, options,
};

/// The options that a request has, in order. None: it was refused.
pub(in crate::drivers) fn listed<'l>(
    queue: &mut Queue<'_, '_, '_>,
    list: &'l [u8],
    flags: ManagementFlags,
    levels: &[u32],
) -> Result<Option<Vec<TransportOption<'l>>>> {
    if !check(queue, list, flags)? {
        return Ok(None);
    }
    let listed: std::result::Result<Vec<_>, _> = options(list).collect();
    match listed {
        Ok(listed) if listed.iter().all(|option| levels.contains(&option.level)) => Ok(Some(listed)),
        _ => refuse(queue, PrimitiveNumber::OptmgmtReq, TransportError::BadOptions).map(|()| None),
    }
}

/// Answers an option of the level XTI_GENERIC: the sizes of the buffers can be read.
pub(in crate::drivers) fn add_generic(answers: &mut Answers, name: u32, flags: ManagementFlags, asked: &[u8]) {
    let size = crate::limits::HIWAT.to_ne_bytes();
    match name {
        XTI_SNDBUF | XTI_RCVBUF if flags == ManagementFlags::NEGOTIATE && asked != size => {
            answers.add(XTI_GENERIC, name, OptionStatus::READ_ONLY, &size);
        }
        XTI_SNDBUF | XTI_RCVBUF => answers.add(XTI_GENERIC, name, OptionStatus::SUCCESS, &size),
        ALL => {
            for name in [XTI_SNDBUF, XTI_RCVBUF] {
                answers.add(XTI_GENERIC, name, OptionStatus::SUCCESS, &size);
            }
        }
        _ => answers.add(XTI_GENERIC, name, OptionStatus::NOT_SUPPORTED, asked),
    }
}

pub(super) fn manage(queue: &mut Queue<'_, '_, '_>, list: &[u8], flags: ManagementFlags) -> Result<()> {
    let Some(asked) = listed(queue, list, flags, &[XTI_GENERIC])? else { return Ok(()) };
    let mut answers = Answers::new();
    if list.is_empty() {
        // All options of the provider.
        add_generic(&mut answers, ALL, flags, &[]);
    }
    for TransportOption { name, value, .. } in asked {
        add_generic(&mut answers, name, flags, value);
    }
    // No state waits for the answer: the question and the answer are one step.
    answer(queue, Primitive::OptmgmtAck { options: &answers.list, flags: answers.worst })
}
