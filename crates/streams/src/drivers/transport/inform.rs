//! Answers to the questions that any state allows.

use super::memory;
use crate::drivers::provider::answer::answer;
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::tpi::{Primitive, ProviderInfo};

/// Answers a question.
pub(in crate::drivers) fn inform(
    question: &Primitive<'_>,
    info: ProviderInfo,
    queue: &mut Queue<'_, '_, '_>,
) -> Result<()> {
    match question {
        Primitive::AddrReq => {
            let (local, remote) = (memory::local(queue)?, memory::remote(queue)?);
            let remote = if memory::other(queue)?.is_some() { remote.bytes() } else { &[] };
            answer(queue, Primitive::AddrAck { local: local.bytes(), remote })
        }
        Primitive::CapabilityReq { wanted } => {
            let acceptor = acceptor_of(queue.minor().unwrap_or(0));
            answer(queue, Primitive::CapabilityAck { given: *wanted, info, acceptor })
        }
        _ => answer(queue, Primitive::InfoAck(info)),
    }
}

/// The number by which an endpoint is named to accept a connection.
fn acceptor_of(minor: u32) -> u32 {
    minor + 1
}
