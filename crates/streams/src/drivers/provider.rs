//! What all providers of transports do with their users' requests in the same way: the checks before a request, answers, and the
//! answers to questions about options. The driver of a transport calls it; it knows no addresses and no connections.

use crate::error::Result;
use crate::message::Message;
use crate::plumb::queue::Queue;
use crate::tpi::{Event, Primitive, PrimitiveNumber, Service, State, TransportError};

pub(super) mod answer;
pub(super) mod options;
pub(super) mod words;

use answer::{fatal, refuse};

/// What is to be done with a primitive of a user.
#[derive(Debug)]
pub(super) enum Admitted<'a> {
    /// A request that the state allows.
    Request(Primitive<'a>),
    /// A question that every state allows.
    Question(Primitive<'a>),
    /// Nothing: it was refused, or is too late to matter.
    Nothing,
}

/// Checks a primitive of a user: its form, whether the service has it, and whether the state allows it. What fails is answered.
pub(super) fn admit<'a>(
    message: &'a Message<'_>,
    service: Service,
    state: State,
    queue: &mut Queue<'_, '_, '_>,
) -> Result<Admitted<'a>> {
    let control = message.control().unwrap_or_default();
    let (Ok(number), Ok(primitive)) = (Primitive::number_of(control), Primitive::decode(control)) else {
        return fatal(queue).map(|()| Admitted::Nothing);
    };
    if !number.is_request() {
        return fatal(queue).map(|()| Admitted::Nothing);
    }
    let Some(event) = number.request() else { return Ok(Admitted::Question(primitive)) };
    let refused = if !has(service, number) {
        TransportError::NotSupported
    } else if state.after(event).is_some() {
        return Ok(Admitted::Request(primitive));
    } else {
        // The other end has ended the connection, and the user does not know it yet.
        let is_late = matches!(event, Event::DataReq | Event::ExdataReq | Event::OrdrelReq) && state == State::Idle;
        if is_late {
            return Ok(Admitted::Nothing);
        }
        TransportError::OutOfState
    };
    let answered = if number.is_acknowledged() { refuse(queue, number, refused) } else { fatal(queue) };
    answered.map(|()| Admitted::Nothing)
}

/// Whether a service has a request.
fn has(service: Service, number: PrimitiveNumber) -> bool {
    use PrimitiveNumber::{ConnReq, ConnRes, DataReq, DisconReq, ExdataReq, OptdataReq, OrdrelReq, UnitdataReq};
    match number {
        UnitdataReq => service == Service::Datagrams,
        OrdrelReq => service == Service::OrderlyConnections,
        ConnReq | ConnRes | DisconReq | DataReq | ExdataReq | OptdataReq => service != Service::Datagrams,
        _ => true,
    }
}
