//! T_BIND_REQ and T_UNBIND_REQ.

use super::memory::{self, QUEUE_MAX};
use crate::drivers::provider::answer::{answer, flush, message, refuse, refuse_by};
use crate::error::Result;
use crate::limits::{ADDRESS_MAX, MINORS};
use crate::plumb::queue::Queue;
use crate::tpi::{Primitive, PrimitiveNumber, State, TransportError};

/// How many addresses are tried where the user leaves the choice to the provider.
const TRIES: u32 = 64;

/// Gives up the address of an endpoint without one, if a process was killed while it took it or gave it up.
pub(super) fn tidy(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    if memory::state(queue)? != State::Unbound {
        return Ok(());
    }
    let address = memory::local(queue)?;
    if address.bytes().is_empty() {
        return Ok(());
    }
    let minor = queue.minor().unwrap_or(0);
    // It may be another endpoint's, if it was not to be had.
    if queue.addresses()?.take(address.bytes(), minor)? {
        queue.addresses()?.give_up(address.bytes())?;
    }
    queue.along_own(|own| memory::bind(own, &[], 0))
}

pub(in crate::drivers) fn bind(queue: &mut Queue<'_, '_, '_>, address: &[u8], waiting: u32) -> Result<()> {
    let of = PrimitiveNumber::BindReq;
    if address.len() > ADDRESS_MAX {
        return refuse(queue, of, TransportError::BadAddress);
    }
    let taken = match take(queue, address) {
        Ok(taken) => taken,
        Err(error) if error.is_held() => return Err(error),
        Err(error) => {
            queue.along_own(|own| memory::bind(own, &[], 0))?;
            return refuse_by(queue, of, &error);
        }
    };
    let Some(address) = taken else {
        queue.along_own(|own| memory::bind(own, &[], 0))?;
        let error = if address.is_empty() { TransportError::NoAddress } else { TransportError::AddressBusy };
        return refuse(queue, of, error);
    };
    let waiting = waiting.min(QUEUE_MAX as u32);
    queue.along_own(|own| {
        memory::bind(own, &address, waiting)?;
        memory::set_state(own, State::Idle)?;
        own.put_next(message(Primitive::BindAck { address: &address, waiting }))
    })
}

/// Takes an address for the stream: the one that is asked for, or any. None: another endpoint has it.
fn take(queue: &mut Queue<'_, '_, '_>, asked: &[u8]) -> Result<Option<Vec<u8>>> {
    let minor = queue.minor().unwrap_or(0);
    if !asked.is_empty() {
        return Ok(take_one(queue, asked, minor)?.then(|| asked.to_vec()));
    }
    for number in 0..TRIES {
        // No other endpoint begins with the same number, so the first one is free unless a user has asked for it.
        let chosen = ((1 << 31) | (number * MINORS) | minor).to_be_bytes();
        if take_one(queue, &chosen, minor)? {
            return Ok(Some(chosen.to_vec()));
        }
    }
    Ok(None)
}

/// Takes an address. It is noted before, so that it is given up if this process is killed: see [`tidy`].
fn take_one(queue: &mut Queue<'_, '_, '_>, address: &[u8], minor: u32) -> Result<bool> {
    queue.along_own(|own| memory::bind(own, address, 0))?;
    queue.addresses()?.take(address, minor)
}

pub(in crate::drivers) fn unbind(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let of = PrimitiveNumber::UnbindReq;
    let address = memory::local(queue)?;
    queue.addresses()?;
    queue.along_own(|own| memory::set_state(own, State::Unbound))?;
    let given_up = queue.addresses().and_then(|addresses| addresses.give_up(address.bytes()));
    queue.along_own(|own| memory::bind(own, &[], 0))?;
    if let Err(error) = given_up {
        return refuse_by(queue, of, &error);
    }
    flush(queue)?;
    answer(queue, Primitive::OkAck { of })
}
