//! Unwinds the copy of a stack: from each function to its caller, by the tables of their files. The copy may be of anything: what
//! it does not have is not read, and every step leads upwards.

use gimli::{Encoding, EndianSlice, EvaluationResult, Expression, Format, LittleEndian, Location, Value};
use headwater_trace::event::STACK_COPY;

use super::tables::{ADDRESS, FRAME_POINTER, Frame, Row, Rule, STACK_POINTER, place};

/// Frames of a stack.
const FRAMES_MAX: usize = 128;
/// Steps of an expression; those of linkage tables and signal frames have 11 at most.
const STEPS_MAX: u32 = 256;

/// A copied stack.
#[derive(Debug)]
struct Copied<'a> {
    /// The address of the first word.
    begin: u64,
    words: &'a [u64],
}

impl Copied<'_> {
    /// The word at an address.
    fn word(&self, address: u64) -> Option<u64> {
        let within = address.checked_sub(self.begin).filter(|within| within.is_multiple_of(8))?;
        self.words.get(usize::try_from(within / 8).ok()?).copied()
    }
}

/// Returns the addresses of a stack's functions, the newest first; all but the first are return addresses. `row` finds where the registers of a function's
/// caller are, by an address in the function.
pub(super) fn addresses(copy: &[u64; STACK_COPY], mut row: impl FnMut(u64) -> Option<Row>) -> Vec<u64> {
    let [address, stack_pointer, frame_pointer, words @ ..] = copy;
    if *address == 0 {
        return Vec::new();
    }
    let copied = Copied { begin: *stack_pointer, words };
    let mut registers = [0; 3];
    registers[ADDRESS] = *address;
    registers[STACK_POINTER] = *stack_pointer;
    registers[FRAME_POINTER] = *frame_pointer;
    let mut all = vec![*address];
    // A call may be the last instruction of its function: then the return address is in another one.
    let mut is_return = 0;
    while all.len() < FRAMES_MAX {
        let Some(row) = row(registers[ADDRESS].wrapping_sub(is_return)) else { break };
        let Some(caller) = caller(&row, &registers, &copied) else { break };
        if caller[STACK_POINTER] <= registers[STACK_POINTER] || caller[ADDRESS] < 4096 {
            break;
        }
        all.push(caller[ADDRESS]);
        (registers, is_return) = (caller, u64::from(!row.is_signal));
    }
    all
}

/// The registers of the caller.
fn caller(row: &Row, registers: &[u64; 3], copied: &Copied<'_>) -> Option<[u64; 3]> {
    let frame = match &row.frame {
        Frame::Unknown => return None,
        Frame::Register(register, offset) => registers[*register].wrapping_add_signed(*offset),
        Frame::Expression(expression) => value(expression, None, registers, copied)?,
    };
    let found = |place: usize| match &row.registers[place] {
        // The caller's stack pointer is the frame's address unless the table says otherwise.
        Rule::Same if place == STACK_POINTER => Some(frame),
        // A function that does not return.
        Rule::Same if place == ADDRESS => None,
        Rule::Same => Some(registers[place]),
        Rule::Undefined => None,
        Rule::At(offset) => copied.word(frame.wrapping_add_signed(*offset)),
        Rule::Is(offset) => Some(frame.wrapping_add_signed(*offset)),
        Rule::AtExpression(expression) => copied.word(value(expression, Some(frame), registers, copied)?),
        Rule::IsExpression(expression) => value(expression, Some(frame), registers, copied),
    };
    let mut caller = [0; 3];
    caller[ADDRESS] = found(ADDRESS)?;
    caller[STACK_POINTER] = found(STACK_POINTER)?;
    // Most functions do without.
    caller[FRAME_POINTER] = found(FRAME_POINTER).unwrap_or(0);
    Some(caller)
}

/// The value of an expression (DWARF 5, 2.5).
fn value(expression: &[u8], first: Option<u64>, registers: &[u64; 3], copied: &Copied<'_>) -> Option<u64> {
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 5 };
    let mut evaluation = Expression(EndianSlice::new(expression, LittleEndian)).evaluation(encoding);
    evaluation.set_max_iterations(STEPS_MAX);
    if let Some(first) = first {
        evaluation.set_initial_value(first);
    }
    let mut state = evaluation.evaluate().ok()?;
    loop {
        state = match state {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory { address, size: 8, .. } => {
                evaluation.resume_with_memory(Value::Generic(copied.word(address)?)).ok()?
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                evaluation.resume_with_register(Value::Generic(registers[place(register)?])).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.as_result().last()?.location {
        Location::Address { address } => Some(address),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
