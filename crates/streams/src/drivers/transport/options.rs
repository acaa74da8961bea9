//! T_OPTMGMT_REQ: the loop-back transports have the sizes of their buffers as options, which can be read.

use super::answer::{answer, refuse};
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::tpi::{
    ManagementFlags, OptionStatus, Primitive, PrimitiveNumber, TransportError, TransportOption, XTI_GENERIC,
    XTI_RCVBUF, XTI_SNDBUF, options,
};

/// Bytes of options of one request at most.
pub(in crate::drivers) const OPTIONS_MAX: usize = 1024;

/// The answers to a list of options, and the worst result among them.
#[derive(Debug)]
pub(in crate::drivers) struct Answers {
    bytes: Vec<u8>,
    worst: ManagementFlags,
}

impl Answers {
    pub fn new() -> Answers {
        Answers { bytes: Vec::new(), worst: ManagementFlags::SUCCESS }
    }

    pub fn add(&mut self, level: u32, name: u32, status: OptionStatus, value: &[u8]) {
        TransportOption { level, name, status, value }.append_to(&mut self.bytes);
        let rank = |bits: u32| [0x20, 0x100, 0x200, 0x40, 0x400].iter().position(|known| *known == bits);
        let found = ManagementFlags::of(status.bits());
        if let Some(flags) = found.filter(|new| rank(new.bits()) > rank(self.worst.bits())) {
            self.worst = flags;
        }
    }

    /// The sizes of the buffers, which can be read.
    pub fn add_buffer_size(&mut self, name: u32, flags: ManagementFlags, asked: Option<&[u8]>) {
        let size = crate::limits::HIWAT.to_ne_bytes();
        let is_changed = flags == ManagementFlags::NEGOTIATE && asked.is_some_and(|value| value != size);
        let status = if is_changed { OptionStatus::READ_ONLY } else { OptionStatus::SUCCESS };
        self.add(XTI_GENERIC, name, status, &size);
    }

    /// Sends the answer. No state waits for it: the question and the answer are one step.
    pub fn send(self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        answer(queue, Primitive::OptmgmtAck { options: &self.bytes, flags: self.worst })
    }
}

/// The options that a request has, in order.
///
/// Errors: what the request is refused with.
pub(in crate::drivers) fn listed(
    list: &[u8],
    flags: ManagementFlags,
) -> std::result::Result<Vec<TransportOption<'_>>, TransportError> {
    let is_question =
        [ManagementFlags::NEGOTIATE, ManagementFlags::CHECK, ManagementFlags::DEFAULT, ManagementFlags::CURRENT];
    if !is_question.contains(&flags) {
        return Err(TransportError::BadFlag);
    }
    if list.len() > OPTIONS_MAX {
        return Err(TransportError::BadOptions);
    }
    options(list).collect::<std::result::Result<_, _>>().map_err(|_| TransportError::BadOptions)
}

pub(in crate::drivers) fn manage(queue: &mut Queue<'_, '_, '_>, list: &[u8], flags: ManagementFlags) -> Result<()> {
    let of = PrimitiveNumber::OptmgmtReq;
    let asked = match listed(list, flags) {
        Ok(asked) if asked.iter().all(|option| option.level == XTI_GENERIC) => asked,
        Ok(_) => return refuse(queue, of, TransportError::BadOptions),
        Err(error) => return refuse(queue, of, error),
    };
    let mut answers = Answers::new();
    if list.is_empty() {
        // All options of the provider.
        for name in [XTI_SNDBUF, XTI_RCVBUF] {
            answers.add_buffer_size(name, flags, None);
        }
    }
    for TransportOption { level, name, value, .. } in asked {
        match name {
            XTI_SNDBUF | XTI_RCVBUF => answers.add_buffer_size(name, flags, Some(value)),
            _ => answers.add(level, name, OptionStatus::NOT_SUPPORTED, value),
        }
    }
    answers.send(queue)
}
