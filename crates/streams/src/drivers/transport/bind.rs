//! T_BIND_REQ and T_UNBIND_REQ.

use super::memory::{self, QUEUE_MAX};
use crate::drivers::provider::answer::{answer, flush, message, refuse, refuse_by};
use crate::error::Result;
use crate::limits::{ADDRESS_MAX, MINORS};
use crate::plumb::queue::Queue;
use crate::tpi::{Primitive, PrimitiveNumber, State, TransportError};

/// How many addresses are tried where the user leaves the choice to the provider.
const TRIES: u32 = 64;

pub(in crate::drivers) fn bind(queue: &mut Queue<'_, '_, '_>, address: &[u8], waiting: u32) -> Result<()> {
    let of = PrimitiveNumber::BindReq;
    if address.len() > ADDRESS_MAX {
        return refuse(queue, of, TransportError::BadAddress);
    }
    let taken = match take(queue, address) {
        Ok(taken) => taken,
        Err(error) if error.is_held() => return Err(error),
        Err(error) => return refuse_by(queue, of, &error),
    };
    let Some(address) = taken else {
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
fn take(queue: &Queue<'_, '_, '_>, asked: &[u8]) -> Result<Option<Vec<u8>>> {
    let (minor, addresses) = (queue.minor().unwrap_or(0), queue.addresses()?);
    if !asked.is_empty() {
        return Ok(addresses.take(asked, minor)?.then(|| asked.to_vec()));
    }
    for number in 0..TRIES {
        // No other endpoint begins with the same number, so the first one is free unless a user has asked for it.
        let chosen = ((1 << 31) | (number * MINORS) | minor).to_be_bytes();
        if addresses.take(&chosen, minor)? {
            return Ok(Some(chosen.to_vec()));
        }
    }
    Ok(None)
}

pub(in crate::drivers) fn unbind(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let of = PrimitiveNumber::UnbindReq;
    let address = memory::local(queue)?;
    queue.along_own(|own| {
        memory::set_state(own, State::Unbound)?;
        memory::bind(own, &[], 0)
    })?;
    let given_up = queue.addresses().and_then(|addresses| addresses.give_up(address.bytes()));
    if let Err(error) = given_up {
        return refuse_by(queue, of, &error);
    }
    flush(queue)?;
    answer(queue, Primitive::OkAck { of })
}
