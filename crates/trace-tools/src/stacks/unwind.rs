//! Unwinds the copy of a stack: from each function to its caller, by the tables of their files. The copy may be of anything: what
//! it does not have is not read, and every step leads upwards.

use headwater_trace::event::STACK_COPY;

use super::tables::{ADDRESS, Bytes, FRAME_POINTER, Frame, Row, Rule, STACK_POINTER, place};

/// Frames of a stack.
const FRAMES_MAX: usize = 128;
/// Values of an expression at once.
const VALUES_MAX: usize = 16;

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

/// The value of an expression (DWARF 5, 2.5), of those operations that tables of functions have.
#[inline(never)]
fn value(expression: &[u8], first: Option<u64>, registers: &[u64; 3], copied: &Copied<'_>) -> Option<u64> {
    let mut bytes = Bytes { rest: expression, address: 0 };
    let mut values: Vec<u64> = first.into_iter().collect();
    while !bytes.rest.is_empty() {
        let code = bytes.u8()?;
        let pushed = match code {
            0x06 => copied.word(values.pop()?)?,
            0x08 => bytes.u8()?.into(),
            0x09 => i64::from(bytes.u8()?.cast_signed()).cast_unsigned(),
            0x0a => bytes.u16()?.into(),
            0x0b => i64::from(bytes.u16()?.cast_signed()).cast_unsigned(),
            0x0c => bytes.u32()?.into(),
            0x0d => i64::from(bytes.u32()?.cast_signed()).cast_unsigned(),
            0x0e | 0x0f => bytes.u64()?,
            0x10 => bytes.unsigned()?,
            0x11 => bytes.signed()?.cast_unsigned(),
            0x12 => *values.last()?,
            0x23 => values.pop()?.wrapping_add(bytes.unsigned()?),
            0x30..=0x4f => u64::from(code - 0x30),
            0x70..=0x8f => registers[place(u64::from(code - 0x70))?].wrapping_add_signed(bytes.signed()?),
            0x1a | 0x1c | 0x1e | 0x21 | 0x22 | 0x24 | 0x25 | 0x27 | 0x29..=0x2e => {
                let (second, first) = (values.pop()?, values.pop()?);
                of_two(code, first, second)
            }
            _ => return None,
        };
        values.push(pushed);
        if values.len() > VALUES_MAX {
            return None;
        }
    }
    values.pop()
}

fn of_two(code: u8, first: u64, second: u64) -> u64 {
    let bits = u32::try_from(second).unwrap_or(u32::MAX);
    let order = first.cast_signed().cmp(&second.cast_signed());
    match code {
        0x1a => first & second,
        0x1c => first.wrapping_sub(second),
        0x1e => first.wrapping_mul(second),
        0x21 => first | second,
        0x22 => first.wrapping_add(second),
        0x24 => first.checked_shl(bits).unwrap_or(0),
        0x25 => first.checked_shr(bits).unwrap_or(0),
        0x27 => first ^ second,
        0x29 => order.is_eq().into(),
        0x2a => order.is_ge().into(),
        0x2b => order.is_gt().into(),
        0x2c => order.is_le().into(),
        0x2d => order.is_lt().into(),
        _ => order.is_ne().into(),
    }
}

#[cfg(test)]
mod tests;
