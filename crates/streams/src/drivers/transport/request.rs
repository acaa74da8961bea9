//! What every request of a transport's user goes through first, and the questions that any state allows.

use super::answer::{answer, fatal, refuse};
use super::memory;
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::tpi::{Event, Primitive, PrimitiveNumber, ProviderInfo, State, TransportError};

/// What the user asks for.
#[derive(Debug)]
pub(in crate::drivers) enum Asked<'a> {
    /// Something that is not possible; the user has been told.
    Nothing,
    /// A question that any state allows.
    Question(Primitive<'a>),
    /// A request that the state allows, and the state after it.
    Request(Primitive<'a>, State),
}

/// Checks a control part; `has`: whether the transport has the request.
pub(in crate::drivers) fn check<'a>(
    control: &'a [u8],
    queue: &mut Queue<'_, '_, '_>,
    has: impl FnOnce(PrimitiveNumber) -> bool,
) -> Result<Asked<'a>> {
    let (Ok(number), Ok(primitive)) = (Primitive::number_of(control), Primitive::decode(control)) else {
        return fatal(queue).map(|()| Asked::Nothing);
    };
    if !number.is_request() {
        return fatal(queue).map(|()| Asked::Nothing);
    }
    let Some(event) = number.request() else { return Ok(Asked::Question(primitive)) };
    let refused = |queue: &mut Queue<'_, '_, '_>, error| {
        let told = if number.is_acknowledged() { refuse(queue, number, error) } else { fatal(queue) };
        told.map(|()| Asked::Nothing)
    };
    if !has(number) {
        return refused(queue, TransportError::NotSupported);
    }
    let state = memory::state(queue)?;
    match state.after(event) {
        Some(next) => Ok(Asked::Request(primitive, next)),
        // The other end has ended the connection, and the user does not know it yet.
        None if matches!(event, Event::DataReq | Event::ExdataReq | Event::OrdrelReq) && state == State::Idle => {
            Ok(Asked::Nothing)
        }
        None => refused(queue, TransportError::OutOfState),
    }
}

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
